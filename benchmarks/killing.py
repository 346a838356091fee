"""Kills a worker of a fit on a cluster of this machine, amid a sweep."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.records import Record

LOOK_EVERY = 0.05
WORKED = 0.3
"""Seconds of processor time that a worker takes before it is killed: that long it sweeps."""


class Killer:
    """Waits for a checkpoint of ``run``, then kills the first worker that works again.

    killed: what was done, empty as long as nothing was.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self.killed: Record = {}

    def __call__(self, pid: int) -> None:
        """Look after the fit with this process number until it ends or a worker is dead."""
        began, ticks = time.monotonic(), os.sysconf("SC_CLK_TCK")
        with suppress(OSError):  # the fit has ended
            while not self._iterations():
                os.kill(pid, 0)
                time.sleep(LOOK_EVERY)
            before = {worker: _ticks(worker) for worker in _workers(pid)}
            while not self.killed:
                for worker, at_first in before.items():
                    if _ticks(worker) - at_first >= WORKED * ticks:
                        os.kill(worker, signal.SIGKILL)
                        self.killed = {
                            "killed_after_seconds": time.monotonic() - began,
                            "checkpoint": max(self._iterations()),
                        }
                        break
                time.sleep(LOOK_EVERY)

    def _iterations(self) -> list[int]:
        return [int(path.stem) for path in self._run.glob("checkpoints/[0-9]*.npz")]


def _workers(pid: int) -> Iterator[int]:
    """Yield the processes that Dask began for a fit."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            if _stat(int(path.name))[1] == str(pid) and b"spawn_main" in command:
                yield int(path.name)


def _ticks(pid: int) -> int:
    """Return the processor time of a process so far."""
    return sum(int(field) for field in _stat(pid)[11:13])


def _stat(pid: int) -> list[str]:
    """Return what the system tells of a process, from its state on."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return text.rpartition(")")[2].split()
