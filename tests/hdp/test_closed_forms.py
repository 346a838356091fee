"""Sticks and hyperparameters against the bound that they maximise (theory/hdp 11.4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import pairs_of, random_corpus
from naive import (
    Pairs,
    Point,
    fit_sticks,
    mean_weights,
    seen,
    surrogate,
)

from hiertopics.base.arrays import F64, I64
from hiertopics.families.flat import sticks
from hiertopics.families.flat.concentrations import HIGHEST, LOWEST, step_concentration
from hiertopics.families.hdp.point_estimates import word_shape

SEEDS = range(4)
N_DOCS, N_WORDS, N_TOPICS = 9, 12, 5


class Fit(NamedTuple):
    """A random q(z) of a corpus and what the closed forms need of it."""

    pairs: Pairs
    q: F64
    lengths: I64
    n_k: F64
    doc_tables: F64
    word_tables: F64
    point: Point

    def bound(self, **changes: Any) -> float:
        """Return the surrogate with some of the point's parameters changed."""
        return surrogate(self.pairs, self.q, self.point._replace(**changes), N_DOCS, N_WORDS)


def random_fit(seed: int) -> Fit:
    rng = np.random.default_rng(seed)
    corpus = random_corpus(seed, N_DOCS, N_WORDS, largest=5)
    pairs = pairs_of(corpus)
    q = rng.dirichlet(np.full(N_TOPICS, 0.3), corpus.n_pairs)
    doc_tables = seen(pairs, q, pairs.doc, N_DOCS).sum(axis=0)
    word_tables = seen(pairs, q, pairs.word, N_WORDS).sum(axis=1)
    gamma = rng.gamma(2.0)
    point = Point(
        alpha=rng.gamma(2.0),
        gamma=gamma,
        word_mass=rng.gamma(2.0),
        tau=rng.dirichlet(np.ones(N_WORDS)),
        **sticks.fit_sticks(doc_tables, gamma, reorder=False)._asdict(),
    )
    n_k = (pairs.count[:, None] * q).sum(axis=0)
    return Fit(pairs, q, corpus.doc_lengths, n_k, doc_tables, word_tables, point)


def slope(function: Callable[[float], float], x: float) -> float:
    """Return d function / d log x by central differences."""
    return (function(x * np.exp(1e-5)) - function(x * np.exp(-1e-5))) / 2e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_sticks_beat_every_perturbation(seed: int) -> None:
    """11.4: (a, b) maximise the bound given q(z)."""
    fit = random_fit(seed)
    rng = np.random.default_rng(seed)
    best = fit.bound()
    for size in np.repeat([1e-3, 0.1], 10):
        a, b = (values * np.exp(size * rng.normal(size=4)) for values in (fit.point.a, fit.point.b))
        assert fit.bound(a=a, b=b) < best


