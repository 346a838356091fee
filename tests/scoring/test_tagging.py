"""Scores of tags by words: EM against an optimiser, the rule of one tag, edge cases.

Source: theory/chdp 6.3.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from hiertopics.papers.task_tagging import Tagger, mixture, padded, single, tag_scores

RNG = np.random.default_rng(2)
CHANCES = RNG.dirichlet(np.ones(6), 3)
COUNTS = np.array([3.0, 1, 0, 2, 5, 1])
PRIOR = np.array([0.5, 0.2, 0.3])


@pytest.mark.parametrize("strength", [0.5, 4.0])
def test_em_finds_the_most_probable_weights(strength: float) -> None:
    def loss(free: np.ndarray) -> float:
        weights = np.exp(free) / np.exp(free).sum()
        logs = COUNTS @ np.log(weights @ CHANCES) + strength * PRIOR @ np.log(weights)
        return -float(logs)

    best = minimize(loss, np.zeros(3), tol=1e-12).x
    expected = np.exp(best) / np.exp(best).sum()
    np.testing.assert_allclose(mixture(CHANCES, COUNTS, PRIOR, strength), expected, atol=2e-3)


def test_one_tag_is_told_by_likelihood_and_prior() -> None:
    for strength in (1.0, 3.0):
        weights = PRIOR * np.prod(CHANCES ** (COUNTS / strength), axis=1)
        found = single(CHANCES, COUNTS, PRIOR, strength)
        np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-12)


def test_documents_are_scored_by_their_words_and_empty_ones_by_the_prior() -> None:
    theta, phi = RNG.dirichlet(np.ones(4), 3), RNG.dirichlet(np.ones(6), 4)
    counts = sparse.csr_array(np.array([COUNTS.astype(int), np.zeros(6, dtype=int)]))
    tagger = Tagger(theta, phi, PRIOR)
    mixed, one = tag_scores(tagger, counts, [("mixture", 2.0), ("single", 2.0)])
    used = COUNTS > 0
    expected = mixture((theta @ phi)[:, used], COUNTS[used], PRIOR, 2.0)
    np.testing.assert_allclose(mixed[0], expected, rtol=1e-12)
    np.testing.assert_allclose(one[0], single((theta @ phi)[:, used], COUNTS[used], PRIOR, 2.0))
    assert (mixed[1] == PRIOR).all() and (one[1] == PRIOR).all()


def test_tags_that_nobody_had_come_last() -> None:
    assert padded(np.array([[0.4, 0.6]]), 4).tolist() == [[0.4, 0.6, -1, -1]]
