"""The one scorer for topic trees, ours and the peer's: document completion with the tree fixed.

A model enters with its topics, its paths from the root to a leaf, the share of the training
documents on each path and the share of the training tokens at each level; its own inference for
new documents is not used. On every path the level weights of a document come from smoothed EM on
its observed tokens, with prior a0 times the level shares; a path weighs its document share times
the likelihood of the observed tokens. As in ``scorer``, a0 is chosen for each model from one grid
on tokens that no model was trained on and that are not scored.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scorer import arrays_of, standard_error
from benchmarks.splits import Trial, trials
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.holdouts.split import Split
from hiertopics.numeric.jit import kernel

STRENGTHS = tuple(2.0**power for power in range(-1, 9))


class Prior(NamedTuple):
    """Hyperparameters that all trees of a comparison share; level_prior: alphas [depth]."""

    gamma: float
    eta: float
    level_prior: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def settings(self) -> dict[str, Any]:
        """The section ``model`` of our backends."""
        depth, levels = len(self.level_prior), list(self.level_prior)
        return {"depth": depth, "level_prior": levels, "gamma": self.gamma, "eta": self.eta}


class TreeModel(NamedTuple):
    """What a trained tree is to the scorer.

    phi: [K, V], rows sum to 1, every entry > 0. paths: rows of phi, [n_paths, L], root first.
    doc_shares: [n_paths], level_shares: [L], each summing to 1. n_nodes: without rows that stand
    for topics outside the tree.
    """

    phi: F64
    paths: I64
    doc_shares: F64
    level_shares: F64
    n_nodes: int


class TreeScore(NamedTuple):
    """perplexity: word by word; path_perplexity: the path averaged jointly over a document."""

    perplexity: float
    path_perplexity: float
    standard_error: float
    prior_strength: float
    n_docs: int
    n_tokens: int


def score(model: TreeModel, split: Split) -> TreeScore:
    """Choose the prior strength of ``model``, then score it on the scored tokens of ``split``."""
    tuning, final = trials(split)
    tried = {a0: log_likelihoods(model, a0, tuning)[:, 0].sum() for a0 in STRENGTHS}
    strength = max(tried, key=lambda a0: tried[a0])
    by_doc = log_likelihoods(model, strength, final)
    lengths = np.asarray(final.scored.sum(axis=1)).ravel()
    rates = by_doc.sum(axis=0) / lengths.sum()
    return TreeScore(
        perplexity=float(np.exp(-rates[0])),
        path_perplexity=float(np.exp(-rates[1])),
        standard_error=standard_error(by_doc[:, 0], rates[0], lengths),
        prior_strength=strength,
        n_docs=int((lengths > 0).sum()),
        n_tokens=int(lengths.sum()),
    )


def log_likelihoods(model: TreeModel, strength: float, trial: Trial) -> F64:
    """Return the log-likelihood of each document's scored tokens, [D, 2]: by word, jointly."""
    result = np.zeros((trial.scored.shape[0], 2))
    score_all(
        arrays_of(trial.observed, np.float64),
        arrays_of(trial.scored, np.float64),
        np.ascontiguousarray(model.phi.T),
        model.paths,
        np.log(model.doc_shares),
        strength * model.level_shares,
        result,
    )
    return result


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
