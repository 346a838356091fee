"""lda-gibbs keeps the joint distribution, and the test notices where it does not."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import joint
import numpy as np
import pytest
from joint import Outcome, Story
from lda_cases import settings_of
from nights import by_night
from stepping import at, begin, corpus_of

from hiertopics.families.lda import gibbs, gibbs_kernels, hyperparameters
from hiertopics.families.lda.gibbs_kernels import LdaPseudoCounts
from hiertopics.numeric.slices import draw_by_slice

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


def joint_test(n_replicates: int, prior: str = "symmetric", sweep: str = "dense") -> Outcome:
    """Run the replicates of eight rounds under a prior on alpha."""
    settings = settings_of(n_topics=N_TOPICS, prior=prior, sweep=sweep, hyper_start=0, hold=())
    state, data = begin(gibbs, corpus_of([[n, 0, 0, 0] for n in LENGTHS]), settings)
    story = Story(
        gibbs.backend,
        state,
        data,
        settings,
        names=NAMES,
        begin=lambda state, rng: draw_from_prior(state, data, prior, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=8)


def draw_from_prior(state: Any, data: Any, prior: str, rng: np.random.Generator) -> None:
    """Draw everything from the model, alpha under the narrower prior."""
    state.alpha = rng.uniform(*TOTAL) / N_TOPICS
    if prior == "asymmetric":
        state.alpha = state.alpha * N_TOPICS * rng.dirichlet(np.ones(N_TOPICS))
    state.eta = max(rng.exponential(), hyperparameters.LOWEST_ETA)
    alphas = np.broadcast_to(state.alpha, (len(LENGTHS), N_TOPICS)).copy()
    n_dk = np.zeros(alphas.shape, np.int32)
    joint.draw_topics(data.tokens.doc_ptr, alphas, state.z, n_dk, rng)
    draw_words(state, data, rng)


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
        gibbs.objective(state, data, settings, at(0)),
    ]


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw all words given their topics, topics' distributions integrated out."""
    prior = np.full(N_WORDS, state.eta)
    joint.draw_words(state.z, prior, data.tokens.word, state.n_wk, rng)
    state.n_k[:] = state.n_wk.sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "sweep"),
    [("asymmetric", "sparse"), *by_night(("symmetric", "dense"), ("asymmetric", "dense"))],
)
def test_prior_draws_stay_prior_draws(prior: str, sweep: str) -> None:
    outcome = joint_test(800, prior, sweep)
    assert outcome.largest_z < 4.0, outcome


sweep = gibbs_kernels.sweep
sweep_by_lists = gibbs_kernels.sweep_by_lists


def sweep_with_alpha_off(tokens: Any, tables: Any, prior: LdaPseudoCounts, rng: Any) -> int:
    """Sweep with a document prior that is off by a constant."""
    return int(sweep(tokens, tables, prior._replace(alpha=prior.alpha + 0.15), rng))


def sweep_with_eta_off(tokens: Any, tables: Any, prior: LdaPseudoCounts, rng: Any) -> int:
    """Sweep with a word prior that is off by a factor."""
    return int(sweep(tokens, tables, prior._replace(eta=prior.eta * 3), rng))


def lists_with_eta_off(tokens: Any, tables: Any, prior: LdaPseudoCounts, rng: Any) -> int:
    """Sweep by lists with a word prior that is off by a factor."""
    return int(sweep_by_lists(tokens, tables, prior._replace(eta=prior.eta * 3), rng))


def eta_without_its_prior(n_kw: Any, eta: float, rng: Any) -> float:
    """Draw eta as if every eta were as likely as any other beforehand."""
    table = hyperparameters.tally(n_kw)
    bounds = (hyperparameters.LOWEST_ETA, hyperparameters.HIGHEST_ETA)
    return draw_by_slice(eta, lambda value: hyperparameters.log_evidence(table, value), bounds, rng)


def alpha_without_its_jacobian(n_dk: Any, alpha: float, rng: Any) -> float:
    """Draw the logarithm of alpha as if it were uniform."""
    table = hyperparameters.tally(n_dk)
    bounds = (TOTAL[0] / N_TOPICS, TOTAL[1] / N_TOPICS)

    def log_density(value: float) -> float:
        return hyperparameters.log_evidence(table, value) - np.log(value)

    return draw_by_slice(alpha, log_density, bounds, rng)


def sweep_with_alphas_swapped(tokens: Any, tables: Any, prior: LdaPseudoCounts, rng: Any) -> int:
    """Sweep with the alphas of other topics."""
    return int(
        sweep(tokens, tables, prior._replace(alpha=np.asarray(prior.alpha)[::-1].copy()), rng)
    )


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
        drawn[topic] = draw_by_slice(drawn[topic], log_density, bounds, rng)
    return drawn


MUTANTS = {
    "document prior off": (gibbs_kernels, "sweep", sweep_with_alpha_off, "symmetric"),
    "word prior off": (gibbs_kernels, "sweep", sweep_with_eta_off, "symmetric"),
    "word prior of lists off": (
        gibbs_kernels,
        "sweep_by_lists",
        lists_with_eta_off,
        "symmetric",
    ),
    "eta without its prior": (hyperparameters, "draw_eta", eta_without_its_prior, "symmetric"),
    "alpha without its Jacobian": (
        hyperparameters,
        "draw_alpha",
        alpha_without_its_jacobian,
        "symmetric",
    ),
    "alphas swapped": (gibbs_kernels, "sweep", sweep_with_alphas_swapped, "asymmetric"),
    "shares forgotten": (
        hyperparameters,
        "draw_alphas",
        alphas_without_their_shares,
        "asymmetric",
    ),
}
REPLICATES = {"symmetric": 500, "asymmetric": 300}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "wrong", "prior"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    where: ModuleType, name: str, wrong: Any, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one term wrong, fewer replicates reject it."""
    assert hasattr(where, name)
    monkeypatch.setattr(where, name, wrong)
    way = "sparse" if name == "sweep_by_lists" else "dense"
    assert joint_test(REPLICATES[prior], prior, way).largest_z > 5.0
