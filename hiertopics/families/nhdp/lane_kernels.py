"""The places of a document's own nodes in its vectors (see ``layout``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64, U32
from hiertopics.families.nhdp.layout import LANES, LONGEST_LANE, Ancestry
from hiertopics.numeric.jit import kernel


class LanePlaces(NamedTuple):
    """Room for the places of a document's w own nodes, written anew for each document.

    node: uint32 [w], ascending. column: uint32 [w], of each node in the vectors. above: uint32 [w],
    the place of its parent among inner nodes (0 for the root). inner_first: uint32 [n_inner + 1];
    inner children of inner node p are ``inner_first[p] .. inner_first[p + 1]``. branching: uint32,
    the inner nodes that have some. group_start, group_depth: int64, first column of each group and
    its vectors. lane_parent: uint32, the inner node that a lane's leaves belong to. place: [K], of
    nodes among inner ones; length, owner, rank: of lanes before they are in order.
    n_long: int64 [LONGEST_LANE + 1], the lanes of each length, and then their first rank.
    """

    node: U32
    column: U32
    above: U32
    inner_first: U32
    branching: U32
    group_start: I64
    group_depth: I64
    lane_parent: U32
    place: U32
    length: I64
    owner: U32
    rank: I64
    n_long: I64


class LaneSizes(NamedTuple):
    """How much of the places is a document's. n_above: columns of inner nodes, n_columns: all."""

    n_inner: int
    n_branching: int
    n_groups: int
    n_above: int
    n_columns: int


def most_columns(n_nodes: int) -> int:
    """Return the columns that no document needs more of."""
    return n_nodes + (2 + LONGEST_LANE) * LANES


def room_for_places(n_nodes: int) -> LanePlaces:
    """Return room for the places of any document."""
    n_lanes = n_nodes + LANES
    return LanePlaces(
        np.zeros(n_nodes, np.uint32),
        np.zeros(n_nodes, np.uint32),
        np.zeros(n_nodes, np.uint32),
        np.zeros(n_nodes + 1, np.uint32),
        np.zeros(n_nodes, np.uint32),
        np.zeros(n_lanes, np.int64),
        np.zeros(n_lanes, np.int64),
        np.zeros(n_lanes + LANES, np.uint32),
        np.zeros(n_nodes, np.uint32),
        np.zeros(n_lanes, np.int64),
        np.zeros(n_lanes, np.uint32),
        np.zeros(n_lanes, np.int64),
        np.zeros(LONGEST_LANE + 1, np.int64),
    )


@kernel()
def lay_inner(nodes: I32, ancestry: Ancestry, places: LanePlaces) -> Any:
    """Write the places of inner nodes; return their number, and the number that branch.

    nodes: int32 [n], a document's own nodes, breadth first.
    """
    n_inner = 0
    for at in range(len(nodes)):
        node = np.uint32(nodes[at])
        above = places.place[ancestry.parent[node]]
        places.node[at] = node
        places.above[at] = above if at else np.uint32(0)
        if ancestry.inner[node]:
            places.place[node], places.column[at] = n_inner, n_inner
            places.inner_first[n_inner + 1] = 0
            if at:
                places.inner_first[above + np.uint32(1)] += np.uint32(1)
            n_inner += 1
    places.inner_first[0] = 1
    n_branching = 0
    for inner in range(n_inner):
        if places.inner_first[inner + 1] > 0:
            places.branching[n_branching] = inner
            n_branching += 1
        places.inner_first[inner + 1] += places.inner_first[inner]
    return n_inner, n_branching


@kernel()
def longest_lane(nodes: I32, ancestry: Ancestry, places: LanePlaces) -> int:
    """Return the length at which families are cut: one full group, or twice the mean family.

    nodes: int32 [n], as of ``lay_inner``.
    """
    n_leaves, n_families, last = 0, 0, np.int64(-1)
    for at in range(len(nodes)):
        if not ancestry.inner[places.node[at]]:
            n_leaves += 1
            n_families += np.int64(places.above[at]) != last
            last = np.int64(places.above[at])
    full = (n_leaves + LANES - 1) // LANES
    twice = (2 * n_leaves + n_families - 1) // max(n_families, 1)
    return int(max(1, min(full, twice, LONGEST_LANE)))


@kernel()
def lay_out(nodes: I32, ancestry: Ancestry, places: LanePlaces) -> LaneSizes:
    """Write the places of a document's own nodes, int32 [n]; return the number of entries."""
    n_inner, n_branching = lay_inner(nodes, ancestry, places)
    longest = longest_lane(nodes, ancestry, places)
    # Leaves of a family come one behind the other: their lane and step, kept in the column so far.
    n_lanes, last = 0, np.int64(-1)
    n_long = places.n_long
    for length in range(len(n_long)):
        n_long[length] = 0
    for at in range(len(nodes)):
        if ancestry.inner[places.node[at]]:
            continue
        above = np.int64(places.above[at])
        if above != last or places.length[n_lanes - 1] == longest:
            places.owner[n_lanes], places.length[n_lanes] = places.above[at], 0
            last = above
            n_lanes += 1
        places.column[at] = (n_lanes - 1) * LONGEST_LANE + places.length[n_lanes - 1]
        places.length[n_lanes - 1] += 1
    for lane in range(n_lanes):
        n_long[places.length[lane]] += 1
    longer = np.int64(0)
    for length in range(longest, 0, -1):
        longer += n_long[length]
        n_long[length] = longer - n_long[length]
    n_groups = (n_lanes + LANES - 1) // LANES
    # Loops: assignments to slices take longer to compile.
    for lane in range(n_groups * LANES):
        places.lane_parent[lane] = 0
    for group in range(n_groups):
        places.group_depth[group] = 0
    for lane in range(n_lanes):
        rank = n_long[places.length[lane]]
        n_long[places.length[lane]] += 1
        places.rank[lane], places.lane_parent[rank] = rank, places.owner[lane]
        group = rank // LANES
        places.group_depth[group] = max(places.group_depth[group], places.length[lane])
    n_above = (n_inner + LANES - 1) // LANES * LANES
    start = n_above
    for group in range(n_groups):
        places.group_start[group] = start
        start += LANES * places.group_depth[group]
    for at in range(len(nodes)):
        if not ancestry.inner[places.node[at]]:
            lane, step = places.column[at] // LONGEST_LANE, places.column[at] % LONGEST_LANE
            rank = places.rank[lane]
            first = places.group_start[rank // LANES]
            places.column[at] = first + step * LANES + rank % LANES
    return LaneSizes(n_inner, n_branching, n_groups, n_above, start)
