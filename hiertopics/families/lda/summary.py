"""From counts to the flat tree of topics and theta of the documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.tree import NODE, OUTSIDE, ROOT, Tree
from hiertopics.model import Summary
from hiertopics.numeric.mixtures import all_entries


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
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    order = np.argsort(-n_k, kind="stable")
    live = order[n_k[order] > 0]
    n_empty = len(order) - len(live)
    phi = n_wk[:, live].T + eta
    prior = np.broadcast_to(alpha, len(order))[order]
    doc_prior = prior[: len(live)]
    theta = np.asarray(n_dk[:, live] + doc_prior, dtype=np.float64)
    n_tokens = n_k[live].astype(np.float64)
    if n_empty:
        phi = np.vstack([phi, np.ones(len(n_wk))])
        prior_of_empty = prior[len(live) :].sum()
        theta = np.column_stack([theta, np.full(len(n_dk), prior_of_empty)])
        doc_prior = np.append(doc_prior, prior_of_empty)
        n_tokens = np.append(n_tokens, 0.0)
    theta /= theta.sum(axis=1, keepdims=True)
    doc_lengths = np.maximum(n_dk.sum(axis=1, dtype=np.float64), 1.0)
    kind = np.full(len(phi), NODE, dtype=np.int8)
    kind[len(live) :] = OUTSIDE
    tree = Tree(
        phi=np.ascontiguousarray(phi / phi.sum(axis=1, keepdims=True)),
        parent=np.full(len(phi), ROOT, dtype=np.int32),
        kind=kind,
        weight=_shares(n_tokens),
        n_docs=(theta >= 1.0 / doc_lengths[:, None]).sum(axis=0).astype(np.int64),
        n_tokens=n_tokens,
        extra={"doc_prior": doc_prior},
    )
    note = "inference.shards has no effect: tokens are visited one after the other"
    return Summary(tree, all_entries(theta), notes=(note,) if shards > 1 else ())


def _shares(n_tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares of the tokens; without a token the row outside, then alone, has it all."""
    total = n_tokens.sum()
    return n_tokens / total if total else np.ones_like(n_tokens)
