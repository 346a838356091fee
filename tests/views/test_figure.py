"""The figure of a tree: SVG whose areas are shares, whose texts are texts, and equal bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import NODE, ROOT, Label, Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render import View
from hiertopics.views.render.figure import to_svg

Call = Callable[..., Any]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</text><script>alert(1)</script>",
    "a&b",
    'quo"te',
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "<g>",
)
VOCAB = (*HOSTILE, *(f"word{n}" for n in range(13)))


def grown(parents: list[int], weights: list[float]) -> Tree:
    """Return a tree whose nodes are led by one word each."""
    n = len(parents)
    weight = np.array(weights) / sum(weights)
    phi = np.full((n, len(VOCAB)), 0.01)
    phi[np.arange(n), np.arange(n) % len(VOCAB)] = 1.0
    return Tree(
        phi=phi / phi.sum(axis=1, keepdims=True),
        parent=np.array(parents, dtype=np.int32),
        kind=np.full(n, NODE, dtype=np.int8),
        weight=weight,
        n_docs=np.arange(n, 0, -1),
        n_tokens=weight * 1000,
    )


PARENTS = [ROOT, 0, 0, 0, 1, 1, 2, 2, 3]
WEIGHTS = [5.0, 6, 2, 1, 20, 12, 9, 8, 7]


def boxes(text: str) -> dict[int, dict[str, float]]:
    """Return the rectangle of each node; those of joined nodes and of the ground are left out."""
    found = {}
    for group in ElementTree.fromstring(text.encode()).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text is not None and rect is not None
        if number := re.match(r"\[(\d+)\]", title.text):
            names = ("x", "y", "width", "height")
            found[int(number[1])] = {name: float(rect.attrib[name]) for name in names}
    return found


@pytest.mark.parametrize("width", [85.0, 170.0])
def test_areas_are_in_proportion_to_shares(width: float) -> None:
    tree = grown(PARENTS, WEIGHTS)
    found = boxes(to_svg(tree, VOCAB, View(width=width)))
    assert set(found) == set(range(9))
    scale = found[1]["width"] * found[1]["height"] / tree.subtree_weight[1]
    for node in range(1, 9):
        area = found[node]["width"] * found[node]["height"]
        assert area == pytest.approx(scale * tree.subtree_weight[node], rel=1e-4), node


def test_children_stand_to_the_right_of_their_parent_and_nothing_overlaps() -> None:
    tree = grown(PARENTS, WEIGHTS)
    found = boxes(to_svg(tree, VOCAB, View()))
    for node in range(1, 9):
        above, own = found[PARENTS[node]], found[node]
        assert own["x"] == pytest.approx(above["x"] + above["width"], abs=1e-3)
        assert own["y"] >= above["y"] - 1e-3
        assert own["y"] + own["height"] <= above["y"] + above["height"] + 1e-3
        for other in range(1, node):
            if PARENTS[other] == PARENTS[node]:
                first, second = sorted([found[other], own], key=lambda box: box["y"])
                assert first["y"] + first["height"] <= second["y"] + 1e-3
        assert own["x"] + own["width"] <= 170.001


def rectangles(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the title and the rectangle of each box."""
    groups = ElementTree.fromstring(text.encode()).iter(f"{SVG}g")
    found = [(group.findtext(f"{SVG}title") or "", group.find(f"{SVG}rect")) for group in groups]
    return [(title, rect.attrib) for title, rect in found if rect is not None]


def test_own_words_fill_what_children_leave() -> None:
    """So no inner node has a gap to its right, whatever of it is joined or hidden."""
    labels = {4: Label(hidden=True)}
    text = to_svg(grown(PARENTS, WEIGHTS), VOCAB, View(labels=labels))
    found, sums = boxes(text), dict.fromkeys((0, 1, 2, 3), 0.0)
    for _, rect in rectangles(text):
        y, middle = float(rect["y"]), float(rect["y"]) + float(rect["height"]) / 2
        for node in sums:
            above = found[node]
            beside = abs(float(rect["x"]) - above["x"] - above["width"]) < 1e-3
            if beside and above["y"] <= middle <= above["y"] + above["height"]:
                sums[node] += float(rect["height"])
                assert y >= above["y"] - 1e-3
    assert sums == pytest.approx({node: found[node]["height"] for node in sums}, abs=0.35)
    assert "own words of [1], and of topics that are not shown" in text


@pytest.mark.parametrize("own", [0.0, 12.0])
@pytest.mark.parametrize("small", [[2.0], [1.1], [1.2, 1.1], [0.4], [0.5, 0.4]])
def test_each_box_of_topics_has_words(small: list[float], own: float) -> None:
    """One that is a little too low takes room of own words, or it is joined with a higher one."""
    # A page has all its height for so many topics, and weights are millimetres.
    n = len(small)
    parents = [ROOT, 0, 0, *[1] * (2 + n), *[2] * 40]
    weights = [0.0, own, 0.0, 20.0, 10.0, *small, *[(200 - sum(small) - own) / 40] * 40]
    text = to_svg(grown(parents, weights), VOCAB, View())
    groups = list(ElementTree.fromstring(text.encode()).iter(f"{SVG}g"))
    lines = {
        title: "".join("".join(text.itertext()) for text in group.iter(f"{SVG}text")).strip()
        for group in groups
        if not (title := group.findtext(f"{SVG}title") or "").startswith("own words")
    }
    assert len(lines) > 44 and all(lines.values()), lines
    drawn = boxes(text)
    assert (5 in drawn) == (n == 1 and own > 0 and small[0] == 2)
    ends = {title: float(rect["y"]) + float(rect["height"]) for title, rect in rectangles(text)}
    assert max(ends.values()) <= 230.001


