"""Draws of alpha and eta given all topics, each number by one exact slice sampling step.

Both are Dirichlet priors with their multinomials integrated out. Where they are symmetric, one
function serves documents over topics (alpha) and topics over words (eta). Priors: n_topics * alpha
is uniform from 0.1 to 1000, as kappa of the stick-breaking model (theory/tssb 6); so is the
sum of alphas that differ, and their shares of it are uniform too. eta is Gamma(1, 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.concentrations import ETA_PRIOR
from hiertopics.families.lda.config import Model
from hiertopics.numeric.mixtures import log_rising
from hiertopics.numeric.slices import draw_by_slice

LOWEST_TOTAL, HIGHEST_TOTAL = 0.1, 1000.0
LOWEST_ETA, HIGHEST_ETA = 1e-6, 1e3
"""Where the prior of eta is cut off."""

LOWEST_ALPHA = 1e-9
"""Where the prior of an alpha of its own is cut off."""


def draw_alpha_from_prior(model: Model, rng: np.random.Generator) -> F64:
    """Draw alpha from its prior: one number, or [n_topics] if each topic has its own."""
    total = rng.uniform(LOWEST_TOTAL, HIGHEST_TOTAL)
    if model.prior == "asymmetric":
        return np.asarray(total * rng.dirichlet(np.ones(model.n_topics)))
    return np.asarray(total / model.n_topics)


def draw_eta_from_prior(rng: np.random.Generator) -> float:
    """Draw eta from its prior; the mass above HIGHEST_ETA is negligible."""
    return LOWEST_ETA + ETA_PRIOR.draw(rng)


class Tally(NamedTuple):
    """A table of counts as its evidence sees it.

    counts, times: int64 [n], the distinct positive cells and how often each occurs; totals, n_with:
    the same of the rows' sums. n_columns: width of the table.
    """

    counts: I64
    times: I64
    totals: I64
    n_with: I64
    n_columns: int


def tally(table: I32) -> Tally:
    """Return the tally of a table [n_rows, n_columns]."""
    of_cells = np.bincount(table.ravel(), minlength=1)
    counts = np.flatnonzero(of_cells[1:]) + 1
    totals, n_with = np.unique(table.sum(axis=1, dtype=np.int64), return_counts=True)
    return Tally(counts, of_cells[counts], totals, n_with, table.shape[1])


def tallies_of_columns(table: I32) -> list[Tally]:
    """Return the tally of each column of a table; totals are those of whole rows.

    table: int32 [n_rows, n_columns].
    """
    totals, n_with = np.unique(table.sum(axis=1, dtype=np.int64), return_counts=True)
    tallies = []
    for column in np.ascontiguousarray(table.T):
        of_cells = np.bincount(column, minlength=1)
        counts = np.flatnonzero(of_cells[1:]) + 1
        tallies.append(Tally(counts, of_cells[counts], totals, n_with, table.shape[1]))
    return tallies


def log_evidence(table: Tally, prior: float) -> float:
    """Return the log chance of the cells' draws, in their order, under Dir(prior, ..., prior)."""
    return _by_cell(table, prior) + _by_row(table, prior * table.n_columns)


def log_evidence_of_columns(columns: list[Tally], priors: F64) -> float:
    """Return the same of a table with these columns under Dir(priors), float64 [n_columns]."""
    by_cell = sum(_by_cell(*pair) for pair in zip(columns, priors, strict=True))
    return by_cell + _by_row(columns[0], priors.sum())


def _by_cell(table: Tally, prior: float) -> float:
    return float(table.times @ log_rising(prior, table.counts))


def _by_row(table: Tally, mass: float) -> float:
    return -float(table.n_with @ log_rising(mass, table.totals))


def draw_alpha(n_dk: I32, alpha: float, rng: np.random.Generator) -> float:
    """Draw alpha given n_dk [n_docs, n_topics]."""
    table = tally(n_dk)
    bounds = (LOWEST_TOTAL / table.n_columns, HIGHEST_TOTAL / table.n_columns)
    return draw_by_slice(alpha, lambda value: log_evidence(table, value), bounds, rng)


def draw_alphas(n_dk: I32, alpha: F64, rng: np.random.Generator) -> F64:
    """Draw the alpha of each topic in turn, float64 [n_topics], given n_dk and all others."""
    drawn = alpha.copy()
    for topic, column in enumerate(tallies_of_columns(n_dk)):
        rest = float(drawn.sum() - drawn[topic])

        def log_density(value: float, column: Tally = column, rest: float = rest) -> float:
            # Shares are uniform over the simplex: a total has density total^(1 - n_topics).
            log_prior = (1.0 - column.n_columns) * math.log(value + rest)
            return _by_cell(column, value) + _by_row(column, value + rest) + log_prior

        bounds = (max(LOWEST_TOTAL - rest, LOWEST_ALPHA), HIGHEST_TOTAL - rest)
        drawn[topic] = draw_by_slice(drawn[topic], log_density, bounds, rng)
    return drawn


def draw_eta(n_kw: I32, eta: float, rng: np.random.Generator) -> float:
    """Draw eta given n_kw [n_topics, n_words]."""
    table = tally(n_kw)

    def log_density(value: float) -> float:
        return log_evidence(table, value) + ETA_PRIOR.log_density(value)

    return draw_by_slice(eta, log_density, (LOWEST_ETA, HIGHEST_ETA), rng)
