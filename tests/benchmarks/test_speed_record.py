"""The record of speed: a ratio has moved if it differs by more than its noise.

Only ratios of the same processor and the same version of a peer compare.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import speed, speed_record
from benchmarks.speed_record import Row, compare, rows, table


def row(commit: str, ratios: list[float], **other: Any) -> Row:
    own = Row(commit, "cpu", "kos", "docs:0.1@0", "hdp-cvb0", 100, "tomotopy-hdp", "0.14", ratios)
    return own._replace(**other)


NOISY = [2.0, 2.1, 1.9, 2.05, 1.95, 2.2, 1.8]


@pytest.mark.parametrize(
    ("ratios", "moved"),
    [(NOISY, False), ([r * 1.05 for r in NOISY], False), ([r * 1.3 for r in NOISY], True),
     ([r / 1.3 for r in NOISY], True)],
    ids=["same", "within noise", "faster", "slower"],
)  # fmt: skip
def test_what_differs_by_more_than_noise_has_moved(ratios: list[float], moved: bool) -> None:
    (move,) = compare([row("a", NOISY)], [row("b", ratios)])
    assert move.moved == moved


def test_without_noise_a_hundredth_has_not_moved() -> None:
    flat = [2.0] * 5
    (less,) = compare([row("a", flat)], [row("b", [2.019] * 5)])
    (more,) = compare([row("a", flat)], [row("b", [2.021] * 5)])
    assert (less.moved, more.moved) == (False, True)


@pytest.mark.parametrize("field", ["cpu", "version", "peer", "system", "truncation", "corpus"])
def test_rows_of_another_kind_do_not_compare(field: str) -> None:
    other: Any = 50 if field == "truncation" else "other"
    assert not list(compare([row("a", NOISY, **{field: other})], [row("b", NOISY)]))


def test_the_last_other_commit_is_compared_to() -> None:
    known = [row("a", [1.0] * 5), row("b", [2.0] * 5), row("c", [3.0] * 5)]
    (move,) = compare(known, [row("c", [3.0] * 5)])
    assert move.earlier.commit == "b"


def test_rows_come_from_records_and_back_from_their_file(tmp_path: Path) -> None:
    about = {"corpus": "kos", "split": "docs:0.1@0", "truncation": 100}
    results = [
        {**about, "system": "hdp-cvb0", "round_ratios": {"tomotopy-hdp": [2.00004, 3.0]}},
        {**about, "system": "tomotopy-hdp", "truncation": None, "round_ratios": {}},
    ]
    made = list(rows(results))
    assert [(each.system, each.peer, each.ratios) for each in made] == [
        ("hdp-cvb0", "tomotopy-hdp", [2.0, 3.0])
    ]
    speed_record.append(tmp_path / "record.jsonl", made)
    speed_record.append(tmp_path / "record.jsonl", made)
    assert speed_record.read(tmp_path / "record.jsonl") == 2 * made


def test_the_table_counts_what_moved_and_what_is_new() -> None:
    new = [row("b", [r * 2 for r in NOISY]), row("b", NOISY, system="new")]
    said = table(list(compare([row("a", NOISY)], new)), len(new))
    assert said.startswith("1 of 1 ratios moved")
    assert "1 of 2 ratios have no earlier row" in said and "+100.0%" in said


def test_compare_needs_a_file(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(speed.measure, [str(tmp_path), "--compare"])
    assert outcome.exit_code == 2 and "--record" in outcome.output


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_ratios_of_a_busy_machine_are_marked(
    share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, about = tmp_path / "record.jsonl", {"corpus": "kos", "split": "docs:0.1@0"}
    own = {**about, "system": "hdp-cvb0", "truncation": 100, "core_share": share}
    speed._keep(file, [{**own, "round_ratios": {"tomotopy-hdp": NOISY}}], compare=False)
    (kept,) = speed_record.read(file)
    assert (kept.loaded, "90% of its core" in capsys.readouterr().err) == (share < 0.95,) * 2


def test_rows_without_a_mark_are_of_an_idle_machine_and_compare_to_loaded_ones() -> None:
    before = Row(**{k: v for k, v in row("a", NOISY)._asdict().items() if k != "loaded"})
    moves = list(compare([before], [row("b", NOISY, loaded=True)]))
    assert [(move.earlier.loaded, move.now.loaded) for move in moves] == [(False, True)]
    assert table(moves, 1).splitlines()[-1].endswith("| now |")
