"""Commands run as a user would run them: time and peak memory of the whole process.

Linux counts into a child's peak what its parent held when it was started, so this module, and
whoever calls it, must not import numpy.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
GUARD = 'read -r group && { read -r line || kill -s KILL -- "-$group"; }'
"""Shell program that reads a process group, and kills it when nothing more than that is told."""


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


class OutOfTime(Exception):
    """A command was ended at its limit; ``finished``: what it had printed and used by then."""

    def __init__(self, finished: Finished) -> None:
        super().__init__(f"stopped after {finished.seconds:.0f} s")
        self.finished = finished


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
    limit: float | None = None,
) -> Finished:
    """Run ``command`` to its end, with this source tree importable. well: exit codes to take.

    The command and the processes that it began are killed when this process ends, in whatever way.
    meanwhile: called with the process's number while it runs, on a thread of its own. limit: wall
    seconds after which they are killed, too. Raises CommandFailed for another exit code, OutOfTime
    at the limit.
    """
    late = threading.Event()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr, _guard() as guard:
        start = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdout=stdout,
            stderr=stderr,
            env=_environment(),
            start_new_session=True,
            # The child itself tells, so that there is no time in which nobody knows of it.
            preexec_fn=lambda: os.write(guard, b"%d\n" % os.getpid()),
        )
        if meanwhile is not None:
            threading.Thread(target=meanwhile, args=(child.pid,), daemon=True).start()
        timer = threading.Timer(limit or 0.0, _end, (child.pid, late))
        if limit is not None:
            timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            _end(child.pid, late)  # a session of its own is not told of Ctrl-C
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        printed, complaints = _text(stdout), _text(stderr)
    spent = usage.ru_utime + usage.ru_stime
    finished = Finished(printed, complaints, seconds, spent, usage.ru_maxrss * 1024)
    if late.is_set() and child.returncode < 0:
        raise OutOfTime(finished)
    if child.returncode not in well:
        raise CommandFailed(f"exit code {child.returncode}: {' '.join(command)}\n{complaints}")
    return finished


@contextmanager
def _guard() -> Iterator[int]:
    """Start a process that kills a group when this process ends; yield where it is told of one.

    Only the system notices a SIGKILL: it closes our end of the pipe at which the guard waits.
    """
    command = ["sh", "-c", GUARD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as guard:
        assert guard.stdin is not None
        try:
            yield guard.stdin.fileno()
        finally:
            guard.communicate(b"done\n")


def _end(pid: int, late: threading.Event) -> None:
    """Kill a process that leads a session, and those that it began."""
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
