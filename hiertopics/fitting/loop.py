"""The one training loop: a generator over ``step``, and the callbacks that stop or record it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from hiertopics.base.errors import Interrupted, NumericalError
from hiertopics.base.progress import Estimate, Progress, format_rest
from hiertopics.contract.engine import Engine, Workers
from hiertopics.contract.model import AnyBackend, AnySettings, Columns, Context, PerChain
from hiertopics.runs.checkpoints import save_checkpoint
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import ARITHMETIC, check_objective


class Event(NamedTuple):
    """The result of an iteration.

    info: None where a run goes on from a checkpoint. objective: recomputed every few iterations,
    None in between. seconds: of this iteration.
    """

    iteration: int
    state: object
    info: Columns | None
    objective: float | None
    seconds: float

    @property
    def columns(self) -> dict[str, Any]:
        """The backend's columns of metrics.jsonl."""
        return {} if self.info is None else self.info._asdict()


class Stop(NamedTuple):
    """A callback's wish to end the run: done (nothing more to do) or resumable."""

    reason: str
    done: bool


Callback = Callable[[Event], "Stop | None"]


class StoppedAtStart(Exception):
    """A signal came while the first state was made: there is nothing yet to keep."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


def iterate(
    backend: AnyBackend,
    state: object,
    data: object,
    settings: AnySettings,
    *,
    seed: int,
    start: int = 0,
    record_every: int = 10,
    workers: Engine | None = None,
) -> Iterator[Event]:
    """Yield an Event per iteration, for ever; ``start`` is the iteration that ``state`` is at.

    ``step`` may overwrite the state in place: keep no reference to an earlier event's state.
    Raises NumericalError naming the iteration, also where the objective is not finite.
    """
    pool = workers or Workers()
    iteration = start
    while True:
        iteration += 1
        began = time.perf_counter()
        try:
            context = Context(seed, iteration, pool)
            state, info = backend.step(state, data, settings, context)
            recorded = iteration % record_every == 0
            objective = backend.objective(state, data, settings, context) if recorded else None
            if objective is not None:
                check_objective(objective, backend.objective_name)
        except (NumericalError, *ARITHMETIC) as error:
            raise NumericalError(str(error), iteration) from error
        yield Event(iteration, state, info, objective, time.perf_counter() - began)


def up_to(iterations: int) -> Callback:
    """Stop, done, at iteration ``iterations``."""

    def watch(event: Event) -> Stop | None:
        return Stop("all iterations done", True) if event.iteration >= iterations else None

    return watch


def converged(tolerance: float, previous: float | None = None) -> Callback:
    """Stop, done, when the objective moves by less than ``tolerance`` of its size (0: never).

    previous: the objective recorded last, where a run is continued.
    """

    def watch(event: Event) -> Stop | None:
        nonlocal previous
        if event.objective is None:
            return None
        before, previous = previous, event.objective
        return _converged(tolerance, before, event.objective)

    return watch


def had_converged(tolerance: float, objectives: Sequence[float]) -> Stop | None:
    """Tell whether a run with these recorded objectives had converged at the last one."""
    return _converged(tolerance, *objectives[-2:]) if len(objectives) > 1 else None


def _converged(tolerance: float, before: float | None, now: float) -> Stop | None:
    if before is None or not abs(now - before) < tolerance * abs(before):
        return None
    return Stop(f"objective moved by less than {tolerance:g} of its size", True)


def time_limit(seconds: float) -> Callback:
    """Stop, resumable, when another iteration would pass ``seconds`` from now."""
    began = time.perf_counter()

    def watch(event: Event) -> Stop | None:
        spent = time.perf_counter() - began
        return Stop("time limit", False) if spent + event.seconds > seconds else None

    return watch


@contextmanager
def signals() -> Iterator[Callable[[], Stop | None]]:
    """Turn SIGINT, SIGTERM and SIGUSR1 into the wish for a resumable stop, which is then returned.

    A second SIGINT raises Interrupted at once. Outside the main thread signals are left alone.
    """
    caught: list[str] = []

    def handle(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and caught:
            raise Interrupted("interrupted twice; the last checkpoint is intact")
        caught.append(signal.Signals(number).name)

    def wish() -> Stop | None:
        return Stop(f"signal {caught[0]}", False) if caught else None

    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    names = ("SIGINT", "SIGTERM", "SIGUSR1")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    previous = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield wish
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def progress(display: Progress, report: Callable[[int, int], None], target: int) -> Callback:
    """Show how many of ``target`` iterations are done, and how long the rest takes."""
    estimate = Estimate(display)
    latest: list[str] = []

    def watch(event: Event) -> None:
        if event.objective is not None:
            latest[:] = [f"objective {event.objective:.5g}", *_leading(event.columns)]
        left = estimate.left(target - event.iteration)
        display.note(", ".join([*([] if left is None else [f"{format_rest(left)} left"]), *latest]))
        report(event.iteration, target)

    return watch


def metrics(run: RunDir, per_chain: Callable[[Event], PerChain | None]) -> Callback:
    """Add a line to metrics.jsonl for each iteration whose objective was computed."""

    def watch(event: Event) -> None:
        if event.objective is not None:
            run.append_metrics(metrics_row(event, event.objective, per_chain(event)))

    return watch


def metrics_row(event: Event, objective: float, per_chain: PerChain | None) -> dict[str, Any]:
    """Return the line of metrics.jsonl for ``event``; of several chains also their traces."""
    row = {"iteration": event.iteration, "seconds": event.seconds, "objective": objective}
    row |= event.columns
    return row if per_chain is None else row | {"chains": dict(per_chain.traces)}


def checkpoints(run: RunDir, seconds: float, stamp: str) -> Callback:
    """Save the state whenever ``seconds`` have passed since the last time."""
    last = time.perf_counter()

    def watch(event: Event) -> None:
        nonlocal last
        if time.perf_counter() - last >= seconds:
            save_checkpoint(run, event.iteration, event.state, stamp)
            last = time.perf_counter()

    return watch


def _leading(columns: dict[str, Any]) -> list[str]:
    """Return the first of the columns, by convention the size of the model."""
    return [f"{name} {value:g}" for name, value in list(columns.items())[:1]]
