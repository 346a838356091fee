"""The sampler keeps the joint distribution, and the test notices where it does not.

Replicates start from exact draws of the joint; rounds of ``step`` and fresh words given topics must
leave every statistic's mean where it was.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from lda.lda_cases import at, corpus_of, settings_of
from numpy.typing import NDArray

from hiertopics.families.lda import gibbs, gibbs_kernels, hyperparameters
from hiertopics.families.lda.gibbs_kernels import Prior

TOTAL = (0.1, 2.0)
"""A narrower prior of n_topics * alpha, under which alpha matters."""

LENGTHS = np.array([6, 4, 3, 1, 0])
N_WORDS, N_TOPICS = 4, 3
NAMES = (
    "log alpha",
    "alpha n_k",
    "log eta",
    "n_dk squared",
    "n_wk squared",
    "n_k squared",
    "repeats",
    "joint",
)


def largest_z(
    n_replicates: int, n_rounds: int, prior: str = "symmetric"
) -> tuple[float, dict[str, float]]:
    """Return the largest z score in size, and all of them."""
    settings = settings_of(
        {"n_topics": N_TOPICS, "prior": prior}, sample_alpha=True, sample_eta=True, hyper_start=0
    )
    data = gibbs.prepare(corpus_of([[n, 0, 0, 0] for n in LENGTHS]), settings)
    state = gibbs.init(data, settings, at(0))
    rng = np.random.default_rng(0)
    before, after = np.zeros((2, n_replicates, len(NAMES)))
    iteration = 0
    for replicate in range(n_replicates):
        state.alpha = rng.uniform(*TOTAL) / N_TOPICS
        if prior == "asymmetric":
            state.alpha = state.alpha * N_TOPICS * rng.dirichlet(np.ones(N_TOPICS))
        state.eta = max(rng.exponential(), hyperparameters.LOWEST_ETA)
        alphas = np.broadcast_to(state.alpha, N_TOPICS).copy()
        draw_topics(data.tokens.doc_ptr, alphas, state.z, rng)
        draw_words(state, data, rng)
        before[replicate] = measure(state, data, settings)
        for _ in range(n_rounds):
            iteration += 1
            state, _ = gibbs.step(state, data, settings, at(iteration))
            draw_words(state, data, rng)
        after[replicate] = measure(state, data, settings)
    change = after - before
    error = change.std(axis=0) / np.sqrt(n_replicates)
    z = change.mean(axis=0) / np.where(error > 0, error, np.inf)
    return float(np.abs(z).max()), dict(zip(NAMES, z.tolist(), strict=True))


@pytest.fixture(autouse=True)
def narrow_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package draw alpha under the narrower prior too."""
    monkeypatch.setattr(hyperparameters, "LOWEST_TOTAL", TOTAL[0])
    monkeypatch.setattr(hyperparameters, "HIGHEST_TOTAL", TOTAL[1])


def measure(state: Any, data: Any, settings: Any) -> list[float]:
    """Return the statistics in the order of their names."""
    n_dk = np.zeros((len(LENGTHS), N_TOPICS), np.int32)
    gibbs_kernels.count_topics(data.tokens.doc_ptr, state.z, n_dk)
    z, words = state.z, data.tokens.word
    same = (words[:6, None] == words[None, :6]) & (z[:6, None] == z[None, :6])
    return [
        np.log(np.mean(state.alpha)),
        float((state.alpha * state.n_k[:N_TOPICS]).sum()),
        np.log(state.eta),
        float((n_dk**2).sum()),
        float((state.n_wk**2).sum()),
        float((state.n_k**2).sum()),
        float(same.sum()),
        gibbs.objective(state, data, settings),
    ]


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw all words given their topics, topics' distributions integrated out."""
    _draw_words(state.z, state.eta, data.tokens.word, state.n_wk, rng)
    state.n_k[:] = state.n_wk.sum(axis=0)


@numba.njit
def draw_topics(
    doc_ptr: NDArray[np.int64], alpha: NDArray[np.float64], z: NDArray[np.int32], rng: Any
) -> None:
    """Draw all topics, documents' weights integrated out."""
    for doc in range(len(doc_ptr) - 1):
        weights = alpha.copy()
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            z[token] = _draw(weights, rng)
            weights[z[token]] += 1


@numba.njit
def _draw_words(
    z: NDArray[np.int32],
    eta: float,
    words: NDArray[np.int32],
    n_wk: NDArray[np.int32],
    rng: Any,
) -> None:
    n_wk[:] = 0
    for token in range(len(z)):
        words[token] = _draw(n_wk[:, z[token]] + eta, rng)
        n_wk[words[token], z[token]] += 1


