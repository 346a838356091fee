"""Whole posteriors of all that is not q(z), as of Teh, Kurihara and Welling.

Auxiliary variables (table counts) make concentrations, sticks and word shape conjugate to the
counts, so each has a posterior, whose mean or geometric mean enters the update of q(z)
(theory/hdp 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from hiertopics.families.flat import estimates, variational
from hiertopics.families.flat import moments as m
from hiertopics.families.flat.concentrations import PRIOR_RATE, PRIOR_SHAPE
from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.layout import Data
from hiertopics.families.flat.sticks import fit_sticks, geometric_weights, mean_weights
from hiertopics.families.flat.variational import Responsibilities
from hiertopics.model import Context, Settings

Table = NDArray[np.floating]


@dataclass
class State(estimates.State):
    """The means of all posteriors, and geometric means (``_geo``) shaped as these."""

    pi_geo: NDArray[np.float64]
    tau_geo: NDArray[np.float64]
    alpha_geo: float
    word_mass_geo: float


class Stats(NamedTuple):
    """What the global step needs of the local one.

    doc_tables [T], word_tables [n_words]: expected tables; log_xi: sum over topics.
    """

    doc_tables: NDArray[np.float64]
    word_tables: NDArray[np.float64]
    log_xi: float


def start(begun: Responsibilities, data: Data, settings: Settings) -> dict[str, Any]:
    """Return the fields of a ``State``: those begun, the others at the start values.

    Source: theory/hdp 3.5.
    """
    means = estimates.start(begun, data, settings)
    return {
        **means,
        "pi_geo": means["pi"].copy(),
        "tau_geo": means["tau"].copy(),
        "alpha_geo": means["alpha"],
        "word_mass_geo": means["word_mass"],
    }


def zero_order_step(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Refit q(z) of every pair; now and then the other posteriors too. Return the drift undone.

    ``settings.inference`` has hyper_start, hyper_every, reorder_sticks and denominator.
    """
    due = is_due(settings, context)
    prior = prior_of(state, settings)
    seen = variational.sweep(state, data, prior, context, indicators=due)
    drift = variational.recount_now_and_then(state, data, context)
    if due:
        variances = variational.spread(state, data, context)
        global_step(state, gather(state, seen, variances, data, context), data, settings)
    return drift


def is_due(settings: Settings, context: Context) -> bool:
    """Tell whether this iteration refits the other posteriors: after the hold, now and then."""
    since = context.iteration - settings.inference.hyper_start
    return bool(since > 0 and (since - 1) % settings.inference.hyper_every == 0)


def gather(
    state: State,
    seen: tuple[Table, Table],
    variances: tuple[Table, Table],
    data: Data,
    context: Context,
) -> Stats:
    """Return the expected tables that the counts make (theory/hdp 5.2).

    seen: P(n_dk >= 1) and P(n_wk >= 1), as a sweep noted them. variances: of n_dk and n_wk.
    """
    (seen_dk, seen_wk), (var_dk, var_wk) = seen, variances
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
    """Refit q of alpha, word mass, sticks, gamma and tau (theory/hdp 5.2)."""
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


def prior_of(state: State, settings: Settings) -> Prior:
    """Return the pseudo-counts of q(z)'s update, in the tables' dtype."""
    dtype = state.n_dk.dtype
    printed = settings.inference.denominator == "G"
    return Prior(
        (state.alpha_geo * state.pi_geo).astype(dtype),
        (state.word_mass_geo * state.tau_geo).astype(dtype),
        state.word_mass_geo if printed else state.word_mass,
    )


def _tables(
    mean: Table,
    variance: Table,
    seen: Table,
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
