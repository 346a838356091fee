"""Single draws of the tree's moves against closed forms: sticks, the urn, what a datum founds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, softmax
from test_tssb_predictive import closed_form
from tree_cases import PRIOR

from hiertopics.base.arrays import F64, I32
from hiertopics.families.tssb import (
    binary,
    binary_kernels,
    stick_kernels,
    text_kernels,
    urn_kernels,
)
from hiertopics.families.tssb.binary_kernels import Diffusion, Family
from hiertopics.families.tssb.config import Model
from hiertopics.families.tssb.layout import Memo, StickNodes, make_nodes
from hiertopics.families.tssb.text_kernels import Dirichlet
from hiertopics.families.tssb.urn_kernels import NodeUrn

PARENT = np.array([-1, 0, 1, 1, 0, 4], np.int32)
HOME = np.array([0, 1, 1, 2, 3, 3, 3, 5, 5, 0], np.int32)
"""Two children of the root, the first with two of its own, the second with no datum at it."""

LAW = Dirichlet(2.5)
COUNTS = np.array([2, 0, 5], np.int32)
N_DRAWS = 4_000


def tree_of(parent: Any = PARENT, home: I32 = HOME) -> StickNodes:
    """Return a counted tree, its nodes' shares of three topics drawn at random."""
    nodes = make_nodes(64, 3)
    nodes.size[0] = len(parent)
    nodes.parent[: len(parent)] = parent
    for node in range(1, len(parent)):
        nodes.depth[node] = nodes.depth[nodes.parent[node]] + 1
    nodes.known[: len(parent)] = True
    nodes.value[: len(PARENT)] = np.log(np.random.default_rng(2).dirichlet(np.ones(3), len(PARENT)))
    stick_kernels.count(home, nodes)
    return nodes


def urn_of(nodes: StickNodes) -> NodeUrn:
    """Return the chances of all nodes, noted afresh."""
    alpha = np.array([PRIOR.alpha0 * PRIOR.decay**depth for depth in range(PRIOR.max_depth + 1)])
    urn = NodeUrn(np.empty(64), np.empty(64), np.empty(64), alpha)
    for node in range(int(nodes.size[0])):
        urn_kernels.note(node, nodes, PRIOR, urn)
    return urn


def no_memo() -> Memo:
    return Memo(np.empty((64, 3)), np.empty(64), np.zeros(64, np.bool_))


def assert_betas(draws: F64, a: NDArray[Any], b: NDArray[Any]) -> None:
    """Assert that columns of draws [n, k] have the means and spreads of Beta(a, b)."""
    mean = a / (a + b)
    variance = mean * (1 - mean) / (a + b + 1)
    assert abs((draws.mean(axis=0) - mean) / np.sqrt(variance / len(draws))).max() < 4.5
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.2)


def test_sticks_are_beta_draws_given_the_counts() -> None:
    """nu by who stops and who goes on, psi by who is below and below later siblings."""
    nodes, rng = tree_of(), np.random.default_rng(0)
    found = np.empty((N_DRAWS, 2, len(PARENT)))
    for row in found:
        stick_kernels.draw_sticks(nodes, PRIOR, rng, True)
        row[:] = np.exp(nodes.log_nu[: len(PARENT)]), np.exp(nodes.log_psi[: len(PARENT)])
    at, below = np.array([2, 2, 1, 3, 0, 2]), np.array([8, 4, 0, 0, 2, 0])
    alpha = PRIOR.alpha0 * PRIOR.decay ** np.array([0, 1, 2, 2, 1, 2])
    assert_betas(found[:, 0], 1.0 + at, alpha + below)
    later = np.array([2, 3, 0, 0, 0])
    assert_betas(found[:, 1, 1:], 1.0 + (at + below)[1:], PRIOR.gamma + later)


def test_shares_of_children_without_positions_are_dirichlet_draws() -> None:
    """Of children that stand anyhow: by the data below each, what is outside by gamma."""
    nodes, rng = tree_of(), np.random.default_rng(1)
    found = np.empty((N_DRAWS, 2))
    for row in found:
        stick_kernels.draw_sticks(nodes, PRIOR, rng, False)
        first, rest = np.exp(nodes.log_psi[1]), np.exp(nodes.log_psi_rest[1])
        row[:] = first, rest * np.exp(nodes.log_psi[4])
    total = 6 + 2 + PRIOR.gamma
    assert_betas(found, np.array([6.0, 2.0]), total - np.array([6.0, 2.0]))


def log_marginal(shares: F64) -> float:
    """Return the log chance of COUNTS at a new child of a node with these shares."""
    mass = LAW.kappa * shares
    total = gammaln(mass + COUNTS).sum() - gammaln(mass).sum()
    return float(total + math.lgamma(LAW.kappa) - math.lgamma(LAW.kappa + COUNTS.sum()))


@pytest.mark.slow
def test_the_urn_weighs_a_document_by_ratios_of_the_joint() -> None:
    """At each node, and at a new child of each with two data, whose shares are summed out."""
    nodes, n = tree_of(), len(PARENT)
    weight, scratch = np.empty((2, 64)), np.empty(64)
    urn_kernels.weigh_nodes(COUNTS, nodes, PRIOR, urn_of(nodes), LAW, no_memo(), scratch, weight)
    found, expected = weight[:, :n], np.full((2, n), -np.inf)
    for node in range(n):
        likelihood = COUNTS @ nodes.value[node]
        with_it = tree_of(home=np.append(HOME, np.int32(node)))
        expected[0, node] = closed_form(with_it) + likelihood
        if nodes.n_sub[node] >= urn_kernels.FAMILY:
            founded = tree_of(np.append(PARENT, node), np.append(HOME, np.int32(n)))
            marginal = log_marginal(np.exp(nodes.value[node]))
            expected[1, node] = closed_form(founded) + marginal
    assert softmax(found) == pytest.approx(softmax(expected), rel=1e-9)


