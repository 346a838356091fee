"""The log joint of a chain's paths, levels and words, from its counts (theory/ncrp 5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.numeric.jit import kernel

TABLE = 256
"""Counts below this number are looked up."""


@kernel()
def log_joint(chain: Chain, prior: Prior) -> float:
    """Return log p(paths, levels, words), topics, level weights and sticks integrated out."""
    eta, n_words = prior.eta, chain.n_wk.shape[0]
    table = np.empty(TABLE)
    for count in range(TABLE):
        table[count] = math.lgamma(count + eta) - math.lgamma(eta)
    total = log_trees(chain, prior.gamma) + log_levels(chain.n_dl, prior.level)
    for column in range(len(chain.visits)):
        total += math.lgamma(n_words * eta) - math.lgamma(n_words * eta + chain.n_k[column])
    for word in range(n_words):
        row = chain.n_wk[word]
        for column in range(len(row)):
            count = row[column]
            if count == 0:
                continue
            if count < TABLE:
                total += table[count]
            else:
                total += math.lgamma(count + eta) - math.lgamma(eta)
    return total


@kernel()
def log_trees(chain: Chain, gamma: float) -> float:
    """Return the log probability of the documents' paths under the nested CRP."""
    total, n_levels = 0.0, chain.path.shape[1]
    for column in range(len(chain.visits)):
        visits = chain.visits[column]
        if visits == 0:
            continue
        if column > 0:
            total += math.lgamma(visits) + math.log(gamma)
        if column < chain.first[n_levels - 1]:
            total += math.lgamma(gamma) - math.lgamma(gamma + visits)
    return total


@kernel()
def log_levels(n_dl: NDArray[np.int32], level_prior: NDArray[np.float64]) -> float:
    """Return the log probability of all tokens' levels."""
    mass, total = level_prior.sum(), 0.0
    for doc in range(n_dl.shape[0]):
        length = 0
        for level in range(n_dl.shape[1]):
            count = n_dl[doc, level]
            length += count
            if count > 0:
                total += math.lgamma(level_prior[level] + count) - math.lgamma(level_prior[level])
        if length > 0:
            total += math.lgamma(mass) - math.lgamma(mass + length)
    return total


@kernel()
def count_counts(n_wk: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how often each count occurs, int64 [largest count + 1], zeros not counted."""
    largest = 0
    for word in range(n_wk.shape[0]):
        for column in range(n_wk.shape[1]):
            largest = max(largest, n_wk[word, column])
    times = np.zeros(largest + 1, np.int64)
    for word in range(n_wk.shape[0]):
        for column in range(n_wk.shape[1]):
            count = n_wk[word, column]
            if count > 0:
                times[count] += 1
    return times


@kernel()
def count_all(
    path: NDArray[np.int32],
    level: NDArray[np.int8],
    pair_ptr: NDArray[np.int64],
    word: NDArray[np.int32],
    token_ptr: NDArray[np.int64],
    n_wk: NDArray[np.int32],
    n_dl: NDArray[np.int32],
) -> None:
    """Add every token to n_wk [n_words, C] and n_dl [n_docs, L]."""
    for doc in range(len(path)):
        for pair in range(pair_ptr[doc], pair_ptr[doc + 1]):
            for token in range(token_ptr[pair], token_ptr[pair + 1]):
                n_wk[word[pair], path[doc, level[token]]] += 1
                n_dl[doc, level[token]] += 1
