"""Which topic has which stick: redrawn by its exact law, everything else of a topic with it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hdp_cases import begin, fitted, planted, random_corpus
from nights import by_night
from scipy import integrate, stats
from stepping import at, corpus_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.families.flat import sticks
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.flat.token_kernels import count_tokens
from hiertopics.families.flat.tokens import renumber
from hiertopics.families.hdp import gibbs

WEIGHTS = np.array([0.08, 0.55, 0.25, 0.12])
ORDERS = list(itertools.permutations(range(4)))
CORPUS = random_corpus(17, n_docs=5, n_words=6, largest=3)
N_DRAWS = 40_000


def density(weights: F64, gamma: float) -> float:
    """Return p(pi): that of the sticks, times |dv / dpi| (no sticks of the package)."""
    found, rest = 1.0, 1.0
    for weight in weights[:-1].tolist():
        found *= gamma * (1 - weight / rest) ** (gamma - 1) / rest
        rest -= weight
    return found


def exact(gamma: float | None) -> F64:
    """Return the chance of each order; None: gamma ~ Exp(1) integrated by quadrature."""
    rows = [WEIGHTS[list(order)] for order in ORDERS]
    if gamma is None:
        chances = [
            integrate.quad(lambda g, row=row: math.exp(-g) * density(row, g), 0, 60)[0]
            for row in rows
        ]
    else:
        chances = [density(row, gamma) for row in rows]
    return np.array(chances) / sum(chances)


def distance(gamma: float | None, *, of: float | None) -> float:
    """Return the total variation of the orders visited under gamma from the law of another."""
    rng, order = np.random.default_rng(5), np.arange(4)
    drawn_by = CONCENTRATION_PRIOR if gamma is None else gamma
    visits = dict.fromkeys(ORDERS, 0)
    for _ in range(N_DRAWS):
        order = order[sticks.redraw_order(np.log(WEIGHTS[order]), drawn_by, rng)]
        visits[tuple(order.tolist())] += 1
    shares = np.array(list(visits.values())) / N_DRAWS
    return float(np.abs(shares - exact(of)).sum() / 2)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [None, 0.3, *by_night(1.0, 2.5)])
def test_orders_are_visited_as_often_as_their_law_says(gamma: float | None) -> None:
    assert distance(gamma, of=gamma) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "other"), [(None, 1.0), *by_night((0.3, 0.6), (2.5, 1.8))])
def test_the_law_of_another_gamma_is_told_apart(gamma: float | None, other: float) -> None:
    assert distance(gamma, of=other) > 0.04


def test_a_last_place_like_the_others_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order by size, which is that of infinitely many sticks, is not that of four."""
    by_size = lambda log_weight, *_: -log_weight  # noqa: E731
    monkeypatch.setattr(sticks, "_log_density_of_last", by_size)
    assert distance(2.5, of=2.5) > 0.1


def test_weights_of_any_size_have_an_order() -> None:
    """6.1: also where no float but a logarithm holds them."""
    rng = np.random.default_rng(0)
    for scale in (1e-9, 1.0, 50.0, 1e4, 1e8):
        for n_places in (1, 2, 30):
            log_rest = -scale * rng.standard_exponential(n_places - 1)
            log_weights = np.append(np.log(-np.expm1(log_rest)), 0.0)
            log_weights[1:] += log_rest.cumsum()
            for gamma in (CONCENTRATION_PRIOR, 1e-6, 1e3):
                order = sticks.redraw_order(log_weights, gamma, rng)
                assert sorted(order) == list(range(n_places))
    for odd in (-np.inf, np.nan):
        found = sticks.redraw_order(np.array([-1.0, odd, -2.0, -3.0]), 1.0, rng)
        assert found.tolist() == [0, 1, 2, 3]


def test_a_large_weight_behind_small_ones_comes_forward() -> None:
    log_weights = np.array([-1000.0, -2000.0, -900.0, 0.0, -3000.0])
    order = sticks.redraw_order(log_weights, CONCENTRATION_PRIOR, np.random.default_rng(1))
    assert order[:-2].tolist() == [3, 2, 0]


