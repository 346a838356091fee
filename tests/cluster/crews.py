"""A cluster in processes of this machine, and fits of a tiny corpus in them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny import small_settings

from hiertopics.contract.cluster import worker
from hiertopics.fitting.driver import fit
from hiertopics.fitting.job import FitResult

BACKENDS = {
    "hdp-cvb0": (),
    "hdp-gibbs": ("inference.collapse=partial",),
    "nhdp-variational": (),
    "hlda-variational": (),
    "hlda-gibbs": ("inference.collapse=partial",),
    "chdp-variational": (),
}
PRODUCTS = ("model.npz", "theta.npz", "tree.json", "topics.csv")
ITERATIONS = 6


class Crew:
    """A scheduler and two workers. Of those that die, this starts others, and Dask does not."""

    def __init__(self, scheduler: str) -> None:
        self.scheduler = scheduler
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.dying: list[subprocess.Popen[bytes]] = []

    def complete(self) -> None:
        """Start workers until there are two."""
        while len(self.workers) < 2:
            options = ["--no-nanny", "--no-dashboard", "--nthreads", "2", "--memory-limit", "0"]
            started = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler, *options],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.workers[started.pid] = started

    def replace(self, pid: int) -> subprocess.Popen[bytes]:
        """Start another worker in place of one that is about to die; return the latter."""
        self.dying.append(self.workers.pop(pid))
        self.complete()
        return self.dying[-1]

    def kill(self) -> None:
        """Kill both workers; ``complete`` starts others."""
        for process in self.workers.values():
            process.kill()
            process.wait(60)
        self.workers.clear()

    def end(self) -> None:
        """Kill all of them."""
        for process in (*self.workers.values(), *self.dying):
            process.kill()
            process.wait(60)


def fitted(
    corpus: Path, run: Path, backend: str, more: tuple[str, ...] = (), **others: Any
) -> FitResult:
    settings = (*small_settings(backend), *BACKENDS[backend], "inference.shards=3", *more)
    return fit(
        corpus, run=run, backend=backend, overrides=settings, iterations=ITERATIONS, **others
    )


def until(seen: Callable[[], bool]) -> None:
    """Wait until something is so, at most a minute."""
    end = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.05)


def products(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in PRODUCTS}


def log_of(run: Path) -> str:
    return (run / "log.txt").read_text(encoding="utf-8")


def home_of(number: int) -> tuple[int, int]:
    return number, os.getpid()


def die_at_the_next_order() -> None:
    worker._carried_out = lambda *order: os._exit(1)


def load_of() -> tuple[int, int]:
    """Return how many states this process holds, and which one it is."""
    return len(worker.STORE.held), os.getpid()


def seen_in(process: int, files: list[str]) -> dict[str, str]:
    """Return what is seen: all files in one process, none in others."""
    return dict.fromkeys(files, "whole") if os.getpid() == process else {}
