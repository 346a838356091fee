"""Rows of entries that stand one after the other, such as documents: ends, and blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hiertopics.base.arrays import I64, Bools, Ints


def stretches(
    ends: I64, most_entries: int, most_rows: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield blocks of rows: the first row of each, and the one after its last.

    ends: int64 [n_rows + 1], the entries before each row, from 0. A block has at most so many
    entries and rows; a row with more entries is a block of its own.
    """
    first = 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + most_entries, side="right")) - 1
        last = max(last, first + 1)
        last = last if most_rows is None else min(last, first + most_rows)
        yield first, last
        first = last


def ends_of(sizes: Ints | Bools | Sequence[int]) -> I64:
    """Return the entries before each row of these sizes, and of all: int64 [n_rows + 1]."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def rows_of(ends: Ints) -> I64:
    """Return the row of each entry, int64 [n_entries]. ends: the entries before each row."""
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


def even_bounds(work: Ints, n_parts: int) -> I64:
    """Cut rows into contiguous parts of about equal work: int64 [n_parts + 1] bounds.

    work: of each row [n_rows].
    """
    total = np.cumsum(work, dtype=np.int64)
    targets = np.arange(1, n_parts) * (total[-1] / n_parts if len(total) else 0.0)
    inner = np.searchsorted(total, targets)
    return np.concatenate([[0], inner, [len(work)]]).astype(np.int64)


def entries_of(ends: I64, rows: I64) -> tuple[I64, I64]:
    """Return the entries of some rows, one row after the other, and the ends of these rows.

    int64 [n_entries] and [n + 1]. ends: int64 [n_rows + 1], the entries before each row. rows:
    int64 [n].
    """
    sizes = ends[rows + 1] - ends[rows]
    own = ends_of(sizes)
    return np.repeat(ends[rows] - own[:-1], sizes) + np.arange(own[-1]), own
