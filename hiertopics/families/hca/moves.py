"""Rounds of structural moves, each tried on the bound (theory/ncrp 4).

A trial sweeps the changed tree and the tree as it is equally often and keeps the better one.
Where the tree is as large as it may be, paths that are missed little make room for new nodes, and
nodes that a change frees are spent on a split: split and merge in one (Ueda et al. 2000). Each
change is made on a draft and tells whether there was anything to change.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.contract.model import Context
from hiertopics.families.hca.config import Settings
from hiertopics.families.hca.draft import VectorTreeDraft, draft_of, state_of_draft
from hiertopics.families.hca.state import (
    Data,
    State,
    elbo,
    local_pass,
    refit,
    slot_chances,
    slot_scores,
)
from hiertopics.families.nested.slots import cosines, disjoint_pairs

LOCAL_ROUNDS = 3
"""Updates of a row in an iteration; those after the first matter under mean field alone."""

PRUNE_BELOW = 1e-6
SAME_ROWS = 0.95

LEAST_DOCS = 10
"""A slot with more rows than this may be split."""

CHOICES = 4
"""A node to split or remove is drawn from so many of the best candidates."""


class HcaRoundResult(NamedTuple):
    """The state after a round, and how many moves were tried and kept."""

    state: State
    n_tried: int
    n_kept: int


def sweep(state: State, data: Data, settings: Settings) -> F64:
    """Do all local and global updates once; return the rows in each slot, float64 [n_nodes]."""
    inference = settings.inference
    sums, _ = local_pass(state, settings.model, LOCAL_ROUNDS)
    refit(state, data, sums, settings.model, inference.vectors)
    return sums.slot


def round_of_moves(
    state: State, data: Data, settings: Settings, context: Context
) -> HcaRoundResult:
    """Prune, merge and try some random changes, one after the other."""
    rng = context.rng("moves")
    n_tried = n_kept = 0
    for turn in range(settings.inference.trials + 1):
        scores = slot_scores(state, settings.model)
        draft = draft_of(state, data.rows, scores.argmax(axis=1))
        if turn:
            changed = _changed(draft, scores, settings.model.max_nodes, rng)
        else:
            chances = slot_chances(scores)
            changed = merge_alike(draft, chances) + prune(draft, chances) > 0
        if changed:
            state, kept = _better(state, draft, data, settings)
            n_tried += 1
            n_kept += kept
    return HcaRoundResult(state, n_tried, n_kept)


def prune(draft: VectorTreeDraft, chances: F64) -> int:
    """Take out the leaves that hold next to no row; return how many.

    chances: float64 [n_docs, n_nodes].
    """
    mass = chances.sum(axis=0)
    rare = [node for node in draft.live if draft.is_leaf(node) and mass[node] < PRUNE_BELOW]
    for node in rare:
        draft.take_out(node)
    return len(rare)


def merge_alike(draft: VectorTreeDraft, chances: F64) -> int:
    """Merge pairs of paths that have the same rows by cosine; return how many.

    chances: float64 [n_docs, n_nodes].
    """
    leaves = np.array([node for node in draft.live if draft.is_leaf(node)], dtype=np.int64)
    # Siblings stand by weight, but cousins may not.
    lengths = np.sqrt((chances[:, leaves] ** 2).sum(axis=0))
    pairs = disjoint_pairs(cosines(chances[:, leaves]), SAME_ROWS)
    for first, second in pairs:
        heavier = lengths[first] >= lengths[second]
        kept, gone = leaves[[first, second] if heavier else [second, first]]
        draft.take_out(int(gone), np.full(len(draft.slot), kept))
    return len(pairs)


def _changed(
    draft: VectorTreeDraft, scores: F64, most_nodes: int, rng: np.random.Generator
) -> bool:
    """Change the draft in a way drawn at random, within ``most_nodes``, if there is one."""
    n_nodes = len(draft.live)
    known = kinds(draft.depth)
    if not known[int(rng.integers(len(known)))](draft, rng):
        return False
    while len(draft.live) > most_nodes:
        if not drop(draft, scores, rng):
            return False
    if len(draft.live) < n_nodes:
        split(draft, rng)
    return len(draft.live) <= most_nodes


def _better(
    state: State, draft: VectorTreeDraft, data: Data, settings: Settings
) -> tuple[State, bool]:
    """Return the better of tree and draft after some sweeps of both, and whether it is new."""
    values, swept = [], [copy.deepcopy(state), state_of_draft(draft, state, settings.model.gamma)]
    for each in swept:
        for _ in range(settings.inference.trial_sweeps):
            sweep(each, data, settings)
        values.append(elbo(each, settings.model))
    kept = values[1] > values[0]
    return swept[int(kept)], kept


def split(draft: VectorTreeDraft, rng: np.random.Generator) -> bool:
    """Split a slot that its axes fit badly.

    A leaf gets a sibling, with half of its rows: those on one side of what they vary most in
    besides, or those far out in it on either side (clusters that share the mean differ in
    that). Below an inner slot a path is opened for all of its rows.
    """
    errors = {}
    for node in draft.live:
        rows = draft.rows[draft.slot == node]
        if len(rows) > LEAST_DOCS:
            rest = draft.residual(rows, draft.path(node))
            errors[node] = float(np.linalg.eigvalsh(rest.T @ rest)[-1])
    if not errors:
        return False
    node = _one_of_first(sorted(errors, key=lambda n: -errors[n]), rng)
    docs = np.flatnonzero(draft.slot == node)
    if not draft.is_leaf(node):
        _open_path(draft, node, docs)
        return True
    rest = draft.residual(draft.rows[docs], draft.path(node))
    along = rest @ np.linalg.eigh(rest.T @ rest)[1][:, -1]
    if rng.integers(2):
        along = np.abs(along)
    twin = draft.add(draft.parent[node])
    draft.slot[docs[along > np.median(along)]] = twin
    draft.lay(node)
    draft.lay(twin)
    return True


def transfer(draft: VectorTreeDraft, rng: np.random.Generator) -> bool:
    """Hang a node from another parent of the same level."""
    level = int(rng.integers(2, draft.depth))
    nodes, parents = draft.at(level), draft.at(level - 1)
    if not nodes or len(parents) < 2:
        return False
    node = int(rng.choice(nodes))
    above = draft.parent[node]
    draft.parent[node] = int(rng.choice([other for other in parents if other != above]))
    if not draft.children(above):
        draft.take_out(above)
    draft.lay_from(node)
    return True


def divide(draft: VectorTreeDraft, rng: np.random.Generator) -> bool:
    """Give some of the children of a node a parent of their own beside it."""
    level = int(rng.integers(1, draft.depth - 1))
    wide = [node for node in draft.at(level) if len(draft.children(node)) > 1]
    if not wide:
        return False
    node = int(rng.choice(wide))
    children = draft.children(node)
    twin = draft.add(draft.parent[node])
    for child in rng.choice(children, int(rng.integers(1, len(children))), replace=False):
        draft.parent[int(child)] = twin
    draft.lay_from(twin)
    return True


def join(draft: VectorTreeDraft, rng: np.random.Generator) -> bool:
    """Put the children of two siblings under one."""
    level = int(rng.integers(1, draft.depth - 1))
    families = [draft.children(above) for above in draft.at(level - 1)]
    families = [family for family in families if len(family) > 1]
    if not families:
        return False
    family = families[int(rng.integers(len(families)))]
    kept, gone = (int(node) for node in rng.choice(family, 2, replace=False))
    for child in draft.children(gone):
        draft.parent[child] = kept
    draft.take_out(gone, np.full(len(draft.slot), kept))
    draft.lay_from(kept)
    return True


def drop(draft: VectorTreeDraft, scores: F64, rng: np.random.Generator) -> bool:
    """Take out a leaf that is missed little, its rows going to the next best slots.

    scores: [n_docs, n_old] of the nodes that were there at first; new ones stay.
    """
    old = [node for node in draft.live if node < scores.shape[1]]
    loss = {}
    for node in old:
        if draft.is_leaf(node):
            others = [other for other in old if other != node]
            mine = draft.slot == node
            loss[node] = float((scores[mine, node] - scores[mine][:, others].max(axis=1)).sum())
    if len(loss) < 2:
        return False
    node = _one_of_first(sorted(loss, key=lambda n: loss[n]), rng)
    left = np.array([other for other in old if other != node])
    draft.take_out(node, left[scores[:, left].argmax(axis=1)])
    return True


def kinds(depth: int) -> list[Callable[[VectorTreeDraft, np.random.Generator], bool]]:
    """Return the changes that a tree of some depth can undergo, split as often as all others."""
    return [split, split, split, transfer, divide, join] if depth > 2 else [split]


def _open_path(draft: VectorTreeDraft, node: int, docs: I64) -> None:
    while not draft.is_leaf(node):
        node = draft.add(node)
        draft.slot[docs] = node
        draft.lay(node)


def _one_of_first(ranked: list[int], rng: np.random.Generator) -> int:
    return ranked[int(rng.integers(min(CHOICES, len(ranked))))]
