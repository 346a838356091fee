"""Task ``clusters``: how well the largest topic of a document tells its label.

Purity: a topic stands for the label that most of its documents have; the score is the share of
documents whose label their topic stands for. The baseline gives all documents one topic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.errors import UsageError
from hiertopics.runs.original import read_original
from hiertopics.scoring.request import Request, Scorer, TaskResult


class Options(NamedTuple):
    """least: topics with fewer documents are left out."""

    least: int = 1


def score(request: Request, options: Options) -> TaskResult:
    """Score the training documents that have exactly one label; UsageError where none has."""
    run = request.run
    labels = read_original(run).train.labels
    if labels is None:
        raise UsageError("task clusters needs a label for each document; name them with --labels")
    members = labels.members.toarray()
    known = members.sum(axis=1) == 1
    label, topic = members.argmax(axis=1), run.theta.toarray().argmax(axis=1)
    table = np.zeros((topic.max() + 1, members.shape[1]))
    np.add.at(table, (topic[known], label[known]), 1)
    table = table[table.sum(axis=1) >= options.least]
    if not table.sum():
        raise UsageError("task clusters: no document with one label stands in a topic this large")
    metrics = {"purity": float(table.max(axis=1).sum() / table.sum())}
    one_topic = {"purity": float(table.sum(axis=0).max() / table.sum())}
    sizes = {"n_docs": int(table.sum()), "n_topics": len(table)}
    return TaskResult(metrics, sizes, run.split.hash, {"one topic": one_topic}, {"table": table})


task = Scorer(Options, score)
