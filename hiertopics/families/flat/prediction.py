"""Inference on new documents by fold-in, the topics held fixed (theory/hdp 7.2)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I32
from hiertopics.base.axes import Axes
from hiertopics.base.made import all_entries
from hiertopics.contract.model import AnySettings, Context, Posterior
from hiertopics.corpus.data import Corpus, Tree
from hiertopics.families.flat import burst_kernels, kernels
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.summary import document_weights
from hiertopics.numeric.pitman_yor import PitmanYor, mean_tables

EXTRA = {"doc_prior": Annotated[F64, Axes("n_nodes", least=0)]}
"""Arrays of a tree that ``infer`` needs: the pseudo-count of each row in a document."""


BURSTS_EXTRA = {"bursts": Annotated[F64, Axes("2", least=0)]}
"""Further arrays that bursty models need: discount and concentration."""


class FoldIn(NamedTuple):
    """Limits of a fold-in: the number of sweeps, and the change below which it ends.

    from_prior: topics of a pair begin as the prior says; else with none, so that a pair sees only
    those before it in the first sweep.
    """

    sweeps: int = 50
    tolerance: float = 1e-4
    from_prior: bool = True


AS_TRAINED = FoldIn()


class _Document(NamedTuple):
    """words int32, times float64 [n_pairs]; prior, expected [n_nodes] as of ``fold_in``."""

    words: I32
    times: F64
    prior: F64
    expected: F64


def fold_in(
    tree: Tree,
    corpus: Corpus,
    prior: F64,
    expected: F64,
    context: Context,
    how: FoldIn = AS_TRAINED,
) -> Posterior:
    """Return theta of new documents, topics held fixed.

    prior [n_docs, n_nodes]: pseudo-counts under which words are explained. expected [n_docs,
    n_nodes]: those that are added to the counts thus found.
    """
    counts = corpus.counts
    times, ends = counts.data.astype(np.float64), counts.indptr[1:-1]
    pairs = (np.split(counts.indices, ends), np.split(times, ends))
    documents = map(_Document, *pairs, prior, expected)
    phi = np.ascontiguousarray(tree.phi.T)
    rows = context.map(partial(_weigh, phi, how), documents)
    return Posterior(all_entries(np.array(rows).reshape(corpus.n_docs, tree.n_nodes)))


def _weigh(phi: F64, how: FoldIn, document: _Document) -> F64:
    words, times, prior, expected = document
    n_dk = kernels.fold_in(words, times, phi, prior, *how)
    return np.asarray(document_weights(n_dk[None, :], expected)[0])


def infer(
    tree: Tree, corpus: Corpus, settings: AnySettings, context: Context, how: FoldIn = AS_TRAINED
) -> Posterior:
    """Return theta of new documents, each under the prior of the training documents."""
    prior = np.tile(tree.extra["doc_prior"], (corpus.n_docs, 1))
    return fold_in(tree, corpus, prior, prior, context, how)


def infer_bursty(tree: Tree, corpus: Corpus, settings: AnySettings, context: Context) -> Posterior:
    """Return theta of new documents from their tables, and these, topics held fixed."""
    counts, prior = corpus.counts, np.asarray(tree.extra["doc_prior"], np.float64)
    seating = seating_of(tree, counts)
    phi = np.ascontiguousarray(tree.phi.T)
    ends = counts.indptr[1:-1]
    documents = zip(
        np.split(counts.indices, ends), np.split(counts.data.astype(np.float64), ends), strict=True
    )
    found = context.map(partial(_seat, phi, prior, seating), documents)
    n_dk = np.array([n for n, _ in found]).reshape(corpus.n_docs, tree.n_nodes)
    tables = np.concatenate([np.zeros(0), *(each for _, each in found)])
    return with_tables(document_weights(n_dk, prior), tables, counts)


def seating_of(tree: Tree, counts: sparse.csr_array) -> TableRule:
    """Return how tables of documents with these counts are found by the bursts of a tree.

    counts: CSR [n_docs, n_words].
    """
    process = process_of(tree)
    means = mean_tables(counts.data[counts.data > 0], process.discount)
    return TableRule(means, process.concentration)


def with_tables(theta: F64, tables: F64, counts: sparse.csr_array) -> Posterior:
    """Return theta [n_docs, K] of documents with the tables [n_pairs] of their words."""
    at = sparse.csr_array((tables, counts.indices, counts.indptr), shape=counts.shape)
    return Posterior(all_entries(theta), tables=at)


def _seat(phi: F64, prior: F64, seating: TableRule, document: tuple[I32, F64]) -> tuple[F64, F64]:
    resp, tables = burst_kernels.fold_in(
        *document, phi, prior, seating, SWEEPS, AS_TRAINED.tolerance, burst_kernels.HELD_SWEEPS
    )
    # Rows are added one after the other: a product by BLAS rounds as memory happens to be aligned.
    return (tables[:, None] * resp).sum(axis=0), tables


SWEEPS = 200
"""The most sweeps of a fold-in with tables."""


def process_of(tree: Tree) -> PitmanYor:
    """Return discount and concentration of the bursts of a tree."""
    discount, concentration = tree.extra["bursts"].tolist()
    return PitmanYor(discount, concentration)
