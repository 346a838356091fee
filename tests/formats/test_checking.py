"""check: every mistake of every file is found, and none that reading does not find."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from spoilt import PIECES, SOUND, Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source

common = settings(
    deadline=None, derandomize=True, max_examples=30, suppress_health_check=list(HealthCheck)
)
LINE_BASED = ["a.ldac", "docword.a.txt", "a.mtx", "a.svm", "a.edges"]


def found(path: Path, **options: Any) -> list[tuple[str, int | None]]:
    """Return the problems as (file, line) in the order in which they are told."""
    checked = check(path, **options)
    assert bool(checked.shape) != bool(checked.problems)
    return [(Path(problem.path).name, problem.line) for problem in checked.problems]


MTX = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.ldac", "1 0:1\n1 x\n\n2 0:1 1:1\n1 0:0\n0 0:1\nx\n", [2, 3, 5, 6, 7]),
        ("docword.a.txt", "2\n2\n7\n1 1 1\n1 1 2\nx\n3 1 1\n\n1 2 0\n2 2 1\n", [6, 7, 8, 9, 5]),
        ("docword.a.txt", "2\n2\n3\n1 1 1\n1 0 1\n", [5, 3]),
        ("a.mtx", MTX + "2 2 5\n1 1 1.5\n%\n1 2 3\n1 2 1\n2 3 1\n\n9 9 9\n", [3, 7, 9, 6]),
        ("a.mtx", MTX + "2 2 9\n1 1 1\n", [2]),
        ("a.mtx", "%%MatrixMarket matrix array real general\n2 2\nx\n", [1]),
        ("a.svm", "1 1:1\n1,, 1:1\n# x\n2 1:0\n\nqid:3 1:1\n1:1 1:1\n\\ 3\n", [2, 4, 6, 7, 8]),
        ("a.edges", "1 2\n1\n# x\na b c\n\n2 3\n", [2, 4, 5]),
    ],
)
def test_every_line_with_a_mistake_is_told_once(put: Put, name: str, text: str, lines: Any) -> None:
    assert found(put(name, text)) == [(name, line) for line in lines]


def test_a_broken_line_is_still_a_document(put: Put) -> None:
    path = put("a.ldac", "1 0:1\n1 x\n1 1:1\n")
    put("a.authors", "ann\nbo\ncy\n")
    assert found(path) == [("a.ldac", 2)]
    put("a.authors", "ann\nbo\n")
    assert found(path) == [("a.ldac", 2), ("a.authors", None)]


def test_the_side_files_are_read_where_the_counts_cannot_be(put: Put) -> None:
    path = put("docword.a.txt", "no header\n")
    put("a.vocab", "x\n\nx\ny\nx\n")
    put("a.authors", "0\n7\n0 1\n1 2 9\n")
    put("a.authors.key", "ann\n\nbo\n")
    put("a.labels", b"art\n\xff\nlaw\n\xfe\n")
    assert found(path) == [
        ("a.vocab", 2),
        ("a.vocab", 3),
        ("a.vocab", 5),
        ("docword.a.txt", 1),
        ("a.authors.key", 2),
        ("a.authors", 2),
        ("a.authors", 4),
        ("a.labels", 2),
        ("a.labels", 4),
    ]


def test_a_broken_line_of_the_vocabulary_keeps_its_id(put: Put) -> None:
    put("a.vocab", "x\n\nx\ny\n")
    path = put("a.ldac", "1 3:1\n1 4:1\n")
    assert found(path) == [("a.vocab", 2), ("a.vocab", 3), ("a.ldac", 2)]


def test_where_the_vocabulary_cannot_be_unpacked_the_counts_are_read_without_it(put: Put) -> None:
    put("a.vocab.gz", "x\n").write_bytes(b"\x1f\x8bno archive")
    path = put("a.ldac", "1 7:1\n1 x\n")
    assert found(path) == [("a.vocab.gz", None), ("a.ldac", 2)]


def test_a_vocabulary_of_another_length_does_not_hide_the_lines(put: Put) -> None:
    put("a.vocab", "x\n")
    assert found(put("a.mtx", MTX + "2 2 1\n1 3 1\n")) == [("a.mtx", 2), ("a.mtx", 3)]


def test_reading_ends_after_as_many_problems_as_were_asked_for(put: Put) -> None:
    path = put("a.ldac", "x\n" * 5)
    assert found(path, most=3) == [("a.ldac", 1), ("a.ldac", 2), ("a.ldac", 3)]
    assert check(path, most=4).more and not check(path, most=5).more
    with pytest.raises(UsageError, match="must be >= 1"):
        check(path, most=0)


def test_the_shape_of_a_sound_corpus(put: Put) -> None:
    put("a.vocab", "x\ny\nz\n")
    put("a.labels", "art law\n\nart\n\n")
    checked = check(put("a.svm", "7 1:2\n\n7 1:1 2:5\n\n"))
    assert checked.problems == () and not checked.more and checked.notes == ()
    assert checked.shape == {
        "n_docs": 4, "n_empty": 2, "n_words": 3, "n_unused_words": 1, "n_pairs": 3, "n_tokens": 8,
        "n_groups": None, "n_without_groups": None, "n_labels": 2, "n_without_labels": 2,
    }  # fmt: skip


def test_notes_of_the_reader_are_kept(put: Put) -> None:
    assert check(put("a.edges", "1 1\n1 2\n")).notes == ("1 self-loop was dropped",)


def test_raw_text_and_matrices_are_checked_up_to_the_first_mistake(put: Put) -> None:
    assert found(put("a.jsonl", '{"text": "a cat"}\nx\ny\n')) == [("a.jsonl", 2)]
    assert found(put("a.npz", b"PKno")) == [("a.npz", None)]


def test_a_missing_file_is_no_problem_of_the_data(put: Put, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        check(tmp_path / "gone.ldac")
    with pytest.raises(DataError, match="no such file"):
        check(put("a.ldac", "1 0:1\n"), data={"vocab": str(tmp_path / "gone")})


@pytest.mark.parametrize("name", LINE_BASED)
@common
@given(data=st.data())
def test_check_finds_the_mistake_that_reading_finds_and_nothing_else(
    tmp_path: Path, name: str, data: Any
) -> None:
    pieces = st.lists(st.sampled_from(PIECES[name]), max_size=8).map("".join)
    sound = SOUND[name].decode().splitlines(keepends=True)
    lines = data.draw(st.lists(pieces | st.sampled_from(sound), max_size=6))
    header = "".join(sound[:3]) if data.draw(st.booleans()) else ""
    files = {name: header + "".join(lines)}
    sides = st.text("01 2\tx\n", max_size=12)
    for side in ("a.vocab", "a.authors", "a.authors.key"):
        drawn = data.draw(st.none() | sides)
        (tmp_path / side).unlink(missing_ok=True)
        files |= {} if drawn is None else {side: drawn}
    for file, text in files.items():
        (tmp_path / file).write_text(text, newline="")
    checked = check(tmp_path / name)
    try:
        read_corpus(Source(tmp_path / name))
    except DataError as error:
        first = checked.problems[0]
        assert (first.path, first.line, first.what) == (error.path, error.line, error.what)
    else:
        assert checked.problems == ()
    assert os.path.basename(checked.source.path) == name


def test_a_damaged_archive_is_a_problem_that_is_found(tmp_path: Path) -> None:
    """Its bytes tell no delimiter and no encoding; what is wrong with it is told as by a reader."""
    packed = bytearray(gzip.compress(b"text;year\na;1\nb;2\n", mtime=0))
    packed[2] = 9  # a method of compression that there is not
    (tmp_path / "a.csv").write_bytes(packed)
    checked = check(tmp_path / "a.csv")
    (problem,) = checked.problems
    assert "archive is damaged" in str(problem) and not checked.auto
