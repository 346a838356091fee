"""Corpus format ``words``: one document per line, its words separated by white space.

The words of an empty line are none: that document is empty. Numbers are words like any other.
"""

from __future__ import annotations

from collections import Counter
from typing import IO

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.opening import lines
from hiertopics.corpus.formats.source import Source


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a corpus; a vocabulary that is given fixes the words, and others are left out.

    ``lines`` unpacks the file and reports a line that is not UTF-8.
    """
    numbers = {word: number for number, word in enumerate(vocab or ())}
    rows, columns, counts = [], [], []
    n_docs = 0
    for n_docs, line in enumerate(lines(source.path, source.report), start=1):
        for word, count in Counter(line.split()).items():
            if vocab is None or word in numbers:
                rows.append(n_docs - 1)
                columns.append(numbers.setdefault(word, len(numbers)))
                counts.append(count)
    if not numbers:
        raise DataError(source.path, "expected a document per line, found no word")
    shape = (n_docs, len(numbers))
    entries = np.array(counts, dtype=np.int32)
    return Corpus(sparse.csr_array((entries, (rows, columns)), shape=shape), tuple(numbers))


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write a corpus; each word is repeated as often as it occurs."""
    for doc in range(corpus.n_docs):
        first, last = corpus.counts.indptr[doc : doc + 2]
        ids, counts = corpus.counts.indices[first:last], corpus.counts.data[first:last]
        words = [corpus.vocab[i] for i, n in zip(ids, counts, strict=True) for _ in range(n)]
        file.write(" ".join(words).encode("utf-8") + b"\n")
