"""Nodes joined, moved or taken out: the new tree, and the new row of each old row."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I8, I32, I64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import NODE, OUTSIDE, ROOT, Tree


class Regrouping(NamedTuple):
    """A map from the rows of a tree to the rows of another one, as large or smaller.

    into: int64 [n_nodes], the new row that takes what each old row holds. slot: likewise, where
    documents go whose paths ended there; the same but for rows that were taken out. removed: those,
    bool [n_nodes]. parent: int32 [n_new]; kind: int8 [n_new].
    """

    into: I64
    slot: I64
    removed: Bools
    parent: I32
    kind: I8

    @property
    def n_rows(self) -> int:
        """Number of new rows, including the row outside."""
        return len(self.parent)

    def moved(self, tree: Tree) -> Bools:
        """Tell which rows of the old tree come to lie below another node, bool [n_nodes]."""
        inner = (tree.parent != ROOT) & ~self.removed
        return np.asarray(inner & (self.parent[self.into] != self.slot[tree.parent]))

    @property
    def counts(self) -> I64:
        """How many rows that were not taken out each new row is made of, int64 [n_new]."""
        return np.bincount(self.into[~self.removed], minlength=self.n_rows).astype(np.int64)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values [..., n_nodes] added up by new row, [..., n_new]."""
        summed = np.zeros((*values.shape[:-1], self.n_rows), dtype=values.dtype)
        np.add.at(summed.T, self.into, values.T)
        return summed

    def means(self, rows: F64, weights: F64) -> F64:
        """Return the mean of rows [n_nodes, ...] by new row; weights: float64 [n_nodes], none < 0.

        Rows that have no weight together weigh alike.
        """
        total = self.sums(weights)
        weights = np.where(total[self.into] > 0, weights, 1.0)
        share = weights / self.sums(weights)[self.into]
        # A row that stays alone keeps its bytes.
        share[np.bincount(self.into, minlength=self.n_rows)[self.into] == 1] = 1.0
        matrix = sparse.csr_array(
            (share, (self.into, np.arange(len(self.into)))), shape=(self.n_rows, len(self.into))
        )
        return np.asarray(matrix @ rows)


def _taken_up(first: int, other: int, parents: Mapping[int, int]) -> str:
    """Return how a node and its parent become one; "" for other nodes."""
    for below, above in ((first, other), (other, first)):
        if parents[below] == above:
            return f"; 'drop {below}' leaves its documents to {above}"
    return ""


def joined(tree: Tree, nodes: Collection[int]) -> Regrouping:
    """Return the map of rows for a merge of nodes of one parent.

    What hangs below any of them hangs below the one. Raises UsageError.
    """
    first, *others = sorted(set(nodes))
    if len(others) + 1 < max(len(nodes), 2):
        raise UsageError("merge needs two or more different nodes")
    parents = {node: int(tree.parent[node]) for node in (first, *others)}
    for node in others:
        if parents[node] != parents[first]:
            lies = [f"{one} lies below {parents[one]}" for one in (first, node)]
            told = " and ".join(lies).replace(f"below {ROOT}", "at the top")
            raise UsageError(
                f"only nodes below the same one can be merged: {told}"
                f"{_taken_up(first, node, parents)}"
            )
    target = np.arange(tree.n_nodes)
    target[others] = first
    return _numbered(tree, target, target, np.zeros(tree.n_nodes, dtype=bool), tree.kind)


def moved(tree: Tree, node: int, below: int) -> Regrouping:
    """Return the map of rows for a move of a node, with all below it, below another node.

    The node is no root, and the other one is neither the node nor below it.
    """
    rows = np.arange(tree.n_nodes)
    parent = tree.parent.copy()
    parent[node] = below
    none = np.zeros(tree.n_nodes, dtype=bool)
    return _numbered(tree, rows, rows, none, tree.kind, parent)


def without(tree: Tree, node: int) -> Regrouping:
    """Return the map of rows for the removal of a node and all below it.

    What it holds goes outside the nodes; where a tree knows no outside, to its parent. Paths that
    ended there end at its parent. Raises UsageError for the only node at the top.
    """
    above = int(tree.parent[node])
    if above == ROOT and (tree.parent[tree.shown] == ROOT).sum() == 1:
        raise UsageError(f"{node} is the root: nothing would be left")
    gone = np.zeros(tree.n_nodes, dtype=bool)
    for row in range(node, tree.n_nodes):
        gone[row] = row == node or (tree.parent[row] != ROOT and gone[tree.parent[row]])
    outside = np.flatnonzero(tree.kind == OUTSIDE)
    rows = np.arange(tree.n_nodes)
    if len(outside):
        into = np.where(gone, outside[0], rows)
    elif above == ROOT:
        into = np.where(gone, node, rows)  # its own row becomes the one outside
    else:
        into = np.where(gone, above, rows)
    slot = into if above == ROOT else np.where(gone, above, rows)
    kind = tree.kind.copy()
    if above == ROOT and not len(outside):
        kind[node] = OUTSIDE
    return _numbered(tree, into, slot, gone, kind)


def _numbered(
    tree: Tree, into: I64, slot: I64, removed: Bools, kind: I8, parent: I32 | None = None
) -> Regrouping:
    """Number the rows that stay: breadth first where they stood so, else in pre-order.

    Siblings keep their order, and the row outside is the last. parent: by old row, where it is
    another one than in the tree.
    """
    stays = into == np.arange(tree.n_nodes)
    parent = tree.parent if parent is None else parent
    above = np.where(parent == ROOT, ROOT, slot[parent])
    nodes = np.flatnonzero(stays & (kind == NODE))
    children: dict[int, list[int]] = {}
    for node in nodes.tolist():
        children.setdefault(int(above[node]), []).append(node)
    breadth_first = bool((np.diff(tree.depth[tree.shown]) >= 0).all())
    order: list[int] = []
    waiting = deque(children.get(ROOT, ()))
    while waiting:
        order.append(waiting.popleft())
        below = children.get(order[-1], [])
        if breadth_first:
            waiting.extend(below)
        else:
            waiting.extendleft(below[::-1])
    rows = np.append(np.array(order, np.int64), np.flatnonzero(stays & (kind == OUTSIDE)))
    number = np.full(tree.n_nodes, ROOT, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    new = np.where(above[rows] == ROOT, ROOT, number[above[rows]]).astype(np.int32)
    return Regrouping(number[into], number[slot], removed, new, kind[rows])


def regrouped(tree: Tree, grouping: Regrouping, extra: Mapping[str, NDArray[Any]]) -> Tree:
    """Return the tree with rows put together; the caller has to recount n_docs by documents.

    Words are means weighted by tokens, but a tree's row outside keeps its own. extra: as the
    tree's backend has made it for the new rows, arrays [n_new, ...] by name.
    """
    phi = grouping.means(tree.phi, tree.n_tokens)
    if not tree.is_flat:
        for row in np.flatnonzero(tree.kind == OUTSIDE):
            phi[grouping.into[row]] = tree.phi[row]
    return Tree(
        phi=phi,
        parent=grouping.parent,
        kind=grouping.kind,
        weight=grouping.sums(tree.weight),
        n_docs=grouping.sums(tree.n_docs),
        n_tokens=grouping.sums(tree.n_tokens),
        extra=dict(extra),
    )
