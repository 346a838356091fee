"""From what ``--cluster`` says to an engine: of a cluster begun here, or of one that is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from hiertopics.cluster.coordinator import ANSWER_WITHIN, PATIENCE, Cluster, check_agreement
from hiertopics.errors import UsageError

LOCAL, FILE = "local:", "scheduler-file:"

SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
"""Of Dask: no task leaves the process that has its states, no state goes to disk."""


@contextmanager
def cluster(where: str, threads: int = 1) -> Iterator[Cluster]:
    """Yield the engine of a cluster, and let go of it at the end.

    where: ``local:N``, N processes of this machine with ``threads`` threads each, begun here and
    ended here; the address of a Dask scheduler, as tcp://host:8786; or ``scheduler-file:PATH``.
    Raises UsageError where Dask is not installed, where nothing answers, or where a worker has
    other versions or other results of floating-point functions than this process.
    """
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError(
            "--cluster needs Dask; install it with: pip install 'hiertopics[cluster]'"
        ) from None
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        client = _client(where, threads, stack)
        check_agreement(client)
        engine = Cluster(client)
        stack.callback(engine.close)
        yield engine


def _client(where: str, threads: int, stack: ExitStack) -> Any:
    from distributed import Client, LocalCluster

    if where.startswith(LOCAL):
        number = where.removeprefix(LOCAL)
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise UsageError(f"--cluster {where}: expected local:N with N processes, as local:4")
        here = LocalCluster(
            n_workers=int(number),
            threads_per_worker=threads,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
            silence_logs=50,
        )
        stack.callback(here.close, timeout=ANSWER_WITHIN)
        client = stack.enter_context(Client(here))
        client.register_plugin(_deaf())
        return client
    chosen: dict[str, Any] = {"address": where}
    if where.startswith(FILE):
        path = where.removeprefix(FILE)
        with suppress(OSError), open(path, encoding="utf-8") as file:
            chosen = {"scheduler_file": file.name}
        if "scheduler_file" not in chosen:
            raise UsageError(f"--cluster {where}: there is no file {path}")
    try:
        client = stack.enter_context(Client(**chosen, timeout=ANSWER_WITHIN))
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(
            f"--cluster {where}: no Dask scheduler answers there within {ANSWER_WITHIN:.0f} "
            "seconds; start one with: dask scheduler"
        ) from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise UsageError(
            f"--cluster {where}: no worker came within {PATIENCE:.0f} seconds; start some with: "
            "dask worker ADDRESS"
        ) from None
    return client


def _deaf() -> Any:
    """Return a plugin: workers of this machine leave signals to the process that began them.

    A terminal's interrupt and a batch system's warning go to all processes; the fit ends its
    iteration and writes a checkpoint, for which it needs the states of its workers.
    """
    import signal

    from distributed import WorkerPlugin

    class Deaf(WorkerPlugin):  # type: ignore[misc]
        name = "deaf"

        def setup(self, worker: Any) -> None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)

    return Deaf()
