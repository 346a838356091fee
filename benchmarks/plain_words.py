"""Which words a corpus with label paths has, and how it is written with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.words import stop_words
from hiertopics.corpus.formats.writing import write_corpus

WORD = re.compile(r"[A-Za-z]{3,}")
LEAST_DOCS, MOST_DOCS, LEAST_TOKENS = 10, 0.3, 10
"""Documents of a word, at least and as a share at most; tokens of a document, at least."""


def with_plain_words(corpus: Corpus) -> Corpus:
    """Return the corpus with its words of ASCII letters that are neither stop words, rare nor
    frequent.
    """
    docs = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    stopped = stop_words("english", rests=False)
    often = (docs >= LEAST_DOCS) & (docs <= MOST_DOCS * corpus.n_docs)
    plain = [bool(WORD.fullmatch(word)) and word.lower() not in stopped for word in corpus.vocab]
    return corpus.with_words(np.flatnonzero(often & np.array(plain)))


def write_labelled(corpus: Corpus, paths: Sequence[str], file: Path) -> None:
    """Write a corpus to NAME.ldac, with NAME.vocab and the label path of each document beside it.

    paths: one for each document. No other names of documents are written.
    """
    write_corpus(Corpus(corpus.counts, corpus.vocab), file)
    lines = "".join(f"{path}\n" for path in paths)
    file.with_suffix(".paths").write_text(lines, encoding="utf-8")
