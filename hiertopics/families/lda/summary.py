"""From counts to the flat tree of topics and theta of the documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.summary import by_size, notes_on_idle_shards, summary_by_node
from hiertopics.model import Summary


def summarise(
    n_dk: NDArray[np.int32],
    n_wk: NDArray[np.int32],
    alpha: float | NDArray[np.float64],
    eta: float,
    shards: int,
) -> Summary:
    """Return topics with a token as roots, largest first, and theta of the documents.

    n_dk [n_docs, n_topics], n_wk [n_words, n_topics]; alpha: one for all topics or [n_topics].
    Topics without a token all have the flat distribution over words, so that one row outside with
    the sum of their priors loses nothing. The tree keeps ``doc_prior`` [n_nodes], the pseudo-count
    alpha of each row in a document.
    """
    topics = by_size(n_wk.sum(axis=0, dtype=np.int64))
    phi = n_wk[:, topics.live].T + eta
    prior = np.broadcast_to(alpha, len(topics.n_k))
    doc_prior = prior[topics.live]
    theta = np.asarray(n_dk[:, topics.live] + doc_prior, dtype=np.float64)
    if len(topics.dropped):
        phi = np.vstack([phi, np.ones(len(n_wk))])
        prior_of_empty = prior[topics.dropped].sum()
        theta = np.column_stack([theta, np.full(len(n_dk), prior_of_empty)])
        doc_prior = np.append(doc_prior, prior_of_empty)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = np.asarray(phi / phi.sum(axis=1, keepdims=True), dtype=np.float64)
    summary = summary_by_node(topics, rows, theta, n_dk, {"doc_prior": doc_prior})
    return summary.noting(*notes_on_idle_shards(shards, "tokens"))