@pytest.mark.parametrize("seed", SEEDS)
def test_gamma_is_stationary(seed: int) -> None:
    """11.4: the bound's derivative by gamma is zero at the closed form."""
    fit = random_fit(seed)
    gamma = sticks.best_gamma(sticks.Sticks(fit.point.order, fit.point.a, fit.point.b))
    assert slope(lambda value: fit.bound(gamma=value), gamma) == pytest.approx(0.0, abs=1e-6)
    assert fit.bound(gamma=gamma) > fit.bound(gamma=1.1 * gamma)


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_climbs_to_a_stationary_point(seed: int) -> None:
    """11.4: no step lowers the bound; after 200 its derivative is zero."""
    fit = random_fit(seed)
    lengths, n_with = np.unique(fit.lengths, return_counts=True)
    alpha = fit.point.alpha
    for _ in range(200):
        stepped = step_concentration(alpha, fit.doc_tables.sum(), lengths, n_with)
        assert fit.bound(alpha=stepped) >= fit.bound(alpha=alpha) - 1e-10
        alpha = stepped
    assert slope(lambda value: fit.bound(alpha=value), alpha) == pytest.approx(0.0, abs=1e-6)
    assert alpha != pytest.approx(fit.point.alpha, rel=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
def test_word_mass_climbs_to_a_stationary_point(seed: int) -> None:
    """11.4: likewise for eta, with E[n_k] in the place of n_k."""
    fit = random_fit(seed)
    mass = fit.point.word_mass
    for _ in range(400):
        stepped = step_concentration(mass, fit.word_tables.sum(), fit.n_k)
        assert fit.bound(word_mass=stepped) >= fit.bound(word_mass=mass) - 1e-10
        mass = stepped
    assert slope(lambda value: fit.bound(word_mass=value), mass) == pytest.approx(0.0, abs=1e-6)
    assert mass != pytest.approx(fit.point.word_mass, rel=1e-2)


@pytest.mark.parametrize("seed", SEEDS)
def test_word_shape_maximises_the_smoothed_bound(seed: int) -> None:
    """3.4: tau is the maximum under a Dir(1 + 0.1) prior; words without a token keep a share."""
    fit = random_fit(seed)
    rng = np.random.default_rng(seed)
    tau = word_shape(fit.word_tables)
    assert tau.sum() == pytest.approx(1.0)

    def smoothed(shape: F64) -> float:
        return fit.bound(tau=shape) + 0.1 * float(np.log(shape).sum())

    for size in np.repeat([1e-3, 0.1], 10):
        other = tau * np.exp(size * rng.normal(size=N_WORDS))
        assert smoothed(other / other.sum()) < smoothed(tau)
    assert np.all(word_shape(np.array([3.0, 0.0])) > 0)


def test_concentrations_stay_within_their_limits() -> None:
    """4.1: a step is clamped, and without tokens there is nothing to learn."""
    sizes = np.array([4.0])
    assert step_concentration(1.0, 1e30, sizes) == HIGHEST
    assert step_concentration(1.0, 0.0, sizes) == LOWEST
    assert step_concentration(0.7, 3.0, np.zeros(2)) == 0.7
    assert step_concentration(0.7, 0.0, np.zeros(0)) == 0.7


@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 20.0])
def test_sticks_equal_the_naive_ones(reorder: bool, gamma: float) -> None:
    """3.3: a, b and E[pi], scattered back to the topics' own places."""
    tables = np.array([0.3, 40.0, 0.0, 7.5, 7.5, 1e-9])
    order = [1, 3, 4, 0, 5, 2] if reorder else list(range(6))
    expected = fit_sticks([tables[k] for k in order], gamma)
    found = sticks.fit_sticks(tables, gamma, reorder=reorder)
    assert found.order.tolist() == order
    np.testing.assert_allclose(np.transpose([found.a, found.b]), expected, rtol=1e-12)
    weights = sticks.mean_weights(found)
    np.testing.assert_allclose(weights[order], mean_weights(expected), rtol=1e-12)
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("reorder", [True, False])
def test_geometric_weights_are_those_of_the_stick_posterior(reorder: bool) -> None:
    """5.2: exp(E[log pi]), against a Monte Carlo mean of log pi."""
    tables = np.array([2.0, 5.0, 0.5, 1.0])
    found = sticks.fit_sticks(tables, 1.3, reorder=reorder)
    rng = np.random.default_rng(0)
    fractions = rng.beta(found.a, found.b, (200_000, 3))
    log_pi = np.log([sticks.weights_from_fractions(row) for row in fractions[:20_000]])
    expected = np.exp(log_pi.mean(axis=0))
    weights = sticks.geometric_weights(found)
    np.testing.assert_allclose(weights[found.order], expected, rtol=0.05)
    e_log_rest = np.log1p(-fractions).mean(axis=0)
    np.testing.assert_allclose(found.e_log_rest, e_log_rest, rtol=0.02)
    assert np.all(weights < sticks.mean_weights(found))


def test_weights_from_fractions() -> None:
    found = sticks.weights_from_fractions(np.array([0.5, 0.25, 1.0]))
    np.testing.assert_allclose(found, [0.5, 0.125, 0.375, 0.0])
    assert sticks.weights_from_fractions(np.zeros(0)).tolist() == [1.0]


def stick_bound(along: F64, gamma: float) -> float:
    """Return the part of the bound that depends on the order of the sticks, at its maximum."""
    found = sticks.fit_sticks(along, gamma, reorder=False)
    point = Point(1.0, gamma, 1.0, np.ones(1), *found)
    return float(along @ point.e_log_pi) - point.stick_divergence


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0])
def test_decreasing_tables_are_the_best_order(seed: int, gamma: float) -> None:
    """4.2: for gamma <= 1, of all orders of the sticks."""
    tables = np.random.default_rng(seed).gamma(0.5, 5.0, N_TOPICS)
    found = sticks.fit_sticks(tables, gamma, reorder=True)
    orders = itertools.permutations(range(N_TOPICS))
    best = max(stick_bound(tables[list(order)], gamma) for order in orders)
    assert stick_bound(tables[found.order], gamma) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("gamma", [2.0, 5.0])
def test_no_exchange_is_better_where_the_last_sticks_are_empty(gamma: float) -> None:
    """4.2: with gamma above 1 decreasing order is best once the truncation is large enough."""
    rng = np.random.default_rng(0)
    tables = np.concatenate([rng.gamma(0.5, 50.0, 15), np.full(25, 1e-6)])
    along = tables[sticks.fit_sticks(tables, gamma, reorder=True).order]
    best = stick_bound(along, gamma)
    for one, other in itertools.combinations(range(len(along)), 2):
        exchanged = along.copy()
        exchanged[[one, other]] = along[[other, one]]
        assert stick_bound(exchanged, gamma) <= best + 1e-9
