"""Expected tables of a tree's documents (theory/nhdp 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.layout import Columns
from hiertopics.families.nhdp.sweep_kernels import Rates, write_going
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import digamma

RARE = 1e-6


class Sums(NamedTuple):
    """What documents add up to; all float64. tables [C]: at each node, from its parent's customers.

    growth, stops, goes, visits [n_above], at inner nodes: of the concentration, of the weights of
    stopping and of going on, and of both together.
    """

    tables: NDArray[np.float64]
    growth: NDArray[np.float64]
    stops: NDArray[np.float64]
    goes: NDArray[np.float64]
    visits: NDArray[np.float64]


@kernel()
def add_tables(
    cells: Cells,
    doc_shard: int,
    resp: NDArray[np.floating],
    n_dk: NDArray[np.floating],
    columns: Columns,
    rates: Rates,
    sums: Sums,
) -> None:
    """Add the expected tables of a document range to ``sums``."""
    n_columns, n_inner = n_dk.shape[1], len(columns.inner_parent)
    n_above = len(rates.concentration)
    passing, seen = np.zeros(n_columns), np.zeros(n_columns)
    below, gone = np.zeros(n_above), np.zeros(n_above)
    seen_below, seen_here = np.zeros(n_above), np.zeros(n_above)
    row = np.zeros(n_columns)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        if start == stop:
            continue
        seen[:] = 0
        seen_below[:] = 0
        seen_here[:] = 0
        for pair in range(start, stop):
            count = int(cells.tokens[pair])
            for column in range(n_columns):
                row[column] = resp[pair, column]
            write_going(
                row, columns.inner_first, columns.branching, columns.group_start,
                columns.group_depth, columns.lane_parent, below,
            )  # fmt: skip
            note(row[:n_inner], count, seen_here)
            note(below[:n_inner], count, seen_below)
            for node in range(n_inner):
                row[node] += below[node]
            note(row, count, seen)
        for column in range(n_columns):
            passing[column] = max(n_dk[doc, column], 0.0)
        write_going(
            passing, columns.inner_first, columns.branching, columns.group_start,
            columns.group_depth, columns.lane_parent, gone,
        )  # fmt: skip
        for node in range(n_inner):
            a, b = float(rates.stop_a[node]), float(rates.stop_b[node])
            stopped = passing[node]
            passing[node] += gone[node]
            sums.growth[node] += growth(
                float(rates.concentration[node]), gone[node], seen_below[node]
            )
            sums.stops[node] += a * growth(a, stopped, seen_here[node]) if a > 0 else 0.0
            sums.goes[node] += b * growth(b, gone[node], seen_below[node]) if b > 0 else 0.0
            sums.visits[node] += growth(a + b, passing[node], seen[node])
        for column in range(n_columns):
            x = float(rates.share[column])
            if x > 0.0:
                sums.tables[column] += x * growth(x, passing[column], seen[column])


@kernel()
def growth(x: float, count: float, chance: float) -> float:
    """Return P (psi(x + E) - psi(x)), E = max(count / P, 1), P the chance that there is a token."""
    if chance < RARE:
        return 0.0
    return chance * (digamma(x + max(count / chance, 1.0)) - digamma(x))


@kernel()
def note(share: NDArray[np.float64], count: int, seen: NDArray[np.float64]) -> None:
    """Note ``count`` tokens, each somewhere with chance ``share``, in the chance of any there."""
    for place in range(len(share)):
        unseen = 1.0 - min(max(share[place], 0.0), 1.0)
        power, left = 1.0, count
        while left:
            if left & 1:
                power *= unseen
            unseen *= unseen
            left >>= 1
        seen[place] += (1.0 - seen[place]) * (1.0 - power)
