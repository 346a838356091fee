"""Lines ``document word count`` with ids from 1: what UCI and Matrix Market have in common.

As in LDA-C, numpy reads a block at once and only an unusual block is read again line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.errors import DataError
from hiertopics.formats.counting import (
    DIGITS,
    MAX_COUNT,
    count_matrix,
    shown,
    whole_number,
    whole_numbers,
)
from hiertopics.formats.opening import Block
from hiertopics.formats.source import Source

TRIPLE = ("document", "word", "count")
NOT_A_PAIR = [0, 0, 0]
BROKEN = [-1, -1, -1]


def _as_it_is(block: bytes) -> bytes:
    return block


@dataclass(frozen=True)
class Rules:
    """What a line may hold.

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


def read_triples(source: Source, rules: Rules, stream: Iterable[Block]) -> NDArray[np.int32]:
    """Return what each line of the blocks holds, int32 [n_lines, 3].

    A line that is skipped stays as zeros, one that was reported as -1, so that the number of a
    row tells the number of its line.
    """
    chunks = [np.empty((0, len(TRIPLE)), np.int32)]
    for number, block in stream:
        triples = read_fast(block, rules)
        chunks.append(read_slowly(source, rules, (number, block)) if triples is None else triples)
    return np.concatenate(chunks)


def read_fast(block: bytes, rules: Rules) -> NDArray[np.int32] | None:
    """Read a block that is in perfect order; return None for any other."""
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


def _largest(rules: Rules) -> tuple[int, int, int]:
    return rules.n_docs, rules.n_words, MAX_COUNT


def read_slowly(source: Source, rules: Rules, block: Block) -> NDArray[np.int32]:
    """Read a block line by line and report each mistake."""
    first, text = block
    triples = [
        _read_line(source, rules, line, number)
        for number, line in enumerate(text[:-1].split(b"\n"), first)
    ]
    return np.array(triples, dtype=np.int32)


def _read_line(source: Source, rules: Rules, line: bytes, number: int) -> list[int]:
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


def _outside(rules: Rules, triple: list[int]) -> tuple[int, int, int] | None:
    """Return the place of the first number that is out of range, with its limits."""
    limits = zip((1, 1, rules.lowest), _largest(rules), strict=True)
    for place, (low, high) in enumerate(limits):
        if not low <= triple[place] <= high:
            return place, low, high
    return None


def triple_matrix(
    source: Source, rules: Rules, triples: NDArray[np.int32], first_line: int
) -> sparse.csr_array:
    """Return the counts in document order, stored zeros left out.

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


def _report_repeated(
    source: Source, triples: NDArray[np.int32], rows: NDArray[np.int64], lines: NDArray[np.int64]
) -> None:
    """Report pairs that are there already; rows, lines: [2, n], of the later and the earlier."""
    for place in np.argsort(rows[0]).tolist():
        doc, word, _ = triples[rows[0, place]]
        what = f"document {doc} has word {word} already, on line {lines[1, place]}"
        source.report(DataError(source.path, what, int(lines[0, place])))


def triple_lines(corpus: Corpus) -> Iterator[bytes]:
    """Yield the counts as lines, those of one document at a time."""
    counts = corpus.counts
    for doc, (start, end) in enumerate(pairwise(counts.indptr.tolist()), 1):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        lines = (f"{doc} {word + 1} {n}\n" for word, n in zip(words, numbers, strict=True))
        yield "".join(lines).encode()
