"""The tree scorer's kernel: level weights of a document on every path, with the topics fixed."""

from __future__ import annotations

import math

import numpy as np

from hiertopics.arrays import F64, I64
from hiertopics.numeric.jit import kernel

STEPS = 40


@kernel()
def level_weights(
    rows: F64,
    counts: F64,
    prior: F64,
    weights: F64,
) -> None:
    """Set ``weights`` [L] by smoothed EM on words with topic rows ``rows`` [n, L]."""
    n_levels = prior.shape[0]
    gained = np.empty(n_levels)
    total = prior.sum() + counts.sum()
    weights[:] = prior / prior.sum()
    for _ in range(STEPS):
        gained[:] = prior
        for pair in range(counts.shape[0]):
            predicted = 0.0
            for level in range(n_levels):
                predicted += weights[level] * rows[pair, level]
            for level in range(n_levels):
                gained[level] += counts[pair] * weights[level] * rows[pair, level] / predicted
        weights[:] = gained / total


@kernel()
def predict_along(rows: F64, weights: F64, chances: F64) -> None:
    """Set ``chances`` [n] to each word's probability on a path."""
    for pair in range(chances.shape[0]):
        chances[pair] = 0.0
        for level in range(weights.shape[0]):
            chances[pair] += weights[level] * rows[pair, level]


@kernel()
def score_document(
    observed: tuple[I64, F64],
    scored: tuple[I64, F64],
    phi_of_word: F64,
    paths: I64,
    log_shares: F64,
    prior: F64,
) -> tuple[float, float]:
    """Return the log-likelihood of the scored words, word by word and jointly over the path.

    paths: rows of topics [n_paths, L]. A path's weight is its share times the likelihood of the
    observed words under the level weights that fit it best.
    """
    seen, seen_counts = observed
    words, counts = scored
    n_paths, n_levels = paths.shape
    weights = np.empty(n_levels)
    log_weight = np.empty(n_paths)
    likelihood = np.empty(n_paths)
    chances = np.empty((n_paths, len(words)))
    fitted = np.empty(len(seen))
    rows, judged = np.empty((len(seen), n_levels)), np.empty((len(words), n_levels))
    for path in range(n_paths):
        for level in range(n_levels):
            topic = paths[path, level]
            for pair in range(len(seen)):
                rows[pair, level] = phi_of_word[seen[pair], topic]
            for pair in range(len(words)):
                judged[pair, level] = phi_of_word[words[pair], topic]
        level_weights(rows, seen_counts, prior, weights)
        predict_along(rows, weights, fitted)
        predict_along(judged, weights, chances[path])
        log_weight[path] = log_shares[path] + (seen_counts * np.log(fitted)).sum()
        likelihood[path] = (counts * np.log(chances[path])).sum()
    log_weight -= log_weight.max()
    log_weight -= math.log(np.exp(log_weight).sum())
    mixed = np.zeros(len(words))
    for path in range(n_paths):
        mixed += math.exp(log_weight[path]) * chances[path]
    joint = log_weight + likelihood
    top = joint.max()
    return (counts * np.log(mixed)).sum(), top + math.log(np.exp(joint - top).sum())


@kernel()
def score_all(
    observed: tuple[I64, I64, F64],
    scored: tuple[I64, I64, F64],
    phi_of_word: F64,
    paths: I64,
    log_shares: F64,
    prior: F64,
    result: F64,
) -> None:
    """Set row d of ``result`` [D, 2] for every document (see ``score_document``)."""
    for doc in range(result.shape[0]):
        seen = slice(observed[0][doc], observed[0][doc + 1])
        judged = slice(scored[0][doc], scored[0][doc + 1])
        result[doc] = score_document(
            (observed[1][seen], observed[2][seen]),
            (scored[1][judged], scored[2][judged]),
            phi_of_word,
            paths,
            log_shares,
            prior,
        )
