"""Every command is one function of the same words, with the same answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics as ht
from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.cli import COMMANDS
from hiertopics.corpus.data.corpus import default_vocab
from hiertopics.corpus.data.naming import called, in_order
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.python.run import Run
from hiertopics.views.topictree import TopicTree

Call = Callable[..., Any]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_is_a_function(name: str) -> None:
    apart = {"eval": "evaluate", "import": "import_tree"}
    word = apart.get(name, name.replace("-", "_"))
    assert word in ht.__all__ and word in dir(ht) and callable(getattr(ht, word))


def test_names_of_the_package_and_of_a_run_are_those_for_users(quick: Run) -> None:
    assert sorted(dir(ht)) == sorted(ht.__all__)
    assert all(hasattr(quick, name) for name in dir(quick))
    told = {name for name in dir(quick) if not name.startswith("_")}
    assert {"tree", "theta", "vocab", "to_frame", "resume", "metrics", "path"} <= told
    assert not {"append_metrics", "cut_metrics", "broken_seal", "locked"} & told
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    assert {*re.findall(r"`run\.([a-z_]+)", page)} <= told


def test_every_name_of_the_package_loads_and_has_a_docstring() -> None:
    lacking = [name for name in ht.__all__ if name[0] != "_" and not getattr(ht, name).__doc__]
    assert lacking == []


def test_backends_config_topics_and_trees_are_what_the_shell_prints(call: Call, quick: Run) -> None:
    assert ht.config("hdp-cvb0") == call("config", "hdp-cvb0").out
    listed = call("backends", "--json").out.splitlines()
    assert ht.backends() == [json.loads(line) for line in listed]
    for docs in ((), ("--docs", 2)):
        shown = call("topics", quick.path, "--format", "json", "--words", 3, *docs).out
        found = ht.topics(quick, words=3, docs=2 if docs else None)
        assert json.loads(json.dumps(found)) == [json.loads(line) for line in shown.splitlines()]
    for form in ("text", "json", "html"):
        shown = call("show-tree", quick.path, "--format", form, "--words", 3).out
        assert ht.show_tree(quick.path, format=form, words=3) == shown
    options = ("--arrange", "--depth", 2, "--min-docs", 3, "--docs", 1)
    shown = call("show-tree", quick.path, *options).out
    assert ht.show_tree(quick, arrange=True, depth=2, min_docs=3, docs=1) == shown


def test_topics_by_group_need_groups(quick: Run) -> None:
    with pytest.raises(UsageError, match="no weights of groups"):
        ht.topics(quick, by="group")
    with pytest.raises(UsageError, match="keeps no column 'label' .*; it keeps none; "):
        ht.topics(quick, by="label")


def test_infer_writes_the_file_of_the_shell(call: Call, quick: Run, tiny_file: Path) -> None:
    call("infer", quick.path, tiny_file, "-o", "shell.npz")
    found = ht.infer(quick, tiny_file, "python.npz")
    assert Path("shell.npz").read_bytes() == Path("python.npz").read_bytes()
    np.testing.assert_array_equal(np.load("python.npz")["data"], found.theta.data)


HOSTILE = ("<script>alert(1)</script>", "a&b", '"quoted"', "été", "</ul>", "plain")


@pytest.fixture
def tree() -> TopicTree:
    """Return a root with two children, the second with two of its own."""
    n_nodes = 5
    phi = np.full((n_nodes, 6), 0.01)
    phi[np.arange(n_nodes), np.arange(n_nodes)] = 0.95
    plain = Tree(
        phi=phi,
        parent=np.array([-1, 0, 0, 2, 2], dtype=np.int32),
        kind=np.zeros(n_nodes, dtype=np.int8),
        weight=np.array([0.4, 0.1, 0.2, 0.2, 0.1]),
        n_docs=np.array([10, 3, 7, 5, 2]),
        n_tokens=np.array([40.0, 10, 20, 20, 10]),
    )
    return TopicTree.of(plain, HOSTILE, notes=["sibling nodes are <alike>"])


class Page(HTMLParser):
    """Collects which element stands inside which, and the text of each list entry."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.seen: list[tuple[str, int, bool]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, self.inside.count("ul"), ("open", None) in attrs))
        if tag != "br":
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and "style" not in self.inside:
            self.texts.append(data.strip())


def test_html_is_nested_lists_that_open_the_first_level(tree: TopicTree) -> None:
    page = Page(tree._repr_html_())
    assert page.inside == []
    assert [level for tag, level, _ in page.seen if tag == "li"] == [1, 2, 3, 3, 2]
    opened = [(level, is_open) for tag, level, is_open in page.seen if tag == "details"]
    assert opened == [(1, True), (2, False)]


def test_html_shows_words_as_text_and_nothing_else_as_elements(tree: TopicTree) -> None:
    text = tree._repr_html_()
    page = Page(text)
    assert {tag for tag, *_ in page.seen} == {
        "div", "style", "p", "ul", "li", "details", "summary", "small",
    }  # fmt: skip
    assert page.texts[0] == "note: sibling nodes are <alike>"
    assert [line.split(" ")[0] for line in page.texts[1::2]] == [
        HOSTILE[i] for i in (0, 2, 3, 4, 1)
    ]
    assert page.texts[2] == "[0] 100.00% (own 40.00%), 10 docs" and text.isascii()


