"""An engine elsewhere: pieces live in the processes of a Dask cluster, on one machine or many.

Each process gets one task per step and works on its pieces on threads of its own. States stay
where they are; messages go out, results come back in the order of the pieces, so that a cluster
gives the bytes of one thread. A state is known by the line of states that it stands in, its piece
and its generation. A task that finds no such state (its process has died, or another one took the
task over) says so, and ``WorkersLost`` is raised: what goes on from the last checkpoint places its
pieces anew, under a line of its own, which a task left over from before cannot touch.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import threading
import time
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from hiertopics.engine import Each, message_to
from hiertopics.errors import HiertopicsError, UsageError

Item = TypeVar("Item")
Part = TypeVar("Part")
Piece = TypeVar("Piece")
Local = TypeVar("Local")
Result = TypeVar("Result")

LOCAL, FILE = "local:", "scheduler-file:"
PATIENCE = 60.0
"""Seconds that are waited for a worker to come back."""

ANSWER_WITHIN = 20.0
"""Seconds within which a scheduler answers, and a cluster on this machine is up."""

LOOK_EVERY = 2.0
"""Seconds between two looks at which workers are there."""

INLINE = 2**16
"""Bytes up to which a message goes with its task, not by itself before it."""

NOTHING = pickle.dumps(None)

SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
"""Of Dask: no task leaves the process that has its states, no state goes to disk."""


class WorkersLost(HiertopicsError):
    """A process of the cluster is gone, and the states that lived there with it."""


class Order(NamedTuple):
    """What a process is to do with pieces ``numbers`` of ``line``.

    kind: place, copy, step, ask or forget. generation: that of the states. gone: lines that nobody
    needs any more. function: what is called; for place, build and begin. other: for copy, the new
    line.
    """

    kind: str
    line: str
    generation: int
    numbers: tuple[int, ...]
    gone: tuple[str, ...]
    function: Any = None
    other: str = ""


class Answer(NamedTuple):
    """kind: done, raised or missing. results: of the pieces in order, or what was raised."""

    kind: str
    results: Any


class Held(NamedTuple):
    """A piece where it lives, its state, and the generation of that."""

    piece: Any
    state: Any
    generation: int


class _Store:
    """What lives in this process, and the threads that work on it."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], Held] = {}
        self.lock = threading.Lock()
        self.pools: dict[int, ThreadPoolExecutor] = {}

    def map(self, function: Callable[[int], Any], numbers: Sequence[int], threads: int) -> Any:
        if threads == 1 or len(numbers) == 1:
            return [function(number) for number in numbers]
        with self.lock:
            pool = self.pools.setdefault(threads, ThreadPoolExecutor(threads))
        return list(pool.map(function, numbers))

    def forget(self, lines: Collection[str]) -> None:
        with self.lock:
            for key in [key for key in self.held if key[0] in lines]:
                del self.held[key]


STORE = _Store()


def _drop(name: str) -> None:
    """Forget all lines of an engine."""
    STORE.forget({line for line, _ in [*STORE.held] if line.startswith(name)})


def serve(packed: bytes, message: bytes, threads: int) -> bytes:
    """Carry out an order in this process; return the pickled ``Answer``.

    packed: a pickled Order. message: pickled, an ``Each`` of the messages of these pieces or one
    for all of them. What a task raises comes back as it is: Dask need not know.
    """
    order: Order = pickle.loads(packed)
    STORE.forget(order.gone)
    try:
        answer = _carried_out(order, message, threads)
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps(Answer("raised", error), pickle.HIGHEST_PROTOCOL)
        except Exception:
            return pickle.dumps(Answer("raised", RuntimeError(repr(error))))


