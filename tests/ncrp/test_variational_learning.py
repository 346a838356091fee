"""gamma, eta and the level prior, learned: no step lowers the bound, and truth is approached."""

from __future__ import annotations

import numpy as np
import pytest
from naive_variational import random_q
from scipy.optimize import minimize
from scipy.special import gammaln, psi
from variational_cases import (
    MODES,
    TREE,
    bound,
    data_of,
    exact_sweep,
    fitted,
    planted,
    settings_of,
    state_of,
    varied,
)

from hiertopics.families.ncrp.config import HldaVariationalInference as Inference
from hiertopics.families.ncrp.variational import bound as bounds
from hiertopics.families.ncrp.variational.state import local_pass, refit
from hiertopics.families.nested.slots import NodeSticks, nodes_of

COUNTS = varied().counts.toarray().astype(float)
PRIOR = np.array([2.0, 0.7, 1.5])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", ["gamma", "eta", "level_prior"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_of_learning_never_lowers_the_bound(what: str, mode: str, seed: int) -> None:
    q = random_q(
        np.random.default_rng(seed), TREE, COUNTS, PRIOR, 5.0, 2.0, structured=mode == "structured"
    )
    state, data = state_of(q), data_of(COUNTS)
    start = (state.gamma, state.eta, *state.level_prior)
    before = bound(state, data)
    for _ in range(12):
        sums = local_pass(state, 1, dtype=np.float64)
        refit(state, sums)
        if what == "gamma":
            state.gamma = bounds.best_gamma(state.nodes, state.sticks, sums.slot, state.gamma)
        elif what == "eta":
            state.eta = bounds.best_eta(sums.words, sums.n_outside, state.eta)
            state.lam = sums.words + state.eta
        else:
            state.level_prior = bounds.best_level_prior(state.tau, state.level_prior)
        after = bound(state, data)
        assert after >= before - 1e-9 * abs(before)
        before = after
    assert (state.gamma, state.eta, *state.level_prior) != start


@pytest.mark.parametrize("n_outside", [0.0, 60.0])
def test_the_best_eta_is_the_maximum_of_its_score(n_outside: float) -> None:
    """Tokens outside the tree count, each with E log phi under the prior."""
    rng = np.random.default_rng(0)
    words = np.stack([rng.multinomial(400, row) for row in rng.dirichlet(np.full(50, 0.2), 8)], 1)

    def score(eta: float) -> float:
        counts = words + eta
        own = gammaln(counts).sum() - gammaln(counts.sum(axis=0)).sum()
        outside = n_outside * (psi(eta) - psi(50 * eta))
        return float(own - words.size * gammaln(eta) + 8 * gammaln(50 * eta) + outside)

    grid = np.exp(np.linspace(np.log(0.05), np.log(3.0), 800))
    best = grid[np.argmax([score(eta) for eta in grid])]
    found = 0.1
    for _ in range(3):
        found = bounds.best_eta(words.astype(float), n_outside, found)
    assert found == pytest.approx(best, rel=0.02)
    assert (best > 0.3) == (n_outside > 0)


@pytest.mark.parametrize("n_outside", [0.0, 9.0])
def test_the_best_gamma_is_the_maximum_of_its_score(n_outside: float) -> None:
    """Paths that leave the tree count, each with the series of every level outside."""
    nodes, rng = nodes_of(np.array(TREE, np.int32), 3), np.random.default_rng(0)
    sticks = NodeSticks(1.0 + rng.gamma(2.0, size=len(TREE)), rng.gamma(2.0, size=len(TREE)))
    slot_mass = np.where(nodes.level == 2, 5.0, n_outside)
    n_open = n_outside * (2 * (nodes.level == 0).sum() + (nodes.level == 1).sum())
    e_log_rest = (psi(sticks.b) - psi(sticks.a + sticks.b))[1:]
    grid = np.exp(np.linspace(np.log(0.05), np.log(50.0), 2000))
    scores = (len(TREE) - 1) * np.log(grid) + (grid - 1) * e_log_rest.sum()
    # A geometric series of exp E log (1 - v) = exp(-1 / gamma), from exp E log v on.
    series = np.exp(psi(1.0) - psi(1.0 + grid)) / (1.0 - np.exp(-1.0 / grid))
    best = grid[np.argmax(scores + n_open * np.log(series))]
    found = 0.3
    for _ in range(4):
        found = bounds.best_gamma(nodes, sticks, slot_mass, found)
    assert found == pytest.approx(best, rel=0.01)
    assert (abs(best / grid[np.argmax(scores)] - 1) > 0.1) == (n_outside > 0)


def test_the_best_level_prior_is_the_maximum_of_its_score() -> None:
    rng = np.random.default_rng(1)
    tau = rng.dirichlet([3.0, 1.0, 0.5], 200) * 80 + 0.5
    found = PRIOR
    for _ in range(10):
        found = bounds.best_level_prior(tau, found)
    target = (psi(tau) - psi(tau.sum(axis=1))[:, None]).mean(axis=0)

    def loss(log_prior: np.ndarray) -> float:
        prior = np.exp(log_prior)
        return float(gammaln(prior).sum() - gammaln(prior.sum()) - ((prior - 1) * target).sum())

    best = np.exp(minimize(loss, np.zeros(3)).x)
    assert found == pytest.approx(best, rel=1e-3)


def test_nothing_is_learned_before_its_time_nor_unasked() -> None:
    corpus, _, _ = planted(5, 40)
    keys = {"hold": ()}
    held, _ = fitted(corpus, settings_of(hyper_start=5, moves="none", **keys), 0, 5)
    assert (held.eta, held.gamma, held.level_prior.tolist()) == (0.1, 1.0, [1.0] * 3)
    learned, _ = fitted(corpus, settings_of(hyper_start=5, moves="none", **keys), 0, 6)
    assert learned.eta != 0.1 and learned.gamma != 1.0 and learned.level_prior[0] != 1.0
    fixed, _ = fitted(corpus, settings_of(hyper_start=0, moves="none"), 0, 6)
    assert (fixed.eta, fixed.gamma) == (0.1, 1.0)


@pytest.mark.slow
def test_a_tiny_eta_is_fitted_in_double_precision() -> None:
    """exp(psi(eta)) leaves the range of float32 below about 0.01."""
    corpus, _, _ = planted(5, 40)
    state, data = fitted(corpus, settings_of(eta=0.004, start_leaves=6), 0, 8)
    assert state.lam.dtype == np.float64
    assert np.isfinite(bound(state, data))
    assert fitted(corpus, settings_of(), 0, 0)[0].lam.dtype == np.float32


def test_learning_raises_the_bound_of_a_fit() -> None:
    corpus, _, _ = planted(6, 60)
    keys = {"hold": (), "hyper_start": 2}
    fixed, data = fitted(corpus, settings_of(moves="none", eta=1.0), 0, 15)
    learned, _ = fitted(corpus, settings_of(moves="none", eta=1.0, **keys), 0, 15)
    assert bound(learned, data) > bound(fixed, data)
    assert "eta" in Inference().hold
    exact_sweep(learned)