def test_html_of_a_large_tree_leaves_small_nodes_out_and_says_so(
    tree: TopicTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiertopics.views.render._fewest_read", lambda n_docs: 5)
    page = Page(tree._repr_html_())
    assert [level for tag, level, _ in page.seen if tag == "li"] == [1, 2, 3]
    assert "nodes with fewer than 5 documents are not shown" in page.texts


def test_a_very_deep_tree_is_drawn(tree: TopicTree) -> None:
    n_nodes = 3000
    chain = Tree(
        phi=np.ones((n_nodes, 1)),
        parent=np.arange(-1, n_nodes - 1, dtype=np.int32),
        kind=np.zeros(n_nodes, dtype=np.int8),
        weight=np.full(n_nodes, 1 / n_nodes),
        n_docs=np.full(n_nodes, 9),
        n_tokens=np.ones(n_nodes),
    )
    assert TopicTree.of(chain, ["word"])._repr_html_().count("<li>") == n_nodes


def test_a_tree_prints_itself_with_its_words(tree: TopicTree) -> None:
    assert repr(tree) == "TopicTree(5 nodes, 6 words; note: sibling nodes are <alike>)"
    lines = str(tree).splitlines()
    assert len(lines) == 5 and lines[0].startswith("[0]") and lines[1].startswith("├─ [2]")


def test_a_large_tree_prints_two_levels_and_says_how_to_see_all() -> None:
    parent = [ROOT] + [0] * 3 + [1] * 3 + [4] * 60
    n = len(parent)
    large = TopicTree.of(
        Tree(
            phi=np.ones((n, 1)),
            parent=np.array(parent, dtype=np.int32),
            kind=np.zeros(n, dtype=np.int8),
            weight=np.full(n, 1 / n),
            n_docs=np.full(n, 9),
            n_tokens=np.ones(n),
        ),
        ["word"],
    )
    *lines, last = str(large).splitlines()
    assert len(lines) == 7 and not any(f"[{node}]" in line for line in lines for node in (7, n - 1))
    assert last == "... 60 more nodes below: print(tree.branch_text()) shows all"
    assert len(large.branch_text().splitlines()) == n
    assert len(str(large[4]).splitlines()) == 61, "a branch that is asked for is shown"


def test_a_branch_prints_its_node_and_what_lies_below(tree: TopicTree) -> None:
    whole = [line.split("[", 1)[1] for line in str(tree).splitlines()]
    lines = str(tree[2]).splitlines()
    assert [line[:6] for line in lines] == ["[2] 50", "├─ [3]", "└─ [4]"]
    assert [line.split("[", 1)[1] for line in lines] == whole[1:4]
    name = called(in_order(tree, tree.vocab), tree.vocab, 2, 3)  # as all views call it
    assert repr(tree[2]) == f"TopicBranch(2, 3 nodes: {name})"
    assert repr(tree[4]).startswith("TopicBranch(4, 1 node: ")
    assert [branch.node for branch in tree[2].children] == [3, 4]
    assert tree[2].words(1) == tree.words(2, 1)
    html = tree[2]._repr_html_()
    assert html.count("<li>") == 3 and "[2]" in html and "[0]" not in html
    for wrong in (5, -1):
        with pytest.raises(IndexError, match=f"there is no node {wrong}; nodes are 0 to 4"):
            tree[wrong]


def test_words_and_records_of_a_tree(tree: TopicTree) -> None:
    assert tree.words(1, 2) == ["a&b", HOSTILE[0]] == tree.words(1, 2, "prob")
    for order in ("name", "branch"):
        wanted = in_order(tree, tree.vocab, order).top_words(2, 3)
        assert tree.words(2, 3, order) == [tree.vocab[word] for word in wanted]
        assert tree[2].words(3, words_by=order) == tree.words(2, 3, order)
    assert tree.words(2, 3) != tree.words(2, 3, "branch")
    with pytest.raises(UsageError, match="did you mean 'name'"):
        tree.words(1, words_by="nam")
    assert [(row["id"], row["parent"]) for row in tree.table(1)] == [
        (0, -1), (1, 0), (2, 0), (3, 2), (4, 2),
    ]  # fmt: skip
    assert tree.with_vocab(default_vocab(6)).words(1, 1) == ["w1"]
    with pytest.raises(UsageError, match="6 columns, but there are 2"):
        tree.with_vocab(["a", "b"])


def test_a_degenerate_fit_says_so_in_its_tree(copied: Callable[..., Path]) -> None:
    """The words of node 1 become those of node 2, its sibling; a root stands above both."""
    path = copied()
    arrays = dict(np.load(path / "model.npz"))
    arrays["parent"][1:] = 0
    arrays["phi"][1] = arrays["phi"][2]
    np.savez(path / "model.npz", **arrays)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"]["model.npz"] = archives.seal(path / "model.npz")
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert any("1 and 2" in note for note in Run(path).tree.notes)
    assert "nearly the same words: 1 and 2" in Page(Run(path)._repr_html_() or "").texts[0]