def _carried_out(order: Order, packed: bytes, threads: int) -> Answer:
    message = pickle.loads(packed)
    own = {number: message_to(place, message) for place, number in enumerate(order.numbers)}
    if order.kind == "place":
        parts, (build, begin) = own, order.function

        def made(number: int) -> None:
            part, first = parts[number]
            piece = build(part)
            STORE.held[order.line, number] = Held(piece, begin(piece, first), 0)

        STORE.map(made, order.numbers, threads)
        return Answer("done", None)
    found = [STORE.held.get((order.line, number)) for number in order.numbers]
    if any(held is None or held.generation != order.generation for held in found):
        return Answer("missing", None)
    here = {number: held for number, held in zip(order.numbers, found, strict=True) if held}
    if order.kind == "copy":
        for number, held in here.items():
            state = pickle.loads(pickle.dumps(held.state, pickle.HIGHEST_PROTOCOL))
            STORE.held[order.other, number] = held._replace(state=state)
        return Answer("done", None)
    if order.kind == "ask":

        def asked(number: int) -> Any:
            return order.function(here[number].piece, here[number].state, own[number])

        return Answer("done", STORE.map(asked, order.numbers, threads))

    def stepped(number: int) -> Any:
        held = here[number]
        after, result = order.function(held.piece, held.state, own[number])
        STORE.held[order.line, number] = Held(held.piece, after, held.generation + 1)
        return result

    return Answer("done", STORE.map(stepped, order.numbers, threads))


def whole_state(piece: Any, state: Local, message: None) -> Local:
    """Answer with the state itself."""
    return state


def fingerprint() -> dict[str, str]:
    """Return what processes must agree on to give the same bytes: versions, and some numbers."""
    import platform
    from importlib.metadata import version

    from scipy import special

    generator = np.random.default_rng(0)
    values = generator.gamma(0.3, size=200_000) + 1e-3
    bits = hashlib.sha256()
    for function in (np.log, np.exp, special.gammaln, special.psi, np.sqrt):
        bits.update(np.ascontiguousarray(function(values)).tobytes())
    bits.update((values[:1000] @ values[:1000].reshape(1000, 1)).tobytes())
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("hiertopics", "numpy", "scipy", "numba", "llvmlite")},
        "results of floating-point functions": bits.hexdigest()[:16],
    }


