"""The name of a mixed branch is the same in every view, and its parts stand in records."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from mixed_trees import FIRST_LEAF, MIXED, NAMES, PARTS, PURE, VOCAB, with_mixed_tree

import hiertopics
from hiertopics.cli import topics as table
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render.letters import shortened, text_width
from hiertopics.views.report import gathering
from hiertopics.views.topics import topic_text
from hiertopics.views.topictree import TopicTree

Call = Callable[..., Any]
NAME, LONGER = NAMES[MIXED], "chess board pawn king gambit rook"


@pytest.fixture
def run(copied: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> RunDir:
    """Return a run with the tree, and theta for it."""
    return with_mixed_tree(RunDir(copied("nhdp-variational")), monkeypatch)


def newick_names(text: str) -> list[str]:
    """Return the labels of a Newick tree: quoted ones, in which two quotes stand for one."""
    return [label.replace("''", "'") for label in re.findall(r"'((?:[^']|'')*)'", text)]


@pytest.mark.parametrize("form", ["text", "html", "dot", "newick"])
@pytest.mark.parametrize("words", [5, 6, 10])
def test_views_of_words_show_the_whole_name_and_no_word_after_it(
    run: RunDir, form: str, words: int
) -> None:
    text = hiertopics.show_tree(run, format=form, words=words)
    end = {"text": "\n", "html": " <small>", "dot": '"]', "newick": "'"}[form]
    name = NAME.replace("·", "&#183;") if form == "html" else NAME
    assert text.count(f"{name}{end}") == 1
    assert LONGER[: len(NAMES[PURE])] in text


def test_a_name_in_parts_is_one_quoted_label_of_newick(run: RunDir) -> None:
    labels = newick_names(hiertopics.show_tree(run, format="newick", words=8))
    assert f"{MIXED} {NAME}" in labels and len(labels) == run.tree.n_nodes


def test_a_name_in_parts_comes_back_from_graphml(run: RunDir) -> None:
    graph = ElementTree.fromstring(hiertopics.show_tree(run, format="graphml").encode())
    space = "{http://graphml.graphdrawing.org/xmlns}"
    node = graph.find(f".//{space}node[@id='{MIXED}']")
    assert node is not None
    data = {one.get("key"): one.text for one in node.iter(f"{space}data")}
    assert data["auto_name"] == NAME and "·" not in str(data["words"])


def test_records_tell_that_a_branch_is_mixed_and_keep_their_fields(run: RunDir) -> None:
    topics = {row["id"]: row for row in hiertopics.topics(run)}
    told = json.loads(hiertopics.show_tree(run, format="json"))
    nodes = {row["id"]: row for row in told["nodes"]}
    for row in (topics[MIXED], nodes[MIXED], *hiertopics.topics(run, MIXED)):
        assert row["auto_name"] == NAME and row["mixed"] is True
        assert row["parts"] == PARTS
        assert row["words"][0][0] == "common"
    assert (topics[PURE]["mixed"], topics[PURE]["parts"]) == (False, [])
    rows = csv.DictReader(io.StringIO(hiertopics.show_tree(run, format="csv")))
    assert {int(row["id"]): row["auto_name"] for row in rows}[MIXED] == NAME


def test_a_name_of_the_user_wins(run: RunDir) -> None:
    hiertopics.label(run, MIXED, "pastimes")
    assert f"pastimes: {NAME}\n" in hiertopics.show_tree(run)
    (record,) = hiertopics.topics(run, MIXED)
    assert topic_text(record).startswith(f"[{MIXED}] pastimes\n")


def test_a_notebook_shows_it(run: RunDir) -> None:
    tree = TopicTree.of(run.tree, VOCAB)
    assert f"{NAME}\n" in str(tree)
    assert NAME.replace("·", "&#183;") in tree._repr_html_()


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (90.0, ["ball goal", "· vote law", "· tempo choir"]),
        (130.0, ["ball goal · vote law", "· tempo choir"]),
        (55.0, ["ball", "goal", "· vote", "law", "· tempo", "choir"]),
    ],
)
def test_lines_of_the_figure_end_where_a_part_does(
    run: RunDir, width: float, expected: list[str]
) -> None:
    """Where a part is wider than a box its words stand on lines of their own."""
    figure = hiertopics.show_tree(run, format="svg", width=width)
    boxes = [re.findall(r"<tspan[^>]*>(.*?)</tspan>", text) for text in figure.split("<g")]
    assert expected in boxes


@pytest.mark.parametrize("width", [40.0, 55.0, 65.0, 90.0, 130.0])
def test_no_line_of_the_figure_ends_in_a_separator_and_a_name_has_one_weight(
    run: RunDir, width: float
) -> None:
    figure = hiertopics.show_tree(run, format="svg", width=width)
    texts = re.findall(r"<(?:tspan|text)[^>]*>([^<]*\S[^<]*)</", figure)
    assert not [line for line in texts if line.rstrip(" …").endswith("·")]
    for text in re.findall(r"<text>(.*?)</text>", figure, re.DOTALL):
        assert text.count("<tspan") == text.count('font-weight="600"')


def test_words_below_a_name_of_the_user_are_lighter_than_the_name(run: RunDir) -> None:
    hiertopics.label(run, MIXED, "games and votes")
    figure = hiertopics.show_tree(run, format="svg", width=150.0)
    box = next(text for text in figure.split("<g") if "games and votes</tspan>" in text)
    bold = re.findall(r"<tspan[^>]*600[^>]*>(.*?)</tspan>", box)
    assert bold == ["games and votes"] and box.count("<tspan") > 1


def test_a_text_is_cut_before_a_separator() -> None:
    name = "ball goal · vote law"
    room = text_width("ball goal ·…", bold=True)
    assert shortened(name, room, bold=True) == "ball goal…"


def test_the_page_has_the_parts_and_its_paragraph_the_name(run: RunDir, tmp_path: Path) -> None:
    hiertopics.report(run, run, output=tmp_path / "a.html", json=tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    nodes, words = data["nodes"], data["words"]
    parts = dict(zip(nodes["id"], nodes["parts"], strict=True))
    assert [[words[word] for word in part] for part in parts.pop(MIXED)] == PARTS
    assert not any(parts.values())
    other = data["comparison"]["nodes"]
    assert other["parts"][other["id"].index(MIXED)] == PARTS
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    lead = re.search(r'<p class="lead">(.*?)</p>', page)
    assert lead is not None and f"{NAME} (" in lead[1]


def test_the_page_knows_the_words_of_parts_of_nodes_that_it_leaves_out(
    run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "N_CALLED", 1)
    place = {"output": tmp_path / "a.html", "json": tmp_path / "a.json"}
    hiertopics.report(run, cut="2", words=1, text=False, **place)
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    (parts,) = filter(None, data["nodes"]["parts"])
    assert [[data["words"][word] for word in part] for part in parts] == PARTS


def test_the_table_of_topics_shows_the_name_and_the_records_words_by_rank(run: RunDir) -> None:
    rows = hiertopics.topics(run, words_by="name")
    assert f"  {NAME}\n" in str(table._topics(rows, False))
    assert [word for word, _ in rows[MIXED]["words"]][:2] == ["ball", "vote"]


def test_a_page_without_mixed_branches_has_no_parts(
    finished: Callable[..., Path], tmp_path: Path
) -> None:
    hiertopics.report(
        finished("hlda-variational"), output=tmp_path / "a.html", json=tmp_path / "a.json"
    )
    assert "parts" not in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["nodes"]


def test_an_inner_node_is_told_by_the_words_at_or_below_it_before_its_own(run: RunDir) -> None:
    (record,) = hiertopics.topics(run, MIXED, words=3)
    tokens = run.tree.below(run.tree.phi * run.tree.n_tokens[:, None])[MIXED]
    assert [word for word, _ in record["branch_words"]] == ["ball", "vote", "balls"]
    (root,) = hiertopics.topics(run, 0, words=2)
    assert [word for word, _ in root["branch_words"]] == ["ball", "chess"]
    chances = [chance for _, chance in record["branch_words"]]
    np.testing.assert_allclose(chances, np.sort(tokens)[::-1][:3] / tokens.sum())
    lines = topic_text(record).splitlines()
    (below,) = (at for at, line in enumerate(lines) if line.startswith("words at or below: ball "))
    assert re.match(r"words that stop here, 0\.\d\d% of the tokens: common ", lines[below + 1])


def test_tables_of_all_topics_have_the_words_of_branches_beside_those_of_nodes(
    run: RunDir,
) -> None:
    """Last in csv, none of leaves; and none where the words are those of branches already."""
    rows = hiertopics.topics(run, words=3)
    for row in rows:
        (whole,) = hiertopics.topics(run, row["id"], words=3)
        assert row["branch_words"] == whole.get("branch_words", [])
    assert [word for word, _ in rows[MIXED]["branch_words"]] == ["ball", "vote", "balls"]
    head, *lines = csv.reader(io.StringIO(table._csv(rows, None)))
    assert head[-2:] == ["auto_name", "branch_words"]
    assert (lines[MIXED][-1], lines[FIRST_LEAF][-1]) == ("ball vote balls", "")
    for order in ("branch", "name"):
        assert not any("branch_words" in row for row in hiertopics.topics(run, words_by=order))


def test_a_leaf_and_an_order_of_branches_have_their_words_alone(run: RunDir) -> None:
    of_branch = hiertopics.topics(run, MIXED, words_by="branch")
    for record in (*hiertopics.topics(run, FIRST_LEAF), *of_branch):
        assert "branch_words" not in record
        text = topic_text(record)
        assert text.count("\nwords: ") == 1 and "stop here" not in text
