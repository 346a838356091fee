"""Sweeps of several systems timed in turn, so that they share the machine's good and bad minutes.

Only ratios within a round compare; a median over rounds is what is reported. A process that
shares its core with others shows in ``core_share``: repeat the run then.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from statistics import median
from typing import NamedTuple, Protocol, Self

from benchmarks.records import Record


class Cost:
    """What the block of a ``with`` statement took: wall and processor time, peak memory."""

    def __enter__(self) -> Self:
        """Start both clocks."""
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self.record: Record = {
            "train_seconds": time.perf_counter() - self._wall,
            "train_cpu_seconds": time.process_time() - self._cpu,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }


class Sweeper(Protocol):
    """Anything that can pass over the data."""

    def sweep(self, n_sweeps: int = 1) -> None:
        """Pass ``n_sweeps`` times over the data."""


class Timed(NamedTuple):
    """A system in the ring, and how many of its sweeps make one measurement."""

    system: Sweeper
    sweeps_per_round: int


class Rounds(NamedTuple):
    """Seconds per sweep of each system in each round, and the share of a core that we had."""

    seconds: dict[str, list[float]]
    core_share: float


def alternate(systems: Mapping[str, Timed], n_rounds: int) -> Rounds:
    """Time each system once per round, every other round in reverse order."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    began, used = time.perf_counter(), time.process_time()
    for turn in range(n_rounds):
        names = list(systems) if turn % 2 == 0 else list(systems)[::-1]
        for name in names:
            system, n_sweeps = systems[name]
            start = time.perf_counter()
            system.sweep(n_sweeps)
            seconds[name].append((time.perf_counter() - start) / n_sweeps)
    share = (time.process_time() - used) / (time.perf_counter() - began)
    return Rounds(seconds, share)


def paired(numerators: list[float], denominators: list[float]) -> float:
    """Return the median over rounds of one system's time in units of another's."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))
