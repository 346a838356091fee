"""The Gamma(1, 1) prior of a concentration, and draws under it (spec pcvb0 section 6, step 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PRIOR_SHAPE = PRIOR_RATE = 1.0


def draw_from_prior(rng: np.random.Generator) -> float:
    """Draw a concentration before anything is seen."""
    return float(rng.gamma(PRIOR_SHAPE, 1.0 / PRIOR_RATE))


def draw_concentration(
    value: float, n_tables: int, sizes: NDArray[np.integer], rng: np.random.Generator
) -> float:
    """Draw a concentration given its tables in groups of ``sizes`` customers, some maybe empty.

    With auxiliary Beta and Bernoulli variables (M. Escobar, M. West, JASA 1995).
    """
    sizes = sizes[sizes > 0]
    log_eta = np.log(rng.beta(value + 1.0, sizes))
    successes = int((rng.random(len(sizes)) * (sizes + value) < sizes).sum())
    shape = PRIOR_SHAPE + n_tables - successes
    return float(rng.gamma(shape, 1.0 / (PRIOR_RATE - log_eta.sum())))


def draw_by_sticks(log_rest: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Draw the concentration of sticks v given all log(1 - v), float64 [n_sticks]."""
    shape = PRIOR_SHAPE + len(log_rest)
    return float(rng.gamma(shape, 1.0 / (PRIOR_RATE - log_rest.sum())))
