"""Killed at any file that it opens or renames, a fit that goes on ends in the same files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from faults import meeting
from nights import by_night
from run_files import artefacts, contents

Fit = Callable[..., Any]
BACKEND = "hdp-gibbs"


class Killed(BaseException):
    """Stands for the death of the process: what would change a file is not done any more."""


class Death:
    """Counts files that are opened or renamed; from the n-th on nothing is done (0: all is)."""

    def __init__(self, first: int) -> None:
        self.first, self.calls = first, 0

    def meet(self, kind: str) -> None:
        """Count a call; raise Killed if its time has come."""
        self.calls += kind in ("open", "rename")
        if self.first and self.calls >= self.first:
            raise Killed


@contextmanager
def dying(first: int, below: Path) -> Iterator[Death]:
    """Die when the n-th file below a folder is opened or renamed."""
    death = Death(first)
    with suppress(Killed), meeting(death, below):
        yield death


def result(run: Path) -> dict[str, Any]:
    """Return all that must be equal: artefacts, metrics and manifest without times."""
    found: dict[str, Any] = dict(artefacts(run))
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    found["metrics.jsonl"] = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    manifest = json.loads((run / "manifest.json").read_text())
    timed = ("wall_seconds", "peak_memory_bytes", "argv")
    found["manifest.json"] = {k: v for k, v in manifest.items() if k not in timed}
    found["partial"] = [name for name in contents(run) if name.endswith(".partial")]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("begun", [*by_night(0), 2], ids=["begun", "extended"])
def test_a_fit_killed_at_any_file_goes_on(fit_tiny: Fit, begun: int, tmp_path: Path) -> None:
    """It ends at an odd iteration, whose line of metrics is written at the very end."""

    def fit(run: Path, iterations: int = 3) -> None:
        fit_tiny(run, BACKEND, iterations, ["output.checkpoint_seconds=0"])

    base, whole, run = (tmp_path / name for name in ("base", "whole", "run"))
    if begun:
        fit(base, begun)
        shutil.copytree(base, whole)
    with dying(0, whole) as counted:
        fit(whole)
    expected = result(whole)
    wrong = []
    for first in range(1, counted.calls + 1):
        shutil.rmtree(run, ignore_errors=True)
        if begun:
            shutil.copytree(base, run)
        with dying(first, run):
            fit(run)
        fit(run)
        now = result(run)
        wrong += [(first, name) for name in expected if now.get(name) != expected[name]]
    assert not wrong
