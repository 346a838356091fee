"""check: problems on stdout and exit code 2 or 1, or a summary on stderr and exit code 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics

Call = Callable[..., Any]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return the path of a corpus with mistakes in it and in its vocabulary."""
    (tmp_path / "b.ldac").write_text("1 0:1\n1 x\n1 5:1\n")
    (tmp_path / "b.vocab").write_text("x\ny\nx\n")
    return tmp_path / "b.ldac"


LINES = [
    "b.vocab:3: the word 'x' stands on line 1 already",
    "b.ldac:2: expected \"id:count\" pairs after the number of distinct words, got 'x'",
    "b.ldac:3: word id out of range in '5:1': b.vocab holds 3 words (ids from 0 to 2)",
]


def test_every_problem_is_a_line_and_the_exit_code_is_2(call: Call, broken: Path) -> None:
    outcome = call("check", "b.ldac")
    assert (outcome.code, outcome.out.splitlines(), outcome.err) == (2, LINES, "")


def test_damaged_shards_are_exit_code_1(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.ldac").write_text("1 0:1\n")
    assert call("convert", "c.ldac", "c.shards").code == 0
    (tmp_path / "c.shards" / "lengths.npy").unlink()
    outcome = call("check", "c.shards")
    assert outcome.code == 1 and "c.shards: is damaged: lengths.npy is missing" in outcome.out


def test_problems_end_where_they_are_asked_to(call: Call, broken: Path) -> None:
    assert call("check", "b.ldac", "--max", 2).out.splitlines() == [*LINES[:2], "... and more"]
    assert call("check", "b.ldac", "--max", 3).out.splitlines() == LINES
    assert call("check", "b.ldac", "--max", 0).code == 2


def test_a_hundred_problems_are_the_default(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c.ldac").write_text("x\n" * 101)
    lines = call("check", "c.ldac").out.splitlines()
    assert len(lines) == 101 and lines[-1] == "... and more"


def test_problems_as_json_are_one_object_each(call: Call, broken: Path) -> None:
    outcome = call("check", "b.ldac", "--json", "--max", 2)
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(record["file"], record["line"]) for record in records] == [
        ("b.vocab", 3), ("b.ldac", 2),
    ]  # fmt: skip
    assert LINES[0].endswith(records[0]["what"])
    assert (outcome.code, outcome.err) == (2, "... and more\n")


def test_a_sound_corpus_is_summed_up_on_stderr(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.edges").write_text("x y\ny z\nz z\n")
    (tmp_path / "a.authors").write_text("ann\n\nbo ann\n")
    outcome = call("check", "a.edges")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        "a.edges (edges) with a.authors: 3 documents (0 empty), 3 words (0 unused), 4 tokens, "
        "2 groups (1 documents without)",
        "note: 1 self-loop was dropped",
    ]
    record = json.loads(call("check", "a.edges", "--json").out)
    assert record["path"] == "a.edges" and record["notes"] == ["1 self-loop was dropped"]
    assert (record["n_docs"], record["n_groups"], record["n_labels"]) == (3, 2, None)


def test_options_say_how_the_corpus_is_read(call: Call, broken: Path, tmp_path: Path) -> None:
    (tmp_path / "six").write_text("a\nb\nc\nd\ne\nf\n")
    (tmp_path / "b.ldac").rename(tmp_path / "b.x")
    outcome = call("check", "b.x", "--from", "ldac", "--vocab", "six")
    assert outcome.out.splitlines() == [LINES[1].replace("b.ldac", "b.x")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.ldac",), "gone.ldac: no such file"),
        (("b.ldac", "--groups", "gone"), "gone: no such file"),
        (("b.ldac", "--from", "xyz"), "unknown format 'xyz'"),
        (("b.ldac", "--text-field", "x"), "text_field is for raw text"),
    ],
)
def test_what_cannot_be_checked_is_an_error(
    call: Call, broken: Path, words: tuple[str, ...], message: str
) -> None:
    outcome = call("check", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("hiertopics: error: ") and message in outcome.err


def test_the_function_takes_the_same_words(broken: Path) -> None:
    checked = hiertopics.check(broken, data={"from_": "ldac"}, most=1)
    assert [problem.line for problem in checked.problems] == [3] and checked.more
    assert checked.source.format == "ldac" and checked.shape == {}
