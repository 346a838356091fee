"""Fits in processes of a Dask cluster: the bytes of threads, workers that are silent or die."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest
from crews import (
    BACKENDS,
    ITERATIONS,
    Crew,
    die_at_the_next_order,
    fitted,
    home_of,
    load_of,
    log_of,
    products,
    until,
)
from distributed import CancelledError, Client, LocalCluster, Status, wait
from distributed.comm import CommClosedError
from nights import by_night, daily
from replacing import put_in_place
from scipy import sparse
from tiny import small_settings

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.contract.cluster import coordinator, joining, watch, worker
from hiertopics.contract.cluster.coordinator import Cluster, WorkersLost
from hiertopics.contract.engine import Shared, Workers
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.fitting import driver
from hiertopics.fitting.driver import fit
from hiertopics.runs.rundir import RunDir


@pytest.mark.slow
@pytest.mark.parametrize("backend", daily(BACKENDS, "hdp-cvb0", "nhdp-variational", "hlda-gibbs"))
def test_a_cluster_changes_no_byte(
    backend: str, tiny_file: Path, tmp_path: Path, client: Client
) -> None:
    fitted(tiny_file, tmp_path / "here", backend, workers=2)
    done = fitted(tiny_file, tmp_path / "there", backend, cluster=client.scheduler.address)
    assert done.status == "done"
    assert products(tmp_path / "there") == products(tmp_path / "here")
    assert {held for held, _ in client.run(load_of).values()} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("collapse", ["full", "partial"])
def test_drawn_tables_on_a_cluster_are_those_of_one_machine(
    tiny_file: Path, tmp_path: Path, client: Client, collapse: str
) -> None:
    bursty = ("model.bursts=document", "inference.burst_start=1", "inference.hyper_start=1")
    more = (*bursty, f"inference.collapse={collapse}")
    fitted(tiny_file, tmp_path / "here", "hdp-gibbs", more, workers=2)
    fitted(tiny_file, tmp_path / "there", "hdp-gibbs", more, cluster=client.scheduler.address)
    assert products(tmp_path / "there") == products(tmp_path / "here")
    lines = (tmp_path / "here" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["tables_per_token"] < 1


@pytest.mark.slow
def test_messages_are_answered_by_the_processes(engine: Cluster) -> None:
    homes = engine.deal(home_of, [5, 6, 7, 8])
    assert [number for number, _ in homes] == [5, 6, 7, 8]
    assert os.getpid() not in {home for _, home in homes} and len({home for _, home in homes}) == 2


@pytest.mark.slow
def test_pieces_live_in_the_workers(engine: Cluster) -> None:
    pieces = engine.place(int, [1, 2, 3, 4], _begin, 0)
    homes = pieces.ask(_home, None)
    assert os.getpid() not in homes
    assert len(set(homes)) == 2
    assert homes[0] == homes[1] and homes[2] == homes[3]
    assert engine.n_workers == 4


def _begin(piece: int, message: int) -> int:
    return piece + message


def _home(piece: int, state: int, message: None) -> int:
    return os.getpid()


def _add(piece: int, state: int, message: int) -> tuple[int, int]:
    return state + message, state


def _raise(piece: int, state: int, message: int) -> tuple[int, int]:
    raise ValueError(f"piece {piece}")


@pytest.mark.slow
def test_a_task_left_over_from_another_generation_finds_no_state(engine: Cluster) -> None:
    pieces = engine.place(int, [1, 2], _begin, 0)
    late = engine.place(int, [1], _begin, 0)
    assert pieces.step(_add, 10) == [1, 2]
    assert pieces.ask(_add, 0) == [(11, 11), (12, 12)]
    late._line, late._generation = pieces._line, 0
    with pytest.raises(WorkersLost):
        late.step(_add, 100)
    assert pieces.step(_add, 0) == [11, 12]


@pytest.mark.slow
def test_what_a_task_raises_comes_through_and_states_stay(engine: Cluster) -> None:
    pieces = engine.place(int, [1, 2], _begin, 0)
    with pytest.raises(ValueError, match="piece 1"):
        pieces.step(_raise, 0)
    assert pieces.ask(_add, 5) == [(6, 1), (7, 2)]


@pytest.mark.slow
def test_nobody_keeps_states_that_are_not_needed_any_more(client: Client, engine: Cluster) -> None:
    pieces = engine.place(int, [1, 2, 3, 4], _begin, 0)
    for _ in range(3):
        pieces.copy().step(_add, 1)
    few = engine.place(int, [1], _begin, 0)
    pieces.step(_add, 1)
    assert sum(client.run(_held, engine._name).values()) == 5
    del pieces
    few.step(_add, 1)
    until(lambda: sum(client.run(_held, engine._name).values()) == 1)


@pytest.mark.slow
def test_a_step_that_takes_long_keeps_no_pieces(
    engine: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Dask raises after each look must not hold the frames that pieces live in."""
    monkeypatch.setattr(coordinator, "LOOK_EVERY", 0.05)
    pieces = engine.place(int, [1], _begin, 0)
    pieces.ask(_sleep, 0.5)
    left = weakref.ref(pieces)
    gc.disable()
    try:
        del pieces
        assert left() is None
    finally:
        gc.enable()


