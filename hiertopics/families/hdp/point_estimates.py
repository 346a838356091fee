"""Shared code of the practical methods (pcvb0, pcvb): point estimates of hyperparameters.

Table counts are replaced by the probability that a document, or a word, uses a topic at all,
after which every update has a closed form (theory/hdp 2 to 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.contract.model import Context, Settings as SettingsOf
from hiertopics.families.flat import variational
from hiertopics.families.flat.concentrations import step_concentration
from hiertopics.families.flat.config import Model, PointInference
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data
from hiertopics.families.flat.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.families.flat.variational import SweepVariant
from hiertopics.families.hdp.estimates import State

Settings = SettingsOf[Model, PointInference]

WORD_SMOOTHING = 0.1


class PointStats(NamedTuple):
    """Sums of local steps that the global step needs; shards add up.

    doc_tables [T]: sum over documents of E[I(n_dk >= 1)]. word_tables [n_words]: sum over
    topics of E[I(n_kw >= 1)].
    """

    doc_tables: F64
    word_tables: F64


def step(
    state: State, data: Data, settings: Settings, context: Context, variant: SweepVariant
) -> float:
    """Refit q(z) of every pair (equations 34, 35); after the hold, sticks and hyperparameters too.

    Return the drift undone.
    """
    learn = context.iteration > settings.inference.hyper_start
    seen_wk = variant.sweep(state, data, prior_of(state), context, indicators=learn, held=not learn)
    drift = variant.recount_now_and_then(state, data, context)
    if learn:
        global_step(state, gather(state, seen_wk), variant.sized(state, data), settings)
    return drift


def gather(state: State, seen_wk: Floats) -> PointStats:
    """Return the sums for the global step from the indicators that a sweep noted (26, 32).

    seen_wk: [n_words, n_topics].
    """
    return PointStats(variational.seen_totals(state), seen_wk.sum(axis=1).astype(np.float64))


def global_step(state: State, stats: PointStats, data: Data, settings: Settings) -> None:
    """Refit the sticks (24-28), then alpha (29), gamma (33), eta (30) and tau (31)."""
    state.n_tables = stats.doc_tables
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=settings.inference.reorder_sticks)
    state.pi = mean_weights(sticks)
    sizes = state.n_k + data.seeds.totals(state.n_topics)
    hold, n_tables = settings.inference.hold, state.n_tables.sum()
    if "alpha" not in hold:
        state.alpha = step_concentration(state.alpha, n_tables, data.lengths, data.n_with)
    if "eta" not in hold:
        state.word_mass = step_concentration(state.word_mass, stats.word_tables.sum(), sizes)
    if state.n_topics > 1 and "gamma" not in hold:
        state.gamma = best_gamma(sticks)
    if settings.model.prior == "AA":
        state.tau = word_shape(stats.word_tables)


def prior_of(state: State) -> PseudoCounts:
    """Return the pseudo-counts of q(z)'s update, in the tables' dtype."""
    dtype = state.n_wk.dtype
    return PseudoCounts(
        (state.alpha * state.pi).astype(dtype),
        (state.word_mass * state.tau).astype(dtype),
        state.word_mass,
    )


def word_shape(n_tables: F64) -> F64:
    """Return tau, float64 [n_words], from expected tables per word (equation 31).

    The smoothing keeps words without a training token predictable (theory/hdp 3.4, AA pitfall).
    """
    smoothed = n_tables + WORD_SMOOTHING
    return np.asarray(smoothed / smoothed.sum())
