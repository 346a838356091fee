"""Predictive distributions by their formula, and against enumerated ones (theory/hdp 7.1, 11.7)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import BACKENDS, VARIATIONAL, begin, fitted, random_corpus, word_chances
from naive import posterior, predictive
from stepping import advance, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.families.hdp.variational import cvb0

PI = np.array([0.6, 0.3, 0.1])
ALPHA, ETA = 1.0, 0.5


class Tiny(NamedTuple):
    """Counts of two documents of four tokens over four words, and their exact p(v | d)."""

    counts: I64
    chances: F64


@pytest.fixture(scope="module")
def tiny_corpora() -> list[Tiny]:
    """Return 20 corpora from the model itself."""
    rng = np.random.default_rng(31)
    corpora = []
    for _ in range(20):
        phi = rng.dirichlet(np.full(4, ETA), 3)
        theta = rng.dirichlet(ALPHA * PI, 2)
        counts = np.array([rng.multinomial(4, row) for row in theta @ phi])
        docs, word_prior = docs_of(corpus_of(counts)), np.full(4, ETA)
        exact = posterior(docs, ALPHA, word_prior, [(1.0, PI)])
        corpora.append(Tiny(counts, predictive(exact, docs, ALPHA * PI, word_prior)))
    return corpora


def total_variation(some: F64, other: F64 | float) -> float:
    """Return the mean over documents."""
    return float(np.abs(some - other).sum(axis=1).mean() / 2)


@pytest.mark.slow
@pytest.mark.parametrize("backend", VARIATIONAL)
def test_prediction_is_near_the_exact_one(backend: Any, tiny_corpora: list[Tiny]) -> None:
    """11.7: with pi fixed, the mean total variation over 20 corpora is below 0.06."""
    settings = settings_of(backend, truncation=3, alpha=ALPHA, eta=ETA, hyper_start=10**6)
    distances = []
    for seed, tiny in enumerate(tiny_corpora):
        state, data = begin(backend, corpus_of(tiny.counts), settings, seed=seed)
        state.pi[:] = PI
        if backend is cvb0:
            state.pi_geo[:] = PI
        state = advance(backend, state, data, settings, 300)
        found = word_chances(backend, state, data, settings)
        distances.append(total_variation(found, tiny.chances))
    assert np.mean(distances) < 0.06
    assert np.mean(distances) < 0.5 * np.mean([total_variation(c, 0.25) for _, c in tiny_corpora])


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_prediction_is_the_product_of_two_smoothed_shares(backend: Any, prior: str) -> None:
    """37: (alpha pi_k + n_dk) / (alpha + n_d) times (b tau_v + n_kv) / (b + n_k), summed over k."""
    counts = random_corpus(32, n_docs=10, n_words=12, largest=6).counts.toarray()
    counts[4] = 0  # a document without a token is predicted by the weights alone
    keys: dict[str, Any] = {"truncation": 4, "hyper_start": 2, "prior": prior}
    state, data, settings = fitted(backend, corpus_of(counts), 5, **keys)
    assert state.n_k.min() >= 1  # topics below one token would share a row of the summary
    expected = np.zeros(counts.shape)
    for doc, length in enumerate(counts.sum(axis=1)):
        for topic in range(4):
            weight = state.alpha * state.pi[topic] + state.n_dk[doc, topic]
            words = state.word_mass * state.tau + state.n_wk[:, topic]
            size = state.word_mass + state.n_k[topic]
            expected[doc] += weight / (state.alpha + length) * words / size
    found = word_chances(backend, state, data, settings)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
