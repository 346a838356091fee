"""Scores of sheets, by judges whose accuracy is known; and sheets that cannot be scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged import Row, filled, knows, plain_run, read

from hiertopics import judge, score_sheets
from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.judgements import SheetAnswer
from hiertopics.scoring.judging import _is_right, accuracy_of

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sheet that nobody has filled in; it is not to be changed."""
    folder = tmp_path_factory.mktemp("judged")
    judge(plain_run(folder), folder / "sheet.csv", intruders=2, documents=8)
    return folder / "sheet.csv"


def test_who_knows_everything_is_right_everywhere(blank: Path, tmp_path: Path) -> None:
    sheet = filled(blank, knows, tmp_path / "mine.csv")
    found = score_sheets(sheet, key=blank.with_suffix(".key.csv"))
    words, documents = found["total"]
    assert (words["kind"], words["n"], words["accuracy"]) == ("intruder", 12, 1.0)
    assert (documents["kind"], documents["n"], documents["accuracy"]) == ("fit", 48, 1.0)
    assert words["above"] == pytest.approx(5 / 6) and words["above_low"] > 0.5
    assert words["high"] == 1.0 and 0 < words["standard_error"] < 0.1
    assert {row["accuracy"] for row in found["nodes"]} == {1.0} and len(found["nodes"]) == 12


@pytest.mark.parametrize("grade", [1, 3, 5])
def test_one_answer_to_everything_is_a_guess(blank: Path, tmp_path: Path, grade: int) -> None:
    sheet = filled(blank, lambda row, told: grade, tmp_path / "mine.csv")
    found = score_sheets(sheet, key=blank.with_suffix(".key.csv"))
    assert found["total"][1]["accuracy"] == 0.5
    assert all(row["accuracy"] == 0.5 for row in found["nodes"] if row["kind"] == "fit")


def test_who_guesses_is_not_above_chance(blank: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)

    def guesses(row: Row, told: Row) -> int:
        return int(rng.integers(1, 7 if row["kind"] == "intruder" else 6))

    sheets = [filled(blank, guesses, tmp_path / f"{who}.csv") for who in range(30)]
    found = score_sheets(sheets, key=blank.with_suffix(".key.csv"))
    for row, chance in zip(found["total"], (1 / 6, 1 / 2), strict=True):
        assert row["chance"] == pytest.approx(chance)
        assert row["above_low"] < 0 < row["above_high"] and abs(row["above"]) < 0.06
    assert found["total"][0]["n"] == 30 * 12 and found["sheets"] == 30


@pytest.mark.parametrize(("truth", "wanted"), [(1, [0, 0, 0.5, 1, 1]), (0, [1, 1, 0.5, 0, 0])])
def test_grades_below_and_above_the_middle_are_answers(truth: int, wanted: list[float]) -> None:
    answers = [SheetAnswer("fit", "3", "node", truth, 1, grade) for grade in range(1, 6)]
    assert [_is_right(answer) for answer in answers] == wanted


def test_an_interval_over_few_nodes_is_that_of_the_formula() -> None:
    """Two of three nodes are told always, one never, by four answers each.

    The mean over nodes has the variance 1/9, that over 12 answers would have 1/54: so they count as
    2, and the quantile is that of t with 2 degrees of freedom.
    """
    right = np.repeat([1.0, 1.0, 0.0], 4)
    found = accuracy_of(right, np.repeat(np.arange(3), 4))
    n, quantile = 2.0, 4.302653
    bend = quantile**2 / n
    middle = (2 / 3 + bend / 2) / (1 + bend)
    half = quantile * (2 / 9 / n + bend / 4 / n) ** 0.5 / (1 + bend)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-6)


@pytest.mark.parametrize(("spread", "n_groups"), [(0.0, 20), (0.25, 20), (0.25, 60), (0.4, 8)])
def test_intervals_hold_the_truth_as_often_as_they_say(spread: float, n_groups: int) -> None:
    """Nodes differ by ``spread`` around an accuracy of 0.6; without grouping coverage falls."""
    rng, n_own, inside, plain = np.random.default_rng(2), 12, 0, 0
    for _ in range(400):
        chances = 0.6 + spread * rng.choice([-1, 1], n_groups)
        right = (rng.random((n_groups, n_own)) < chances[:, None]).astype(float).ravel()
        found = accuracy_of(right, np.repeat(np.arange(n_groups), n_own))
        inside += found.low <= 0.6 <= found.high
        alone = accuracy_of(right, np.arange(len(right)))
        plain += alone.low <= 0.6 <= alone.high
    assert 0.92 * 400 <= inside <= 0.995 * 400
    if spread >= 0.25:
        assert plain < 0.9 * 400


