"""The generative story run forwards has the moments of the model (theory/hdp 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import BACKENDS
from stepping import at, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Sizes
from hiertopics.families.hdp.variational import pcvb0

ALPHA, GAMMA, ETA = 3.0, 2.0, 0.4
SETTINGS = settings_of(pcvb0, alpha=ALPHA, gamma=GAMMA, eta=ETA, truncation=6)


def assert_mean(values: F64, expected: float) -> None:
    """Fail where the mean of independent values is over four standard errors off."""
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(expected, abs=4 * error)


def test_first_weights_are_beta_distributed() -> None:
    """v ~ Beta(1, gamma): means of pi_1, pi_1 squared and pi_2; the last one takes the rest."""
    contexts = (at(0, seed=seed) for seed in range(4000))
    pi = np.array([pcvb0.simulate(SETTINGS, Sizes(1, 2, 1), each)[1]["pi"] for each in contexts])
    assert_mean(pi[:, 0], 1 / 3)
    assert_mean(pi[:, 1], 2 / 3 / 3)
    assert_mean(pi[:, 0] ** 2, 2 / (3 * 4))
    assert_mean(pi[:, -1], (2 / 3) ** 5)
    np.testing.assert_allclose(pi.sum(axis=1), 1.0)


def test_documents_scatter_around_the_weights() -> None:
    """theta ~ Dir(alpha pi): mean pi, variance pi (1 - pi) / (alpha + 1)."""
    _, truth = pcvb0.simulate(SETTINGS, Sizes(20_000, 3, 1), at(0))
    for topic, share in enumerate(truth["pi"]):
        assert_mean(truth["theta"][:, topic], share)
        spread = (truth["theta"][:, topic] - share) ** 2
        assert_mean(spread, share * (1 - share) / (ALPHA + 1))


def test_topics_scatter_around_the_uniform_distribution() -> None:
    """phi ~ Dir(eta, ..., eta): E[phi^2] = (eta + 1) / (V (V eta + 1))."""
    settings = settings_of(pcvb0, eta=ETA, truncation=20_000)
    _, truth = pcvb0.simulate(settings, Sizes(1, 5, 1), at(0))
    assert_mean(truth["phi"][:, 2] ** 2, 1.4 / (5 * 3.0))


def test_counts_follow_theta_and_phi() -> None:
    """Every document has its length; a word's counts have the mean theta . phi."""
    corpus, truth = pcvb0.simulate(SETTINGS, Sizes(5000, 4, 30), at(0))
    assert set(corpus.doc_lengths) == {30}
    surplus = corpus.counts.toarray() - 30 * truth["theta"] @ truth["phi"]
    for word in range(4):
        assert_mean(surplus[:, word], 0.0)
        chance = (truth["theta"] @ truth["phi"])[:, word]
        assert_mean(surplus[:, word] ** 2 - 30 * chance * (1 - chance), 0.0)


def test_backends_tell_the_same_story() -> None:
    """One model, three methods: equal corpora from equal seeds."""
    backends: list[Any] = BACKENDS
    corpora = [
        backend.simulate(settings_of(backend, truncation=6), Sizes(9, 12, 20), at(0))[0]
        for backend in backends
    ]
    assert len({corpus.fingerprint for corpus in corpora}) == 1
