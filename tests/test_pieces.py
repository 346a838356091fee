"""Pieces: placed once, moved by steps, asked, copied, on one thread, on threads and elsewhere."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from hiertopics.base import seeds
from hiertopics.base.arrays import F64
from hiertopics.contract.engine import Each, Engine, Pieces, Workers, as_given, cut, joined
from hiertopics.testing.processes import Processes


class Local(NamedTuple):
    """Numbers of a piece, and how many steps it has taken."""

    numbers: F64
    steps: int


class Built(NamedTuple):
    """A piece, and the process that it was built in."""

    factor: int
    process: int


def build(part: int) -> Built:
    return Built(10 * part, os.getpid())


def begin(piece: Built, message: Any) -> Local:
    return Local(np.full(2, float(piece.factor + message)), 0)


def add(piece: Built, local: Local, message: float) -> tuple[Local, float]:
    """Add a number in place."""
    before = float(local.numbers[0])
    local.numbers[:] += message
    return local._replace(steps=local.steps + 1), before


def total(piece: Built, local: Local, message: None) -> float:
    return float(local.numbers.sum())


def where(piece: Built, local: Local, message: None) -> int:
    return piece.process


def fail(piece: Built, local: Local, message: int) -> float:
    if piece.factor == message:
        raise ValueError(f"piece {piece.factor}")
    return 0.0


def spoil(piece: Built, local: Local, message: None) -> float:
    local.numbers[:] = 0.0
    return 0.0


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes() as engine:
        yield engine


@pytest.fixture(params=["one thread", "threads", "processes"])
def engine(request: pytest.FixtureRequest, processes: Processes) -> Iterator[Engine]:
    if request.param == "processes":
        yield processes
    else:
        with Workers(1 if request.param == "one thread" else 3) as workers:
            yield workers


def placed(engine: Engine) -> Pieces[Built, Local]:
    return engine.place(build, [1, 2, 3, 4, 5], begin, Each([0, 1, 2, 3, 4]))


def test_every_piece_begins_with_its_own_message(engine: Engine) -> None:
    pieces = placed(engine)
    assert pieces.n_pieces == 5
    assert pieces.ask(total, None) == [20.0, 42.0, 64.0, 86.0, 108.0]
    assert engine.place(build, [1, 2], begin, 7).ask(total, None) == [34.0, 54.0]


def test_results_come_in_the_order_of_the_pieces_and_states_move_on(engine: Engine) -> None:
    pieces = placed(engine)
    assert pieces.step(add, 1.0) == [10.0, 21.0, 32.0, 43.0, 54.0]
    assert pieces.step(add, Each([0.0, 1.0, 2.0, 3.0, 4.0])) == [11.0, 22.0, 33.0, 44.0, 55.0]
    assert [pieces.state_of(number).numbers[0] for number in range(5)] == [11, 23, 35, 47, 59]
    assert [pieces.state_of(number).steps for number in range(5)] == [2] * 5
    assert joined(pieces, "numbers").tolist() == [11, 11, 23, 23, 35, 35, 47, 47, 59, 59]


@pytest.mark.parametrize("way", [lambda pieces: pieces.copy(), copy.deepcopy])
def test_a_copy_goes_its_own_way(engine: Engine, way: Any) -> None:
    pieces = placed(engine)
    pieces.step(add, 1.0)
    other = way(pieces)
    other.step(add, 100.0)
    pieces.step(add, 1.0)
    assert pieces.ask(total, None) == [24.0, 46.0, 68.0, 90.0, 112.0]
    assert other.ask(total, None) == [222.0, 244.0, 266.0, 288.0, 310.0]


def test_pieces_of_two_placements_do_not_meet(engine: Engine) -> None:
    one, other = placed(engine), placed(engine)
    one.step(add, 5.0)
    assert other.ask(total, None) == placed(engine).ask(total, None)


def test_what_a_task_raises_comes_through(engine: Engine) -> None:
    pieces = placed(engine)
    with pytest.raises(ValueError, match="piece 30"):
        pieces.ask(fail, 30)
    assert pieces.ask(fail, 0) == [0.0] * 5


def test_messages_are_dealt_out_and_answered_in_their_order(engine: Engine) -> None:
    messages = [np.full(3, number) for number in range(5)]
    assert engine.deal(np.sum, messages) == [0, 3, 6, 9, 12]
    assert engine.deal(np.sum, []) == []


def test_pieces_elsewhere_are_elsewhere(processes: Processes) -> None:
    """Else the tests with them would prove nothing."""
    found = placed(processes).ask(where, None)
    assert len(set(found)) == 2 and os.getpid() not in found


def test_elsewhere_a_question_must_not_change_a_state_and_no_closure_comes_along(
    processes: Processes,
) -> None:
    pieces = placed(processes)
    with pytest.raises(AssertionError, match="changed the state"):
        pieces.ask(spoil, None)
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        placed(processes).ask(lambda piece, local, message: 0, None)


def test_arrays_are_cut_into_states_and_joined_again(engine: Engine) -> None:
    rows = {"numbers": np.arange(6.0), "steps": np.arange(3)}
    bounds = {"numbers": np.array([0, 4, 4, 6]), "steps": np.array([0, 1, 2, 3])}
    pieces = engine.place(build, [1, 2, 3], as_given, Each(cut(Local, rows, bounds)))
    assert [len(pieces.state_of(number).numbers) for number in range(3)] == [4, 0, 2]
    for name, whole in rows.items():
        np.testing.assert_array_equal(joined(pieces, name), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first", [0, 1, 2, 7, 100, 101])
def test_numbers_are_skipped_as_if_they_had_been_drawn(dtype: type, first: int) -> None:
    whole = seeds.derive(3, "init").random(150, dtype=dtype)
    rng = seeds.derive(3, "init")
    seeds.skip(rng, first, dtype)
    np.testing.assert_array_equal(rng.random(150 - first, dtype=dtype), whole[first:])
