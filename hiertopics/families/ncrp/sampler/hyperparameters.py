"""Draws of gamma, eta and the level prior given a chain, each exact.

Priors: gamma and eta are Gamma(1, 1), each entry of the level prior Gamma(1, 1/10).
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.concentrations import (
    CONCENTRATION_PRIOR,
    ETA_PRIOR,
    draw_concentration,
)
from hiertopics.families.ncrp.sampler import chain_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.numeric.mixtures import log_rising
from hiertopics.numeric.priors import GammaPrior
from hiertopics.numeric.slices import draw_by_slice

LEVEL_PRIOR = GammaPrior(1.0, 0.1)
LOWEST, HIGHEST = 1e-8, 1e6
"""Where the priors end."""


def log_prior(hyper: Hyperparameters) -> float:
    """Return the log density of the hyperparameters."""
    of_scalars = CONCENTRATION_PRIOR.log_density(hyper.gamma) + ETA_PRIOR.log_density(hyper.eta)
    return of_scalars + LEVEL_PRIOR.log_density_of_all(hyper.level)


def draw_from_prior(
    asked: tuple[bool, bool, bool], depth: int, rng: np.random.Generator
) -> dict[str, F64]:
    """Draw gamma, eta and level_prior [depth], those that are asked for, before anything is seen.

    What lies above HIGHEST has no mass to speak of.
    """
    drawn = {
        "gamma": np.asarray(LOWEST + CONCENTRATION_PRIOR.draw(rng)),
        "eta": np.asarray(LOWEST + ETA_PRIOR.draw(rng)),
        "level_prior": LOWEST + LEVEL_PRIOR.draw_many(depth, rng),
    }
    return {name: drawn[name] for name, wanted in zip(drawn, asked, strict=True) if wanted}


def draw_gamma(chain: Chain, gamma: float, rng: np.random.Generator, n_held: int = 0) -> float:
    """Draw gamma given the tree.

    gamma^J Gamma(gamma)/Gamma(gamma + m) at each inner node of J children and m documents is
    that of the number of tables of a Chinese restaurant. n_held: names, whose paths are given
    (theory/ncrp 5.1); with them gamma is drawn by slice sampling of its logarithm.
    """
    if n_held:

        def log_density(gamma: float) -> float:
            given = n_held * np.log(gamma) - log_rising(gamma, np.array([n_held]))[0]
            log_chance = float(chain_kernels.log_trees(chain, gamma) - given)
            return log_chance + CONCENTRATION_PRIOR.log_density(gamma)

        return draw_by_slice(gamma, log_density, (LOWEST, HIGHEST), rng)
    n_children = int((chain.visits > 0).sum()) - 1
    if n_children <= 0:
        return _clipped(CONCENTRATION_PRIOR.draw(rng))
    sizes = chain.visits[: chain.first[-2]]
    return _clipped(draw_concentration(gamma, n_children, sizes, CONCENTRATION_PRIOR, rng))


def draw_eta(chain: Chain, eta: float, rng: np.random.Generator) -> float:
    """Draw eta given the words of each node, by slice sampling of its logarithm."""
    times = chain_kernels.count_counts(chain.n_wk)
    counts = np.flatnonzero(times)
    times = times[counts]
    totals = chain.n_k[chain.n_k > 0]
    n_words = len(chain.n_wk)

    def log_density(eta: float) -> float:
        by_word = times @ log_rising(eta, counts)
        by_node = log_rising(n_words * eta, totals).sum()
        return float(by_word - by_node) + ETA_PRIOR.log_density(eta)

    return draw_by_slice(eta, log_density, (LOWEST, HIGHEST), rng)


def draw_level_prior(n_dl: I32, level_prior: F64, rng: np.random.Generator) -> F64:
    """Draw the level prior, one level after the other, by slice sampling of its logarithm.

    float64 [n_levels]. n_dl: int32 [n_docs, n_levels].
    """
    drawn = level_prior.copy()
    lengths, n_with = np.unique(n_dl.sum(axis=1), return_counts=True)
    for level in range(len(drawn)):
        counts, times = np.unique(n_dl[:, level], return_counts=True)
        others = drawn.sum() - drawn[level]

        def log_density(
            value: float, counts: I32 = counts, times: I64 = times, others: float = others
        ) -> float:
            by_level = times @ log_rising(value, counts)
            by_doc = n_with @ log_rising(others + value, lengths)
            return float(by_level - by_doc) + LEVEL_PRIOR.log_density(value)

        drawn[level] = draw_by_slice(drawn[level], log_density, (LOWEST, HIGHEST), rng)
    return drawn


def _clipped(value: float) -> float:
    return float(np.clip(value, LOWEST, HIGHEST))
