"""A tree under reconstruction: what its documents put where, slot by slot and level by level.

Moves are weighed and made on a draft. With sticks and topics at their best for what it holds, the
bound is a sum over nodes, so that the gain of a move is a difference of a few terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from hiertopics.arrays import F64, I32, I64, Floats
from hiertopics.families.ncrp.variational.state import State, words_by_level
from hiertopics.families.nested.slots import fit_sticks, in_order, nodes_of, renumbered

GONE = -2


@dataclass
class Draft:
    """A tree whose nodes may be in any order, and gone ones among them (parent ``GONE``).

    parent: int32 [n_nodes]. level: int32 [n_nodes]. words: [n_nodes, depth, n_words], expected
    tokens of the documents in a node's slot by level. mass: float64 [n_nodes], documents in the
    slot. chances: float64 [n_docs, n_nodes], q of slots.
    """

    parent: I32
    level: I32
    words: Floats
    mass: F64
    chances: F64

    @property
    def depth(self) -> int:
        """Number of levels."""
        return self.words.shape[1]

    def alive(self, level: int) -> I64:
        """Return the nodes of a level that are not gone."""
        return np.flatnonzero((self.parent != GONE) & (self.level == level))

    def children(self, node: int) -> I64:
        """Return the children of ``node``."""
        return np.flatnonzero(self.parent == node)

    def ancestor(self, level: int) -> I64:
        """Return every node's ancestor-or-self at a level, -1 above it or for gone nodes."""
        found = np.where(self.parent == GONE, -1, np.arange(len(self.parent)))
        for _ in range(self.depth):
            lower = (found >= 0) & (self.level[found] > level)
            found[lower] = self.parent[found[lower]]
        return np.where((found >= 0) & (self.level[found] == level), found, -1)

    def over_subtrees(self, per_slot: Floats, level: int) -> F64:
        """Return the sums over the subtrees of ``alive(level)``, [n_alive] or [n_alive, n_columns].

        per_slot: [n_nodes] or [n_nodes, n_columns].
        """
        nodes = self.alive(level)
        place = np.full(len(self.parent) + 1, -1)
        place[nodes] = np.arange(len(nodes))
        rows = place[self.ancestor(level)]
        below = np.flatnonzero(rows >= 0)
        ones = (np.ones(len(below)), (rows[below], below))
        members = sparse.csr_array(ones, shape=(len(nodes), len(self.parent)))
        return np.asarray(members @ per_slot)

    def counts(self, level: int) -> F64:
        """Return the expected word counts of the topics of ``alive(level)``."""
        return self.over_subtrees(self.words[:, level], level)

    def passing(self, level: int) -> F64:
        """Return the documents that pass the nodes of ``alive(level)``."""
        return self.over_subtrees(self.mass, level)

    def join(self, node: int, other: int) -> None:
        """Merge ``other`` into its sibling ``node``: slots, topics and children."""
        self.parent[self.children(other)] = node
        self._hand_over(other, node)
        self.parent[other] = GONE

    def add_node(self, parent: int) -> int:
        """Append an empty node below ``parent``, the tables growing by it, and return it."""
        self.parent = np.append(self.parent, np.int32(parent))
        self.level = np.append(self.level, self.level[parent] + np.int32(1))
        self.words = np.concatenate([self.words, np.zeros_like(self.words[:1])])
        self.mass = np.append(self.mass, 0.0)
        self.chances = np.column_stack([self.chances, np.zeros(len(self.chances))])
        return len(self.parent) - 1

    def hang(self, node: int, parent: int) -> None:
        """Move ``node`` with all below it to another parent of the same level as its own."""
        before = int(self.parent[node])
        self.parent[node] = parent
        self._remove_if_empty(before)

    def prune(self, least: float) -> int:
        """Remove leaves with fewer documents than ``least``; return how many.

        Their documents go to the parent's slot; then inner nodes go that have neither children
        nor as many documents (theory/ncrp 4).
        """
        thin = [leaf for leaf in self.alive(self.depth - 1) if self.mass[leaf] < least]
        for leaf in thin:
            self._hand_over(leaf, int(self.parent[leaf]))
            self.parent[leaf] = GONE
        for level in range(self.depth - 2, 0, -1):
            for node in self.alive(level):
                self._remove_if_empty(int(node), least)
        return len(thin)

    def _hand_over(self, node: int, to: int) -> None:
        self.words[to] += self.words[node]
        self.mass[to] += self.mass[node]
        self.chances[:, to] += self.chances[:, node]
        self.words[node], self.mass[node], self.chances[:, node] = 0, 0.0, 0.0

    def _remove_if_empty(self, node: int, least: float = np.inf) -> None:
        """Let inner nodes go upwards from ``node`` that have no children (and few documents)."""
        while node > 0 and not len(self.children(node)) and self.mass[node] < least:
            above = int(self.parent[node])
            self._hand_over(node, above)
            self.parent[node] = GONE
            node = above


def draft_of(state: State, chances: F64) -> Draft:
    """Return the draft of a state; the state is not touched.

    chances: q of slots [n_docs, n_nodes]. Words are counted with levels that depend on the path,
    in the mean-field family too: there a draft is an estimate.
    """
    nodes = state.nodes
    columns = np.arange(nodes.n_nodes * nodes.depth, dtype=np.int32).reshape(-1, nodes.depth)
    sums = words_by_level(state, np.where(nodes.path >= 0, columns, np.int32(-1)))
    n_words, n_columns = sums.words.shape
    words = np.zeros((columns.size, n_words))
    words[:n_columns] = sums.words.T
    return Draft(
        state.parent.copy(),
        nodes.level.copy(),
        words.reshape(*columns.shape, n_words),
        sums.slot.copy(),
        chances.copy(),
    )


def state_of_draft(draft: Draft, like: State) -> State:
    """Return the state of the best sticks and topics for a draft, heavier siblings first."""
    mass = np.zeros(len(draft.parent))
    for level in range(draft.depth):
        mass[draft.alive(level)] = draft.passing(level)
    kept = np.flatnonzero(draft.parent != GONE)
    parent = renumbered(draft.parent, kept)
    order = in_order(parent, -mass[kept])
    parent, kept = renumbered(parent, order), kept[order]
    nodes = nodes_of(parent, draft.depth)
    sticks = fit_sticks(nodes, draft.mass[kept], like.gamma)
    lam = np.empty((draft.words.shape[2], len(kept)), like.lam.dtype)
    for level in range(draft.depth):
        column = np.full(len(draft.parent), -1)
        column[kept] = np.arange(len(kept))
        lam[:, column[draft.alive(level)]] = (draft.counts(level) + like.eta).T
    local = like.in_slots(np.ascontiguousarray(draft.chances[:, kept]))
    return replace(like, local=local, parent=parent, lam=lam, stick_a=sticks.a, stick_b=sticks.b)
