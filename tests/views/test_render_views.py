"""A three-level tree as text, dot and Newick; words may hold quotes and other marks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from hiertopics.corpus.data.tree import OUTSIDE, Tree
from hiertopics.views import render
from hiertopics.views.render import View, first_levels
from hiertopics.views.render.graphs import to_dot, to_newick
from hiertopics.views.render.records import to_table
from hiertopics.views.render.trees import to_text
from hiertopics.views.showing import TreeRequest, at_first

VOCAB = ("o'clock", 'say "hi"', "back\\slash", "(paren", "zoë")
PARENT = (-1, 0, 0, 2, 2, -1)
WEIGHT = (0.1, 0.2, 0.1, 0.05, 0.3, 0.25)
N_DOCS = (9, 3, 6, 1, 5, 9)


@pytest.fixture
def tree() -> Tree:
    """Return root 0, its children 1 and 2, their children 3 and 4 below 2; 5 is outside."""
    phi = np.full((6, 5), 0.1)
    phi[np.arange(6), np.arange(6) % 5] = 0.6
    kind = np.array([0, 0, 0, 0, 0, OUTSIDE], dtype=np.int8)
    return Tree(phi, np.array(PARENT), kind, np.array(WEIGHT), np.array(N_DOCS), np.zeros(6))


@pytest.fixture
def forest(tree: Tree) -> Tree:
    """Return the same rows as roots."""
    return Tree(tree.phi, np.full(6, -1), tree.kind, tree.weight, tree.n_docs, tree.n_tokens)


def ids(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\[(\d+)\]", text)]


def test_text_has_a_line_per_node_heaviest_subtree_first(tree: Tree) -> None:
    lines = to_text(tree, VOCAB, View(n_words=2)).splitlines()
    assert ids("".join(lines)) == [0, 2, 4, 3, 1]
    assert lines[0] == '[0] 75.00% (own 10.00%)      9 docs  o\'clock say "hi"'
    assert [line[: line.index("[")] for line in lines] == ["", "├─ ", "│  ├─ ", "│  └─ ", "└─ "]
    assert "30.00%" in lines[2] and "5 docs" in lines[2]


def test_one_document_is_told_in_the_singular_in_the_same_column(tree: Tree) -> None:
    few = replace(tree, n_docs=np.array([9, 1, 2, 1, 1, 0]))
    lines = to_text(few, VOCAB, View(n_words=1)).splitlines()
    assert [bool(re.search(r" 1 doc   \S", line)) for line in lines[-1:]] == [True]
    whole = to_text(tree, VOCAB, View(n_words=1)).splitlines()
    assert [len(line) for line in lines] == [len(line) for line in whole]
    assert not any("1 docs" in line for line in lines)


def test_a_forest_is_one_level(forest: Tree) -> None:
    lines = to_text(forest, VOCAB, View()).splitlines()
    assert ids("".join(lines)) == [4, 1, 0, 2, 3]
    assert all(line.startswith("[") for line in lines)


def test_depth_and_documents_limit_what_is_shown(tree: Tree) -> None:
    assert ids(to_text(tree, VOCAB, View(depth=1))) == [0]
    assert ids(to_text(tree, VOCAB, View(depth=2))) == [0, 2, 1]
    assert ids(to_text(tree, VOCAB, View(min_docs=5))) == [0, 2, 4]


def test_long_text_is_cut_and_says_how_much(tree: Tree) -> None:
    assert to_text(tree, VOCAB, View(), 3).splitlines()[-1] == "... and 2 more"
    assert "more" not in to_text(tree, VOCAB, View(), 5)


class Clade(NamedTuple):
    """A node of a Newick tree."""

    label: str
    children: list[Clade]


def parse_newick(text: str) -> Clade:
    """Read the part of Newick that has quoted labels and no lengths; raise ValueError else."""
    place = 0

    def take(mark: str) -> bool:
        nonlocal place
        found = text.startswith(mark, place)
        place += len(mark) * found
        return found

    def clade() -> Clade:
        nonlocal place
        children = []
        if take("("):
            children.append(clade())
            while take(","):
                children.append(clade())
            if not take(")"):
                raise ValueError(f"no ) at {place}")
        label = ""
        if take("'"):
            while True:
                end = text.index("'", place)
                label += text[place:end]
                place = end + 1
                if not take("'"):
                    break
                label += "'"
        return Clade(label, children)

    root = clade()
    if not take(";\n") or place != len(text):
        raise ValueError(f"no end at {place}")
    return root


def shape(clade: Clade) -> object:
    number = int(clade.label.split()[0]) if clade.label else None
    return (number, [shape(child) for child in clade.children])


def test_newick_is_read_back_by_a_parser(tree: Tree) -> None:
    root = parse_newick(to_newick(tree, VOCAB, View(n_words=5)))
    assert shape(root) == (0, [(2, [(4, []), (3, [])]), (1, [])])
    assert root.label == '0 o\'clock say "hi" back\\slash (paren zoë'


def test_newick_hangs_a_forest_from_a_node_without_label(forest: Tree) -> None:
    root = parse_newick(to_newick(forest, VOCAB, View(depth=1)))
    assert shape(root) == (None, [(4, []), (1, []), (0, []), (2, []), (3, [])])


def test_newick_follows_the_view(tree: Tree) -> None:
    assert shape(parse_newick(to_newick(tree, VOCAB, View(depth=2)))) == (0, [(2, []), (1, [])])


STRING = r'"((?:[^"\\]|\\.)*)"'


def test_dot_has_a_box_per_node_and_an_edge_per_child(tree: Tree) -> None:
    text = to_dot(tree, VOCAB, View(n_words=3))
    lines = text.splitlines()
    assert lines[0] == "digraph tree {" and lines[-1] == "}"
    boxes = {
        int(n) for n in re.findall(rf"^  n(\d+) \[label={STRING}\];$", text, re.M) for n in [n[0]]
    }
    edges = {(int(a), int(b)) for a, b in re.findall(r"^  n(\d+) -> n(\d+);$", text, re.M)}
    assert boxes == {0, 1, 2, 3, 4}
    assert edges == {(0, 1), (0, 2), (2, 3), (2, 4)}
    assert len(lines) == 4 + len(boxes) + len(edges) and "  rankdir=LR;" in lines


def test_dot_escapes_quotes_and_backslashes(tree: Tree) -> None:
    text = to_dot(tree, VOCAB, View(n_words=5))
    label = re.search(rf"n0 \[label={STRING}\]", text)
    assert label is not None
    unescaped = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label[1])
    assert unescaped == '0: 75.00% (own 10.00%)\no\'clock say "hi" back\\slash (paren zoë'


def test_a_table_aligns_numbers_to_the_right() -> None:
    rows = [{"name": "a", "size": 5, "share": 0.5}, {"name": "long name", "size": 12345}]
    assert str(to_table(rows, ("name", "size", "share"))) == (
        "name        size   share\na              5  0.5000\nlong name  12345       -\n"
    )
    assert str(to_table([], ("name",))) == ""


def test_of_a_large_tree_two_levels_are_read_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever says how deep has that."""
    parent = np.array([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    n = len(parent)
    rng = np.random.default_rng(0)
    large = Tree(
        phi=rng.dirichlet(np.ones(6), n),
        parent=parent.astype(np.int32),
        kind=np.zeros(n, np.int8),
        weight=np.full(n, 1 / n),
        n_docs=np.full(n, 9),
        n_tokens=np.full(n, 20.0),
    )
    assert first_levels(large) is None
    assert at_first(large, TreeRequest()) == TreeRequest()
    monkeypatch.setattr(render, "MOST_READ", n - 1)
    assert first_levels(large) == 3
    assert at_first(large, TreeRequest()) == TreeRequest(depth=3)
    assert at_first(large, TreeRequest(words_by="prob")) == TreeRequest(depth=3, words_by="prob")
    for asked in (
        TreeRequest(depth=2),
        TreeRequest(depth=9),
        TreeRequest(cut="2"),
        TreeRequest(arrange=True),
    ):
        assert at_first(large, asked) == asked
    forest = replace(large, parent=np.array([-1, -1, 0, 1, 1, 2, 2, 3, 3, 4, 4], np.int32))
    assert first_levels(forest) == 2
    flat = replace(large, parent=np.full(n, -1, np.int32))
    assert first_levels(flat) is None


def test_the_widest_branch_stands_first_where_two_levels_are_read() -> None:
    """By the tokens at and below; documents of an inner node itself say little of its branch."""
    tree = Tree(
        phi=np.full((7, 6), 1 / 6),
        parent=np.array([-1, 0, 0, 1, 1, 2, 2], np.int32),
        kind=np.zeros(7, np.int8),
        weight=np.array([0.0, 0.1, 0.1, 0.1, 0.1, 0.3, 0.3]),
        n_docs=np.array([9, 90, 9, 9, 9, 9, 9]),
        n_tokens=np.array([0.0, 1, 1, 1, 1, 3, 3]),
    )
    whole = render.for_reading(tree, View())
    assert whole.children(tree, 0).tolist() == [1, 2]
    first = render.for_reading(tree, View(depth=2))
    assert first.children(tree, 0).tolist() == [2, 1]