class Cluster:
    """The engine; n_workers are the threads of all processes. See ``cluster``."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lines = itertools.count()
        self._name = uuid.uuid4().hex
        self._gone: dict[str, list[str]] = defaultdict(list)
        self.n_workers = sum(self._threads().values())

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``: what is no piece stays here."""
        return [function(item) for item in items]

    def place(
        self,
        build: Callable[[Part], Piece],
        parts: Sequence[Part],
        begin: Callable[[Piece, Any], Local],
        message: Any,
    ) -> Elsewhere[Piece, Local]:
        """Make each piece in the process where it will live; see ``Engine``.

        Neighbours live together; every process gets pieces by the number of its threads.
        """
        threads = self._threads()
        addresses = sorted(threads)
        if not addresses:
            raise WorkersLost("the cluster has no workers")
        seats = [address for address in addresses for _ in range(threads[address])]
        owners = [seats[number * len(seats) // len(parts)] for number in range(len(parts))]
        pieces: Elsewhere[Piece, Local] = Elsewhere(self, owners, self.new_line(), 0)
        first = [(part, message_to(number, message)) for number, part in enumerate(parts)]
        pieces.send("place", (build, begin), Each(first))
        return pieces

    def close(self) -> None:
        """Let the processes drop all that this engine placed there."""
        with suppress(Exception):  # who does not answer has nothing, or ends anyway
            self._client.run(_drop, self._name)

    def new_line(self) -> str:
        """Return a name that no line of states has had."""
        return f"{self._name}-{next(self._lines)}"

    def forget(self, line: str, owners: Iterable[str]) -> None:
        """Let processes drop a line of states when the next orders go out."""
        for owner in owners:
            self._gone[owner].append(line)

    def send(self, orders: dict[str, Order], messages: dict[str, bytes]) -> dict[str, Answer]:
        """Send each process its order; return the answers by address.

        Raises WorkersLost where one of them is gone, and what a task raised.
        """
        from distributed import CancelledError, KilledWorker, fire_and_forget
        from distributed.comm import CommClosedError

        gone, self._gone = self._gone, defaultdict(list)
        lost = (KilledWorker, CancelledError, CommClosedError, OSError, TimeoutError)
        futures: dict[str, Any] = {}
        try:
            threads = self._threads()
            for address in (gone.keys() - orders.keys()) & threads.keys():
                order = Order("forget", "", 0, (), tuple(gone[address]))
                fire_and_forget(self._submit(address, order, NOTHING, 1))
            for address, order in orders.items():
                if address not in threads:
                    raise WorkersLost(f"the worker {address} is gone")
                own = order._replace(gone=tuple(gone[address]))
                sent: Any = messages[address]
                if len(sent) > INLINE:
                    (sent,) = self._client.scatter([sent], workers=[address], hash=False)
                futures[address] = self._submit(address, own, sent, threads[address])
            self._wait(futures)
            answers = {
                address: pickle.loads(future.result(timeout=ANSWER_WITHIN))
                for address, future in futures.items()
            }
        except lost as error:
            raise WorkersLost(f"a worker of the cluster is gone: {error}") from error
        finally:
            with suppress(*lost):
                self._client.cancel(
                    [future for future in futures.values() if not future.done()], force=True
                )
        for address, answer in answers.items():
            if answer.kind == "missing":
                raise WorkersLost(f"the worker {address} is gone, and the states that it had")
        for answer in answers.values():
            if answer.kind == "raised":
                raise answer.results
        return answers

    def _submit(self, address: str, order: Order, message: Any, threads: int) -> Any:
        """Let a process work on an order; another one, should it die, to say that it is lost."""
        packed = pickle.dumps(order, pickle.HIGHEST_PROTOCOL)
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
            except TimeoutError:
                there = self._threads()
                for address in futures:
                    if address not in there and not futures[address].done():
                        raise WorkersLost(f"the worker {address} is gone") from None

    def _threads(self) -> dict[str, int]:
        """Return the threads of each worker that is there, by its address."""
        return dict(self._client.nthreads())

    def recovered(self, enough: Callable[[], object], patience: float = PATIENCE) -> bool:
        """Wait for a worker; return whether one came within ``patience`` seconds.

        enough: asked every other second whether to give up before. Raises UsageError for a new
        worker that would not give the same bytes.
        """
        end = time.monotonic() + patience
        while time.monotonic() < end and not enough():
            with suppress(OSError, TimeoutError):
                if self._threads():
                    check_agreement(self._client)
                    return True
            time.sleep(min(LOOK_EVERY, patience / 10))
        return False


class Elsewhere(Generic[Piece, Local]):
    """Pieces in processes of a cluster. owners: the address of each."""

    def __init__(self, engine: Cluster, owners: Sequence[str], line: str, generation: int) -> None:
        self._engine, self._owners = engine, owners
        self._line, self._generation = line, generation
        weakref.finalize(self, engine.forget, line, frozenset(owners))

    @property
    def n_pieces(self) -> int:
        """How many there are."""
        return len(self._owners)

    def step(
        self, task: Callable[[Piece, Local, Any], tuple[Local, Result]], message: Any
    ) -> list[Result]:
        """See ``Pieces``."""
        results = self.send("step", task, message)
        self._generation += 1
        return results

    def ask(self, task: Callable[[Piece, Local, Any], Result], message: Any) -> list[Result]:
        """See ``Pieces``."""
        return self.send("ask", task, message)

    def state_of(self, number: int) -> Local:
        """See ``Pieces``."""
        (state,) = self.send("ask", whole_state, None, [number])
        return state  # type: ignore[no-any-return]

    def copy(self) -> Elsewhere[Piece, Local]:
        """See ``Pieces``."""
        other = self._engine.new_line()
        self.send("copy", None, None, other=other)
        return Elsewhere(self._engine, self._owners, other, self._generation)

    def __deepcopy__(self, memo: Any) -> Elsewhere[Piece, Local]:
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
        by_owner: dict[str, list[int]] = {}
        for number in range(self.n_pieces) if only is None else only:
            by_owner.setdefault(self._owners[number], []).append(number)
        orders = {
            owner: Order(kind, self._line, self._generation, tuple(numbers), (), function, other)
            for owner, numbers in by_owner.items()
        }
        answers = self._engine.send(orders, self._packed(message, by_owner))
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


def check_agreement(client: Any) -> None:
    """Raise UsageError where a worker's versions or results are not those of this process."""
    own = fingerprint()
    try:
        said = client.run(fingerprint)
    except ImportError as error:
        raise UsageError(f"a worker of the cluster lacks a package: {error}") from error
    for address, theirs in sorted(said.items()):
        for what, value in own.items():
            found = theirs[what]
            if found != value:
                raise UsageError(
                    f"the worker {address} has {what} {found}, this process has {value}: they "
                    "would not give the same bytes; install the same versions on all machines"
                )