def _sleep(piece: int, state: int, message: float) -> None:
    time.sleep(message)


def _held(name: str) -> int:
    return sum(line.startswith(name) for line, _ in worker.STORE.held)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hdp-gibbs", *by_night("hdp-cvb0")])
def test_a_worker_that_dies_costs_no_byte(
    backend: str, tiny_file: Path, tmp_path: Path, client: Client, crew: Crew
) -> None:
    fitted(tiny_file, tmp_path / "here", backend)
    killed: list[int] = []
    before: list[int] = []
    at: list[float] = []

    def held() -> list[int]:
        return sorted(number for number, _ in client.run(load_of).values())

    def kill(event: Any) -> None:
        at.append(time.perf_counter())
        if event.iteration == 4 and not killed:
            before.extend(held())
            killed.append(max(client.run(load_of).values())[1])
            victim = crew.replace(killed[0])
            victim.kill()
            victim.wait(60)
        if event.iteration == ITERATIONS:
            until(lambda: held() == before)  # who took the dead one's place works, too

    done = fitted(
        tiny_file,
        tmp_path / "there",
        backend,
        cluster=client.scheduler.address,
        callbacks=[kill],
        more=("output.checkpoint_seconds=0",),
    )
    assert killed and done.status == "done"
    # What came before the death belongs to the fit's time, and the wait for another worker.
    assert done.run.manifest["wall_seconds"] > at[-1] - at[0]
    assert "going back to the last checkpoint" in log_of(tmp_path / "there")
    assert products(tmp_path / "there") == products(tmp_path / "here")


