"""Shared code of the readers of counts: limits, integers in text, the final matrix.

And pairs ``id:count``, one document per line: what LDA-C and SVMlight have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I32, I64
from hiertopics.base.errors import DataError
from hiertopics.base.units import format_bytes
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.formats.source import Source

DIGITS = b"0123456789"
MAX_COUNT = int(np.iinfo(np.int32).max)
# One stray digit must not turn into a table that fills the memory.
MAX_DOCS = 2**27
MAX_UNNAMED_WORDS = 2**24
LARGE = 2**29
"""Bytes: a note names a file that announces more than this."""
DOC_BYTES, WORD_BYTES = 16, 72
"""Memory that a document takes and a word without a name, before there is a token."""
INFLATED = 100
"""Matrices and tables shrink far less than this when they are packed."""

REAL = re.compile(rb"\+?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")


def whole_number(token: str) -> int | None:
    """Return the value of a run of ASCII digits, None for anything else.

    What no limit admits comes back as 10**18: longer runs need not be exact, only refused.
    """
    if not (token.isascii() and token.isdigit()):
        return None
    significant = token.lstrip("0")
    return int(significant or "0") if len(significant) <= 18 else 10**18


def whole_numbers(text: bytes) -> I64:
    """Return the numbers in a text of digits and white space, int64 [n], capped if too large."""
    # Of white space alone numpy makes one number.
    return np.fromstring(text, dtype=np.int64, sep=" ") if text.strip() else np.empty(0, np.int64)


def in_digits(match: re.Match[bytes]) -> bytes:
    """Return a matched number that is whole as its digits (12 for 1.2e1), other text as it is."""
    return _in_digits(match[0])


@lru_cache(maxsize=4096)
def _in_digits(token: bytes) -> bytes:
    value = float(token) if REAL.fullmatch(token) else 0.5
    return b"%d" % value if value.is_integer() else token


def shown(token: str) -> str:
    """Return a token as a message quotes it, cut to a readable length."""
    return repr(token) if len(token) <= 40 else repr(token[:40]) + "..."


def listed(names: Sequence[str]) -> str:
    """Return names as a message lists them, the first ten of many."""
    return ", ".join(map(shown, names[:10])) + (", ..." if len(names) > 10 else "")


def size_announced(n_docs: int, n_words: int, *, named: bool = False) -> str:
    """Return in words how much a file announces; named: its words are those of a vocabulary."""
    size = _bytes_announced(n_docs, n_words, named)
    return f"{n_docs} documents x {n_words} words announced: about {format_bytes(size)} of memory"


def _bytes_announced(n_docs: int, n_words: int, named: bool) -> int:
    return DOC_BYTES * n_docs + (0 if named else WORD_BYTES * n_words)


def large_notes(n_docs: int, n_words: int, *, named: bool) -> tuple[str, ...]:
    """Return a note on announced sizes that alone take much memory."""
    if _bytes_announced(n_docs, n_words, named) < LARGE:
        return ()
    return (size_announced(n_docs, n_words, named=named),)


@contextmanager
def room_for(source: Source, announced: str, line: int | None = None) -> Iterator[None]:
    """Turn a lack of memory into a DataError that gives the sizes the file announces."""
    try:
        yield
    except MemoryError as error:
        what = f"{announced}, more than there is"
        raise DataError(source.path, what, line) from error


@contextmanager
def only(source: Source, what: str) -> Iterator[None]:
    """Turn any exception but a lack of memory into a DataError with the expected format.

    A damaged file of arrays makes zipfile, zlib, ast, tokenize and numpy raise almost anything.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise DataError(source.path, what) from error


def refuse_inflated(source: Source, announced: str, size: int, packed: int) -> None:
    """Raise DataError for ``size`` bytes of numbers out of far fewer ``packed`` bytes."""
    if size > LARGE and size > INFLATED * packed:
        what = f"{announced} about {format_bytes(size)} of memory, packed in {format_bytes(packed)}"
        raise DataError(source.path, f"{what}; save it without packing to have it read")


