"""hdp-pcvb0: practical collapsed variational Bayes for the HDP topic model, zero order.

Topics with shares drawn from one stick-breaking weight vector, document weights drawn around
it; topic proportions and topics are integrated out, and each (document, word) pair keeps its
responsibilities. Concentrations and sticks are refitted from the probability that a document, or
a word, uses a topic at all, so nothing has to be set.

I. Sato, K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for
hierarchical Dirichlet process, KDD 2012. Sections "spec" refer to spec pcvb0.

    paper              here
    alpha0, gamma0     alpha, gamma
    beta0 tau_v        eta V tau_v: ``word_mass`` is beta0 = eta V
    E[pi_k]            pi
    q(z), E[n_dk], ..  resp, n_dk, n_wk, n_k
    E[I(n_dk >= 1)]    seen_dk;  its sum over documents: n_tables
    T                  truncation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import DTypeLike, NDArray

from hiertopics.backends.hdp import hyper, variational
from hiertopics.backends.hdp import summary as common
from hiertopics.backends.hdp.config import Model as Model
from hiertopics.backends.hdp.config import VariationalInference
from hiertopics.backends.hdp.kernels import Prior
from hiertopics.backends.hdp.layout import Data
from hiertopics.backends.hdp.simulate import simulate as simulate
from hiertopics.backends.hdp.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.backends.hdp.summary import infer as infer
from hiertopics.backends.hdp.variational import Info as Info
from hiertopics.backends.hdp.variational import memory as memory
from hiertopics.backends.hdp.variational import prepare as prepare
from hiertopics.model import Context, Settings, Summary

objective_name = "training log likelihood per token"
monotone = False
sampler = False


class Inference(VariationalInference, frozen=True, kw_only=True):
    """The schedule."""

    hyper_steps: Annotated[
        int, Meta(ge=1, description="Steps of alpha and eta per iteration once they are learned.")
    ] = 1


@dataclass
class State(variational.Responsibilities):
    """The responsibilities and the point estimates.

    n_tables: float64 [T], expected number of documents that use each topic. pi: float64 [T].
    tau: float64 [n_words]. word_mass: eta times the vocabulary's size.
    """

    n_tables: NDArray[np.float64]
    pi: NDArray[np.float64]
    tau: NDArray[np.float64]
    alpha: float
    gamma: float
    word_mass: float


class Stats(NamedTuple):
    """What the global step needs of the local one; closed under addition of shards.

    doc_tables [T]: sum over documents of E[I(n_dk >= 1)]. word_tables [n_words]: sum over
    topics of E[I(n_kw >= 1)].
    """

    doc_tables: NDArray[np.float64]
    word_tables: NDArray[np.float64]


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (spec 3.5)."""
    model = settings.model
    begun = variational.start(data, model.truncation, context, dtype)
    return State(
        begun.resp,
        begun.n_dk,
        begun.n_wk,
        begun.n_k,
        n_tables=np.zeros(model.truncation),
        pi=np.full(model.truncation, 1.0 / model.truncation),
        tau=np.full(data.n_words, 1.0 / data.n_words),
        alpha=model.alpha,
        gamma=model.gamma,
        word_mass=model.eta * data.n_words,
    )


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Visit every pair once; after the hold refit sticks and hyperparameters too."""
    learn = context.iteration > settings.inference.hyper_start
    stats = local_step(state, data, context, learn=learn)
    drift = variational.recount_now_and_then(state, data, context)
    if learn:
        global_step(state, stats, data, settings)
    counts = common.topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    return state, Info(*counts, state.alpha, state.gamma, eta, drift)


def local_step(state: State, data: Data, context: Context, *, learn: bool) -> Stats:
    """Refit q(z) of every pair (equation 35); where ``learn``, gather indicators (26, 32)."""
    prior = _prior(state, state.n_dk.dtype)
    seen_dk, seen_wk = variational.sweep(state, data, prior, context, indicators=learn)
    return Stats(
        seen_dk.sum(axis=0, dtype=np.float64),
        seen_wk.sum(axis=1).astype(np.float64),
    )


def global_step(state: State, stats: Stats, data: Data, settings: Settings) -> None:
    """Refit the sticks (24-28), then alpha (29), gamma (33), eta (30) and tau (31)."""
    state.n_tables = stats.doc_tables
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=settings.inference.reorder_sticks)
    state.pi = mean_weights(sticks)
    for _ in range(settings.inference.hyper_steps):
        state.alpha = hyper.step_concentration(
            state.alpha, state.n_tables.sum(), data.lengths, data.n_with
        )
        state.word_mass = hyper.step_concentration(
            state.word_mass, stats.word_tables.sum(), state.n_k
        )
    if state.n_topics > 1:
        state.gamma = best_gamma(sticks)
    if settings.model.prior == "AA":
        state.tau = hyper.word_shape(stats.word_tables)


def summarise(state: State, data: Data, settings: Settings) -> Summary:
    """Return the live topics as roots, largest first, and theta of the training documents."""
    return common.summarise(_fitted(state))


def objective(state: State, data: Data, settings: Settings) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    return variational.log_likelihood_per_token(data, _fitted(state))


def _prior(state: State, dtype: DTypeLike) -> Prior:
    return Prior(
        (state.alpha * state.pi).astype(dtype),
        (state.word_mass * state.tau).astype(dtype),
        state.word_mass,
    )


def _fitted(state: State) -> common.Fitted:
    doc_prior, word_prior, _ = _prior(state, np.float64)
    return common.Fitted(state.n_dk, state.n_wk, state.n_k, doc_prior, word_prior)
