"""The tree in the form of kernels, and the places of a document's nodes in vectors.

Nodes are numbered breadth first, so that the children of a node are contiguous. A document has some
of them, its own nodes: with each also those above. Inner nodes are those with children, and the
root; a document's own inner nodes come first in its vectors, in order. Its leaves follow in groups
of ``LANES`` lanes. A lane is a family of leaves or a part of one: its k-th leaf stands in the k-th
vector of its group, so that sums over families are sums of whole vectors. Columns that are left
over belong to no node and hold zeros.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64, U16, U32, Bools, Floats, Ints
from hiertopics.base.axes import Axes

LANES = 16
LONGEST_LANE = 32

StoredResponsibilities = U16 | Floats


class Shape(NamedTuple):
    """A tree. parent: int32 [K], -1 for the root, nodes breadth first. first: int64 [K + 1]; the
    children of node p are ``first[p] .. first[p + 1]``.
    """

    parent: I32
    first: I64

    @property
    def n_nodes(self) -> int:
        """Number K of nodes."""
        return len(self.parent)

    @property
    def n_children(self) -> I64:
        """Number of children of each node, int64 [K]."""
        return np.diff(self.first)

    def children(self, node: int) -> slice:
        """Return the children of a node."""
        return slice(int(self.first[node]), int(self.first[node + 1]))

    @property
    def inner(self) -> I64:
        """Nodes with children: int64 [n], ascending."""
        return np.flatnonzero(self.n_children)

    @property
    def leaves(self) -> I64:
        """Nodes without children: int64 [n], ascending."""
        return np.flatnonzero(self.n_children == 0)

    @property
    def depth(self) -> I64:
        """Distance of each node from the root, int64 [K]."""
        depth = np.zeros(self.n_nodes, np.int64)
        for node in range(1, self.n_nodes):
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def ancestry(self) -> Ancestry:
        """The tree as kernels want it."""
        inner = self.n_children > 0
        inner[0] = True
        return Ancestry(np.maximum(self.parent, 0).astype(np.uint32), inner)


class Ancestry(NamedTuple):
    """What kernels need of a tree. parent: uint32 [K], 0 for the root. inner: bool [K], the nodes
    with children, and the root.
    """

    parent: U32
    inner: Bools


class Local(NamedTuple):
    """Per-document state of a piece, in order of documents; floats are float32 in use.

    first_node: int64 [n_docs + 1]; entries ``first_node[d] .. first_node[d + 1]`` are document d's.
    node: int32 [n_entries], its own nodes, ascending. n: [n_entries], its expected tokens at each.
    first_resp: int64 [n_docs + 1], where the q(z) of its pairs begin. resp: one number for each of
    its pairs and nodes, pair by pair, as ``document_kernels.pack`` keeps it: uint16 in use.
    """

    first_node: Annotated[I64, Axes("n_docs+1", least=0)]
    node: Annotated[I32, Axes("n_entries", below="n_nodes")]
    n: Annotated[Floats, Axes("n_entries")]
    first_resp: Annotated[I64, Axes("n_docs+1", least=0)]
    resp: Annotated[StoredResponsibilities, Axes("n_resp", least=0)]

    def flaw(self, n_pairs: I64, parent: I32) -> str | None:
        """Return an error about documents with so many pairs [n_docs], None if there is none.

        Nodes must be below the length of parent [K].
        """
        for name, first, n_all in (
            ("first_node", self.first_node, len(self.node)),
            ("first_resp", self.first_resp, len(self.resp)),
        ):
            if first[0] != 0 or first[-1] != n_all or (first[1:] < first[:-1]).any():
                return f"{name} does not lead from document to document"
        n_own = np.diff(self.first_node)
        if not np.array_equal(np.diff(self.first_resp), n_pairs * n_own):
            return "resp is not as long as documents have pairs and nodes"
        if (n_own[n_pairs > 0] == 0).any():
            return "a document with words has no node"
        place = np.repeat(np.arange(len(n_own)), n_own) * len(parent) + self.node
        if (np.diff(place) <= 0).any():
            return "the nodes of a document do not ascend"
        below = self.node > 0
        above = place[below] - self.node[below] + parent[self.node[below]]
        if not np.isin(above, place).all():
            return "a document has a node, but not the one above it"
        return None


class BurstyLocal(NamedTuple):
    """``Local`` where documents are bursty: its fields count tables.

    pair_tables: [n_pairs], the expected tables of each pair, from 1 to its tokens.
    """

    first_node: Annotated[I64, Axes("n_docs+1", least=0)]
    node: Annotated[I32, Axes("n_entries", below="n_nodes")]
    n: Annotated[Floats, Axes("n_entries")]
    first_resp: Annotated[I64, Axes("n_docs+1", least=0)]
    resp: Annotated[StoredResponsibilities, Axes("n_resp", least=0)]
    pair_tables: Annotated[Floats, Axes("n_pairs", least=0)]

    @property
    def plain(self) -> Local:
        """The state for kernels, which take the tables separately."""
        return Local(*self[:-1])

    def flaw(self, n_pairs: I64, parent: I32) -> str | None:
        """Return an error, as ``Local.flaw``."""
        return self.plain.flaw(n_pairs, parent)


AnyLocal = Local | BurstyLocal


def shape_of(parent: Ints) -> Shape:
    """Return the tree of these parents, int [n_nodes], breadth first and siblings contiguous."""
    counts = np.bincount(parent[1:], minlength=len(parent)).astype(np.int64)
    first = np.concatenate([[1], 1 + np.cumsum(counts)])
    return Shape(np.asarray(parent, np.int32), first.astype(np.int64))
