"""Responsibilities as a few entries: all of them where there is room, else right on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import begin, pairs_of, perplexity, planted, random_corpus, word_chances
from naive import grouped, pair_sweep, seen
from stepping import advance, at, settings_of

import hiertopics as ht
from hiertopics.base.errors import NumericalError
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat.summary import summary_bytes
from hiertopics.families.flat.variational import settled
from hiertopics.families.hdp import few, few_kernels, posteriors
from hiertopics.families.hdp.variational import all_cvb0, cvb0, few_cvb0, few_pcvb0, pcvb0
from hiertopics.numeric.simd import aligned_rows

BACKENDS = [few_cvb0, few_pcvb0]
KEYS = {"truncation": 8, "hyper_start": 3}


def rows_of(state: Any) -> Any:
    """Return q(z) of all pairs, float64 [n_pairs, T], of the entries."""
    rows = []
    for number in range(state.local.n_pieces):
        local = state.local.state_of(number)
        q = np.zeros((len(local.share), state.n_topics))
        np.add.at(q, (np.arange(len(q))[:, None], local.topic), local.share)
        rows.append(q)
    return np.concatenate(rows)


def begun(backend: Any, corpus: Corpus, iterations: int, **keys: Any) -> Any:
    settings = settings_of(backend, **{**KEYS, **keys})
    state, data = begin(backend, corpus, settings, dtype=np.float32)
    return advance(backend, state, data, settings, iterations), data, settings


def sweep(state: Any, data: Any, settings: Any, iteration: int, *, indicators: bool = False) -> Any:
    prior = posteriors.prior_of(state, settings)
    found = few.sweep(state, data, prior, at(iteration), indicators=indicators, held=False)
    return prior, found


def test_where_all_entries_are_kept_a_sweep_is_the_dense_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A grain below every share: nothing is left to chance, and the twin over pairs agrees."""
    monkeypatch.setattr(few, "GRAIN", 1e-12)
    corpus = random_corpus(3, n_docs=12, n_words=15, largest=11)
    state, data, settings = begun(few_cvb0, corpus, 4)
    pairs = pairs_of(corpus)
    for iteration in (5, 6):
        q = rows_of(state)
        assert (q > 0).all()
        prior, word_seen = sweep(state, data, settings, iteration, indicators=True)
        wanted = pair_sweep(
            pairs,
            q,
            prior.doc.astype(np.float64),
            prior.word.astype(np.float64),
            word_total=prior.word_total,
        )
        np.testing.assert_allclose(rows_of(state), wanted, rtol=2e-4, atol=1e-6)
        expected = seen(pairs, rows_of(state), pairs.word, corpus.n_words)
        np.testing.assert_allclose(word_seen, expected, rtol=1e-5)
        doc_seen = state.local.state_of(0).seen_dk
        expected = seen(pairs, rows_of(state), pairs.doc, corpus.n_docs)
        np.testing.assert_allclose(doc_seen, expected, rtol=1e-5)
        state.local.step(lambda piece, local, _: (settled(local), None), None)


def test_entries_are_the_responsibilities_on_average() -> None:
    """One pair, whose own token is all that is taken out: the mean of many sweeps is its q."""
    corpus = planted(3, n_docs=30, n_words=20, n_topics=5, length=40).train
    state, data, settings = begun(few_cvb0, corpus, 30, truncation=40)
    pairs, before = pairs_of(corpus), rows_of(state)
    prior = posteriors.prior_of(state, settings)
    wanted = pair_sweep(
        pairs,
        before,
        prior.doc.astype(np.float64),
        prior.word.astype(np.float64),
        word_total=prior.word_total,
    )[0]
    assert (wanted[wanted > 0] < few.GRAIN).sum() > 5
    local, n_wk, n_k = state.local.copy(), state.n_wk.copy(), state.n_k.copy()
    n_sweeps, total = 1000, np.zeros(state.n_topics)
    for number in range(n_sweeps):
        state.local, state.n_wk, state.n_k = local.copy(), n_wk.copy(), n_k.copy()
        sweep(state, data, settings, 100 + number)
        total += rows_of(state)[0]
    spread = np.sqrt(wanted * few.GRAIN / n_sweeps)
    np.testing.assert_array_less(np.abs(total / n_sweeps - wanted), 5 * spread + 2e-3)


