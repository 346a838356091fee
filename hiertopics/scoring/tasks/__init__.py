"""``eval --task``: the task scores of the papers, each with its baselines.

A task is a function, its options and a line here.

sides: training and test documents with their tags. tagging: how tags are told and measured.
baselines: what tasks are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.cluster.joining import engine_of
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.scorefiles import keep_score
from hiertopics.scoring.request import Request, Scorer, TaskResult, answer, not_default
from hiertopics.scoring.tasks import (
    groups,
    hierarchy,
    labels,
    links,
    neighbours,
    reconstruction,
)

TASKS: dict[str, Scorer[TaskResult]] = {
    "neighbours": Scorer(neighbours.NeighboursOptions, neighbours.score),
    "links": Scorer(links.LinksOptions, links.score),
    "reconstruction": Scorer(
        reconstruction.ReconstructionOptions, reconstruction.score, ("vectors",)
    ),
    "groups": Scorer(groups.GroupsOptions, groups.score),
    "labels": Scorer(labels.LabelsOptions, labels.score),
    "hierarchy": Scorer(hierarchy.HierarchyOptions, hierarchy.score, ("counts", "vectors", "bits")),
}


FILES = ("corpus", "paths")
"""Options that name a file."""


def evaluate_task(
    run: Path | str | RunDir,
    task: str,
    *,
    data: Mapping[str, Any] | None = None,
    workers: int = 1,
    cluster: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score a run on a task, beside baselines; the result is also written to its ``eval`` folder.

    options: ``k`` and ``corpus`` for neighbours, ``average`` for links, ``score`` and ``corpus``
    for groups, ``corpus`` for labels and reconstruction, those of ``HierarchyOptions`` for
    hierarchy; None and False are defaults. data:
    entries that describe the corpus file. Raises UsageError, DataError or RunError.
    """
    target = opened(run)
    with engine_of(cluster, workers) as engine:
        chosen, result = answer(Request(target, data or {}, engine), "task", task, TASKS, options)
    record = _record(target, task, chosen, result)
    keep_score(target, task, not_default(chosen), record, result.arrays)
    return record


def _record(run: RunDir, task: str, options: Any, result: TaskResult) -> dict[str, Any]:
    given = {name: getattr(options, name, None) for name in FILES}
    shown = options._asdict() | {name: str(path) for name, path in given.items() if path}
    return {
        "run": str(run.path),
        "backend": run.manifest["backend"],
        "task": task,
        **shown,
        **result.metrics,
        **result.sizes,
        "split": result.split,
        "baselines": {name: dict(metrics) for name, metrics in result.baselines.items()},
    }
