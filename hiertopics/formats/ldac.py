"""LDA-C: one line ``M id:count id:count ...`` per document, M pairs, word ids from 0.

A block of lines is read at once by numpy. Where anything about it is unusual, it is read again
token by token: that path knows every rule and every message, the fast one only says "not sure".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.corpus import Corpus, default_vocab
from hiertopics.errors import DataError
from hiertopics.formats.counting import (
    DIGITS,
    MAX_COUNT,
    MAX_UNNAMED_WORDS,
    count_matrix,
    shown,
    whole_number,
    whole_numbers,
)
from hiertopics.formats.opening import Block, blocks, without_blank_end
from hiertopics.formats.source import Source

NEWLINE = ord("\n")


class Pairs(NamedTuple):
    """Some documents: pairs per document, word id and count of each pair."""

    lengths: NDArray[np.int64]
    ids: NDArray[np.int32]
    counts: NDArray[np.int32]


NOTHING = Pairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read an LDA-C file; without ``vocab`` the largest id decides how many words there are.

    Raises DataError naming the line of the first mistake.
    """
    limit = MAX_UNNAMED_WORDS if vocab is None else len(vocab)
    lengths, ids, counts = _read_blocks(source, limit)
    words = default_vocab(int(ids.max(initial=-1)) + 1) if vocab is None else vocab
    return Corpus(count_matrix(lengths, ids, counts, len(words)), words)


def _read_blocks(source: Source, limit: int) -> Pairs:
    chunks = [NOTHING]
    for number, block in without_blank_end(blocks(source.path)):
        chunks.append(_read_fast(block, limit) or _read_slowly(source, limit, (number, block)))
    return Pairs(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def _read_fast(block: bytes, limit: int) -> Pairs | None:
    """Read a block that is in perfect order; return None for any other."""
    block = block.replace(b"\t", b" ").replace(b" \n", b"\n")
    # Without its digits a line is " :" once per pair. So no gap can hold more than one number,
    # and if there are as many numbers as gaps, none is empty.
    marks = block.translate(None, DIGITS)
    if marks.replace(b" :", b"").strip(b"\n"):
        return None
    ends = np.flatnonzero(np.frombuffer(marks, np.uint8) == NEWLINE)
    lengths = np.diff(ends, prepend=-1) // 2
    numbers = whole_numbers(block.replace(b":", b" "))
    if len(numbers) != len(lengths) + 2 * lengths.sum():
        return None
    heads = np.arange(len(lengths)) + 2 * (np.cumsum(lengths) - lengths)
    ids, counts = np.delete(numbers, heads).reshape(-1, 2).T
    in_range = (ids < limit).all() and (counts > 0).all() and (counts <= MAX_COUNT).all()
    if not in_range or (numbers[heads] != lengths).any() or _any_repeated(lengths, ids, limit):
        return None
    return Pairs(lengths, ids.astype(np.int32), counts.astype(np.int32))


def _any_repeated(lengths: NDArray[np.int64], ids: NDArray[np.int64], limit: int) -> bool:
    keys = np.repeat(np.arange(len(lengths)) * limit, lengths) + ids
    if (np.diff(keys) > 0).all():
        return False
    return bool((np.diff(np.sort(keys)) == 0).any())


def _read_slowly(source: Source, limit: int, block: Block) -> Pairs:
    """Read a block token by token; raise DataError at the first mistake."""
    first, text = block
    documents = [
        _read_line(source, limit, line.decode(errors="backslashreplace"), number)
        for number, line in enumerate(text[:-1].split(b"\n"), first)
    ]
    return Pairs(
        np.array([len(document) for document in documents], dtype=np.int64),
        np.array([word for document in documents for word in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
    )


def _read_line(source: Source, limit: int, line: str, number: int) -> dict[int, int]:
    """Return the counts of one document by word id."""
    if not line.strip():
        raise DataError(source.path, "blank line; an empty document is written 0", number)
    head, *pairs = line.split()
    length = whole_number(head)
    if length is None:
        what = f"expected the number of distinct words first, got {shown(head)}"
        raise DataError(source.path, what, number)
    document: dict[int, int] = {}
    for pair in pairs:
        word, count, problem = _read_pair(source, limit, pair)
        if word in document:
            problem = f"word id {word} is repeated: {shown(pair)}"
        if problem:
            raise DataError(source.path, problem, number)
        document[word] = count
    if len(document) != length:
        what = f"the line announces {shown(head)} distinct words but holds {len(document)}"
        raise DataError(source.path, what, number)
    return document


def _read_pair(source: Source, limit: int, pair: str) -> tuple[int, int, str]:
    """Return word id, count and what is wrong about them (or "")."""
    before, colon, after = pair.partition(":")
    word, count = whole_number(before), whole_number(after)
    if not colon or word is None or not after:
        what = 'expected "id:count" pairs after the number of distinct words, got '
        return 0, 0, what + shown(pair)
    if count is None or not 0 < count <= MAX_COUNT:
        what = f"expected a count from 1 to {MAX_COUNT}, a whole number, got {shown(pair)}"
        return word, 0, what
    if word >= limit and source.vocab is None:
        what = f"word ids beyond {limit - 1} need a vocabulary file, got {shown(pair)}"
        return word, count, what
    if word >= limit:
        what = f"word id out of range in {shown(pair)}: {source.vocab} holds {limit} words"
        return word, count, what + f" (ids from 0 to {limit - 1})"
    return word, count, ""


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts; words and marks have files of their own."""
    file.writelines(_lines(corpus))


def _lines(corpus: Corpus) -> Iterator[bytes]:
    counts = corpus.counts
    for start, end in pairwise(counts.indptr.tolist()):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        pairs = (f" {word}:{n}" for word, n in zip(words, numbers, strict=True))
        yield f"{end - start}{''.join(pairs)}\n".encode()
