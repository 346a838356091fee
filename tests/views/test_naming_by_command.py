"""``label --with``: a program of the user's names nodes, and loses nothing where it breaks."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics
from hiertopics.runs.rundir import RunDir
from hiertopics.views.asking import label_with
from hiertopics.views.topictree import TopicTree

Call = Callable[..., Any]


@pytest.fixture
def run(copied: Callable[..., Path]) -> Path:
    return copied("hlda-variational")


def script(folder: Path, text: str) -> str:
    """Return a command that runs a script of Python, which has ``lines`` and ``say``."""
    path = folder / "name.py"
    head = "import json, sys\n\ndef say(name):\n    print(name, flush=True)\n\nlines = sys.stdin\n"
    path.write_text(head + text)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def names(run: Path) -> dict[int, str]:
    return {row["node"]: row["name"] for row in hiertopics.label(run)}


def test_each_node_is_told_and_gets_its_line(run: Path, call: Call, tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    keep = f"out = open({str(told)!r}, 'w')\n"
    command = script(
        tmp_path,
        keep
        + "for line in lines:\n    out.write(line)\n    say(f\"N {json.loads(line)['node']}\")",
    )
    assert call("label", run, "--with", command).code == 0
    tree = RunDir(run).tree
    assert names(run) == {node: f"N {node}" for node in tree.shown.tolist()}
    records = {row["node"]: row for row in map(json.loads, told.read_text().splitlines())}
    child = records[int(tree.children(0)[0])]
    keys = {"node", "depth", "name", "words", "parents", "siblings", "children", "snippets"}
    keys |= {"branch_docs", "branch_share"}
    assert set(child) == keys and len(child["siblings"]) == len(tree.children(0)) - 1
    assert child["parents"] == [records[0]["name"]] and child["words"][:5] == child["name"].split()


def test_a_command_that_breaks_off_leaves_what_it_named_and_is_gone_on_with(
    run: Path, call: Call, tmp_path: Path
) -> None:
    broken = script(tmp_path, "lines.readline(); say('one'); lines.readline(); sys.exit(3)")
    told = call("label", run, "--with", broken)
    n_nodes = len(RunDir(run).tree.shown)
    assert told.code == 1 and f"1 of {n_nodes} nodes" in told.err and "exit code 3" in told.err
    assert list(names(run).values()) == ["one"]
    rest = script(tmp_path, "for line in lines: say('other')")
    assert call("label", run, "--with", rest).code == 0
    assert sorted(names(run).values()) == ["one", *["other"] * (n_nodes - 1)]


def test_names_of_people_stay_unless_asked(run: Path, call: Call, tmp_path: Path) -> None:
    hiertopics.label(run, 1, "mine", note="n")
    command = script(tmp_path, "for line in lines: say('theirs')")
    assert call("label", run, "--with", command).code == 0
    assert names(run)[1] == "mine"
    assert call("label", run, "--with", command, "--overwrite").code == 0
    assert set(names(run).values()) == {"theirs"}
    assert [row["note"] for row in hiertopics.label(run, 1)] == ["n"]


def test_empty_and_surplus_lines_name_nothing(run: Path, tmp_path: Path) -> None:
    text = "for line in lines: say('')\nfor _ in range(9): say('more')"
    answered = label_with(run, script(tmp_path, text), depth=1)
    assert answered.asked == 1 and answered.named == () and names(run) == {}


def test_a_command_that_there_is_not_changes_nothing(run: Path, call: Call) -> None:
    told = call("label", run, "--with", "no-such-program-here")
    assert told.code == 1 and not (run / "labels.csv").exists()


@pytest.mark.parametrize("more", [["1", "name"], ["--hide"]])
def test_with_and_a_node_exclude_each_other(run: Path, call: Call, more: list[str]) -> None:
    assert call("label", run, *more[:1], *more[1:], "--with", "cat").code == 2


def test_views_show_the_same_names(run: Path, call: Call, tmp_path: Path) -> None:
    """Terminal, topics, export, page and notebook, whatever each has them for."""
    auto = {row["id"]: row["auto_name"] for row in hiertopics.topics(run)}
    opened = RunDir(run)
    child = int(opened.tree.children(0)[0])
    assert auto[child] in call("show-tree", run).out
    assert f"[{child}] {auto[child]}\n" in call("topics", run, child).out
    for suffix in ("json", "csv", "graphml", "nwk", "dot", "txt"):
        hiertopics.export(run, tmp_path / f"tree.{suffix}")
        assert auto[child] in (tmp_path / f"tree.{suffix}").read_text(), suffix
    data = tmp_path / "page.json"
    hiertopics.report(run, output=tmp_path / "page.html", json=data)
    page = json.loads(data.read_text())
    place = page["nodes"]["id"].index(child)
    called = [page["words"][word] for word in page["nodes"]["called"][place]]
    assert " ".join(called[:5]) == auto[child]
    assert auto[child] in TopicTree.of(opened.tree, opened.vocab)._repr_html_()
    ours = {row["topic_auto_name"] for row in hiertopics.docs(run) if row["topic"] is not None}
    assert ours <= set(auto.values())
