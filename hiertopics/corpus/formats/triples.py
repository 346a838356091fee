"""Lines ``document word count`` with ids from 1: shared by UCI and Matrix Market.

As in LDA-C, numpy reads a block at once and only an unusual block is read again line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I32, I64
from hiertopics.base.errors import DataError
from hiertopics.base.room import Room
from hiertopics.base.stretches import ends_of
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import (
    DIGITS,
    MAX_COUNT,
    CountedPairs,
    count_matrix,
    shown,
    whole_number,
    whole_numbers,
)
from hiertopics.corpus.formats.drafts import CorpusDraft, DraftDocuments
from hiertopics.corpus.formats.opening import Block
from hiertopics.corpus.formats.source import Source

TRIPLE = ("document", "word", "count")
AT_ONCE = 1 << 17
"""Lines that are put in order at a time."""
NOT_A_PAIR = [0, 0, 0]
BROKEN = [-1, -1, -1]


def _as_it_is(block: bytes) -> bytes:
    return block


@dataclass(frozen=True)
class LineRules:
    """The rules for a line.

    n_docs, n_words: the largest ids. form: how a line should look, for messages. plain: brings
    whole lines into the form of three numbers. lowest: the smallest count that may be stored.
    comments: blank lines and lines that open with % are skipped.
    """

    n_docs: int
    n_words: int
    form: str = '"document word count", three whole numbers'
    plain: Callable[[bytes], bytes] = _as_it_is
    lowest: int = 1
    comments: bool = False


def read_triples(source: Source, rules: LineRules, stream: Iterable[Block]) -> I32:
    """Return the three numbers of each line of the blocks, int32 [n_lines, 3].

    A line that is skipped stays as zeros, one that was reported as -1, so that the number of a
    row tells the number of its line.
    """
    nothing = np.empty((0, len(TRIPLE)), np.int32)
    return np.concatenate([nothing, *_chunks(source, rules, stream)])


def _chunks(source: Source, rules: LineRules, stream: Iterable[Block]) -> Iterator[I32]:
    for number, block in stream:
        triples = read_fast(block, rules)
        yield read_slowly(source, rules, (number, block)) if triples is None else triples


def draft_triples(
    source: Source,
    rules: LineRules,
    stream: Iterable[Block],
    into: CorpusDraft,
    first_line: int,
    *,
    symmetric: bool = False,
) -> int:
    """Lay down the documents of lines in any order; return how many lines hold a pair.

    first_line: that of the stream. symmetric: a line stands for its mirror, too. Raises DataError
    at a pair that stands on two lines.
    """
    written, n_lines = into.room.growing(np.int32), 0
    n_pairs = np.zeros(rules.n_docs, np.int64)
    for triples in _chunks(source, rules, stream):
        written.append(triples.ravel())
        n_lines += int((triples[:, 0] != 0).sum())
        np.add.at(n_pairs, _held(triples, symmetric)[:, 0] - 1, 1)
    table = written.done().reshape(-1, len(TRIPLE))
    laid = _by_document(into.room, table, n_pairs, symmetric)
    first = 0
    for pairs in laid.blocks():
        into.add(_ascending(source, pairs, rules.n_words, table, (first, first_line)))
        first += len(pairs.lengths)
    return n_lines


def _held(triples: I32, symmetric: bool) -> I32:
    """Return the lines that hold a pair, and with them their mirrors."""
    held = triples[triples[:, 0] > 0]
    if not symmetric:
        return held
    return np.concatenate([held, held[held[:, 0] != held[:, 1]][:, [1, 0, 2]]])


def _by_document(room: Room, table: I32, n_pairs: I64, symmetric: bool) -> DraftDocuments:
    """Return the pairs of lines document by document, each in the order of its lines."""
    ends = ends_of(n_pairs)
    ids, counts = room.empty(int(ends[-1]), np.int32), room.empty(int(ends[-1]), np.int32)
    free = ends[:-1].copy()
    for start in range(0, len(table), AT_ONCE):
        held = _held(table[start : start + AT_ONCE], symmetric)
        held = held[np.argsort(held[:, 0], kind="stable")]
        docs = held[:, 0] - 1
        first = np.flatnonzero(np.diff(docs, prepend=-1))
        n_here = np.diff(np.append(first, len(docs)))
        places = free[docs] + np.arange(len(docs)) - np.repeat(first, n_here)
        ids[places], counts[places] = held[:, 1] - 1, held[:, 2]
        free[docs[first]] += n_here
    return DraftDocuments(ends, ids, counts)


def _ascending(
    source: Source, pairs: CountedPairs, n_words: int, table: I32, numbers: tuple[int, int]
) -> CountedPairs:
    """Return documents with their words in order, stored zeros left out.

    numbers: of the first document and of the first line of ``table``.
    """
    doc = np.repeat(np.arange(len(pairs.lengths)), pairs.lengths)
    keys = doc * n_words + pairs.ids
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        place = order[again[0]]
        raise _twice(source, table, (numbers[0] + doc[place], pairs.ids[place]), numbers[1])
    order = order[pairs.counts[order] > 0]
    lengths = np.bincount(doc[order], minlength=len(pairs.lengths))
    return CountedPairs(lengths, pairs.ids[order], pairs.counts[order])


def _twice(source: Source, table: I32, pair: tuple[int, int], first_line: int) -> DataError:
    """Return the error for a (document, word) that stands on several lines."""
    doc, word = (int(number) + 1 for number in pair)
    rows: list[int] = []
    for start in range(0, len(table), AT_ONCE):
        part = table[start : start + AT_ONCE, :2]
        same = (part == (doc, word)).all(axis=1) | (part == (word, doc)).all(axis=1)
        rows += (start + np.flatnonzero(same)).tolist()
    earlier, later = (first_line + row for row in rows[:2])
    doc, word = table[rows[1], :2].tolist()
    return DataError(
        source.path, f"document {doc} has word {word} already, on line {earlier}", later
    )


def read_fast(block: bytes, rules: LineRules) -> I32 | None:
    """Read a block that is in perfect order; return None for any other.

    int32 [n_lines, 3]: document, word and count, the first two from 1.
    """
    block = rules.plain(block.replace(b"\t", b" ").replace(b" \n", b"\n"))
    # Two gaps per line hold at most three numbers; three per line in all means none is empty.
    marks = block.translate(None, DIGITS)
    n_lines = marks.count(b"\n")
    if marks != b"  \n" * n_lines:
        return None
    numbers = whole_numbers(block)
    if len(numbers) != 3 * n_lines:
        return None
    triples = numbers.reshape(-1, 3)
    sound = (triples >= (1, 1, rules.lowest)).all() and (triples <= _largest(rules)).all()
    return triples.astype(np.int32) if sound else None


def _largest(rules: LineRules) -> tuple[int, int, int]:
    return rules.n_docs, rules.n_words, MAX_COUNT


def read_slowly(source: Source, rules: LineRules, block: Block) -> I32:
    """Read a block line by line and report each mistake.

    int32 [n_lines, 3], as of ``read_fast``.
    """
    first, text = block
    triples = [
        _read_line(source, rules, line, number)
        for number, line in enumerate(text[:-1].split(b"\n"), first)
    ]
    return np.array(triples, dtype=np.int32)


def _read_line(source: Source, rules: LineRules, line: bytes, number: int) -> list[int]:
    if rules.comments and (not line.strip() or line.startswith(b"%")):
        return NOT_A_PAIR
    tokens = rules.plain(line + b"\n").decode(errors="backslashreplace").split()
    triple = [value for token in tokens if (value := whole_number(token)) is not None]
    problem = ""
    if not len(tokens) == len(triple) == 3:
        problem = f"expected {rules.form}, got {shown(line.decode(errors='backslashreplace'))}"
    else:
        outside = _outside(rules, triple)
        if outside is not None:
            name, low, high = outside
            problem = f"expected a {TRIPLE[name]} from {low} to {high}, got {shown(tokens[name])}"
    if problem:
        source.report(DataError(source.path, problem, number))
        return BROKEN
    return triple


def _outside(rules: LineRules, triple: list[int]) -> tuple[int, int, int] | None:
    """Return the place of the first number that is out of range, with its limits."""
    limits = zip((1, 1, rules.lowest), _largest(rules), strict=True)
    for place, (low, high) in enumerate(limits):
        if not low <= triple[place] <= high:
            return place, low, high
    return None


def triple_matrix(
    source: Source, rules: LineRules, triples: I32, first_line: int
) -> sparse.csr_array:
    """Return the counts in document order, stored zeros left out: int32 CSR [n_docs, n_words].

    triples: as ``read_triples`` returns them, the first one from ``first_line``. Reports a pair
    that stands on two lines.
    """
    rows = None
    if len(triples) and triples[:, 0].min() <= 0:
        rows = np.flatnonzero(triples[:, 0] > 0)
        triples = triples[rows]
    docs, words, counts = triples.T
    keys = docs.astype(np.int64)
    keys *= rules.n_words + 1
    keys += words
    if not (np.diff(keys) > 0).all():
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(np.diff(keys[order]) == 0) + 1
        if len(again):
            pairs = np.array([order[again], order[again - 1]])
            lines = first_line + (pairs if rows is None else rows[pairs])
            _report_repeated(source, triples, pairs, lines)
            order = np.delete(order, again)
        docs, words, counts = docs[order], words[order], counts[order]
    if rules.lowest == 0 and not counts.all():
        docs, words, counts = (part[counts > 0] for part in (docs, words, counts))
    lengths = np.bincount(docs - 1, minlength=rules.n_docs)
    return count_matrix(lengths, words - 1, counts, rules.n_words)


def _report_repeated(source: Source, triples: I32, rows: I64, lines: I64) -> None:
    """Report pairs that are there already; rows, lines: [2, n], of the later and the earlier."""
    for place in np.argsort(rows[0]).tolist():
        doc, word, _ = triples[rows[0, place]]
        what = f"document {doc} has word {word} already, on line {lines[1, place]}"
        source.report(DataError(source.path, what, int(lines[0, place])))


def triple_lines(corpus: Corpus) -> Iterator[bytes]:
    """Yield the counts as lines, one document after the other."""
    counts = corpus.counts
    for doc, (start, end) in enumerate(pairwise(counts.indptr.tolist()), 1):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        lines = (f"{doc} {word + 1} {n}\n" for word, n in zip(words, numbers, strict=True))
        yield "".join(lines).encode()
