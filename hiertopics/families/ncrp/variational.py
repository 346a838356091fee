"""hlda-variational: topic trees by variational inference for the nested CRP.

Each document takes one path from the root to a leaf of an infinite tree and mixes the topics on
it; the tree is truncated, and what lies outside it is accounted for exactly by path slots.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009.
Sections "spec" refer to spec ncrp.

    paper                 here
    c, q(c)               path; chances of slots
    z, theta, q(theta)    levels, their weights, tau
    beta, lambda          phi, lam
    v; a, b               sticks; stick_a, stick_b
    alpha (50, 20, 10)    level_prior
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from hiertopics.data.corpus import Corpus
from hiertopics.engine import Workers
from hiertopics.families.ncrp import gibbs_start, learning, minibatch, moves, prediction, starts
from hiertopics.families.ncrp.config import Model as Model
from hiertopics.families.ncrp.prediction import infer as infer
from hiertopics.families.ncrp.simulate import simulate as simulate
from hiertopics.families.ncrp.state import (
    Data,
    State,
    Sums,
    elbo,
    lay_out,
    local_pass,
    refit,
    reordered,
)
from hiertopics.model import Context, Settings, Summary
from hiertopics.settings.config import InferenceConfig, Iterations

objective_name = "evidence lower bound"
monotone = True
sampler = False


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule."""

    iterations: Iterations = 40
    mode: Annotated[
        Literal["structured", "meanfield"],
        Meta(
            description="structured: levels depend on the path, a tighter bound; meanfield: "
            "levels and path apart, as in Wang and Blei 2009."
        ),
    ] = "structured"
    start: Annotated[
        Literal["clusters", "crp", "one_path_per_doc", "overcomplete", "gibbs", "root"],
        Meta(
            description="First tree: the best draw of a short Gibbs run from clusters of documents "
            "(clusters) or from documents seated one by one (gibbs); paths opened by documents "
            "one by one, where needed or for each; fifteen random paths; the root alone."
        ),
    ] = "clusters"
    start_sweeps: Annotated[
        int,
        Meta(
            ge=0,
            description="Sweeps of the Gibbs run that the starts clusters and gibbs make; 0: none.",
        ),
    ] = 100
    start_leaves: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Paths that the start clusters has; null: one per 4 documents, to 450."),
    ] = None
    max_nodes: Annotated[
        int, Meta(ge=1, description="No start and no move makes the tree larger than this.")
    ] = 1000
    local_rounds: Annotated[
        int, Meta(ge=1, description="Rounds of levels and paths per document and iteration.")
    ] = 8
    batch_size: Annotated[
        int,
        Meta(
            ge=0,
            description="Documents after which topics move, for corpora too large to wait for a "
            "sweep; 0: all, and the bound never falls.",
        ),
    ] = 0
    batch_delay: Annotated[
        float, Meta(ge=0, description="Batches: how much the first ones are held back.")
    ] = 10.0
    batch_decay: Annotated[
        float,
        Meta(
            gt=0.5,
            le=1,
            description="Batches: batch t moves topics by (batch_delay + t) to minus this power.",
        ),
    ] = 0.7
    moves: Annotated[
        Literal["all", "paper", "none"],
        Meta(
            description="Moves of the tree. paper: grow, prune and merge; all: also splits, "
            "merges and transfers of branches by their gain."
        ),
    ] = "all"
    moves_every: Annotated[
        int, Meta(ge=1, description="Iterations from one round of moves to the next.")
    ] = 5
    guard_moves: Annotated[
        bool,
        Meta(description="Undo a round of moves after which the bound is lower three sweeps on."),
    ] = True
    learn_gamma: Annotated[
        bool, Meta(description="Fit gamma too; model.gamma is where it starts.")
    ] = False
    learn_eta: Annotated[
        bool,
        Meta(
            description="Fit eta too; model.eta is where it starts. The bound asks for a smaller "
            "eta than predicts new documents best."
        ),
    ] = False
    learn_level_prior: Annotated[
        bool, Meta(description="Fit the level prior too; model.level_prior is where it starts.")
    ] = False
    hyper_start: Annotated[
        int, Meta(ge=0, description="Iterations before gamma, eta and level prior are learned.")
    ] = 15


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


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return the first state by the start of the config (spec 4)."""
    start = {
        "clusters": gibbs_start.from_clusters,
        "crp": starts.one_by_one,
        "one_path_per_doc": starts.one_by_one,
        "overcomplete": starts.overcomplete,
        "gibbs": gibbs_start.from_gibbs,
        "root": starts.from_root,
    }[settings.inference.start]
    state = start(data, settings, context)
    if settings.inference.mode == "meanfield":
        return replace(state, chances=prediction.slot_chances(state, data))
    return state


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do every document's local step, then refit sticks, topics and what is learned; then moves.

    Moves come every ``moves_every`` iterations, and each round of them is followed by sweeps of
    its own.
    """
    inference = settings.inference
    if inference.batch_size:
        sums = minibatch.epoch(state, data, settings, context)
    else:
        sums = local_pass(state, data, context, inference.local_rounds)
        refit(state, sums)
    if context.iteration > inference.hyper_start:
        _learn(state, sums, settings)
    if not inference.batch_size:
        state = reordered(state, sums)
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


def _learn(state: State, sums: Sums, settings: Settings) -> None:
    """Fit the hyperparameters that are to be learned; none lowers the bound."""
    inference = settings.inference
    if inference.learn_gamma:
        state.gamma = learning.best_gamma(state.nodes, state.sticks, sums.slot, state.gamma)
    if inference.learn_level_prior:
        state.level_prior = learning.best_level_prior(state.tau, state.level_prior)
    if inference.learn_eta:
        state.eta = learning.best_eta(sums.words, sums.n_outside, state.eta)
        state.lam = sums.words + sums.words.dtype.type(state.eta)


def summarise(state: State, data: Data, settings: Settings) -> Summary:
    """Return the tree of live nodes, and theta and best paths of the training documents."""
    return prediction.summarise(state, data)


def objective(state: State, data: Data, settings: Settings) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return elbo(state, data, Context(0, 0, Workers()))


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
