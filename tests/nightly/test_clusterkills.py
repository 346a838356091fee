"""The program that kills processes of clusters: what it chooses, and what it says of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusterkills import BACKENDS, COMMANDS, LOCAL, PLACES, TARGETS, Killing, Plan, plans, table
from tinyfits import Bench


def test_every_target_is_killed_at_every_place_early_and_late() -> None:
    chosen = list(plans("hdp-cvb0", 3))
    assert len({plan.key for plan in chosen}) == len(chosen)
    fits = {(plan.place, plan.target, plan.early) for plan in chosen if plan.command == "fit"}
    assert {case[:2] for case in fits} == {
        (place, target)
        for place in PLACES
        for target in TARGETS
        if place != LOCAL or target not in ("nanny", "scheduler")
    }
    assert {early for _, _, early in fits} == {True, False}
    assert {case[:2] for case in fits if case[2]} == {case[:2] for case in fits if not case[2]}
    assert {plan.command for plan in chosen} == set(COMMANDS)


def test_the_table_counts_the_newest_line_of_each_kill() -> None:
    row = {"key": "a", "command": "fit", "place": "tcp", "target": "nanny", "killed": True}
    shown = table(
        [row | {"found": ["wrong"]}, row | {"found": []}, row | {"key": "b", "found": []}]
    )
    assert "| fit | tcp | 2 | 0 | 0 | 2 | 0 | 0 | 0 |" in shown
    assert "infer" not in shown


class Victim:
    """A command that has ended."""

    def __init__(self, code: int, err: str = "") -> None:
        self.code, self.err = code, err

    def wait(self, seconds: float) -> int:
        return self.code


@pytest.mark.parametrize(
    ("target", "code", "err", "again", "found"),
    [
        ("worker", 0, "", None, []),
        ("worker", 75, "no workers", 0, []),
        ("worker", 75, "no workers", 1, ["given again it ended in 1: "]),
        ("worker", 1, "a line\n", None, ["exit code 1: a line\n"]),
        ("worker", 0, "Traceback", None, ["a traceback: Traceback"]),
        ("command", -9, "", 0, []),
        ("command", 75, "", None, ["exit code 75: "]),
    ],
)
def test_an_end_that_is_not_promised_is_found(
    target: str,
    code: int,
    err: str,
    again: int | None,
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(BACKENDS[0], "fit", "tcp", target, 0)
    bench: Any = Bench.__new__(Bench)
    killing = Killing(bench, plan, tmp_path, "0")

    def given_again(*_: Any) -> Victim:
        assert again is not None
        return Victim(again)

    monkeypatch.setattr(killing, "_words", list)
    monkeypatch.setattr(killing, "_begun", given_again)
    monkeypatch.setattr("clusterkills.fresh", given_again)
    ended: Any = Victim(code, err)
    assert killing._end_of(ended, "tcp") == found
