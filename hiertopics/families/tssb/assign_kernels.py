"""The slice sampler of the assignments of data to nodes (theory/tssb 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.find_kernels import find_from, make_guide, reveal
from hiertopics.families.tssb.layout import FULL, Nodes, Places, Process
from hiertopics.numeric.jit import REASSOCIATE, kernel

BELOW_ONE = 1.0 - 2.0**-53
NARROW = 1e-15
LOW, HIGH, LEVEL, ASKED = range(4)
"""What ``pending`` holds: the bracket, the slice's level, and the u that was asked for."""


@kernel(fastmath=REASSOCIATE)
def dot(features: NDArray[np.number], value: NDArray[np.floating]) -> float:
    """Return the inner product of a datum's features and a node's parameters."""
    total = 0.0
    for item in range(len(value)):
        total += features[item] * value[item]
    return total


@kernel(fastmath=REASSOCIATE)
def product(
    features: NDArray[np.number], datum: int, value: NDArray[np.floating], node: int
) -> float:
    """Return ``dot`` of two rows; to make views of them would cost as much as the loop."""
    total = value.dtype.type(0)
    for item in range(value.shape[1]):
        total += features[datum, item] * value[node, item]
    return float(total)


@kernel()
def assign(
    features: NDArray[np.number],
    table: NDArray[np.floating],
    home: NDArray[np.int32],
    start: int,
    pending: NDArray[np.float64],
    n_rest: int,
    nodes: Nodes,
    places: Places,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> int:
    """Redraw the node of each datum from ``start`` on; return where room ran out, or the end.

    features: [n, P]. table: log likelihoods [n, n_rest] of the nodes whose parameters were known
    at rest, or [n, 0] to work them out when they are asked for. home: int32 [n], the nodes, moved
    in place. pending: float64 [4], NaN in front; where room runs out it keeps the datum's state,
    so that the pass goes on, in larger arrays, as if there had been room.
    """
    guide = make_guide(places.left, n_rest)
    while True:
        start, node = assign_known(
            features, table, home, start, pending, guide, n_rest, nodes, places, process, rng
        )
        if node == FULL:
            return start
        reveal(node, nodes, law, rng)


@kernel()
def assign_known(
    features: NDArray[np.number],
    table: NDArray[np.floating],
    home: NDArray[np.int32],
    start: int,
    pending: NDArray[np.float64],
    guide: NDArray[np.int32],
    n_rest: int,
    nodes: Nodes,
    places: Places,
    process: Process,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Do as ``assign`` up to a datum that looks at a node whose parameters are not known.

    Returns the datum and the node; with FULL where room ran out or the end was reached. It stands
    apart because what draws parameters, compiled into this loop, would slow it down.
    """
    left, mid, known = places.left, places.mid, nodes.known
    value, offset = nodes.value, nodes.offset
    low, high, level, asked = pending
    for datum in range(start, len(home)):
        mine = home[datum]
        if np.isnan(low):
            low, high, asked = 0.0, 1.0, np.nan
            here = score(datum, mine, features, table, value, offset)
            level = here - rng.standard_exponential()
        while True:
            u = asked
            if np.isnan(u):
                u = min(low + (high - low) * rng.random(), BELOW_ONE)
            node = guide[int(u * len(guide))]
            while node + 1 < n_rest and left[node + 1] <= u:
                node += 1
            if u >= mid[node]:
                node = find_from(node, u, nodes, places, process, rng)
            if node == FULL or not known[node]:
                pending[LOW], pending[HIGH], pending[LEVEL], pending[ASKED] = low, high, level, u
                return datum, node
            asked = np.nan
            if node == mine:
                break
            if score(datum, node, features, table, value, offset) > level:
                home[datum] = node
                break
            if u < left[mine]:
                low = u
            else:
                high = u
            if high - low < NARROW:
                break
        low = np.nan
    pending[LOW] = pending[ASKED] = np.nan
    return len(home), FULL


@kernel(inline=True)
def score(
    datum: int,
    node: int,
    features: NDArray[np.number],
    table: NDArray[np.floating],
    value: NDArray[np.floating],
    offset: NDArray[np.float64],
) -> float:
    """Return the log likelihood of a datum at a node: from the table, where it is there."""
    found = np.nan
    if node < table.shape[1]:
        found = table[datum, node]
    if np.isnan(found):
        found = product(features, datum, value, node) + offset[node]
    return found
