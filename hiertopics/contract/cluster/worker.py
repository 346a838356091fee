"""The worker's side of a cluster: pieces, their states, and commands about them."""

from __future__ import annotations

import hashlib
import pickle
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.room import copied
from hiertopics.contract.engine import Engine, Workers, message_to
from hiertopics.numeric.differences import Difference, caught_up

Local = TypeVar("Local")


class WorkerCommand(NamedTuple):
    """A command to a process about the pieces ``numbers`` of ``line``.

    kind: call, place, copy, step, ask or forget; ``call`` knows no pieces. generation: that of the
    states. gone: lines that nobody needs any more. function: what is called; for place, build and
    begin. other: for copy, the new line. added: for step, makes one result of several.
    """

    kind: str
    line: str
    generation: int
    numbers: tuple[int, ...]
    gone: tuple[str, ...]
    function: Any = None
    other: str = ""
    added: Any = None


class SharedUpdate(NamedTuple):
    """A ``Shared`` message on its way. known: arrays that the process must have copies of.

    changes: of all arrays; those that are not named any more are let go. sums: what the copies then
    must be, by ``sums_of``. shape, dtype: the table's.
    """

    make: Callable[[Mapping[str, NDArray[Any]], Any, NDArray[Any], Engine], Any]
    known: frozenset[str]
    changes: dict[str, Difference]
    sums: dict[str, int]
    recipe: Any
    shape: tuple[int, ...]
    dtype: str


class Answer(NamedTuple):
    """kind: done, raised, missing or differing.

    results: of the pieces in order, or all in one; or what was raised. made: the check sum of a
    message that was made there.
    """

    kind: str
    results: Any
    made: int = 0


class StoredPiece(NamedTuple):
    """A piece where it lives, its state, and the generation of that."""

    piece: Any
    state: Any
    generation: int


