"""The training loop, on a backend that only counts."""

from __future__ import annotations

import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hiertopics.base.errors import Interrupted, NumericalError
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.fitting import loop
from hiertopics.fitting.loop import Event

SETTINGS: Any = Settings(None, None)


def counter(log: list[Any], fail_at: int = -1) -> Any:
    def step(state: int, data: str, settings: Settings, context: Any) -> tuple[int, str]:
        if context.iteration == fail_at:
            raise NumericalError("document 7 is not finite")
        log.append((context.seed, context.iteration, data))
        return state + 1, f"info {context.iteration}"

    def objective(state: int, data: str, settings: Settings, context: Context) -> float:
        log.append(context)
        return -float(state)

    return SimpleNamespace(step=step, objective=objective, objective_name="the count, turned")


def events(n: int, log: list[Any] | None = None, **options: Any) -> list[Event]:
    backend = counter([] if log is None else log, options.pop("fail_at", -1))
    options = {"seed": 4, **options}
    loop_events = loop.iterate(backend, 10, "data", SETTINGS, **options)
    return [next(loop_events) for _ in range(n)]


def test_iterations_count_from_one_and_pass_the_state_on() -> None:
    log: list[Any] = []
    found = events(3, log)
    told: list[Any] = [(e.iteration, e.state, e.info) for e in found]
    assert told == [
        (1, 11, "info 1"), (2, 12, "info 2"), (3, 13, "info 3"),
    ]  # fmt: skip
    assert log == [(4, 1, "data"), (4, 2, "data"), (4, 3, "data")]


def test_a_start_continues_the_numbers() -> None:
    assert [event.iteration for event in events(3, start=7)] == [8, 9, 10]


def test_the_objective_is_computed_now_and_then_at_fixed_iterations() -> None:
    assert [event.objective for event in events(5, record_every=2)] == [
        None, -12.0, None, -14.0, None,
    ]  # fmt: skip
    assert [event.objective for event in events(2, record_every=3, start=1)] == [None, -12.0]


def test_the_objective_is_computed_by_the_workers_of_the_loop() -> None:
    log: list[Any] = []
    pool = Workers()
    events(2, log, record_every=2, workers=pool)
    assert log[-1] == Context(4, 2, pool)


def test_trouble_names_the_iteration() -> None:
    with pytest.raises(NumericalError, match="^iteration 2: document 7 is not finite$"):
        events(3, fail_at=2)


def at(objective: float | None, seconds: float = 0.0, iteration: int = 1) -> Event:
    return Event(iteration, None, None, objective, seconds)


def test_convergence_compares_recorded_objectives() -> None:
    watch = loop.converged(0.1)
    assert [bool(watch(at(value))) for value in (-100.0, None, -80.0, -75.0, None, -74.9)] == [
        False, False, False, True, False, True,
    ]  # fmt: skip


def test_convergence_is_done_and_says_why() -> None:
    watch = loop.converged(0.1, previous=-80.0)
    stop = watch(at(-79.0))
    assert stop is not None and stop.done and "0.1" in stop.reason


def test_a_tolerance_of_zero_never_stops() -> None:
    watch = loop.converged(0.0)
    assert [watch(at(-1.0)) for _ in range(3)] == [None] * 3


def test_the_time_limit_leaves_room_for_one_more_iteration() -> None:
    assert loop.time_limit(100)(at(None, seconds=1.0)) is None
    stop = loop.time_limit(100)(at(None, seconds=101.0))
    assert stop is not None and not stop.done


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_asks_for_a_resumable_stop_and_handlers_are_restored(name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with loop.signals() as wish:
        assert wish() is None
        signal.raise_signal(number)
        stop = wish()
    assert stop is not None and not stop.done and name in stop.reason
    assert signal.getsignal(number) is before


def test_a_second_interrupt_leaves_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted), loop.signals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    before, found = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with loop.signals() as wish:
            found.append((wish(), signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(None, True)]
