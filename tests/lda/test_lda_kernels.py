"""The loops of the sampler against their Python source and against ratios of the joint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lda_cases import settings_of, split, varied_corpus
from naive import sweep_by_lists
from scipy import stats
from stepping import at, docs_of, twins

from hiertopics.families.flat.kernels import fold_in
from hiertopics.families.lda import gibbs, gibbs_kernels as kernels

CORPUS = varied_corpus()
N_TOPICS, ALPHA, ETA = 5, 0.4, 0.3
PRIOR = kernels.LdaPseudoCounts(N_TOPICS, ALPHA, ETA)


def start() -> tuple[kernels.Tokens, kernels.PaddedTopics]:
    """Return tokens and tables of a first state."""
    settings = settings_of(n_topics=N_TOPICS)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    return data.tokens, kernels.PaddedTopics(state.z, state.n_wk, state.n_k)


@pytest.mark.parametrize("alpha", [ALPHA, np.array([0.1, 2.0, 0.4, 0.03, 1.0])])
def test_sweep_equals_its_python_source(alpha: Any) -> None:
    """The draw over whole vectors is one over numbers: equal topics, moves and generators."""
    results: list[list[Any]] = []
    for function in twins(kernels.sweep):
        tokens, tables = start()
        rng = np.random.default_rng(5)
        moved = [function(tokens, tables, PRIOR._replace(alpha=alpha), rng) for _ in range(3)]
        results.append([moved, *tables, rng.bit_generator.state])
    for one, other in zip(*results, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize("n_topics", [3, 40])
def test_a_sweep_by_lists_draws_what_its_plain_twin_draws(n_topics: int) -> None:
    """theory/hdp 6.7: an alpha for each topic; 40 need more than one block and one vector."""
    settings, docs = settings_of(n_topics=n_topics), docs_of(CORPUS)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    alpha = np.random.default_rng(1).gamma(0.5, size=n_topics)
    tables = kernels.PaddedTopics(state.z, state.n_wk, state.n_k)
    z, rows = split(state.z, docs), np.tile(alpha, (CORPUS.n_docs, 1))
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    for _ in range(3):
        kernels.sweep_by_lists(
            data.tokens, tables, kernels.LdaPseudoCounts(n_topics, alpha, ETA), ours
        )
        sweep_by_lists(docs, z, rows, np.full(CORPUS.n_words, ETA), same)
        assert split(state.z, docs) == z
    assert ours.bit_generator.state == same.bit_generator.state


@pytest.mark.parametrize("sweep", [kernels.sweep, kernels.sweep_by_lists])
def test_a_token_is_drawn_by_its_chance_given_the_words_of_all_topics(sweep: Any) -> None:
    """More words than topics: (n_wk + eta) / (n_k + V eta) for a document's only token."""
    tokens, tables = start()
    tables.z[len(tables.z) // 4 :] = 0  # topics of most unequal sizes
    tables.n_wk[:] = 0
    kernels.count_words(tokens.word, tables.z, tables.n_wk)
    tables.n_k[:] = tables.n_wk.sum(axis=0)
    last, n_words = len(tables.z) - 1, CORPUS.n_words
    alone = tokens._replace(doc_ptr=np.array([last, last + 1]))
    n_wk, n_k = tables.n_wk[:, :N_TOPICS].astype(float), tables.n_k[:N_TOPICS].astype(float)
    n_wk[tokens.word[last], tables.z[last]] -= 1
    n_k[tables.z[last]] -= 1
    prior = PRIOR._replace(eta=2.0)
    chances = (n_wk[tokens.word[last]] + 2.0) / (n_k + 2.0 * n_words)
    rng, drawn = np.random.default_rng(6), np.zeros(N_TOPICS)
    for _ in range(40_000):
        sweep(alone, tables, prior, rng)
        drawn[tables.z[last]] += 1
    assert n_words != N_TOPICS
    assert stats.chisquare(drawn, 40_000 * chances / chances.sum()).pvalue > 1e-3


def test_counts_are_those_of_the_tokens() -> None:
    tokens, tables = start()
    docs = docs_of(CORPUS)
    n_dk = np.zeros((CORPUS.n_docs, N_TOPICS), np.int32)
    n_wk = np.zeros_like(tables.n_wk)
    kernels.count_topics(tokens.doc_ptr, tables.z, n_dk)
    kernels.count_words(tokens.word, tables.z, n_wk)
    expected_dk, expected_wk = np.zeros_like(n_dk), np.zeros_like(n_wk)
    for doc, (words, topics) in enumerate(zip(docs, split(tables.z, docs), strict=True)):
        for word, topic in zip(words, topics, strict=True):
            expected_dk[doc, topic] += 1
            expected_wk[word, topic] += 1
    np.testing.assert_array_equal(n_dk, expected_dk)
    np.testing.assert_array_equal(n_wk, expected_wk)
    np.testing.assert_array_equal(tables.n_wk, expected_wk)
    np.testing.assert_array_equal(tables.n_k, expected_wk.sum(axis=0))


@pytest.mark.parametrize("sweep", [kernels.sweep, kernels.sweep_by_lists])
def test_tables_stay_those_of_the_tokens(sweep: Any) -> None:
    """Nothing is lost over many sweeps, and the columns of the padding stay empty."""
    tokens, tables = start()
    rng = np.random.default_rng(8)
    for _ in range(50):
        sweep(tokens, tables, PRIOR, rng)
    n_wk = np.zeros_like(tables.n_wk)
    kernels.count_words(tokens.word, tables.z, n_wk)
    np.testing.assert_array_equal(tables.n_wk, n_wk)
    np.testing.assert_array_equal(tables.n_k, n_wk.sum(axis=0))
    assert tables.z.max() < N_TOPICS


def test_expected_counts_are_a_fixed_point() -> None:
    """Each pair's share is phi times (all other pairs, its own other tokens and the prior)."""
    rng = np.random.default_rng(3)
    phi, prior = rng.dirichlet(np.ones(6), 4).T.copy(), np.array([0.5, 0.2, 0.2, 1.1])
    words, times = np.array([0, 2, 5], np.int32), np.array([3.0, 1.0, 7.0])
    found = fold_in(words, times, phi, prior, 5000, 1e-13, False)
    shares = np.full((3, 4), 0.25)
    for _ in range(5000):
        for pair in range(3):
            others = times @ shares - shares[pair]
            weights = phi[words[pair]] * (others + prior)
            shares[pair] = weights / weights.sum()
    np.testing.assert_allclose(found, times @ shares, rtol=1e-9)
    assert found.sum() == pytest.approx(11)
