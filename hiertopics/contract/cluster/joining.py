"""From the value of ``--cluster`` to an engine: start a cluster here, or join one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from hiertopics.base.errors import UsageError, optional
from hiertopics.contract.cluster.coordinator import (
    ANSWER_WITHIN,
    PATIENCE,
    Cluster,
    check_agreement,
)
from hiertopics.contract.cluster.watch import Watch
from hiertopics.contract.engine import Engine, Workers

LOCAL, FILE = "local:", "scheduler-file:"

SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
"""Settings of Dask: no task leaves the process that has its states, no state goes to disk."""


def engine_of(
    where: str | None, threads: int, tell: Callable[[str], None]
) -> AbstractContextManager[Engine]:
    """Return the engine: threads of this process, or those of a cluster (``cluster``)."""
    return Workers(threads) if where is None else cluster(where, threads, tell)


@contextmanager
def cluster(
    where: str, threads: int = 1, tell: Callable[[str], None] = lambda line: None
) -> Iterator[Cluster]:
    """Yield the engine of a cluster, and let go of it at the end.

    where: ``local:N``, N processes of this machine with ``threads`` threads each, begun here and
    ended here; the address of a Dask scheduler, as tcp://host:8786; or ``scheduler-file:PATH``.
    threads: of this process, too. tell: takes a line about a worker that does not answer.
    Raises UsageError where Dask is not installed, where nothing answers, or where a worker has
    other versions or other results of floating-point functions than this process.
    """
    dask, _ = (_needed(name, "Dask") for name in ("dask", "distributed"))
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        leave_out_lost_results()
        log = logging.getLogger("distributed.client")
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL)  # of a lost scheduler the fit itself tells
        client = _client(where, threads, stack)
        engine = Cluster(client, stack.enter_context(Workers(threads)), tell)
        stack.enter_context(Watch(engine.beats, lambda line: engine.tell(line)))
        check_agreement(client)
        stack.callback(engine.close)
        yield engine


def leave_out_lost_results() -> None:
    """Let asyncio not log, for the rest of the process, that nobody heard of a lost result.

    Where workers die while Dask's client fetches their results, a task of its own may end so. It is
    logged when it is collected, as a traceback on stderr; ``Cluster.send`` has told of the loss.
    """
    logging.getLogger("asyncio").addFilter(_is_no_lost_result)


def _is_no_lost_result(record: logging.LogRecord) -> bool:
    from distributed.client import AllExit

    return record.exc_info is None or not isinstance(record.exc_info[1], AllExit)


def _needed(module: str, what: str) -> Any:
    told = f"--cluster needs {what}; install it with: pip install 'hiertopics[cluster]'"
    return optional(module, told)


def _client(where: str, threads: int, stack: ExitStack) -> Any:
    from distributed import Client, LocalCluster, Security

    if where.startswith(LOCAL):
        number = where.removeprefix(LOCAL)
        if not (number.isascii() and number.isdigit() and int(number) > 0):
            raise UsageError(f"--cluster {where}: expected local:N with N processes, as local:4")
        # Dask executes what comes to its ports, which all users of this machine can reach.
        _needed("cryptography", "the package cryptography")
        try:
            here = LocalCluster(
                security=Security.temporary(),
                n_workers=int(number),
                threads_per_worker=threads,
                processes=True,
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=50,
            )
        except RuntimeError as error:
            raise UsageError(
                f"--cluster {where}: its processes did not start ({error}); each needs some 200 MB "
                "and begins with the script that calls fit: put the call under "
                "if __name__ == '__main__'"
            ) from error
        stack.callback(here.close, timeout=ANSWER_WITHIN)
        client = stack.enter_context(Client(here))
        client.register_plugin(_deaf())
        return client
    address = _address_in(where) if where.startswith(FILE) else where
    _require_scheduler(address, where)
    client = stack.enter_context(Client(address, timeout=ANSWER_WITHIN))
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise UsageError(
            f"--cluster {where}: no worker came within {PATIENCE:.0f} seconds; start some with: "
            "dask worker ADDRESS"
        ) from None
    return client


def _address_in(where: str) -> str:
    """Return the address that a scheduler's file tells."""
    path = where.removeprefix(FILE)
    try:
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["address"])
    except FileNotFoundError:
        raise UsageError(f"--cluster {where}: there is no file {path}") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"--cluster {where}: {path} tells no address; name the file that "
            "'dask scheduler --scheduler-file' wrote"
        ) from error


def _require_scheduler(address: str, where: str) -> None:
    """Raise UsageError where no scheduler answers: Dask's client may wait for ever."""
    import asyncio  # which no fit without a cluster needs

    from distributed import Security
    from distributed.core import rpc

    async def asked() -> Any:
        security = Security().get_connection_args("client")
        async with rpc(address, connection_args=security, timeout=ANSWER_WITHIN) as there:
            return (await there.identity())["type"]

    async def asked_in_time() -> Any:
        return await asyncio.wait_for(asked(), ANSWER_WITHIN)

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own
            kind = thread.submit(asyncio.run, asked_in_time()).result()
        why = "" if kind == "Scheduler" else f"it is a {kind}"
    except TimeoutError:
        why = f"none within {ANSWER_WITHIN:.0f} seconds"
    except (OSError, TypeError, ValueError) as error:
        why = str(error).partition("\n")[0]
    except Exception:  # what comes of taking another server's words for numbers
        why = "another server does"
    if why:
        raise UsageError(
            f"--cluster {where}: no Dask scheduler answers there ({why}); start one with: "
            "dask scheduler"
        )


def _deaf() -> Any:
    """Return a plugin: workers of this machine leave signals to the process that began them.

    A terminal's interrupt and a batch system's warning go to all processes; the fit ends its
    iteration and writes a checkpoint, for which it needs the states of its workers.
    """
    import signal

    from distributed import WorkerPlugin

    class SignalIgnorer(WorkerPlugin):  # type: ignore[misc]
        name = "deaf"

        def setup(self, worker: Any) -> None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)

    return SignalIgnorer()