def words_of(
    source: Source, n_words: int, vocab: tuple[str, ...] | None, line: int | None = None
) -> tuple[str, ...]:
    """Return the words of a file that states their number itself.

    Reports a vocabulary of another length. Raises DataError where there is none and the number
    is absurd.
    """
    if vocab is not None and len(vocab) != n_words:
        what = f"counts over {n_words} words, but {source.vocab} holds {len(vocab)}"
        source.report(DataError(source.path, what, line))
        vocab = None
    if vocab is None:
        if n_words > MAX_UNNAMED_WORDS:
            what = f"{n_words} words need a vocabulary file (without one: {MAX_UNNAMED_WORDS})"
            what += f"; they announce about {format_bytes(WORD_BYTES * n_words)} of memory"
            raise DataError(source.path, what, line)
        return default_vocab(n_words)
    return vocab


def count_matrix(lengths: I64, ids: I32, counts: I32, n_words: int) -> sparse.csr_array:
    """Return the counts of consecutive documents that hold ``lengths`` pairs each.

    lengths: int64 [n_docs]. ids, counts: int32 [n_pairs], those of each document side by side. The
    matrix is int32 CSR [n_docs, n_words].
    """
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    # scipy widens the word ids to the type of indptr: twice the memory for nothing.
    if len(ids) <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return sparse.csr_array((counts, ids, indptr), shape=(len(lengths), n_words))


NEWLINE = ord("\n")


class CountedPairs(NamedTuple):
    """Some documents: pairs per document, word id and count of each pair.

    lengths: [n_docs]. ids, counts: [n_pairs].
    """

    lengths: I64
    ids: I32
    counts: I32


NOTHING = CountedPairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


@dataclass(frozen=True)
class PairRules:
    """The rules for a pair.

    after: what stands before the pairs of a line, for messages. limit: the first id that is too
    large. vocab: the file that sets the limit, or None; ids: which ids it admits, in words.
    """

    after: str
    limit: int
    vocab: Path | None
    ids: str


def gaps(marks: bytes) -> I64 | None:
    """Return the number of pairs per line of a text without its digits; None for any other text.

    int64 [n_lines].
    Without its digits a line is " :" once per pair. So no gap can hold more than one number, and
    if there are as many numbers as gaps, none is empty.
    """
    if marks.replace(b" :", b"").strip(b"\n"):
        return None
    ends = np.flatnonzero(np.frombuffer(marks, np.uint8) == NEWLINE)
    return np.diff(ends, prepend=-1) // 2


def checked(lengths: I64, ids: I64, counts: I64, limit: int) -> CountedPairs | None:
    """Return the pairs in their final types, or None where a number is out of range or repeated.

    lengths: [n_docs]. ids, counts: [n_pairs]. limit: all ids are below it.
    """
    in_range = (ids < limit).all() and (counts > 0).all() and (counts <= MAX_COUNT).all()
    if not in_range or _any_repeated(lengths, ids, limit):
        return None
    return CountedPairs(lengths, ids.astype(np.int32), counts.astype(np.int32))


def _any_repeated(lengths: I64, ids: I64, limit: int) -> bool:
    keys = np.repeat(np.arange(len(lengths)) * limit, lengths) + ids
    if (np.diff(keys) > 0).all():
        return False
    return bool((np.diff(np.sort(keys)) == 0).any())


def joined(chunks: Iterable[CountedPairs]) -> CountedPairs:
    """Return the documents of all chunks, one after the other."""
    return CountedPairs(*(np.concatenate(parts) for parts in zip(NOTHING, *chunks, strict=True)))


def packed(documents: Sequence[dict[int, int]]) -> CountedPairs:
    """Return documents that are given as counts by word id."""
    return CountedPairs(
        np.array([len(document) for document in documents], dtype=np.int64),
        np.array([word for document in documents for word in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
    )


def read_pairs(rules: PairRules, tokens: Iterable[str]) -> tuple[dict[int, int], str]:
    """Return the counts of a document by word id, and the fault of the line (or "")."""
    document: dict[int, int] = {}
    for token in tokens:
        word, count, problem = _read_pair(rules, token)
        if word in document:
            problem = f"word id {word} is repeated: {shown(token)}"
        if problem:
            return {}, problem
        document[word] = count
    return document, ""


def _read_pair(rules: PairRules, pair: str) -> tuple[int, int, str]:
    """Return word id, count and the error in them, or ""."""
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
