"""The loops of the variational methods against their Python source and the naive versions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import VARIATIONAL, begin, pairs_of, random_corpus
from naive import Pairs, fold_in, grouped, pair_sweep, seen
from numpy.typing import NDArray
from stepping import advance, settings_of

from hiertopics.base.arrays import F64, I32
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import kernels, variational
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import Cells, lay_out
from hiertopics.families.hdp.variational import pcvb0
from hiertopics.numeric.simd import rows_on_lines

N_TOPICS = 5
PRECISIONS = [(np.float64, 1e-12), (np.float32, 1e-5)]


class Case(NamedTuple):
    """A corpus in one block, tables before a sweep, and priors."""

    corpus: Corpus
    pairs: Pairs
    cells: Cells
    tables: ExpectedCounts
    n_k: F64
    prior: PseudoCounts


def case(dtype: type, *, indicators: bool = True, n_topics: int = N_TOPICS) -> Case:
    corpus = random_corpus(9, n_docs=7, n_words=10, largest=12)
    state, data = begin(pcvb0, corpus, settings_of(pcvb0, truncation=n_topics), dtype=dtype)
    columns = n_topics if indicators else 0
    tables = ExpectedCounts(
        state.resp,
        state.n_dk,
        state.n_wk,
        np.zeros((corpus.n_docs, columns), dtype),
        np.zeros((corpus.n_words, columns), dtype),
    )
    rng = np.random.default_rng(0)
    doc_prior: NDArray[Any] = rng.gamma(0.5, size=n_topics).astype(dtype)
    word_prior: NDArray[Any] = rng.gamma(0.5, size=corpus.n_words).astype(dtype)
    prior = PseudoCounts(doc_prior, word_prior, float(word_prior.sum(dtype=np.float64)))
    return Case(corpus, pairs_of(corpus), data.cells, tables, state.n_k, prior)


def sweep(case: Case) -> None:
    assert visited(case) == -1


def visited(case: Case) -> int:
    scratch = rows_on_lines(kernels.N_ROWS, case.tables.resp)
    before = (case.cells, 0, 0, case.tables, case.n_k, case.prior)
    return int(kernels.sweep_block(*before, scratch))


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("n_topics", [1, 2, 5, 16, 19])
def test_sweep_equals_the_naive_one(dtype: type, tolerance: float, n_topics: int) -> None:
    """3.1: q, counts and indicators after one sweep, whatever T leaves over for vectors."""
    found = case(dtype, n_topics=n_topics)
    q = pair_sweep(
        found.pairs,
        found.tables.resp.astype(np.float64),
        found.prior.doc.astype(np.float64),
        found.prior.word.astype(np.float64),
    )
    sweep(found)
    pairs, n_docs, n_words = found.pairs, found.corpus.n_docs, found.corpus.n_words
    expected = ExpectedCounts(
        q,
        grouped(pairs, q, pairs.doc, n_docs),
        grouped(pairs, q, pairs.word, n_words),
        seen(pairs, q, pairs.doc, n_docs),
        seen(pairs, q, pairs.word, n_words),
    )
    for name, table in expected._asdict().items():
        values = getattr(found.tables, name)
        np.testing.assert_allclose(values, table, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(found.n_k, expected.n_dk.sum(axis=0), rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweep_does_the_same_with_and_without_indicators(dtype: type) -> None:
    with_them, without = case(dtype), case(dtype, indicators=False)
    sweep(with_them)
    sweep(without)
    np.testing.assert_array_equal(with_them.tables.resp, without.tables.resp)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_sweep_names_the_document_whose_weights_are_not_finite(dtype: type, poison: float) -> None:
    """4.1: trouble is reported, not carried on."""
    found = case(dtype)
    found.tables.n_dk[4, 1] = poison
    bad = visited(found)
    assert bad == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweep_names_the_document_whose_weights_vanish(dtype: type) -> None:
    """4.1: without a prior, a document that holds nothing has no weights at all."""
    found = case(dtype)
    own = slice(found.cells.cuts[0, 0], found.cells.cuts[0, 1])
    found.tables.resp[own] = 0.0
    found.tables.n_dk[0] = 0.0
    found.prior.doc[:] = 0.0
    assert visited(found) == 0


@pytest.mark.parametrize("backend", VARIATIONAL)
@pytest.mark.parametrize("shards", [1, 3])
def test_sweeps_conserve_tokens(backend: Any, shards: int) -> None:
    """Per document, per word and in all, the counts after three sweeps are the tokens."""
    corpus = random_corpus(10, n_docs=20, n_words=25, largest=9)
    settings = settings_of(backend, truncation=N_TOPICS, shards=shards)
    state, data = begin(backend, corpus, settings)
    state = advance(backend, state, data, settings, 3)
    by_word = corpus.counts.toarray().sum(axis=0)
    np.testing.assert_allclose(state.n_dk.sum(axis=1), corpus.doc_lengths, rtol=1e-12)
    np.testing.assert_allclose(state.n_wk.sum(axis=1), by_word, rtol=1e-12)
    np.testing.assert_allclose(state.n_k.sum(), corpus.n_tokens, rtol=1e-12)


@pytest.mark.parametrize("shards", [1, 3])
def test_recount_is_exact_and_reports_the_drift(shards: int) -> None:
    """9.3: counts are rebuilt from q; the largest drift of n_k per token is returned."""
    corpus = random_corpus(10, n_docs=20, n_words=25, largest=9)
    state, data = begin(pcvb0, corpus, settings_of(pcvb0, truncation=N_TOPICS, shards=shards))
    state.n_k[2] += 5e-4 * corpus.n_tokens
    state.n_dk[:], state.n_wk[:] = np.nan, np.nan
    drift = variational.recount(state, data)
    assert drift == pytest.approx(5e-4)
    pairs = pairs_of(corpus)
    n_dk = grouped(pairs, state.resp, pairs.doc, corpus.n_docs)
    n_wk = grouped(pairs, state.resp, pairs.word, corpus.n_words)
    np.testing.assert_allclose(state.n_dk, n_dk, rtol=1e-12)
    np.testing.assert_allclose(state.n_wk, n_wk, rtol=1e-12)
    np.testing.assert_allclose(state.n_k, n_dk.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("shards", [1, 3])
def test_log_likelihood_equals_the_dense_product(
    dtype: type, tolerance: float, shards: int
) -> None:
    corpus = random_corpus(11, n_docs=9, n_words=12, largest=30)
    rng = np.random.default_rng(0)
    theta, phi = rng.dirichlet(np.ones(4), 9), rng.dirichlet(np.ones(12), 4)
    cells = lay_out(corpus, shards, dtype).cells
    word_major: NDArray[Any] = np.ascontiguousarray(phi.T.astype(dtype))
    parts = [
        kernels.block_log_likelihood(cells, shard, theta.astype(dtype), word_major)
        for shard in range(shards)
    ]
    expected = (corpus.counts.toarray() * np.log(theta @ phi)).sum()
    assert sum(parts) == pytest.approx(expected, rel=tolerance)


class Document(NamedTuple):
    """A new document and the topics it is folded into."""

    words: I32
    counts: F64
    phi: F64
    prior: F64


def document() -> Document:
    rng = np.random.default_rng(12)
    phi = np.ascontiguousarray(rng.dirichlet(np.full(20, 0.3), 4).T)
    words = np.array([1, 4, 5, 9, 13], dtype=np.int32)
    counts, prior = [3.0, 1.0, 14.0, 2.0, 1.0], [0.5, 0.3, 0.2, 0.01]
    return Document(words, np.array(counts), phi, np.array(prior))


@pytest.mark.parametrize("n_sweeps", [0, 1, 7])
def test_fold_in_equals_the_naive_one(n_sweeps: int) -> None:
    """7.2: q is proportional to phi (n_dk - q + prior), one token excluded."""
    doc = document()
    expected = fold_in(doc.words.tolist(), doc.counts.tolist(), doc.phi, doc.prior, n_sweeps)
    found = kernels.fold_in(*doc, n_sweeps, 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fold_in_stops_at_its_fixed_point() -> None:
    """Stopped by its tolerance, it has moved to where a thousand more sweeps leave it."""
    doc = document()
    early = kernels.fold_in(*doc, 10_000, 1e-9)
    late = kernels.fold_in(*doc, 11_000, 0.0)
    np.testing.assert_allclose(early, late, atol=1e-6)
    assert np.abs(kernels.fold_in(*doc, 3, 0.0) - late).max() > 1e-3


def test_fold_in_converges_to_the_same_point_in_any_word_order() -> None:
    doc = document()
    order = np.array([3, 0, 4, 1, 2])
    shuffled = doc._replace(words=doc.words[order], counts=doc.counts[order])
    np.testing.assert_allclose(
        kernels.fold_in(*shuffled, 10_000, 1e-12), kernels.fold_in(*doc, 10_000, 1e-12), atol=1e-8
    )
