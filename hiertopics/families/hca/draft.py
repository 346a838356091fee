"""A tree being changed: nodes with their axes, and the slot that each row is taken to be in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.tree import ROOT
from hiertopics.families.hca.state import State
from hiertopics.families.nested.slots import fit_sticks, in_order, nodes_of, renumbered

OUT = ROOT - 1


@dataclass
class VectorTreeDraft:
    """A tree with rows on its slots; numbers of nodes stay while it is changed, 0 is the root.

    parent: of each node, -1 for the root, -2 for one that was taken out. axes: the means of the
    nodes' vectors. slot: int64 [n_docs]. rows: [n_docs, n_columns], relative to the mean of all.
    """

    parent: list[int]
    axes: list[F64]
    slot: I64
    rows: F64
    depth: int

    @property
    def live(self) -> list[int]:
        """Nodes that have not been taken out."""
        return [node for node, above in enumerate(self.parent) if above != OUT]

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``."""
        found = [node]
        while self.parent[found[-1]] != ROOT:
            found.append(self.parent[found[-1]])
        return found[::-1]

    def at(self, level: int) -> list[int]:
        """Return the nodes of a level, the root's being 0."""
        return [node for node in self.live if len(self.path(node)) == level + 1]

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is of the last level."""
        return len(self.path(node)) == self.depth

    def children(self, node: int) -> list[int]:
        """Return the children of ``node``."""
        return [child for child, above in enumerate(self.parent) if above == node]

    def docs(self, node: int) -> I64:
        """Return the rows in slots at or below ``node``: int64 [n], ascending."""
        inside = [other for other in self.live if node in self.path(other)]
        return np.flatnonzero(np.isin(self.slot, inside))

    def add(self, parent: int) -> int:
        """Add a node, its axis still to be laid, and return its number."""
        self.parent.append(parent)
        self.axes.append(np.zeros(self.rows.shape[1]))
        return len(self.parent) - 1

    def take_out(self, node: int, slot: I64 | None = None) -> None:
        """Take out ``node``, and the ancestors that are left with neither children nor rows.

        slot: int64 [n_docs], where the rows in its own slot go; None: to its parent's slot.
        """
        above = self.parent[node]
        mine = self.slot == node
        self.slot[mine] = above if slot is None else slot[mine]
        self.parent[node] = OUT
        if above > 0 and not self.children(above) and not (self.slot == above).any():
            self.take_out(above)

    def residual(self, rows: F64, path: list[int]) -> F64:
        """Return the part of rows that the axes of the nodes ``path`` do not explain.

        float64 [n, n_columns], as ``rows``.
        """
        if not path:
            return rows
        basis, _ = np.linalg.qr(np.column_stack([self.axes[node] for node in path]))
        return np.asarray(rows - (rows @ basis) @ basis.T)

    def lay(self, node: int) -> None:
        """Set the axis of ``node`` to the best one for its rows given the axes above it."""
        rows = self.rows[self.docs(node)]
        if len(rows):
            self.axes[node] = leading_axis(self.residual(rows, self.path(node)[:-1]))

    def lay_from(self, node: int) -> None:
        """Lay the axes of a node and of all below it anew."""
        self.lay(node)
        for child in self.children(node):
            self.lay_from(child)


def leading_axis(rows: F64) -> F64:
    """Return the first principal axis of the second moments, as long as the spread along it.

    float64 [n_columns]; rows: float64 [n, n_columns].
    """
    strength, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray(axes[:, -1] * np.sqrt(max(strength[-1], 0.0)))


def draft_of(state: State, rows: F64, slot: I64) -> VectorTreeDraft:
    """Return a draft of the tree as it is.

    rows: float64 [n_docs, n_columns], as they were read. slot: int64 [n_docs], that of each row.
    """
    return VectorTreeDraft(
        state.parent.tolist(), list(state.mean), slot, rows - state.mu, state.depth
    )


def state_of_draft(draft: VectorTreeDraft, state: State, gamma: float) -> State:
    """Return a state with the draft's tree; mean and noise are those of ``state``.

    Sticks are refitted to the rows as the draft has them, heavier siblings first.
    """
    live = np.array(draft.live)
    parent = renumbered(np.array(draft.parent), live)
    n_docs = np.array([len(draft.docs(node)) for node in live])
    order = in_order(parent, -n_docs)
    live = live[order]
    place = np.full(len(draft.parent), -1)
    place[live] = np.arange(len(live))
    shape = renumbered(parent, order)
    slot = place[draft.slot]
    mass = np.bincount(slot, minlength=len(live)).astype(np.float64)
    sticks = fit_sticks(nodes_of(shape, draft.depth), mass, gamma)
    return replace(
        state,
        local=state.in_slots(np.eye(len(live))[slot]),
        parent=shape,
        mean=np.array([draft.axes[node] for node in live]),
        cov=np.eye(len(live)) * np.trace(state.cov) / state.n_nodes,
        stick_a=sticks.a,
        stick_b=sticks.b,
    )
