"""Dense rows as bags of words: each column cut into bins, a word ``column=bin`` for each.

The edges are learned once, on the file that is fitted, and kept with the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import HiertopicsError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.names import pack_short_names, unpack_names
from hiertopics.corpus.data.vectors import Vectors, default_columns

COLUMNS = "bin_columns"
EDGES = "bin_edges"
"""The array of a model that holds the edges, which end in infinities."""


@dataclass(frozen=True)
class Bins:
    """The bins of each column.

    columns: their names. edges: float64 [n_columns, n], ascending, padded with +inf. Bin b of a
    column holds the values from its edge b - 1, this one included, to below its edge b.
    """

    columns: tuple[str, ...]
    edges: F64

    @property
    def n_bins(self) -> I64:
        """Number of bins of each column, int64 [n_columns]."""
        return np.asarray(1 + np.isfinite(self.edges).sum(axis=1))

    @property
    def words(self) -> tuple[str, ...]:
        """A word for each column and bin, column by column: ``name=0 name=1 ...``."""
        pairs = zip(self.columns, self.n_bins.tolist(), strict=True)
        return tuple(f"{name}={number}" for name, n in pairs for number in range(n))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that model.npz keeps: names of columns, and ``edges`` as they are."""
        return {**pack_short_names(COLUMNS, self.columns), EDGES: self.edges}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Bins:
        """Inverse of ``to_arrays``; raises KeyError where an array is missing."""
        return Bins(unpack_names(COLUMNS, arrays), arrays[EDGES])


def learn_edges(rows: F64, method: str, n_bins: int) -> F64:
    """Return edges that cut each column into at most ``n_bins`` bins.

    rows: float64 [n_rows, n_columns], finite, at least one row. quantile: bins hold equally many
    rows, up to one and as far as equal values allow, and each edge is a value of the column.
    uniform: bins of equal width between the smallest and the largest value. Edges that coincide
    are merged: a constant column has none.

    Returns float64 [n_columns, n_bins - 1], the edges of a column ascending, then +inf.
    """
    parts = np.arange(1, n_bins)
    smallest, largest = rows.min(axis=0), rows.max(axis=0)
    if method == "quantile":
        edges = np.sort(rows, axis=0)[parts * len(rows) // n_bins].T
    else:
        share = parts / n_bins
        # A weighted mean, because the difference of two finite numbers may be none.
        edges = np.outer(smallest, 1 - share) + np.outer(largest, share)
        # Rounding may carry an edge beyond the values, or below the edge before it.
        edges = np.clip(edges, smallest[:, None], largest[:, None])
        edges = np.maximum.accumulate(edges, axis=1)
    # An edge at the smallest value or at the edge before it cuts nothing off.
    before = np.column_stack((smallest, edges[:, :-1]))
    return np.sort(np.where(edges > before, edges, np.inf), axis=1)


def learn_bins(vectors: Vectors, method: str, n_bins: int) -> Bins:
    """Return the bins of these rows; see ``learn_edges``."""
    return Bins(vectors.columns, learn_edges(vectors.rows, method, n_bins))


def bin_numbers(rows: F64, edges: F64) -> I64:
    """Return the bin of each value, int64 [n_rows, n_columns]."""
    numbers = np.zeros(rows.shape, dtype=np.int64)
    for edge in edges.T:
        numbers += rows >= edge
    return numbers


def to_words(vectors: Vectors, bins: Bins) -> Corpus:
    """Return rows as documents with a word ``column=bin`` per column.

    Columns are matched by name, or by place where the rows or the bins have no names of their
    own. Raises HiertopicsError where the columns are others.
    """
    rows = vectors.rows[:, column_order(vectors.columns, bins.columns, "cut into bins")]
    starts = np.concatenate(([0], np.cumsum(bins.n_bins)))
    n_rows, n_columns = rows.shape
    ids = (starts[:-1] + bin_numbers(rows, bins.edges)).ravel()
    ends = np.arange(0, ids.size + 1, n_columns)
    ones = np.ones(ids.size, dtype=np.int32)
    counts = sparse.csr_array((ones, ids, ends), shape=(n_rows, int(starts[-1])))
    marks = (vectors.doc_ids, vectors.groups, vectors.labels, vectors.notes)
    return Corpus(counts, bins.words, *marks)


def column_order(given: Sequence[str], wanted: Sequence[str], done: str) -> list[int]:
    """Return the position of each wanted column among the given ones: by name, or by place.

    done: what was done to the wanted ones, for the message. Raises HiertopicsError where the
    columns are others.
    """
    if len(given) == len(wanted):
        unnamed = default_columns(len(given))
        if tuple(given) == unnamed or tuple(wanted) == unnamed:
            return list(range(len(given)))
    place = {name: column for column, name in enumerate(given)}
    missing = [name for name in wanted if name not in place]
    strange = sorted(set(place) - set(wanted), key=place.__getitem__)
    if missing or strange:
        parts = [f"no {_some(missing)}"] if missing else []
        parts += [f"{_some(strange)} besides"] if strange else []
        what = f"{len(given)} columns where {len(wanted)} were {done}"
        raise HiertopicsError(f"{what}: {'; '.join(parts)}")
    return [place[name] for name in wanted]


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if names[3:] else "")