@pytest.mark.slow
def test_a_worker_that_stops_answering_is_named_and_costs_no_byte(
    tiny_file: Path,
    tmp_path: Path,
    client: Client,
    crew: Crew,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr, too, where the fit is quiet."""
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.2)
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0")
    stopped: list[threading.Thread] = []
    there = tmp_path / "there"

    def stand_still(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: "has not answered" in log_of(there))
        finally:
            os.kill(pid, signal.SIGCONT)

    def stop(event: Any) -> None:
        if event.iteration == 3:
            stopped.append(threading.Thread(target=stand_still, args=[max(crew.workers)]))
            stopped[0].start()
        if event.iteration == ITERATIONS:
            until(lambda: "answers again" in log_of(there))

    address = client.scheduler.address
    done = fitted(tiny_file, there, "hdp-cvb0", quiet=True, cluster=address, callbacks=[stop])
    stopped[0].join(60)
    assert done.status == "done"
    said = log_of(there)
    assert "waiting for the worker tcp://" in said and "going back" not in said
    told = capsys.readouterr().err.splitlines()
    assert all("has not answered" in line or "answers again" in line for line in told)
    assert told and told[0].startswith("waiting for the worker tcp://")
    assert products(there) == products(tmp_path / "here")


@pytest.mark.slow
@pytest.mark.nightly
def test_a_worker_that_stays_silent_is_given_up(tiny_file: Path, tmp_path: Path) -> None:
    """After as long as Dask's own setting says; its nanny starts another one."""
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0")
    before = {each.pid for each in psutil.Process().children()}
    stopped: list[psutil.Process] = []

    def stop(event: Any) -> None:
        if event.iteration == 3 and not stopped:
            started = [each for each in psutil.Process().children() if each.pid not in before]
            stopped.extend(each for each in started if "spawn_main" in " ".join(each.cmdline()))
            stopped[0].suspend()

    always = ("output.checkpoint_seconds=0",)
    place: dict[str, Any] = {"cluster": "local:2", "callbacks": [stop]}
    with dask.config.set({"distributed.scheduler.worker-ttl": "5s"}):
        done = fitted(tiny_file, tmp_path / "there", "hdp-cvb0", always, **place)
    assert done.status == "done" and not stopped[0].is_running()
    assert "going back to the last checkpoint" in log_of(tmp_path / "there")
    assert products(tmp_path / "there") == products(tmp_path / "here")


@pytest.mark.slow
def test_an_answer_of_a_silent_worker_is_waited_for(
    engine: Cluster, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has worked, and is stopped before its answer is fetched."""
    pieces = engine.place(int, [1, 2, 3, 4], _begin, 0)
    monkeypatch.setattr(coordinator, "ANSWER_WITHIN", 0.2)
    going_on = threading.Timer(1.0, os.kill, [max(crew.workers), signal.SIGCONT])

    def waited_for(one: Cluster, futures: dict[str, Any]) -> None:
        wait(list(futures.values()))
        os.kill(max(crew.workers), signal.SIGSTOP)
        going_on.start()

    monkeypatch.setattr(Cluster, "_wait", waited_for)
    try:
        assert pieces.ask(_add, 5) == [(6, 1), (7, 2), (8, 3), (9, 4)]
        assert going_on.finished.is_set()
    finally:
        going_on.join()


@pytest.mark.slow
def test_answers_that_died_with_their_workers_are_not_waited_for(
    engine: Cluster, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All workers have worked, and die before their answers are fetched; no other one comes."""
    pieces = engine.place(int, [1, 2, 3, 4], _begin, 0)

    def waited_for(one: Cluster, futures: dict[str, Any]) -> None:
        wait(list(futures.values()))
        crew.kill()

    monkeypatch.setattr(Cluster, "_wait", waited_for)
    began = time.monotonic()
    with pytest.raises(WorkersLost, match="gone"):
        pieces.ask(_add, 5)
    assert time.monotonic() - began < 60


def test_a_silent_worker_is_sent_a_long_message_once_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask waits for a connection only half a minute; a worker that has gone is told of."""
    monkeypatch.setattr(coordinator, "PAUSE", 0.0)

    class Silent:
        tried = 0

        def nthreads(self, **options: Any) -> dict[str, int]:
            return {} if self.tried == 4 else {"tcp://a:1": 1}

        def scatter(self, data: Any, workers: Any, hash: bool) -> list[str]:
            self.tried += 1
            if self.tried != 3:
                raise CommClosedError("Stream is closed")
            return ["a future"]

    engine = Cluster(Silent())
    assert engine._sent_ahead("tcp://a:1", b"long") == "a future"
    with pytest.raises(WorkersLost, match="the worker tcp://a:1 is gone"):
        engine._sent_ahead("tcp://a:1", b"long")


def _scaled(arrays: Any, factor: int, table: Any, engine: Any) -> Any:
    table[:] = arrays["counts"] * factor
    return (table,)


def _first_and_sum(piece: int, state: int, message: Any) -> tuple[int, tuple[int, int]]:
    (table,) = message
    return state + 1, (piece, int((table * np.arange(len(table))).sum()))


def shared(counts: Any, factor: int) -> Shared:
    return Shared(_scaled, {"counts": counts}, factor, np.zeros(len(counts), np.int64))


@pytest.mark.slow
def test_of_what_a_message_is_made_of_only_changes_travel(engine: Cluster) -> None:
    counts = np.random.default_rng(1).integers(0, 100, 200_000).astype(np.int32)
    there, here = (
        engine.place(int, [1, 2, 3], _begin, 0),
        Workers().place(int, [1, 2, 3], _begin, 0),
    )
    sent = []
    for turn in range(4):
        counts[turn * 7] += 300
        before = engine.sent
        message = shared(counts, turn)
        assert there.step(_first_and_sum, message) == here.step(_first_and_sum, message)
        sent.append(engine.sent - before)
    assert sent[0] > 2 * 200_000
    assert max(sent[1:]) < 4000
    results: list[Any] = there.step(_first_and_sum, shared(counts, 2), added=len)
    assert sum(results) == 3 and len(results) == 2


def _interchange(name: str) -> None:
    for line, copies in worker.STORE.copies.items():
        if line.startswith(name):
            copies["counts"][[0, 1]] = copies["counts"][[1, 0]]


@pytest.mark.slow
def test_a_process_with_other_counts_is_noticed(client: Client, engine: Cluster) -> None:
    counts = np.arange(5000, dtype=np.int32)
    pieces = engine.place(int, [1, 2], _begin, 0)
    pieces.step(_first_and_sum, shared(counts, 1))
    client.run(_interchange, engine._name, workers=[min(client.nthreads())])
    with pytest.raises(WorkersLost, match="has other counts than it was told"):
        pieces.step(_first_and_sum, shared(counts, 1))


def test_of_a_death_one_line_is_told() -> None:
    class Dying:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {"tcp://a:1": 1}

        def submit(self, *arguments: Any, **options: Any) -> None:
            raise CancelledError("1 Future cancelled:\nReasons:\nfor reason: already forgotten.")

        def cancel(self, futures: Any, force: bool) -> None:
            pass

    with pytest.raises(WorkersLost) as caught:
        Cluster(Dying()).send(
            {"tcp://a:1": worker.WorkerCommand("ask", "", 0, (), ())}, {"tcp://a:1": b""}
        )
    assert str(caught.value) == "a worker of the cluster is gone (CancelledError)"


def test_a_scheduler_that_has_died_is_waited_for_and_then_missed() -> None:
    """Dask's client closes itself after half a minute, and has no scheduler to ask any more."""

    class Closing:
        status = "running"

        def nthreads(self, **options: Any) -> dict[str, int]:
            if self.status != "running":
                raise AttributeError("'NoneType' object has no attribute 'ncores'")
            return {"tcp://a:1": 1}

        def cancel(self, futures: Any, force: bool) -> None:
            pass

    client = Closing()
    engine = Cluster(client)
    client.status = "closed"
    assert not engine.recovered(lambda: False, 0.01)
    with pytest.raises(WorkersLost, match="a worker of the cluster is gone"):
        engine.send({"tcp://a:1": worker.WorkerCommand("ask", "", 0, (), ())}, {"tcp://a:1": b""})


@pytest.mark.parametrize("error", [CommClosedError("ConnectionPool closing."), TimeoutError()])
def test_a_scheduler_that_dies_before_documents_are_placed_is_missed(error: OSError) -> None:
    class Dying:
        asked = 0

        def nthreads(self, **options: Any) -> dict[str, int]:
            self.asked += 1
            if self.asked > 1:
                raise error
            return {"tcp://a:1": 1}

    engine = Cluster(Dying())
    with pytest.raises(
        WorkersLost, match=f"scheduler of the cluster is gone .{type(error).__name__}"
    ):
        engine.place(int, [1, 2], _begin, 0)


@pytest.mark.slow
def test_what_dask_says_of_a_lost_scheduler_is_left_out(client: Client) -> None:
    log = logging.getLogger("distributed.client")
    before = log.level
    with joining.cluster(client.scheduler.address):
        assert not log.isEnabledFor(logging.ERROR)
    assert log.level == before


def test_a_worker_that_goes_before_a_long_message_is_told_of() -> None:
    class Gone:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {"tcp://a:1": 1}

        def scatter(self, data: Any, workers: Any, hash: bool) -> None:
            raise KeyError(workers[0])

        def cancel(self, futures: Any, force: bool) -> None:
            pass

    order = worker.WorkerCommand("ask", "", 0, (), ())
    with pytest.raises(WorkersLost, match="the worker tcp://a:1 is gone"):
        Cluster(Gone()).send({"tcp://a:1": order}, {"tcp://a:1": bytes(coordinator.INLINE + 1)})


def test_a_process_that_draws_other_numbers_is_named() -> None:
    same, other = worker.Answer("done", [], 7), worker.Answer("done", [], 8)
    with pytest.raises(UsageError, match="the worker tcp://b:1 draws other numbers"):
        coordinator._check_made({"tcp://a:1": same, "tcp://b:1": other, "tcp://c:1": same})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "n_docs", "chosen"),
    [
        ("hlda-gibbs", 400, ("inference.collapse=partial", "inference.burn_in=2")),
        *by_night(
            (
                "hdp-gibbs",
                4000,
                ("inference.collapse=partial", "inference.start=random", "model.truncation=40"),
            ),
            ("hlda-variational", 400, ("inference.start_sweeps=2", "inference.start_leaves=20")),
        ),
    ],
)
def test_shards_on_a_cluster_and_a_worker_that_dies_cost_no_byte(
    backend: str, n_docs: int, chosen: tuple[str, ...], tmp_path: Path, client: Client, crew: Crew
) -> None:
    """Documents of 250 tokens, whose files the workers open themselves."""
    rng = np.random.default_rng(5)
    words = (2000 * rng.random((n_docs, 250)) ** 3).astype(np.int64)
    rows = np.repeat(np.arange(n_docs), 250)
    ones = np.ones(words.size, np.int32)
    counts = sparse.coo_array((ones, (rows, words.ravel()))).tocsr()
    write_bags(Corpus(counts, default_vocab(counts.shape[1])), tmp_path / "a.shards")
    victims: list[subprocess.Popen[bytes]] = []

    def kill(event: Any) -> None:
        if event.iteration == 4 and not victims:
            loads = client.run(load_of)
            address = max(loads, key=lambda each: loads[each])
            client.run(die_at_the_next_order, workers=[address])
            victims.append(crew.replace(loads[address][1]))

    always = ("inference.shards=4", "output.checkpoint_seconds=0")
    settings = (*always, *chosen)
    places: dict[str, dict[str, Any]] = {
        "here": {"workers": 2},
        "there": {"cluster": client.scheduler.address, "callbacks": [kill]},
    }
    for name, place in places.items():
        fit(
            tmp_path / "a.shards",
            run=tmp_path / name,
            backend=backend,
            overrides=settings,
            iterations=ITERATIONS,
            **place,
        )
    assert [victim.wait(60) for victim in victims] == [1]
    assert "going back to the last checkpoint" in log_of(tmp_path / "there")
    assert products(tmp_path / "there") == products(tmp_path / "here")


