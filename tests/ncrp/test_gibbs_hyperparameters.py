"""Draws of gamma, eta and the level prior against their densities by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gibbs_cases import hyper_of, levels_of, paths_of, random_chain, varied_corpus
from naive_gibbs import log_joint
from scipy import stats
from stepping import docs_of

from hiertopics.base.arrays import F64
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.ncrp.sampler import hyperparameters as h
from hiertopics.families.ncrp.sampler.chain_kernels import Hyperparameters
from hiertopics.numeric.slices import draw_by_slice

CORPUS = varied_corpus()
DATA, CHAIN, PRIOR = random_chain(CORPUS, seed=2)
N_DRAWS = 4_000


def density(change: Callable[[float], Hyperparameters], rate: float) -> tuple[Any, Any]:
    """Return a grid of values, even in their logs, and their posterior distribution function."""
    values = np.exp(np.linspace(math.log(1e-4), math.log(300), 400))
    docs, paths = docs_of(CORPUS), paths_of(CHAIN.path)
    levels = levels_of(CORPUS, CHAIN.level)
    scores = []
    for value in values:
        hyper = hyper_of(change(float(value)), DATA.n_words)
        # The Jacobian of the logarithm, then the exponential prior.
        scores.append(log_joint(docs, paths, levels, hyper) + math.log(value) - rate * value)
    weights = np.exp(np.array(scores) - max(scores))
    areas = np.append(0.0, (weights[1:] + weights[:-1]) / 2)
    return values, areas.cumsum() / areas.sum()


def p_value(draws: F64, values: Any, below: Any) -> float:
    """Return the p value of draws, thinned until they are nearly independent."""
    return float(stats.kstest(draws[::8], lambda x: np.interp(x, values, below)).pvalue)


def gammas(rng: np.random.Generator) -> F64:
    gamma, found = 1.0, []
    for _ in range(N_DRAWS):
        gamma = h.draw_gamma(CHAIN, gamma, rng)
        found.append(gamma)
    return np.array(found)


def etas(rng: np.random.Generator) -> F64:
    eta, found = 0.1, []
    for _ in range(N_DRAWS):
        eta = h.draw_eta(CHAIN, eta, rng)
        found.append(eta)
    return np.array(found)


@pytest.mark.parametrize(
    ("gamma", "eta", "level", "expected"),
    [
        (0.7, 0.3, [50.0, 20.0, 10.0], -9.0),
        (2.0, 0.3, [50.0, 20.0, 10.0], -10.3),
        (0.7, 1.5, [5.0, 1.0], -2.8),
    ],
)
def test_the_log_prior_is_that_of_exponentials(
    gamma: float, eta: float, level: list[float], expected: float
) -> None:
    """By hand, up to a constant: -gamma - eta - sum(level) / 10."""
    assert h.log_prior(Hyperparameters(np.array(level), gamma, eta)) == pytest.approx(
        expected, rel=1e-12
    )


def test_gamma_follows_its_posterior() -> None:
    values, below = density(lambda gamma: PRIOR._replace(gamma=gamma), CONCENTRATION_PRIOR.rate)
    draws = gammas(np.random.default_rng(3))
    assert p_value(draws, values, below) > 1e-3
    assert p_value(draws * 1.15, values, below) < 1e-3


def test_eta_follows_its_posterior() -> None:
    values, below = density(lambda eta: PRIOR._replace(eta=eta), CONCENTRATION_PRIOR.rate)
    draws = etas(np.random.default_rng(3))
    assert p_value(draws, values, below) > 1e-3
    assert p_value(draws * 1.15, values, below) < 1e-3


@pytest.mark.slow
def test_all_levels_together_follow_their_posterior() -> None:
    """Means of a long run against weights from prior draws."""
    rng = np.random.default_rng(5)
    prior, draws = PRIOR.level.copy(), []
    for _ in range(N_DRAWS):
        prior = h.draw_level_prior(CHAIN.n_dl, prior, rng)
        draws.append(prior)
    grid = np.exp(np.linspace(math.log(0.05), math.log(60), 36))
    cells = np.array(np.meshgrid(grid, grid, grid, indexing="ij")).reshape(3, -1).T
    scores = log_levels(cells)
    scores += np.log(cells).sum(axis=1) - h.LEVEL_PRIOR.rate * cells.sum(axis=1)
    weights = np.exp(scores - scores.max())
    expected = weights @ np.log(cells) / weights.sum()
    spread = np.sqrt(weights @ np.log(cells) ** 2 / weights.sum() - expected**2)
    found = np.log(draws)
    np.testing.assert_allclose(found.mean(axis=0), expected, atol=0.06)
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=0.08)


def log_levels(alphas: F64) -> F64:
    """Return the log probability of all levels, token by token, for each prior [n, L]."""
    total = np.zeros(len(alphas))
    for counts in CHAIN.n_dl.tolist():
        before = 0
        for level, count in enumerate(counts):
            for used in range(count):
                total += np.log((alphas[:, level] + used) / (alphas.sum(axis=1) + before))
                before += 1
    return total


@pytest.mark.parametrize("start", [1e-6, 40.0])
def test_a_slice_follows_a_gamma_law_from_any_start(start: float) -> None:
    rng, value, draws = np.random.default_rng(1), start, []
    for _ in range(N_DRAWS):
        value = draw_by_slice(value, lambda x: 1.5 * math.log(x) - 2.0 * x, (1e-8, 1e6), rng)
        draws.append(value)
    assert stats.kstest(draws[200::5], stats.gamma(2.5, scale=0.5).cdf).pvalue > 1e-3
    assert stats.kstest(draws[200::5], stats.gamma(2.1, scale=0.5).cdf).pvalue < 1e-3


def test_a_tree_without_documents_leaves_gamma_to_its_prior() -> None:
    empty = CHAIN._replace(visits=np.zeros_like(CHAIN.visits))
    rng = np.random.default_rng(0)
    draws = [h.draw_gamma(empty, 1.0, rng) for _ in range(2000)]
    assert stats.kstest(draws, "expon").pvalue > 1e-3
