"""Whole posteriors of all that is not q(z), as of Teh, Kurihara and Welling.

Auxiliary variables (table counts) make concentrations, sticks and word shape conjugate to the
counts, so each has a posterior, whose mean or geometric mean enters the update of q(z)
(theory/hdp 5.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import digamma

from hiertopics.base.arrays import F64, Floats
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract.model import Context
from hiertopics.families.flat import moments as m, variational
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.flat.config import ModelSettings, PosteriorSettings as Settings
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data, Piece
from hiertopics.families.flat.sticks import fit_sticks, geometric_weights, mean_weights
from hiertopics.families.flat.variational import ZERO, Responsibilities, SweepVariant
from hiertopics.families.hdp import estimates
from hiertopics.numeric import special

Table = Floats

CELLS = 1 << 18
"""Entries of a table by document that are taken at a time."""


@dataclass
class State(estimates.State):
    """The means of all posteriors, and geometric means (``_geo``) shaped as these."""

    pi_geo: Annotated[F64, Axes("truncation", least=0)]
    tau_geo: Annotated[F64, Axes("n_words", least=0)]
    alpha_geo: Annotated[float, Axes(least=POSITIVE)]
    word_mass_geo: Annotated[float, Axes(least=POSITIVE)]


class PosteriorStats(NamedTuple):
    """Sums of local steps that the global step needs.

    doc_tables [T], word_tables [n_words]: expected tables; log_xi: sum over topics.
    """

    doc_tables: F64
    word_tables: F64
    log_xi: float


def start(begun: Responsibilities, data: Data, settings: ModelSettings) -> dict[str, Any]:
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


class Functions(NamedTuple):
    """Functions for expected tables, probabilities and geometric means.

    tables(mean, variance, seen, row_prior, column_prior): expected tables summed by row and by
    column. log_unseen(seen): the sum of log(1 - seen) [T], seen [n, T], which may be overwritten.
    exp and expm1: of rows, as numpy's.
    """

    tables: Callable[[Table, Table, Table, F64, F64], tuple[F64, F64]]
    log_unseen: Callable[[Table], F64]
    exp: Callable[[F64], F64]
    expm1: Callable[[F64], F64]


def _summed(
    kernel: Callable[..., None],
    mean: Table,
    variance: Table,
    seen: Table,
    row_prior: F64,
    column_prior: F64,
) -> tuple[F64, F64]:
    by_row, by_column = np.zeros(len(mean)), np.zeros(mean.shape[1])
    kernel(0, len(mean), mean, variance, seen, row_prior, column_prior, by_row, by_column)
    return by_row, by_column


def _tables(*moments: Any) -> tuple[F64, F64]:
    return _summed(m.expected_tables, *moments)


def _tables_in_fixed_order(*moments: Any) -> tuple[F64, F64]:
    return _summed(m.expected_tables_in_fixed_order, *moments)


def _log_unseen(seen: Table) -> F64:
    seen = np.minimum(seen, m.MOST_SEEN)
    return np.asarray(np.log1p(-seen, out=seen).sum(axis=0, dtype=np.float64))


def _log_unseen_in_fixed_order(seen: Table) -> F64:
    return m.log_unseen(seen)


def _expm1(numbers: F64) -> F64:
    return special.exp_of(numbers) - 1.0


FASTEST = Functions(_tables, _log_unseen, np.exp, np.expm1)
IN_FIXED_ORDER = Functions(
    _tables_in_fixed_order, _log_unseen_in_fixed_order, special.exp_of, _expm1
)
"""The same on every processor: numpy's exponentials and logarithms differ in the last bit."""


def step(
    state: State,
    data: Data,
    settings: Settings,
    context: Context,
    variant: SweepVariant = ZERO,
    functions: Functions = FASTEST,
) -> float:
    """Refit q(z) of every pair; now and then the other posteriors too. Return the drift undone.

    ``settings.inference`` has hyper_start, hyper_every, hold, reorder_sticks and denominator.
    """
    due = is_due(settings, context)
    prior = prior_of(state, settings)
    held = context.iteration <= settings.inference.hyper_start
    seen_wk = variant.sweep(state, data, prior, context, indicators=due, held=held)
    drift = variant.recount_now_and_then(state, data, context)
    if due:
        var_wk = variant.spread(state, data)
        stats = gather(state, seen_wk, var_wk, data, context, functions)
        global_step(state, stats, variant.sized(state, data), settings, functions.exp)
    return drift


def is_due(settings: Settings, context: Context) -> bool:
    """Tell whether this iteration refits the other posteriors: after the hold, now and then."""
    since = context.iteration - settings.inference.hyper_start
    return bool(since > 0 and (since - 1) % settings.inference.hyper_every == 0)