class _Store:
    """The pieces and copies of arrays in this process, and the threads that work on them.

    copies: of the arrays of ``Shared`` messages, by line. sharing: is held from their change to the
    last result, so that no order changes what another one reads.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], StoredPiece] = {}
        self.copies: dict[str, dict[str, NDArray[Any]]] = {}
        self.tables: dict[tuple[tuple[int, ...], str], NDArray[Any]] = {}
        self.lock, self.sharing = threading.Lock(), threading.Lock()
        self.engines: dict[int, Workers] = {}

    def engine(self, threads: int) -> Workers:
        with self.lock:
            return self.engines.setdefault(threads, Workers(threads))

    def map(self, function: Callable[[int], Any], numbers: Sequence[int], threads: int) -> Any:
        if len(numbers) == 1:
            return [function(numbers[0])]
        return self.engine(threads).map(function, numbers)

    def caught_up(self, line: str, update: SharedUpdate) -> dict[str, NDArray[Any]] | None:
        """Return the copies of a line after the changes; None where they are not as they must."""
        known = self.copies.pop(line, {})
        if not update.known <= known.keys():
            return None
        after = {
            name: caught_up(known[name] if name in update.known else None, change)
            for name, change in update.changes.items()
        }
        if sums_of(after) != update.sums:
            return None
        self.copies[line] = after
        return after

    def table(self, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        key = (shape, dtype)
        if key not in self.tables:
            self.tables.clear()  # sizes change with the fit
            self.tables[key] = np.zeros(shape, dtype)
        return self.tables[key]

    def forget(self, lines: Collection[str]) -> None:
        with self.lock:
            for key in [key for key in self.held if key[0] in lines]:
                del self.held[key]
            for line in [line for line in self.copies if line in lines]:
                del self.copies[line]
            if not self.copies:
                self.tables.clear()


STORE = _Store()


def drop(name: str) -> None:
    """Forget all lines of an engine."""
    lines = [*(line for line, _ in [*STORE.held]), *STORE.copies]
    STORE.forget({line for line in lines if line.startswith(name)})


def serve(packed: bytes, message: bytes, threads: int) -> bytes:
    """Carry out an order in this process; return the pickled ``Answer``.

    packed: a pickled ``WorkerCommand``. message: pickled, an ``Each`` of the messages of these
    pieces or one for all of them. What a task raises comes back as it is: Dask need not know.
    """
    order: WorkerCommand = pickle.loads(packed)
    STORE.forget(order.gone)
    try:
        answer = _carried_out(order, message, threads)
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps(Answer("raised", error), pickle.HIGHEST_PROTOCOL)
        except Exception:
            return pickle.dumps(Answer("raised", RuntimeError(repr(error))))


def _carried_out(command: WorkerCommand, packed: bytes, threads: int) -> Answer:
    message = pickle.loads(packed)
    own = {number: message_to(place, message) for place, number in enumerate(command.numbers)}
    if command.kind == "call":
        return Answer(
            "done", STORE.map(lambda n: command.function(own[n]), command.numbers, threads)
        )
    if command.kind == "place":
        parts, (build, begin) = own, command.function

        def made(number: int) -> None:
            part, first = parts[number]
            piece = build(part)
            STORE.held[command.line, number] = StoredPiece(piece, begin(piece, first), 0)

        STORE.map(made, command.numbers, threads)
        return Answer("done", None)
    found = [STORE.held.get((command.line, number)) for number in command.numbers]
    if any(held is None or held.generation != command.generation for held in found):
        return Answer("missing", None)
    here = {number: held for number, held in zip(command.numbers, found, strict=True) if held}
    if command.kind == "copy":
        for number, held in here.items():
            STORE.held[command.other, number] = held._replace(state=copied(held.state))
        return Answer("done", None)
    if command.kind == "ask":

        def asked(number: int) -> Any:
            return command.function(here[number].piece, here[number].state, own[number])

        return Answer("done", STORE.map(asked, command.numbers, threads))

    if isinstance(message, SharedUpdate):
        with STORE.sharing:
            return _stepped_by_news(command, here, message, threads)
    return Answer("done", _stepped(command, here, own, threads))


def _stepped(
    command: WorkerCommand,
    here: Mapping[int, StoredPiece],
    messages: Mapping[int, Any],
    threads: int,
) -> list[Any]:
    """Return the results of a step, added where they can be; the states are replaced."""

    def stepped(number: int) -> Any:
        held = here[number]
        after, result = command.function(held.piece, held.state, messages[number])
        STORE.held[command.line, number] = StoredPiece(held.piece, after, held.generation + 1)
        return result

    results = STORE.map(stepped, command.numbers, threads)
    return results if command.added is None else [command.added(results)]


def _stepped_by_news(
    command: WorkerCommand, here: Mapping[int, StoredPiece], update: SharedUpdate, threads: int
) -> Answer:
    """Do a step whose message is made here."""
    copies = STORE.caught_up(command.line, update)
    if copies is None:
        return Answer("differing", None)
    table = STORE.table(update.shape, update.dtype)
    message = update.make(copies, update.recipe, table, STORE.engine(threads))
    results = _stepped(command, here, dict.fromkeys(command.numbers, message), threads)
    made = 0
    for array in _arrays(message):
        made = zlib.crc32(array.data, made)
    return Answer("done", results, made)


def _arrays(message: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays of a message of nested tuples."""
    if isinstance(message, np.ndarray):
        yield np.ascontiguousarray(message)
    elif isinstance(message, tuple):
        for part in message:
            yield from _arrays(part)


def sums_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return a check sum of each array, of any shape; it depends on the place of each number."""
    return {name: zlib.crc32(np.ascontiguousarray(each).data) for name, each in arrays.items()}


def look(files: Sequence[str]) -> dict[str, str]:
    """Return a digest of each file that this process sees."""
    found = {}
    for name in files:
        with suppress(OSError), open(name, "rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def whole_state(piece: Any, state: Local, message: None) -> Local:
    """Answer with the state itself."""
    return state


def fingerprint() -> dict[str, str]:
    """Return the versions and test numbers that processes must share to give the same bytes."""
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
