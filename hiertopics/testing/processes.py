"""An engine of two processes: all that goes to a piece or comes from it is pickled.

What hides in a closure or in a global does not come along; a task that is asked and changes its
state, or one that is sent to another generation than the piece is in, is an error.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from hiertopics.contract.engine import Each, Shared, Workers, as_given, message_to

N_PROCESSES = 2


class Place(NamedTuple):
    """Make piece ``number`` of some pieces, and its first state."""

    key: int
    number: int
    build: Any
    part: Any
    begin: Any
    message: Any


class Task(NamedTuple):
    """A task on the state of a piece; line and generation identify it. step: the next one comes."""

    key: int
    line: int
    number: int
    generation: int
    step: bool
    function: Any
    message: Any


class Copy(NamedTuple):
    """Start a line of states from another one."""

    line: int
    new: int
    number: int


def serve(wire: Connection) -> None:
    """Keep pieces and states; answer (True, result) or (False, exception) until None comes."""
    pieces: dict[tuple[int, int], Any] = {}
    states: dict[tuple[int, int], tuple[int, Any]] = {}
    while (asked := wire.recv()) is not None:
        try:
            answer: Any = None
            if isinstance(asked, Place):
                piece = asked.build(asked.part)
                pieces[asked.key, asked.number] = piece
                states[asked.key, asked.number] = 0, asked.begin(piece, asked.message)
            elif isinstance(asked, Copy):
                kept = pickle.dumps(states[asked.line, asked.number])
                states[asked.new, asked.number] = pickle.loads(kept)
            else:
                answer = work(asked, pieces[asked.key, asked.number], states)
            wire.send((True, answer))
        except Exception as error:
            wire.send((False, error))


def work(task: Task, piece: Any, states: dict[tuple[int, int], tuple[int, Any]]) -> Any:
    """Do a task; return its result."""
    place = task.line, task.number
    generation, state = states[place]
    assert task.generation == generation, "the piece is in another generation"
    if task.step:
        after, result = task.function(piece, state, task.message)
        states[place] = generation + 1, after
        return result
    before = pickle.dumps(state)
    result = task.function(piece, state, task.message)
    assert pickle.dumps(state) == before, "a question has changed the state"
    return result


def whole_state(piece: Any, state: Any, message: Any) -> Any:
    """Answer with the state itself."""
    return state


def answered(piece: Any, state: Any, message: tuple[Callable[[Any], Any], Any]) -> Any:
    """Return a task's answer to its message."""
    task, own = message
    return task(own)


class Processes:
    """The engine; a context manager. Pieces are dealt out to its processes in turn."""

    n_workers = N_PROCESSES
    here = Workers()

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.wires: list[Any] = []
        self.processes = []
        self.keys = itertools.count()
        for _ in range(N_PROCESSES):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there,), daemon=True)
            process.start()
            self.wires.append(here)
            self.processes.append(process)

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``: work without pieces stays here."""
        return [function(item) for item in items]

    def deal(self, task: Any, messages: Sequence[Any]) -> list[Any]:
        """See ``Engine``: tasks and messages travel, as all does."""
        nobody = self.place(bool, [0] * len(messages), as_given, None)
        return nobody.ask(answered, Each([(task, message) for message in messages]))

    def place(self, build: Any, parts: Sequence[Any], begin: Any, message: Any) -> ElsewherePieces:
        """Place pieces in the processes."""
        key = next(self.keys)
        orders = [
            Place(key, number, build, part, begin, message_to(number, message))
            for number, part in enumerate(parts)
        ]
        self.send(orders)
        return ElsewherePieces(self, len(parts), key, key, 0)

    def send(self, orders: Sequence[Any]) -> list[Any]:
        """Send an order to each piece; return the answers in their order."""
        wires = [self.wires[order.number % N_PROCESSES] for order in orders]
        answers = []
        # One on its way at a time to each process: pipes are small.
        for first in range(0, len(orders), N_PROCESSES):
            turn = range(first, min(first + N_PROCESSES, len(orders)))
            for number in turn:
                wires[number].send(orders[number])
            answers += [wires[number].recv() for number in turn]
        for sound, answer in answers:
            if not sound:
                raise answer
        return [answer for _, answer in answers]

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        for wire, process in zip(self.wires, self.processes, strict=True):
            wire.send(None)
            process.join()


class ElsewherePieces:
    """Pieces in processes, each state known by its line and generation."""

    def __init__(
        self, engine: Processes, n_pieces: int, key: int, line: int, generation: int
    ) -> None:
        self.engine, self.n_pieces, self.key = engine, n_pieces, key
        self.line, self.generation = line, generation

    def step(self, task: Any, message: Any, added: Any = None) -> list[Any]:
        """See ``Pieces``; each piece gets its own form of a message for all."""
        if isinstance(message, Shared):
            message = message.make(message.arrays, message.recipe, message.table, self.engine)
        results = self._all(task, message, step=True)
        self.generation += 1
        return results

    def ask(self, task: Any, message: Any) -> list[Any]:
        """See ``Pieces``."""
        return self._all(task, message, step=False)

    def state_of(self, number: int) -> Any:
        """See ``Pieces``."""
        return self.engine.send([self._task(number, whole_state, None, step=False)])[0]

    def copy(self) -> ElsewherePieces:
        """See ``Pieces``."""
        line = next(self.engine.keys)
        self.engine.send([Copy(self.line, line, number) for number in range(self.n_pieces)])
        return ElsewherePieces(self.engine, self.n_pieces, self.key, line, self.generation)

    def __deepcopy__(self, memo: Any) -> ElsewherePieces:
        return self.copy()

    def _all(self, task: Any, message: Any, *, step: bool) -> list[Any]:
        return self.engine.send(
            [
                self._task(number, task, message_to(number, message), step=step)
                for number in range(self.n_pieces)
            ]
        )

    def _task(self, number: int, task: Any, message: Any, *, step: bool) -> Task:
        return Task(self.key, self.line, number, self.generation, step, task, message)
