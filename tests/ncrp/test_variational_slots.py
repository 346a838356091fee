"""Path slots: their masses, their series, their sticks (theory/ncrp 2, T1, T2)."""

from __future__ import annotations

import naive_variational as naive
import numpy as np
import pytest
from scipy.special import digamma, logsumexp
from variational_cases import TREE

from hiertopics.families.nested import slots
from hiertopics.families.nested.slots import NodeSticks

DEEP = (-1, 0, 0, 1, 1, 2, 3, 5, 5, 6)
TREES = [pytest.param(TREE, 3, id="depth 3"), pytest.param(DEEP, 5, id="depth 5")]


def random_sticks(n_nodes: int, seed: int = 0) -> NodeSticks:
    rng = np.random.default_rng(seed)
    return NodeSticks(rng.gamma(2.0, 1.0, n_nodes) + 0.1, rng.gamma(2.0, 1.0, n_nodes) + 0.1)


def nodes_of(parent: tuple[int, ...], depth: int) -> slots.SlotNodes:
    return slots.nodes_of(np.array(parent, dtype=np.int32), depth)


@pytest.mark.parametrize(("parent", "depth"), TREES)
def test_mean_masses_of_slots_sum_to_one(parent: tuple[int, ...], depth: int) -> None:
    nodes = nodes_of(parent, depth)
    assert slots.mean_masses(nodes, random_sticks(len(parent))).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("gamma", "value"), [(0.5, 0.6260706), (1.0, 1 / (np.e - 1)), (2.5, 0.5651075)]
)
def test_the_series_of_a_level_has_its_reference_value(gamma: float, value: float) -> None:
    assert np.exp(slots.log_series(gamma)) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.5])
def test_slots_equal_the_sum_over_explicit_paths(gamma: float) -> None:
    """T2: against logsumexp over K prior children per node; the error falls as it must."""
    sticks = random_sticks(len(TREE), 1)
    closed = slots.log_masses(nodes_of(TREE, 3), sticks, gamma)
    errors = []
    for n_extra in (5, 20, 60, 150):
        explicit = _explicit_masses(sticks, gamma, n_extra)
        errors.append(np.abs(explicit - closed).max())
        left = 1 - (1 - np.exp(-n_extra / gamma)) ** 2
        assert errors[-1] == pytest.approx(-np.log1p(-left), rel=1e-6, abs=1e-11)
    assert errors[0] > errors[1] > errors[2] - 1e-12 and errors[2] < 1e-10


def _explicit_masses(sticks: NodeSticks, gamma: float, n_extra: int) -> np.ndarray:
    take = digamma(sticks.a) - digamma(sticks.a + sticks.b)
    skip = digamma(sticks.b) - digamma(sticks.a + sticks.b)
    new_take = digamma(1.0) - digamma(1 + gamma)
    new_skip = digamma(gamma) - digamma(1 + gamma)
    tail = new_take + new_skip * np.arange(n_extra)
    before = np.zeros(len(TREE))
    own = np.zeros(len(TREE))
    for node in range(1, len(TREE)):
        above = TREE[node]
        own[node] = own[above] + before[above] + take[node]
        before[above] += skip[node]
    found = own.copy()
    for node in range(4):  # the inner nodes: two levels below the root, one below the others
        beyond = own[node] + before[node] + tail
        found[node] = logsumexp(beyond if node else beyond[:, None] + tail[None, :])
    return found


@pytest.mark.parametrize(("parent", "depth"), TREES)
def test_log_masses_equal_the_naive_ones(parent: tuple[int, ...], depth: int) -> None:
    sticks = random_sticks(len(parent), 2)
    counts = np.ones((2, 3))
    q = naive.random_q(np.random.default_rng(0), parent, counts, np.ones(depth), structured=True)
    q = naive.replace(q, a=sticks.a, b=sticks.b, gamma=1.7)
    closed = slots.log_masses(nodes_of(parent, depth), sticks, 1.7)
    assert closed == pytest.approx(naive.log_masses(q), abs=1e-12)


@pytest.mark.parametrize(("parent", "depth"), TREES)
def test_sticks_equal_the_naive_ones(parent: tuple[int, ...], depth: int) -> None:
    rng = np.random.default_rng(3)
    q = naive.random_q(rng, parent, np.ones((4, 3)), np.ones(depth), 1.3, structured=True)
    expected = naive.update_sticks(q)
    found = slots.fit_sticks(nodes_of(parent, depth), q.chances.sum(axis=0), 1.3)
    assert found.a[1:] == pytest.approx(expected.a[1:], abs=1e-12)
    assert found.b[1:] == pytest.approx(expected.b[1:], abs=1e-12)


def test_nodes_are_put_in_order_level_by_level_with_siblings_together() -> None:
    parent = np.array([2, 2, -1, 0, 1, 0, 1])
    rank = np.array([5, 1, 0, 4, 3, 2, 9])
    order = slots.in_order(parent, rank)
    assert order.tolist() == [2, 1, 0, 4, 6, 5, 3]
    assert slots.renumbered(parent, order).tolist() == [-1, 0, 0, 1, 1, 2, 2]


def test_paths_bounds_and_levels_describe_the_tree() -> None:
    nodes = nodes_of(TREE, 3)
    assert nodes.bounds.tolist() == [0, 1, 4, 7]
    assert nodes.level.tolist() == [0, 1, 1, 1, 2, 2, 2]
    assert nodes.path.tolist() == [
        [0, -1, -1], [0, 1, -1], [0, 2, -1], [0, 3, -1], [0, 1, 4], [0, 1, 5], [0, 3, 6]
    ]  # fmt: skip
    assert nodes.leaves == range(4, 7)
