"""Hyperparameter steps of PCVB0 (spec pcvb0 section 3.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

LOWEST, HIGHEST = 1e-8, 1e8
WORD_SMOOTHING = 0.1


def step_concentration(
    value: float,
    n_tables: float,
    sizes: NDArray[np.number],
    n_with: NDArray[np.integer] | float = 1.0,
) -> float:
    """Do one minorise-maximise step of a Dirichlet concentration (equations 29, 30).

    value: the concentration now; n_tables: expected tables under it; sizes: tokens of each
    group that it governs, ``n_with`` groups of each size. Never lowers the bound.
    """
    growth = float((n_with * (digamma(sizes + value) - digamma(value))).sum())
    if growth <= 0:
        return value
    return float(np.clip(n_tables / growth, LOWEST, HIGHEST))


def word_shape(n_tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return tau, float64 [n_words], from expected tables per word (equation 31).

    The smoothing keeps words without a training token predictable (spec 3.4, AA pitfall).
    """
    smoothed = n_tables + WORD_SMOOTHING
    return np.asarray(smoothed / smoothed.sum())
