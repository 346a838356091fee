"""Which concentrations are drawn, and draws of eta (theory/chdp 3.3, step 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.table_kernels import count_tables
from hiertopics.families.flat.concentrations import draw_concentration


class Sampled(NamedTuple):
    """Which concentrations are drawn; the others stay where the config starts them."""

    alpha_doc: bool
    alpha_group: bool
    gamma: bool
    eta: bool


def draw_eta(
    eta: float, n_wk: NDArray[np.int32], n_k: NDArray[np.int64], rng: np.random.Generator
) -> float:
    """Draw eta; the prior is on its total n_words eta, the concentration of a topic's words."""
    n_words = len(n_wk)
    n_tables = count_tables(n_wk, eta, rng)
    return draw_concentration(eta * n_words, n_tables, n_k, rng) / n_words
