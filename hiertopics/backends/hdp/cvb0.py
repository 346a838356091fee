"""hdp-cvb0: collapsed variational Bayes for the HDP topic model, zero order in q(z).

The model of hdp-pcvb0 with Gamma(1, 1) priors on the concentrations. Auxiliary variables (table
counts) make the rest conjugate, so concentrations, sticks and word shape have whole posteriors,
whose geometric means enter the update of q(z).

Y. W. Teh, K. Kurihara, M. Welling: Collapsed variational inference for HDP, NIPS 2007, in the
zero-order form of I. Sato, K. Kurihara, H. Nakagawa, KDD 2012, equation 19. The denominators are
E[beta0], as the derivation gives (spec pcvb0 section 5.2), not the printed G[beta0].

    paper              here
    alpha0, beta0      alpha, word_mass (= eta V): their means, ``_geo`` their G[.] = exp E[log .]
    gamma0             gamma
    pi, tau            pi, pi_geo, tau, tau_geo
    s_dk, t_kv         tables per document and topic, per topic and word
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import DTypeLike, NDArray
from scipy.special import digamma

from hiertopics.backends.hdp import moments as m
from hiertopics.backends.hdp import summary as common
from hiertopics.backends.hdp import variational
from hiertopics.backends.hdp.config import Model as Model
from hiertopics.backends.hdp.config import VariationalInference
from hiertopics.backends.hdp.kernels import Prior
from hiertopics.backends.hdp.layout import Data, rounds
from hiertopics.backends.hdp.simulate import simulate as simulate
from hiertopics.backends.hdp.sticks import fit_sticks, geometric_weights, mean_weights
from hiertopics.backends.hdp.summary import infer as infer
from hiertopics.backends.hdp.variational import Info as Info
from hiertopics.backends.hdp.variational import memory as memory
from hiertopics.backends.hdp.variational import prepare as prepare
from hiertopics.model import Context, Settings, Summary

objective_name = "training log likelihood per token"
monotone = False
sampler = False
PRIOR_SHAPE = PRIOR_RATE = 1.0


class Inference(VariationalInference, frozen=True, kw_only=True):
    """The schedule."""

    hyper_every: Annotated[
        int,
        Meta(
            ge=1,
            description="Iterations between two updates of sticks and hyperparameters, which "
            "cost several sweeps; 1: at every one, as published.",
        ),
    ] = 20


@dataclass
class State(variational.Responsibilities):
    """The responsibilities, and means and geometric means of the other posteriors.

    n_tables: float64 [T], expected tables per topic. pi, pi_geo: float64 [T]. tau, tau_geo:
    float64 [n_words].
    """

    n_tables: NDArray[np.float64]
    pi: NDArray[np.float64]
    pi_geo: NDArray[np.float64]
    tau: NDArray[np.float64]
    tau_geo: NDArray[np.float64]
    alpha: float
    alpha_geo: float
    gamma: float
    word_mass: float
    word_mass_geo: float


class Stats(NamedTuple):
    """What the global step needs of the local one.

    doc_tables [T], word_tables [n_words]: expected tables; log_xi: sum over topics.
    """

    doc_tables: NDArray[np.float64]
    word_tables: NDArray[np.float64]
    log_xi: float


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (spec 3.5)."""
    model = settings.model
    begun = variational.start(data, model.truncation, context, dtype)
    pi = np.full(model.truncation, 1.0 / model.truncation)
    tau = np.full(data.n_words, 1.0 / data.n_words)
    word_mass = model.eta * data.n_words
    return State(
        begun.resp,
        begun.n_dk,
        begun.n_wk,
        begun.n_k,
        n_tables=np.zeros(model.truncation),
        pi=pi,
        pi_geo=pi.copy(),
        tau=tau,
        tau_geo=tau.copy(),
        alpha=model.alpha,
        alpha_geo=model.alpha,
        gamma=model.gamma,
        word_mass=word_mass,
        word_mass_geo=word_mass,
    )


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Visit every pair once; after the hold refit the other posteriors now and then."""
    since = context.iteration - settings.inference.hyper_start
    due = since > 0 and (since - 1) % settings.inference.hyper_every == 0
    seen = variational.sweep(state, data, _prior(state), context, indicators=due)
    drift = variational.recount_now_and_then(state, data, context)
    if due:
        global_step(state, local_step(state, seen, data, context), data, settings)
    counts = common.topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    return state, Info(*counts, state.alpha, state.gamma, eta, drift)


def local_step(
    state: State,
    seen: tuple[NDArray[np.floating], NDArray[np.floating]],
    data: Data,
    context: Context,
) -> Stats:
    """Gather the expected tables that the counts make (spec 5.2).

    seen: P(n_dk >= 1) and P(n_wk >= 1), as the sweep noted them.
    """
    seen_dk, seen_wk = seen
    var_dk, var_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)

    def spread(block: tuple[int, int]) -> None:
        m.spread_block(data.cells, *block, state.resp, var_dk, var_wk)

    for blocks in rounds(data.cells.n_shards):
        context.map(spread, blocks)
    ones_by_doc, ones_by_topic = np.ones(data.n_docs), np.ones(state.n_topics)
    topic_mass, word_mass = state.alpha_geo * state.pi_geo, state.word_mass_geo * state.tau_geo
    n_shards = data.cells.n_shards
    _, doc_tables = _tables(state.n_dk, var_dk, seen_dk, ones_by_doc, topic_mass, context, n_shards)
    word_tables, _ = _tables(
        state.n_wk, var_wk, seen_wk, word_mass, ones_by_topic, context, n_shards
    )
    var_k = var_dk.sum(axis=0, dtype=np.float64)
    seen_k = -np.expm1(np.log1p(-np.minimum(seen_dk, 1 - 1e-7)).sum(axis=0, dtype=np.float64))
    log_xi = m.expected_log_xi(state.n_k, var_k, seen_k, state.word_mass)
    return Stats(doc_tables, word_tables, log_xi)


def global_step(state: State, stats: Stats, data: Data, settings: Settings) -> None:
    """Refit q of alpha, word mass, sticks, gamma and tau (spec 5.2)."""
    state.n_tables = stats.doc_tables
    growth = digamma(data.lengths + state.alpha) - digamma(state.alpha)
    state.alpha, state.alpha_geo = _gamma_posterior(
        state.n_tables.sum(), float((data.n_with * growth).sum())
    )
    state.word_mass, state.word_mass_geo = _gamma_posterior(stats.word_tables.sum(), -stats.log_xi)
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=settings.inference.reorder_sticks)
    state.pi, state.pi_geo = mean_weights(sticks), geometric_weights(sticks)
    state.gamma, _ = _gamma_posterior(len(sticks.a), -float(sticks.e_log_rest.sum()))
    if settings.model.prior == "AA":
        shape = 1.0 + stats.word_tables
        state.tau = shape / shape.sum()
        state.tau_geo = np.exp(digamma(shape) - digamma(shape.sum()))


def summarise(state: State, data: Data, settings: Settings) -> Summary:
    """Return the live topics as roots, largest first, and theta of the training documents."""
    return common.summarise(_fitted(state))


def objective(state: State, data: Data, settings: Settings) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    return variational.log_likelihood_per_token(data, _fitted(state))


def _tables(
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    seen: NDArray[np.floating],
    row_prior: NDArray[np.float64],
    column_prior: NDArray[np.float64],
    context: Context,
    n_shards: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return expected tables summed by row and by column, rows cut into shards."""
    bounds = np.linspace(0, len(mean), n_shards + 1).astype(int)
    by_row = np.zeros(len(mean))

    def of_shard(shard: int) -> NDArray[np.float64]:
        by_column = np.zeros(mean.shape[1])
        m.expected_tables(
            bounds[shard],
            bounds[shard + 1],
            mean,
            variance,
            seen,
            row_prior,
            column_prior,
            by_row,
            by_column,
        )
        return by_column

    parts = context.map(of_shard, range(n_shards))
    return by_row, np.sum(parts, axis=0)


def _gamma_posterior(tables: float, rate: float) -> tuple[float, float]:
    """Return E[.] and G[.] of Gamma(PRIOR_SHAPE + tables, PRIOR_RATE + rate)."""
    shape, rate = PRIOR_SHAPE + tables, PRIOR_RATE + rate
    return float(shape / rate), float(np.exp(digamma(shape)) / rate)


def _prior(state: State) -> Prior:
    dtype = state.n_dk.dtype
    return Prior(
        (state.alpha_geo * state.pi_geo).astype(dtype),
        (state.word_mass_geo * state.tau_geo).astype(dtype),
        state.word_mass,
    )


def _fitted(state: State) -> common.Fitted:
    return common.Fitted(
        state.n_dk, state.n_wk, state.n_k, state.alpha * state.pi, state.word_mass * state.tau
    )
