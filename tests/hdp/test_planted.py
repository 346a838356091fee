"""Planted topics are found, and predictions come near those of the truth.

Source: theory/hdp 11.8, 11.9.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import BACKENDS, VARIATIONAL, Planted, begin, perplexity, planted, word_chances
from stepping import advance, at, settings_of

from hiertopics.base.arrays import F64
from hiertopics.families.hdp import gibbs
from hiertopics.families.hdp.variational import pcvb0

ITERATIONS = {gibbs: 60}
CHECKS = 4


@pytest.fixture(scope="module")
def text() -> Planted:
    """Return 1000 documents of 160 words from 15 topics on 800 words."""
    weights = np.random.default_rng(3).dirichlet(np.full(15, 2.0))
    return planted(101, 1000, 800, 15, 160, eta=0.05, theta_prior=weights)


class Curve(NamedTuple):
    """Held-out perplexities along a fit, and its topics at the end."""

    perplexities: list[float]
    phi: F64


def follow(backend: Any, text: Planted, iterations: int, checks: int, **keys: Any) -> Curve:
    """Fit in float32, scoring ``checks`` times."""
    settings = settings_of(backend, **keys)
    state, data = begin(backend, text.train, settings, dtype=np.float32)
    stride, perplexities = iterations // checks, []
    for start in range(0, stride * checks, stride):
        state = advance(backend, state, data, settings, stride, start=start)
        chances = word_chances(backend, state, data, settings)
        perplexities.append(perplexity(chances, text.heldout))
    return Curve(perplexities, backend.summarise(state, data, settings, at(0)).tree.phi)


def cosines_of_best_matches(truth: F64, found: F64) -> F64:
    """Match topics greedily by Hellinger affinity; return the cosine of each true topic's match."""
    affinity = np.sqrt(truth) @ np.sqrt(found).T
    cosine = (truth @ found.T) / np.outer(*(np.linalg.norm(x, axis=1) for x in (truth, found)))
    matched = np.zeros(len(truth))
    for _ in range(len(truth)):
        one, other = np.unravel_index(affinity.argmax(), affinity.shape)
        matched[one] = cosine[one, other]
        affinity[one], affinity[:, other] = -1.0, -1.0
    return matched


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_planted_topics_are_found(backend: Any, text: Planted) -> None:
    """11.8: nine in ten topics with more than 2% of the tokens are matched at cosine > 0.9, and
    perplexity comes within 15% of that of the true parameters.
    """
    curve = follow(backend, text, ITERATIONS.get(backend, 40), CHECKS, truncation=30)
    common = text.theta.mean(axis=0) > 0.02
    matched = cosines_of_best_matches(text.phi, curve.phi)[common] > 0.9
    assert matched.mean() >= 0.9
    assert text.best_perplexity < min(curve.perplexities) < 1.15 * text.best_perplexity
    assert max(curve.perplexities) < 0.5 * text.unigram_perplexity


@pytest.mark.slow
@pytest.mark.parametrize("backend", VARIATIONAL)
def test_twenty_iterations_gain_a_third(backend: Any, text: Planted) -> None:
    """11.9: perplexity at iteration 20 is below that at iteration 1 by more than 30%."""
    first, *_, last = follow(backend, text, 20, 20, truncation=30).perplexities
    assert last < 0.7 * first


@pytest.mark.slow
def test_methods_agree_where_the_truncation_is_large(text: Planted) -> None:
    """Three methods for one model, four times as many topics as planted: within 3%."""
    scores = [follow(backend, text, 60, 1, truncation=60).perplexities[0] for backend in BACKENDS]
    assert max(scores) < 1.03 * min(scores)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("truncation", [60, 100])
def test_hold_keeps_many_topics_from_melting(seed: int, truncation: int) -> None:
    """3.6: with 40 topics in short documents, concentrations learned while q is still diffuse
    leave every topic alike, no better than word frequencies; held at first, they do not.
    """
    text = planted(seed, 300, 600, 40, 100, eta=0.05, theta_prior=0.1)
    at_once, held = (
        follow(pcvb0, text, 40, 1, truncation=truncation, hyper_start=start).perplexities[0]
        for start in (0, 15)
    )
    assert held < 0.8 * text.unigram_perplexity
    assert at_once > 1.2 * held
