"""hlda-variational: topic trees by variational inference for the nested CRP.

Each document takes one path from the root to a leaf of an infinite tree and mixes the topics on
it; the tree is truncated, and what lies outside it is accounted for exactly by path slots.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009. Here
a document's levels depend on its path; the paper's mean field is in ``paper.meanfield``.

    paper                 here
    c, q(c)               path; chances of slots
    z, theta, q(theta)    levels, their weights, tau
    beta, lambda          phi, lam
    v; a, b               sticks; stick_a, stick_b
    alpha (50, 20, 10)    level_prior
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.data.corpus import Corpus
from hiertopics.families.ncrp.config import Model as Model
from hiertopics.families.ncrp.config import VariationalInference as Inference
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.simulate import simulate as simulate
from hiertopics.families.ncrp.summary import regrouped
from hiertopics.families.ncrp.variational import (
    bound,
    minibatch,
    moves,
    prediction,
    sampled_starts,
    starts,
)
from hiertopics.families.ncrp.variational.cells import Data, build_piece, lay_out, parts_of
from hiertopics.families.ncrp.variational.prediction import infer as infer
from hiertopics.families.ncrp.variational.state import (
    State,
    Sums,
    bounds,
    elbo,
    local_pass,
    refit,
)
from hiertopics.families.nested.tree_state import heavier_first, without_chances
from hiertopics.model import Backend, Context, Renewed, Sharded, Summary


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    structural: 1 if the tree was changed by moves in this iteration; n_moves: how many were
    tried. outside: share of the tokens that lie outside the tree.
    """

    n_nodes: int
    n_leaves: int
    structural: int
    n_moves: int
    gamma: float
    eta: float
    outside: float


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out."""
    return lay_out(corpus, settings.inference.shards)


START = {
    "clusters": sampled_starts.from_clusters,
    "crp": starts.one_by_one,
    "one_path_per_doc": starts.one_by_one,
    "overcomplete": starts.overcomplete,
    "gibbs": sampled_starts.from_gibbs,
    "root": starts.from_root,
}
"""The first state, by what ``inference.start`` says (theory/ncrp 4)."""


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do every document's local step, then refit sticks, topics and what is learned; then moves.

    Moves come every ``moves_every`` iterations, and each round of them is followed by sweeps of
    its own.
    """
    inference = settings.inference
    if inference.batch_size:
        sums = minibatch.epoch(state, data, settings, context)
    else:
        sums = local_pass(state, inference.local_rounds)
        refit(state, sums)
    if context.iteration > inference.hyper_start:
        _learn(state, sums, inference)
    if not inference.batch_size:
        state = heavier_first(state, sums.slot, state.gamma)
    made = moves.Made(0, 0)
    if inference.moves != "none" and context.iteration % inference.moves_every == 0:
        state, made = moves.round_of_moves(state, data, settings, context)
    n_tokens = max(float(data.doc_lengths.sum()), 1.0)
    return state, Info(
        state.n_nodes,
        len(state.nodes.leaves),
        made.kept,
        made.n_moves,
        state.gamma,
        state.eta,
        state.n_outside / n_tokens,
    )


def _learn(state: State, sums: Sums, inference: Inference) -> None:
    """Fit the hyperparameters that are to be learned; none lowers the bound."""
    if inference.learn_gamma:
        state.gamma = bound.best_gamma(state.nodes, state.sticks, sums.slot, state.gamma)
    if inference.learn_level_prior:
        state.level_prior = bound.best_level_prior(state.tau, state.level_prior)
    if inference.learn_eta:
        state.eta = bound.best_eta(sums.words, sums.n_outside, state.eta)
        state.lam = sums.words + sums.words.dtype.type(state.eta)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of live nodes, and theta and best paths of the training documents."""
    return prediction.summarise(state, data)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return elbo(state)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of topics, their expectations and sums, and of tau, for the first tree."""
    data = lay_out(corpus, 1)
    depth, shards = settings.model.depth, settings.inference.shards
    if settings.inference.start in ("crp", "one_path_per_doc", "gibbs"):
        n_nodes = min(settings.inference.max_nodes, depth * corpus.n_docs)
    else:
        n_nodes = depth * starts.starting_leaves(data, settings)
    per_document = 8 * (depth + (n_nodes if settings.inference.mode == "meanfield" else 0))
    words = 8 * (3 + shards) * corpus.n_words * n_nodes
    return int(words + per_document * corpus.n_docs + np.dtype(np.int64).itemsize * n_nodes)


def _bound_never_falls(settings: Settings) -> bool:
    """Tell whether these settings keep the promise of the bound: whole sweeps, guarded moves."""
    inference = settings.inference
    return bool(not inference.batch_size and (inference.guard_moves or inference.moves == "none"))


def variational(kind: type[State], renewed: Renewed) -> Backend[Corpus, Data, State, Settings]:
    """Return the backend of a family of states."""

    def init(data: Data, settings: Settings, context: Context) -> State:
        """Return the first state by the start of the config."""
        return START[settings.inference.start](kind, data, settings, context)

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
        regrouped=regrouped,
        pieces=Sharded(Local=kind.Local, parts=parts_of, build=build_piece, bounds=bounds),
        renewed=renewed,
        monotone=_bound_never_falls,
    )


backend = variational(State, renewed=without_chances)
