"""Metrics of multi-label classification, as scikit-learn defines them (coverage less 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.scoring.request import Metrics

Truth = NDArray[np.bool_]
Scores = NDArray[np.float64]


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
    """Return for each document the share of its pairs of a label that it has and one that it has
    not in which the first scores no higher; 0 where there are no such pairs [n_docs].
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
    """Return whether the highest label is missing [n_docs]; of equal ones, the missing share."""
    top = scores == scores.max(axis=1, keepdims=True)
    return np.asarray((top & ~truth).sum(axis=1) / top.sum(axis=1))


def coverages(truth: Truth, scores: Scores) -> Scores:
    """Return how many labels score at least as high as the lowest that a document has, less 1.

    A document without labels has -1 [n_docs].
    """
    lowest = np.where(truth, scores, np.inf).min(axis=1, keepdims=True)
    return np.asarray((scores >= lowest).sum(axis=1) - 1.0)


def average_precisions(truth: Truth, scores: Scores) -> Scores:
    """Return the mean over a document's labels of the share of its own among those that score at
    least as high; 1 where it has none or all [n_docs].
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
    have on the average; the nearest such number where scores are equal.
    """
    ordered = np.sort(scores.ravel())[::-1]
    levels = np.unique(ordered)
    given = len(ordered) - np.searchsorted(ordered[::-1], levels, side="right")
    below = np.append(levels[0] - 1.0, levels)
    n_given = np.append(len(ordered), given)
    place = int(np.abs(n_given - truth.sum()).argmin())
    above = below[place + 1] if place + 1 < len(below) else below[place] + 1.0
    return float((below[place] + above) / 2)
