"""Task ``labels``: the labels of a document, several or none, by its words (theory/chdp 6.5).

Labels are groups: each has weights over topics, the model's own with ``model.parents: labels``,
else the mean of theta over its training documents. Two rules with five strengths each are tried on
training documents, and the one of the highest average precision there is used; labels are given
above a threshold at which training documents get as many as they have.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.names import pack_short_names
from hiertopics.papers.task_baselines import logistic_scores
from hiertopics.papers.task_sides import Sides, profiles, read_sides
from hiertopics.papers.task_tagging import (
    RULES,
    Tagger,
    average_precisions,
    metrics,
    padded,
    tag_scores,
    threshold,
)
from hiertopics.scoring.request import Metrics, Request, Scorer, TaskResult

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)
MAX_TRAIN_DOCS = 1000
"""Training documents that rule, strength and threshold are chosen on."""


class LabelsOptions(NamedTuple):
    """corpus: classify this file, not the held-out documents."""

    corpus: Path | str | None = None


def score(request: Request, options: LabelsOptions) -> TaskResult:
    """Return the metrics of multi-label classification, and the rule and strength chosen.

    Raises UsageError where no training document has a label.
    """
    sides = read_sides(request, options.corpus, "labels")
    if not sides.n_known:
        raise UsageError("no training document has a label")
    chosen = _choose_docs(request, sides)
    tagger = Tagger(profiles(request, sides, "labels"), request.run.tree.phi, _frequency(sides))
    choices = [(rule, strength) for rule in RULES for strength in STRENGTHS]
    tried = tag_scores(tagger, sides.train.counts[chosen], choices)
    known = sides.train_tags[chosen, : sides.n_known]
    precision = [average_precisions(known, scores).mean() for scores in tried]
    best = int(np.argmax(precision))
    (scores,) = tag_scores(tagger, sides.test.counts, [choices[best]])
    level = threshold(known, tried[best])
    scores = padded(scores, len(sides.names))
    return TaskResult(
        metrics=metrics(sides.test_tags, scores, scores > level),
        sizes={
            "n_docs": sides.test.n_docs,
            "n_labels": len(sides.names),
            "unknown_tokens": sides.unknown_tokens,
            "rule": choices[best][0],
            "strength": choices[best][1],
            "threshold": level,
        },
        split=sides.split,
        baselines=_baselines(sides, chosen),
        arrays={
            "scores": scores,
            "labels": sides.test_tags,
            **pack_short_names("label_names", sides.names),
        },
    )


def _choose_docs(request: Request, sides: Sides) -> I64:
    order = seeds.derive(request.run.split.seed, "labels-train").permutation(sides.train.n_docs)
    return np.sort(order[:MAX_TRAIN_DOCS]).astype(np.int64)


def _frequency(sides: Sides) -> F64:
    """Return the share of each known label among all marks of the training documents."""
    counts = sides.train_tags[:, : sides.n_known].sum(axis=0).astype(np.float64)
    return np.asarray(counts / counts.sum())


def _baselines(sides: Sides, chosen: I64) -> dict[str, Metrics]:
    """Score label frequencies and logistic regression."""
    known = sides.train_tags[:, : sides.n_known]
    shares = known.mean(axis=0)
    train_scores, test_scores = logistic_scores(sides.train.counts, known, sides.test.counts)
    found = {
        "label_frequency": (_repeat(shares, len(chosen)), _repeat(shares, sides.test.n_docs)),
        "logistic_regression": (train_scores[chosen], test_scores),
    }
    baselines = {}
    for name, (train, test) in found.items():
        level = threshold(known[chosen], train)
        scores = padded(test, len(sides.names))
        baselines[name] = metrics(sides.test_tags, scores, scores > level)
    return baselines


def _repeat(row: F64, n_docs: int) -> F64:
    return np.tile(row, (n_docs, 1))


task = Scorer(LabelsOptions, score)