def test_of_more_shares_than_there_is_room_for_each_has_its_chance() -> None:
    """40 topics of one fortieth each and room for 16: none is preferred for its number."""
    n_topics, room, n_draws = 40, 16, 20_000
    weights = aligned_rows(1, np.zeros((1, n_topics), np.float32))[0]
    weights[:n_topics] = np.float32(1 / n_topics)
    rng = np.random.default_rng(0)
    noise = np.maximum(rng.random(1 << 17, dtype=np.float32), np.float32(few.LEAST))
    names, values = np.zeros(len(weights), np.int32), np.zeros(len(weights), np.float32)
    total = np.zeros(n_topics)
    for start in rng.integers(len(noise) - len(weights), size=n_draws):
        threshold = np.float32(few.GRAIN)
        n_kept = few_kernels.choose(weights, noise, start, threshold, room, names, values)
        assert 1 <= n_kept <= room
        assert values[:n_kept].sum() == pytest.approx(1, abs=1e-5)
        total[names[:n_kept]] += values[:n_kept]
    error = np.sqrt(1 / n_topics / n_draws)  # as if a single topic had everything
    np.testing.assert_array_less(np.abs(total / n_draws - 1 / n_topics), 5 * error)


def test_variances_of_entries_are_sums_over_their_tokens() -> None:
    """cvb0 on few entries: n q (1 - q) of each pair, added up by document and by word."""
    corpus = random_corpus(5, n_docs=7, n_words=9, largest=6)
    state, data, _ = begun(few_cvb0, corpus, 6)
    pairs, q = pairs_of(corpus), rows_of(state)
    assert ((q > 0.05) & (q < 0.95)).sum() > 20
    spread = pairs.count[:, None] * q * (1 - q)
    wanted = np.zeros((corpus.n_words, state.n_topics))
    np.add.at(wanted, pairs.word, spread)
    np.testing.assert_allclose(few.spread(state, data), wanted, rtol=1e-5, atol=1e-6)
    by_doc = np.zeros((corpus.n_docs, state.n_topics))
    np.add.at(by_doc, pairs.doc, spread)
    found = state.local.state_of(0).var_dk
    np.testing.assert_allclose(found, by_doc, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_stay_those_of_the_entries(backend: Any, shards: int) -> None:
    corpus = random_corpus(5, n_docs=25, n_words=30, largest=6)
    settings = settings_of(backend, shards=shards, **{**KEYS, "truncation": 40})
    state, data = begin(backend, corpus, settings, dtype=np.float32)
    pairs = pairs_of(corpus)
    for iteration in range(12):
        state = advance(backend, state, data, settings, 1, start=iteration)
        for table in (state.n_dk, state.n_wk, state.n_k):
            assert table.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
        np.testing.assert_allclose(state.n_wk.sum(axis=0), state.n_k, rtol=1e-4)
        if iteration < KEYS["hyper_start"]:
            continue
        q = rows_of(state)
        assert ((q > 0).sum(axis=1) <= few.ROOM).all()
        np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-5)
        n_dk = grouped(pairs, q, pairs.doc, corpus.n_docs)
        n_wk = grouped(pairs, q, pairs.word, corpus.n_words)
        np.testing.assert_allclose(state.n_dk, n_dk, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.n_wk, n_wk, rtol=1e-4, atol=1e-4)


