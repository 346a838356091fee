"""The base weights of documents: how the topic weights of their parents cooperate.

With pi_a the weights of group a and lambda the shares of a document's parents, the base b of
Dir(alpha_doc b) is sum_a lambda_a pi_a (superposition) or max_a pi_a / Z, Z = sum_k max_a pi_ak
(maximization); that of a document without parents is pi_0 (theory/chdp 0 and 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.families.chdp.layout import Parents, Piece
from hiertopics.families.flat.sampler_kernels import PRIORS
from hiertopics.numeric.jit import kernel


class Weights(NamedTuple):
    """Topic weights of groups [n_groups, T] and of the corpus [T], and shares of links [n_links].

    maximization: how parents cooperate; the shares then have no meaning.
    """

    group: F64
    corpus: F64
    share: F64
    maximization: bool

    def with_shares(self, links: Parents | Piece, learned: F64) -> Weights:
        """Return the weights with the shares of these links; uniform if none are learned: [0]."""
        return self._replace(share=links.shares(learned))


@kernel()
def base_row(doc: int, parents: Parents, weights: Weights, row: F64) -> float:
    """Write the base of a document to ``row`` [T]; return Z (1 under superposition).

    A single parent's weights are copied, so that both cooperations agree to the bit.
    """
    first, last = parents.ptr[doc], parents.ptr[doc + 1]
    if first == last:
        row[:] = weights.corpus
        return 1.0
    if last == first + 1:
        row[:] = weights.group[parents.group[first]]
        return 1.0
    row[:] = 0.0
    for link in range(first, last):
        parent = weights.group[parents.group[link]]
        if weights.maximization:
            for topic in range(len(row)):
                row[topic] = max(row[topic], parent[topic])
        else:
            for topic in range(len(row)):
                row[topic] += weights.share[link] * parent[topic]
    if not weights.maximization:
        return 1.0
    total = row.sum()
    row /= total
    return total


class DocumentBases(NamedTuple):
    """The priors of a sweep: those of documents are alpha_doc times their bases.

    word: float64 [n_words], pseudo-counts of the words of a block; word_total: of all words.
    """

    parents: Parents
    weights: Weights
    alpha_doc: float
    word: F64
    word_total: float


@kernel()
def prior_by_base(prior: DocumentBases, doc: int, row: F64) -> F64:
    """Write alpha_doc times the base of a document to ``row`` [T], and return it."""
    base_row(doc, prior.parents, prior.weights, row)
    row *= prior.alpha_doc
    return row


PRIORS[DocumentBases] = prior_by_base


@kernel()
def base_rows(parents: Parents, weights: Weights) -> F64:
    """Return the bases of all documents [n_docs, T]."""
    rows = np.empty((len(parents.ptr) - 1, len(weights.corpus)))
    for doc in range(len(rows)):
        base_row(doc, parents, weights, rows[doc])
    return rows