def test_standard_errors_are_those_of_means() -> None:
    rng, found, n_groups, n_own = np.random.default_rng(3), [], 30, 20
    for _ in range(300):
        chances = rng.uniform(0.3, 0.9, n_groups)
        right = (rng.random((n_groups, n_own)) < chances[:, None]).astype(float).ravel()
        found.append(accuracy_of(right, np.repeat(np.arange(n_groups), n_own)))
    spread = np.std([one.accuracy for one in found])
    assert np.mean([one.standard_error for one in found]) == pytest.approx(spread, rel=0.15)


def test_the_command_shows_what_the_function_returns(
    blank: Path, tmp_path: Path, call: Call
) -> None:
    sheet, key = filled(blank, knows, tmp_path / "mine.csv"), blank.with_suffix(".key.csv")
    told = call("judge", "--score", sheet, "--key", key, "--json")
    assert told.code == 0 and json.loads(told.out) == score_sheets(sheet, key=key)
    text = call("judge", "--score", sheet, "--key", key).out
    assert "intruder: +0.833 above chance (0.167), 95% interval +0.5" in text
    table = call("judge", "--score", sheet, "--key", key, "--format", "csv").out.splitlines()
    assert table[0].startswith("kind,node,name,nodes,n,accuracy") and len(table) == 15


def test_a_sheet_may_have_gone_through_a_spreadsheet(blank: Path, tmp_path: Path) -> None:
    rows = read(filled(blank, knows, tmp_path / "mine.csv"))
    kept = [f"{row['question']},{row['answer']}.0,{row['sheet']}" for row in rows[::-1]]
    sheet = tmp_path / "mine.csv"
    sheet.write_text("\r\n".join(["\ufeffquestion,answer,sheet", *kept, ",,"]))
    found = score_sheets(sheet, key=blank.with_suffix(".key.csv"))
    assert found["total"][0]["accuracy"] == 1.0


def test_what_cannot_be_scored_is_refused_with_its_line(
    blank: Path, tmp_path: Path, call: Call
) -> None:
    key, sheet = blank.with_suffix(".key.csv"), tmp_path / "mine.csv"
    other = tmp_path / "other.csv"
    other.write_text(key.read_text().replace(read(key)[0]["sheet"], "s0"))
    whole = filled(blank, knows, sheet).read_text()
    first, second = whole.splitlines()[1:3]
    cut = first.rpartition(",")[0]
    cases = [
        (whole.replace(first, f"{cut},"), key, "mine.csv:2: question 1 has no answer"),
        (whole.replace(first, f"{cut},7"), key, "mine.csv:2: expected an answer from 1 to 6"),
        (whole.replace(first, f"{cut},yes"), key, "got 'yes'"),
        (whole.replace(f"{first}\n", ""), key, "mine.csv: question 1 of"),
        (whole.replace(second, first), key, "mine.csv:3: question '1' stands on line 2 already"),
        (whole.replace(",2,intruder", ",99,intruder"), key, "question 2 of"),
        (whole, other, "mine.csv:2: question of sheet"),
        (whole, tmp_path / "none.csv", "none.csv: cannot read the key"),
        (whole, sheet, "mine.csv:1: not the key of a sheet"),
        (key.read_text(), key, "mine.csv:1: not a sheet of questions"),
        (whole.replace(",", ";"), key, "separated by commas"),
        (whole.splitlines()[0], key, "it has no rows"),
        (whole + 'x,"', key, "broken CSV"),
        (whole + "x,1\n", key, "expected 16 cells as on the first line, got 2"),
    ]
    for text, place, message in cases:
        sheet.write_text(text)
        told = call("judge", "--score", sheet, "--key", place)
        assert (told.code, len(told.err.splitlines())) == (2, 1), (message, told)
        assert message in told.err, (message, told.err)
    sheet.write_bytes(b"sheet,question,answer\n\xff")
    with pytest.raises(DataError, match="mine.csv:2: not UTF-8"):
        score_sheets(sheet, key=key)
    told = call("judge", "--score", sheet, "--most", 3)
    assert told.code == 2 and "only --key and the form" in told.err
