"""``eval --task``: the task scores of the papers, each with its baselines.

A task is a ``Scorer``, a function with its options, and its name here. An installed package adds
one by an entry point of the group ``hiertopics.tasks`` that names a ``Scorer``.

sides: training and test documents with their tags. tagging: how tags are told and measured.
baselines: what tasks are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.base.plugins import PluginTable
from hiertopics.base.progress import said
from hiertopics.contract.cluster.joining import engine_of
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.scorefiles import keep_score
from hiertopics.scoring.request import Request, Scorer, TaskResult, answer, not_default

OWN: dict[str, Scorer[TaskResult] | str] = {
    "neighbours": "hiertopics.papers.task_neighbours:task",
    "links": "hiertopics.papers.task_links:task",
    "reconstruction": "hiertopics.papers.task_reconstruction:task",
    "groups": "hiertopics.papers.task_groups:task",
    "labels": "hiertopics.papers.task_labels:task",
    "hierarchy": "hiertopics.scoring.tasks.hierarchy:task",
}

TASKS: PluginTable[Scorer[TaskResult]] = PluginTable(
    "task", "hiertopics.tasks", "hiertopics.scoring.request:Scorer", OWN
)
"""Every task: those above, and those of installed packages."""

FILES = ("corpus", "paths")
"""Options that name a file."""


@trusts
def evaluate_task(
    run: Path | str | RunDir,
    task: str,
    *,
    data: Mapping[str, Any] | None = None,
    workers: int = 1,
    cluster: str | None = None,
    trust_tokenizer: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Score a run on a task, beside baselines; the result is also written to its ``eval`` folder.

    options: ``k`` and ``corpus`` for neighbours, ``average`` for links, ``score`` and ``corpus``
    for groups, ``corpus`` for labels and reconstruction, those of ``HierarchyOptions`` for
    hierarchy, and those of a package's task; None and False are defaults. data: entries that
    describe the corpus file. Raises UsageError, DataError or RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target = opened(run)
    with engine_of(cluster, workers, said) as engine:
        chosen, result = answer(Request(target, data or {}, engine), "task", task, TASKS, options)
    record = _record(target, task, chosen, result)
    keep_score(target, task, not_default(chosen), record, result.arrays)
    return record


def _record(run: RunDir, task: str, options: Any, result: TaskResult) -> dict[str, Any]:
    if not result.baselines:
        raise UsageError(f"task {task} compares the run with nothing: a task has a baseline")
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
