"""The objective of the Gibbs sampler, and sticks at the edge of what floats can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import stepping
from hdp_cases import begin, fitted, random_corpus
from naive import log_joint
from stepping import advance, at, corpus_of, docs_of, settings_of

from hiertopics.contract.engine import LocalPieces, Workers, joined
from hiertopics.contract.model import Context
from hiertopics.families.flat import sticks
from hiertopics.families.hdp import blocks, gibbs, partial, summary
from hiertopics.families.hdp.table_kernels import SMALL
from hiertopics.numeric.mixtures import log_rising

CORPUS = random_corpus(91, n_docs=6, n_words=7, largest=4)


def split(z: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(z, np.cumsum(CORPUS.doc_lengths)[:-1])]


def naive_objective(state: Any) -> float:
    doc_prior, word_prior = state.alpha * state.pi, state.word_mass * state.tau
    tokens = log_joint(docs_of(CORPUS), split(state.z), doc_prior.tolist(), word_prior.tolist())
    return tokens + sum(math.log(state.gamma) + (state.gamma - 1) * x for x in state.log_rest)


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("iterations", [0, 1, 10])
def test_objective_is_the_joint_token_by_token(prior: str, iterations: int) -> None:
    """17: log p(z, w, sticks), each token given those before it."""
    keys: dict[str, Any] = {"truncation": 5, "hyper_start": 0, "prior": prior}
    state, data, settings = fitted(gibbs, CORPUS, iterations, **keys)
    found = gibbs.objective(state, data, settings, at(0))
    assert found == pytest.approx(naive_objective(state), rel=1e-12)


def test_sticks_and_weights_agree() -> None:
    """The state's log(1 - v) are those of its pi, also before the first draw."""
    for iterations in (0, 3):
        state, _, _ = fitted(gibbs, CORPUS, iterations, truncation=5, hyper_start=0)
        weights = sticks.weights_from_fractions(-np.expm1(state.log_rest))
        np.testing.assert_allclose(state.pi, weights, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("gamma", [1e-8, 1e-3, 1e4])
def test_extreme_gamma_leaves_a_usable_state(gamma: float) -> None:
    """6, step 3: where a remainder underflows, all stays finite and the weights sum to 1."""
    settings = settings_of(gibbs, truncation=40, hyper_start=0, gamma=gamma)
    state, data = begin(gibbs, CORPUS, settings)
    for iteration in range(30):
        state.gamma = gamma
        state = advance(gibbs, state, data, settings, 1, start=iteration)
        assert np.all(np.isfinite(state.log_rest)) and np.all(state.log_rest <= 0)
        assert np.all(state.pi >= 0) and state.pi.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(state.pi[state.n_k > 0] > 0)
        assert 0 < state.gamma < math.inf and 0 < state.alpha < math.inf
        assert math.isfinite(gibbs.objective(state, data, settings, at(0)))


def test_gamma_is_drawn_from_its_conditional() -> None:
    """6, step 5: given the sticks, gamma ~ Gamma(T, 1 - sum log(1 - v)): a mean of one ratio."""
    state, data, _ = fitted(gibbs, CORPUS, 5, truncation=5, hyper_start=0)
    ratios = []
    for iteration in range(5000):
        gibbs._draw_document_side(state, data, at(iteration))
        ratios.append(state.gamma * (1.0 - state.log_rest.sum()) / 5.0)
    error = np.std(ratios) / math.sqrt(5000)
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * error)
    assert np.std(ratios) == pytest.approx(1 / math.sqrt(5.0), rel=0.05)


@pytest.mark.parametrize("prior", [0.0, 5e-324])
def test_dropped_topics_without_mass_are_one_row_of_their_mean(prior: float) -> None:
    """A stick near 1 leaves later topics nothing that a float can hold."""
    local = gibbs.Local(np.zeros(3, np.int32), np.array([[3, 0, 0]]))
    topics = summary.HdpSummaryInput(
        LocalPieces(Workers(), [None], [local]),
        n_wk=np.array([[2, 0, 0], [1, 0, 0]]),
        n_k=np.array([3, 0, 0]),
        doc_prior=np.array([1.0, prior, prior]),
        word_prior=np.array([0.1, 0.3]),
    )
    found = summary.summarise(topics, 1)
    np.testing.assert_allclose(found.tree.phi[1], [0.25, 0.75])
    assert found.theta.toarray() == pytest.approx(np.array([[1.0, 0.0]]))


