"""Concentrations: steps that raise a bound (theory/hdp 3.4), and draws (section 6, step 4).

Draws are under a Gamma prior, ``CONCENTRATION_PRIOR`` in every family. It is also the prior of the
word mass, which is eta times the number of words; where eta itself is drawn, its prior is
``ETA_PRIOR``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from hiertopics.base.arrays import F64, Ints, Numbers
from hiertopics.numeric.priors import GammaPrior
from hiertopics.numeric.slices import draw_by_slice

CONCENTRATION_PRIOR = GammaPrior(1.0, 1.0)
ETA_PRIOR = GammaPrior(1.0, 1.0)
LOWEST, HIGHEST = 1e-8, 1e8


def draw_concentration(
    value: float, n_tables: int, sizes: Ints, prior: GammaPrior, rng: np.random.Generator
) -> float:
    """Draw a concentration given its tables in groups of ``sizes`` customers, some maybe empty.

    sizes: [n_groups]. With auxiliary Beta and Bernoulli variables (M. Escobar, M. West, JASA 1995).
    """
    sizes = sizes[sizes > 0]
    log_eta = np.log(rng.beta(value + 1.0, sizes))
    successes = int((rng.random(len(sizes)) * (sizes + value) < sizes).sum())
    return prior.posterior(n_tables - successes, -log_eta.sum()).draw(rng)


def draw_by_slice_of_sizes(
    value: float,
    n_tables: int,
    sizes: Ints,
    n_with: Ints,
    prior: GammaPrior,
    rng: np.random.Generator,
) -> float:
    """Do as ``draw_concentration`` does where ``n_with`` groups have each of the ``sizes`` > 0.

    sizes, n_with: [n_sizes]. By a slice sampling step on the logarithm: it costs no draw per group.
    """

    def log_density(concentration: float) -> float:
        growth = gammaln(concentration + sizes) - gammaln(concentration)
        log_prior = prior.log_density(concentration)
        return float(log_prior + n_tables * np.log(concentration) - (n_with * growth).sum())

    return draw_by_slice(value, log_density, (LOWEST, HIGHEST), rng)


def draw_by_sticks(log_rest: F64, prior: GammaPrior, rng: np.random.Generator) -> float:
    """Draw the concentration of sticks v given all log(1 - v), float64 [n_sticks]."""
    return prior.posterior(len(log_rest), -log_rest.sum()).draw(rng)


def step_concentration(
    value: float, n_tables: float, sizes: Numbers, n_with: Ints | float = 1.0
) -> float:
    """Do one minorise-maximise step of a Dirichlet concentration (equations 29, 30).

    value: the concentration now; n_tables: expected tables under it; sizes: [n_sizes], tokens of
    each group that it governs, ``n_with`` groups of each size. Never lowers the bound.
    """
    growth = float((n_with * (digamma(sizes + value) - digamma(value))).sum())
    if growth <= 0:
        return value
    return float(np.clip(n_tables / growth, LOWEST, HIGHEST))
