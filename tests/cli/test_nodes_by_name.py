"""A node of a run is called by its number, by its name, or by words of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.naming import NAME_WORDS, called, in_order
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
TREE = "nhdp-variational"


@pytest.fixture
def run(copied: Callable[..., Path]) -> Path:
    return copied(TREE)


def name_of(run: Path, node: int) -> str:
    opened = RunDir(run)
    tree = in_order(opened.tree, opened.vocab)
    return called(tree, opened.vocab, node, NAME_WORDS)


@pytest.mark.parametrize("command", ["docs", "topics", "show-tree"])
def test_a_view_takes_a_name_for_its_number(call: Call, run: Path, command: str) -> None:
    by_number = call(command, run, 1)
    for name in (name_of(run, 1), name_of(run, 1).upper()):
        by_name = call(command, run, name)
        assert (by_name.code, by_name.out) == (0, by_number.out)
        assert by_name.err.startswith(f"node: 1 {name_of(run, 1)}\n")


def test_words_of_a_name_are_enough(call: Call, run: Path) -> None:
    call("label", run, 1, "bread of Crete")
    call("label", run, 2, "wine of Crete")
    assert call("docs", run, "crete bread").out == call("docs", run, 1).out


def test_a_name_that_the_user_gave_is_taken(call: Call, run: Path) -> None:
    assert call("label", run, name_of(run, 1), "Bread and wine").code == 0
    for word in ("bread AND wine", "Bread and", "wine and"):
        done = call("label", run, word, "--format", "jsonl")
        assert done.code == 0 and '"name": "Bread and wine"' in done.out
    assert call("label", run, "bread and wine", "--hide").code == 0
    assert RunDir(run).file("labels.csv").read_text().count("true") == 1


def test_a_word_of_several_names_lists_their_nodes(call: Call, run: Path) -> None:
    for node in (1, 2):
        call("label", run, node, f"yak {node}")
    done = call("docs", run, "yak")
    told = "hiertopics: error: 'yak' fits several nodes: 1 yak 1, 2 yak 2\n"
    assert (done.code, done.out, done.err) == (2, "", told)


@pytest.mark.parametrize("command", ["merge", "drop", "refit"])
def test_an_unknown_name_is_one_line(call: Call, run: Path, command: str) -> None:
    done = call(command, run, "no such name", "-o", "new")
    assert done.code == 2 and not Path("new").exists()
    assert done.err.count("\n") == 1 and "is called 'no such name'" in done.err


def test_a_name_alone_is_a_node_of_the_newest_run(call: Call, run: Path) -> None:
    Path("runs").mkdir()
    newest = run.rename(Path("runs") / "mine")
    name = name_of(newest, 1)
    by_number = call("docs", 1)
    done = call("docs", name)
    assert (done.code, done.out) == (0, by_number.out)
    assert "node: 1" in done.err and "run: runs/mine" in done.err
    assert call("label", name, "Bread").code == 0
    assert "Bread" in call("label").out
    done = call("docs", "neither of both")
    assert done.code == 2 and "no node of runs/mine is called 'neither of both'" in done.err
    done = call("docs", "mime")
    assert "mime is not a run" in done.err


def test_functions_take_names_too(run: Path) -> None:
    name = name_of(run, 1)
    assert hiertopics.docs(run, name) == hiertopics.docs(run, 1)
    assert hiertopics.topics(run, name) == hiertopics.topics(run, "1")
    assert hiertopics.show_tree(run, node=name) == hiertopics.show_tree(run, node=1)
    with pytest.raises(UsageError, match="is called 'no such name'"):
        hiertopics.topics(run, "no such name")
