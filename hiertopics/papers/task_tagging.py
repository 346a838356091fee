"""Prediction of groups or labels of a document from its words (theory/chdp 6.3), and scores.

Metrics of multi-label classification are as scikit-learn defines them (coverage less 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, Bools
from hiertopics.scoring.request import Metrics

MAX_STEPS = 100
TOLERANCE = 1e-4
PRUNE_EVERY = 5
NEGLIGIBLE = 1e-6
"""Tags of smaller weight stay where they are: of thousands of authors few remain in question."""

SMALLEST = 1e-300


class Tagger(NamedTuple):
    """The model by which tags are scored.

    theta: weights of tags over nodes [n_tags, n_nodes]. phi: [n_nodes, n_words]. prior: share of
    each tag beforehand [n_tags], positive, sum 1.
    """

    theta: F64
    phi: F64
    prior: F64


def mixture(chances: F64, counts: F64, prior: F64, strength: float) -> F64:
    """Return the most probable mixing weights of tags [n_tags] under Dir(1 + strength prior).

    chances: p(word | tag) [n_tags, n_pairs]; counts [n_pairs]. By EM from the prior.
    """
    weights = prior.copy()
    active = np.arange(len(prior))
    for step in range(MAX_STEPS):
        own = weights[active]
        tokens = own * (chances @ (counts / (own @ chances))) + strength * prior[active]
        moved = tokens * (own.sum() / tokens.sum())
        change = np.abs(moved - own).max()
        weights[active] = moved
        if change < TOLERANCE:
            break
        if step % PRUNE_EVERY == PRUNE_EVERY - 1:
            kept = moved > NEGLIGIBLE
            active, chances = active[kept], chances[kept]
    return weights


def single(chances: F64, counts: F64, prior: F64, strength: float) -> F64:
    """Return the probability of each tag [n_tags] if a document has exactly one of them.

    Tokens are not independent of each other: ``strength`` of them count as one.
    """
    logs = np.log(chances) @ counts / strength + np.log(prior)
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


RULES: dict[str, Callable[[F64, F64, F64, float], F64]] = {"mixture": mixture, "single": single}


def tag_scores(
    tagger: Tagger, counts: sparse.csr_array, choices: list[tuple[str, float]]
) -> list[F64]:
    """Return a score of each tag for each document [n_docs, n_tags] by each (rule, strength).

    Rows sum to 1. A document without words gives the prior.
    """
    found = [np.tile(tagger.prior, (counts.shape[0], 1)) for _ in choices]
    for doc in range(counts.shape[0]):
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        if cells.start == cells.stop:
            continue
        chances = np.maximum(tagger.theta @ tagger.phi[:, counts.indices[cells]], SMALLEST)
        tokens = counts.data[cells].astype(np.float64)
        for scores, (rule, strength) in zip(found, choices, strict=True):
            scores[doc] = RULES[rule](chances, tokens, tagger.prior, strength)
    return found


def padded(scores: F64, n_tags: int) -> F64:
    """Return scores with columns of -1 for tags that no training document has.

    float64 [n_docs, n_tags]. scores: those of the first tags.
    """
    return np.pad(scores, ((0, 0), (0, n_tags - scores.shape[1])), constant_values=-1.0)


Truth = Bools
Scores = F64


def metrics(truth: Truth, scores: Scores, predicted: Truth) -> Metrics:
    """Return all metrics; truth, scores and predicted are [n_docs, n_labels], with a document."""
    hits = (truth & predicted).sum(axis=0)
    sizes = truth.sum(axis=0) + predicted.sum(axis=0)
    return {
        "hamming_loss": float(np.mean(truth != predicted)),
        "ranking_loss": float(ranking_losses(truth, scores).mean()),
        "one_error": float(one_errors(truth, scores).mean()),
        "coverage": float(coverages(truth, scores).mean()),
        "average_precision": float(average_precisions(truth, scores).mean()),
        "micro_f1": float(2 * hits.sum() / max(sizes.sum(), 1)),
        "macro_f1": float(np.mean(2 * hits / np.maximum(sizes, 1))),
    }


def ranking_losses(truth: Truth, scores: Scores) -> Scores:
    """Return the ranking loss of each document [n_docs]: over pairs of a label that it has and one
    that it lacks, the share in which the first scores no higher; 0 if there are no pairs.
    """
    losses = np.zeros(len(truth))
    for doc, (own, row) in enumerate(zip(truth, scores, strict=True)):
        others = np.sort(row[~own])
        n_pairs = own.sum() * len(others)
        if n_pairs:
            higher = len(others) - np.searchsorted(others, row[own], side="left")
            losses[doc] = higher.sum() / n_pairs
    return losses


def one_errors(truth: Truth, scores: Scores) -> Scores:
    """Return whether the highest label is wrong [n_docs]; for ties, the share of wrong ones."""
    top = scores == scores.max(axis=1, keepdims=True)
    return np.asarray((top & ~truth).sum(axis=1) / top.sum(axis=1))


def coverages(truth: Truth, scores: Scores) -> Scores:
    """Return how many labels score at least as high as the lowest that a document has, less 1.

    A document without labels has -1 [n_docs].
    """
    lowest = np.where(truth, scores, np.inf).min(axis=1, keepdims=True)
    return np.asarray((scores >= lowest).sum(axis=1) - 1.0)


def average_precisions(truth: Truth, scores: Scores) -> Scores:
    """Return the average precision of each document [n_docs]: over its labels, the mean share of
    its own labels among those that score at least as high; 1 if it has none or all.
    """
    found = np.ones(len(truth))
    for doc, (own, row) in enumerate(zip(truth, scores, strict=True)):
        if 0 < own.sum() < len(own):
            mine = np.sort(row[own])
            everyone = np.sort(row)
            hits = len(mine) - np.searchsorted(mine, row[own], side="left")
            ranks = len(row) - np.searchsorted(everyone, row[own], side="left")
            found[doc] = np.mean(hits / ranks)
    return found


def threshold(truth: Truth, scores: Scores) -> float:
    """Return the score above which a label is given, so that documents get as many labels as they
    have on average; for equal scores, the nearest such number.
    """
    ordered = np.sort(scores.ravel())[::-1]
    levels = np.unique(ordered)
    given = len(ordered) - np.searchsorted(ordered[::-1], levels, side="right")
    below = np.append(levels[0] - 1.0, levels)
    n_given = np.append(len(ordered), given)
    place = int(np.abs(n_given - truth.sum()).argmin())
    above = below[place + 1] if place + 1 < len(below) else below[place] + 1.0
    return float((below[place] + above) / 2)
