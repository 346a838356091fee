"""float32 tables against float64 ones, and the drift of counts that are only moved.

Source: theory/hdp 9.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import (
    SECOND_ORDER,
    VARIATIONAL,
    ZERO_ORDER,
    begin,
    perplexity,
    planted,
    word_chances,
)
from stepping import advance, at, corpus_of, settings_of

from hiertopics.base.errors import NumericalError
from hiertopics.families.flat import variational
from hiertopics.families.hdp.variational import cvb0
from hiertopics.papers import hdp_second_order as second_order

TEXT = planted(71, n_docs=200, n_words=150, n_topics=8, length=60)


@pytest.mark.parametrize("backend", VARIATIONAL)
def test_float32_predicts_as_well_as_float64(backend: Any) -> None:
    """9.3: held-out perplexity after 100 iterations from the same start, within 0.5%."""
    settings = settings_of(backend, truncation=20, hyper_start=15)
    exact, exact_data = begin(backend, TEXT.train, settings)
    rough, rough_data = begin(backend, TEXT.train, settings, dtype=np.float32)
    rough.resp[:], rough.n_k[:] = exact.resp, 0.0
    variational.recount(rough, rough_data)
    if backend in SECOND_ORDER:
        vars(rough).update(second_order.variances(rough, rough_data))
    exact = advance(backend, exact, exact_data, settings, 100)
    rough = advance(backend, rough, rough_data, settings, 100)
    found = perplexity(word_chances(backend, rough, rough_data, settings), TEXT.heldout)
    expected = perplexity(word_chances(backend, exact, exact_data, settings), TEXT.heldout)
    assert found == pytest.approx(expected, rel=5e-3)
    assert found != expected


@pytest.mark.parametrize("backend", VARIATIONAL)
def test_drift_is_small_and_undone(backend: Any) -> None:
    """9.3: ten sweeps in float32 move n_k by less than 1e-3 of the tokens; then it is exact."""
    settings = settings_of(backend, truncation=20)
    state, data = begin(backend, TEXT.train, settings, dtype=np.float32)
    for iteration in range(1, 10):
        state, info = backend.step(state, data, settings, at(iteration))
        assert info.drift == 0.0
    state, info = backend.step(state, data, settings, at(10))
    assert 0.0 < info.drift < 1e-5
    np.testing.assert_array_equal(state.n_k, state.n_dk.sum(axis=0, dtype=np.float64))


@pytest.mark.parametrize("backend", VARIATIONAL)
def test_too_large_a_drift_is_an_error(backend: Any) -> None:
    """9.3: counts that no longer follow from q stop the fit."""
    settings = settings_of(backend, truncation=20)
    state, data = begin(backend, TEXT.train, settings)
    state.n_k[0] += 0.01 * TEXT.train.n_tokens
    with pytest.raises(NumericalError, match="drifted"):
        backend.step(state, data, settings, at(10))


@pytest.mark.parametrize("backend", ZERO_ORDER)
def test_rounding_in_a_long_document_is_no_fault(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9.3: a document of 400,000 tokens in 20,000 pairs rounds its counts at each pair."""
    rng = np.random.default_rng(0)
    rows = [rng.poisson(20, 20_000), *(rng.random((20, 20_000)) < 0.01)]
    settings = settings_of(backend, truncation=3)
    state, data = begin(backend, corpus_of(rows), settings, dtype=np.float32)
    monkeypatch.setattr(variational, "MAX_DRIFT", 1e-4)
    state = advance(backend, state, data, settings, 9)
    state, info = backend.step(state, data, settings, at(10))
    assert info.drift > variational.MAX_DRIFT
    bound = variational.rounding_bound(data, np.float32) / data.doc_lengths.sum()
    assert info.drift < bound < 0.02


def test_what_rounding_can_do_is_in_proportion_to_pairs_and_tokens() -> None:
    """9.3: sums over documents of pairs times tokens, ten sweeps, half a unit in the last place."""
    _, data = begin(cvb0, corpus_of([[3, 0, 1], [0, 2, 0]]), settings_of(cvb0, truncation=2))
    assert variational.rounding_bound(data, np.float32) == 10 * 2.0**-24 * (3 * 4 + 2 * 2)
