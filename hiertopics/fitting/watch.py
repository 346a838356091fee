"""Callbacks that record a fit: progress bar, metrics, checkpoints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from hiertopics.fitting.loop import Callback, Event
from hiertopics.model import PerChain
from hiertopics.runs.checkpoints import save_checkpoint
from hiertopics.runs.rundir import RunDir


@contextmanager
def start(*, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many of how many parts of the first state are done, once that is reported."""
    bars: list[Any] = []

    def report(done: int, total: int) -> None:
        if not bars:
            bars.append(_bar(total=total, desc="start", shown=shown))
        bars[0].update(done - bars[0].n)

    try:
        yield report
    finally:
        for bar in bars:
            bar.close()


def _bar(*, shown: bool, **options: Any) -> Any:
    terminal = sys.stderr.isatty()
    return tqdm(
        **options,
        unit="it",
        disable=not shown,
        file=sys.stderr,
        mininterval=0.1 if terminal else 10.0,
        dynamic_ncols=terminal,
    )


@contextmanager
def progress(start: int, iterations: int, *, shown: bool) -> Iterator[Callback]:
    """Show a progress bar with the remaining time on stderr."""
    bar = _bar(initial=start, total=iterations, shown=shown)
    latest: dict[str, str] = {}

    def watch(event: Event) -> None:
        if event.objective is not None:
            latest["objective"] = f"{event.objective:.5g}"
            bar.set_postfix(latest | _leading(event.columns), refresh=False)
        bar.update()

    with bar:
        yield watch


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


def _leading(columns: dict[str, Any]) -> dict[str, str]:
    """Return the first of the columns, by convention the size of the model."""
    name, value = next(iter(columns.items()))
    return {name: f"{value:g}"}
