"""Shares and concentrations from expected tables (theory/nhdp 4)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from naive_nhdp import DOCUMENT, PHI, T5, Naive, expected_stops, expected_tables
from nhdp_cases import (
    mixing_of,
    naive_of,
    random_mixing,
    random_resp,
    resp_of,
    state_of,
    tiny_document,
)
from scipy import stats
from scipy.special import digamma, gammaln
from stepping import corpus_of

from hiertopics.contract.engine import Workers
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.hdp.table_kernels import SMALL, draw_growth
from hiertopics.families.nhdp import learning
from hiertopics.families.nhdp.learning import all_visits, visits_of
from hiertopics.families.nhdp.sweep_kernels import growth


def tiny_tables() -> Any:
    """Return what the tiny document's start adds up to."""
    start = PHI.T * T5.theta(np.zeros(5), np.zeros(5))
    data = tiny_document()
    state = state_of(mixing_of(T5), data, start / start.sum(axis=1, keepdims=True))
    return learning.gather(state, data)


@pytest.mark.slow
def test_one_step_from_the_tiny_documents_start() -> None:
    """T8."""
    sums = tiny_tables()
    assert sums.tables[1:] == pytest.approx([1.304370, 0.834518, 0.592846, 0.357602], abs=1e-6)
    mixing = learning.refitted(mixing_of(T5), sums, gamma=1.0)
    assert mixing.share[1:] == pytest.approx([0.574844, 0.425156, 0.560305, 0.439695], abs=1e-6)
    assert mixing.concentration[:2] == pytest.approx([1.056616, 0.717179], abs=1e-6)
    assert mixing.concentration[2:].tolist() == [0, 0, 0]


def test_shares_from_tokens_would_be_seen() -> None:
    """Wrong variant d: tokens in the place of tables."""
    start = PHI.T * T5.theta(np.zeros(5), np.zeros(5))
    n = DOCUMENT @ (start / start.sum(axis=1, keepdims=True))
    s = T5.at_or_below(n)
    wrong = [(s[i] + 0.5) / (s[[i, j]].sum() + 1) for i, j in ((1, 2), (3, 4))]
    assert wrong == pytest.approx([0.623572, 0.566834], abs=1e-6)
    sums = tiny_tables()
    found = learning.refitted(mixing_of(T5), sums, gamma=1.0).share[[1, 3]]
    assert np.abs(found - wrong).min() > 5e-3


def test_a_concentration_from_all_who_pass_would_be_seen() -> None:
    """Wrong variant e: s where those that went on belong."""
    start = PHI.T * T5.theta(np.zeros(5), np.zeros(5))
    r = start / start.sum(axis=1, keepdims=True)
    tables, _ = expected_tables(T5, r, DOCUMENT)
    u = np.array([T5.at_or_below(row) for row in r])
    wrong = []
    for node in (0, 1):
        seen = 1 - np.prod((1 - u[:, node]) ** DOCUMENT)
        size = max((DOCUMENT * u[:, node]).sum() / seen, 1)
        x = T5.concentration[node]
        rate = 1 + seen * (digamma(x + size) - digamma(x))
        wrong.append((1 + tables[T5.children(node)].sum()) / rate)
    assert wrong == pytest.approx([0.969192, 0.545798], abs=1e-6)
    sums = tiny_tables()
    found = learning.refitted(mixing_of(T5), sums, gamma=1.0).concentration[:2]
    assert np.abs(found - wrong).min() > 5e-2


@pytest.mark.parametrize("least", [0.0, 0.7])
@pytest.mark.parametrize("n_shards", [1, 3])
def test_tables_equal_their_formula_on_any_tree(n_shards: int, least: float) -> None:
    rng = np.random.default_rng(3)
    mixing = random_mixing(rng, 20)
    corpus = corpus_of(rng.poisson(1.0, (12, 15)))
    data = lay_out(corpus, n_shards, np.float64)
    r: Any = random_resp(rng, len(data.cells.word), 20)
    with Workers(2) as workers:
        state = state_of(mixing, data, r, workers, least)
        r = resp_of(state, data)
        sums = learning.gather(state, data)
    slow, tables, rates = naive_of(mixing), np.zeros(20), np.zeros(20)
    stops = np.zeros((3, 20))
    for doc in range(data.n_docs):
        mine = slice(data.cells.cuts[doc, 0], data.cells.cuts[doc, -1])
        if mine.start == mine.stop:
            continue
        of_doc = expected_tables(slow, r[mine], data.cells.tokens[mine].astype(float))
        tables, rates = tables + of_doc[0], rates + of_doc[1]
        stops += expected_stops(slow, r[mine], data.cells.tokens[mine].astype(float))
    assert sums.tables[1:] == pytest.approx(tables[1:], rel=1e-8)
    inner = mixing.shape.inner
    assert sums.growth[inner] == pytest.approx(rates[inner], rel=1e-8)
    found = np.array([sums.stops, sums.goes, sums.visits])
    assert found[:, inner] == pytest.approx(stops[:, inner], rel=1e-8)


