"""The tree as kernels want it: a column of every table for each node, families side by side.

Nodes are numbered breadth first, so that the children of a node are contiguous. Inner nodes are
those with children, and the root. The tables' first columns are theirs, in order; leaves follow
in groups of ``LANES`` lanes. A lane is a leaf family or a part of one: its k-th leaf stands in the
k-th vector of its group, so that sums over families are sums of whole vectors. Columns that are
left over belong to no node and hold zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LANES = 16
LONGEST_LANE = 32
LANE_COST = 3
"""What a lane costs besides its columns, in columns."""


class Shape(NamedTuple):
    """A tree. parent: int32 [K], -1 for the root, nodes breadth first. first: int64 [K + 1]; the
    children of node p are ``first[p] .. first[p + 1]``.
    """

    parent: NDArray[np.int32]
    first: NDArray[np.int64]

    @property
    def n_nodes(self) -> int:
        """Number K of nodes."""
        return len(self.parent)

    @property
    def n_children(self) -> NDArray[np.int64]:
        """Number of children of each node, int64 [K]."""
        return np.diff(self.first)

    def children(self, node: int) -> slice:
        """Return the children of a node."""
        return slice(int(self.first[node]), int(self.first[node + 1]))

    @property
    def inner(self) -> NDArray[np.int64]:
        """Nodes with children."""
        return np.flatnonzero(self.n_children)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """Nodes without."""
        return np.flatnonzero(self.n_children == 0)

    @property
    def depth(self) -> NDArray[np.int64]:
        """Distance of each node from the root, int64 [K]."""
        depth = np.zeros(self.n_nodes, np.int64)
        for node in range(1, self.n_nodes):
            depth[node] = depth[self.parent[node]] + 1
        return depth


class Columns(NamedTuple):
    """Where nodes stand in the tables (see the module).

    column: int64 [K], of each node. n_inner: inner nodes, the root always among them. inner_parent:
    uint32 [n_inner], the parent's place among inner nodes (0 for the root). inner_first: uint32
    [n_inner + 1]; inner children of inner node p are ``inner_first[p] .. inner_first[p + 1]``.
    branching: uint32, the inner nodes that have some.
    group_start, group_depth: int64 [n_groups], first column of each group and its vectors.
    lane_parent: uint32 [n_groups * LANES], the inner node that a lane's leaves belong to.
    """

    column: NDArray[np.int64]
    n_inner: int
    inner_parent: NDArray[np.uint32]
    inner_first: NDArray[np.uint32]
    branching: NDArray[np.uint32]
    group_start: NDArray[np.int64]
    group_depth: NDArray[np.int64]
    lane_parent: NDArray[np.uint32]

    @property
    def n_above(self) -> int:
        """Columns of inner nodes, those left over among them."""
        return padded(self.n_inner)

    @property
    def n_columns(self) -> int:
        """Columns of a table."""
        return self.n_above + LANES * int(self.group_depth.sum())

    def gather(self, table: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the columns of a table [..., n_columns] by node, [..., K]."""
        return table[..., self.column]

    def spread(self, by_node: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return values by node [..., K] as columns, zero in those left over."""
        table = np.zeros((*by_node.shape[:-1], self.n_columns), by_node.dtype)
        table[..., self.column] = by_node
        return table


def padded(n_columns: int) -> int:
    """Return the next multiple of ``LANES``."""
    return -(-n_columns // LANES) * LANES


def shape_of(parent: NDArray[np.integer]) -> Shape:
    """Return the tree of these parents, nodes breadth first and siblings contiguous."""
    counts = np.bincount(parent[1:], minlength=len(parent)).astype(np.int64)
    first = np.concatenate([[1], 1 + np.cumsum(counts)])
    return Shape(np.asarray(parent, np.int32), first.astype(np.int64))


def columns_of(shape: Shape) -> Columns:
    """Return where the nodes of a tree stand."""
    has_children = shape.n_children > 0
    has_children[0] = True
    inner = np.flatnonzero(has_children)
    place = np.full(shape.n_nodes, -1)
    place[inner] = np.arange(len(inner))
    inner_parent = np.maximum(place[shape.parent[inner]], 0)
    inner_parent[0] = 0
    n_inner_children = np.bincount(inner_parent[1:], minlength=len(inner))
    families = [np.flatnonzero((shape.parent == node) & ~has_children) for node in inner]
    lanes = _lanes([len(family) for family in families])
    column = np.zeros(shape.n_nodes, np.int64)
    column[inner] = np.arange(len(inner))
    n_groups = -(-len(lanes) // LANES)
    starts, depths = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    lane_parent = np.zeros(n_groups * LANES, np.uint32)
    taken = [0] * len(inner)
    start = padded(len(inner))
    for group in range(n_groups):
        mine = lanes[group * LANES : (group + 1) * LANES]
        starts[group], depths[group] = start, mine[0][0]
        for lane, (length, owner) in enumerate(mine):
            leaves = families[owner][taken[owner] : taken[owner] + length]
            taken[owner] += length
            column[leaves] = start + lane + LANES * np.arange(length)
            lane_parent[group * LANES + lane] = owner
        start += LANES * int(depths[group])
    first = np.concatenate([[1], 1 + np.cumsum(n_inner_children)]).astype(np.uint32)
    branching = np.flatnonzero(n_inner_children).astype(np.uint32)
    above = inner_parent.astype(np.uint32), first, branching
    return Columns(column, len(inner), *above, starts, depths, lane_parent)


def _lanes(sizes: list[int]) -> list[tuple[int, int]]:
    """Return (length, family) of each lane, longest first: the cut that costs the least."""

    def cut(longest: int) -> list[tuple[int, int]]:
        lanes = []
        for family, size in enumerate(sizes):
            n_lanes = -(-size // longest)
            bounds = np.linspace(0, size, n_lanes + 1).astype(int)
            lanes += [(int(length), family) for length in np.diff(bounds)]
        return sorted(lanes, key=lambda lane: (-lane[0], lane[1]))

    def cost(lanes: list[tuple[int, int]]) -> int:
        return sum(LANES * (lane[0] + LANE_COST) for lane in lanes[::LANES])

    return min((cut(longest) for longest in range(1, LONGEST_LANE + 1)), key=cost)
