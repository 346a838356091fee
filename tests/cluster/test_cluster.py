"""Fits in processes of a Dask cluster: the bytes of threads, workers that die, places of no use."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import dask
import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest
from distributed import CancelledError, Client, LocalCluster, Security, wait
from distributed.client import AllExit
from distributed.comm import CommClosedError
from distributed.core import rpc
from replacing import put_in_place
from scipy import sparse
from tiny import small_settings

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.contract.cluster import coordinator, joining, watch, worker
from hiertopics.contract.cluster.coordinator import Cluster, WorkersLost
from hiertopics.contract.cluster.joining import cluster
from hiertopics.contract.engine import Shared, Workers
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.fitting import driver
from hiertopics.fitting.driver import fit
from hiertopics.fitting.job import FitResult
from hiertopics.runs import placing as where_placed
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate

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

    def end(self) -> None:
        """Kill all of them."""
        for process in (*self.workers.values(), *self.dying):
            process.kill()
            process.wait(60)


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as local:
        opened = Crew(local.scheduler_address)
        yield opened
        opened.end()


@pytest.fixture
def client(crew: Crew) -> Iterator[Client]:
    crew.complete()
    with Client(crew.scheduler) as opened:
        opened.wait_for_workers(2, timeout=120)
        yield opened


@pytest.fixture
def engine(client: Client) -> Iterator[Cluster]:
    opened = Cluster(client)
    yield opened
    opened.close()


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


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cluster_changes_no_byte(
    backend: str, tiny_file: Path, tmp_path: Path, client: Client
) -> None:
    fitted(tiny_file, tmp_path / "here", backend, workers=2)
    done = fitted(tiny_file, tmp_path / "there", backend, cluster=client.scheduler.address)
    assert done.status == "done"
    assert products(tmp_path / "there") == products(tmp_path / "here")
    assert {held for held, _ in client.run(_load).values()} == {0}


@pytest.mark.slow
def test_messages_are_answered_by_the_processes(engine: Cluster) -> None:
    homes = engine.deal(_home_of, [5, 6, 7, 8])
    assert [number for number, _ in homes] == [5, 6, 7, 8]
    assert os.getpid() not in {home for _, home in homes} and len({home for _, home in homes}) == 2


def _home_of(number: int) -> tuple[int, int]:
    return number, os.getpid()


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
@pytest.mark.parametrize("backend", ["hdp-cvb0", "hdp-gibbs"])
def test_a_worker_that_dies_costs_no_byte(
    backend: str, tiny_file: Path, tmp_path: Path, client: Client, crew: Crew
) -> None:
    fitted(tiny_file, tmp_path / "here", backend)
    killed: list[int] = []
    before: list[int] = []
    at: list[float] = []

    def held() -> list[int]:
        return sorted(number for number, _ in client.run(_load).values())

    def kill(event: Any) -> None:
        at.append(time.perf_counter())
        if event.iteration == 4 and not killed:
            before.extend(held())
            killed.append(max(client.run(_load).values())[1])
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


@pytest.mark.parametrize("told", [True, False])
def test_a_result_that_nobody_heard_of_is_no_traceback(
    told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    joining.leave_out_lost_results()

    async def ends() -> None:
        raise ValueError if told else AllExit

    loop = asyncio.new_event_loop()
    loop.create_task(ends())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    gc.collect()
    assert [record.name for record in caplog.records] == ["asyncio"] * told


def _die_at_the_next_order() -> None:
    worker._carried_out = lambda *order: os._exit(1)


def _load() -> tuple[int, int]:
    """Return how many states this process holds, and which one it is."""
    return len(worker.STORE.held), os.getpid()


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
        Cluster(Dying()).send({"tcp://a:1": worker.Order("ask", "", 0, (), ())}, {"tcp://a:1": b""})
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
        engine.send({"tcp://a:1": worker.Order("ask", "", 0, (), ())}, {"tcp://a:1": b""})


def test_a_worker_that_goes_before_a_long_message_is_told_of() -> None:
    class Gone:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {"tcp://a:1": 1}

        def scatter(self, data: Any, workers: Any, hash: bool) -> None:
            raise KeyError(workers[0])

        def cancel(self, futures: Any, force: bool) -> None:
            pass

    order = worker.Order("ask", "", 0, (), ())
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
        (
            "hdp-gibbs",
            4000,
            ("inference.collapse=partial", "inference.start=uniform", "model.truncation=40"),
        ),
        ("hlda-gibbs", 400, ("inference.collapse=partial", "inference.burn_in=2")),
        ("hlda-variational", 400, ("inference.start_sweeps=2", "inference.start_leaves=20")),
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
            loads = client.run(_load)
            address = max(loads, key=lambda each: loads[each])
            client.run(_die_at_the_next_order, workers=[address])
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


PLACED = (
    "hdp-gibbs",
    "nhdp-variational",
    "hlda-gibbs",
    "hlda-variational",
    "chdp-variational",
    "tssb-mcmc",
    "hca-variational",
)
"""A backend for each way to place new documents."""


@pytest.fixture(scope="module", params=PLACED)
def placing(
    request: pytest.FixtureRequest,
    file_for: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> RunDir:
    """Return a run with documents put aside; a sampler's keeps three draws."""
    kept = ("inference.burn_in=2", "inference.keep_every=2")
    draws = kept if request.param in ("hdp-gibbs", "hlda-gibbs", "tssb-mcmc") else ()
    return fit(
        file_for(request.param),
        run=tmp_path_factory.mktemp("placing") / request.param,
        backend=request.param,
        overrides=(*small_settings(request.param), *draws),
        iterations=ITERATIONS,
        holdout="docs:0.4@0",
    ).run


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_cluster_places_documents_with_the_same_bytes(
    placing: RunDir, suffix: str, tmp_path: Path, client: Client
) -> None:
    places: dict[str, dict[str, Any]] = {
        "here": {"workers": 2},
        "there": {"cluster": client.scheduler.address},
    }
    for name, place in places.items():
        infer(placing, placing.experiment.data.corpus, tmp_path / f"{name}{suffix}", **place)
    found = [(tmp_path / f"{name}{suffix}").read_bytes() for name in places]
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("average", [False, True])
def test_a_cluster_scores_with_the_same_bytes(
    placing: RunDir, average: bool, client: Client
) -> None:
    if average and not placing.n_draws:
        with pytest.raises(UsageError, match="kept no draws|has no meaning"):
            evaluate(placing, average=True, cluster=client.scheduler.address)
        return
    kept: list[Any] = []
    for place in ({"workers": 2}, {"cluster": client.scheduler.address}):
        record = evaluate(placing, average=average, **place)
        files = sorted((placing.path / "eval").glob("*.npz"))
        kept.append((record, [file.read_bytes() for file in files]))
        for file in files:
            file.unlink()
    assert kept[0] == kept[1] and kept[0][1]


