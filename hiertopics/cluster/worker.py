"""What a process of a cluster holds and does: pieces and their states, and orders about them."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hiertopics.engine import message_to

Local = TypeVar("Local")


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


def drop(name: str) -> None:
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
