"""From counts and weights of any cooperative HDP method to topics, theta and groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.tree import NODE, OUTSIDE, ROOT, Tree
from hiertopics.families.chdp.base_kernels import Weights, base_rows
from hiertopics.families.chdp.layout import Linked
from hiertopics.model import Summary

LIVE_TOKENS = 1.0
PRIOR_DOCS = 0.5
"""Documents like the corpus that the mean of a group's documents is taken with."""

NEARLY_ALL = 0.95


class Fitted(NamedTuple):
    """What every method ends with, on its truncation T.

    n_dk [n_docs, T], n_wk [n_words, T], n_k [T]: (expected) counts. weights: (expected) topic
    weights of the groups with documents and of the corpus. alpha_doc, eta: the concentrations.
    """

    n_dk: NDArray[np.number]
    n_wk: NDArray[np.number]
    n_k: NDArray[np.number]
    weights: Weights
    alpha_doc: float
    eta: float


class TopicCounts(NamedTuple):
    """Effective numbers of topics; the truncation is never one of them.

    n_topics: topics with at least one (expected) token. n_topics_tables: with at least one
    (expected) table. n_topics_99: fewest topics that hold 99% of the tokens.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int


def topic_counts(n_k: NDArray[np.number], n_tables: NDArray[np.number]) -> TopicCounts:
    """Count topics by each rule, from (expected) tokens and tables per topic [T]."""
    share = np.sort(n_k / max(n_k.sum(), 1e-300))[::-1]
    return TopicCounts(
        int((n_k >= LIVE_TOKENS).sum()),
        int((n_tables >= LIVE_TOKENS).sum()),
        int(np.searchsorted(np.cumsum(share), 0.99) + 1) if share[0] > 0 else 0,
    )


def document_weights(n_dk: NDArray[np.number], prior: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return theta [n_docs, T]: (alpha_doc b_dk + n_dk) / (alpha_doc + n_d); prior: alpha_doc b."""
    theta = np.add(n_dk, prior, dtype=np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


def summarise(fitted: Fitted, data: Linked) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    A topic lives with at least one expected token. The row outside is the mean of the dropped
    topics, weighted by their mass in theta and in the corpus, so that theta @ phi keeps every
    document's whole predictive distribution. ``extra`` has what ``infer`` needs: alpha_doc [1],
    corpus_theta [n_nodes] and, for each tag, also those without a training document:
    group_names, group_docs and group_theta [n_tags, n_nodes]; corpus_mean and group_mean
    likewise, the means of theta over tokens and over a group's documents.
    """
    by_size = np.argsort(-fitted.n_k, kind="stable")
    live = by_size[fitted.n_k[by_size] >= LIVE_TOKENS]
    dropped = by_size[fitted.n_k[by_size] < LIVE_TOKENS]
    prior = fitted.alpha_doc * base_rows(data.parents, fitted.weights)
    theta = document_weights(fitted.n_dk, prior)
    phi = np.add(fitted.n_wk, fitted.eta, dtype=np.float64)
    phi /= phi.sum(axis=0)
    rows = phi.T[live]
    if len(dropped):
        mass = theta[:, dropped].sum(axis=0) + fitted.weights.corpus[dropped] + 1e-300
        outside = phi.T[dropped].T @ (mass / mass.sum())
        rows = np.vstack([rows, outside / outside.sum()])
    columns = _gather(theta, live, dropped)
    n_tokens = _gather(fitted.n_k[None].astype(np.float64), live, dropped)[0]
    doc_lengths = np.maximum(fitted.n_dk.sum(axis=1, dtype=np.float64), 1.0)
    kind = np.full(len(rows), NODE, dtype=np.int8)
    kind[len(live) :] = OUTSIDE
    tree = Tree(
        phi=np.ascontiguousarray(rows),
        parent=np.full(len(rows), ROOT, dtype=np.int32),
        kind=kind,
        weight=n_tokens / max(n_tokens.sum(), 1.0),
        n_docs=(columns >= 1.0 / doc_lengths[:, None]).sum(axis=0).astype(np.int64),
        n_tokens=n_tokens,
        extra={
            "alpha_doc": np.array([fitted.alpha_doc]),
            **_weights(fitted, data, theta, live, dropped),
        },
    )
    return Summary(tree, all_entries(columns), notes=_notes(tree, len(fitted.n_k)))


def all_entries(theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return dense rows as CSR with every entry stored: theta has no zeros."""
    n_rows, n_columns = theta.shape
    indices = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    indptr = np.arange(n_rows + 1, dtype=np.int32) * n_columns
    return sparse.csr_array((theta.ravel(), indices, indptr), shape=theta.shape)


def _weights(
    fitted: Fitted,
    data: Linked,
    theta: NDArray[np.float64],
    live: NDArray[np.int64],
    dropped: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """Return the arrays of corpus and tags; a tag without a training document is as the corpus."""
    names = () if data.tags is None else data.tags.names
    n_docs = np.diff(data.parents.group_ptr)
    corpus_mean = fitted.n_k + fitted.weights.corpus
    corpus_mean = corpus_mean / corpus_mean.sum()
    links = (np.ones(len(data.parents.doc)), data.parents.doc, data.parents.group_ptr)
    members = sparse.csr_array(links, shape=(len(n_docs), len(theta)))
    group_mean = (members @ theta + PRIOR_DOCS * corpus_mean) / (n_docs + PRIOR_DOCS)[:, None]
    docs_of_tag = np.zeros(len(names), dtype=np.int64)
    docs_of_tag[data.columns] = n_docs
    arrays = {"group_names": np.array(names, dtype=np.str_), "group_docs": docs_of_tag}
    for name, corpus, groups in (
        ("theta", fitted.weights.corpus, fitted.weights.group),
        ("mean", corpus_mean, group_mean),
    ):
        rows = np.tile(corpus, (len(names), 1))
        rows[data.columns] = groups
        arrays[f"corpus_{name}"] = _gather(_rows_to_one(corpus[None]), live, dropped)[0]
        arrays[f"group_{name}"] = _gather(_rows_to_one(rows), live, dropped)
    return arrays


def _gather(
    rows: NDArray[np.float64], live: NDArray[np.int64], dropped: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the columns of live topics and, where there are any, the sum of the dropped ones."""
    kept = rows[:, live]
    if not len(dropped):
        return kept
    return np.column_stack([kept, rows[:, dropped].sum(axis=1)])


def _rows_to_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / rows.sum(axis=1, keepdims=True)


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
