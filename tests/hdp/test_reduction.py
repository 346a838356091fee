"""Where the HDP becomes a simpler model: one topic, and sticks fixed to be uniform.

Source: theory/hdp 11.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import (
    BACKENDS,
    VARIATIONAL,
    ZERO_ORDER,
    begin,
    fitted,
    random_corpus,
    token_rows,
    word_chances,
)
from naive import lda_sweep
from scipy.special import digamma, gammaln
from stepping import advance, at, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, I32, Ints
from hiertopics.families.hdp import gibbs
from hiertopics.families.hdp.variational import cvb0, pcvb0

COUNTS = np.array([[4, 0, 1, 0], [2, 3, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
BY_WORD = COUNTS.sum(axis=0)
LENGTHS = np.array([5, 5, 1])
HELD: dict[str, Any] = {"hyper_start": 10**6}


def unigram(word_prior: F64) -> F64:
    return np.asarray((BY_WORD + word_prior) / (BY_WORD + word_prior).sum())


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_topic_is_the_smoothed_unigram_model(backend: Any, prior: str) -> None:
    """11.11: every document predicts (count + prior) / total; perplexity follows by hand."""
    state, data, settings = fitted(
        backend, corpus_of(COUNTS), 4, truncation=1, hyper_start=1, prior=prior
    )
    chances = unigram(state.word_mass * state.tau)
    found = word_chances(backend, state, data, settings)
    np.testing.assert_allclose(found, np.tile(chances, (4, 1)), rtol=1e-10)
    assert state.pi.tolist() == [1.0]
    if backend in VARIATIONAL:
        by_hand = (BY_WORD * np.log(chances)).sum() / BY_WORD.sum()
        assert backend.objective(state, data, settings, at(0)) == pytest.approx(by_hand, rel=1e-10)


def growth(sizes: Ints, value: float) -> float:
    return float((digamma(sizes + value) - digamma(value)).sum())


@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_one_topic_makes_one_table_per_document_and_word_in_pcvb0(prior: str) -> None:
    """11.11: three documents and three words have a token: the first steps by hand."""
    keys: dict[str, Any] = {"truncation": 1, "alpha": 0.7, "eta": 0.3, "prior": prior}
    state, _, _ = fitted(pcvb0, corpus_of(COUNTS), 1, hyper_start=0, **keys)
    assert state.alpha == pytest.approx(3 / growth(LENGTHS, 0.7), rel=1e-12)
    assert state.word_mass == pytest.approx(3 / growth(np.array([11]), 1.2), rel=1e-12)
    assert state.n_tables.tolist() == [3.0]
    assert state.gamma == 1.0
    tau = np.array([1.1, 1.1, 1.1, 0.1]) / 3.4 if prior == "AA" else np.full(4, 0.25)
    np.testing.assert_allclose(state.tau, tau, rtol=1e-12)


def test_one_topic_makes_expected_tables_in_cvb0() -> None:
    """11.11: without variance the expected tables are x (psi(x + n) - psi(x)) exactly."""
    keys: dict[str, Any] = {"truncation": 1, "alpha": 0.7, "eta": 0.3}
    state, _, _ = fitted(cvb0, corpus_of(COUNTS), 1, hyper_start=0, **keys)
    tables = 0.7 * growth(LENGTHS, 0.7)
    assert state.n_tables == pytest.approx([tables], rel=1e-10)
    assert state.alpha == pytest.approx((1 + tables) / (1 + growth(LENGTHS, 0.7)), rel=1e-10)
    word_tables = 0.3 * growth(BY_WORD[BY_WORD > 0], 0.3)
    rate = 1 + growth(np.array([11]), 1.2)
    assert state.word_mass == pytest.approx((1 + word_tables) / rate, rel=1e-10)


def test_one_topic_has_the_polya_probability_of_the_words_in_gibbs() -> None:
    """11.11: the log joint is that of a single urn over the words."""
    state, data, settings = fitted(gibbs, corpus_of(COUNTS), 2, truncation=1, **HELD)
    prior = state.word_mass * state.tau
    by_hand = (gammaln(prior + BY_WORD) - gammaln(prior)).sum()
    by_hand += gammaln(prior.sum()) - gammaln(prior.sum() + 11)
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(by_hand, rel=1e-12)


def uniform_sticks(backend: Any, **others: Any) -> tuple[Any, Any, Any, Any]:
    """Return a corpus without repeated words and a fit whose sticks are held uniform."""
    corpus = random_corpus(51, n_docs=6, n_words=9)
    settings = settings_of(backend, truncation=4, alpha=0.8, eta=0.1, **HELD, **others)
    state, data = begin(backend, corpus, settings)
    np.testing.assert_allclose(state.pi, 0.25, rtol=1e-14)
    return corpus, state, data, settings


@pytest.mark.parametrize("backend", ZERO_ORDER)
def test_uniform_sticks_make_it_lda(backend: Any) -> None:
    """11.11: three sweeps equal those of CVB0 for LDA with alpha / T per topic."""
    corpus, state, data, settings = uniform_sticks(backend)
    q = token_rows(corpus, state.resp)
    state = advance(backend, state, data, settings, 3)
    for _ in range(3):
        lda_sweep(docs_of(corpus), q, corpus.n_words, alpha=0.2, eta=0.1)
    np.testing.assert_allclose(state.resp, [row for rows in q for row in rows], rtol=1e-10)


def test_uniform_sticks_make_it_the_gibbs_sampler_of_lda() -> None:
    """11.11: three sweeps draw what collapsed Gibbs for LDA draws from the same uniforms."""
    corpus, state, data, settings = uniform_sticks(gibbs, sweep="dense")
    z = np.split(state.z.copy(), np.cumsum(corpus.doc_lengths)[:-1])
    for iteration in range(1, 4):
        state = advance(gibbs, state, data, settings, 1, start=iteration - 1)
        uniforms = at(iteration).rng("sweep", 0, 0).random(corpus.n_tokens)
        lda_gibbs_sweep(docs_of(corpus), z, uniforms, alpha=0.2, eta=0.1)
        np.testing.assert_array_equal(state.z, np.concatenate(z))


def lda_gibbs_sweep(
    docs: list[list[int]],
    z: list[I32],
    uniforms: F64,
    *,
    alpha: float,
    eta: float,
) -> None:
    """Redraw every topic of nine words and four topics, counting afresh for each token."""
    words, source = np.concatenate(docs), iter(uniforms)
    for d, doc in enumerate(docs):
        for i, word in enumerate(doc):
            z[d][i] = -1
            chosen = [np.concatenate(z) == k for k in range(4)]
            in_doc = np.array([(z[d] == k).sum() for k in range(4)])
            in_word = np.array([topic[words == word].sum() for topic in chosen])
            in_all = np.sum(chosen, axis=1)
            weights = (in_doc + alpha) * (in_word + eta) / (in_all + 9 * eta)
            z[d][i] = np.searchsorted(np.cumsum(weights), next(source) * weights.sum())
