"""Moves that make the tree smaller or hang its parts elsewhere, each by the gain of the bound.

With sticks and topics at their best, a topic is worth log B(counts + eta) / B(eta), and the
tree's shape what the nested CRP gives it (theory/ncrp 5). The stick-breaking bound depends
on the order of siblings and lies a little below that; ``moves`` tries each result on the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from hiertopics.base.arrays import F32, F64, I64, Bools, Floats
from hiertopics.families.ncrp.variational import gain_kernels as kernels
from hiertopics.families.ncrp.variational.draft import PathTreeDraft

LEAST_MASS = 0.1
ROUNDS = 5
FRESH = -1
NEIGHBOURS = 8
"""Nodes that are tried as partners of each: those with the most similar words."""


class Move(NamedTuple):
    """``node`` joins ``other`` (a sibling, or after a hang), or hangs under ``parent``."""

    gain: float
    node: int
    parent: int
    other: int


def reshape(draft: PathTreeDraft, gamma: float, eta: float) -> int:
    """Merge and hang nodes elsewhere as long as that gains; return the number of moves."""
    made = 0
    for _ in range(ROUNDS):
        chosen = _compatible(draft, proposals(draft, gamma, eta))
        for move in chosen:
            _make(draft, move)
        made += len(chosen)
        if not chosen:
            break
    return made


def proposals(draft: PathTreeDraft, gamma: float, eta: float) -> list[Move]:
    """Return every merge of siblings that gains, and each node's best transfer if it gains."""
    levels = range(1, draft.depth)
    joins = {level: _join_gains(draft, level, gamma, eta) for level in levels}
    found = merges(draft, joins)
    for level in levels[1:]:
        found += transfers(draft, level, joins[level], gamma, eta)
    return found


def _join_gains(draft: PathTreeDraft, level: int, gamma: float, eta: float) -> F64:
    """Return the gains of joining two nodes of a level, [n_alive, n_alive].

    Minus infinity for pairs neither of which is among the other's ``NEIGHBOURS``.
    """
    mass, counts = draft.passing(level), draft.counts(level)
    inner = level < draft.depth - 1
    above = draft.parent[draft.alive(level)]
    gains = union_gains(counts, above[:, None] == above, eta)
    alone = _mass_terms(mass, gamma, inner=inner)
    return gains + _mass_terms(mass[:, None] + mass, gamma, inner=inner) - alone[:, None] - alone


def union_gains(counts: F64, siblings: Bools, eta: float) -> F64:
    """Return the gain of merging two topics, [n, n], symmetric.

    It is minus infinity but for the most similar pairs, of siblings [n, n] and of all.
    """
    similar = similarities(counts, counts)
    np.fill_diagonal(similar, -np.inf)
    wanted = highest(similar) | highest(np.where(siblings, similar, -np.inf))
    gains = kernels.join_gains(counts, counts, np.triu(wanted | wanted.T), eta)
    gains -= kernels.topic_scores(counts, eta)[:, None]
    return np.maximum(gains, gains.T)


def similarities(counts: F64, others: F64) -> Floats:
    """Return how similar the words of rows of ``others`` and ``counts`` are, [n_others, n]."""
    roots = [_roots(counts)]
    roots.insert(0, roots[0] if others is counts else _roots(others))
    norms = [np.sqrt((rows**2).sum(axis=1)) for rows in roots]
    scale = np.outer(*norms)
    return np.asarray(roots[0] @ roots[1].T / np.where(scale > 0, scale, 1.0))


def _roots(counts: F64) -> F32:
    found = np.maximum(counts, 0.0)
    return np.sqrt(found, out=found).astype(np.float32)


def highest(similar: Floats) -> Bools:
    """Mark the ``NEIGHBOURS`` highest entries of each row, none that is minus infinity.

    Bool, of the shape of ``similar`` [n_rows, n_columns].
    """
    least = np.sort(similar, axis=1)[:, -NEIGHBOURS:][:, :1]
    return (similar >= least) & (similar > -np.inf)


def merges(draft: PathTreeDraft, joins: Mapping[int, F64]) -> list[Move]:
    """Return the merges of siblings that gain; joins: by level, see ``_join_gains``."""
    gains, pairs = [], []
    for level, of_level in joins.items():
        nodes = draft.alive(level)
        siblings = draft.parent[nodes][:, None] == draft.parent[nodes]
        i, j = np.nonzero(np.triu(siblings & (of_level > 0), 1))
        gains += of_level[i, j].tolist()
        pairs += list(zip(nodes[i].tolist(), nodes[j].tolist(), strict=True))
    lost = draft.entropy_lost(pairs)
    return [
        Move(gain - less, other, int(draft.parent[other]), node)
        for gain, less, (node, other) in zip(gains, lost, pairs, strict=True)
        if gain > less
    ]


