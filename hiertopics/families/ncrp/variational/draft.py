"""A tree under reconstruction: its documents' words and masses, by slot and level.

Moves are weighed and made on a draft. With sticks and topics at their best for what it holds, the
bound is a sum over nodes, so that the gain of a move is a difference of a few terms. q of slots
stays with the documents; where a question needs it, they are told what has become of their slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.contract.engine import Pieces
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.state import SlotProbabilities, State, words_by_level
from hiertopics.families.nested.slots import fit_sticks, in_order, nodes_of, renumbered

GONE = -2


class SlotMoves(NamedTuple):
    """Changes of slots: ``moved`` are pairs of nodes, where the first lost its documents to the
    second, in order. n_nodes: the new number of nodes.
    """

    n_nodes: int
    moved: tuple[tuple[int, int], ...]

    def now(self, chances: F64) -> F64:
        """Return q of the slots that there are now, [n, n_nodes], a copy."""
        found = np.zeros((len(chances), self.n_nodes))
        found[:, : chances.shape[1]] = chances
        for node, to in self.moved:
            found[:, to] += found[:, node]
            found[:, node] = 0.0
        return found


class SlotPosterior(NamedTuple):
    """The pieces with q of slots, and the way to compute q."""

    local: Pieces[DocumentPairs, Any]
    weighing: SlotProbabilities


@dataclass
class PathTreeDraft:
    """A tree whose nodes may be in any order, including removed ones (parent ``GONE``).

    parent: int32 [n_nodes]. level: int32 [n_nodes]. words: [n_nodes, depth, n_words], expected
    tokens of the documents in a node's slot by level. mass: float64 [n_nodes], documents in the
    slot. documents: who has q of slots, those of before.
    """

    parent: I32
    level: I32
    words: Floats
    mass: F64
    documents: SlotPosterior
    _moved: list[tuple[int, int]] = field(default_factory=list)
    _lost: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def seating(self) -> SlotMoves:
        """The changes of slots since the documents' q."""
        return SlotMoves(len(self.parent), tuple(self._moved))

    @property
    def depth(self) -> int:
        """Number of levels."""
        return self.words.shape[1]

    def alive(self, level: int) -> I64:
        """Return the nodes of a level that are not gone: int64 [n], ascending."""
        return np.flatnonzero((self.parent != GONE) & (self.level == level))

    def children(self, node: int) -> I64:
        """Return the children of ``node``: int64 [n], ascending."""
        return np.flatnonzero(self.parent == node)

    def ancestor(self, level: int) -> I64:
        """Return every node's ancestor-or-self at a level, -1 above it or for gone nodes.

        int64 [n_nodes].
        """
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

    def entropy_lost(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Return the entropy of q that is lost when the two slots of each pair are merged."""
        new = [pair for pair in pairs if pair not in self._lost]
        if new:
            asked = _Pairs(self.documents.weighing, self.seating, np.array(new))
            lost = np.sum(self.documents.local.ask(_entropy_lost, asked), axis=0)
            self._lost.update(zip(new, lost.tolist(), strict=True))
        return [self._lost[pair] for pair in pairs]

    def products(self, level: int) -> F64:
        """Return the sums over documents of products of the chances to pass ``alive(level)``.

        In a last row and column those of the chances themselves, [n_alive + 1, n_alive + 1].
        """
        members = self.over_subtrees(np.eye(len(self.parent)), level)
        asked = _Members(self.documents.weighing, self.seating, members)
        return np.asarray(np.sum(self.documents.local.ask(_products, asked), axis=0))

    def join(self, node: int, other: int) -> None:
        """Merge ``other`` into its sibling ``node``: slots, topics and children."""
        self.parent[self.children(other)] = node
        self._hand_over(other, node)
        self.parent[other] = GONE

    def add_node(self, parent: int) -> int:
        """Append an empty node below ``parent``, extend the tables, and return the node."""
        self.parent = np.append(self.parent, np.int32(parent))
        self.level = np.append(self.level, self.level[parent] + np.int32(1))
        self.words = np.concatenate([self.words, np.zeros_like(self.words[:1])])
        self.mass = np.append(self.mass, 0.0)
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
        self.words[node], self.mass[node] = 0, 0.0
        self._moved.append((node, to))
        self._lost = {pair: lost for pair, lost in self._lost.items() if not {node, to} & {*pair}}

    def _remove_if_empty(self, node: int, least: float = np.inf) -> None:
        """Let inner nodes go upwards from ``node`` that have no children (and few documents)."""
        while node > 0 and not len(self.children(node)) and self.mass[node] < least:
            above = int(self.parent[node])
            self._hand_over(node, above)
            self.parent[node] = GONE
            node = above


class _Pairs(NamedTuple):
    """Pairs of nodes [n, 2] about which the pieces of documents are asked."""

    weighing: SlotProbabilities
    seating: SlotMoves
    pairs: I64


def _entropy_lost(piece: DocumentPairs, local: Any, asked: _Pairs) -> F64:
    lost = np.zeros(len(asked.pairs))
    for chances in asked.weighing.blocks(piece, local):
        rows = np.asfortranarray(asked.seating.now(chances))
        for number, (node, other) in enumerate(asked.pairs):
            first, second = rows[:, node], rows[:, other]
            both = first + second
            lost[number] += (xlogy(both, both) - xlogy(first, first) - xlogy(second, second)).sum()
    return lost


class _Members(NamedTuple):
    """Groups of nodes, float64 [n_groups, n_nodes], about which pieces of documents are asked."""

    weighing: SlotProbabilities
    seating: SlotMoves
    members: F64


def _products(piece: DocumentPairs, local: Any, asked: _Members) -> F64:
    n_groups = len(asked.members)
    found = np.zeros((n_groups + 1, n_groups + 1))
    for chances in asked.weighing.blocks(piece, local):
        passing = np.ones((n_groups + 1, len(chances)))
        passing[:-1] = asked.members @ asked.seating.now(chances).T
        found += passing @ passing.T
    return found


def draft_of(state: State) -> PathTreeDraft:
    """Return the draft of a state; the state is not touched.

    Words are counted with levels that depend on the path, in the mean-field family too: there a
    draft is an estimate. As long as the draft is used, what belongs to documents stays.
    """
    nodes = state.nodes
    columns = np.arange(nodes.n_nodes * nodes.depth, dtype=np.int32).reshape(-1, nodes.depth)
    sums = words_by_level(state, np.where(nodes.path >= 0, columns, np.int32(-1)))
    n_words, n_columns = sums.words.shape
    words = np.zeros((columns.size, n_words))
    words[:n_columns] = sums.words.T
    return PathTreeDraft(
        state.parent.copy(),
        nodes.level.copy(),
        words.reshape(*columns.shape, n_words),
        sums.slot.copy(),
        SlotPosterior(state.local, state.weighing()),
    )


def state_of_draft(draft: PathTreeDraft, like: State) -> State:
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
    local = like.reseated(_reseated, (draft.seating, kept))
    return replace(like, local=local, parent=parent, lam=lam, stick_a=sticks.a, stick_b=sticks.b)


def _reseated(piece: DocumentPairs, local: Any, asked: tuple[SlotMoves, I64]) -> tuple[Any, None]:
    seating, kept = asked
    chances = np.ascontiguousarray(seating.now(local.chances)[:, kept])
    return local._replace(chances=chances), None
