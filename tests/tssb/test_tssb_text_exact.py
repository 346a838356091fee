"""The text model in closed form: topics of tokens, the objective, where new documents lie."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, softmax
from stepping import advance, at, begin, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.families.flat.token_layout import lay_out
from hiertopics.families.tssb import text, text_kernels

CORPUS = corpus_of(np.random.default_rng(5).poisson(1.2, (12, 5)))
TINY = corpus_of([[2, 1, 0], [1, 0, 2]])
"""One document whose shares are summed out, and one whose node's shares are known."""

BASE = np.array([[0.5, 0.9], [0.25, 0.75]], np.float32)
ETA = 0.4
N_SWEEPS = 40_000


@pytest.fixture(scope="module")
def fitted() -> Any:
    """Return settings, data and the state of a short fit."""
    settings = settings_of(text.one, n_topics=3, start_sweeps=5)
    state, data = begin(text.one, CORPUS, settings)
    return settings, data, advance(text.one, state, data, settings, 7)


def log_words(word: I64, z: I64, n_words: int, eta: float) -> float:
    """Return the log chance of words given their topics, by the rule of succession."""
    total, seen = 0.0, np.zeros((n_words, int(z.max()) + 1))
    for w, topic in zip(word, z, strict=True):
        total += np.log((seen[w, topic] + eta) / (seen[:, topic].sum() + n_words * eta))
        seen[w, topic] += 1
    return float(total)


def chances_of_topics() -> F64:
    """Return the chance of each of the 64 ways to give the six tokens of TINY a topic."""
    word = np.concatenate(docs_of(TINY))
    scores = []
    for z in map(np.array, itertools.product(range(2), repeat=6)):
        n_0 = np.bincount(z[:3], minlength=2)
        score = (gammaln(BASE[0] + n_0) - gammaln(BASE[0])).sum() + np.log(BASE[1, z[3:]]).sum()
        scores.append(score + log_words(word, z, 3, ETA))
    return np.asarray(softmax(scores))


def test_topics_of_tokens_are_as_often_as_their_posterior_says() -> None:
    """No token counts for itself: neither in its document, nor in its word, nor in its topic."""
    data, rng = lay_out(TINY), np.random.default_rng(0)
    topics = text.counted(data, np.zeros(6, np.int16), 2)
    rows, mixing = np.arange(2, dtype=np.int32), np.array([True, False])
    found = np.zeros(64)
    for _ in range(N_SWEEPS):
        text_kernels.sweep(data.words, topics, BASE, rows, mixing, ETA, rng)
        found[int("".join(map(str, topics.z)), 2)] += 1 / N_SWEEPS
    assert abs(found - chances_of_topics()).sum() / 2 < 0.025
    np.testing.assert_array_equal(topics.n_wk.sum(axis=0), topics.n_k)
    np.testing.assert_array_equal(topics.n_dk.sum(axis=1), [3, 3])


def test_the_objective_is_that_of_nodes_topics_and_words_one_by_one(fitted: Any) -> None:
    """Masses of the documents' nodes, topics given the nodes, words given their topics."""
    settings, data, state = fitted
    nodes, n = state.nodes, int(state.nodes.size[0])
    mass, below, left = np.zeros(n), np.zeros(n), np.ones(n)
    for node, parent in enumerate(nodes.parent[:n]):
        reach = 1.0
        if node:
            reach = below[parent] * left[parent] * np.exp(nodes.log_psi[node])
            left[parent] *= np.exp(nodes.log_psi_rest[node])
        mass[node] = reach * np.exp(nodes.log_nu[node])
        below[node] = reach * np.exp(nodes.log_rest[node])
    z, word = state.topics.z.astype(np.int64), np.concatenate(docs_of(CORPUS)).astype(np.int64)
    node_of_token = np.repeat(state.node, CORPUS.doc_lengths)
    expected = np.log(mass[state.node]).sum() + nodes.value[node_of_token, z].sum()
    expected += log_words(word, z, CORPUS.n_words, settings.model.eta)
    assert text.one.objective(state, data, settings, at(0)) == pytest.approx(expected, rel=1e-9)


def test_a_new_document_lies_at_nodes_by_their_mass_and_its_words(fitted: Any) -> None:
    settings, data, state = fitted
    tree = text.one.summarise(state, data, settings, at(0)).tree
    corpus = corpus_of([[3, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 4, 2]])
    log_weights = tree.extra["log_mass"] + corpus.counts.toarray() @ np.log(tree.phi).T
    theta = text.one.infer(tree, corpus, settings, at(0)).theta.toarray()
    assert theta == pytest.approx(softmax(log_weights, axis=1), abs=1e-11)
    assert theta[1] == pytest.approx(np.exp(tree.extra["log_mass"]), abs=1e-11)
