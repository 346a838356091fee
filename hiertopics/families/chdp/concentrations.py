"""Concentrations under a Gamma(1, 1) prior (spec chdp 3.3, step 4), and which are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.table_kernels import count_tables

PRIOR_SHAPE = PRIOR_RATE = 1.0


class Sampled(NamedTuple):
    """Which concentrations are drawn; the others stay where the config starts them."""

    alpha_doc: bool
    alpha_group: bool
    gamma: bool
    eta: bool


def draw_concentration(
    value: float, n_tables: int, sizes: NDArray[np.integer], rng: np.random.Generator
) -> float:
    """Draw a concentration given its tables in groups of ``sizes`` customers, some maybe empty."""
    sizes = sizes[sizes > 0]
    log_eta = np.log(rng.beta(value + 1.0, sizes))
    successes = int((rng.random(len(sizes)) * (sizes + value) < sizes).sum())
    shape = PRIOR_SHAPE + n_tables - successes
    return float(rng.gamma(shape, 1.0 / (PRIOR_RATE - log_eta.sum())))


def draw_eta(
    eta: float, n_wk: NDArray[np.int32], n_k: NDArray[np.int64], rng: np.random.Generator
) -> float:
    """Draw eta; the prior is on its total n_words eta, the concentration of a topic's words."""
    n_words = len(n_wk)
    n_tables = count_tables(n_wk, eta, rng)
    return draw_concentration(eta * n_words, n_tables, n_k, rng) / n_words
