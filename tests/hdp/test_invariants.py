"""What must hold after every iteration (theory/hdp 11.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import BACKENDS, VARIATIONAL, begin, pairs_of, planted, random_corpus, word_chances
from naive import grouped, seen
from stepping import advance, corpus_of, settings_of

from hiertopics.families.hdp import gibbs
from hiertopics.families.hdp.variational import pcvb0

KEYS = {"truncation": 12, "hyper_start": 3}


@pytest.mark.parametrize("backend", VARIATIONAL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_stay_those_of_the_responsibilities(backend: Any, dtype: type, shards: int) -> None:
    """11.2: rows of q sum to 1, counts to the tokens, and counts equal those rebuilt from q."""
    corpus = random_corpus(5, n_docs=25, n_words=30, largest=6)
    settings = settings_of(backend, shards=shards, **KEYS)
    state, data = begin(backend, corpus, settings, dtype=dtype)
    pairs = pairs_of(corpus)
    for iteration in range(8):
        state = advance(backend, state, data, settings, 1, start=iteration)
        q = state.resp.astype(np.float64)
        np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-5)
        for table in (state.n_dk, state.n_wk, state.n_k):
            assert table.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
        n_dk = grouped(pairs, q, pairs.doc, corpus.n_docs)
        n_wk = grouped(pairs, q, pairs.word, corpus.n_words)
        np.testing.assert_allclose(state.n_dk, n_dk, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.n_wk, n_wk, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.n_k, n_dk.sum(axis=0), rtol=1e-4)


@pytest.mark.parametrize("backend", VARIATIONAL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_start_is_nearly_uniform(backend: Any, dtype: type) -> None:
    """3.5: q proportional to 0.1 + u, u uniform on [0, 1]; priors as configured."""
    corpus = random_corpus(5, n_docs=40, n_words=50)
    settings = settings_of(backend, truncation=8, alpha=2.0, gamma=3.0, eta=0.5)
    state, _ = begin(backend, corpus, settings, dtype=dtype)
    assert state.resp.dtype == state.n_dk.dtype == state.n_wk.dtype == dtype
    shape = state.resp / state.resp.max(axis=1, keepdims=True)
    assert 0.1 / 1.1 <= shape.min() < 0.12
    assert state.resp.mean(axis=0) == pytest.approx(1 / 8, rel=0.05)
    assert (state.alpha, state.gamma, state.word_mass) == (2.0, 3.0, 25.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_concentrations_are_held_and_then_learned(backend: Any) -> None:
    """3.6: all of them keep their start values for ``hyper_start`` iterations, and no longer."""
    corpus = random_corpus(5, n_docs=12, n_words=15, largest=4)
    settings = settings_of(backend, truncation=6, hyper_start=3, alpha=2.0, gamma=3.0, eta=0.5)
    state, data = begin(backend, corpus, settings)
    state = advance(backend, state, data, settings, 3)
    assert (state.alpha, state.gamma, state.word_mass) == (2.0, 3.0, 7.5)
    np.testing.assert_allclose(state.pi, 1 / 6, rtol=1e-12)
    state = advance(backend, state, data, settings, 1, start=3)
    assert state.alpha != 2.0 and state.gamma != 3.0 and state.word_mass != 7.5
    assert np.ptp(state.pi) > 1e-3


@pytest.mark.parametrize("reorder", [True, False])
def test_table_counts_stay_within_their_bounds(reorder: bool) -> None:
    """11.2: n_tables is the sum of E[I(n_dk >= 1)], at most E[n_k] and at most all documents."""
    corpus = planted(6, n_docs=25, n_words=30, n_topics=4, length=20).train
    settings = settings_of(pcvb0, reorder_sticks=reorder, **KEYS)
    state, data = begin(pcvb0, corpus, settings)
    pairs = pairs_of(corpus)
    state = advance(pcvb0, state, data, settings, 3)
    assert not state.n_tables.any()
    for iteration in range(3, 10):
        state = advance(pcvb0, state, data, settings, 1, start=iteration)
        doc_seen = seen(pairs, state.resp, pairs.doc, corpus.n_docs)
        np.testing.assert_allclose(state.n_tables, doc_seen.sum(axis=0), rtol=1e-9)
        assert np.all(state.n_tables <= np.minimum(state.n_k, corpus.n_docs) + 1e-9)
        assert state.n_tables.sum() >= corpus.n_docs


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_weights_and_predictions_are_distributions(backend: Any, prior: str) -> None:
    """11.2: pi, tau and p(. | d) sum to 1; the concentrations are positive and finite."""
    counts = random_corpus(7, n_docs=12, n_words=15, largest=5).counts.toarray()
    counts[3] = 0  # a document without a token
    counts[:, 9] = 0  # a word without a token
    corpus = corpus_of(counts)
    settings = settings_of(backend, prior=prior, **KEYS)
    state, data = begin(backend, corpus, settings)
    for iteration in range(6):
        state = advance(backend, state, data, settings, 1, start=iteration)
        assert state.pi.sum() == pytest.approx(1.0, abs=1e-12)
        assert state.tau.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(state.pi > 0) and np.all(state.tau > 0)
        concentrations = [state.alpha, state.gamma, state.word_mass]
        assert np.all(np.isfinite(concentrations)) and min(concentrations) > 0
        chances = word_chances(backend, state, data, settings)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-9)
        assert chances.min() > 0


@pytest.mark.parametrize("shards", [1, 3])
def test_gibbs_counts_are_those_of_its_topics(shards: int) -> None:
    """Counters equal a recount of z; tables lie between occupied cells and tokens."""
    corpus = random_corpus(8, n_docs=12, n_words=15, largest=5)
    settings = settings_of(gibbs, shards=shards, **KEYS)
    state, data = begin(gibbs, corpus, settings)
    pairs = pairs_of(corpus)
    doc = np.repeat(pairs.doc, pairs.count.astype(int))
    for iteration in range(6):
        state = advance(gibbs, state, data, settings, 1, start=iteration)
        n_dk, n_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
        np.add.at(n_dk, (doc, state.z), 1)
        np.add.at(n_wk, (data.cells.word, state.z), 1)
        np.testing.assert_array_equal(state.n_dk, n_dk)
        np.testing.assert_array_equal(state.n_wk, n_wk)
        np.testing.assert_array_equal(state.n_k, n_dk.sum(axis=0))
        if iteration >= KEYS["hyper_start"]:
            # The tables are drawn after the sweep and from the counts of this very state.
            assert np.all(state.n_tables >= (n_dk > 0).sum(axis=0))
            assert np.all(state.n_tables <= state.n_k)
