"""Sweeps of several systems timed in turn, so that they share the machine's good and bad minutes.

Only ratios within a round compare; a median over rounds is what is reported. A process that
shares its core with others shows in ``core_share``: repeat the run then.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Hashable, Mapping
from statistics import median
from typing import Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from benchmarks.records import Record

Key = TypeVar("Key", bound=Hashable)
Clock = Literal["wall", "processor"]
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


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


class Rounds(NamedTuple, Generic[Key]):
    """Seconds per sweep of each system in each round, by one clock.

    core_share: in which share of the wall time the process had a core. Wall times need all of it;
    processor times stand without it, though caches are shared then.
    """

    seconds: dict[Key, list[float]]
    clock: Clock
    core_share: float

    @property
    def about(self) -> Record:
        """What a record says of how its times were taken."""
        return {"clock": self.clock, "core_share": self.core_share}


def alternate(systems: Mapping[Key, Timed], n_rounds: int, *, clock: Clock = "wall") -> Rounds[Key]:
    """Time each system once per round, every other round in reverse order."""
    now = CLOCKS[clock]
    seconds: dict[Key, list[float]] = {name: [] for name in systems}
    began, used = time.perf_counter(), time.process_time()
    for turn in range(n_rounds):
        names = list(systems) if turn % 2 == 0 else list(systems)[::-1]
        for name in names:
            system, n_sweeps = systems[name]
            start = now()
            system.sweep(n_sweeps)
            seconds[name].append((now() - start) / n_sweeps)
    share = (time.process_time() - used) / (time.perf_counter() - began)
    return Rounds(seconds, clock, share)


def paired(numerators: list[float], denominators: list[float]) -> float:
    """Return the median over rounds of one system's time in units of another's."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))
