"""The sampler against the enumerated posterior of six tokens, alpha and eta included."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numba
import numpy as np
import pytest
from lda_cases import log_joint, settings_of, split
from stepping import at, corpus_of, docs_of

from hiertopics.base.arrays import F64
from hiertopics.families.lda import gibbs
from hiertopics.families.lda.gibbs_kernels import (
    LdaPseudoCounts,
    PaddedTopics,
    Tokens,
    sweep,
    sweep_by_lists,
)

CORPUS = corpus_of([[2, 1, 0], [0, 1, 2]])
DOCS = docs_of(CORPUS)
N_TOPICS, ALPHA, ETA = 3, 0.7, 0.4
ASSIGNMENTS = list(itertools.product(range(N_TOPICS), repeat=6))
N_SWEEPS = 1_500_000


def log_joints(alpha: float, eta: float) -> F64:
    """Return log p(words, z) of each assignment, in lexicographic order."""
    return np.array([log_joint(DOCS, split(z, DOCS), N_TOPICS, 3, alpha, eta) for z in ASSIGNMENTS])


def posterior(alpha: float, eta: float) -> F64:
    """Return the chances of all 729 assignments."""
    chances = np.exp(log_joints(alpha, eta))
    return np.asarray(chances / chances.sum())


@numba.njit
def sample(
    sweep: Any,
    tokens: Tokens,
    tables: PaddedTopics,
    prior: LdaPseudoCounts,
    n_sweeps: int,
    rng: Any,
) -> Any:
    """Return how often each assignment was met."""
    visits = np.zeros(prior.n_topics ** len(tables.z), np.int64)
    for _ in range(n_sweeps):
        sweep(tokens, tables, prior, rng)
        code = 0
        for topic in tables.z:
            code = prior.n_topics * code + topic
        visits[code] += 1
    return visits


@pytest.fixture(scope="module", params=[sweep, sweep_by_lists])
def frequencies(request: pytest.FixtureRequest) -> F64:
    """Return the shares of a long run's sweeps."""
    settings = settings_of(n_topics=N_TOPICS)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    tables = PaddedTopics(state.z, state.n_wk, state.n_k)
    prior = LdaPseudoCounts(N_TOPICS, ALPHA, ETA)
    rng = np.random.default_rng(3)
    visits = sample(request.param, data.tokens, tables, prior, N_SWEEPS, rng)
    return np.asarray(visits / N_SWEEPS)


def distance(one: F64, other: F64) -> float:
    """Return the total variation."""
    return float(np.abs(one - other).sum() / 2)


@pytest.mark.slow
def test_assignments_are_visited_as_often_as_the_posterior_says(
    frequencies: F64,
) -> None:
    assert distance(frequencies, posterior(ALPHA, ETA)) < 0.012


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "eta"), [(0.9, ETA), (0.55, ETA), (ALPHA, 0.5), (ALPHA, 0.32)])
def test_posteriors_of_other_priors_are_told_apart(
    frequencies: F64, alpha: float, eta: float
) -> None:
    assert distance(frequencies, posterior(alpha, eta)) > 0.024


def centres(low: float, high: float, n_cells: int) -> F64:
    """Return the middles of cells that are even in logarithms."""
    width = math.log(high / low) / n_cells
    return np.asarray(low * np.exp(width * (np.arange(n_cells) + 0.5)))


@pytest.mark.slow
def test_alpha_and_eta_follow_their_posterior() -> None:
    """``step`` with both drawn, against a grid over alpha and eta summed over all assignments."""
    settings = settings_of(n_topics=N_TOPICS, hold=(), hyper_start=0)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    drawn = []
    for iteration in range(1, 8001):
        state, _ = gibbs.step(state, data, settings, at(iteration))
        drawn.append((math.log(state.alpha), math.log(state.eta)))
    alphas, etas = centres(0.1 / N_TOPICS, 1000 / N_TOPICS, 40), centres(1e-5, 30.0, 40)
    # log p(words, z) is a part of alpha plus a part of eta; one of both is counted twice.
    by_alpha = np.array([log_joints(alpha, ETA) for alpha in alphas])
    by_eta = np.array([log_joints(ALPHA, eta) for eta in etas]) - log_joints(ALPHA, ETA)
    # The grid is even in the logarithms, hence the Jacobian alpha eta; eta is Exponential(1).
    weights = np.exp(by_alpha) @ np.exp(by_eta).T * np.outer(alphas, etas * np.exp(-etas))
    weights /= weights.sum()
    expected = [weights.sum(axis=1) @ np.log(alphas), weights.sum(axis=0) @ np.log(etas)]
    batches = np.array(drawn).reshape(40, 200, 2).mean(axis=1)
    errors = batches.std(axis=0) / math.sqrt(40)
    assert (np.abs(batches.mean(axis=0) - expected) < 4 * errors).all()
    assert (errors < 0.1).all()
