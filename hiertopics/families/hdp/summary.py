"""From counts of any HDP method to the flat tree, theta, and inference on new documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import NODE, OUTSIDE, ROOT, Tree
from hiertopics.families.hdp import kernels
from hiertopics.model import Context, Posterior, Settings, Summary

LIVE_TOKENS = 1.0
NEARLY_ALL = 0.95
FOLD_IN_SWEEPS = 50
FOLD_IN_TOLERANCE = 1e-4


class Fitted(NamedTuple):
    """What every HDP method ends with, on its truncation T.

    n_dk [n_docs, T], n_wk [n_words, T], n_k [T]: (expected) counts. doc_prior [T]: alpha E[pi].
    word_prior [n_words]: eta V tau.
    """

    n_dk: NDArray[np.number]
    n_wk: NDArray[np.number]
    n_k: NDArray[np.number]
    doc_prior: NDArray[np.floating]
    word_prior: NDArray[np.floating]


class TopicCounts(NamedTuple):
    """Effective numbers of topics (spec 3.6); the truncation is never one of them.

    n_topics: topics with at least one expected token. n_topics_tables: with at least one
    expected table. n_topics_99: fewest topics that hold 99% of the tokens. n_topics_entropy:
    exp of the entropy of the topics' token shares.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float


def topic_counts(n_k: NDArray[np.number], n_tables: NDArray[np.number]) -> TopicCounts:
    """Count topics by each rule, from (expected) tokens and tables per topic [T]."""
    share = np.sort(n_k / max(n_k.sum(), 1e-300))[::-1]
    positive = share[share > 0]
    return TopicCounts(
        int((n_k >= LIVE_TOKENS).sum()),
        int((n_tables >= LIVE_TOKENS).sum()),
        int(np.searchsorted(np.cumsum(share), 0.99) + 1) if len(positive) else 0,
        float(np.exp(-(positive * np.log(positive)).sum())),
    )


def document_weights(
    n_dk: NDArray[np.number], doc_prior: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return theta, float64 [n_docs, T]: (alpha E[pi] + n_dk) / (alpha + n_d)."""
    theta = np.add(n_dk, doc_prior, dtype=np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


def word_probabilities(fitted: Fitted) -> NDArray[np.float64]:
    """Return phi word-major, float64 [n_words, T]: (n_wk + prior) / (n_k + prior total)."""
    phi = np.add(fitted.n_wk, fitted.word_prior[:, None], dtype=np.float64)
    phi /= phi.sum(axis=0)
    return phi


def summarise(fitted: Fitted) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    A topic lives with at least one expected token. The row outside is the mean of the dropped
    topics, weighted by their mass in theta, so that theta @ phi keeps every document's whole
    predictive distribution.
    """
    by_size = np.argsort(-fitted.n_k, kind="stable")
    live = by_size[fitted.n_k[by_size] >= LIVE_TOKENS]
    dropped = by_size[fitted.n_k[by_size] < LIVE_TOKENS]
    theta = document_weights(fitted.n_dk, fitted.doc_prior)
    phi = word_probabilities(fitted).T
    doc_prior = fitted.doc_prior[live]
    rows, columns = phi[live], theta[:, live]
    n_tokens = fitted.n_k[live].astype(np.float64)
    if len(dropped):
        mass = theta[:, dropped].sum(axis=0) + fitted.doc_prior[dropped]
        outside = mass @ phi[dropped] / mass.sum()
        rows = np.vstack([rows, outside / outside.sum()])
        columns = np.column_stack([columns, theta[:, dropped].sum(axis=1)])
        doc_prior = np.append(doc_prior, fitted.doc_prior[dropped].sum())
        n_tokens = np.append(n_tokens, fitted.n_k[dropped].sum())
    doc_lengths = np.maximum(fitted.n_dk.sum(axis=1, dtype=np.float64), 1.0)
    n_docs = (columns >= 1.0 / doc_lengths[:, None]).sum(axis=0)
    kind = np.full(len(rows), NODE, dtype=np.int8)
    kind[len(live) :] = OUTSIDE
    tree = Tree(
        phi=np.ascontiguousarray(rows),
        parent=np.full(len(rows), ROOT, dtype=np.int32),
        kind=kind,
        weight=n_tokens / max(n_tokens.sum(), 1.0),
        n_docs=n_docs.astype(np.int64),
        n_tokens=n_tokens,
        extra={"doc_prior": doc_prior},
    )
    return Summary(tree, _all_entries(columns), notes=_notes(tree, len(fitted.n_k)))


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta of new documents by fold-in with the topics held fixed (spec 7.2)."""
    prior = tree.extra["doc_prior"]
    phi = np.ascontiguousarray(tree.phi.T)
    counts = corpus.counts

    def weigh(doc: int) -> NDArray[np.float64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells].astype(np.float64)
        n_dk = kernels.fold_in(words, times, phi, prior, FOLD_IN_SWEEPS, FOLD_IN_TOLERANCE)
        return document_weights(n_dk[None, :], prior)[0]

    rows = context.map(weigh, range(corpus.n_docs))
    theta = np.array(rows).reshape(corpus.n_docs, tree.n_nodes)
    return Posterior(_all_entries(theta))


def _notes(tree: Tree, truncation: int) -> tuple[str, ...]:
    """Say where the fit ran into its truncation, or into a single topic."""
    n_topics, notes = len(tree.shown), []
    if n_topics == truncation > 1:
        notes.append(
            f"all {truncation} topics of model.truncation are in use; a larger one may fit better"
        )
    if n_topics and truncation > 1 and tree.weight[tree.shown].max() > NEARLY_ALL:
        notes.append("one topic holds nearly every token; the corpus may be too small or uniform")
    return tuple(notes)


def _all_entries(theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return dense rows as CSR with every entry stored: theta of an HDP has no zeros."""
    n_rows, n_columns = theta.shape
    indices = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int32) * n_columns
    return sparse.csr_array((theta.ravel(), indices, indptr), shape=theta.shape)