@pytest.mark.slow
def test_shards_are_placed_on_a_cluster_block_by_block(
    tiny_file: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    rows = np.random.default_rng(0).poisson(1.0, (40, len(run.vocab)))
    write_bags(Corpus(sparse.csr_array(rows), run.vocab), tmp_path / "a.shards")
    monkeypatch.setattr(where_placed, "MOST_PAIRS", 100)
    here = infer(run, tmp_path / "a.shards", tmp_path / "here.npz")
    there = infer(
        run, tmp_path / "a.shards", tmp_path / "there.npz", cluster=client.scheduler.address
    )
    assert here.unknown_tokens == there.unknown_tokens == 0
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


@pytest.mark.slow
def test_a_tree_that_was_fitted_further_is_read_anew(
    tiny_file: Path, tmp_path: Path, client: Client
) -> None:
    run = tmp_path / "run"
    for iterations in (2, 6):
        fit(
            tiny_file,
            run=run,
            backend="hdp-cvb0",
            overrides=small_settings("hdp-cvb0"),
            iterations=iterations,
        )
        infer(run, tiny_file, tmp_path / "here.npz")
        infer(run, tiny_file, tmp_path / "there.npz", cluster=client.scheduler.address)
        assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


@pytest.mark.slow
def test_documents_are_placed_though_a_worker_dies(
    tiny_file: Path, tmp_path: Path, client: Client, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    infer(run, tiny_file, tmp_path / "here.npz")
    deal = Cluster.deal
    killed: list[subprocess.Popen[bytes]] = []

    def dying(engine: Cluster, task: Any, messages: Any) -> Any:
        if not killed:
            loads = client.run(_load)
            address = max(loads)
            client.run(_die_at_the_next_order, workers=[address])
            killed.append(crew.replace(loads[address][1]))
        return deal(engine, task, messages)

    monkeypatch.setattr(Cluster, "deal", dying)
    infer(run, tiny_file, tmp_path / "there.npz", cluster=client.scheduler.address)
    assert [victim.wait(60) for victim in killed] == [1]
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


def test_messages_of_a_lost_worker_are_dealt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [WorkersLost("gone"), WorkersLost("gone"), [(7, 7)]]

    def deal(*others: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, WorkersLost):
            raise answer
        return answer

    class Empty:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

    monkeypatch.setattr(Cluster, "recovered", lambda *others: True)
    monkeypatch.setattr(Cluster, "deal", deal)
    assert Cluster(Empty()).dealt(_home_of, [1]) == [(7, 7)] and not answers


def test_without_any_worker_the_placing_ends_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

    monkeypatch.setattr(Cluster, "recovered", lambda *others: False)
    with pytest.raises(WorkersLost, match="has no workers, and no worker came; the same command"):
        Cluster(Empty()).dealt(_home_of, [1])


@pytest.mark.slow
def test_a_run_that_workers_do_not_see_places_nothing(
    tiny_file: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    monkeypatch.setattr(coordinator, "look", partial(_seen_in, os.getpid()))
    with pytest.raises(UsageError, match="sees none where .*manifest.json is"):
        infer(run, tiny_file, tmp_path / "new.npz", cluster=client.scheduler.address)
    assert not (tmp_path / "new.npz").exists()


def _seen_in(process: int, files: list[str]) -> dict[str, str]:
    """Return what is seen: all files in one process, none in others."""
    return dict.fromkeys(files, "whole") if os.getpid() == process else {}


def test_a_folder_that_a_worker_does_not_see_is_named(tmp_path: Path) -> None:
    class Other:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

        def run(self, function: Any, files: Any) -> dict[str, dict[str, str]]:
            return {"tcp://a:1": function(files), "tcp://b:1": self.seen}

        seen: ClassVar[dict[str, str]] = {}

    file = tmp_path / "shards.json"
    file.write_text("{}")
    engine = Cluster(Other())
    with pytest.raises(UsageError, match=f"tcp://b:1 sees none where {file} is"):
        engine.require_seen(file)
    Other.seen = {str(file): "of something else"}
    with pytest.raises(UsageError, match=f"tcp://b:1 sees another one where {file} is"):
        engine.require_seen(file)


@pytest.mark.slow
def test_a_run_that_workers_do_not_see_leaves_no_folder(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = sparse.csr_array(np.ones((8, 5), np.int32))
    write_bags(Corpus(counts, default_vocab(5)), tmp_path / "a.shards")
    seen = Cluster.require_seen

    def unseen(engine: Cluster, *files: Path) -> None:
        if files[0].name == ".lock":
            raise UsageError("the worker sees none")
        seen(engine, *files)

    monkeypatch.setattr(Cluster, "require_seen", unseen)
    settings = ("inference.collapse=partial", "inference.shards=2")
    for _ in range(2):
        with pytest.raises(UsageError, match="sees none"):
            fit(
                tmp_path / "a.shards",
                run=tmp_path / "runs" / "a",
                backend="hdp-gibbs",
                overrides=settings,
                cluster=client.scheduler.address,
            )
        assert not (tmp_path / "runs" / "a").exists()


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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("settings", "backend", "said"),
    [
        ({}, "hdp-cvb0", "inference.shards is 1"),
        ({"inference.shards": 4}, "lda-gibbs", "does not run on a cluster"),
        ({"inference.shards": 2, "inference.chains": 2}, "hdp-gibbs", "must be fewer"),
    ],
)
def test_settings_with_nothing_to_share_out_are_refused(
    settings: dict[str, Any], backend: str, said: str, tiny_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        fit(tiny_file, run=tmp_path / "r", backend=backend, overrides=settings, cluster="local:2")
    assert not (tmp_path / "r").exists()


def test_processes_that_do_not_start_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those that a script begins without asking whether it is the main one."""

    def refuse(**options: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", refuse)
    with pytest.raises(UsageError, match="did not start .*if __name__"), cluster("local:2"):
        pass


@pytest.mark.parametrize("where", ["local:", "local:0", "local:two", "local:-1"])
def test_a_number_of_processes_is_asked_for(where: str) -> None:
    with pytest.raises(UsageError, match="expected local:N"), cluster(where):
        pass


def test_a_scheduler_file_that_is_missing_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "scheduler.json"
    with pytest.raises(UsageError, match="there is no file"), cluster(f"scheduler-file:{missing}"):
        pass


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]"])
def test_a_scheduler_file_without_an_address_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(text)
    with (
        pytest.raises(UsageError, match=r"scheduler\.json tells no address"),
        cluster(f"scheduler-file:{file}"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [(b"", "none within"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "another server does")],
)
def test_a_server_that_is_no_scheduler_is_named(
    answer: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's client would wait for the first without end, and take the second's words for sizes."""
    monkeypatch.setattr(joining, "ANSWER_WITHIN", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        said = f"no Dask scheduler answers there .{why}"
        with pytest.raises(UsageError, match=said) as caught, cluster(address):
            pass
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_an_address_without_tls_settings_and_one_of_a_worker(client: Client) -> None:
    with pytest.raises(UsageError, match="TLS"), cluster("tls://127.0.0.1:1"):
        pass
    worker_address = min(client.nthreads())
    with pytest.raises(UsageError, match="it is a Worker"), cluster(worker_address):
        pass


def test_a_worker_without_hiertopics_is_told_of_in_one_line() -> None:
    class Lacking:
        def run(self, function: Any) -> None:
            raise Exception("ModuleNotFoundError(\"No module named 'hiertopics'\")")

    with pytest.raises(UsageError, match="lacks a package.*No module named 'hiertopics'"):
        coordinator.check_agreement(Lacking())


@pytest.mark.slow
def test_an_address_where_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "ANSWER_WITHIN", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UsageError, match="no Dask scheduler answers"), cluster(address):
        pass


def test_a_worker_with_other_results_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def run(self, function: Any) -> dict[str, dict[str, str]]:
            return {"tcp://a:1": {**function(), "numpy": "1.0"}}

    with pytest.raises(UsageError, match="tcp://a:1 has numpy 1.0, this process has"):
        coordinator.check_agreement(Other())


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UsageError, match=r"pip install 'hiertopics\[cluster\]'"),
        cluster("local:2"),
    ):
        pass


def test_without_certificates_no_processes_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with (
        pytest.raises(UsageError, match=r"cryptography; .*pip install 'hiertopics\[cluster\]'"),
        cluster("local:2"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no certificate", "another certificate"])
def test_others_on_this_machine_do_not_reach_local_processes(kind: str) -> None:
    """Dask executes what it is sent, and every user can reach a port of 127.0.0.1."""
    other = Security.temporary()
    with cluster("local:1") as engine:
        workers = engine._client.scheduler_info()["workers"].items()
        nannies = [worker["nanny"] for _, worker in workers]
        for address in (engine._client.scheduler.address, *dict(workers), *nannies):
            number = address.rpartition(":")[2]
            plain = kind == "no certificate"
            reached = f"{'tcp' if plain else 'tls'}://127.0.0.1:{number}"
            told = {} if plain else other.get_connection_args("client")
            with pytest.raises(OSError):
                asyncio.run(_greet(reached, told))


async def _greet(address: str, options: dict[str, Any]) -> None:
    """Ask a process of Dask for what everybody may ask."""
    async with rpc(address, connection_args=options, timeout=5) as there:
        await there.identity()


def test_nothing_else_imports_dask() -> None:
    code = (
        "import sys, hiertopics, hiertopics.cli.fit, hiertopics.fitting.driver\n"
        "print([name for name in sys.modules if name.startswith(('dask', 'distributed'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_python_takes_a_cluster_too(tiny_file: Path) -> None:
    settings = (*small_settings("hdp-cvb0"), "inference.shards=2")
    with pytest.raises(UsageError, match="expected local:N"):
        hiertopics.fit(tiny_file, backend="hdp-cvb0", overrides=settings, cluster="local:two")