@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_the_objective_with_drawn_topics_counts_large_cells(prior: str) -> None:
    """Documents with more than 256 tokens of a topic, which are listed one by one."""
    corpus = corpus_of([[700, 20, 5], [30, 400, 300], [2, 1, 0]])
    keys: dict[str, Any] = {"truncation": 2, "hyper_start": 0, "prior": prior, "start": "random"}
    settings = settings_of(partial, **keys)
    state, data = stepping.begin(partial, corpus, settings)
    state = advance(partial, state, data, settings, 3)
    z = joined(state.local, "z").astype(int)
    n_dk = np.array(
        [np.bincount(part, minlength=2) for part in np.split(z, np.cumsum(corpus.doc_lengths)[:-1])]
    )
    assert (n_dk.sum(axis=0) == state.n_k).all() and (n_dk > SMALL).any()
    doc_prior, word_prior = state.alpha * state.pi, state.word_mass * state.tau
    wanted = log_rising(doc_prior, n_dk).sum() - log_rising(state.alpha, n_dk.sum(axis=1)).sum()
    wanted += log_rising(word_prior[:, None], state.n_wk).sum()
    wanted -= log_rising(state.word_mass, state.n_k).sum()
    wanted += sum(math.log(state.gamma) + (state.gamma - 1) * x for x in state.log_rest)
    assert partial.objective(state, data, settings, at(0)) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("backend", [gibbs, partial])
def test_what_is_written_has_the_priors_that_were_drawn(backend: Any, prior: str) -> None:
    """phi and theta by value, of topics as numbered by their sizes."""
    keys: dict[str, Any] = {"truncation": 5, "hyper_start": 0, "prior": prior, "start": "random"}
    settings = settings_of(backend, **keys)
    state, data = stepping.begin(backend, CORPUS, settings)
    state = advance(backend, state, data, settings, 8)
    found = backend.summarise(state, data, settings, at(8))
    word_prior, doc_prior = state.word_mass * state.tau, state.alpha * state.pi
    assert abs(word_prior.mean() / settings.model.eta - 1) > 0.05
    assert (prior == "AA") == (np.ptp(word_prior) > 1e-9)
    live = np.argsort(-state.n_k, kind="stable")[: int((state.n_k > 0).sum())]
    counts = state.n_wk[:, live].T + word_prior
    n_live = len(live)
    phi = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.tree.phi[:n_live], phi, rtol=1e-10)
    z = joined(state.local, "z").astype(int)
    n_dk = np.array(
        [np.bincount(part, minlength=5) for part in np.split(z, np.cumsum(CORPUS.doc_lengths)[:-1])]
    )
    theta = n_dk + doc_prior
    theta = (theta / theta.sum(axis=1, keepdims=True))[:, live]
    np.testing.assert_allclose(found.theta.toarray()[:, :n_live], theta, rtol=1e-9)


def test_chains_draw_topics_with_numbers_of_their_own() -> None:
    """From one state: other topics and another key of the sweep for each chain."""
    settings = settings_of(partial, truncation=4, start="random")
    state, data = stepping.begin(partial, CORPUS, settings)
    arrays = {"n_wk": state.n_wk, "tau": state.tau}
    tables, keys = [], []
    for chain in ((), (1,), (2,)):
        context = Context(0, 3, stepping.SERIAL, chain=chain)
        prior, table = state.alpha * state.pi, np.zeros_like(data.table)
        told = blocks.drawn(state.word_mass, prior, arrays, table, context)
        held, _ = told.make(told.arrays, told.recipe, told.table, stepping.SERIAL)
        tables.append(table.tobytes())
        keys.append(int(held.key))
    assert len(set(tables)) == len(set(keys)) == 3