def test_a_pass_knows_the_responsibilities_from_the_counts() -> None:
    """At a fixed point of hdp-cvb0 a pass, which has no q(z), hardly moves the counts."""
    corpus = planted(6, n_docs=40, n_words=30, n_topics=4, length=30).train
    settings = settings_of(cvb0, **KEYS)
    fixed, data = begin(cvb0, corpus, settings, dtype=np.float32)
    for _ in range(200):
        prior = posteriors.prior_of(fixed, settings)
        fixed = advance(cvb0, fixed, data, settings, 1, start=0)
    state, data = begin(few_cvb0, corpus, settings_of(few_cvb0, **KEYS), dtype=np.float32)
    state.n_wk, state.n_k = fixed.n_wk.copy(), fixed.n_k.copy()
    state.local.state_of(0).n_dk[:] = fixed.n_dk
    few.sweep(state, data, prior, at(1), indicators=False, held=True)
    moved = np.abs(state.n_wk - fixed.n_wk).sum() / corpus.n_tokens
    counts = fixed.n_wk + prior.word[:, None]
    shares = (fixed.n_dk + prior.doc) / (fixed.n_k + prior.word_total)
    pairs = pairs_of(corpus)
    q = counts[pairs.word] * shares[pairs.doc]
    whole = grouped(pairs, q / q.sum(axis=1, keepdims=True), pairs.word, corpus.n_words)
    assert moved < 0.6 * np.abs(whole - fixed.n_wk).sum() / corpus.n_tokens


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_does_not_grow_with_the_truncation(backend: Any) -> None:
    corpus = random_corpus(5, n_docs=25, n_words=30)
    small, large = (begun(backend, corpus, 4, truncation=n)[0] for n in (20, 200))
    for name in ("topic", "share"):
        one, other = (getattr(state.local.state_of(0), name) for state in (small, large))
        assert one.nbytes == other.nbytes > 0
    settings = (settings_of(backend, truncation=n) for n in (20, 200))
    rows = 4 * 180 * 3 * (corpus.n_docs + corpus.n_words) + summary_bytes(corpus, 180)
    first, second = (backend.memory(corpus, each) for each in settings)
    assert second - first == rows


@pytest.mark.parametrize(("backend", "dense"), [(few_cvb0, cvb0), (few_pcvb0, pcvb0)])
def test_planted_topics_are_predicted_as_from_all_responsibilities(
    backend: Any, dense: Any
) -> None:
    case = planted(8, n_docs=150, n_words=60, n_topics=6, length=60)
    found, wanted = (
        perplexity(
            word_chances(each, *begun(each, case.train, 60, truncation=20, hyper_start=15)),
            case.heldout,
        )
        for each in (backend, dense)
    )
    assert found < 1.02 * wanted < case.unigram_perplexity


def test_weights_that_are_no_numbers_are_told() -> None:
    corpus = random_corpus(5, n_docs=10, n_words=12)
    for iterations in (0, 3, 4):
        state, data, settings = begun(few_cvb0, corpus, iterations)
        state.local.state_of(0).n_dk[4] = np.nan
        with pytest.raises(NumericalError, match="document 4"):
            advance(few_cvb0, state, data, settings, 1, start=iterations)


def test_two_documents_and_a_tiny_eta_stay_finite() -> None:
    """Rounding once left fewer tokens of other documents than none, and eta nothing to add."""
    counts = np.array([[0, 1, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1]])
    for seed in range(3):
        run = ht.fit(counts, backend="hdp-pcvb0", seed=seed, holdout="none", iterations=60)
        assert run.status == "done" and np.isfinite(run.tree.phi).all()


def test_whole_rows_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, settings = random_corpus(3, n_docs=12, n_words=15), settings_of(cvb0, **KEYS)
    assert cvb0.choose_variant is not None
    for most, wanted in ((8 * corpus.n_pairs, all_cvb0), (8 * corpus.n_pairs - 1, few_cvb0)):
        monkeypatch.setattr(few, "MOST_ENTRIES", most)
        assert cvb0.choose_variant(corpus, settings) is wanted
        assert cvb0.memory(corpus, settings) == wanted.memory(corpus, settings)


def test_q_of_counts_is_what_continues_them() -> None:
    """Of counts of a fixed point q(z) of all pairs gives the same counts again."""
    case = planted(4, n_docs=40, n_words=30, n_topics=3, length=200)
    settings = settings_of(cvb0, truncation=3, hyper_start=2)
    state, data = begin(cvb0, case.train, settings, dtype=np.float32)
    state = advance(cvb0, state, data, settings, 60)
    assert all_cvb0.extend_state is not None
    again = all_cvb0.extend_state(to_arrays(state), data, settings, at(0))
    moved = np.abs(again.n_wk - state.n_wk).sum() / state.n_wk.sum()
    assert moved < 0.02
    np.testing.assert_allclose(again.n_k, again.n_wk.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(again.n_dk.sum(axis=1), data.doc_lengths, rtol=1e-4)
