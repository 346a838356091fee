"""Blocks of consecutive rows, such as documents, with a limit on their entries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hiertopics.base.arrays import I64


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
