"""Pairs ``id:count``, one document per line: what LDA-C and SVMlight have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.arrays import I32, I64
from hiertopics.data.corpus import Corpus
from hiertopics.formats.counting import MAX_COUNT, shown, whole_number

NEWLINE = ord("\n")


class Pairs(NamedTuple):
    """Some documents: pairs per document, word id and count of each pair."""

    lengths: I64
    ids: I32
    counts: I32


NOTHING = Pairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


@dataclass(frozen=True)
class Rules:
    """What a pair may hold.

    after: what stands before the pairs of a line, for messages. limit: the first id that is too
    large. vocab: the file that sets the limit, or None; ids: which ids it admits, in words.
    """

    after: str
    limit: int
    vocab: Path | None
    ids: str


def gaps(marks: bytes) -> I64 | None:
    """Return the number of pairs per line of a text without its digits; None for any other text.

    Without its digits a line is " :" once per pair. So no gap can hold more than one number, and
    if there are as many numbers as gaps, none is empty.
    """
    if marks.replace(b" :", b"").strip(b"\n"):
        return None
    ends = np.flatnonzero(np.frombuffer(marks, np.uint8) == NEWLINE)
    return np.diff(ends, prepend=-1) // 2


def checked(lengths: I64, ids: I64, counts: I64, limit: int) -> Pairs | None:
    """Return the pairs in their final types, or None where a number is out of range or repeated."""
    in_range = (ids < limit).all() and (counts > 0).all() and (counts <= MAX_COUNT).all()
    if not in_range or _any_repeated(lengths, ids, limit):
        return None
    return Pairs(lengths, ids.astype(np.int32), counts.astype(np.int32))


def _any_repeated(lengths: I64, ids: I64, limit: int) -> bool:
    keys = np.repeat(np.arange(len(lengths)) * limit, lengths) + ids
    if (np.diff(keys) > 0).all():
        return False
    return bool((np.diff(np.sort(keys)) == 0).any())


def joined(chunks: Iterable[Pairs]) -> Pairs:
    """Return the documents of all chunks, one after the other."""
    return Pairs(*(np.concatenate(parts) for parts in zip(NOTHING, *chunks, strict=True)))


def packed(documents: Sequence[dict[int, int]]) -> Pairs:
    """Return documents that are given as counts by word id."""
    return Pairs(
        np.array([len(document) for document in documents], dtype=np.int64),
        np.array([word for document in documents for word in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
    )


def read_pairs(rules: Rules, tokens: Iterable[str]) -> tuple[dict[int, int], str]:
    """Return the counts of a document by word id, and what is wrong with the line (or "")."""
    document: dict[int, int] = {}
    for token in tokens:
        word, count, problem = _read_pair(rules, token)
        if word in document:
            problem = f"word id {word} is repeated: {shown(token)}"
        if problem:
            return {}, problem
        document[word] = count
    return document, ""


def _read_pair(rules: Rules, pair: str) -> tuple[int, int, str]:
    """Return word id, count and what is wrong about them (or "")."""
    before, colon, after = pair.partition(":")
    word, count = whole_number(before), whole_number(after)
    if not colon or word is None or not after:
        return -1, 0, f'expected "id:count" pairs after {rules.after}, got {shown(pair)}'
    if count is None or not 0 < count <= MAX_COUNT:
        what = f"expected a count from 1 to {MAX_COUNT}, a whole number, got {shown(pair)}"
        return word, 0, what
    problem = ""
    if word >= rules.limit and rules.vocab is None:
        problem = f"word ids beyond {rules.limit - 1} need a vocabulary file, got {shown(pair)}"
    elif word >= rules.limit:
        problem = f"word id out of range in {shown(pair)}: {rules.vocab} holds {rules.ids}"
    return word, count, problem


def pair_lines(corpus: Corpus, first_id: int) -> Iterable[str]:
    """Yield the pairs of each document, each with a blank before it."""
    counts = corpus.counts
    for start, end in pairwise(counts.indptr.tolist()):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        yield "".join(f" {word + first_id}:{n}" for word, n in zip(words, numbers, strict=True))
