"""Draws of alpha and eta given the topics: against quadrature of the naive joint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lda_cases import log_joint, varied_corpus
from scipy import stats
from stepping import docs_of

from hiertopics.families.lda import hyperparameters as h

CORPUS = varied_corpus()
DOCS = docs_of(CORPUS)
N_TOPICS, N_DRAWS = 3, 4000
TOPICS = [[(word + doc) % N_TOPICS for word in words] for doc, words in enumerate(DOCS)]


def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return n_dk and n_kw of the fixed topics."""
    n_dk = np.zeros((len(DOCS), N_TOPICS), np.int32)
    n_kw = np.zeros((N_TOPICS, CORPUS.n_words), np.int32)
    for doc, (words, topics) in enumerate(zip(DOCS, TOPICS, strict=True)):
        for word, topic in zip(words, topics, strict=True):
            n_dk[doc, topic] += 1
            n_kw[topic, word] += 1
    return n_dk, n_kw


def joint(alpha: float, eta: float) -> float:
    """Return the naive log joint of the fixed topics."""
    return log_joint(DOCS, TOPICS, N_TOPICS, CORPUS.n_words, alpha, eta)


@pytest.mark.parametrize(("alpha", "eta"), [(0.3, 0.1), (2.0, 0.7), (50.0, 9.0)])
def test_evidence_of_both_tables_is_the_joint_token_by_token(alpha: float, eta: float) -> None:
    n_dk, n_kw = tables()
    by_doc, by_topic = h.log_evidence(h.tally(n_dk), alpha), h.log_evidence(h.tally(n_kw), eta)
    assert by_doc + by_topic == pytest.approx(joint(alpha, eta), rel=1e-12)


@pytest.mark.parametrize("name", ["alpha", "eta"])
def test_draws_follow_the_conditional(name: str) -> None:
    """Kolmogorov-Smirnov against quadrature; a prior forgotten or a Jacobian would be seen."""
    n_dk, n_kw = tables()
    rng, value, drawn = np.random.default_rng(1), 1.0, []
    for _ in range(N_DRAWS):
        value = h.draw_alpha(n_dk, value, rng) if name == "alpha" else h.draw_eta(n_kw, value, rng)
        drawn.append(value)
    lowest, highest = (0.1 / N_TOPICS, 1000 / N_TOPICS) if name == "alpha" else (1e-6, 1e3)
    grid = np.exp(np.linspace(math.log(lowest), math.log(highest), 3001))
    heights = [joint(g, 1.0) if name == "alpha" else joint(1.0, g) - g for g in grid]
    thinned = drawn[200::4]
    assert stats.kstest(thinned, cdf(grid, heights, jacobian=1)).pvalue > 1e-3
    assert stats.kstest(thinned, cdf(grid, heights, jacobian=0)).pvalue < 1e-3
    if name == "eta":
        without = [height + g for height, g in zip(heights, grid, strict=True)]
        assert stats.kstest(thinned, cdf(grid, without, jacobian=1)).pvalue < 1e-3


def cdf(grid: np.ndarray, heights: list[float], jacobian: int) -> Callable[[Any], Any]:
    """Return the distribution function of a log density on a grid even in logarithms."""
    logs = np.array(heights) + jacobian * np.log(grid)
    total = np.cumsum(np.exp(logs - logs.max()))
    return lambda x: np.interp(np.log(x), np.log(grid), total / total[-1])


@pytest.mark.parametrize("start", [1e-3, 900.0])
def test_without_a_token_the_total_of_alpha_is_uniform(start: float) -> None:
    """From 0.1 to 1000, from any start."""
    empty = np.zeros((4, 5), np.int32)
    rng, alpha, totals = np.random.default_rng(2), start / 5, []
    for _ in range(N_DRAWS):
        alpha = h.draw_alpha(empty, alpha, rng)
        totals.append(5 * alpha)
    assert min(totals) >= 0.1 and max(totals) <= 1000.0
    assert stats.kstest(totals[200::4], stats.uniform(0.1, 999.9).cdf).pvalue > 1e-3


@pytest.mark.parametrize("alphas", [[0.3, 1.0, 0.05], [20.0, 0.7, 3.0]])
def test_evidence_of_differing_alphas_is_the_joint_token_by_token(alphas: list[float]) -> None:
    n_dk, n_kw = tables()
    by_doc = h.log_evidence_of_columns(h.tallies_of_columns(n_dk), np.array(alphas))
    found = by_doc + h.log_evidence(h.tally(n_kw), 0.2)
    expected = log_joint(DOCS, TOPICS, N_TOPICS, CORPUS.n_words, alphas, 0.2)
    assert found == pytest.approx(expected, rel=1e-12)


def test_differing_alphas_follow_their_conditional(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kolmogorov-Smirnov of both of two alphas against a grid over the two, their sum below 4."""
    monkeypatch.setattr(h, "HIGHEST_TOTAL", 4.0)
    n_dk = np.array([[6, 0], [0, 4], [5, 1], [0, 2], [7, 0], [1, 1], [0, 0]], np.int32)
    rng, alphas, drawn = np.random.default_rng(4), np.ones(2), []
    for _ in range(N_DRAWS):
        alphas = h.draw_alphas(n_dk, alphas, rng)
        drawn.append(alphas)
    grid = np.exp(np.linspace(math.log(1e-3), math.log(4.0), 120))
    columns = h.tallies_of_columns(n_dk)
    pairs = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    logs = np.apply_along_axis(lambda pair: h.log_evidence_of_columns(columns, pair), 2, pairs)
    total = grid[:, None] + grid
    inside = (total > 0.1) & (total < 4.0)
    weights = np.exp(logs - logs.max()) * inside * np.outer(grid, grid)
    for axis in range(2):
        thinned = np.array(drawn)[200::8, axis]
        for prior, agrees in ((1 / total, True), (1.0, False)):
            mass = np.cumsum((weights * prior).sum(axis=1 - axis))
            found = stats.kstest(thinned, lambda x, m=mass: np.interp(x, grid, m / m[-1]))
            assert (found.pvalue > 1e-3) == agrees


@pytest.mark.slow
def test_without_a_token_differing_alphas_have_uniform_total_and_shares() -> None:
    empty = np.zeros((4, 3), np.int32)
    rng, alphas, drawn = np.random.default_rng(3), np.full(3, 0.2), []
    for _ in range(2 * N_DRAWS):
        alphas = h.draw_alphas(empty, alphas, rng)
        drawn.append(alphas)
    thinned = np.array(drawn)[400::20]
    totals = thinned.sum(axis=1)
    assert totals.min() >= 0.1 and totals.max() <= 1000.0
    assert stats.kstest(totals, stats.uniform(0.1, 999.9).cdf).pvalue > 1e-3
    for share in (thinned / totals[:, None]).T:
        assert stats.kstest(share, stats.beta(1, 2).cdf).pvalue > 1e-3


def test_a_start_beyond_the_prior_comes_back() -> None:
    n_dk, _ = tables()
    assert 0.1 / 3 <= h.draw_alpha(n_dk, 1e6, np.random.default_rng(0)) <= 1000 / 3
