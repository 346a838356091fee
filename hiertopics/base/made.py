"""Large tables that nobody keeps: each pass over a table makes its rows, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64

MOST_ENTRIES = np.iinfo(np.int32).max
"""Entries that indices of 32 bits can count."""


@dataclass(frozen=True)
class MadeRows:
    """Dense rows, float64 [n, m]; each pass over them makes them anew.

    make: returns rows ``first`` to ``last``. bounds: int64 [n_blocks + 1], what is made at a time.
    As a file and in products they are the CSR matrix that stores every entry.
    """

    make: Callable[[int, int], F64]
    bounds: I64
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.bounds[-1]), self.n_columns

    @property
    def indptr(self) -> NDArray[np.integer[Any]]:
        """Where rows begin among all entries, int [n_rows + 1]."""
        return row_ends(*self.shape)

    def blocks(self) -> Iterator[F64]:
        """Yield some rows after the other, float64 [some, n_columns]."""
        for first, last in pairwise(self.bounds.tolist()):
            yield self.make(first, last)

    def columns(self) -> Iterator[NDArray[np.integer[Any]]]:
        """Yield the columns of the entries of each block, int [some * n_columns]."""
        dtype = index_type(*self.shape)
        for n_rows in np.diff(self.bounds).tolist():
            yield np.tile(np.arange(self.n_columns, dtype=dtype), n_rows)

    def tocsr(self) -> sparse.csr_array:
        """Return all rows, every entry stored: float64 CSR [n_rows, n_columns]."""
        return all_entries(np.concatenate(list(self.blocks())))

    def __matmul__(self, other: sparse.csr_array) -> sparse.csr_array:
        """Return the product with a sparse matrix."""
        return sparse.vstack([all_entries(rows) @ other for rows in self.blocks()], "csr")


def all_entries(rows: F64) -> sparse.csr_array:
    """Return dense rows [n_rows, n_columns] as CSR with every entry stored."""
    n_rows, n_columns = rows.shape
    indices = np.tile(np.arange(n_columns, dtype=index_type(n_rows, n_columns)), n_rows)
    entries = (rows.ravel(), indices, row_ends(n_rows, n_columns))
    return sparse.csr_array(entries, shape=rows.shape)


def index_type(n_rows: int, n_columns: int) -> type[np.integer[Any]]:
    """Return the type of indices of so many entries: of 32 bits where they suffice."""
    return np.int32 if n_rows * n_columns <= MOST_ENTRIES else np.int64


def row_ends(n_rows: int, n_columns: int) -> NDArray[np.integer[Any]]:
    """Return where rows of so many entries begin and end, [n_rows + 1]."""
    return np.arange(n_rows + 1, dtype=index_type(n_rows, n_columns)) * n_columns
