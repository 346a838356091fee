"""The program that attacks: what it calls wrong, so that a verdict can be another one than ok."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attacks import ATTACKS, table, wrong
from scene import ERROR, Scene


class Ended:
    """A command that has ended."""

    def __init__(self, code: int, err: str = "", out: str = "") -> None:
        self.code, self.err, self.out = code, err, out

    def wait(self, seconds: float) -> int:
        return self.code


def judged(scene: Scene, ended_in: int, err: str = "", **right: Any) -> list[str]:
    ended: Any = Ended(ended_in, err)
    return scene.judge("an edit", ended, set(), **right).wrong


@pytest.mark.parametrize(
    ("code", "err", "right", "found"),
    [
        (0, "done: 10 nodes\n", {}, []),
        (1, f"{ERROR}x is damaged\n", {"code": 1, "says": "damaged"}, []),
        (-11, "", {"code": {0, 1, 2}}, ["ended by SIGSEGV"]),
        (2, f"{ERROR}x\n", {"code": 1}, ["exit code 2 for 1"]),
        (1, f"Traceback\n{ERROR}x\n", {"code": 1}, ["a traceback"]),
        (1, f"{ERROR}x\n", {"code": 1, "says": "damaged"}, ["nothing said of 'damaged'"]),
        (1, f"{ERROR}x\n{ERROR}y\n", {"code": 1}, ["2 lines of error, 2 on stderr"]),
        (1, "", {"code": 1}, ["0 lines of error, 0 on stderr"]),
    ],
)
def test_an_end_that_is_not_promised_is_wrong(
    code: int, err: str, right: dict[str, Any], found: list[str], tmp_path: Path
) -> None:
    told = judged(Scene(tmp_path), code, err, **right)
    assert [problem.partition(":")[0] for problem in told] == found


def test_what_a_refused_command_leaves_is_wrong(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.here / "new").mkdir()
    (scene.here / "new" / "config.yaml").touch()
    assert judged(scene, 1, f"{ERROR}x\n", code=1) == ["leaves new"]
    assert judged(scene, 1, f"{ERROR}x\n", code=1, leaves=("new",)) == []
    assert judged(scene, 0) == []


@pytest.mark.parametrize("how", ["bytes", "time", "removed", "new"])
def test_files_elsewhere_that_change_are_wrong(how: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    if how == "new":
        scene.elsewhere.joinpath("kept", "mark").touch()
    elif how == "removed":
        scene.victim.unlink()
    else:
        scene.victim.write_text("" if how == "bytes" else scene.victim.read_text())
    assert any("another file changed" in problem for problem in judged(scene, 0))


def test_the_table_counts_exit_codes_and_what_is_wrong() -> None:
    verdicts = [
        {"what": "a", "code": 0, "said": "", "wrong": []},
        {"what": "b", "code": 1, "said": "", "wrong": ["a traceback", "leaves new"]},
    ]
    rows = [{"key": "links in a run", "verdicts": verdicts}]
    assert table(rows).splitlines()[-1] == "| links in a run | 2 | 1 | 1 | 0 | 1 |"
    assert wrong(rows) == ["links in a run: b: a traceback; leaves new"]
    assert "links in a run" in ATTACKS
