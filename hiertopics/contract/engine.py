"""Execution of work on shards: in this thread or on threads of the standard library.

What belongs to documents lives in pieces: what a shard is made of, placed once where it will
live, and beside it a state, which every step replaces there by the next one. Only messages and
results go to and fro. A task is a function of an importable module whose answer follows from its
arguments alone, so that it does not matter who computes it, how often or when. It may use up the
state that it is given, and the arrays of a message that no other piece gets; an engine that might
ask a second time keeps copies.

Results come back in the order of the pieces, so that no reduction depends on which worker
finished first: one worker or forty give the same bits. Kernels release the GIL, so threads
suffice on one machine. An engine elsewhere offers what ``Engine`` and ``Pieces`` say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import I64
from hiertopics.base.room import copied

Item = TypeVar("Item")
Part = TypeVar("Part")
Piece = TypeVar("Piece")
Local = TypeVar("Local")
Result = TypeVar("Result")


class Each(NamedTuple):
    """A separate message for each piece, in their order. Other messages are the same for all."""

    messages: Sequence[Any]


def message_to(number: int, message: Any) -> Any:
    """Return the message to piece ``number``."""
    return message.messages[number] if isinstance(message, Each) else message


class Shared(NamedTuple):
    """A message to all pieces that is made where they live, once in each process.

    make: returns the message, given arrays, recipe, table and who works there; the first two
    decide what it is. arrays: by name; a process elsewhere has copies and is sent what has changed.
    recipe: what else there is to know, small. table: memory that is written to; elsewhere another
    of its shape and type.
    """

    make: Callable[[Mapping[str, NDArray[Any]], Any, NDArray[Any], Engine], Any]
    arrays: Mapping[str, NDArray[Any]]
    recipe: Any
    table: NDArray[Any]


class Pieces(Protocol[Piece, Local]):
    """Pieces and their states, wherever they live."""

    @property
    def n_pieces(self) -> int:
        """How many there are."""

    def step(
        self,
        task: Callable[[Piece, Local, Any], tuple[Local, Result]],
        message: Any,
        added: Callable[[list[Any]], Any] | None = None,
    ) -> list[Result]:
        """Let ``task(piece, state, message)`` make the next state of every piece, and a result.

        message: one for all, ``Each`` or ``Shared``. added: makes one result of several, which may
        stand for those of pieces that live together elsewhere.
        """

    def ask(self, task: Callable[[Piece, Local, Any], Result], message: Any) -> list[Result]:
        """Return the result of ``task(piece, state, message)`` for every piece; states stay."""

    def state_of(self, number: int) -> Local:
        """Return the state of a piece, for reading."""

    def copy(self) -> Pieces[Piece, Local]:
        """Return the same pieces with states of their own, which may go another way."""


def stacked(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the rows of all pieces, [n_rows, ...] each, in order: [sum of n_rows, ...].

    Those of a single piece are not copied.
    """
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def joined(pieces: Pieces[Any, Any], name: str) -> NDArray[Any]:
    """Return the array ``name`` of the pieces' states as ``stacked`` does, in its own dtype.

    [n, ...], n the rows of all pieces together.
    """
    return stacked([getattr(pieces.state_of(number), name) for number in range(pieces.n_pieces)])


def cut(
    kind: Callable[..., Local], arrays: Mapping[str, NDArray[Any]], bounds: Mapping[str, I64]
) -> list[Local]:
    """Return states of pieces, views of arrays whose rows are cut at ``bounds`` [n_pieces + 1]."""
    rows = {name: np.split(array, bounds[name][1:-1]) for name, array in arrays.items()}
    n_pieces = len(next(iter(bounds.values()))) - 1
    return [
        kind(**{name: each[number] for name, each in rows.items()}) for number in range(n_pieces)
    ]


def as_given(piece: Any, state: Local) -> Local:
    """Begin a piece with the state that it is sent."""
    return state


class Engine(Protocol):
    """Runs the work of a fit. n_workers: number of workers at the same time."""

    n_workers: int

    @property
    def here(self) -> Engine:
        """The engine of this process: for work whose tables would travel longer than it takes."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, in that order."""

    def deal(self, task: Callable[[Item], Result], messages: Sequence[Item]) -> list[Result]:
        """Return the answer of ``task``, of an importable module, to each message, anywhere."""

    def place(
        self,
        build: Callable[[Part], Piece],
        parts: Sequence[Part],
        begin: Callable[[Piece, Any], Local],
        message: Any,
    ) -> Pieces[Piece, Local]:
        """Create the piece of each part where it will live; ``begin`` gives its first state."""


class LocalPieces(Generic[Piece, Local]):
    """Pieces in this process, which the workers of ``engine`` share out."""

    def __init__(self, engine: Engine, pieces: list[Piece], states: list[Local]) -> None:
        self._engine, self._pieces, self._states = engine, pieces, states

    @property
    def n_pieces(self) -> int:
        """How many there are."""
        return len(self._pieces)

    def step(
        self,
        task: Callable[[Piece, Local, Any], tuple[Local, Result]],
        message: Any,
        added: Callable[[list[Any]], Any] | None = None,
    ) -> list[Result]:
        """See ``Pieces``."""
        if isinstance(message, Shared):
            message = message.make(message.arrays, message.recipe, message.table, self._engine)
        answers = self.ask(task, message)
        self._states = [state for state, _ in answers]
        return [result for _, result in answers]

    def ask(self, task: Callable[[Piece, Local, Any], Result], message: Any) -> list[Result]:
        """See ``Pieces``."""

        def answer(number: int) -> Result:
            return task(self._pieces[number], self._states[number], message_to(number, message))

        return self._engine.map(answer, range(self.n_pieces))

    def state_of(self, number: int) -> Local:
        """See ``Pieces``."""
        return self._states[number]

    def copy(self) -> LocalPieces[Piece, Local]:
        """See ``Pieces``."""
        return LocalPieces(self._engine, self._pieces, [copied(state) for state in self._states])

    def __deepcopy__(self, memo: Any) -> LocalPieces[Piece, Local]:
        return self.copy()


class Workers:
    """A pool of ``n_workers`` threads (1: no threads at all); a context manager."""

    def __init__(self, n_workers: int = 1) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    @property
    def here(self) -> Workers:
        """These threads themselves."""
        return self

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, in that order."""
        if self._pool is None:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def deal(self, task: Callable[[Item], Result], messages: Sequence[Item]) -> list[Result]:
        """See ``Engine``."""
        return self.map(task, messages)

    def place(
        self,
        build: Callable[[Part], Piece],
        parts: Sequence[Part],
        begin: Callable[[Piece, Any], Local],
        message: Any,
    ) -> LocalPieces[Piece, Local]:
        """Return pieces in this process; see ``Engine``."""

        def made(number: int) -> tuple[Piece, Local]:
            piece = build(parts[number])
            return piece, begin(piece, message_to(number, message))

        found = self.map(made, range(len(parts)))
        return LocalPieces(self, [piece for piece, _ in found], [state for _, state in found])

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