def gather(
    state: State,
    seen_wk: Table,
    var_wk: Table,
    data: Data,
    context: Context,
    functions: Functions = FASTEST,
) -> PosteriorStats:
    """Return the expected tables that the counts make (theory/hdp 5.2).

    seen_wk: P(n_wk >= 1), as a sweep noted it; var_wk: Var[n_wk]. Those of documents are with the
    pieces, which drop them.
    """
    asked = ConcentrationFunctions(
        state.alpha_geo * state.pi_geo, functions.tables, functions.log_unseen
    )
    parts = state.local.step(_tables_of_documents, asked)
    doc_tables, var_k, log_unseen = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    word_mass = state.word_mass_geo * state.tau_geo
    word_tables = _tables_of_words(state, seen_wk, var_wk, word_mass, context, functions)
    seeded = data.seeds.totals(state.n_topics)
    log_unseen = np.where(seeded > 0, -np.inf, log_unseen)
    n_k, seen_k = state.n_k + seeded, -functions.expm1(log_unseen)
    log_xi = m.expected_log_xi(n_k, var_k, seen_k, state.word_mass)
    return PosteriorStats(doc_tables, word_tables, log_xi)


class ConcentrationFunctions(NamedTuple):
    """The concentration of each topic's tables [T], and functions for these (``Functions``)."""

    topic_mass: F64
    tables: Callable[[Table, Table, Table, F64, F64], tuple[F64, F64]]
    log_unseen: Callable[[Table], F64]


def _tables_of_documents(
    piece: Piece, local: variational.Local, asked: ConcentrationFunctions
) -> tuple[variational.Local, tuple[F64, ...]]:
    """Answer with expected tables, the variance of n_k and log P(n_k = 0), each [T]."""
    seen_dk, var_dk = local.seen_dk, local.var_dk
    assert seen_dk is not None and var_dk is not None
    ones, topic_mass = np.ones(piece.n_docs), asked.topic_mass
    doc_tables = asked.tables(local.n_dk, var_dk, seen_dk, ones, topic_mass)[1]
    var_k = var_dk.sum(axis=0, dtype=np.float64)
    log_unseen, step = np.zeros(len(topic_mass)), max(1, CELLS // len(topic_mass))
    for first in range(0, piece.n_docs, step):
        log_unseen += asked.log_unseen(seen_dk[first : first + step])
    return variational.settled(local), (doc_tables, var_k, log_unseen)


def _tables_of_words(
    state: State,
    seen_wk: Table,
    var_wk: Table,
    word_mass: F64,
    context: Context,
    functions: Functions,
) -> F64:
    """Return expected tables of each word [n_words], so many words at a time as pieces."""
    n_parts, ones = state.local.n_pieces, np.ones(state.n_topics)
    bounds = np.linspace(0, len(word_mass), n_parts + 1).astype(int)

    parts = [slice(*span) for span in pairwise(bounds.tolist())]
    rows = [(state.n_wk[p], var_wk[p], seen_wk[p], word_mass[p], ones) for p in parts]
    return np.concatenate(context.map(lambda row: functions.tables(*row)[0], rows))


def global_step(
    state: State,
    stats: PosteriorStats,
    data: Data,
    settings: Settings,
    exp: Callable[[F64], F64] = np.exp,
) -> None:
    """Refit q of alpha, word mass, sticks, gamma and tau (theory/hdp 5.2).

    exp: the exponential of float64 [n].
    """
    state.n_tables = stats.doc_tables
    hold = settings.inference.hold
    if "alpha" not in hold:
        growth = digamma(data.lengths + state.alpha) - digamma(state.alpha)
        state.alpha, state.alpha_geo = _gamma_posterior(
            state.n_tables.sum(), float((data.n_with * growth).sum()), exp
        )
    if "eta" not in hold:
        state.word_mass, state.word_mass_geo = _gamma_posterior(
            stats.word_tables.sum(), -stats.log_xi, exp
        )
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=settings.inference.reorder_sticks)
    state.pi, state.pi_geo = mean_weights(sticks), geometric_weights(sticks, exp)
    if "gamma" not in hold:
        state.gamma, _ = _gamma_posterior(len(sticks.a), -float(sticks.e_log_rest.sum()), exp)
    if settings.model.prior == "AA":
        shape = 1.0 + stats.word_tables
        state.tau = shape / shape.sum()
        state.tau_geo = exp(digamma(shape) - digamma(shape.sum()))


def prior_of(state: State, settings: Settings) -> PseudoCounts:
    """Return the pseudo-counts of q(z)'s update, in the tables' dtype."""
    dtype = state.n_wk.dtype
    printed = settings.inference.denominator == "G"
    return PseudoCounts(
        (state.alpha_geo * state.pi_geo).astype(dtype),
        (state.word_mass_geo * state.tau_geo).astype(dtype),
        state.word_mass_geo if printed else state.word_mass,
    )


def _gamma_posterior(tables: float, rate: float, exp: Callable[[F64], F64]) -> tuple[float, float]:
    """Return E[.] and G[.] of a concentration of so many tables, at a rate."""
    learned = CONCENTRATION_PRIOR.posterior(tables, rate)
    geometric = exp(digamma(np.array([learned.shape])))[0] / learned.rate
    return float(learned.mean), float(geometric)