def transfers(draft: PathTreeDraft, level: int, joins: F64, gamma: float, eta: float) -> list[Move]:
    """Return the best gainful transfer of each node of a level to another or a new parent.

    Its documents take along the words that they have at the levels between. Leaves may join
    the best leaf there.
    """
    nodes, mass = draft.alive(level), draft.passing(level)
    parents, parent_mass = draft.alive(level - 1), draft.passing(level - 1)
    gains = np.zeros((len(nodes), len(parents)))
    fresh = np.zeros(len(nodes))
    for between in range(1, level):
        tops, arrive, leave, alone = _moved_words(draft, level, between, gamma, eta)
        own = np.searchsorted(tops, draft.ancestor(between)[nodes])
        theirs = np.searchsorted(tops, draft.ancestor(between)[parents])
        gains += np.where(own[:, None] == theirs, 0.0, arrive[:, theirs] + leave[:, None])
        if between == level - 1:
            fresh = alone + leave
    own = np.searchsorted(parents, draft.parent[nodes])
    gains[np.arange(len(nodes)), own] = 0.0
    onto = _best_joins(draft, level, joins) if level == draft.depth - 1 else None
    found = []
    for i, node in enumerate(nodes):
        extra = np.zeros(len(parents)) if onto is None else np.maximum(onto.gain[i], 0.0)
        extra[own[i]] = 0.0
        best = int(np.argmax(gains[i] + extra))
        gain = gains[i, best] + extra[best]
        if fresh[i] > max(gain, 0.0) and mass[i] < parent_mass[own[i]] - LEAST_MASS:
            found.append(Move(fresh[i], int(node), FRESH, -1))
        elif gain > 0 and best != own[i]:
            other = int(onto.leaf[i, best]) if onto is not None and extra[best] > 0 else -1
            found.append(Move(gain, int(node), int(parents[best]), other))
    return found


class Joins(NamedTuple):
    """For each leaf and possible parent, the gain and the leaf of the best merge there."""

    gain: F64
    leaf: I64


def _best_joins(draft: PathTreeDraft, level: int, joins: F64) -> Joins:
    leaves, parents = draft.alive(level), draft.alive(level - 1)
    gains = joins.copy()
    np.fill_diagonal(gains, -np.inf)
    best = np.full((len(leaves), len(parents)), -np.inf)
    leaf = np.zeros((len(leaves), len(parents)), dtype=np.int64)
    for column, parent in enumerate(parents):
        here = np.flatnonzero(draft.parent[leaves] == parent)
        if len(here):
            winner = np.argmax(gains[:, here], axis=1)
            best[:, column] = gains[np.arange(len(leaves)), here[winner]]
            leaf[:, column] = leaves[here[winner]]
    return Joins(best, leaf)


def _moved_words(
    draft: PathTreeDraft, level: int, between: int, gamma: float, eta: float
) -> tuple[I64, F64, F64, F64]:
    """Return the nodes of level ``between``, and what each gains by the words there of each node
    of ``level``; what the node's own ancestor gains by losing them; and a new node's worth.
    """
    tops, top_mass = draft.alive(between), draft.passing(between)
    nodes, mass = draft.alive(level), draft.passing(level)
    carried = draft.over_subtrees(draft.words[:, between], level)
    counts = draft.counts(between)
    own = np.searchsorted(tops, draft.ancestor(between)[nodes])
    wanted = highest(similarities(counts, carried))
    arrive = kernels.join_gains(counts, carried, wanted, eta)
    arrive += _mass_terms(top_mass + mass[:, None], gamma, inner=True)
    arrive -= _mass_terms(top_mass, gamma, inner=True)
    rest = np.maximum(top_mass[own] - mass, 0.0)
    left = counts[own]
    left -= carried
    leave = kernels.topic_scores(np.maximum(left, 0.0, out=left), eta)
    leave -= kernels.topic_scores(counts, eta)[own] + _mass_terms(top_mass, gamma, inner=True)[own]
    leave += np.where(rest > LEAST_MASS, _mass_terms(rest, gamma, inner=True), 0.0)
    alone = kernels.topic_scores(carried, eta) + _mass_terms(mass, gamma, inner=True)
    return tops, arrive, leave, alone


def _mass_terms(mass: F64, gamma: float, *, inner: bool) -> F64:
    """Return what nodes with so many documents are worth to the nested CRP."""
    some = np.maximum(mass, LEAST_MASS)
    terms = gammaln(some) + np.log(gamma)
    if inner:
        terms = terms + gammaln(gamma) - gammaln(gamma + some)
    return np.asarray(terms)


def _compatible(draft: PathTreeDraft, found: list[Move]) -> list[Move]:
    """Choose moves by gain so that none touches a node, or the parents of one, of another."""
    chosen: list[Move] = []
    touched: set[int] = set()
    for move in sorted(found, key=lambda move: (-move.gain, move.node)):
        nodes = {move.node, move.parent, move.other}
        if move.parent != draft.parent[move.node]:
            for level in range(1, int(draft.level[move.node])):
                above = draft.ancestor(level)
                nodes |= {int(above[move.node])} | ({int(above[move.parent])} - {-1})
        else:
            nodes -= {move.parent}
        nodes -= {-1, 0}
        if not nodes & touched:
            touched |= nodes
            chosen.append(move)
    return chosen


def _make(draft: PathTreeDraft, move: Move) -> None:
    parent = move.parent
    if parent == FRESH:
        parent = draft.add_node(int(draft.parent[draft.parent[move.node]]))
    if parent != draft.parent[move.node]:
        draft.hang(move.node, parent)
    if move.other >= 0:
        draft.join(move.other, move.node)
