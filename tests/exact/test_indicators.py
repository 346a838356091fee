"""E[I(n >= 1)] of documents and words (spec 3.2, test 11.3)."""

from __future__ import annotations

import numpy as np
import pytest
from exact.cases import at, begin, pairs_of, random_corpus, settings_of
from naive import grouped, seen
from numpy.typing import NDArray

from hiertopics.backends.hdp import cvb0, moments, pcvb0, variational
from hiertopics.backends.hdp.kernels import Prior

SHARES = [0.0, 1e-8, 1e-3, 0.25, 0.5, 0.9, 1.0 - 1e-6, 1.0]
PRECISIONS = [(np.float64, 1e-12), (np.float32, 1e-6)]


def by_logs(share: NDArray[np.floating], count: int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(count * np.log1p(-share.astype(np.float64))))


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("shards", [1, 3])
def test_sweep_returns_the_indicators_of_its_result(
    dtype: type, tolerance: float, shards: int
) -> None:
    """11.3: those gathered during the sweep equal those of q after it."""
    corpus = random_corpus(2, n_docs=8, n_words=11, largest=40)
    state, data = begin(pcvb0, corpus, settings_of(pcvb0, truncation=5, shards=shards), dtype=dtype)
    prior = Prior(np.full(5, 0.2, dtype), np.full(11, 0.05, dtype), 0.55)
    doc_seen, word_seen = variational.sweep(state, data, prior, at(1), indicators=True)
    pairs, q = pairs_of(corpus), state.resp.astype(np.float64)
    np.testing.assert_allclose(doc_seen, seen(pairs, q, pairs.doc, 8), atol=tolerance)
    np.testing.assert_allclose(word_seen, seen(pairs, q, pairs.word, 11), atol=tolerance)
    assert np.all(doc_seen <= np.minimum(1.0, state.n_dk) + tolerance)
    assert np.all(doc_seen.sum(axis=1) >= 1.0 - tolerance)


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
