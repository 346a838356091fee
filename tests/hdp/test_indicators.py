"""E[I(n >= 1)] of documents and words, and Var[n] (theory/hdp 3.2 and 5.2, test 11.3)."""

from __future__ import annotations

import numpy as np
import pytest
from hdp_cases import begin, pairs_of, random_corpus
from naive import grouped, seen
from stepping import corpus_of, settings_of

from hiertopics.base.arrays import Floats
from hiertopics.contract.engine import joined
from hiertopics.families.flat import kernels, moments, variational
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.hdp.variational import cvb0, pcvb0
from hiertopics.numeric.simd import rows_on_lines

PRECISIONS = [(np.float64, 1e-12), (np.float32, 1e-6)]
SHARES = [[0.0, 1.0, 0.0], [0.5, 0.5], [1e-8, 1e-3, 0.2, 0.3, 0.499, 0.0], [1.0]]


def sweep_one_pair(count: int, shares: Floats, seen_before: float) -> tuple[Floats, ExpectedCounts]:
    """Visit a pair of ``count`` tokens so that q becomes ``shares``; return q and the tables."""
    dtype, n_topics = shares.dtype, len(shares)
    cells = lay_out(corpus_of([[count]]), 1, dtype).cells
    rows = [np.full((1, n_topics), 1 / n_topics, dtype) for _ in range(3)]
    tables = ExpectedCounts(*rows, *(np.full((1, n_topics), seen_before, dtype) for _ in range(2)))
    # Counts of a single token: without it only the document's prior is left.
    prior = PseudoCounts(shares, np.ones(1, dtype), 1.0)
    n_k = tables.n_dk[0].astype(np.float64)
    scratch = rows_on_lines(kernels.N_ROWS, tables.resp)
    assert kernels.sweep_block(cells, 0, 0, tables, n_k, prior, scratch) == -1
    return tables.resp[0], tables


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("shares", SHARES, ids=str)
def test_pair_is_seen_with_the_chance_of_one_of_its_tokens(
    shares: list[float], dtype: type, tolerance: float
) -> None:
    """11.3: 1 - (1 - q)^c relative to its size, for c of 1 to 40, at q = 0 and q = 1 too."""
    for count in range(1, 41):
        q, tables = sweep_one_pair(count, np.array(shares, dtype), 0.0)
        with np.errstate(divide="ignore"):
            expected = -np.expm1(count * np.log1p(-q.astype(np.float64)))
        np.testing.assert_allclose(q, shares, atol=1e-7)
        np.testing.assert_allclose(tables.seen_dk[0], expected, rtol=tolerance)
        np.testing.assert_array_equal(tables.seen_dk, tables.seen_wk)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("count", [1, 2, 3, 9, 40])
def test_pair_adds_to_what_has_been_seen(count: int, dtype: type, tolerance: float) -> None:
    """3.2: seen becomes 1 - (1 - seen)(1 - q)^c."""
    q, tables = sweep_one_pair(count, np.array([0.3, 0.7], dtype), 0.25)
    expected = 1.0 - 0.75 * (1.0 - q.astype(np.float64)) ** count
    np.testing.assert_allclose(tables.seen_dk[0], expected, rtol=tolerance)
    np.testing.assert_allclose(tables.seen_wk[0], expected, rtol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("shards", [1, 3])
def test_sweep_returns_the_indicators_of_its_result(
    dtype: type, tolerance: float, shards: int
) -> None:
    """11.3: those gathered during the sweep equal those of q after it."""
    corpus = random_corpus(2, n_docs=8, n_words=11, largest=40)
    state, data = begin(pcvb0, corpus, settings_of(pcvb0, truncation=5, shards=shards), dtype=dtype)
    prior = PseudoCounts(np.full(5, 0.2, dtype), np.full(11, 0.05, dtype), 0.55)
    word_seen = variational.sweep(state, data, prior, indicators=True)
    doc_seen = joined(state.local, "seen_dk")
    pairs, q = pairs_of(corpus), state.resp.astype(np.float64)
    np.testing.assert_allclose(doc_seen, seen(pairs, q, pairs.doc, 8), atol=tolerance)
    np.testing.assert_allclose(word_seen, seen(pairs, q, pairs.word, 11), atol=tolerance)
    assert np.all(doc_seen <= np.minimum(1.0, state.n_dk) + tolerance)
    assert np.all(doc_seen.sum(axis=1) >= 1.0 - tolerance)


def test_many_small_shares_keep_their_digits_in_float32() -> None:
    """3.2: topics that nobody uses, to 1e-5 of their tiny chance of having been seen."""
    corpus = random_corpus(2, n_docs=8, n_words=11, largest=40)
    state, data = begin(pcvb0, corpus, settings_of(pcvb0, truncation=3), dtype=np.float32)
    state.resp[:], state.n_k[:] = [1.0, 0.0, 0.0], 0.0
    variational.recount(state, data)
    doc_prior = np.array([1.0, 1e-6, 1e-7], np.float32)
    prior = PseudoCounts(doc_prior, np.full(11, 0.05, np.float32), 0.55)
    word_seen = variational.sweep(state, data, prior, indicators=True)
    doc_seen = joined(state.local, "seen_dk")
    pairs, q = pairs_of(corpus), state.resp.astype(np.float64)
    assert doc_seen[:, 1:].max() < 1e-2
    np.testing.assert_allclose(doc_seen, seen(pairs, q, pairs.doc, 8), rtol=1e-5)
    np.testing.assert_allclose(word_seen, seen(pairs, q, pairs.word, 11), rtol=1e-5)


@pytest.mark.parametrize("shards", [1, 3])
def test_cvb0_gathers_exact_variances(shards: int) -> None:
    """5.2: Var[n] of every cell, with counts up to 40 and q of 0 and 1."""
    corpus = random_corpus(3, n_docs=8, n_words=11, largest=40)
    state, data = begin(cvb0, corpus, settings_of(cvb0, truncation=4, shards=shards))
    state.resp[0] = [0.0, 1.0, 0.0, 0.0]
    var_dk, var_wk = np.zeros((8, 4)), np.zeros((11, 4))
    for doc_shard in range(shards):
        for word_shard in range(shards):
            moments.spread_block(data.cells, doc_shard, word_shard, state.resp, var_dk, var_wk)
    pairs, q = pairs_of(corpus), state.resp
    spread = q * (1.0 - q)
    np.testing.assert_allclose(var_dk, grouped(pairs, spread, pairs.doc, 8), rtol=1e-12)
    np.testing.assert_allclose(var_wk, grouped(pairs, spread, pairs.word, 11), rtol=1e-12)