def test_tokens_go_with_their_topic() -> None:
    state, data = begin(gibbs, CORPUS, settings_of(gibbs, truncation=5))
    state.z[state.z == 2] = 0
    state.n_dk[:], state.n_wk[:] = 0, 0
    count_tokens(data.cells, state.z, state.n_dk, state.n_wk)
    state.n_k[:] = state.n_dk.sum(axis=0)
    z, n_dk, n_k = state.z.copy(), state.n_dk.copy(), state.n_k.copy()
    order = np.array([3, 0, 4, 1, 2])
    renumber(state, order)
    np.testing.assert_array_equal(order[state.z], z)
    np.testing.assert_array_equal(state.n_dk, n_dk[:, order])
    np.testing.assert_array_equal(state.n_k, n_k[order])
    again = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
    count_tokens(data.cells, state.z, *again)
    for found, expected in zip((state.n_dk, state.n_wk), again, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_only_the_prior_of_the_sticks_sees_the_order() -> None:
    """The joint but for log p(sticks) is as it was; sticks, weights and tables go together."""
    state, data, settings = fitted(gibbs, CORPUS, 5, truncation=5, hyper_start=0)
    moved = 0
    for turn in range(40):
        before = gibbs.objective(state, data, settings, at(0)) - log_sticks(state)
        by_topic = sorted(zip(state.pi, state.n_tables, state.n_k, strict=True))
        first = state.pi[0]
        gibbs._reorder(state, CONCENTRATION_PRIOR, np.random.default_rng(turn))
        moved += state.pi[0] != first
        after = gibbs.objective(state, data, settings, at(0)) - log_sticks(state)
        assert after == pytest.approx(before, rel=1e-12)
        assert sorted(zip(state.pi, state.n_tables, state.n_k, strict=True)) == by_topic
        weights = sticks.weights_from_fractions(-np.expm1(state.log_rest))
        np.testing.assert_allclose(state.pi, weights, rtol=1e-9)
    assert moved > 5


def log_sticks(state: Any) -> float:
    """Return log p(sticks), as fractions."""
    n_sticks = len(state.log_rest)
    return float(n_sticks * math.log(state.gamma) + (state.gamma - 1) * state.log_rest.sum())


@pytest.mark.slow
def test_gamma_and_the_order_are_drawn_together() -> None:
    """Without a token both stay what they are beforehand: gamma and -gamma log(1 - v) are Exp(1).

    The order is drawn with gamma integrated out, so that gamma has to come after it.
    """
    settings = settings_of(gibbs, truncation=4)
    state, data = begin(gibbs, corpus_of([[0, 0]]), settings)
    rng, drawn = np.random.default_rng(8), np.empty((6000, 4))
    for iteration, row in enumerate(drawn):
        state.gamma = rng.exponential()
        gibbs._draw_document_side(state, data, at(iteration), reorder=True)
        row[:] = state.gamma, *(-state.gamma * state.log_rest)
    for column in drawn.T:
        assert stats.kstest(column, "expon").pvalue > 1e-3


def largest_first(n_iterations: int, seed: int = 0, **keys: Any) -> float:
    """Return how often the largest topic has the first stick, all tokens at the last one before."""
    settings = settings_of(gibbs, truncation=6, hyper_start=0, **keys)
    state, data = begin(gibbs, planted(3, 30, 12, 2, 20, theta_prior=[4.0, 1.0]).train, settings)
    state.z[:] = 5
    state.n_dk[:], state.n_wk[:] = 0, 0
    count_tokens(data.cells, state.z, state.n_dk, state.n_wk)
    state.n_k[:] = state.n_dk.sum(axis=0)
    found = 0
    for iteration in range(1, n_iterations + 1):
        state, _ = gibbs.step(state, data, settings, at(iteration, seed=seed))
        found += int(state.pi.argmax() == 0)
    return found / n_iterations


@pytest.mark.slow
def test_a_topic_that_began_at_the_last_stick_comes_to_the_first() -> None:
    """Single tokens hardly carry it there: without the redraw most chains leave it behind."""
    assert largest_first(800) > 0.6
    assert np.median([largest_first(800, s, reorder_sticks=False) for s in range(3)]) < 0.1
