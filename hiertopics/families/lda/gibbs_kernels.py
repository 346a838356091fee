"""Loops of the collapsed Gibbs sampler of latent Dirichlet allocation over tokens.

Counts have a column per topic, filled up with empty ones to whole vectors (``lanes.padded``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.sweep_kernels import (
    list_words,
    scratch_of,
    sweep_document_by_lists,
    write_words,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.simd import prefetch_row
from hiertopics.numeric.simd_draws import draw_topic

AHEAD = 4
"""Tokens between the one that is drawn and the one whose counts are asked for."""


class Tokens(NamedTuple):
    """Tokens in document order, by word id within a document.

    Those of document d are ``doc_ptr[d] .. doc_ptr[d + 1]``: int64 [n_docs + 1]. word: int32
    [n_tokens].
    """

    doc_ptr: I64
    word: I32


class PaddedTopics(NamedTuple):
    """Topics z int32 [n_tokens] of tokens, and counts n_wk int32 [n_words, P], n_k int64 [P].

    A sweep changes them. The P columns are topics, filled up with empty ones to whole vectors.
    """

    z: I32
    n_wk: I32
    n_k: I64


class LdaPseudoCounts(NamedTuple):
    """Pseudo-counts of each topic in a document (alpha) and of each word in a topic (eta).

    alpha: one for all topics, or float64 [n_topics].
    """

    n_topics: int
    alpha: float | F64
    eta: float


@kernel()
def count_words(word: I32, z: I32, n_wk: I32) -> None:
    """Add every token to n_wk [n_words, P]."""
    for token in range(len(z)):
        n_wk[word[token], z[token]] += 1


@kernel()
def count_topics(doc_ptr: I64, z: I32, n_dk: I32) -> None:
    """Add every token to n_dk [n_docs, n_topics]."""
    for doc in range(len(n_dk)):
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            n_dk[doc, z[token]] += 1


@kernel()
def sweep(
    tokens: Tokens, tables: PaddedTopics, pseudo_counts: LdaPseudoCounts, rng: np.random.Generator
) -> int:
    """Redraw the topic of each token given all others; return how many moved.

    P(z = k) is proportional to (n_dk + alpha_k)(n_wk + eta)/(n_k + V eta) without the token itself.
    """
    doc_ptr, word = tokens
    z, n_wk, n_k = tables
    total_prior = pseudo_counts.eta * len(n_wk)
    one = np.float32(1)
    inverse = np.zeros(len(n_k), np.float32)
    doc_row, share_row, sums = (
        np.zeros_like(inverse),
        np.zeros_like(inverse),
        np.zeros_like(inverse),
    )
    for topic in range(pseudo_counts.n_topics):
        inverse[topic] = 1.0 / (n_k[topic] + total_prior)
    moved = 0
    for doc in range(len(doc_ptr) - 1):
        first, stop = doc_ptr[doc], doc_ptr[doc + 1]
        doc_row[: pseudo_counts.n_topics] = pseudo_counts.alpha
        for token in range(first, stop):
            doc_row[z[token]] += one
        # The product of a topic's document part and inverse total moves only with tokens; it is
        # kept.
        for topic in range(len(n_k)):
            share_row[topic] = doc_row[topic] * inverse[topic]
        uniform = rng.random(stop - first, np.float32)
        for token in range(first, stop):
            if token + AHEAD < stop:
                prefetch_row(n_wk, word[token + AHEAD])
            word_row = n_wk[word[token]]
            old = z[token]
            # The old topic is weighed without the token; the tables change only if the token moves.
            inverse_old = np.float32(1.0 / (n_k[old] - 1 + total_prior))
            share_old = (doc_row[old] - one) * inverse_old
            u = uniform[token - first]
            new = draw_topic(share_row, word_row, pseudo_counts.eta, old, share_old, u, sums)
            # Rounding may lead past the last topic.
            new = min(new, pseudo_counts.n_topics - 1)
            if new == old:
                continue
            doc_row[old] -= one
            word_row[old] -= 1
            n_k[old] -= 1
            inverse[old] = inverse_old
            share_row[old] = share_old
            doc_row[new] += one
            word_row[new] += 1
            n_k[new] += 1
            inverse[new] = 1.0 / (n_k[new] + total_prior)
            share_row[new] = doc_row[new] * inverse[new]
            z[token] = new
            moved += 1
    return moved


@kernel()
def sweep_by_lists(
    tokens: Tokens, tables: PaddedTopics, pseudo_counts: LdaPseudoCounts, rng: np.random.Generator
) -> int:
    """Do as ``sweep`` does, at the cost of the topics of each token's word (theory/hdp 6.7)."""
    doc_ptr, word = tokens
    z, n_wk, n_k = tables
    total_prior, n_words = pseudo_counts.eta * len(n_wk), len(n_wk)
    word_prior = np.full(n_words, pseudo_counts.eta)
    doc_prior, inverse = np.empty(pseudo_counts.n_topics), np.empty(pseudo_counts.n_topics)
    doc_prior[:] = pseudo_counts.alpha
    inverse[:] = 1.0 / (n_k[: pseudo_counts.n_topics] + total_prior)
    doc_row = np.zeros(pseudo_counts.n_topics, np.int32)
    lists = list_words(n_wk, 0, n_words)
    start, length, topics, times = lists
    scaled, chances, sums, before, ends = scratch_of(pseudo_counts.n_topics)
    moved = 0
    for doc in range(len(doc_ptr) - 1):
        first, last = doc_ptr[doc], doc_ptr[doc + 1]
        doc_row[:] = 0
        for token in range(first, last):
            doc_row[z[token]] += 1
        moved += sweep_document_by_lists(
            z[first:last], word[first:last], doc_row, n_k, doc_prior, word_prior, total_prior,
            inverse, start, length, topics, times, scaled, chances, sums, before, ends, rng,
        )  # fmt: skip
    write_words(lists, 0, n_words, n_wk)
    return moved
