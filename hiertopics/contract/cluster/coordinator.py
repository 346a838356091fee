"""The engine of a cluster, in the process of the fit: orders go out, answers come back."""

from __future__ import annotations

import concurrent.futures
import itertools
import math
import pickle
import time
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.contract.cluster.watch import LOOK_EVERY
from hiertopics.contract.cluster.worker import (
    Answer,
    SharedUpdate,
    WorkerCommand,
    drop,
    fingerprint,
    look,
    serve,
    sums_of,
    whole_state,
)
from hiertopics.contract.engine import Each, Shared, Workers, message_to
from hiertopics.numeric.differences import caught_up, difference

Item = TypeVar("Item")
Part = TypeVar("Part")
Piece = TypeVar("Piece")
Local = TypeVar("Local")
Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds that are waited for a worker to come back."""

ANSWER_WITHIN = 20.0
"""Seconds within which a scheduler answers, and a cluster on this machine is up."""

PAUSE = 0.1
"""Seconds between two attempts to reach a worker."""

INLINE = 2**16
"""Bytes up to which a message goes with its task, not by itself before it."""

NOTHING = pickle.dumps(None)


class WorkersLost(HiertopicsError):
    """A process of the cluster is gone, and the states that lived there with it."""


class Cluster:
    """The engine; n_workers are the threads of all processes. See ``joining.cluster``.

    here: the threads of this process. tell: takes a line about a worker that does not answer. sent:
    bytes of messages so far, those to all processes together.
    """

    def __init__(
        self,
        client: Any,
        here: Workers | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._client, self.here, self.tell = client, here or Workers(), tell
        self.sent = 0
        self._lines = itertools.count()
        self._name = uuid.uuid4().hex
        self._gone: dict[str, list[str]] = defaultdict(list)
        self._paused: dict[str, float] = {}  # since when, in seconds of this process's clock
        self.n_workers = sum(self._threads().values())

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``: work without pieces stays here."""
        return [function(item) for item in items]

    def deal(self, task: Callable[[Item], Result], messages: Sequence[Item]) -> list[Result]:
        """Let processes answer messages, which travel with all that they hold; see ``Engine``."""
        return RemotePieces(self, self._owners(len(messages))).send("call", task, Each(messages))

    def dealt(self, task: Callable[[Item], Result], messages: Sequence[Item]) -> list[Result]:
        """Return the result of ``deal``; if a worker is lost, the remaining workers answer.

        Raises WorkersLost where none is there for a while.
        """
        while True:
            try:
                return self.deal(task, messages)
            except WorkersLost as lost:
                if not self.recovered(lambda: False):
                    raise WorkersLost(
                        f"{lost}, and no worker came; the same command begins again"
                    ) from None

    def _owners(self, n_pieces: int) -> list[str]:
        """Return the address of the process for each piece: neighbours live together."""
        try:
            threads = self._threads()
        except OSError as error:  # a scheduler that does not answer is one, too
            what = type(error).__name__
            raise WorkersLost(f"the scheduler of the cluster is gone ({what})") from error
        if not threads:
            paused = f" but {len(self._paused)} that Dask has paused" if self._paused else ""
            raise WorkersLost(f"the cluster has no workers{paused}")
        seats = [address for address in sorted(threads) for _ in range(threads[address])]
        return [seats[number * len(seats) // n_pieces] for number in range(n_pieces)]

    def place(
        self,
        build: Callable[[Part], Piece],
        parts: Sequence[Part],
        begin: Callable[[Piece, Any], Local],
        message: Any,
    ) -> RemotePieces[Piece, Local]:
        """Make each piece in the process where it will live; see ``Engine``.

        Neighbours live together; every process gets pieces by the number of its threads.
        """
        pieces: RemotePieces[Piece, Local] = RemotePieces(self, self._owners(len(parts)))
        first = [(part, message_to(number, message)) for number, part in enumerate(parts)]
        pieces.send("place", (build, begin), Each(first))
        return pieces

    def require_seen(self, *files: Path) -> None:
        """Raise UsageError where a worker does not see a file as it is seen here."""
        names = [str(file.resolve()) for file in files]
        here = look(names)
        for address, there in sorted(self._client.run(look, names).items()):
            for name in names:
                if there.get(name) != here.get(name):
                    sees = "another one" if name in there else "none"
                    raise UsageError(
                        f"the worker {address} sees {sees} where {name} is: corpora in shards and "
                        "their runs belong in a folder that all workers share, under the same name"
                    )

    def close(self) -> None:
        """Let the processes drop all that this engine placed there."""
        with suppress(Exception):  # who does not answer has nothing, or ends anyway
            self._client.run(drop, self._name)

    def new_line(self) -> str:
        """Return a name that no line of states has had."""
        return f"{self._name}-{next(self._lines)}"

    def forget(self, line: str, owners: Iterable[str]) -> None:
        """Let processes drop a line of states when the next orders go out."""
        for owner in owners:
            self._gone[owner].append(line)

    def send(
        self, orders: dict[str, WorkerCommand], messages: dict[str, bytes]
    ) -> dict[str, Answer]:
        """Send each process its order; return the answers by address.

        Raises WorkersLost where one of them is gone, and what a task raised.
        """
        from distributed import CancelledError, KilledWorker, fire_and_forget
        from distributed.comm import CommClosedError

        gone, self._gone = self._gone, defaultdict(list)
        lost = (KilledWorker, CancelledError, CommClosedError, OSError, TimeoutError)
        futures: dict[str, Any] = {}
        try:
            self._wait_for_paused(orders)
            threads = self._threads()
            for address in (gone.keys() - orders.keys()) & threads.keys():
                command = WorkerCommand("forget", "", 0, (), tuple(gone[address]))
                fire_and_forget(self._submit(address, command, NOTHING, 1))
            for address, command in orders.items():
                if address not in threads:
                    raise self._lost(address)
                own = command._replace(gone=tuple(gone[address]))
                sent: Any = messages[address]
                self.sent += len(sent)
                if len(sent) > INLINE:
                    sent = self._sent_ahead(address, sent)
                futures[address] = self._submit(address, own, sent, threads[address])
            self._wait(futures)
            fetched = self._fetched(futures)
            answers: dict[str, Answer] = {
                address: pickle.loads(packed) for address, packed in fetched.items()
            }
        except lost as error:
            what = type(error).__name__  # some of Dask's messages are long
            raise WorkersLost(f"a worker of the cluster is gone ({what})") from error
        finally:
            with suppress(*lost):
                self._client.cancel(
                    [future for future in futures.values() if not future.done()], force=True
                )
        for address, answer in answers.items():
            if answer.kind == "missing":
                raise WorkersLost(f"the worker {address} is gone, and the states that it had")
            if answer.kind == "differing":
                raise WorkersLost(f"the worker {address} has other counts than it was told")
        for answer in answers.values():
            if answer.kind == "raised":
                raise answer.results
        return answers

    def _sent_ahead(self, address: str, message: bytes) -> Any:
        """Return a future of a message that lies with a process; a silent one is tried again.

        Raises WorkersLost where the process is gone.
        """
        while True:
            try:
                (future,) = self._client.scatter([message], workers=[address], hash=False)
                return future
            except KeyError:  # so Dask's scheduler tells of a worker that has gone meanwhile
                raise self._lost(address) from None
            except OSError:  # it waits half a minute for a connection, less than for a heartbeat
                if address not in self._threads():
                    raise self._lost(address) from None
                time.sleep(PAUSE)

    def _submit(self, address: str, command: WorkerCommand, message: Any, threads: int) -> Any:
        """Let a process work on an order; another one, should it die, to say that it is lost."""
        packed = pickle.dumps(command, pickle.HIGHEST_PROTOCOL)
        return self._client.submit(
            serve,
            packed,
            message,
            threads,
            workers=[address],
            allow_other_workers=True,
            pure=False,
            retries=0,
        )

    def _wait(self, futures: dict[str, Any]) -> None:
        from distributed import wait

        while True:
            try:
                wait(list(futures.values()), timeout=LOOK_EVERY)
                return
            except TimeoutError as error:
                error.__traceback__ = None  # Dask keeps it: its frames would keep pieces alive
                there = self._threads()
                for address in futures:
                    if address not in there and not futures[address].done():
                        raise self._lost(address) from None

    def _fetched(self, futures: dict[str, Any]) -> dict[str, bytes]:
        """Return what processes have answered, by address.

        An answer lies with its process until it is fetched, and dies with it. Dask's client would
        wait for somebody to compute it again. One request is made, however long it takes.
        Raises WorkersLost where a process or an answer is gone, TimeoutError where it is silent for
        as long as Dask waits for a worker.
        """
        import asyncio  # which no fit without a cluster needs

        async def gathered() -> Any:
            return await self._client.gather(list(futures.values()), asynchronous=True)

        patience = given_up_after()
        end = math.inf if patience is None else time.monotonic() + patience
        fetching = asyncio.run_coroutine_threadsafe(gathered(), self._client.loop.asyncio_loop)
        try:
            while fetching not in concurrent.futures.wait([fetching], LOOK_EVERY).done:
                there = self._threads()
                for address, future in futures.items():
                    if address not in there or future.status == "lost":
                        raise WorkersLost(f"the worker {address} is gone, and its answer")
                if time.monotonic() > end:
                    raise TimeoutError
            return dict(zip(futures, fetching.result(), strict=True))
        finally:
            fetching.cancel()

    def _wait_for_paused(self, addresses: Collection[str]) -> None:
        """Wait for workers that Dask has paused: their tasks would go to workers without pieces."""
        while any(address in self._paused for address in addresses):
            there = self._threads()
            for address in addresses:
                if address not in there:
                    raise self._lost(address)
            time.sleep(LOOK_EVERY)

    def _lost(self, address: str) -> WorkersLost:
        if address in self._paused:
            return WorkersLost(f"the worker {address} is paused by Dask, as it lacks memory")
        return WorkersLost(f"the worker {address} is gone")

    def _threads(self) -> dict[str, int]:
        """Return the threads of each worker that is there, by its address.

        A worker that Dask has paused for as long as a silent one may be silent is left out.
        Raises TimeoutError where the scheduler does not answer for as long as it would wait for a
        worker, ConnectionError where Dask's client has given it up: then it can ask nobody.
        """
        if getattr(self._client, "status", "running") in ("closing", "closed"):
            raise ConnectionError("the scheduler of the cluster is gone")
        patience = given_up_after()
        now, limit = time.monotonic(), math.inf if patience is None else patience
        there = dict(self._client.nthreads(callback_timeout=patience))
        return {
            address: threads
            for address, threads in there.items()
            if now - self._paused.get(address, now) <= limit
        }

    def beats(self) -> dict[str, float | None]:
        """Return the last heartbeat of each worker, in seconds of the scheduler's clock.

        None: Dask has paused the worker, as it uses most of its memory limit; it begins no tasks.
        Raises TimeoutError where the scheduler does not answer within ``LOOK_EVERY`` seconds.
        """
        identity = self._client.scheduler.identity
        found = self._client.sync(identity, callback_timeout=LOOK_EVERY)["workers"]
        paused = {address for address, worker in found.items() if worker["status"] == "paused"}
        now = time.monotonic()
        self._paused = {address: self._paused.get(address, now) for address in paused}
        return {
            address: None if address in paused else float(worker["last_seen"])
            for address, worker in found.items()
        }

    def recovered(self, enough: Callable[[], object], patience: float = PATIENCE) -> bool:
        """Wait for as many workers as there were; return whether any came.

        patience: seconds; after half of them the fit makes do with those that are there.
        enough: asked every other second whether to give up before. Raises UsageError for a new
        worker that would not give the same bytes.
        """
        began = time.monotonic()
        while (waited := time.monotonic() - began) < patience and not enough():
            with suppress(OSError, TimeoutError):
                there = sum(self._threads().values())
                if there >= self.n_workers or (there and waited >= patience / 2):
                    check_agreement(self._client)
                    return True
            time.sleep(min(LOOK_EVERY, patience / 10))
        return False


def given_up_after() -> float | None:
    """Return the seconds after which Dask gives up a worker that is silent; None: never."""
    import dask

    told: Any = dask.config.get("distributed.scheduler.worker-ttl", None)
    found: float | None = dask.utils.parse_timedelta(told)
    return found


class RemotePieces(Generic[Piece, Local]):
    """Pieces in processes of a cluster. owners: the address of each."""

    def __init__(
        self, engine: Cluster, owners: Sequence[str], line: str | None = None, generation: int = 0
    ) -> None:
        self._engine, self._owners = engine, owners
        self._line, self._generation = line or engine.new_line(), generation
        self._told: dict[str, NDArray[Any]] = {}
        weakref.finalize(self, engine.forget, self._line, frozenset(owners))

    @property
    def n_pieces(self) -> int:
        """How many there are."""
        return len(self._owners)

    def step(
        self,
        task: Callable[[Piece, Local, Any], tuple[Local, Result]],
        message: Any,
        added: Callable[[list[Any]], Any] | None = None,
    ) -> list[Result]:
        """See ``Pieces``."""
        sent = self._news(message) if isinstance(message, Shared) else message
        by_owner = self._by_owner(range(self.n_pieces))
        answers = self._answers("step", task, sent, by_owner, added)
        if isinstance(message, Shared):
            _check_made(answers)
        self._generation += 1
        if added is None:
            return self._in_order(answers, by_owner)
        return [answer.results[0] for answer in answers.values()]

    def _news(self, message: Shared) -> SharedUpdate:
        """Return the changes from which each process makes the message, and remember its arrays."""
        known = {name: self._told[name] for name in message.arrays if name in self._told}
        changes = {
            name: difference(known.get(name), array) for name, array in message.arrays.items()
        }
        self._told = {name: caught_up(known.get(name), change) for name, change in changes.items()}
        sums, table = sums_of(self._told), message.table
        return SharedUpdate(
            message.make,
            frozenset(known),
            changes,
            sums,
            message.recipe,
            table.shape,
            table.dtype.str,
        )

    def ask(self, task: Callable[[Piece, Local, Any], Result], message: Any) -> list[Result]:
        """See ``Pieces``."""
        return self.send("ask", task, message)

    def state_of(self, number: int) -> Local:
        """See ``Pieces``."""
        (state,) = self.send("ask", whole_state, None, [number])
        return state  # type: ignore[no-any-return]

    def copy(self) -> RemotePieces[Piece, Local]:
        """See ``Pieces``."""
        other = self._engine.new_line()
        self.send("copy", None, None, other=other)
        return RemotePieces(self._engine, self._owners, other, self._generation)

    def __deepcopy__(self, memo: Any) -> RemotePieces[Piece, Local]:
        return self.copy()

    def send(
        self,
        kind: str,
        function: Any,
        message: Any,
        only: Sequence[int] | None = None,
        other: str = "",
    ) -> list[Any]:
        """Send an order about all pieces, or some; return the results in order of the pieces."""
        by_owner = self._by_owner(range(self.n_pieces) if only is None else only)
        answers = self._answers(kind, function, message, by_owner, other=other)
        return self._in_order(answers, by_owner)

    def _by_owner(self, numbers: Iterable[int]) -> dict[str, list[int]]:
        by_owner: dict[str, list[int]] = {}
        for number in numbers:
            by_owner.setdefault(self._owners[number], []).append(number)
        return by_owner

    def _answers(
        self,
        kind: str,
        function: Any,
        message: Any,
        by_owner: dict[str, list[int]],
        added: Any = None,
        other: str = "",
    ) -> dict[str, Answer]:
        orders = {
            owner: WorkerCommand(
                kind, self._line, self._generation, tuple(numbers), (), function, other, added
            )
            for owner, numbers in by_owner.items()
        }
        return self._engine.send(orders, self._packed(message, by_owner))

    def _in_order(self, answers: dict[str, Answer], by_owner: dict[str, list[int]]) -> list[Any]:
        results = {
            number: result
            for owner, numbers in by_owner.items()
            for number, result in zip(
                numbers, answers[owner].results or [None] * len(numbers), strict=True
            )
        }
        return [results[number] for number in sorted(results)]

    def _packed(self, message: Any, by_owner: dict[str, list[int]]) -> dict[str, bytes]:
        if not isinstance(message, Each):
            same = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
            return dict.fromkeys(by_owner, same)
        return {
            owner: pickle.dumps(
                Each([message_to(number, message) for number in numbers]), pickle.HIGHEST_PROTOCOL
            )
            for owner, numbers in by_owner.items()
        }


def _check_made(answers: dict[str, Answer]) -> None:
    """Raise UsageError where a process made another message than others of the same arrays."""
    numbers = [answer.made for answer in answers.values()]
    for address, answer in answers.items():
        if answer.made != max(numbers, key=numbers.count):
            raise UsageError(
                f"the worker {address} draws other numbers than others do: it would not give the "
                "same bytes; use machines of the same kind, with the same libraries"
            )


def check_agreement(client: Any) -> None:
    """Raise UsageError where a worker's versions or results are not those of this process."""
    own = fingerprint()
    try:
        said = client.run(fingerprint)
    except (OSError, TimeoutError):
        raise
    except Exception as error:  # what cannot be imported there comes as this or as that
        raise UsageError(
            f"a worker of the cluster lacks a package ({error}); install the same versions on all "
            "machines"
        ) from error
    for address, theirs in sorted(said.items()):
        for what, value in own.items():
            found = theirs[what]
            if found != value:
                raise UsageError(
                    f"the worker {address} has {what} {found}, this process has {value}: they "
                    "would not give the same bytes; install the same versions on all machines"
                )
