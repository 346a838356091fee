"""Rounds of structural moves, each tried on the bound (theory/ncrp 4).

A trial sweeps the changed tree and the tree as it is equally often and keeps the better one.
Where the tree is as large as it may be, paths that are missed little make room for new nodes, and
nodes that a change frees are spent on a split: split and merge in one (Ueda et al. 2000).
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.hca import proposals
from hiertopics.families.hca.config import Settings
from hiertopics.families.hca.draft import Draft, draft_of, state_of_draft
from hiertopics.families.hca.state import Data, State, elbo, local_pass, slot_chances, slot_scores
from hiertopics.families.hca.updates import refit
from hiertopics.families.nested.pairs import cosines, disjoint_pairs
from hiertopics.model import Context

PRUNE_BELOW = 1e-6
SAME_ROWS = 0.95


class Made(NamedTuple):
    """The state after a round, and how many moves were tried and kept."""

    state: State
    n_tried: int
    n_kept: int


def sweep(state: State, data: Data, settings: Settings) -> NDArray[np.float64]:
    """Do all local and global updates once; return the rows in each slot, float64 [n_nodes]."""
    inference = settings.inference
    sums, _ = local_pass(state, settings.model, inference.local_rounds)
    refit(state, data, sums, settings.model, inference.vectors)
    return sums.slot


def round_of_moves(state: State, data: Data, settings: Settings, context: Context) -> Made:
    """Prune, merge and try some changes drawn at random, one after the other."""
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
    return Made(state, n_tried, n_kept)


def prune(draft: Draft, chances: NDArray[np.float64]) -> int:
    """Take out the leaves that hold next to no row; return how many."""
    mass = chances.sum(axis=0)
    rare = [node for node in draft.live if draft.is_leaf(node) and mass[node] < PRUNE_BELOW]
    for node in rare:
        draft.take_out(node)
    return len(rare)


def merge_alike(draft: Draft, chances: NDArray[np.float64]) -> int:
    """Merge pairs of paths that have the same rows by cosine; return how many."""
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
    draft: Draft, scores: NDArray[np.float64], most_nodes: int, rng: np.random.Generator
) -> bool:
    """Change the draft in a way drawn at random, within ``most_nodes``, if there is one."""
    n_nodes = len(draft.live)
    kinds = proposals.kinds(draft.depth)
    if not kinds[int(rng.integers(len(kinds)))](draft, rng):
        return False
    while len(draft.live) > most_nodes:
        if not proposals.drop(draft, scores, rng):
            return False
    if len(draft.live) < n_nodes:
        proposals.split(draft, rng)
    return len(draft.live) <= most_nodes


def _better(state: State, draft: Draft, data: Data, settings: Settings) -> tuple[State, bool]:
    """Return the better of tree and draft after some sweeps of both, and whether it is new."""
    values, swept = [], [copy.deepcopy(state), state_of_draft(draft, state, settings.model.gamma)]
    for each in swept:
        for _ in range(settings.inference.trial_sweeps):
            sweep(each, data, settings)
        values.append(elbo(each, settings.model))
    kept = values[1] > values[0]
    return swept[int(kept)], kept