@pytest.mark.slow
def test_without_any_worker_the_fit_stops_and_goes_on_elsewhere(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0")
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0", silence_logs=50) as local:

        def end(event: Any) -> None:
            if event.iteration == 3:
                local.scale(0)

        recovered = Cluster.recovered
        monkeypatch.setattr(Cluster, "recovered", lambda self, enough: recovered(self, enough, 1))
        stopped = fitted(
            tiny_file,
            tmp_path / "there",
            "hdp-cvb0",
            cluster=local.scheduler_address,
            callbacks=[end],
        )
    assert stopped.status == "stopped"
    assert RunDir.open(tmp_path / "there").manifest["status"] == "stopped"
    assert "the same command goes on from iteration" in log_of(tmp_path / "there")
    assert fitted(tiny_file, tmp_path / "there", "hdp-cvb0").status == "done"
    assert products(tmp_path / "there") == products(tmp_path / "here")


class Losing(Cluster):
    """An engine of this process, of which a test says when a worker dies."""

    def __init__(self, recovering: Callable[[], None]) -> None:
        self.n_workers, self.here, self._recovering = 2, Workers(), recovering

    def place(self, *arguments: Any) -> Any:
        return self.here.place(*arguments)

    def recovered(self, enough: Callable[[], object], patience: float = 0.0) -> bool:
        self._recovering()
        return True


def test_the_manifest_says_which_iteration_a_fit_has_gone_back_to(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits for workers, when it goes on, and when another process does."""
    run, told, step = tmp_path / "run", [], registry.load("hdp-cvb0").step

    def tell() -> None:
        manifest = json.loads((run / "manifest.json").read_text())
        told.append((manifest["status"], manifest["iterations"]))

    def dying(state: Any, data: Any, settings: Any, context: Any) -> Any:
        if context.iteration in (1, 5):
            tell()
        if context.iteration == 5 and len(told) == 2:
            raise WorkersLost("a worker is gone")
        return step(state, data, settings, context)

    put_in_place(monkeypatch, "hdp-cvb0", step=dying)
    monkeypatch.setattr(driver, "engine_of", lambda *_: nullcontext(Losing(tell)))
    kept = ("output.checkpoint_seconds=0",)
    done = fitted(tiny_file, run, "hdp-cvb0", kept, cluster="local:2")
    assert done.status == "done"
    assert told == [("running", 0), ("running", 0), ("running", 4), ("running", 4)]


def test_workers_that_die_again_and_again_in_one_iteration_end_the_fit(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where each takes more memory than it may; the same command goes on elsewhere."""
    run, steps, step = tmp_path / "run", [], registry.load("hdp-cvb0").step

    def dying(state: Any, data: Any, settings: Any, context: Any) -> Any:
        steps.append(context.iteration)
        if context.iteration == 3 or (context.iteration == 2 and steps.count(2) == 1):
            raise WorkersLost("a worker is gone")
        return step(state, data, settings, context)

    kept = ("output.checkpoint_seconds=0",)
    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-cvb0", step=dying)
        patch.setattr(driver, "engine_of", lambda *_: nullcontext(Losing(lambda: None)))
        stopped = fitted(tiny_file, run, "hdp-cvb0", kept, cluster="local:2")
    assert (stopped.status, stopped.iterations) == ("stopped", 2)
    assert steps.count(3) == driver.LOSSES
    assert "before the end of iteration 3 (do the workers have enough memory?)" in log_of(run)
    assert fitted(tiny_file, run, "hdp-cvb0", kept).status == "done"
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0", kept)
    assert products(run) == products(tmp_path / "here")


def _set_status(name: str, dask_worker: Any) -> None:
    dask_worker.status = Status[name]


@pytest.mark.slow
@pytest.mark.parametrize("for_ever", [False, *by_night(True)])
def test_a_worker_that_dask_has_paused_is_named_and_costs_no_byte(
    for_ever: bool,
    tiny_file: Path,
    tmp_path: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It begins no tasks. A fit waits for it, in the end as for one that is dead."""
    monkeypatch.setattr(watch, "LOOK_EVERY", 0.2)
    recovered = Cluster.recovered
    monkeypatch.setattr(Cluster, "recovered", lambda self, enough: recovered(self, enough, 1))
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0")
    there, chosen = tmp_path / "there", [max(client.nthreads())]
    waking: list[threading.Thread] = []

    def wake() -> None:
        until(lambda: "which Dask has paused" in log_of(there))
        client.run(_set_status, "running", workers=chosen)

    def pause(event: Any) -> None:
        if event.iteration == 3 and not waking:
            client.run(_set_status, "paused", workers=chosen)
            waking.append(threading.Thread(target=wake))
            if not for_ever:
                waking[0].start()
            time.sleep(1)  # the watch sees it

    ttl = "3s" if for_ever else None
    with dask.config.set({"distributed.scheduler.worker-ttl": ttl}):
        place: dict[str, Any] = {"cluster": client.scheduler.address, "callbacks": [pause]}
        done = fitted(tiny_file, there, "hdp-cvb0", **place)
    client.run(_set_status, "running", workers=chosen)
    assert done.status == "done"
    assert f"the worker {chosen[0]}, which Dask has paused" in log_of(there)
    assert ("going back to the last checkpoint" in log_of(there)) is for_ever
    assert products(there) == products(tmp_path / "here")


@pytest.mark.nightly
def test_a_local_process_that_dies_costs_no_byte(tiny_file: Path, tmp_path: Path) -> None:
    """Dask starts it again, or the fit makes do with the one that is left."""
    fitted(tiny_file, tmp_path / "here", "hdp-cvb0")
    before = {each.pid for each in psutil.Process().children()}
    killed: list[int] = []

    def kill(event: Any) -> None:
        if event.iteration == 4 and not killed:
            started = [each for each in psutil.Process().children() if each.pid not in before]
            workers = [each for each in started if "spawn_main" in " ".join(each.cmdline())]
            killed.append(workers[0].pid)
            workers[0].kill()

    always = ("output.checkpoint_seconds=0",)
    place: dict[str, Any] = {"cluster": "local:2", "callbacks": [kill]}
    done = fitted(tiny_file, tmp_path / "there", "hdp-cvb0", always, **place)
    assert killed and done.status == "done"
    assert "going back to the last checkpoint" in log_of(tmp_path / "there")
    assert products(tmp_path / "there") == products(tmp_path / "here")


@pytest.mark.slow
def test_local_processes_and_a_signal_to_all_of_them(tiny_file: Path, tmp_path: Path) -> None:
    """A terminal's interrupt reaches the workers too: they leave it to the fit, which stops."""
    command = [sys.executable, "-m", "hiertopics", "fit", str(tiny_file), "-b", "hdp-cvb0"]
    settings = [f"-s{pair}" for pair in (*small_settings("hdp-cvb0"), "inference.shards=2")]
    place = ["-o", str(tmp_path / "run"), "--iterations", "100000", "--cluster", "local:2"]
    with subprocess.Popen(
        [*command, *settings, *place],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        metrics = tmp_path / "run" / "metrics.jsonl"
        while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 75, said
    assert "Traceback" not in said
    assert RunDir.open(tmp_path / "run").manifest["status"] == "stopped"


def test_python_takes_a_cluster_too(tiny_file: Path) -> None:
    settings = (*small_settings("hdp-cvb0"), "inference.shards=2")
    with pytest.raises(UsageError, match="expected local:N"):
        hiertopics.fit(tiny_file, backend="hdp-cvb0", overrides=settings, cluster="local:two")