def test_joined_topics_have_the_hue_of_their_branch_and_all_the_height_of_a_page() -> None:
    parents = [ROOT, 0, 0, *[1] * 11, 2, 2, 2]
    text = to_svg(grown(parents, [0.0, 0, 0, *[1.0] * 11, 30, 30, 30]), VOCAB, View())
    joined = [rect for title, rect in rectangles(text) if title.startswith("and 11 more")]
    assert [len({rect["fill"][n : n + 2] for n in (1, 3, 5)}) > 1 for rect in joined] == [True]
    assert joined[0]["fill"] != "#eceff3"
    assert ElementTree.fromstring(text.encode()).attrib["height"] == "230mm"


@pytest.mark.parametrize("n", [3, 40, 200])
def test_flat_topics_stand_in_stacks_side_by_side(n: int) -> None:
    rng = np.random.default_rng(n)
    tree = grown([ROOT] * n, np.sort(rng.random(n) + 0.2)[::-1].tolist())
    text = to_svg(tree, VOCAB, View())
    found = boxes(text)
    assert (len({box["x"] for box in found.values()}) > 1) == (n > 35)
    scale = found[0]["width"] * found[0]["height"] / tree.weight[0]
    for node, box in found.items():
        assert box["width"] * box["height"] == pytest.approx(scale * tree.weight[node], rel=1e-3)
        assert box["x"] + box["width"] <= 170.001
    high = float(ElementTree.fromstring(text.encode()).attrib["viewBox"].split()[3])
    assert max(box["y"] + box["height"] for box in found.values()) <= high + 1e-3
    more = re.search(r"and (\d+) more", text)
    assert len(found) + (int(more[1]) if more else 0) == n


def test_hostile_words_and_names_are_text() -> None:
    labels = {1: Label(name="<b onload=x>&", note=""), 2: Label(name="\x00\x9b]0;t\x07")}
    text = to_svg(grown(PARENTS, WEIGHTS), VOCAB, View(labels=labels, n_words=7))
    figure = ElementTree.fromstring(text.encode())
    tags = {element.tag.removeprefix(SVG) for element in figure.iter()}
    assert tags == {"svg", "title", "g", "rect", "text", "tspan"}
    assert not any(name.startswith("on") for one in figure.iter() for name in one.attrib)
    written = "".join(figure.itertext())
    assert "</text><script>" in written and "<b onload=x>&" in written
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)


def test_words_are_text_in_a_font_that_every_machine_has() -> None:
    text = to_svg(grown(PARENTS, WEIGHTS), VOCAB, View(width=90.5))
    figure = ElementTree.fromstring(text.encode())
    assert figure.attrib["font-family"] == "sans-serif"
    assert figure.attrib["width"] == "90.5mm" and figure.attrib["viewBox"].startswith("0 0 90.5 ")
    said = ["".join(one.itertext()).strip() for one in figure.iter(f"{SVG}text")]
    assert any("word" in one for one in said) and "54%" in said
    for unwanted in ("http:", "https:", "url(", "href", "style", "@import"):
        assert unwanted not in text.replace(SVG.strip("{}"), "")


@pytest.mark.parametrize(
    "tree",
    [grown([ROOT], [1.0]), grown([ROOT, 0], [1.0, 1]), grown([ROOT] * 2, [1, 0])],
    ids=["a root", "a chain", "a topic without words"],
)
def test_small_trees_have_figures(tree: Tree) -> None:
    found = boxes(to_svg(tree, VOCAB, View()))
    assert set(np.flatnonzero(tree.subtree_weight).tolist()) <= set(found)


def test_what_the_command_is_asked_for_is_drawn(
    finished: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = finished("hlda-variational")
    for name in ("a.svg", "b.svg"):
        assert call("export", run, "-o", name).code == 0
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert first.decode() == call("show-tree", run, "--format", "svg", "--words", 10).out
    assert str(run) not in first.decode()

    tree = RunDir(run).tree
    assert call("export", run, "-o", "c.svg", "--depth", 2, "--width", 85).code == 0
    shallow = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert 'width="85mm"' in shallow and set(boxes(shallow)) <= set(
        tree.shown[tree.depth[tree.shown] < 2]
    )
    assert len(boxes(first.decode())) > len(boxes(shallow))
    cut = hiertopics.show_tree(run, format="svg", cut="2")
    assert len(boxes(cut)) <= len(boxes(first.decode()))
    words = {
        order: hiertopics.show_tree(run, format="svg", words_by=order) for order in ("prob", "frex")
    }
    assert words["prob"] != words["frex"]
    with pytest.raises(UsageError, match="--width has no meaning for format dot"):
        hiertopics.export(run, tmp_path / "a.dot", width=85.0)
    with pytest.raises(UsageError, match="--docs has no meaning for format svg"):
        hiertopics.show_tree(run, format="svg", docs=2)
    assert call("export", run, "-o", "a.html", "--width", 85).code == 2
