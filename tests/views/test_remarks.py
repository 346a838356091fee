"""``show-tree --side``: what files say of a node's documents; main topics of nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render import LARGE, few_documents

Call = Callable[..., Any]


@pytest.fixture
def run(finished: Callable[..., Path]) -> Path:
    """Return a run of a tree backend on 30 documents, 24 of them trained on."""
    return finished("tssb-mcmc")


@pytest.fixture
def sides(tmp_path: Path) -> dict[str, Path]:
    """Return files of years, one per document, and of authors, several and none."""
    (tmp_path / "years.txt").write_text("".join(f"{1990 + doc % 4}\n" for doc in range(30)))
    rows = ["", "ann bob", "bob"] * 10
    (tmp_path / "who.authors").write_text("".join(f"{row}\n" for row in rows))
    return {"year": tmp_path / "years.txt", "author": tmp_path / "who.authors"}


def remarks(call: Call, run: Path, *words: object) -> dict[int, dict[str, Any]]:
    done = call("show-tree", run, "--format", "json", *words)
    assert done.code == 0, done.err
    return {node["id"]: node.get("remarks", {}) for node in json.loads(done.out)["nodes"]}


def test_side_files_are_counted_over_the_training_documents_of_each_node(
    call: Call, run: Path, sides: dict[str, Path]
) -> None:
    words = [word for name, path in sides.items() for word in ("--side", f"{name}={path}")]
    found = remarks(call, run, *words)
    opened = RunDir.open(run)
    assert opened.paths is not None and opened.split.train_lengths is not None
    full = opened.split.train_lengths > 0
    assert (len(full), full.sum()) == (24, 23)
    for node, said in found.items():
        here = (opened.paths.node == node).any(axis=1)
        assert here.sum() == opened.tree.n_docs[node]
        docs = opened.split.train_docs[here & full]
        years = {str(1990 + place): int((docs % 4 == place).sum()) for place in range(4)}
        assert dict(said["year"]) == years
        authors = {"ann": int((docs % 3 == 1).sum()), "bob": int((docs % 3 >= 1).sum())}
        assert dict(said["author"]) == {name: n for name, n in authors.items() if n}
        assert [n for _, n in said["author"]] == sorted(authors.values(), reverse=True)[
            : len(said["author"])
        ]


def test_text_shows_a_histogram_of_years_and_the_most_common_authors(
    call: Call, run: Path, sides: dict[str, Path]
) -> None:
    words = [word for name, path in sides.items() for word in ("--side", f"{name}={path}")]
    lines = call("show-tree", run, *words).out.splitlines()
    root_years = next(line for line in lines if "year: " in line)
    assert root_years.partition("year: ")[2].startswith("1990 |")
    assert "| 1993, at most " in root_years
    assert "author: bob 15, ann 7" in next(line for line in lines if "author: " in line)


def test_a_year_without_documents_keeps_its_place_in_the_histogram(
    call: Call, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "years").write_text(
        "".join(f"{1990 + 3 * (doc % 2)}\n" for doc in range(28)) + "1994\n" * 2
    )
    lines = call("show-tree", run, "--side", f"year={tmp_path / 'years'}").out.splitlines()
    told = next(line for line in lines if "year: " in line).partition("year: ")[2]
    bars = told.partition("|")[2].partition("|")[0]
    assert len(bars) == 5 and bars[1:3] == "  " and bars[0] != " " != bars[3]


def test_a_histogram_leaves_out_a_few_documents_far_from_all_others_and_says_so(
    call: Call, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON value has them."""
    monkeypatch.setattr("hiertopics.corpus.data.columns.OUTLYING", 0.2, raising=False)
    values = ["1970"] * 3 + ["1990", "1991", "1992"] * 9
    (tmp_path / "years").write_text("".join(f"{value}\n" for value in values))
    side = f"year={tmp_path / 'years'}"
    outcome = call("show-tree", run, "--side", side)
    told = next(line for line in outcome.out.splitlines() if "year: " in line)
    assert re.search(r"year: 1990 \|[^ ]{3}\| 1992, at most \d+$", told)
    assert re.search(
        r"note: column 'year': \d documents? before 1990 (is|are) not drawn", outcome.err
    )
    assert remarks(call, run, "--side", side)[0]["year"][0][0] == "1970"


