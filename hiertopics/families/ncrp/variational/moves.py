"""Rounds of structural moves, tried on the bound (theory/ncrp 4)."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import NamedTuple

from hiertopics.contract.model import Context
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.variational.draft import draft_of, state_of_draft
from hiertopics.families.ncrp.variational.draft_moves import reshape
from hiertopics.families.ncrp.variational.growing import grow
from hiertopics.families.ncrp.variational.splits import join_level, split_level
from hiertopics.families.ncrp.variational.state import (
    LOCAL_ROUNDS,
    Data,
    State,
    elbo,
    local_pass,
    refit,
)

PAPER = "hiertopics.papers.ncrp_moves"
PRUNE_BELOW = 1e-6
TRIAL_SWEEPS = 3


class HldaRoundResult(NamedTuple):
    """The result of a round of moves: kept 0 or 1, and the numbers of moves made or tried."""

    kept: int
    n_moves: int


def round_of_moves(
    state: State, data: Data, settings: Settings, context: Context
) -> tuple[State, HldaRoundResult]:
    """Return the state after a round of moves and a few sweeps.

    With ``guard_moves`` the state comes back untouched if the bound would be lower.
    """
    trial = copy.deepcopy(state)
    by_paper = settings.inference.moves == "paper"
    turn = import_module(PAPER).paper_moves if by_paper else all_moves
    trial, n_moves = turn(trial, data, settings, context)
    if n_moves == 0:
        return state, HldaRoundResult(0, 0)
    for _ in range(TRIAL_SWEEPS):
        sweep(trial)
    if settings.inference.guard_moves and elbo(trial) < elbo(state):
        return state, HldaRoundResult(0, n_moves)
    return trial, HldaRoundResult(1, n_moves)


def all_moves(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, int]:
    """Grow as in the paper; try splits of one level, the levels in turn, and joins; then merge,
    transfer and prune by gain.
    """
    most, depth = settings.inference.max_nodes, settings.model.depth
    level = 1 + context.iteration // settings.inference.moves_every % (depth - 1)
    state, n_moves = grow(state, data, most, context)
    state, n_made = split_level(state, data, level, most, context)
    n_moves += n_made
    if level < depth - 1:
        sweep(state)
        state, n_made = join_level(state, data, level)
        n_moves += n_made
    if n_moves:
        sweep(state)
    draft = draft_of(state)
    n_moves += draft.prune(PRUNE_BELOW) + reshape(draft, state.gamma, state.eta)
    return state_of_draft(draft, state), n_moves


def sweep(state: State) -> None:
    """Do one local pass and refit the tree."""
    refit(state, local_pass(state, LOCAL_ROUNDS))
