"""The scorer's two kernels: theta of documents with phi fixed, and the score of their tokens.

float32 with free summation order, so that the inner loops over topics use the whole width of
the processor; ``benchmarks selfcheck`` compares them with a plain float64 version.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F32, F64, I64
from hiertopics.numeric.jit import REASSOCIATE, kernel


@kernel(fastmath=REASSOCIATE)
def _em_step(
    rows: F32,
    counts: F32,
    prior: F32,
    theta: F32,
    gained: F32,
) -> float:
    """Do one smoothed EM step on ``theta`` in place; return how far it moved (L1)."""
    n_topics = theta.shape[0]
    gained[:] = 0.0
    total = np.float32(0.0)
    for pair in range(counts.shape[0]):
        row = rows[pair]
        predicted = np.float32(0.0)
        for topic in range(n_topics):
            predicted += theta[topic] * row[topic]
        weight = counts[pair] / predicted
        for topic in range(n_topics):
            gained[topic] += weight * row[topic]
    for topic in range(n_topics):
        gained[topic] = theta[topic] * gained[topic] + prior[topic]
        total += gained[topic]
    moved = np.float32(0.0)
    for topic in range(n_topics):
        fresh = gained[topic] / total
        moved += abs(fresh - theta[topic])
        theta[topic] = fresh
    return float(moved)


@kernel(fastmath=REASSOCIATE)
def fold_in(
    indptr: I64,
    words: I64,
    counts: F32,
    phi_of_word: F32,
    prior: F32,
    max_steps: int,
    tolerance: float,
    theta: F32,
) -> None:
    """Set row d of ``theta`` [D, K] for document d: EM steps from the prior's mean on.

    phi_of_word: [V, K]. prior: [K], strength times topic shares. A document stops after
    ``max_steps`` or once a step moves its theta by less than ``tolerance``.
    """
    longest = 0
    for doc in range(theta.shape[0]):
        longest = max(longest, indptr[doc + 1] - indptr[doc])
    rows = np.empty((longest, prior.shape[0]), np.float32)
    gained = np.empty(prior.shape[0], np.float32)
    start = prior / prior.sum()
    for doc in range(theta.shape[0]):
        first, last = indptr[doc], indptr[doc + 1]
        for pair in range(last - first):
            rows[pair] = phi_of_word[words[first + pair]]
        theta[doc] = start
        for _ in range(max_steps):
            own = rows[: last - first]
            if _em_step(own, counts[first:last], prior, theta[doc], gained) < tolerance:
                break


@kernel(fastmath=REASSOCIATE)
def log_likelihoods(
    indptr: I64,
    words: I64,
    counts: F32,
    phi_of_word: F32,
    theta: F32,
    result: F64,
) -> None:
    """Set ``result[d]`` to the log-likelihood of document d's tokens under ``theta[d] @ phi``."""
    for doc in range(result.shape[0]):
        result[doc] = 0.0
        for pair in range(indptr[doc], indptr[doc + 1]):
            row = phi_of_word[words[pair]]
            predicted = 0.0
            for topic in range(row.shape[0]):
                predicted += theta[doc, topic] * row[topic]
            result[doc] += counts[pair] * math.log(predicted)
