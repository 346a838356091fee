"""The joint-distribution test of hdp-gibbs."""

from __future__ import annotations

from typing import Any

import joint
import numpy as np
from hdp_cases import begin
from joint import Outcome, Story
from stepping import at, corpus_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.families.flat import sticks
from hiertopics.families.flat.layout import Data
from hiertopics.families.hdp import gibbs

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


def joint_test(prior: str, *, n_replicates: int, n_rounds: int, seed: int = 0) -> Outcome:
    """Run the replicates under prior AS or AA."""
    settings = settings_of(gibbs, truncation=N_TOPICS, prior=prior, hyper_start=0)
    template = corpus_of([[length, 0, 0, 0] for length in LENGTHS])
    state, data = begin(gibbs, template, settings)
    story = Story(
        gibbs.backend,
        state,
        data,
        settings,
        names=STATISTICS,
        begin=lambda state, rng: draw_from_prior(state, data, prior, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
        exponential_names=("alpha", "gamma", "word_mass", "stick"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(state: Any, data: Data, prior: str, rng: np.random.Generator) -> None:
    """Draw everything from the model with Gamma(1, 1) priors on the concentrations."""
    state.alpha, state.gamma, state.word_mass = rng.exponential(size=3)
    # v ~ Beta(1, gamma), so that 1 - v is a uniform number to the power 1 / gamma.
    state.log_rest = -rng.exponential(size=N_TOPICS - 1) / state.gamma
    state.pi = sticks.weights_from_fractions(-np.expm1(state.log_rest))
    if prior == "AA":
        state.tau = rng.dirichlet(np.ones(N_WORDS))
    starts = np.append(data.cells.cuts[:, 0], len(state.z))
    priors = np.tile(state.alpha * state.pi, (len(LENGTHS), 1))
    joint.draw_topics(starts, priors, state.z, state.n_dk, rng)
    state.n_k[:] = state.n_dk.sum(axis=0)
    draw_words(state, data, rng)


def draw_words(state: Any, data: Data, rng: np.random.Generator) -> None:
    """Draw all words given their topics, topics' word distributions integrated out."""
    joint.draw_words(state.z, state.word_mass * state.tau, data.cells.word, state.n_wk, rng)


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
        float(np.clip(gibbs.objective(state, data, settings, at(0)), -100.0, 100.0)),
    ]


def exponentials(state: Any) -> F64:
    """Return what is Exp(1) under the prior: the concentrations and a scaled stick."""
    stick = -state.gamma * state.log_rest[0]
    return np.array([state.alpha, state.gamma, state.word_mass, stick])
