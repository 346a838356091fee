"""Mistakes whose answer is one line with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
TREE = "nhdp-variational"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show-tree", "RUN", "--cut", "8", "3"), "--cut takes its levels with commas: --cut 8,3"),
        (("fit", "-c", "a.csv"), "a.csv:2: not UTF-8 text; a config is YAML; a corpus is given"),
        (("fit", "-c", "b.csv"), "a config is YAML; a corpus is given without -c"),
        (("fit", "b.txt", "--lines", "--holdout", "0.1"), "0.1 of the documents is docs:0.1 (got"),
        (
            ("fit", "b.txt", "--lines", "-s", "data.stop_words=klingon"),
            " such as english",
        ),
        (("fit", "gone/"), "gone: no such file or folder"),
        (("merge", "RUN", "0", "1", "-o", "new"), "'drop 1' leaves its documents to 0"),
        (("export", "RUN"), "give one, such as -o tree.graphml"),
        (("drop", "RUN", "1"), "give one, such as -o runs/new"),
        (("docs", "RUN", "--top", "x"), "'x' is no whole number"),
    ],
)
def test_a_mistake_has_a_line(
    call: Call, finished: Callable[..., Path], words: tuple[str, ...], told: str
) -> None:
    Path("a.csv").write_bytes(b"text\ncaf\xe9\n")
    Path("b.csv").write_text("text\na b\n")
    Path("b.txt").write_text("ab bc\nbc cd\n")
    done = call(*(finished(TREE) if word == "RUN" else word for word in words))
    assert (done.code, done.out) == (2, "") and told in done.err
    assert done.err.count("\n") == 1 and len(done.err) < 220


def test_the_faults_of_a_header_are_told_once(call: Call) -> None:
    quoted = '"title";"abstract"\n' + '"a";"b c"\n' * 3
    Path("a.csv").write_bytes(quoted.encode() + b'"caf\xe9";"b c"\n')
    done = call("check", "a.csv")
    assert done.code == 2 and done.out.count("data.delimiter=") == 1
    assert "--text-field abstract" in done.out and "data.encoding=cp1252" in done.out


def test_nodes_below_a_hidden_one_are_counted_apart(
    call: Call, copied: Callable[..., Path]
) -> None:
    run = copied(TREE)
    tree = RunDir(run).tree
    below = len(tree.shown) - 1
    call("label", run, 0, "--hide")
    assert f"1 node and {below} below are hidden by labels.csv" in call("show-tree", run).err
    call("label", run, 0, "--show")
    call("label", run, 1, "--hide")
    assert "1 node is hidden by labels.csv" in call("show-tree", run).err


def test_the_end_of_a_fit_is_told_once(call: Call, tiny_file: Path) -> None:
    done = call("fit", tiny_file, "-b", "hdp-pcvb0", "-o", "run", "--iterations", "3")
    assert done.code == 0 and done.err.count("done") == 1
    assert "done at iteration 3: all iterations done" in Path("run", "log.txt").read_text()


def test_a_tree_that_is_cut_names_the_command_that_shows_it(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiertopics.cli.fit.SHOWN_LINES", 2)
    done = call("fit", tiny_file, "-b", "hdp-pcvb0", "-o", "run", "--iterations", "3")
    assert "more nodes; hiertopics show-tree run shows them" in done.err


def test_compare_names_the_unit(call: Call, copied: Callable[..., Path]) -> None:
    done = call("compare", copied(TREE), copied("hdp-pcvb0"))
    assert done.code == 0 and "nats behind" in done.out
