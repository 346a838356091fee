"""``judge``: what sheets ask, that they do not tell the answers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from judged import LEAVES, PARENT, plain_run, read, words_of

from hiertopics import judge
from hiertopics.base.errors import UsageError
from hiertopics.runs.rundir import RunDir
from hiertopics.views import judging

Call = Callable[..., Any]
WORDS = [f"word{place}" for place in range(1, 7)]
EXAMPLES = [f"example{place}" for place in range(1, 4)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_run(tmp_path_factory.mktemp("judged"))


def test_an_intruder_is_a_word_of_another_branch_among_five_of_the_node(
    run: Path, tmp_path: Path
) -> None:
    told = judge(run, tmp_path / "sheet.csv", intruders=2)
    rows, key = read(tmp_path / "sheet.csv"), read(tmp_path / "sheet.key.csv")
    asked = [pair for pair in zip(rows, key, strict=True) if pair[0]["kind"] == "intruder"]
    assert told["nodes"] == 6 and told["intruder"] == len(asked) == 12
    seen: dict[str, set[str]] = {}
    for row, right in asked:
        words = [row[name] for name in WORDS]
        intruder = words.pop(int(right["truth"]) - 1)
        line = RunDir(run).tree.path(int(right["node"]))
        known = {word for node in line for word in words_of(node)}
        below = [n for n in range(len(PARENT)) if PARENT[n] == int(right["node"])]
        known |= {word for node in below for word in words_of(node)}
        assert set(words) <= known and intruder not in known, right
        assert not seen.setdefault(right["node"], set()) & {*words, intruder}, "a word twice"
        seen[right["node"]] |= {*words, intruder}


def test_half_of_the_documents_belong_and_none_is_an_example(run: Path, tmp_path: Path) -> None:
    judge(run, tmp_path / "sheet.csv", nodes=LEAVES, documents=6)
    theta, texts = RunDir(run).theta.toarray(), RunDir(run).documents
    assert texts is not None and texts.snippets is not None
    rows, key = read(tmp_path / "sheet.csv"), read(tmp_path / "sheet.key.csv")
    asked = [pair for pair in zip(rows, key, strict=True) if pair[0]["kind"] == "fit"]
    assert len(asked) == 6 * len(LEAVES)
    for leaf in LEAVES:
        mine = [pair for pair in asked if pair[1]["node"] == str(leaf)]
        assert sum(int(right["truth"]) for _, right in mine) == 3
        for row, right in mine:
            doc = int(right["doc"]) - 1
            assert row["document"] == texts.snippets[doc]
            assert (theta[doc, leaf] > 0.5) == (right["truth"] == "1")
            examples = [row[name] for name in EXAMPLES]
            places = [texts.snippets.index(text) for text in examples]
            assert (theta[places, leaf] > 0.5).all() and row["document"] not in examples


def test_the_sheet_does_not_tell_its_answers(run: Path, tmp_path: Path) -> None:
    judge(run, tmp_path / "sheet.csv", most=20)
    rows, key = read(tmp_path / "sheet.csv"), read(tmp_path / "sheet.key.csv")
    kinds = [row["kind"] for row in rows]
    assert kinds == sorted(kinds, key="intruder fit".index), "words come before documents"
    assert {row["answer"] for row in rows} == {""} and not {"node", "truth"} & set(rows[0])
    assert {row["topic"] for row in rows} == {""}, "words beside documents tell the intruders"
    nodes = [row["node"] for row in key if row["kind"] == "intruder"]
    assert nodes != sorted(nodes), "the order tells which questions are about one node"
    judge(run, tmp_path / "alone.csv", intruders=0, nodes=[3])
    assert all(set(row["topic"].split()) <= set(words_of(3)) | set(words_of(1)) | set(words_of(0))
               and row["topic"] for row in read(tmp_path / "alone.csv"))  # fmt: skip


def test_places_of_intruders_are_those_of_chance(run: Path, tmp_path: Path) -> None:
    places = []
    for seed in range(12):
        judge(run, tmp_path / f"{seed}.csv", intruders=2, documents=0, seed=seed)
        places += [int(row["truth"]) for row in read(tmp_path / f"{seed}.key.csv")]
    counts = np.bincount(places, minlength=7)[1:]
    assert len(places) == 144 and counts.min() >= 10 and counts.max() <= 40


def test_the_seed_draws_all_of_it_and_nothing_else_does(run: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        judge(run, tmp_path / f"{name}.csv", most=3, seed=seed)
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c
    few, more = tmp_path / "few.csv", tmp_path / "more.csv"
    judge(run, few, nodes=[5], documents=0)
    judge(run, more, nodes=[3, 5], documents=0)
    assert {row["word1"] for row in read(few)} <= {row["word1"] for row in read(more)}


def test_levels_choose_nodes(run: Path, tmp_path: Path) -> None:
    judge(run, tmp_path / "depth.csv", depth=2, documents=0)
    assert {row["node"] for row in read(tmp_path / "depth.key.csv")} == {"1", "2"}
    judge(run, tmp_path / "cut.csv", cut="2", documents=0)
    assert {row["node"] for row in read(tmp_path / "cut.key.csv")} == {"1", "2"}
    judge(run, tmp_path / "both.csv", cut="2,4", depth=1, documents=0)
    assert {row["node"] for row in read(tmp_path / "both.key.csv")} == {"1", "2"}
    judge(run, tmp_path / "most.csv", most=3)
    assert len({row["node"] for row in read(tmp_path / "most.key.csv")}) == 3


def test_flat_topics_are_judged_too(tmp_path: Path) -> None:
    told = judge(plain_run(tmp_path, flat=True), tmp_path / "sheet.csv")
    assert (told["nodes"], told["intruder"], told["fit"]) == (4, 8, 16)


@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0"])
def test_runs_of_backends_are_judged(
    finished: Callable[..., Path], tmp_path: Path, backend: str
) -> None:
    said: list[str] = []
    told = judge(finished(backend), tmp_path / "sheet.csv", intruders=1, say=said.append)
    assert told["intruder"] >= 1 and told["fit"] == 0
    assert any("neither texts nor names" in line for line in said)


def test_documents_without_texts_go_by_their_names(tmp_path: Path) -> None:
    said: list[str] = []
    judge(plain_run(tmp_path, texts=False), tmp_path / "sheet.csv", say=said.append)
    rows = [row for row in read(tmp_path / "sheet.csv") if row["kind"] == "fit"]
    assert rows and all(row["document"].startswith("doc ") for row in rows)
    assert said == ["note: the run keeps no texts of documents: their names stand in the sheet"]


def test_a_key_that_a_killed_process_left_is_no_obstacle(run: Path, tmp_path: Path) -> None:
    """The same command writes both files; a key of another sheet stays."""
    sheet, key = tmp_path / "sheet.csv", tmp_path / "sheet.key.csv"
    judge(run, sheet, documents=0)
    whole = sheet.read_bytes(), key.read_bytes()
    sheet.unlink()
    judge(run, sheet, documents=0)
    assert (sheet.read_bytes(), key.read_bytes()) == whole
    sheet.unlink()
    with pytest.raises(UsageError, match="sheet.key.csv is there already"):
        judge(run, sheet, documents=0, seed=7)
    assert key.read_bytes() == whole[1] and not sheet.exists()


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([3], "node 3 has too few words and is left out"),
        ([3, 4], "2 nodes (3, 4) have too few words and are left out"),
    ],
)
def test_nodes_that_are_left_out_are_counted(nodes: list[int], told: str) -> None:
    asker: Any = SimpleNamespace(texts=[], only_names=False)
    assert list(judging._notes(asker, 0, nodes, [])) == [told]


def test_what_cannot_be_asked_is_refused_in_one_line(
    run: Path, call: Call, tmp_path: Path, finished: Callable[..., Path]
) -> None:
    (tmp_path / "there.key.csv").write_text("mine")
    vectors = finished("hca-variational")
    cases = [
        ((run, "-o", "a.csv", "--nodes", "3,99"), "has no node 99"),
        ((run, "-o", "a.csv", "--nodes", "3;4"), "--nodes takes numbers as 3,7,12"),
        ((run, "-o", "a.csv", "--nodes", "3", "--intruders", "9"), "node 3 has too few words"),
        ((run, "-o", "a.csv", "--intruders", "99"), "has too few words"),
        ((run, "-o", "a.csv", "--nodes", "0"), "0 words elsewhere that could intrude"),
        ((run, "-o", "a.csv", "--documents", "3"), "3 is odd"),
        ((run, "-o", "a.csv", "--documents", "0", "--intruders", "0"), "ask for one question"),
        ((run, "-o", "a.csv", "--nodes", "3", "--depth", "2"), "--nodes excludes"),
        ((run, "-o", "there.csv"), "there.key.csv is there already"),
        ((run,), "name the sheet: -o sheet.csv"),
        ((run, "-o", "a.csv", "--key", "k.csv"), "--key has no meaning"),
        ((vectors, "-o", "a.csv"), "this run is of vectors"),
    ]
    for words, message in cases:
        told = call("judge", *words)
        lines = [line for line in told.err.splitlines() if "error" in line.lower()]
        assert (told.code, len(lines)) == (2, 1) and message in lines[0], (words, told)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["there.key.csv"]


def test_a_node_with_few_documents_is_asked_about_words_alone(run: Path, tmp_path: Path) -> None:
    said: list[str] = []
    told = judge(run, tmp_path / "a.csv", nodes=[3], documents=40, say=said.append)
    assert (told["intruder"], told["fit"]) == (2, 0)
    assert "node 3 has too few documents" in said[0]
    with pytest.raises(UsageError, match="no node that questions"):
        judge(run, tmp_path / "b.csv", nodes=[3], intruders=0, documents=40, say=said.append)