def test_the_urn_keeps_counts_of_who_sits_where() -> None:
    nodes, home, rng = tree_of(), HOME.copy(), np.random.default_rng(3)
    features = rng.poisson(1.0, (len(home), 3)).astype(np.int32)
    moved = urn_kernels.resettle(features, home, nodes, PRIOR, LAW, rng)
    assert moved > 0
    again = tree_of(nodes.parent[: nodes.size[0]].copy(), home)
    np.testing.assert_array_equal(nodes.n_at, again.n_at)
    np.testing.assert_array_equal(nodes.n_sub, again.n_sub)


def test_a_founded_node_knows_its_document() -> None:
    """Its shares are drawn from Dirichlet(kappa theta_parent + n)."""
    nodes, rng, memo = tree_of(), np.random.default_rng(4), no_memo()
    draws = np.empty((N_DRAWS, 3))
    for row in draws:
        text_kernels.found_dirichlet(LAW, COUNTS, 1, 7, nodes, memo, rng)
        row[:] = np.exp(nodes.value[7])
    mass = LAW.kappa * np.exp(nodes.value[1]) + COUNTS
    assert_betas(draws, mass, mass.sum() - mass)


def newborn_chances(centre: F64, scale: F64) -> Any:
    """Return the mean of sigmoid, and that of theta times sigmoid, under normal laws."""
    grid = np.linspace(-12.0, 12.0, 24_001)[:, None]
    density = np.exp(-0.5 * ((grid - centre) / scale) ** 2)
    density /= density.sum(axis=0)
    sigmoid = 1.0 / (1.0 + np.exp(-grid))
    return (density * sigmoid).sum(axis=0), (density * sigmoid * grid).sum(axis=0)


def diffused() -> tuple[Diffusion, StickNodes, F64]:
    """Return a law, a root with three parameters, and the centres of its children's."""
    law = Diffusion(0.8, np.array([0.7, 1.5, 2.5]))
    nodes = make_nodes(64, 3, np.float32)
    nodes.size[0] = 1
    nodes.value[0] = [1.0, -2.0, 0.5]
    return law, nodes, 0.8 * np.array([1.0, -2.0, 0.5])


def test_a_newborn_child_has_the_mean_chances_of_its_law() -> None:
    """Its parameters are summed out, row by row, whatever the memo held before."""
    law, nodes, centre = diffused()
    chance, _ = newborn_chances(centre, law.scale)
    memo = no_memo()
    for row in ([0, 0, 0], [1, 0, 1], [1, 1, 1]):
        found = binary_kernels.marginal_diffusion(law, np.array(row, np.uint8), 0, nodes, memo)
        expected = np.where(row, np.log(chance), np.log1p(-chance)).sum()
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_founded_node_knows_its_row() -> None:
    """The mean of its parameters given a row of ones; what was known of its children is void."""
    law, nodes, centre = diffused()
    chance, weighted = newborn_chances(centre, law.scale)
    rng, memo = np.random.default_rng(5), no_memo()
    memo.ready[:] = True
    draws = np.empty((N_DRAWS, 3))
    ones = np.ones(3, np.uint8)
    for row in draws:
        binary_kernels.found_diffusion(law, ones, 0, 1, nodes, memo, rng)
        row[:] = nodes.value[1]
    error = draws.std(axis=0) / math.sqrt(N_DRAWS)
    assert abs((draws.mean(axis=0) - weighted / chance) / error).max() < 4.5
    assert not memo.ready[1] and memo.ready[0]


def test_children_are_scattered_by_the_root_of_the_variance() -> None:
    """The last value of the law is a step size, and no variance."""
    law = binary.law(np.array([0.25, 4.0, 0.1]), binary_model(persistence=0.7))
    assert (law.persistence, law.scale.tolist()) == (0.7, [0.5, 2.0])


@pytest.mark.parametrize("root_variance", [None, 1.0])
def test_variances_follow_their_posterior_given_the_steps(root_variance: float | None) -> None:
    """v^(-n/2) exp(-S / 2v) on the prior's range; the root's step counts where it has no other."""
    model = binary_model(variance=(0.01, 1.0), persistence=1.0, root_variance=root_variance)
    steps = np.array([0.9, 0.4, -0.5, 0.2])
    theta = np.tile(np.cumsum(steps)[:, None], N_DRAWS)
    up = np.array([-1, 0, 1, 2], np.int32)
    nothing = np.zeros(4)
    family = Family(up, nothing, np.zeros_like(theta), 1.0, np.ones(N_DRAWS), np.ones(N_DRAWS))
    variance, rng = np.full(N_DRAWS, 0.3), np.random.default_rng(8)
    for _ in range(40):
        binary.draw_law(theta, family, variance, model, rng)
    counted = steps if root_variance is None else steps[1:]
    grid = np.linspace(0.01, 1.0, 100_001)
    density = grid ** (-len(counted) / 2) * np.exp(-(counted**2).sum() / (2 * grid))
    density /= density.sum()
    mean = density @ grid
    error = np.sqrt((density @ (grid - mean) ** 2) / N_DRAWS)
    assert abs(variance.mean() - mean) < 4.5 * error


def binary_model(**keys: Any) -> Model:
    """Return the model of rows of 0 and 1 under some keys."""
    return Model(likelihood="binary", **keys)
