"""What counts say of the next token, and their chance (theory/nhdp 2)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from naive_nhdp import T5
from nhdp_cases import mixing_of, naive_of, random_mixing
from scipy.special import gammaln

from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing, below, even

COUNTS = np.array([2.0, 1.0, 0.0, 3.0, 1.0])


def test_the_next_token_of_the_tiny_tree() -> None:
    """T1."""
    found = mixing_of(T5).weights(np.array([COUNTS, np.zeros(5)]))
    expected = [
        [0.277778, 0.176910, 0.044068, 0.373149, 0.128096],
        [0.25, 0.189474, 0.3, 0.182368, 0.078158],
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_the_chance_of_the_tiny_trees_counts() -> None:
    """T1."""
    assert mixing_of(T5).log_chance(COUNTS[None]) == pytest.approx(-13.084572, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_chance_is_that_of_tokens_one_after_another(seed: int) -> None:
    """T2: in whatever order they come, each by the mixture that those before it make."""
    rng = np.random.default_rng(seed)
    mixing = random_mixing(rng, int(rng.integers(3, 12)))
    n_nodes = mixing.shape.n_nodes
    z = rng.integers(0, n_nodes, 12)
    n, total = np.zeros(n_nodes), 0.0
    for node in z:
        total += float(np.log(mixing.weights(n[None])[0, node]))
        n[node] += 1
    assert mixing.log_chance(n[None]) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_mixtures_sum_to_one_and_equal_their_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = random_mixing(rng, int(rng.integers(2, 15)))
    n = rng.gamma(0.5, 2.0, (4, mixing.shape.n_nodes))
    found, slow = mixing.weights(n), naive_of(mixing)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found == pytest.approx(
        np.array([slow.theta(row, slow.at_or_below(row)) for row in n]), abs=1e-12
    )
    assert mixing.log_chance(n) == pytest.approx(sum(map(slow.log_chance, n)), abs=1e-9)


def flat_case(rng: np.random.Generator, n_nodes: int) -> tuple[Mixing, np.ndarray]:
    """Return a tree that is a Dirichlet in disguise, and the masses of its nodes."""
    shape = random_mixing(rng, n_nodes).shape
    alpha = rng.gamma(1.0, 0.5, n_nodes)
    total = below(shape, alpha)
    rest = np.where(shape.n_children > 0, total - alpha, 0.0)
    share = np.ones(n_nodes)
    share[1:] = total[1:] / rest[shape.parent[1:]]
    stop_a = np.where(shape.n_children > 0, alpha, 1.0)
    return Mixing(shape, share, rest, stop_a, rest), alpha


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_contains_flat_topics(seed: int) -> None:
    """T2: with the right masses mixtures and chances are those of one Dirichlet."""
    rng = np.random.default_rng(seed)
    mixing, alpha = flat_case(rng, int(rng.integers(2, 12)))
    n = rng.integers(0, 5, (3, len(alpha))).astype(float)
    flat = (n + alpha) / (n.sum(axis=1, keepdims=True) + alpha.sum())
    assert mixing.weights(n) == pytest.approx(flat, abs=1e-12)
    chance = (gammaln(alpha + n) - gammaln(alpha)).sum()
    chance -= (gammaln(alpha.sum() + n.sum(axis=1)) - gammaln(alpha.sum())).sum()
    assert mixing.log_chance(n) == pytest.approx(chance, abs=1e-9)


def test_small_concentrations_send_all_tokens_of_a_document_to_one_child() -> None:
    shape = shape_of(np.array([-1, 0, 0, 0]))
    mixing = even(shape, 1e-9, 1.0, 1.0)
    theta = mixing.weights(np.array([[1.0, 0.0, 2.0, 0.0]]))[0]
    assert theta[2] / theta[1:].sum() == pytest.approx(1, abs=1e-8)


def test_chances_of_all_assignments_sum_to_one() -> None:
    mixing = mixing_of(T5)
    total = sum(
        np.exp(mixing.log_chance(np.bincount(z, minlength=5)[None].astype(float)))
        for z in itertools.product(range(5), repeat=4)
    )
    assert total == pytest.approx(1, abs=1e-12)


def test_leaves_that_might_not_stop_would_be_seen() -> None:
    """Wrong variant c: mixtures then do not sum to one."""
    for wrong in ("leaves stop by a quarter", "leaves stop by counts"):
        tree = replace(T5, wrong=wrong)
        assert tree.theta(COUNTS, tree.at_or_below(COUNTS)).sum() < 0.9
