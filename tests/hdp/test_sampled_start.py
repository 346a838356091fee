"""A start that a short run of the sampler makes: its counts, its numbers, what it is good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepping
from hdp_cases import begin, perplexity, planted, random_corpus, word_chances
from stepping import advance, at, settings_of

from hiertopics.contract.engine import Workers
from hiertopics.families.flat.token_kernels import count_tokens
from hiertopics.families.hdp import beginnings, gibbs
from hiertopics.families.hdp.variational import cvb0, few_cvb0, few_pcvb0, pcvb0

BACKENDS = [cvb0, pcvb0, few_cvb0, few_pcvb0]
FEW = [few_cvb0, few_pcvb0]
SAMPLED = {"start": "gibbs", "truncation": 7, "start_sweeps": 4}
SEEDS = {"first": ["w1", "w2"], "second": ["w4"]}


def begun(backend: Any, shards: int, workers: int = 1, **keys: Any) -> Any:
    corpus = random_corpus(5, n_docs=25, n_words=30, largest=6)
    settings = settings_of(backend, shards=shards, **{**SAMPLED, **keys})
    with Workers(workers) as pool:
        state, data = stepping.begin(backend, corpus, settings, workers=pool)
    return state, data, settings, corpus


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_of_the_start_are_those_of_whole_tokens(backend: Any, shards: int) -> None:
    state, _, _, corpus = begun(backend, shards)
    counts = corpus.counts.toarray()
    np.testing.assert_array_equal(state.n_dk.sum(axis=1), counts.sum(axis=1))
    np.testing.assert_array_equal(state.n_wk.sum(axis=1), counts.sum(axis=0))
    np.testing.assert_array_equal(state.n_wk.sum(axis=0), state.n_k)
    np.testing.assert_array_equal(state.n_dk.sum(axis=0), state.n_k)
    for table in (state.n_dk, state.n_wk):
        np.testing.assert_array_equal(table, np.rint(table))


@pytest.mark.parametrize("backend", [cvb0, pcvb0])
@pytest.mark.parametrize("shards", [1, 3])
def test_rows_are_the_shares_of_topics_that_the_counts_count(backend: Any, shards: int) -> None:
    state, _, _, corpus = begun(backend, shards)
    doc, word = corpus.counts.tocoo().coords
    parts = corpus.counts.data[:, None] * state.resp
    np.testing.assert_allclose(state.resp.sum(axis=1), 1.0, rtol=1e-6)
    n_dk, n_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
    np.add.at(n_dk, doc, parts)
    np.add.at(n_wk, word, parts)
    np.testing.assert_allclose(n_dk, state.n_dk, atol=1e-4)
    np.testing.assert_allclose(n_wk, state.n_wk, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_draw_is_that_of_the_sampler_with_these_numbers(backend: Any) -> None:
    """hdp-gibbs in tokens of its own, from the same topics: the same draw and concentrations."""
    state, data, settings, corpus = begun(backend, 1)
    schedule = settings_of(gibbs, hyper_start=0, truncation=SAMPLED["truncation"])
    tokens = gibbs.prepare(corpus, schedule)
    wanted = gibbs.init(tokens, schedule, at(0))
    local = wanted.local.state_of(0)
    rng = at(0).rng("init", 0)
    local.z[:] = gibbs.begin_topics(tokens.cells.word, state.n_topics, data.seeds, rng)
    local.n_dk[:] = wanted.n_wk[:] = 0
    count_tokens(tokens.cells, local.z, local.n_dk, wanted.n_wk)
    wanted.n_k[:] = wanted.n_wk.sum(axis=0)
    for sweep in range(1, 5):
        context = at(sweep)
        object.__setattr__(context, "chain", (beginnings.CHAIN,))
        wanted, _ = gibbs.step(wanted, tokens, schedule, context)
    np.testing.assert_array_equal(state.n_dk, wanted.n_dk)
    np.testing.assert_array_equal(state.n_wk, wanted.n_wk)
    np.testing.assert_array_equal(state.n_tables, wanted.n_tables)
    for name in ("alpha", "word_mass"):
        value = getattr(wanted, name)
        assert getattr(state, name) == getattr(state, f"{name}_geo", value) == value
    for name in ("pi", "tau"):
        value = getattr(wanted, name)
        np.testing.assert_array_equal(getattr(state, name), value)
        np.testing.assert_array_equal(getattr(state, f"{name}_geo", value), value)
    assert state.gamma == wanted.gamma


@pytest.mark.parametrize("backend", FEW)
def test_who_works_changes_no_byte(backend: Any) -> None:
    one, other = (begun(backend, 3, workers)[0] for workers in (1, 3))
    np.testing.assert_array_equal(one.n_dk, other.n_dk)
    np.testing.assert_array_equal(one.n_wk, other.n_wk)
    assert (one.alpha, one.word_mass, one.gamma) == (other.alpha, other.word_mass, other.gamma)


@pytest.mark.parametrize("backend", FEW)
def test_nothing_is_held_after_a_sampled_start(backend: Any) -> None:
    """The first iteration has entries, which the counts count, and learns concentrations."""
    state, data, settings, corpus = begun(backend, 1)
    alpha = state.alpha
    state = advance(backend, state, data, settings, 1)
    local = state.local.state_of(0)
    np.testing.assert_allclose(local.share.sum(axis=1), 1.0, rtol=1e-5)
    assert state.alpha != alpha
    n_wk = np.zeros_like(state.n_wk)
    word = corpus.counts.tocoo().coords[1]
    parts = corpus.counts.data[:, None] * local.share
    np.add.at(n_wk, (word[:, None], local.topic), parts)
    np.testing.assert_allclose(n_wk, state.n_wk, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_named_topics_keep_their_numbers(backend: Any) -> None:
    """Seed words count beside all tokens, at their names, whatever their weight."""
    keys: dict[str, Any] = {"seeds": SEEDS, "seed_weight": 400, "start_sweeps": 40}
    state, data, _, corpus = begun(backend, 3, **keys)
    added = np.zeros_like(state.n_wk)
    data.seeds.add_to(added)
    assert added.sum() == 1200
    tokens = state.n_wk - added
    assert tokens.min() == 0
    np.testing.assert_array_equal(tokens.sum(axis=1), corpus.counts.toarray().sum(axis=0))
    np.testing.assert_array_equal(tokens.sum(axis=0), state.n_k)


@pytest.mark.parametrize("backend", [few_cvb0, cvb0])
def test_long_documents_of_many_topics_come_back_better(backend: Any) -> None:
    """From random q(z) documents keep too few topics for good, and alpha says so."""
    case = planted(8, n_docs=80, n_words=300, n_topics=40, length=500, eta=0.05, theta_prior=1.0)

    def found(**keys: Any) -> tuple[float, float]:
        settings = settings_of(backend, truncation=80, **keys)
        state, data = begin(backend, case.train, settings, dtype=np.float32)
        state = advance(backend, state, data, settings, 60)
        chances = word_chances(backend, state, data, settings)
        return perplexity(chances, case.heldout), state.alpha

    score, alpha = found(start="gibbs", start_sweeps=60)
    random_score, random_alpha = found()
    assert score < 0.985 * random_score
    assert random_alpha < 26 < 36 < alpha < 45
