"""Tables and shares of the text model against enumeration (T6)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from text_cases import exact_shares, share_draws, stirling
from tree_cases import z_scores

from hiertopics.base.arrays import F64
from hiertopics.families.tssb.layout import make_nodes
from hiertopics.families.tssb.text_kernels import count_tables, draw_log_dirichlet, token_base

PARENTS = np.array([-1, 0, 1, 0], np.int32)
COUNTS = np.array([(1, 3), (4, 0), (0, 2), (2, 2)])


@pytest.mark.slow
def test_shares_agree_with_the_listing_of_all_tables() -> None:
    """T6: means of two shares in a chain of nodes and of their product, evidence, kappa = 1.7."""
    expected = exact_shares(1.7)
    assert expected[:3] == pytest.approx((1.829583e-5, 0.4488, 0.68070), rel=1e-4)
    rng = np.random.default_rng(0)
    found = share_draws(PARENTS, COUNTS, (1.7, 1.7), 60_000, make_nodes(64, 2), rng)
    assert np.abs(z_scores(found[:, 1:], np.array(expected[1:]))).max() < 4


@pytest.mark.slow
def test_kappa_agrees_with_the_listing_of_all_tables() -> None:
    """T6: the mean and the second moment of kappa under its uniform prior on (0.2, 6)."""
    rng = np.random.default_rng(0)
    found = share_draws(PARENTS, COUNTS, (0.2, 6.0), 60_000, make_nodes(64, 2), rng)[:, :1]
    moments = np.array([3.738, 1.456**2 + 3.738**2])
    assert np.abs(z_scores(np.hstack([found, found**2]), moments)).max() < 4


@pytest.mark.parametrize(
    ("n_tokens", "mass"), [(1, 0.3), (2, 0.3), (7, 2.5), (60, 0.8), (60, 40.0)]
)
def test_tables_follow_the_law_of_stirling_numbers(n_tokens: int, mass: float) -> None:
    """P(t) is |s(n, t)| mass^t Gamma(mass)/Gamma(mass + n)."""
    rng, n_draws = np.random.default_rng(4), 20_000
    drawn = np.array([count_tables(n_tokens, mass, rng) for _ in range(n_draws)])
    log_total = math.lgamma(mass) - math.lgamma(mass + n_tokens)
    chances = np.zeros(n_tokens + 1)
    for tables, ways in enumerate(stirling(n_tokens)):
        if ways:
            chances[tables] = math.exp(math.log(ways) + tables * math.log(mass) + log_total)
    assert chances.sum() == pytest.approx(1)
    expected = chances * n_draws
    pooled: list[list[float]] = [[0.0, 0.0]]
    for seen, wanted in zip(np.bincount(drawn, minlength=n_tokens + 1), expected, strict=True):
        pooled[-1][0] += seen
        pooled[-1][1] += wanted
        if pooled[-1][1] >= 20:
            pooled.append([0.0, 0.0])
    last = pooled.pop()
    pooled[-1][0] += last[0]
    pooled[-1][1] += last[1]
    observed, wanted_sums = np.array(pooled).T
    if len(pooled) > 1:
        assert (
            stats.chisquare(observed, wanted_sums * observed.sum() / wanted_sums.sum()).pvalue
            > 1e-4
        )
    else:
        assert (drawn == 1).all()


def test_nodes_of_one_document_alone_have_their_shares_summed_out() -> None:
    """A chain 0 - 1 - 2, a leaf 3 of the root with two documents and an empty leaf 4."""
    nodes, parents = make_nodes(64, 2), [-1, 0, 1, 0, 0]
    nodes.size[0] = 5
    nodes.parent[:5] = parents
    nodes.n_at[:5], nodes.n_sub[:5] = [1, 1, 1, 2, 0], [5, 2, 1, 2, 0]
    shares = np.random.default_rng(0).dirichlet([1.0, 1.0], 5)
    nodes.value[:5] = np.log(shares)
    base, alone = token_base(nodes, 3.5)
    assert alone.tolist() == [False, False, True, False, False]
    shares[2] = 3.5 * shares[1]
    assert base == pytest.approx(shares, rel=1e-6)


@pytest.mark.parametrize("mass", [1e-300, 1e-280, 1e-30])
def test_a_vanishing_mass_makes_one_table(mass: float) -> None:
    assert count_tables(5_000, mass, np.random.default_rng(0)) == 1


def test_no_share_is_ever_zero() -> None:
    value: F64 = np.empty(3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        draw_log_dirichlet(np.array([0.0, 1e-250, 2.0]), value, rng)
        assert np.isfinite(value).all()
        assert np.exp(value).sum() == pytest.approx(1)
