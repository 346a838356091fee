"""Fits in processes of their own, to be interrupted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hiertopics.contract import registry

ENDLESS = 10_000_000
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(params=list(registry.BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    """Return the name of each backend of the registry in turn."""
    return str(request.param)


@pytest.fixture
def start(
    file_for: Callable[[str], Path], small: Callable[[str], tuple[str, ...]]
) -> Iterator[Start]:
    """Return a function that starts the fit of ``fit_tiny``, endless, as a process of its own.

    It writes a checkpoint after each iteration. What still runs at the end of a test is killed.
    """
    processes: list[subprocess.Popen[str]] = []

    def begin(run: Path, backend: str = "hdp-pcvb0") -> subprocess.Popen[str]:
        settings = (*small(backend), "output.record_every=2", "output.checkpoint_seconds=0")
        words = ["fit", file_for(backend), "-b", backend, "-o", run, "-q"]
        words += ["--holdout", "docs:0.2@0"]
        words += ["--iterations", ENDLESS]
        words += [word for setting in settings for word in ("-s", setting)]
        process = subprocess.Popen(
            [sys.executable, "-m", "hiertopics", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
