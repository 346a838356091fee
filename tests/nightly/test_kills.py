"""The program that kills fits: what it chooses, and that it sees a file that differs."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kills import ATTEMPTS, PHASES, WORKERS, attempted, plans, table
from tinyfits import SHARDS, comparable
from victims import Calls, fresh


def test_kills_take_every_phase_with_every_number_of_workers() -> None:
    chosen = list(plans("hdp-cvb0", 24))
    assert {(plan.phase, plan.workers) for plan in chosen} == {
        (phase, workers) for phase in PHASES for workers in WORKERS
    }
    assert {(plan.shards, plan.workers) for plan in chosen} == {
        (shards, workers) for shards in SHARDS for workers in WORKERS
    }
    assert {plan.phase for plan in chosen if plan.fresh} == set(PHASES)
    assert {plan.phase for plan in chosen if plan.extended} == set(PHASES)


def test_the_last_attempt_of_a_kill_is_by_a_call_that_is_counted() -> None:
    """A fit that ends before a clock or a watcher strikes was not killed, and 100 are promised."""
    for plan in plans("hdp-cvb0", 24):
        assert {attempted(plan, attempt) for attempt in range(ATTEMPTS - 1)} == {plan}
        last = attempted(plan, ATTEMPTS - 1)
        assert (last.phase, last.fresh, last.key) == ("writing", False, plan.key)
        assert last._replace(phase=plan.phase, fresh=plan.fresh) == plan


def test_calls_between_two_renames_are_chosen_often() -> None:
    calls = Calls(("open", "write", "rename") * 40 + ("open", "rename", "rename", "rename", "sync"))
    assert [n for n in range(126) if calls.between_renames(n)] == [123, 124]
    chance = random.Random(1)
    chosen = [calls.choose(chance) for _ in range(300)]
    assert sum(map(calls.between_renames, chosen)) > 60
    assert min(chosen) < 20 and max(chosen) > 120


@pytest.mark.parametrize(
    "name", ["model.npz", "config.yaml", "draws/00000008.npz", "checkpoints/00000008.npz"]
)
def test_a_byte_that_differs_is_seen(copied: Callable[..., Path], name: str) -> None:
    run = copied("hdp-gibbs")
    other = Path(shutil.copytree(run, run.with_name("other")))
    assert comparable(run) == comparable(other)
    data = (other / name).read_bytes()
    (other / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert comparable(run) != comparable(other)


def test_metrics_differ_by_their_times_and_the_lines_of_stops_alone(
    copied: Callable[..., Path],
) -> None:
    run = copied("hdp-gibbs")
    before = comparable(run)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    odd = (
        lines[0].replace('"iteration": 2', '"iteration": 1').replace('"seconds": 0', '"seconds": 9')
    )
    (run / "metrics.jsonl").write_text("".join([odd, *lines]))
    assert comparable(run) == before
    (run / "metrics.jsonl").write_text("".join(lines[1:]))
    assert comparable(run) != before


def test_a_fresh_command_tells_its_code_and_its_words(tmp_path: Path) -> None:
    victim = fresh(["no-such-command"], tmp_path)
    assert victim.wait() == 2
    assert "no such command" in victim.err and victim.out == ""


def test_the_table_counts_the_newest_line_of_each_kill() -> None:
    row = {"key": "fit/hdp-cvb0/0", "backend": "hdp-cvb0", "killed": True, "fresh": False}
    row |= {"extended": True, "phase": "start"}
    shown = table([row | {"found": ["wrong"]}, row | {"found": []}])
    assert "| hdp-cvb0 | 1 | 1 | 0 | 0 | 0 | 1 | 0 |" in shown
