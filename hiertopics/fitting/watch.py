"""Callbacks that record a fit: progress, metrics, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hiertopics.fitting.loop import Callback, Event
from hiertopics.model import PerChain
from hiertopics.progress import Estimate, Progress, format_rest
from hiertopics.runs.checkpoints import save_checkpoint
from hiertopics.runs.rundir import RunDir


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
