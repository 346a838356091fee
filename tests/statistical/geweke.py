"""The joint-distribution test of hdp-gibbs: draws from the prior stay draws from the prior.

A replicate draws concentrations, sticks, topics and words from the model; then it alternates
the sampler's step with fresh words given the topics. Both leave the joint distribution as it is,
so that after any number of rounds the state is still a draw from the prior. Replicates are
independent: the difference of a statistic between the end and the start of a replicate has mean
zero, and its z score needs no estimate of autocorrelation (Geweke, JASA 2004, with many starts).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from exact.cases import at, begin, corpus_of, settings_of
from numpy.typing import NDArray
from scipy import stats

from hiertopics.backends.hdp import gibbs, sticks
from hiertopics.backends.hdp.layout import Data

LENGTHS = np.array([7, 5, 3, 1, 0])
N_WORDS, N_TOPICS = 4, 3
STATISTICS = (
    "alpha",
    "gamma",
    "word_mass",
    "first weight",
    "weights squared",
    "last remainder",
    "topics in use",
    "n_dk squared",
    "n_k squared",
    "n_wk squared",
    "tau squared",
    "log joint",
)


class Outcome(NamedTuple):
    """Z scores of the statistics, and p values of marginals that are known to be Exp(1)."""

    z_scores: dict[str, float]
    p_values: dict[str, float]

    @property
    def largest_z(self) -> float:
        """The largest z score in size."""
        return max(abs(z) for z in self.z_scores.values())

    @property
    def smallest_p(self) -> float:
        """The smallest p value."""
        return min(self.p_values.values())


def joint_test(prior: str, *, n_replicates: int, n_rounds: int, seed: int = 0) -> Outcome:
    """Run the replicates under prior AS or AA."""
    settings = settings_of(gibbs, truncation=N_TOPICS, prior=prior, hyper_start=0)
    template = corpus_of([[length, 0, 0, 0] for length in LENGTHS])
    state, data = begin(gibbs, template, settings)
    rng = np.random.default_rng(seed)
    before, after = (np.zeros((n_replicates, len(STATISTICS))) for _ in range(2))
    final = np.zeros((n_replicates, 4))
    iteration = 0
    for replicate in range(n_replicates):
        draw_from_prior(state, data, prior, rng)
        before[replicate] = measure(state, data, settings)
        for _ in range(n_rounds):
            iteration += 1
            state, _ = gibbs.step(state, data, settings, at(iteration, seed=seed))
            draw_words(state, data, rng)
        after[replicate] = measure(state, data, settings)
        final[replicate] = exponentials(state)
    change = after - before
    error = change.std(axis=0) / np.sqrt(n_replicates)
    z_scores = change.mean(axis=0) / np.where(error > 0, error, np.inf)
    names = ("alpha", "gamma", "word_mass", "stick")
    p_values = [stats.kstest(values, "expon").pvalue for values in final.T]
    return Outcome(
        dict(zip(STATISTICS, z_scores.tolist(), strict=True)),
        dict(zip(names, map(float, p_values), strict=True)),
    )


def draw_from_prior(state: Any, data: Data, prior: str, rng: np.random.Generator) -> None:
    """Draw everything from the model with Gamma(1, 1) priors on the concentrations."""
    state.alpha, state.gamma, state.word_mass = rng.exponential(size=3)
    # v ~ Beta(1, gamma), so that 1 - v is a uniform number to the power 1 / gamma.
    state.log_rest = -rng.exponential(size=N_TOPICS - 1) / state.gamma
    state.pi = sticks.weights_from_fractions(-np.expm1(state.log_rest))
    if prior == "AA":
        state.tau = rng.dirichlet(np.ones(N_WORDS))
    _draw_topics(data.cells.cuts, state.alpha * state.pi, state.z, state.n_dk, rng)
    state.n_k[:] = state.n_dk.sum(axis=0)
    draw_words(state, data, rng)


def draw_words(state: Any, data: Data, rng: np.random.Generator) -> None:
    """Draw all words given their topics, topics' word distributions integrated out."""
    _draw_words(state.z, state.word_mass * state.tau, data.cells.word, state.n_wk, rng)


def measure(state: Any, data: Data, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    return [
        state.alpha,
        state.gamma,
        state.word_mass,
        state.pi[0],
        float((state.pi**2).sum()),
        float(np.exp(state.log_rest[-1])),
        float((state.n_k > 0).sum()),
        float((state.n_dk**2).sum()),
        float((state.n_k**2).sum()),
        float((state.n_wk**2).sum()),
        float((state.tau**2).sum()),
        # Clipped, because log(1 - v) has no mean under the prior.
        float(np.clip(gibbs.objective(state, data, settings), -100.0, 100.0)),
    ]


def exponentials(state: Any) -> NDArray[np.float64]:
    """Return what is Exp(1) under the prior: the concentrations and a scaled stick."""
    stick = -state.gamma * state.log_rest[0]
    return np.array([state.alpha, state.gamma, state.word_mass, stick])


@numba.njit
def _draw_topics(
    cuts: NDArray[np.int64],
    prior: NDArray[np.float64],
    z: NDArray[np.int32],
    n_dk: NDArray[np.int32],
    rng: Any,
) -> None:
    n_dk[:] = 0
    for doc in range(len(cuts)):
        for token in range(cuts[doc, 0], cuts[doc, -1]):
            z[token] = _draw(n_dk[doc] + prior, rng)
            n_dk[doc, z[token]] += 1


@numba.njit
def _draw_words(
    z: NDArray[np.int32],
    prior: NDArray[np.float64],
    words: NDArray[np.int32],
    n_wk: NDArray[np.int32],
    rng: Any,
) -> None:
    n_wk[:] = 0
    for token in range(len(z)):
        words[token] = _draw(n_wk[:, z[token]] + prior, rng)
        n_wk[words[token], z[token]] += 1


@numba.njit
def _draw(weights: NDArray[np.float64], rng: Any) -> int:
    target = rng.random() * weights.sum()
    chosen = 0
    while target >= weights[chosen] and chosen < len(weights) - 1:
        target -= weights[chosen]
        chosen += 1
    return chosen
