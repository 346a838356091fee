"""chdp-variational by sticks: its bound, steps against a plain twin, workers and resuming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chdp_cases import simulated, tiny, with_parents
from chdp_recovery import TOPICS, recovery_of
from scipy.special import digamma
from stepping import advance, at, begin, settings_of
from sticks_twin import SticksTwin, best_order, betas, log_weights

from hiertopics.base.errors import ConfigError
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Sizes
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.papers import chdp_stick_kernels as stick_kernels, chdp_sticks as sticks

PARENTS = [[0, 1], [0], [], [1], [0, 1, 2], [2]]
SMALL: dict[str, Any] = {"method": "sticks", "truncation": 4, "tables": 3, "options": 3}


def six_documents() -> Corpus:
    return with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)


def start(corpus: Corpus, seed: int = 0, **keys: Any) -> tuple[Any, Any, Any]:
    settings = settings_of(sticks, **(SMALL | keys))
    return *begin(sticks, corpus, settings, seed=seed), settings


@pytest.mark.parametrize("alpha", [0.3, 0.9, 2.5, 40.0])
def test_sticks_stand_in_the_best_of_all_orders(alpha: float) -> None:
    rng = np.random.default_rng(1)
    orders = set()
    for _ in range(30):
        counts = rng.gamma(0.5, 4.0, 4) * (rng.random(4) < 0.8)
        logs, order, means = np.empty(4), np.empty(4, dtype=np.int64), np.empty(4)
        bound, _ = stick_kernels.break_sticks(counts, alpha, logs, order, means)
        assert bound == pytest.approx(best_order(counts, alpha)[0], abs=1e-10)
        assert means.sum() == pytest.approx(1)
        if (counts > 0).all():
            np.testing.assert_allclose(logs, log_weights(counts, alpha), atol=1e-10)
            orders.add(int(np.argsort(-counts)[-1]) == order[-1])
    assert orders == {alpha <= 1}


@pytest.mark.parametrize("weights", ["uniform", "learned"])
def test_a_step_is_that_of_a_plain_twin_and_so_is_the_bound(weights: str) -> None:
    corpus = six_documents()
    state, data, settings = start(corpus, weights=weights, hyper_start=100)
    rows = corpus.counts.toarray()
    for iteration in range(1, 6):
        twin = SticksTwin(rows, PARENTS, state)
        state, _ = sticks.step(state, data, settings, at(iteration))
        twin.step()
        for mine, other in (
            (state.resp, twin.y),
            (state.option, twin.x),
            (state.dish, twin.c),
            (state.orphan, twin.r),
            (state.n_wk.T, twin.of_words()),
        ):
            np.testing.assert_allclose(mine, other, atol=1e-10)
        if weights == "learned":
            served = state.option.sum(axis=(1, 2)) / SMALL["tables"]
            np.testing.assert_allclose(state.share, served, atol=1e-12)
            twin.share = state.share
        assert sticks.objective(state, data, settings, at(0)) == pytest.approx(
            twin.elbo(), abs=1e-9
        )


@pytest.mark.parametrize("keys", [{}, {"weights": "learned"}, {"hold": (), "shards": 2}])
def test_the_bound_never_falls(keys: dict[str, Any]) -> None:
    """Documents with several groups, with one and with none; concentrations too are fitted."""
    simulated_corpus, _ = simulated(Sizes(20, 15, 12), seed=2, truncation=4, gamma=3.0)
    for corpus, seed in ((six_documents(), 0), (six_documents(), 1), (simulated_corpus, 0)):
        state, data, settings = start(corpus, seed, hyper_start=5, **keys)
        bounds = [sticks.objective(state, data, settings, at(0))]
        for iteration in range(1, 61):
            state, _ = sticks.step(state, data, settings, at(iteration, seed=seed))
            bounds.append(sticks.objective(state, data, settings, at(0)))
        assert np.diff(bounds).min() > -1e-9
        assert bounds[-1] > bounds[0] + 5


def test_concentrations_move_to_their_best_given_the_sticks() -> None:
    """The mode under Gamma(1, 1): sticks that are broken over 1 - sum E log(1 - nu)."""
    corpus = six_documents()
    state, data, _ = start(corpus)
    state.alpha_doc, state.alpha_group, state.gamma = 1.3, 2.2, 0.7
    twin = SticksTwin(corpus.counts.toarray(), PARENTS, state)
    units = {
        "alpha_doc": [twin.of_tables(d) for d in range(len(PARENTS))],
        "alpha_group": [twin.of_options(a) for a in range(len(twin.c))],
        "gamma": [twin.of_topics()],
    }
    best = {}
    for name, counts in units.items():
        sticks_of = [betas(count, getattr(state, name))[1] for count in counts]
        logs = [digamma(b) - digamma(a + b) for pairs in sticks_of for a, b in pairs]
        best[name] = len(logs) / (1.0 - sum(logs))
    sticks._fit_concentrations(state, data, hold=())
    assert {name: getattr(state, name) for name in best} == pytest.approx(best, rel=1e-10)


def test_no_change_of_an_indicator_that_was_just_fitted_raises_the_bound() -> None:
    """Dishes are fitted last, and sticks and topics are at their best in the bound."""
    state, data, settings = start(six_documents(), hyper_start=100)
    for iteration in range(1, 601):
        state, _ = sticks.step(state, data, settings, at(iteration))
    best = sticks.objective(state, data, settings, at(0))
    rng = np.random.default_rng(5)
    for name in ("dish", "resp", "orphan"):
        mine = getattr(state, name)
        kept = mine.copy()
        for _ in range(20):
            moved = kept * np.exp(0.05 * rng.standard_normal(kept.shape))
            mine[:] = moved / moved.sum(axis=-1, keepdims=True)
            sticks._count(state, data)
            assert sticks.objective(state, data, settings, at(0)) < best + 1e-9
        mine[:] = kept


def test_the_bound_lies_below_the_evidence() -> None:
    """Five tokens of theory/chdp 8.4; the evidence is the mean likelihood over 100,000 draws."""
    rng, n_draws, n_topics, n_words = np.random.default_rng(0), 100_000, 3, 3
    rows = np.arange(n_draws)

    def sticks_of(n: int, concentration: float) -> Any:
        taken = np.column_stack([rng.beta(1, concentration, (n_draws, n - 1)), np.ones(n_draws)])
        rest = np.cumprod(1 - taken, axis=1)
        return taken * np.column_stack([np.ones(n_draws), rest[:, :-1]])

    def choose(weights: Any) -> Any:
        return (rng.random((n_draws, 1)) > weights.cumsum(axis=1)[:, :-1]).sum(axis=1)

    corpus = sticks_of(n_topics, 1.2)
    phi = rng.dirichlet(np.full(n_words, 0.7), (n_draws, n_topics))
    options = [(sticks_of(2, 1.5), [choose(corpus) for _ in range(2)]) for _ in range(2)]
    likelihood = np.ones(n_draws)
    for words, authors in (([0, 0, 1], (0, 1)), ([1, 2], (0,))):
        sizes, topics = sticks_of(2, 2.0), []
        for _ in range(2):
            author = rng.integers(len(authors), size=n_draws)
            dishes = np.array([np.choose(choose(rho), dish) for rho, dish in options])
            topics.append(dishes[author, rows])
        for word in words:
            likelihood *= sum(sizes[:, t] * phi[rows, topics[t], word] for t in range(2))
    evidence = np.log(likelihood.mean())
    keys = {"alpha_doc": 2.0, "alpha_group": 1.5, "gamma": 1.2, "eta": 0.7, "truncation": 3}
    sizes = {"tables": 2, "options": 2, "hyper_start": 1000}
    best = []
    for seed in range(5):
        state, data, settings = start(tiny(), seed, **keys, **sizes)
        state = advance(sticks, state, data, settings, 100, seed=seed)
        best.append(sticks.objective(state, data, settings, at(0)) + 2.0 + 1.5 + 1.2)
    assert evidence - 6 < max(best) < evidence


def test_planted_authors_are_found_by_sticks_too() -> None:
    corpus, truth = simulated(Sizes(300, 200, 60), seed=3, **TOPICS)
    keys = {"truncation": 20, "tables": 10, "options": 10, "hyper_start": 10}
    state, data, settings = start(corpus, **keys)
    state = advance(sticks, state, data, settings, 70)
    tree = sticks.summarise(state, data, settings, at(0)).tree
    assert recovery_of(tree, truth).correlation > 0.75


def test_workers_change_no_byte_and_maximization_is_refused() -> None:
    corpus, _ = simulated(Sizes(30, 20, 15), seed=4, truncation=4, gamma=3.0)
    ends = []
    for workers in (1, 3):
        state, data, settings = start(corpus, shards=3, hyper_start=2)
        with Workers(workers) as pool:
            state = advance(sticks, state, data, settings, 8, workers=pool)
        ends.append({name: array.tobytes() for name, array in to_arrays(state).items()})
    assert ends[0] == ends[1]
    with pytest.raises(ConfigError, match="method sticks needs model.cooperation superposition"):
        start(corpus, cooperation="maximization")
