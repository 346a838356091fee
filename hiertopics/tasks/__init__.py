"""``eval --task``: the task scores of the papers, each with its baselines (interface section 4).

A task is a module and a line in the table. The module has ``Options``, a NamedTuple of what the
user may choose, every field with its default, and ``score(request, options) -> Result``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.errors import UsageError
from hiertopics.rundir import RunDir
from hiertopics.scorefiles import keep_score
from hiertopics.tasks.result import Request, Result

TASKS = {
    "neighbours": "hiertopics.tasks.neighbours",
    "links": "hiertopics.tasks.links",
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

    options: ``k`` and ``corpus`` for neighbours, ``average`` for links; None and False are
    defaults. data: entries that describe the corpus file. Raises UsageError, DataError or
    RunError.
    """
    target = run if isinstance(run, RunDir) else RunDir.open(run)
    if task not in TASKS:
        raise UsageError(f"unknown task {task!r}; there are {', '.join(TASKS)}")
    module = importlib.import_module(TASKS[task])
    given = {
        name: value for name, value in options.items() if value is not None and value is not False
    }
    for name in given:
        if name not in module.Options._fields:
            raise UsageError(f"{_flag(name)} has no meaning for task {task}")
    if data and "corpus" not in given:
        raise UsageError(f"{_flag(next(iter(data)))} describes a file; name it with --corpus")
    chosen = module.Options(**given)
    result: Result = module.score(Request(target, data or {}, workers), chosen)
    record = _record(target, task, chosen, result)
    keep_score(target, task, _not_default(chosen), record, result.arrays)
    return record


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


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


def _not_default(options: Any) -> dict[str, Any]:
    defaults = options._field_defaults
    chosen = {n: value for n, value in options._asdict().items() if value != defaults[n]}
    return chosen | ({"corpus": Path(chosen["corpus"]).name} if "corpus" in chosen else {})
