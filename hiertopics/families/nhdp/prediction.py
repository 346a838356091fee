"""New documents: fold-in with the tree held fixed, and draws of mixtures (theory/nhdp 7)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.base.made import all_entries
from hiertopics.contract.model import Components, Context, Posterior, Settings
from hiertopics.corpus.data import Corpus, Tree
from hiertopics.families.flat.burst_kernels import HELD_SWEEPS, TableRule
from hiertopics.families.flat.prediction import seating_of, with_tables
from hiertopics.families.nhdp import document_kernels
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.summary import mixing_of
from hiertopics.numeric.pitman_yor_kernels import MeanTables

SWEEPS = 50
TOLERANCE = 1e-4
BLOCK = 1024
"""Documents whose shares are computed together."""

REPORTED = 256
"""Documents after which it is told how many are done."""

NOT_SEATED = TableRule(
    MeanTables(0.0, np.zeros(0, np.int32), np.zeros((0, 0, 2), np.float32), np.zeros(0)),
    1.0,
    refit=False,
)
"""Stands for a seating where documents are not bursty."""


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta of new documents, topics and shares held fixed."""
    phi = np.ascontiguousarray(tree.phi.T)
    return Posterior(all_entries(fold_in(mixing_of(tree), phi, corpus.counts, context)[0]))


def infer_bursty(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and tables of new documents; fitted parameters are held."""
    phi, seating = np.ascontiguousarray(tree.phi.T), seating_of(tree, corpus.counts)
    theta, tables = fold_in(mixing_of(tree), phi, corpus.counts, context, seating)
    return with_tables(theta, tables, corpus.counts)


def fold_in(
    mixing: Mixing,
    phi: F64,
    counts: sparse.csr_array,
    context: Context,
    seating: TableRule | None = None,
) -> tuple[F64, F64]:
    """Return theta [n_docs, K] of documents by their counts, and tables of pairs, float64.

    phi: [n_words, K]. seating: None: a table for each token.
    """
    n_nodes = phi.shape[1]
    theta = mixing.weights(np.zeros((1, n_nodes)))[0]
    parts = (mixing.shape.first, mixing.mass, *mixing[2:])

    seats = seating or NOT_SEATED

    def count(doc: int) -> tuple[F64, F64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells].astype(np.float64)
        n, tables = document_kernels.fold_in(
            words, times, phi, *parts, theta, SWEEPS, TOLERANCE, seats, HELD_SWEEPS
        )
        return n, tables

    found: list[tuple[F64, F64]] = []
    for first in range(0, counts.shape[0], REPORTED):
        found += context.map(count, range(first, min(first + REPORTED, counts.shape[0])))
        context.report(len(found), counts.shape[0])
    rows = np.array([row for row, _ in found]).reshape(counts.shape[0], n_nodes)
    # Shares of one document at a time cost a call for each node: more than the sweeps themselves.
    for first in range(0, len(rows), BLOCK):
        rows[first : first + BLOCK] = mixing.weights(rows[first : first + BLOCK])
    return rows, np.concatenate([np.zeros(0), *(tables for _, tables in found)])


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield ``n_samples`` draws of the mixtures of documents, each of weight 1."""
    mixing = mixing_of(tree)
    for start in range(0, n_samples, BLOCK):
        theta = draw_mixtures(mixing, min(BLOCK, n_samples - start), rng)
        yield Components(np.ones(len(theta)), theta)


def draw_mixtures(mixing: Mixing, n_docs: int, rng: np.random.Generator) -> F64:
    """Draw theta from the model's story, float64 [n_docs, K], rows summing to 1 (section 2)."""
    shape, mass = mixing.shape, mixing.mass
    theta = np.ones((n_docs, shape.n_nodes))
    for node in shape.inner:
        children = shape.children(int(node))
        stop = rng.beta(mixing.stop_a[node], mixing.stop_b[node], n_docs)
        shares = rng.standard_gamma(mass[children], (n_docs, len(mass[children])))
        # Gamma numbers of tiny shapes may all be 0: one child, drawn by its share, then has all.
        none = np.flatnonzero(shares.sum(axis=1) == 0)
        chosen = rng.choice(shares.shape[1], len(none), p=mixing.share[children])
        shares[none, chosen] = 1.0
        going = theta[:, node] * (1.0 - stop)
        theta[:, children] = going[:, None] * (shares / shares.sum(axis=1, keepdims=True))
        theta[:, node] *= stop
    return theta
