"""The joint-distribution test of hdp-gibbs with bursty documents."""

from __future__ import annotations

from typing import Any

import joint
import laid_tables
import numpy as np
from joint import Outcome, Story
from stepping import at, begin, corpus_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.families.flat import seats, sticks
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.flat.seat_kernels import count_tables
from hiertopics.families.hdp import bursty_gibbs

LENGTHS = np.array([7, 5, 3, 1, 0])
N_WORDS, N_TOPICS = 3, 3
STATISTICS = (
    "alpha",
    "gamma",
    "word_mass",
    "discount",
    "log concentration",
    "their product",
    "first weight",
    "tables",
    "tables squared",
    "n_dk squared",
    "n_k squared",
    "n_wk squared",
    "c squared",
    "c t",
    "pairs of several tables",
    "log joint",
)


def joint_test(
    *, n_replicates: int, n_rounds: int, seed: int = 0, sweep: str = "sparse"
) -> Outcome:
    """Run the replicates."""
    settings = settings_of(
        bursty_gibbs.one,
        truncation=N_TOPICS,
        bursts="document",
        hyper_start=0,
        burst_start=0,
        sweep=sweep,
    )
    template = corpus_of([[length, 0, 0] for length in LENGTHS])
    state, data = begin(bursty_gibbs.one, template, settings)
    longer = more_than(np.bincount(LENGTHS))
    data = data._replace(repeats=Repeats(np.arange(1, 8), longer, 0, 0.1))
    story = Story(
        bursty_gibbs.backend,
        state,
        data,
        settings,
        names=STATISTICS,
        begin=lambda state, rng: draw_from_prior(state, data, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
        exponential_names=("alpha", "gamma", "word_mass", "concentration", "log discount"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def starts_of(data: Any) -> Any:
    return np.append(data.cells.cuts[:, 0], len(data.cells.word))


def draw_from_prior(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw everything from the model."""
    state.alpha, state.gamma, state.word_mass = rng.exponential(size=3)
    state.burst_discount, state.burst_concentration = seats.draw_process_from_prior(rng)
    state.log_rest = -rng.exponential(size=N_TOPICS - 1) / state.gamma
    state.pi = sticks.weights_from_fractions(-np.expm1(state.log_rest))
    sizes = laid_tables.seated(LENGTHS, state.process, rng)
    prior = np.maximum(state.alpha * state.pi, 1e-300)
    lay(state, data, laid_tables.with_topics(sizes, prior, rng), rng)


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw sizes of tables given their numbers, and all words given topics."""
    slots = (data.cells.word, state.z, starts_of(data))
    lay(state, data, laid_tables.unlaid(*slots, state.burst_discount, rng), rng)


def lay(state: Any, data: Any, docs: laid_tables.Documents, rng: np.random.Generator) -> None:
    """Write tables to slots and counts."""
    prior = state.word_mass * state.tau
    laid_tables.lay(docs, prior, data.cells.word, state.z, np.zeros_like(state.n_wk), rng)
    state.n_dk[:], state.n_wk[:] = 0, 0
    count_tables(data.cells, state.z, state.n_dk, state.n_wk)
    state.n_k[:] = state.n_dk.sum(axis=0)


def measure(state: Any, data: Any, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    c, t = pairs_of(state, data)
    tables = state.n_dk.sum(axis=1)
    return [
        state.alpha,
        state.gamma,
        state.word_mass,
        state.burst_discount,
        float(np.log(state.burst_concentration)),
        float(state.burst_discount * np.log(state.burst_concentration)),
        state.pi[0],
        float(tables.sum()),
        float((tables**2).sum()),
        float((state.n_dk**2).sum()),
        float((state.n_k**2).sum()),
        float((state.n_wk**2).sum()),
        float((c**2).sum()),
        float((c * t).sum()),
        float((t > 1).sum()),
        float(np.clip(bursty_gibbs.objective(state, data, settings, at(0)), -100.0, 100.0)),
    ]


def pairs_of(state: Any, data: Any) -> tuple[Any, Any]:
    """Return tokens and tables of each pair."""
    doc = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    pair = doc * N_WORDS + data.cells.word
    return np.bincount(pair), np.bincount(pair, state.z >= 0)


def exponentials(state: Any) -> F64:
    """Return what is Exp(1) under the prior."""
    rate = vars(seats)["BURST_PRIOR"].rate  # tests replace it in that module
    of_process = (rate * state.burst_concentration, -np.log(state.burst_discount))
    return np.array([state.alpha, state.gamma, state.word_mass, *of_process])
