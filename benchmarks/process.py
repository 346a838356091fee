"""Commands run as a user would run them: time and peak memory of the whole process.

Linux counts into a child's peak what its parent held when it was started, so this module, and
whoever calls it, must not import numpy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Finished(NamedTuple):
    """A command that ended well: what it printed, its wall and processor time, peak memory."""

    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    @property
    def record(self) -> dict[str, float]:
        """Its part of a result record."""
        return {
            "command_seconds": self.seconds,
            "command_cpu_seconds": self.cpu_seconds,
            "peak_bytes": self.peak_bytes,
        }


class CommandFailed(Exception):
    """A command ended with another exit code than 0."""


def hiertopics(*arguments: object) -> list[str]:
    """Return the command line of ``hiertopics`` with ``arguments``."""
    return [sys.executable, "-m", "hiertopics", *map(str, arguments)]


def benchmarks(*arguments: object) -> list[str]:
    """Return the command line of a benchmark command with ``arguments``."""
    return [sys.executable, "-m", "benchmarks", *map(str, arguments)]


def run(
    command: Sequence[str],
    well: Collection[int] = (0,),
    meanwhile: Callable[[int], object] | None = None,
) -> Finished:
    """Run ``command`` to its end, with this source tree importable. well: exit codes to take.

    meanwhile: called with the process's number while it runs, on a thread of its own.
    """
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=_environment())
        if meanwhile is not None:
            threading.Thread(target=meanwhile, args=(child.pid,), daemon=True).start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        printed, complaints = _text(stdout), _text(stderr)
    if child.returncode not in well:
        raise CommandFailed(f"exit code {child.returncode}: {' '.join(command)}\n{complaints}")
    spent = usage.ru_utime + usage.ru_stime
    return Finished(printed, complaints, seconds, spent, usage.ru_maxrss * 1024)


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
