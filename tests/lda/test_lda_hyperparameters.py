"""Draws of alpha and eta given the topics: against quadrature of the naive joint."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lda.lda_cases import docs_of, log_joint, varied_corpus
from scipy import stats

from hiertopics.backends.lda import hyperparameters as h

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


def cdf(grid: np.ndarray, heights: list[float], jacobian: int):
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


def test_a_start_beyond_the_prior_comes_back() -> None:
    n_dk, _ = tables()
    assert 0.1 / 3 <= h.draw_alpha(n_dk, 1e6, np.random.default_rng(0)) <= 1000 / 3
