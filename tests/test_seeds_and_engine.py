"""Generators are derived, not carried; results come back in order from however many threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from hiertopics.base import seeds
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context


def draw(seed: int, purpose: str, *key: int) -> tuple[int, ...]:
    return tuple(seeds.derive(seed, purpose, *key).integers(2**62, size=4).tolist())


def test_the_same_key_gives_the_same_draws() -> None:
    assert draw(3, "sweep", 1, 2) == draw(3, "sweep", 1, 2)


def test_every_part_of_the_key_counts() -> None:
    keys = [
        (0, "sweep"), (1, "sweep"), (0, "init"), (0, "sweep", 0), (0, "sweep", 1),
        (0, "sweep", 0, 1), (0, "sweep", 1, 0), (0, "sweep", 10), (2**40, "sweep"),
    ]  # fmt: skip
    draws = [draw(*key) for key in keys]  # type: ignore[arg-type]
    assert len(set(draws)) == len(draws)


def test_the_bit_generator_is_named_and_not_left_to_numpy() -> None:
    assert type(seeds.derive(0, "init").bit_generator) is np.random.PCG64


def test_the_generator_of_a_context_belongs_to_seed_iteration_purpose_and_key() -> None:
    with Workers() as pool:
        drawn = [
            tuple(Context(seed, iteration, pool).rng(purpose, *key).integers(2**62, size=2))
            for seed, iteration, purpose, key in (
                (0, 1, "sweep", ()), (1, 1, "sweep", ()), (0, 2, "sweep", ()),
                (0, 1, "tables", ()), (0, 1, "sweep", (0,)), (0, 1, "sweep", (1,)),
            )
        ]  # fmt: skip
    assert len(set(drawn)) == len(drawn)
    assert drawn[0] == tuple(seeds.derive(0, "sweep", 1).integers(2**62, size=2))


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_results_come_in_the_order_of_the_items(n_workers: int) -> None:
    def late(item: int) -> int:
        time.sleep(0.002 * (7 - item))
        return item * item

    with Workers(n_workers) as pool:
        assert pool.map(late, range(8)) == [item * item for item in range(8)]


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_exception_comes_through(n_workers: int) -> None:
    def fail(item: int) -> int:
        if item == 2:
            raise ValueError("item two")
        return item

    with Workers(n_workers) as pool:
        with pytest.raises(ValueError, match="item two"):
            pool.map(fail, range(5))
        assert pool.map(abs, [-1, -2]) == [1, 2]


def test_one_worker_starts_no_thread() -> None:
    with Workers(1) as pool:
        names = pool.map(lambda _: threading.current_thread().name, range(3))
    assert set(names) == {threading.current_thread().name}


def test_several_workers_work_at_the_same_time_and_are_let_go() -> None:
    meeting = threading.Barrier(2, timeout=30)
    before = threading.active_count()
    with Workers(2) as pool:
        pool.map(lambda _: meeting.wait(), range(2))  # alone, one would wait in vain
    assert threading.active_count() == before