def test_side_files_may_be_in_the_encoding_of_the_corpus(call: Call, tmp_path: Path) -> None:
    texts = ["café oak oak leaf", "café elm leaf bark", "elm oak café bark"] * 8
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n", encoding="cp1252")
    run, side = tmp_path / "run", tmp_path / "who"
    side.write_bytes("Zoë\n".encode("cp1252") * 12 + "Zoë\n".encode() * 12)
    how = ("-s", "data.encoding=cp1252", "-s", "data.holdout=none", "-b", "tssb-mcmc")
    corpus = (tmp_path / "a.txt", "--from", "lines")
    done = call("fit", *corpus, *how, "--iterations", "2", "-q", "-o", run)
    assert done.code == 0, done.err
    found = remarks(call, run, "--side", f"who={side}")
    assert {name for said in found.values() for name, _ in said["who"]} == {"Zoë"}
    (tmp_path / "who.csv").write_bytes(b"who\n" + "Zoë\n".encode("cp1252") * 24)
    assert remarks(call, run, "--side", f"who={tmp_path / 'who.csv'}") == found


def test_side_files_in_another_encoding_say_how_they_are_converted(
    call: Call, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "who").write_bytes("Zoë\n".encode("cp1252") * 30)
    done = call("show-tree", run, "--side", f"who={tmp_path / 'who'}")
    assert done.code == 2 and "who:1: not UTF-8 text (byte 0xeb)" in done.err
    assert "iconv -f cp1252 -t utf-8" in done.err


def test_a_key_file_names_the_values(call: Call, run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.who").write_text("1\n" * 30)
    (tmp_path / "a.who.key").write_text("Ann A\nBob B\n")
    found = remarks(call, run, "--side", f"who={tmp_path / 'a.who'}")
    assert dict(found[0]["who"]) == {"Ann A": 0, "Bob B": 23}


def test_flat_topics_count_the_documents_they_are_largest_in(
    call: Call, finished: Callable[..., Path], sides: dict[str, Path]
) -> None:
    flat = finished("hdp-gibbs")
    found = remarks(call, flat, "--side", f"year={sides['year']}")
    opened = RunDir.open(flat)
    assert opened.split.train_lengths is not None
    theta = opened.theta.toarray()[opened.split.train_lengths > 0]
    counts = np.bincount(theta.argmax(axis=1), minlength=theta.shape[1])
    assert {node: sum(n for _, n in said["year"]) for node, said in found.items()} == {
        node: int(counts[node]) for node in found
    }


def test_nodes_that_mix_topics_name_the_main_ones(call: Call, run: Path) -> None:
    tree = RunDir.open(run).tree
    for node, said in remarks(call, run).items():
        topics = [topic for topic, _ in said["topics"]]
        assert topics == np.argsort(-tree.extra["shares"][node], kind="stable")[:3].tolist()
    assert "topics: " in call("show-tree", run).out


@pytest.mark.parametrize("rows", [29, 31])
def test_a_file_of_another_length_is_refused(
    call: Call, run: Path, tmp_path: Path, rows: int
) -> None:
    (tmp_path / "short").write_text("x\n" * rows)
    done = call("show-tree", run, "--side", f"x={tmp_path / 'short'}")
    assert (done.code, done.out) == (2, "")
    assert f"{rows} lines" in done.err and "30 documents" in done.err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--side", "authors="), "NAME=FILE"),
        (("--side", "a=nowhere"), "no such file"),
        (("--side", "a=nowhere", "--side", "a=nowhere"), "twice"),
        (("--side", "a=nowhere", "--format", "dot"), "format dot"),
    ],
)
def test_wrong_sides_are_refused_in_one_line(
    call: Call, run: Path, words: tuple[str, ...], what: str
) -> None:
    done = call("show-tree", run, *words)
    assert (done.code, done.out) == (2, "")
    assert what in done.err and len(done.err.splitlines()) == 1


def tree_of(parent: list[int], n_docs: list[int]) -> Tree:
    n = len(parent)
    return Tree(
        phi=np.full((n, 2), 0.5),
        parent=np.array(parent, np.int32),
        kind=np.zeros(n, np.int8),
        weight=np.full(n, 1 / n),
        n_docs=np.array(n_docs, np.int64),
        n_tokens=np.ones(n),
    )


def test_only_large_trees_leave_nodes_out_unasked() -> None:
    small = tree_of([-1, *[0] * (LARGE - 1)], [950, *[1] * (LARGE - 1)])
    large = tree_of([-1, *[0] * LARGE], [950, *[1] * LARGE])
    flat = tree_of([-1] * (2 * LARGE), [950] * (2 * LARGE))
    assert [few_documents(tree) for tree in (small, large, flat)] == [0, 10, 0]