@pytest.mark.parametrize("size", range(1, 13))
@pytest.mark.parametrize("x", [1e-6, 0.3, 1.0, 7.5])
def test_expected_tables_of_whole_counts(size: int, x: float) -> None:
    """T2: x (psi(x + s) - psi(x)), from the law of tables by unsigned Stirling numbers."""
    stirling = np.zeros((size + 1, size + 1))
    stirling[0, 0] = 1
    for n, k in itertools.product(range(1, size + 1), repeat=2):
        stirling[n, k] = stirling[n - 1, k - 1] + (n - 1) * stirling[n - 1, k]
    law = stirling[size] * x ** np.arange(size + 1)
    assert np.log(law.sum()) == pytest.approx(gammaln(x + size) - gammaln(x), abs=1e-9)
    mean = law @ np.arange(size + 1) / law.sum()
    assert x * growth(x, float(size), 1.0) == pytest.approx(mean, rel=1e-8)


def test_learned_shares_come_back_from_documents() -> None:
    """Whole counts of 300 documents under one node: near the shares they were drawn with."""
    rng = np.random.default_rng(0)
    share, concentration = np.array([0.6, 0.3, 0.1]), 2.0
    theta = rng.dirichlet(concentration * share, 300)
    n = np.array([rng.multinomial(20, row) for row in theta])
    tree = Naive((-1, 0, 0, 0), (1, *[1 / 3] * 3), (1.0, 0, 0, 0), (1e-9, 1, 1, 1), (1, 0, 0, 0))
    mixing = mixing_of(tree)
    data = lay_out(corpus_of(n), 1, np.float64)
    r = np.zeros((len(data.cells.word), 4))
    r[np.arange(len(r)), 1 + data.cells.word] = 1
    for _ in range(60):
        state = state_of(mixing, data, r)
        mixing = learning.refitted(mixing, learning.gather(state, data), 1.0)
    assert mixing.share[1:] == pytest.approx(share, abs=0.04)
    assert mixing.concentration[0] == pytest.approx(concentration, abs=0.5)


def test_learned_stop_weights_are_those_of_their_depth() -> None:
    rng = np.random.default_rng(1)
    mixing = random_mixing(rng, 20)
    data = lay_out(corpus_of(rng.poisson(1.0, (12, 15))), 1, np.float64)
    state = state_of(mixing, data, random_resp(rng, len(data.cells.word), 20))
    sums = learning.gather(state, data)
    found = learning.restopped(mixing, sums)
    depth, inner = mixing.shape.depth, mixing.shape.inner
    assert depth.max() >= 3
    for level in np.unique(depth[inner]):
        nodes = inner[depth[inner] == level]
        stops, goes, visits = (row[nodes].sum() for row in (sums.stops, sums.goes, sums.visits))
        assert found.stop_a[nodes] == pytest.approx((1 + stops) / (1 + visits))
        assert found.stop_b[nodes] == pytest.approx((1 + goes) / (1 + visits))
        assert stops != pytest.approx(goes, rel=1e-2)
    assert (found.stop_a[mixing.shape.leaves] == mixing.stop_a[mixing.shape.leaves]).all()


def test_documents_are_counted_by_their_tokens_at_and_below_each_node() -> None:
    """5.2: also where a count has no place in the histograms, at their edge among others."""
    n_dk = np.random.default_rng(0).poisson(0.4, (30, 9)).astype(np.int32)
    n_dk[3:6, 4] = 255, 256, 300
    n_dk[7] = 0
    mixing = random_mixing(np.random.default_rng(1), 9)
    shape, tree = mixing.shape, naive_of(mixing)
    passing = np.array([tree.at_or_below(row) for row in n_dk]).astype(int)
    found = visits_of(n_dk, shape)
    for name, counts in (("passing", passing), ("stopped", n_dk), ("gone", passing - n_dk)):
        histogram, large = getattr(found, name), found.large_of(name)
        for node in range(9):
            at = counts[(passing[:, node] > 0), node]
            if name != "passing" and shape.n_children[node] == 0:
                at = at[:0]
            small = at[at < SMALL]
            assert histogram[node].tolist() == np.bincount(small, minlength=SMALL).tolist()
            assert large[large[:, 0] == node, 1].tolist() == at[at >= SMALL].tolist()
    halves = all_visits([visits_of(half, shape) for half in (n_dk[:12], n_dk[12:])])
    for one, other in zip(found, halves, strict=True):
        assert sorted(one.tolist()) == sorted(other.tolist())


@pytest.mark.parametrize("x", [0.05, 0.7, 30.0])
def test_growth_is_that_of_beta_variables(x: float) -> None:
    """5.2: -log Beta(x, n) of whole n, of some at the edge of the histogram."""
    sizes, rng = np.array([1, 2, 2, 9, 255, 256, 300]), np.random.default_rng(2)
    histogram = np.zeros((2, SMALL), np.int64)
    np.add.at(histogram[1], sizes[sizes < SMALL], 1)
    histogram[0, 3] = 5
    large = np.array([(1, n) for n in sizes if n >= SMALL])
    drawn = np.array([draw_growth(histogram, large, np.array([0.0, x]), rng) for _ in range(4000)])
    assert not drawn[:, 0].any()
    right = -np.log(np.maximum(rng.beta(x, sizes, (4000, len(sizes))), 1e-300)).sum(axis=1)
    assert stats.ks_2samp(drawn[:, 1], right).pvalue > 1e-3


def test_nothing_grows_under_no_concentration() -> None:
    """As of leaves, whose documents may have many tokens there."""
    histogram = np.zeros((2, SMALL), np.int64)
    histogram[:, 3] = 5
    large = np.array([(0, SMALL + 40), (1, SMALL + 40)])
    found = draw_growth(histogram, large, np.array([0.0, 2.0]), np.random.default_rng(0))
    assert found[0] == 0.0 and 0.0 < found[1] < np.inf
