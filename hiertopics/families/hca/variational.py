"""hca-variational: trees of principal axes for continuous rows, by variational inference.

Each row takes one path from the root to a leaf of an infinite tree and lies, up to noise, in the
space of the vectors on it; the tree is truncated, and what lies outside it is accounted for
exactly by path slots.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009,
section 5. Here a row's coordinates depend on its path; the paper's mean field is in ``meanfield``.

    paper                 here
    c, q(c)               path; chances of slots
    w                     vectors of nodes: mean, cov
    x                     coordinates
    mu, sigma             mu; noise precision tau: noise_a, noise_b
    v; a, b               sticks; stick_a, stick_b
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hiertopics.data.tree import Tree
from hiertopics.data.vectors import Vectors
from hiertopics.families.hca import moves, prediction, starts
from hiertopics.families.hca.config import Inference as Inference
from hiertopics.families.hca.config import Model as Model
from hiertopics.families.hca.config import Settings
from hiertopics.families.hca.prediction import infer as infer
from hiertopics.families.hca.prediction import log_density as log_density
from hiertopics.families.hca.simulate import simulate as simulate
from hiertopics.families.hca.state import (
    Data,
    State,
    as_they_are,
    bounds,
    elbo,
    lay_out,
    parts_of,
)
from hiertopics.families.nested.tree_state import heavier_first, without_chances
from hiertopics.model import Backend, Context, Posterior, Renewed, Sharded, Summary, always


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    structural: 1 if the tree was changed by moves in this iteration; n_moves: how many were
    tried. noise: standard deviation of what the axes leave, per column.
    """

    n_nodes: int
    n_leaves: int
    structural: int
    n_moves: int
    noise: float


def prepare(corpus: Vectors, settings: Settings) -> Data:
    """Lay the rows out."""
    return lay_out(corpus.rows, settings.inference.shards)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do every row's local step, then refit sticks, vectors, mean and noise; then moves.

    Moves come every ``moves_every`` iterations; each of them is followed by sweeps of its own.
    """
    inference = settings.inference
    slot = moves.sweep(state, data, settings)
    state = heavier_first(state, slot, settings.model.gamma)
    made = moves.Made(state, 0, 0)
    if inference.trials and context.iteration % inference.moves_every == 0:
        made = moves.round_of_moves(state, data, settings, context)
    state = made.state
    noise = float(1.0 / np.sqrt(state.precision))
    n_leaves = len(state.nodes.leaves)
    return state, Info(state.n_nodes, n_leaves, int(made.n_kept > 0), made.n_tried, noise)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of live nodes, and theta and best paths of the training rows."""
    return prediction.summarise(state, data, settings)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch."""
    return elbo(state, settings.model)


def memory(corpus: Vectors, settings: Settings) -> int:
    """Return the bytes of the rows, their scores and chances, and of the sums of every shard."""
    n_nodes, shards = settings.model.max_nodes, settings.inference.shards
    per_row = 3 * corpus.n_columns + 4 * n_nodes
    globals_ = (1 + shards) * n_nodes * (corpus.n_columns + n_nodes)
    return 8 * (per_row * corpus.n_docs + globals_)


Infer = Callable[[Tree, Vectors, Settings, Context], Posterior]


def variational(
    kind: type[State], infer: Infer, renewed: Renewed
) -> Backend[Vectors, Data, State, Settings]:
    """Return the backend of a family of states."""

    def init(data: Data, settings: Settings, context: Context) -> State:
        """Return the first state by the start of the config."""
        return starts.first_state(kind, data, settings, context)

    return Backend(
        Model=Model,
        Inference=Inference,
        State=kind,
        Info=Info,
        objective_name="evidence lower bound",
        prepare=prepare,
        init=init,
        step=step,
        summarise=summarise,
        infer=infer,
        objective=objective,
        simulate=simulate,
        memory=memory,
        observes="vectors",
        pieces=Sharded(Local=kind.Local, parts=parts_of, build=as_they_are, bounds=bounds),
        renewed=renewed,
        monotone=always,
        log_density=log_density,
    )


backend = variational(State, infer, without_chances)
