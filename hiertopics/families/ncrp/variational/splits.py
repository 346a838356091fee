"""Splits of nodes in two by their documents, and joins of inner siblings, a level's at once.

To split a node its documents are cut in two clusters, and one of them gets a new chain of nodes
beside the node; then each of these documents may choose between its old path and the new one.

Joins are tried, too: where a node has one child, what belongs to either topic is undecided, and
the gain of a plain merge misses what two such branches have in common.

Such moves pay only after words and documents have settled anew. Many are tried at once, each on a
group of nodes and documents of its own. A few sweeps follow, in which a document weighs only the
paths that the move offers it; then each group's share of the bound is compared with what it came
to without the move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from hiertopics.base.arrays import F64, I32, I64, Floats, Ints
from hiertopics.contract import Context, Each, stacked
from hiertopics.families.ncrp.clustering import importance_of, in_two
from hiertopics.families.ncrp.variational import bound, slot_kernels as kernels
from hiertopics.families.ncrp.variational.draft_moves import union_gains
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.state import (
    Data,
    Local,
    State,
    counts_of,
    selected,
    tables_of,
)
from hiertopics.families.ncrp.variational.structured_kernels import (
    restricted_bounds,
    restricted_step,
)
from hiertopics.families.nested.slots import (
    disjoint_pairs,
    fit_sticks,
    in_order,
    nodes_of,
    renumbered,
    subtree_sums,
)
from hiertopics.families.nested.tree_state import each

LEAST_DOCS = 4

TURNS = 6

LEAST_MASS = 0.1

NO_GROUP = -1


class SiblingSplit(NamedTuple):
    """A node, and those of its documents that go to a new sibling, int64 [n]."""

    node: int
    docs: I64


def split_level(
    state: State, data: Data, level: int, most_nodes: int, context: Context
) -> tuple[State, int]:
    """Return a state in which the nodes of ``level`` that gain by it are split; and their number.

    The largest nodes come first where ``most_nodes`` forbids more. Every document is on its best
    path, or on either of two, afterwards.
    """
    nodes, best = state.nodes, state.best_slots()
    at = nodes.path[best, level]
    found = _second_clusters(data, at, _wanted(state, at, level, most_nodes), context)
    if not found:
        return state, 0
    group = np.full(nodes.n_nodes + 1, NO_GROUP)  # the last entry serves documents above
    group[[node for node, _ in found]] = np.arange(len(found))
    above = nodes.path[:, level]

    def plan(numbers: Sequence[int]) -> TrialTree:
        chains = np.repeat(np.array(numbers), nodes.depth - level)
        some = [found[number] for number in numbers]
        return _split_plan(state, best, at, some, level, np.append(group[above], chains))

    before = unchanged(state, best, group[above])
    return keep_gainful(state, data, before, plan, group[at], len(found))


def _wanted(state: State, at: I32, level: int, most_nodes: int) -> list[int]:
    """Return the nodes to be split, the largest first."""
    sizes = np.bincount(at[at >= 0], minlength=state.n_nodes)
    room = max(0, (most_nodes - state.n_nodes) // (state.nodes.depth - level))
    by_size = np.argsort(-sizes, kind="stable")[:room]
    return [int(node) for node in by_size if sizes[node] >= LEAST_DOCS]


def _second_clusters(
    data: Data, at: I32, wanted: list[int], context: Context
) -> list[SiblingSplit]:
    """Return the second of two clusters of documents of each node that has two, by node."""
    rng, importance = context.rng("split"), importance_of(data.n_with, data.n_docs)
    found = []
    for node in wanted:
        docs = np.flatnonzero(at == node)

        def counts(some: I64, docs: I64 = docs) -> sparse.csr_array:
            return counts_of(selected(data.cells, docs[some]), data.n_words)

        second = docs[in_two(counts, np.diff(data.cells.ptr)[docs], importance, rng) == 1]
        if len(second):
            found.append(SiblingSplit(node, second))
    return sorted(found, key=lambda split: split.node)


def _split_plan(
    state: State, best: I64, at: I32, splits: list[SiblingSplit], level: int, group: Ints
) -> TrialTree:
    """Return the plan of these splits; a new node starts with the topic of an old one."""
    nodes = state.nodes
    parent, source = state.parent.tolist(), list(range(nodes.n_nodes))
    first, other = best.copy(), np.full(len(best), -1)
    for node, docs in splits:
        above = int(nodes.parent[node])
        for original in _chain_of(state, best[docs[0]], level):
            parent.append(above)
            source.append(original)
            above = len(parent) - 1
        other[at == node] = above
        first[docs] = above
    candidates = np.column_stack([best, other])
    return TrialTree(np.array(parent), state.lam[:, source], first, candidates, group)


def _chain_of(state: State, slot: int, level: int) -> list[int]:
    """Return the nodes whose topics a new chain from ``level`` down takes over.

    Below an inner slot, which has none, the topic of the slot's own node is taken again.
    """
    path = state.nodes.path[slot, level:]
    return [int(node) if node >= 0 else slot for node in path]


def join_level(state: State, data: Data, level: int) -> tuple[State, int]:
    """Return a state in which gainful pairs of siblings of an inner level are merged.

    The most alike pairs are tried.
    """
    nodes, best = state.nodes, state.best_slots()
    pairs = _alike_pairs(state, level)
    if not pairs:
        return state, 0
    group = np.full(nodes.n_nodes + 1, NO_GROUP)  # the last entry serves documents above
    for number, pair in enumerate(pairs):
        group[list(pair)] = number
    above = nodes.path[:, level]

    def plan(numbers: Sequence[int]) -> TrialTree:
        return _join_plan(state, best, [pairs[number] for number in numbers], group[above])

    before = unchanged(state, best, group[above])
    return keep_gainful(state, data, before, plan, group[above[best]], len(pairs))


def _alike_pairs(state: State, level: int) -> list[tuple[int, int]]:
    """Return disjoint pairs of siblings of a level, by decreasing gain of a plain merge."""
    nodes = state.nodes
    here = np.arange(nodes.bounds[level], nodes.bounds[level + 1])
    counts = np.maximum(state.lam[:, here].T.astype(np.float64) - state.eta, 0.0)
    above = nodes.parent[here]
    siblings = above[:, None] == above
    gains = np.where(siblings, union_gains(counts, siblings, state.eta), -np.inf)
    return [(int(here[i]), int(here[j])) for i, j in disjoint_pairs(gains, -np.inf)]


def _join_plan(state: State, best: I64, pairs: list[tuple[int, int]], group: Ints) -> TrialTree:
    """Return the plan in which the second of each pair becomes the first."""
    parent, lam = state.parent.astype(np.int64), state.lam.copy()
    slot = np.arange(len(parent))
    for kept, gone in pairs:
        lam[:, kept] += lam[:, gone] - lam.dtype.type(state.eta)
        parent[parent == gone] = kept
        slot[gone] = kept
    gone_nodes = [gone for _, gone in pairs]
    left = np.setdiff1d(np.arange(len(parent)), gone_nodes)
    place = np.full(len(parent) + 1, -1)
    place[left] = np.arange(len(left))
    first = place[slot[best]]
    candidates = np.column_stack([first, np.full(len(first), -1)])
    return TrialTree(place[parent[left]], lam[:, left], first, candidates, group[left])


class TrialTree(NamedTuple):
    """A tree to be tried, its nodes in any order with the root first.

    parent: int [n_nodes]. lam: [n_words, n_nodes]. first: int [n_docs], the slot of each
    document in the first sweep. candidates: int [n_docs, 2], its slots afterwards, the second -1
    where there is none. group: int [n_nodes], the move to which a node belongs, or -1.
    """

    parent: Ints
    lam: Floats
    first: Ints
    candidates: Ints
    group: Ints


class Outcome(NamedTuple):
    """The state after a trial, and the worth of each group that has nodes, float64 [n_groups]."""

    state: State
    worth: F64


def keep_gainful(
    state: State,
    data: Data,
    before: TrialTree,
    plan: Callable[[Sequence[int]], TrialTree],
    group_of_doc: Ints,
    n_groups: int,
) -> tuple[State, int]:
    """Return a state in which those of ``n_groups`` moves are made that gain, and their number.

    before: the plan without any. plan: returns that of some moves, by their ascending numbers.
    """
    old = run(state, before, group_of_doc, n_groups)
    new = run(state, plan(range(n_groups)), group_of_doc, n_groups)
    kept = np.flatnonzero(new.worth > old.worth).tolist()
    if not kept:
        return state, 0
    if len(kept) < n_groups:
        new = run(state, plan(kept), group_of_doc, n_groups)
    return new.state, len(kept)


def unchanged(state: State, best: I64, group: Ints) -> TrialTree:
    """Return the plan that leaves tree and documents as they are, to compare with."""
    candidates = np.column_stack([best, np.full(len(best), -1)])
    return TrialTree(state.parent, state.lam, best, candidates, group)


def run(state: State, plan: TrialTree, group_of_doc: Ints, n_groups: int) -> Outcome:
    """Carry out a plan; ``state`` is not touched.

    The worth of a group adds up its documents' share of the bound, its topics' and its nodes'
    under the nested CRP.
    """
    order = in_order(plan.parent, np.arange(len(plan.parent)))
    place = np.append(np.empty(len(order), dtype=np.int32), np.int32(-1))  # -1 stays -1
    place[order] = np.arange(len(order))
    nodes = nodes_of(renumbered(plan.parent, order), state.nodes.depth)
    candidates, first = place[plan.candidates], place[plan.first]
    mass = np.bincount(first, minlength=nodes.n_nodes).astype(np.float64)
    sticks = fit_sticks(nodes, mass, state.gamma)
    made = replace(
        state,
        parent=nodes.parent,
        lam=np.ascontiguousarray(plan.lam[:, order]),
        stick_a=sticks.a,
        stick_b=sticks.b,
        local=state.local.copy(),
    )
    alone = np.column_stack([first, np.full_like(first, -1)])
    shares = np.zeros(candidates.shape)
    for turn in range(TURNS):
        shares = _sweep(made, candidates if turn else alone)
    worth = _worth(made, candidates, shares, plan.group[order], group_of_doc, n_groups)
    rows = each(made.local, candidates=candidates, shares=shares)
    taken = Each([_SlotShares(nodes.n_nodes, **own) for own in rows.messages])
    return Outcome(replace(made, local=made.reseated(_seated, taken)), worth)


def _sweep(state: State, candidates: I32) -> F64:
    """Do a sweep in which documents weigh their candidates alone; return their shares."""
    answers = state.local.step(_restricted, _asked(state, tables_of(state), candidates))
    words, slot, _ = answers[0]
    for part in answers[1:]:
        words += part[0]
        slot += part[1]
    state.lam = words + words.dtype.type(state.eta)
    state.stick_a, state.stick_b = fit_sticks(state.nodes, slot, state.gamma)
    return stacked([part[2] for part in answers])


class CandidateInput(NamedTuple):
    """Question to the documents of a piece: candidates [n_docs, 2] of each under ``given``."""

    given: kernels.SlotGlobals
    candidates: I32


def _asked(state: State, given: kernels.SlotGlobals, candidates: I32) -> Each:
    rows = each(state.local, candidates=candidates)
    return Each([CandidateInput(given, **own) for own in rows.messages])


def _restricted(
    piece: DocumentPairs, local: Local, question: CandidateInput
) -> tuple[Local, tuple[Floats, F64, F64]]:
    """Answer with words [n_words, n_nodes], documents in slots [n_nodes] and shares."""
    given, candidates = question
    n_words, n_nodes = given.e_table.shape
    words = np.zeros((n_words, n_nodes), given.e_table.dtype)
    slot, shares = np.zeros(n_nodes), np.zeros(candidates.shape)
    sums = kernels.Statistics(words, slot, np.zeros(1), given.slots.path)
    docs, once = (0, len(candidates)), kernels.Schedule(1, 0.0)
    restricted_step(piece, *docs, local.tau, given, once, candidates, shares, sums)
    return local, (words, slot, shares)


def _worth(
    state: State, candidates: I32, shares: F64, group: Ints, group_of_doc: Ints, n_groups: int
) -> F64:
    """Return each group's share of the bound, sticks in the nested CRP's measure."""
    given = tables_of(state)
    weightless = given._replace(slots=given.slots._replace(log_mass=np.zeros(state.n_nodes)))
    per_doc = stacked(state.local.ask(_bounds, _asked(state, weightless, candidates)))
    in_group = group_of_doc != NO_GROUP
    worth = np.bincount(group_of_doc[in_group], per_doc[in_group], n_groups).astype(np.float64)
    mass = np.zeros(state.n_nodes)
    for column in range(2):
        some = candidates[:, column] >= 0
        mass += np.bincount(candidates[some, column], shares[some, column], state.n_nodes)
    nodes = state.nodes
    passing = np.maximum(subtree_sums(nodes, mass), LEAST_MASS)
    value = bound.topic_terms(state.lam, state.eta) + np.log(state.gamma) + gammaln(passing)
    inner = nodes.level < nodes.depth - 1
    value[inner] += gammaln(state.gamma) - gammaln(state.gamma + passing[inner])
    np.add.at(worth, group[group != NO_GROUP], value[group != NO_GROUP])
    return worth


def _bounds(piece: DocumentPairs, local: Local, question: CandidateInput) -> F64:
    per_doc = np.zeros(len(local.tau))
    restricted_bounds(piece, local.tau, question.given, question.candidates, per_doc)
    return per_doc


class _SlotShares(NamedTuple):
    """Slots that the documents of a piece have taken, int32 [n_docs, 2], -1: none; and shares."""

    n_nodes: int
    candidates: I32
    shares: F64


def _seated(piece: DocumentPairs, local: Any, taken: _SlotShares) -> tuple[Any, None]:
    n_nodes, candidates, shares = taken
    chances = np.zeros((len(candidates), n_nodes))
    for column in range(2):
        docs = np.flatnonzero(candidates[:, column] >= 0)
        chances[docs, candidates[docs, column]] = shares[docs, column]
    return local._replace(chances=chances), None
