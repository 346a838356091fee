"""The files of a run as bytes, for comparing two runs that must not differ."""

from __future__ import annotations

import time
from pathlib import Path

from hiertopics.fitting.loop import Callback, Event, Stop

TIMED = ("manifest.json", "metrics.jsonl", "log.txt", ".lock", "config.yaml")
"""Files that may differ between two runs that agree: clock times, paths and the like."""


def contents(run: Path) -> dict[str, bytes]:
    """Return every file below ``run`` by its path there."""
    files = (path for path in sorted(run.rglob("*")) if path.is_file())
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in files}


def artefacts(run: Path) -> dict[str, bytes]:
    """Return the files of which the same fit makes the same bytes, however it came about."""
    kept = {name: data for name, data in contents(run).items() if name not in TIMED}
    found = {name: data for name, data in kept.items() if not name.startswith("checkpoints/")}
    assert {"model.npz", "theta.npz", "tree.json", "topics.csv"} <= set(found)
    return found


def stop_at(iteration: int) -> Callback:
    """Return a callback that stops a fit, resumable, after ``iteration``."""

    def watch(event: Event) -> Stop | None:
        return Stop("the test wants it", False) if event.iteration == iteration else None

    return watch


def newest_checkpoint(run: Path) -> int:
    """Return the iteration of the newest checkpoint, -1 where there is none."""
    return max((int(path.stem) for path in (run / "checkpoints").glob("*.npz")), default=-1)


def wait_for_checkpoint(run: Path, iteration: int) -> None:
    """Wait until a checkpoint of ``iteration`` or later is there."""
    while newest_checkpoint(run) < iteration:
        time.sleep(0.002)
