"""UCI bag of words: D, W and NNZ on three lines, then ``doc word count`` lines, ids from 1.

As in LDA-C, numpy reads a block at once and only an unusual block is read again line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.corpus import Corpus
from hiertopics.errors import DataError
from hiertopics.formats.counting import (
    DIGITS,
    MAX_COUNT,
    MAX_DOCS,
    count_matrix,
    shown,
    whole_number,
    whole_numbers,
    words_of,
)
from hiertopics.formats.opening import Block, blocks, without_blank_end
from hiertopics.formats.source import Source

HEADER = ("documents", "words", "pairs")
HEADER_LINES = len(HEADER)
TRIPLE = ("document", "word", "count")


class Header(NamedTuple):
    """The three numbers at the top of the file."""

    n_docs: int
    n_words: int
    n_pairs: int


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a docword file; documents may come in any order, those without a line are empty.

    Raises DataError naming the line of the first mistake, also where NNZ or the length of
    ``vocab`` contradicts the file.
    """
    header, stream = _read_header(source, without_blank_end(blocks(source.path)))
    words = words_of(source, header.n_words, vocab, line=2)
    limits = np.array([header.n_docs, header.n_words, MAX_COUNT])
    triples = _read_blocks(source, limits, stream)
    if len(triples) != header.n_pairs:
        what = f"the header announces {header.n_pairs} pairs (NNZ), the file holds {len(triples)}"
        raise DataError(source.path, what, HEADER_LINES)
    return Corpus(_matrix(source, header, triples), words)


def _read_blocks(
    source: Source, limits: NDArray[np.int64], stream: Iterator[Block]
) -> NDArray[np.int32]:
    chunks = [np.empty((0, len(TRIPLE)), np.int32)]
    for number, block in stream:
        triples = _read_fast(block, limits)
        if triples is None:
            triples = _read_slowly(source, limits, (number, block))
        chunks.append(triples)
    return np.concatenate(chunks)


def _read_header(source: Source, stream: Iterator[Block]) -> tuple[Header, Iterator[Block]]:
    """Take the header off the stream; the first block is longer than any sound header."""
    _, block = next(stream, (1, b""))
    *head, rest = block.split(b"\n", HEADER_LINES)
    numbers = []
    for line, text in enumerate(head, 1):
        token = text.decode(errors="backslashreplace").strip()
        number = whole_number(token)
        if number is None or (line == 1 and not 0 < number <= MAX_DOCS):
            what = f"expected the number of {HEADER[line - 1]}, alone on header line {line}"
            raise DataError(source.path, f"{what}, got {shown(token)}", line)
        numbers.append(number)
    if len(numbers) < HEADER_LINES:
        what = f"expected three header lines: the numbers of {', '.join(HEADER)}"
        raise DataError(source.path, what, len(numbers) + 1)
    return Header(*numbers), chain([(HEADER_LINES + 1, rest)] if rest else [], stream)


def _read_fast(block: bytes, limits: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """Read a block that is in perfect order; return None for any other."""
    block = block.replace(b"\t", b" ").replace(b" \n", b"\n")
    # Two gaps per line hold at most three numbers; three per line in all means none is empty.
    marks = block.translate(None, DIGITS)
    n_lines = marks.count(b"\n")
    if marks != b"  \n" * n_lines:
        return None
    numbers = whole_numbers(block)
    if len(numbers) != 3 * n_lines:
        return None
    triples = numbers.reshape(-1, 3)
    sound = (triples > 0).all() and (triples <= limits).all()
    return triples.astype(np.int32) if sound else None


def _read_slowly(source: Source, limits: NDArray[np.int64], block: Block) -> NDArray[np.int32]:
    """Read a block line by line; raise DataError at the first mistake."""
    first, text = block
    triples = [
        _read_line(source, limits, line.decode(errors="backslashreplace"), number)
        for number, line in enumerate(text[:-1].split(b"\n"), first)
    ]
    return np.array(triples, dtype=np.int32)


def _read_line(source: Source, limits: NDArray[np.int64], line: str, number: int) -> list[int]:
    tokens = line.split()
    values = [whole_number(token) for token in tokens]
    if len(values) != 3 or None in values:
        what = f'expected "document word count", three whole numbers, got {shown(line)}'
        raise DataError(source.path, what, number)
    triple = [value for value in values if value is not None]
    for name, token, value, limit in zip(TRIPLE, tokens, triple, limits.tolist(), strict=True):
        if not 0 < value <= limit:
            what = f"expected a {name} from 1 to {limit}, got {shown(token)}"
            raise DataError(source.path, what, number)
    return triple


def _matrix(source: Source, header: Header, triples: NDArray[np.int32]) -> sparse.csr_array:
    """Return the counts in document order; refuse a pair that stands on two lines."""
    docs, words, counts = triples.T
    keys = docs.astype(np.int64)
    keys *= header.n_words + 1
    keys += words
    if not (np.diff(keys) > 0).all():
        order = np.argsort(keys, kind="stable")
        repeated = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(repeated):
            before, again = min(
                zip(order[repeated].tolist(), order[repeated + 1].tolist(), strict=True),
                key=lambda pair: pair[1],
            )
            what = f"document {docs[again]} has word {words[again]} already"
            line = HEADER_LINES + 1
            raise DataError(source.path, f"{what}, on line {before + line}", again + line)
        docs, words, counts = docs[order], words[order], counts[order]
    lengths = np.bincount(docs - 1, minlength=header.n_docs)
    return count_matrix(lengths, words - 1, counts, header.n_words)


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts; words and marks have files of their own."""
    file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.n_pairs}\n".encode())
    file.writelines(_lines(corpus))


def _lines(corpus: Corpus) -> Iterator[bytes]:
    counts = corpus.counts
    for doc, (start, end) in enumerate(pairwise(counts.indptr.tolist()), 1):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        lines = (f"{doc} {word + 1} {n}\n" for word, n in zip(words, numbers, strict=True))
        yield "".join(lines).encode()
