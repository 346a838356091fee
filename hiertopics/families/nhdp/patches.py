"""Tables of topics that were found in parts of a corpus, made some rows or columns at a time.

A document has tokens of the topics of few parts, and a topic has the words of its own part. Outside
of these blocks the table has one number, so that the blocks take a small part of its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64

ENTRIES_AT_ONCE = 1 << 20
"""Entries that are made at a time to add up the rows."""


class Patch(NamedTuple):
    """A block: its rows and columns, int64, ascending; values: float64 [n_rows, n_columns]."""

    rows: I64
    columns: I64
    values: F64


@dataclass(frozen=True)
class PatchedTable:
    """A table whose rows sum to 1, float64 [n, m]: ``floor`` outside of blocks, rows scaled.

    ``table[rows]`` and ``table[:, columns]`` are arrays, with the bits of the whole table, for
    slices and for int64 indices. No two blocks meet. total: float64 [n], the sums before scaling.
    """

    shape: tuple[int, int]
    floor: float
    patches: Sequence[Patch]
    total: F64

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, key: slice | I64 | tuple[slice | I64, slice | I64]) -> F64:
        """Return some rows, or some rows of some columns, float64."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        at = np.arange(self.shape[0])[rows]
        found = self._unscaled(at, np.arange(self.shape[1])[columns])
        found /= self.total[at, None]
        return found

    def between(self, first: int, last: int) -> PatchedTable:
        """Return the table of rows ``first`` to ``last``."""
        patches = []
        for patch in self.patches:
            own = slice(*np.searchsorted(patch.rows, (first, last)))
            if own.start < own.stop:
                patches.append(Patch(patch.rows[own] - first, patch.columns, patch.values[own]))
        shape = (last - first, self.shape[1])
        return replace(self, shape=shape, patches=patches, total=self.total[first:last])

    def _unscaled(self, rows: I64, columns: I64) -> F64:
        found = np.full((len(rows), len(columns)), self.floor)
        for patch in self.patches:
            column, its_column = _in_both(columns, patch.columns)
            if not len(column):
                continue
            row, its_row = _in_both(rows, patch.rows)
            found[np.ix_(row, column)] = patch.values[np.ix_(its_row, its_column)]
        return found


def patched(shape: tuple[int, int], floor: float, patches: Sequence[Patch]) -> PatchedTable:
    """Return the table of these blocks."""
    table = PatchedTable(shape, floor, patches, np.empty(shape[0]))
    step, columns = max(1, ENTRIES_AT_ONCE // max(shape[1], 1)), np.arange(shape[1])
    for first in range(0, shape[0], step):
        rows = np.arange(first, min(first + step, shape[0]))
        table.total[rows] = table._unscaled(rows, columns).sum(axis=1)
    return table


def _in_both(wanted: I64, held: I64) -> tuple[I64, I64]:
    """Return the places, in each of the two, of what both have; held: ascending, not empty."""
    at = np.searchsorted(held, wanted)
    here = np.flatnonzero(held[np.minimum(at, len(held) - 1)] == wanted)
    return here, at[here]
