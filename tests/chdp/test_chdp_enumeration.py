"""The samplers against exact probabilities of five tokens (theory/chdp 8.1, 8.4, 8.5)."""

from __future__ import annotations

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, with_parents
from chdp_chains import PAIRS, Chances, exact_chances, irp_chances, step_chances
from naive import posterior, stick_nodes
from numpy.typing import ArrayLike

EXACT = {
    "superposition": [0.7990, 0.6538, 0.6233, 0.7291],
    "maximization": [0.7836, 0.6266, 0.6101, 0.7319],
}
"""Three topics, the prior integrated by four million draws; errors about 5e-4."""

MANY_TOPICS = {
    "superposition": [0.758, 0.602, 0.551, 0.686],
    "irp_max_plugin": [0.796, 0.636, 0.569, 0.688],
}
"""25 topics; the second row is what the published urn of maximization visits instead of
0.744, 0.577, 0.535 and 0.684."""


def assert_agree(found: Chances, expected: ArrayLike, error: float = 5e-4) -> None:
    """Fail where a chance is further off than four standard errors and the expected one's own."""
    assert found.error.max() < 0.004
    off = np.abs(found.mean - np.asarray(expected))
    assert (off < 4 * found.error + error).all(), (found, expected)


@pytest.fixture(scope="module")
def found() -> dict[str, Chances]:
    """Return what the exact sampler visits under each cooperation."""
    return {name: exact_chances(name, 3, 60_000) for name in COOPERATIONS}


@pytest.mark.slow
@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_tokens_share_topics_as_often_as_the_posterior_says(
    found: dict[str, Chances], cooperation: str
) -> None:
    assert_agree(found[cooperation], EXACT[cooperation])


@pytest.mark.slow
def test_the_cooperations_are_told_apart(found: dict[str, Chances]) -> None:
    """The test above would notice one taken for the other."""
    own = found["superposition"]
    assert (np.abs(own.mean - EXACT["maximization"]) > 6 * own.error).any()


@pytest.mark.nightly
def test_the_restaurant_of_superposition_visits_what_the_explicit_weights_do() -> None:
    assert_agree(irp_chances("superposition", 25, 80_000), MANY_TOPICS["superposition"], 3e-3)
    found = exact_chances("superposition", 25, 80_000, dense=True)
    assert_agree(found, MANY_TOPICS["superposition"], 3e-3)


@pytest.mark.slow
def test_the_published_urn_of_maximization_keeps_its_known_bias() -> None:
    found = irp_chances("maximization", 25, 80_000)
    assert_agree(found, MANY_TOPICS["irp_max_plugin"], 3e-3)
    assert (found.mean[:3] > np.array([0.744, 0.577, 0.535]) + 0.015).all()


@pytest.mark.slow
@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_a_step_does_what_the_chains_of_kernels_do(cooperation: str) -> None:
    """Few steps, but a step out of order or with stale weights would be further off."""
    found = step_chances(3000, truncation=3, cooperation=cooperation)
    off = np.abs(found.mean - EXACT[cooperation])
    assert (off < 4 * found.error).all() and found.error.max() < 0.02


@pytest.mark.slow
def test_one_author_who_follows_the_corpus_makes_it_a_plain_hdp() -> None:
    """8.1: against the enumerated posterior of the two-layer HDP."""
    corpus = with_parents([[2, 1, 0], [0, 1, 1]], [[0], [0]], 1)
    docs = [[0, 0, 1], [1, 2]]
    exact = posterior(docs, 2.0, np.full(3, 0.7), stick_nodes(3, 1.2, 6))
    z = np.indices((3,) * 5).reshape(5, -1)
    expected = [(exact.chances * (z[a] == z[b])).sum() for a, b in PAIRS]
    assert_agree(exact_chances("superposition", 3, 100_000, corpus, alpha_group=1e6), expected)


@pytest.mark.slow
def test_with_one_parent_each_the_cooperations_have_one_posterior() -> None:
    corpus = with_parents([[2, 1, 0], [0, 1, 1]], [[0], [1]], 2)
    one, other = (exact_chances(name, 3, 80_000, corpus) for name in COOPERATIONS)
    assert_agree(one, other.mean, 4 * other.error.max())


@pytest.mark.slow
def test_documents_without_parents_hang_from_the_corpus() -> None:
    """With no parent at all this is the two-layer HDP too, by either sampler of the weights."""
    corpus = with_parents([[2, 1, 0], [0, 1, 1]], [[], []], 1)
    exact = posterior([[0, 0, 1], [1, 2]], 2.0, np.full(3, 0.7), stick_nodes(3, 1.2, 6))
    z = np.indices((3,) * 5).reshape(5, -1)
    expected = [(exact.chances * (z[a] == z[b])).sum() for a, b in PAIRS]
    for cooperation in COOPERATIONS:
        assert_agree(exact_chances(cooperation, 3, 80_000, corpus, dense=True), expected)
