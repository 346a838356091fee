"""GraphML as a graph program reads it: declared and typed data, edges between nodes, any word."""

from __future__ import annotations

from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from hiertopics.corpus.data.arranging import NOTE, arrange
from hiertopics.corpus.data.tree import OUTSIDE, Tree
from hiertopics.views.render import View
from hiertopics.views.render.graphs import to_graphml

XMLNS = "{http://graphml.graphdrawing.org/xmlns}"
TYPES: dict[str, Any] = {"double": float, "int": int, "string": str}
HOSTILE = (
    'say "hi"', "o'clock", "<b>", "a&b", "&amp;", "]]>", "<!--", "back\\slash", "(paren", "a,b",
    "{x}", "zoë", "日本", "\U0001f600", "tab\there", "-->",
)  # fmt: skip
FORBIDDEN = ("\x00", "\x01", "\x0b", "\x1b", "\r", "\ud800", "\ufffe", "\uffff")


class Graph(NamedTuple):
    """What a reader has afterwards; data are of the declared types."""

    data: dict[str, Any]
    nodes: dict[str, dict[str, Any]]
    edges: list[tuple[str, str]]


def read(text: str) -> Graph:
    """Read as networkx does: data by key, converted by the key's type for what it belongs to."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == f"{XMLNS}graphml"
    keys = {
        (key.attrib["for"], key.attrib["id"]): (key.attrib["attr.name"], key.attrib["attr.type"])
        for key in root.findall(f"{XMLNS}key")
    }
    # By its schema all keys stand before the graphs.
    assert [child.tag for child in root] == [f"{XMLNS}key"] * len(keys) + [f"{XMLNS}graph"]
    (graph,) = root.findall(f"{XMLNS}graph")
    assert graph.attrib["edgedefault"] == "directed"

    def data_of(element: ElementTree.Element, owner: str) -> dict[str, Any]:
        found = {}
        for data in element.findall(f"{XMLNS}data"):
            name, kind = keys[owner, data.attrib["key"]]
            found[name] = TYPES[kind](data.text or "")
        return found

    elements = graph.findall(f"{XMLNS}node")
    nodes = {element.attrib["id"]: data_of(element, "node") for element in elements}
    assert len(nodes) == len(elements), "ids are unique"
    assert all(name.isascii() and name.isalnum() for name in nodes), "ids are XML names"
    edges = [(e.attrib["source"], e.attrib["target"]) for e in graph.findall(f"{XMLNS}edge")]
    assert {end for edge in edges for end in edge} <= set(nodes)
    return Graph(data_of(graph, "graph"), nodes, edges)


def tree_of(parent: list[int], n_words: int) -> Tree:
    """Return nodes and a last row outside; word w leads in row w modulo their number."""
    n_rows = len(parent) + 1
    phi = np.full((n_rows, n_words), 0.1)
    phi[np.arange(n_words) % n_rows, np.arange(n_words)] = 1.0
    return Tree(
        phi / phi.sum(axis=1, keepdims=True),
        np.array([*parent, -1], dtype=np.int32),
        np.array([0] * len(parent) + [OUTSIDE], dtype=np.int8),
        np.array([0.1 / 3] * n_rows),
        np.arange(n_rows, 0, -1) * 10,
        np.array([12.5] * n_rows),
    )


@pytest.fixture
def tree() -> Tree:
    """Return root 0, its children 1 and 2, their children 3 and 4 below 2; 5 is outside."""
    return tree_of([-1, 0, 0, 2, 2], len(HOSTILE))


def test_nodes_and_edges_are_those_of_the_tree(tree: Tree) -> None:
    graph = read(to_graphml(tree, HOSTILE, View()))
    assert set(graph.nodes) == {"0", "1", "2", "3", "4"}
    assert sorted(graph.edges) == [("0", "1"), ("0", "2"), ("2", "3"), ("2", "4")]
    assert graph.data == {}


def test_nodes_come_before_what_is_below_them_heaviest_subtree_first(tree: Tree) -> None:
    assert list(read(to_graphml(tree, HOSTILE, View())).nodes) == ["0", "2", "3", "4", "1"]


def test_data_of_a_node_come_back_with_their_types_and_all_digits(tree: Tree) -> None:
    node = read(to_graphml(tree, HOSTILE, View(n_words=2))).nodes["2"]
    assert node == {
        "weight": 0.1 / 3, "n_docs": 40, "n_tokens": 12.5, "depth": 1, "words": "<b> (paren",
    }  # fmt: skip
    assert [type(node[name]) for name in ("weight", "n_docs", "n_tokens", "depth", "words")] == [
        float, int, float, int, str,
    ]  # fmt: skip


def test_hostile_words_come_back_as_they_were(tree: Tree) -> None:
    graph = read(to_graphml(tree, HOSTILE, View(n_words=len(HOSTILE))))
    for node, data in graph.nodes.items():
        order = tree.top_words(int(node), len(HOSTILE))
        assert data["words"] == " ".join(HOSTILE[word] for word in order)


@pytest.mark.parametrize("character", FORBIDDEN, ids=ascii)
def test_what_xml_cannot_hold_becomes_a_replacement_character(character: str) -> None:
    vocab = (f"be{character}fore", "other")
    text = to_graphml(tree_of([-1], 2), vocab, View(n_words=2))
    assert read(text).nodes["0"]["words"] == "be\ufffdfore other"


def test_the_view_limits_nodes_edges_and_words(tree: Tree) -> None:
    graph = read(to_graphml(tree, HOSTILE, View(depth=2, n_words=1)))
    assert set(graph.nodes) == {"0", "1", "2"} and len(graph.edges) == 2
    assert {data["words"] for data in graph.nodes.values()} == {HOSTILE[0], HOSTILE[1], HOSTILE[2]}
    assert set(read(to_graphml(tree, HOSTILE, View(min_docs=40))).nodes) == {"0", "1", "2"}


def test_a_forest_has_no_edges() -> None:
    graph = read(to_graphml(tree_of([-1, -1, -1], 4), ("a", "b", "c", "d"), View()))
    assert (set(graph.nodes), graph.edges) == ({"0", "1", "2"}, [])


def test_an_arranged_tree_says_so_and_calls_topics_by_their_ids() -> None:
    forest = tree_of([-1, -1, -1], 4)
    tree = arrange(forest, np.ones((7, 4), dtype=bool))
    graph = read(to_graphml(tree, ("a", "b", "c", "d"), View()))
    assert graph.data == {"arranged": NOTE}
    assert set(graph.nodes) == {"0", "1", "2", "a0", "a1"}
    above = graph.nodes["a0"]
    assert (above["weight"], above["n_tokens"], above["n_docs"]) == (0.0, 0.0, 7)
    assert sum(data["n_tokens"] for data in graph.nodes.values()) == 3 * 12.5
    assert len(graph.edges) == 4 and {target for _, target in graph.edges} == {"0", "1", "2", "a1"}
