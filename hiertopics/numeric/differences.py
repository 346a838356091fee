"""Changes of an array since others received it: the cells that differ, in few bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import I32, I64, Ints


class Difference(NamedTuple):
    """The new contents of cells. cells: of the flat array, ascending; None: all of them.

    values: of these cells, whole numbers in the smallest type that holds them. dtype: the array's.
    """

    shape: tuple[int, ...]
    dtype: str
    cells: Ints | None
    values: NDArray[Any]


def difference(before: NDArray[Any] | None, after: NDArray[Any]) -> Difference:
    """Return the cells of ``after`` that differ from ``before``; None: zeros.

    Both have one shape, any, and one dtype, of 1 to 8 bytes. Bits are compared, not numbers.
    """
    flat = after.reshape(-1)
    bits = _bits(flat)
    differs = bits != (0 if before is None else _bits(before.reshape(-1)))
    dtype, small, index = after.dtype.str, smallest(flat), _index_type(flat.size)
    if _listed(int(np.count_nonzero(differs)), flat.size, index, small):
        cells = np.flatnonzero(differs)
        return Difference(after.shape, dtype, cells.astype(index), flat[cells].astype(small))
    return Difference(after.shape, dtype, None, flat.astype(small))


def summed(cells: I64, amounts: I32, n_cells: int) -> Difference:
    """Return the sum of amounts by cell, of ``n_cells`` that were 0.

    cells: int64 [n], in any order, repeated ones too; amounts: int32 [n].
    """
    order = np.argsort(cells, kind="stable")
    cells, amounts = cells[order], amounts[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    sums = np.add.reduceat(amounts, first) if len(first) else amounts
    kept = sums != 0
    cells, sums = cells[first][kept], sums[kept]
    small, index = smallest(sums), _index_type(n_cells)
    if _listed(len(cells), n_cells, index, small):
        return Difference((n_cells,), "<i4", cells.astype(index), sums.astype(small))
    whole = np.zeros(n_cells, small)
    whole[cells] = sums
    return Difference((n_cells,), "<i4", None, whole)


def caught_up(before: NDArray[Any] | None, news: Difference) -> NDArray[Any]:
    """Apply news to ``before``, of any shape, in place, and return it; None: to new zeros."""
    array = np.zeros(news.shape, news.dtype) if before is None else before
    array.reshape(-1)[slice(None) if news.cells is None else news.cells] = news.values
    return array


def smallest(values: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest signed type that holds whole numbers [n]; that of others is theirs."""
    if values.dtype.kind != "i" or not len(values):
        return values.dtype
    least, largest = int(values.min()), int(values.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return np.dtype(
        next(k for k in kinds if np.iinfo(k).min <= least and largest <= np.iinfo(k).max)
    )


def _listed(
    n_differ: int, n_cells: int, index: type[np.integer[Any]], small: np.dtype[Any]
) -> bool:
    return n_differ * (np.dtype(index).itemsize + small.itemsize) < n_cells * small.itemsize


def _index_type(n_cells: int) -> type[np.integer[Any]]:
    return np.int32 if n_cells <= np.iinfo(np.int32).max else np.int64


def _bits(flat: NDArray[Any]) -> NDArray[Any]:
    return flat.view(f"u{flat.itemsize}")
