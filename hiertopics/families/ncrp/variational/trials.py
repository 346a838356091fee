"""Trials of moves that pay only after words and documents have settled anew.

Many moves are tried at once, each on a group of nodes and documents of its own. A few sweeps
follow, in which a document weighs only the paths that the move offers it; then each group's
share of the bound is compared with what it came to without the move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hiertopics.engine import Each, stacked
from hiertopics.families.ncrp.variational import bound
from hiertopics.families.ncrp.variational import slot_kernels as kernels
from hiertopics.families.ncrp.variational.cells import Data
from hiertopics.families.ncrp.variational.slot_kernels import Cells
from hiertopics.families.ncrp.variational.state import Local, State, tables_of
from hiertopics.families.ncrp.variational.structured_kernels import (
    restricted_bounds,
    restricted_step,
)
from hiertopics.families.nested.slots import (
    fit_sticks,
    in_order,
    nodes_of,
    renumbered,
    subtree_sums,
)
from hiertopics.families.nested.tree_state import each

TURNS = 6
LEAST_MASS = 0.1
NO_GROUP = -1


class Plan(NamedTuple):
    """A tree to be tried, its nodes in any order with the root first.

    parent: int [n_nodes]. lam: [n_words, n_nodes]. first: int [n_docs], the slot of each
    document in the first sweep. candidates: int [n_docs, 2], its slots afterwards, the second -1
    where there is none. group: int [n_nodes], the move to which a node belongs, or -1.
    """

    parent: NDArray[np.integer]
    lam: NDArray[np.floating]
    first: NDArray[np.integer]
    candidates: NDArray[np.integer]
    group: NDArray[np.integer]


class Outcome(NamedTuple):
    """The state after a trial, and the worth of each group that has nodes, float64 [n_groups]."""

    state: State
    worth: NDArray[np.float64]


def keep_gainful(
    state: State,
    data: Data,
    before: Plan,
    plan: Callable[[Sequence[int]], Plan],
    group_of_doc: NDArray[np.integer],
    n_groups: int,
) -> tuple[State, int]:
    """Return a state in which those of ``n_groups`` moves are made that gain, and their number.

    before: the plan without any. plan: returns that of some moves, by their ascending numbers.
    """
    old = run(state, data, before, group_of_doc, n_groups)
    new = run(state, data, plan(range(n_groups)), group_of_doc, n_groups)
    kept = np.flatnonzero(new.worth > old.worth).tolist()
    if not kept:
        return state, 0
    if len(kept) < n_groups:
        new = run(state, data, plan(kept), group_of_doc, n_groups)
    return new.state, len(kept)


def unchanged(state: State, best: NDArray[np.int64], group: NDArray[np.integer]) -> Plan:
    """Return the plan that leaves tree and documents as they are, to compare with."""
    candidates = np.column_stack([best, np.full(len(best), -1)])
    return Plan(state.parent, state.lam, best, candidates, group)


def run(
    state: State,
    data: Data,
    plan: Plan,
    group_of_doc: NDArray[np.integer],
    n_groups: int,
) -> Outcome:
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
    chances = _chances_of(candidates, shares, nodes.n_nodes)
    return Outcome(replace(made, local=made.in_slots(chances)), worth)


def _sweep(state: State, candidates: NDArray[np.int32]) -> NDArray[np.float64]:
    """Do a sweep in which documents weigh their candidates alone; return their shares."""
    answers = state.local.step(_restricted, _asked(state, tables_of(state), candidates))
    words, slot, _ = answers[0]
    for part in answers[1:]:
        words += part[0]
        slot += part[1]
    state.lam = words + words.dtype.type(state.eta)
    state.stick_a, state.stick_b = fit_sticks(state.nodes, slot, state.gamma)
    return stacked([part[2] for part in answers])


class Asked(NamedTuple):
    """What the documents of a piece are asked: candidates [n_docs, 2] of each under ``given``."""

    given: kernels.Globals
    candidates: NDArray[np.int32]


def _asked(state: State, given: kernels.Globals, candidates: NDArray[np.int32]) -> Each:
    rows = each(state.local, candidates=candidates)
    return Each([Asked(given, **own) for own in rows.messages])


def _restricted(
    piece: Cells, local: Local, asked: Asked
) -> tuple[Local, tuple[NDArray[np.floating], NDArray[np.float64], NDArray[np.float64]]]:
    """Answer with words [n_words, n_nodes], documents in slots [n_nodes] and shares."""
    given, candidates = asked
    words = np.zeros(given.e_table.shape, given.e_table.dtype)
    slot, shares = np.zeros(words.shape[1]), np.zeros(candidates.shape)
    sums = kernels.Statistics(words, slot, np.zeros(1), given.slots.path)
    docs, once = (0, len(candidates)), kernels.Schedule(1, 0.0)
    restricted_step(piece, *docs, local.tau, given, once, candidates, shares, sums)
    return local, (words, slot, shares)


def _worth(
    state: State,
    candidates: NDArray[np.int32],
    shares: NDArray[np.float64],
    group: NDArray[np.integer],
    group_of_doc: NDArray[np.integer],
    n_groups: int,
) -> NDArray[np.float64]:
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


def _bounds(piece: Cells, local: Local, asked: Asked) -> NDArray[np.float64]:
    per_doc = np.zeros(len(local.tau))
    restricted_bounds(piece, local.tau, asked.given, asked.candidates, per_doc)
    return per_doc


def _chances_of(
    candidates: NDArray[np.int32], shares: NDArray[np.float64], n_nodes: int
) -> NDArray[np.float64]:
    chances = np.zeros((len(candidates), n_nodes))
    for column in range(2):
        docs = np.flatnonzero(candidates[:, column] >= 0)
        chances[docs, candidates[docs, column]] = shares[docs, column]
    return chances
