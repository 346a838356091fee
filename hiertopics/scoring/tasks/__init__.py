"""``eval --task``: the task scores of the papers, each with its baselines (interface section 4).

A task is a module and a line in the table. The module has ``Options``, a NamedTuple of what the
user may choose, every field with its default, and ``score(request, options) -> Result``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.corpora.observations import refuse_other_kind
from hiertopics.errors import UsageError
from hiertopics.runs.experiment import experiment_of
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.scorefiles import keep_score
from hiertopics.scoring.request import choose_options, not_default
from hiertopics.scoring.tasks.result import Request, Result

TASKS = {
    "neighbours": "hiertopics.scoring.tasks.neighbours",
    "links": "hiertopics.scoring.tasks.links",
    "reconstruction": "hiertopics.scoring.tasks.reconstruction",
    "groups": "hiertopics.scoring.tasks.groups",
    "labels": "hiertopics.scoring.tasks.labels",
}


def evaluate_task(
    run: Path | str | RunDir,
    task: str,
    *,
    data: Mapping[str, Any] | None = None,
    workers: int = 1,
    **options: Any,
) -> dict[str, Any]:
    """Score a run on a task, beside baselines; the result is also written to its ``eval`` folder.

    options: ``k`` and ``corpus`` for neighbours, ``average`` for links, ``score`` and ``corpus``
    for groups, ``corpus`` for labels; None and False are
    defaults. data: entries that describe the corpus file. Raises UsageError, DataError or
    RunError.
    """
    target = run if isinstance(run, RunDir) else RunDir.open(run)
    if task not in TASKS:
        raise UsageError(f"unknown task {task!r}; there are {', '.join(TASKS)}")
    module = importlib.import_module(TASKS[task])
    refuse_other_kind(experiment_of(target), module, f"task {task}")
    chosen = choose_options(module.Options, options, data, f"task {task}")
    result: Result = module.score(Request(target, data or {}, workers), chosen)
    record = _record(target, task, chosen, result)
    keep_score(target, task, not_default(chosen), record, result.arrays)
    return record


def _record(run: RunDir, task: str, options: Any, result: Result) -> dict[str, Any]:
    corpus = getattr(options, "corpus", None)
    shown = options._asdict() | ({} if corpus is None else {"corpus": str(corpus)})
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
