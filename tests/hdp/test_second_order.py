"""The second-order methods: their sweep against a slow twin, their variances, their option."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import SECOND_ORDER, begin, fitted, pairs_of, random_corpus
from naive import (
    expected_log,
    grouped,
    pair_sweep,
    poisson_binomial,
    second_order_sweep,
    seen,
)
from numba import njit
from stepping import advance, at, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.engine import joined
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.hdp import point_estimates, posteriors
from hiertopics.families.hdp.variational import cvb0
from hiertopics.numeric import special
from hiertopics.papers import hdp_second_order as second_order, hdp_second_order_kernels as kernels
from hiertopics.papers.hdp_second_order_backends import cvb, pcvb

HELD: dict[str, Any] = {"hyper_start": 1000, "truncation": 4, "alpha": 0.7, "eta": 0.3}


@njit
def compiled_exp(x: float) -> float:
    return special.exp(x)


def test_compiled_exp_is_that_of_the_library() -> None:
    """float32: within two units in the last place wherever a weight may lie; float64: equal."""
    x = np.linspace(-kernels.LARGEST_EXPONENT, kernels.LARGEST_EXPONENT, 5001)
    single = np.array([compiled_exp(value) for value in x.astype(np.float32)])
    exact = np.exp(x.astype(np.float32).astype(np.float64))
    assert np.abs(single / exact - 1.0).max() < 2 * np.finfo(np.float32).eps
    double = [compiled_exp(value) for value in x]
    np.testing.assert_allclose(double, np.exp(x), rtol=1e-15)
    assert special.exp(1.5) == np.exp(1.5)


@pytest.mark.parametrize("backend", SECOND_ORDER)
@pytest.mark.parametrize("largest", [1, 7])
def test_sweeps_equal_a_slow_twin(backend: Any, largest: int) -> None:
    """5.1: three sweeps over pairs of one or several tokens, everything counted afresh."""
    corpus = random_corpus(81, n_docs=7, n_words=9, largest=largest)
    state, data, settings = fitted(backend, corpus, 0, **HELD)
    state.pi[:] = [0.4, 0.3, 0.2, 0.1]
    if backend is cvb:
        state.pi_geo[:] = state.pi
    q = state.resp.copy()
    state = advance(backend, state, data, settings, 3)
    for _ in range(3):
        q = second_order_sweep(pairs_of(corpus), q, 0.7 * state.pi, np.full(9, 0.3))
    np.testing.assert_allclose(state.resp, q, rtol=1e-9)


def test_it_differs_from_the_zero_order_by_the_variances_alone() -> None:
    """Certain responsibilities have no variance: the next sweep is that of order zero."""
    corpus = random_corpus(82, n_docs=7, n_words=9, largest=3)
    state, data, settings = fitted(pcvb, corpus, 0, **HELD)
    state.resp[:] = np.eye(4)[np.arange(len(state.resp)) % 4]
    pairs = pairs_of(corpus)
    prior = np.full(4, 0.7 / 4), np.full(9, 0.3)
    certain = second_order_sweep(pairs, state.resp, *prior)[0]
    np.testing.assert_allclose(certain, pair_sweep(pairs, state.resp, *prior)[0], rtol=1e-12)
    diffuse = np.full_like(state.resp, 0.25) + 0.05 * state.resp
    diffuse /= diffuse.sum(axis=1, keepdims=True)
    apart = second_order_sweep(pairs, diffuse, *prior) - pair_sweep(pairs, diffuse, *prior)
    assert np.abs(apart).max() > 1e-3


def test_the_second_order_is_nearer_to_the_exact_expectation() -> None:
    """V6: E[log(x + n)] of a sum of Bernoulli variables, for counts that are not rare."""
    rng = np.random.default_rng(83)
    for x in (0.05, 0.3, 1.0):
        chances = rng.uniform(0.2, 0.8, 12)
        law = poisson_binomial(chances.tolist())
        exact = law @ np.log(x + np.arange(len(law)))
        mean, variance = chances.sum(), (chances * (1 - chances)).sum()
        second = expected_log(x, mean, variance)
        assert abs(second - exact) < 0.4 * abs(np.log(x + mean) - exact)


@pytest.mark.parametrize("backend", SECOND_ORDER)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shards", [1, 3])
def test_variances_stay_those_of_the_responsibilities(
    backend: Any, dtype: type, shards: int
) -> None:
    """5.1: moved by c (q_new (1 - q_new) - q_old (1 - q_old)), they are sums of c q (1 - q)."""
    corpus = random_corpus(84, n_docs=25, n_words=30, largest=6)
    settings = settings_of(backend, truncation=8, hyper_start=3, shards=shards)
    state, data = begin(backend, corpus, settings, dtype=dtype)
    pairs = pairs_of(corpus)
    for iteration in range(8):
        state = advance(backend, state, data, settings, 1, start=iteration)
        q = state.resp.astype(np.float64)
        var_dk = grouped(pairs, q * (1 - q), pairs.doc, corpus.n_docs)
        var_wk = grouped(pairs, q * (1 - q), pairs.word, corpus.n_words)
        np.testing.assert_allclose(state.var_dk, var_dk, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.var_wk, var_wk, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.var_k, var_dk.sum(axis=0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("backend", SECOND_ORDER)
def test_variances_are_recounted_with_the_counts(backend: Any) -> None:
    """9.3: what has drifted apart is put right at every tenth iteration."""
    corpus = random_corpus(84, n_docs=10, n_words=12, largest=6)
    state, data, settings = fitted(backend, corpus, 2, **HELD)
    state.var_k += 1e-3
    state, _ = backend.step(state, data, settings, at(9))
    assert abs(state.var_k - state.var_dk.sum(axis=0)).max() > 5e-4
    state, _ = backend.step(state, data, settings, at(10))
    np.testing.assert_allclose(state.var_k, state.var_dk.sum(axis=0), rtol=1e-12)


def test_cvb_refits_given_the_variances_of_its_counts() -> None:
    """5.2: the posteriors are those of tables whose counts vary as q(z) says."""
    corpus = random_corpus(84, n_docs=10, n_words=12, largest=6)
    keys: dict[str, Any] = {"truncation": 4, "hyper_start": 1, "hyper_every": 1}
    state, data, settings = fitted(cvb, corpus, 4, **keys)
    other, _, _ = fitted(cvb, corpus, 4, **keys)
    state, _ = cvb.step(state, data, settings, at(5))
    prior = posteriors.prior_of(other, settings)
    seen_wk = second_order.sweep(other, data, prior, indicators=True)
    var_wk = variational.spread(other, data)
    stats = posteriors.gather(other, seen_wk, var_wk, data, at(5))
    posteriors.global_step(other, stats, data, settings)
    for name in ("alpha", "word_mass", "gamma"):
        assert getattr(state, name) == pytest.approx(getattr(other, name), rel=1e-9)
    np.testing.assert_allclose(state.n_tables, other.n_tables, rtol=1e-9)


@pytest.mark.parametrize("backend", SECOND_ORDER)
def test_indicators_are_exact(backend: Any) -> None:
    """3.2: 1 - prod (1 - q)^c per document and per word, counts up to 40."""
    corpus = random_corpus(85, n_docs=8, n_words=11, largest=40)
    state, data, settings = fitted(backend, corpus, 0, **HELD)
    whole = backend is cvb
    prior = posteriors.prior_of(state, settings) if whole else point_estimates.prior_of(state)
    word_seen = second_order.sweep(state, data, prior, indicators=True)
    doc_seen = joined(state.local, "seen_dk")
    pairs = pairs_of(corpus)
    np.testing.assert_allclose(doc_seen, seen(pairs, state.resp, pairs.doc, 8), rtol=1e-10)
    np.testing.assert_allclose(word_seen, seen(pairs, state.resp, pairs.word, 11), rtol=1e-10)


@pytest.mark.parametrize("backend", SECOND_ORDER)
def test_indicators_change_nothing_else(backend: Any) -> None:
    corpus = random_corpus(85, n_docs=8, n_words=11, largest=40)
    rows = []
    for indicators in (True, False):
        state, data, settings = fitted(backend, corpus, 0, **HELD)
        prior = PseudoCounts(np.full(4, 0.2), np.full(11, 0.1), 1.1)
        second_order.sweep(state, data, prior, indicators=indicators)
        rows.append(state.resp)
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize("backend", [cvb0, cvb])
@pytest.mark.parametrize("denominator", ["E", "G"])
def test_the_denominator_is_the_mean_or_as_printed(backend: Any, denominator: str) -> None:
    """5.2: E[beta0] by derivation, G[beta0] as in (18) and (19)."""
    corpus = random_corpus(86, n_docs=8, n_words=10, largest=6)
    keys: dict[str, Any] = {"truncation": 4, "hyper_start": 2, "prior": "AA", "hyper_every": 1000}
    state, data, settings = fitted(backend, corpus, 3, denominator=denominator, **keys)
    assert state.word_mass_geo < 0.99 * state.word_mass
    twin = second_order_sweep if backend is cvb else pair_sweep
    expected = twin(
        pairs_of(corpus),
        state.resp,
        state.alpha_geo * state.pi_geo,
        state.word_mass_geo * state.tau_geo,
        word_total=state.word_mass if denominator == "E" else state.word_mass_geo,
    )
    state = advance(backend, state, data, settings, 1, start=3)
    np.testing.assert_allclose(state.resp, expected, rtol=1e-9)


class Bench(NamedTuple):
    """The arguments of a sweep, to be visited by the kernel or by its source."""

    cells: Cells
    tables: ExpectedCounts
    spreads: kernels.Spreads
    n_k: F64
    var_k: F64
    prior: PseudoCounts


def bench(corpus: Corpus, dtype: type) -> Bench:
    keys: dict[str, Any] = {**HELD, "dtype": dtype}
    state, data, _ = fitted(pcvb, corpus, 1, **keys)
    seen_dk, seen_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
    return Bench(
        data.cells,
        ExpectedCounts(state.resp, state.n_dk, state.n_wk, seen_dk, seen_wk),
        kernels.Spreads(state.var_dk, state.var_wk),
        state.n_k,
        state.var_k,
        PseudoCounts(
            np.full(4, 0.2, dtype), np.full(corpus.n_words, 0.1, dtype), 0.1 * corpus.n_words
        ),
    )


def sweep(found: Bench) -> int:
    return int(
        kernels.sweep_block(
            found.cells, 0, 0, found.tables, found.spreads, found.n_k, found.var_k, found.prior
        )
    )


def test_float32_does_as_float64_does() -> None:
    corpus = random_corpus(87, n_docs=9, n_words=12, largest=5)
    single, double = bench(corpus, np.float32), bench(corpus, np.float64)
    for target, source in zip((*single.tables, *single.spreads), (*double.tables, *double.spreads),
                              strict=True):  # fmt: skip
        target[:] = source
    single.n_k[:], single.var_k[:] = double.n_k, double.var_k
    assert sweep(single) == sweep(double) == -1
    for rough, exact in zip(single.tables, double.tables, strict=True):
        np.testing.assert_allclose(rough, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_sweep_names_the_document_whose_weights_are_not_finite(dtype: type, poison: float) -> None:
    """4.1: trouble is reported, not carried on."""
    found = bench(random_corpus(87, n_docs=9, n_words=12, largest=5), dtype)
    found.tables.n_dk[4, 1] = poison
    assert sweep(found) == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vast_variances_leave_the_weights_finite(dtype: type) -> None:
    """5.1: exponents are kept within 50, or a certain loss would be exp(-5000) = 0 everywhere."""
    found = bench(random_corpus(87, n_docs=9, n_words=12, largest=5), dtype)
    found.spreads.var_dk[:] = 1e6
    found.spreads.var_wk[:] = 1e6
    assert sweep(found) == -1
    np.testing.assert_allclose(found.tables.resp.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_prior_that_has_vanished_takes_its_topic_out(dtype: type) -> None:
    """4.1: a late stick below the smallest number gives 0 * infinity nowhere."""
    found = bench(random_corpus(87, n_docs=9, n_words=12, largest=5), dtype)
    found.tables.resp[:] = [1 / 3, 1 / 3, 1 / 3, 0]
    for table in (*found.tables[1:3], *found.spreads, found.n_k, found.var_k):
        table[..., 3] = 0.0
    found.prior.doc[3] = 0.0
    assert sweep(found) == -1
    assert found.tables.resp[:, 3].max() == 0.0 < found.tables.resp[:, :3].min()