@numba.njit
def _draw(weights: NDArray[np.float64], rng: Any) -> int:
    target = rng.random() * weights.sum()
    chosen = 0
    while target >= weights[chosen] and chosen < len(weights) - 1:
        target -= weights[chosen]
        chosen += 1
    return chosen


@pytest.mark.parametrize("prior", ["symmetric", "asymmetric"])
def test_prior_draws_stay_prior_draws(prior: str) -> None:
    found, all_scores = largest_z(800, 8, prior)
    assert found < 4.0, all_scores


sweep = gibbs_kernels.sweep
draw_eta = hyperparameters.draw_eta


def sweep_with_alpha_off(tokens: Any, tables: Any, prior: Prior, rng: Any) -> int:
    """Sweep with a document prior that is off by a constant."""
    return int(sweep(tokens, tables, prior._replace(alpha=prior.alpha + 0.15), rng))


def sweep_with_eta_off(tokens: Any, tables: Any, prior: Prior, rng: Any) -> int:
    """Sweep with a word prior that is off by a factor."""
    return int(sweep(tokens, tables, prior._replace(eta=prior.eta * 3), rng))


def eta_without_its_prior(n_kw: Any, eta: float, rng: Any) -> float:
    """Draw eta as if every eta were as likely as any other beforehand."""
    table = hyperparameters.tally(n_kw)
    bounds = (hyperparameters.LOWEST_ETA, hyperparameters.HIGHEST_ETA)
    return hyperparameters.draw_by_slice(
        eta, lambda value: hyperparameters.log_evidence(table, value), bounds, rng
    )


def alpha_without_its_jacobian(n_dk: Any, alpha: float, rng: Any) -> float:
    """Draw the logarithm of alpha as if it were uniform."""
    table = hyperparameters.tally(n_dk)
    bounds = (TOTAL[0] / N_TOPICS, TOTAL[1] / N_TOPICS)

    def log_density(value: float) -> float:
        return hyperparameters.log_evidence(table, value) - np.log(value)

    return hyperparameters.draw_by_slice(alpha, log_density, bounds, rng)


def sweep_with_alphas_swapped(tokens: Any, tables: Any, prior: Prior, rng: Any) -> int:
    """Sweep with the alphas of other topics."""
    return int(sweep(tokens, tables, prior._replace(alpha=prior.alpha[::-1].copy()), rng))


def alphas_without_their_shares(n_dk: Any, alpha: Any, rng: Any) -> Any:
    """Draw alphas as if each were uniform, whatever the others."""
    drawn = alpha.copy()
    columns = hyperparameters.tallies_of_columns(n_dk)
    for topic in range(len(drawn)):
        rest = drawn.sum() - drawn[topic]
        others = np.delete(drawn, topic)

        def log_density(value: float, topic: int = topic, others: Any = others) -> float:
            alphas = np.insert(others, topic, value)
            return hyperparameters.log_evidence_of_columns(columns, alphas)

        bounds = (max(TOTAL[0] - rest, 1e-9), TOTAL[1] - rest)
        drawn[topic] = hyperparameters.draw_by_slice(drawn[topic], log_density, bounds, rng)
    return drawn


ASYMMETRIC_MUTANTS = {
    "alphas swapped": (gibbs_kernels, "sweep", sweep_with_alphas_swapped),
    "shares forgotten": (hyperparameters, "draw_alphas", alphas_without_their_shares),
}

MUTANTS = {
    "document prior off": (gibbs_kernels, "sweep", sweep_with_alpha_off),
    "word prior off": (gibbs_kernels, "sweep", sweep_with_eta_off),
    "eta without its prior": (hyperparameters, "draw_eta", eta_without_its_prior),
    "alpha without its Jacobian": (hyperparameters, "draw_alpha", alpha_without_its_jacobian),
}


@pytest.mark.parametrize(("where", "name", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    where: ModuleType, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one term wrong, a third of the replicates reject it."""
    monkeypatch.setattr(where, name, wrong)
    assert largest_z(500, 8)[0] > 5.0


@pytest.mark.parametrize(
    ("where", "name", "wrong"), ASYMMETRIC_MUTANTS.values(), ids=ASYMMETRIC_MUTANTS
)
def test_mutants_of_the_asymmetric_prior_are_rejected(
    where: ModuleType, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert largest_z(300, 8, "asymmetric")[0] > 5.0
