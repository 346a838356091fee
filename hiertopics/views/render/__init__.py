"""Views of a tree and the selection of its nodes; writers return text.

trees: trees for eyes. graphs: trees for other programs. records: tables of scores and groups.
screen: lines and tables on a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I64
from hiertopics.base.visible import steady
from hiertopics.corpus.data.naming import Names, called
from hiertopics.corpus.data.tree import NONE, ROOT, SUPPORTED, Label, Labels, Tree

LARGE = 200
"""Nodes above which a tree is too large to be read whole."""


MOST_READ, FEWEST_READ = 60, 15
"""Nodes of a tree that are read at one time; and so many are left, where that can be."""


FIRST_LEVELS = 2
"""Levels below the root of a tree that has more nodes than are read at one time."""


WIDTH = 170.0
"""Width of a figure in millimetres: that of the text of a page with usual margins."""


FEW_DOCUMENTS = 5
"""Documents of a value, such as a year, below which their mean share is mostly chance."""

FITTING = 1 / 3
"""A document fits a branch that has this part of its words."""


class Remark(NamedTuple):
    """A further fact about a node: its name, its printed text, and its JSON value."""

    name: str
    line: str
    value: Any


class View(NamedTuple):
    """The shown part of a tree: levels, words per node, and the fewest documents of a branch.

    documents: top documents of each node with their shares, where they are to be shown. remarks:
    what else is said of each node, in text and JSON. labels: names and what is hidden, by row.
    by_size: siblings stand by documents times tokens instead of by tokens. names: automatic names,
    where they stand beside the words. width: of a figure, in millimetres. root: the node whose
    branch is shown; -1: the whole tree. is_narrow: numbers of lines are short, so that names have
    room.
    """

    depth: int | None = None
    n_words: int = 8
    min_docs: int = 0
    documents: Mapping[int, Sequence[tuple[int | str, float]]] | None = None
    remarks: Mapping[int, Sequence[Remark]] | None = None
    labels: Labels = NONE
    by_size: bool = False
    names: Names | None = None
    width: float = WIDTH
    root: int = ROOT
    is_narrow: bool = False

    def roots(self, tree: Tree) -> list[int]:
        """Return the topmost nodes of the view."""
        found: list[int] = self.children(tree, ROOT).tolist()
        return found if self.root == ROOT else [self.root]

    def children(self, tree: Tree, node: int) -> I64:
        """Return the children of ``node`` (-1: the roots) that are shown, largest first.

        int64 [n].
        """
        children = tree.children(node)
        shown = tree.branch_docs[children] >= self.min_docs
        if self.labels:
            hidden = [self.label(node).hidden for node in children.tolist()]
            shown &= ~np.array(hidden, dtype=bool)
        if self.depth is not None:
            shown &= tree.depth[children] < self.depth
        children = children[shown]
        if self.by_size:
            size = tree.branch_docs[children] * tree.subtree_weight[children]
            return np.asarray(children[np.argsort(-size, kind="stable")])
        return children

    def nodes(self, tree: Tree) -> Iterator[int]:
        """Yield the nodes that are shown, each before its children, heaviest subtree first."""
        # A stack of our own: clustered topics may lie deeper than Python calls.
        waiting = self.roots(tree)[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += self.children(tree, node)[::-1].tolist()

    def label(self, node: int) -> Label:
        """Return the user's label of ``node``."""
        return self.labels.get(node, Label())

    def called(self, tree: Tree, node: int, vocab: Sequence[str]) -> str:
        """Return the name of ``node``, if it has one, before its top words."""
        name, words = steady(self.label(node).name), self.words(tree, node, vocab)
        return f"{name}: {words}" if name else words

    def words(self, tree: Tree, node: int, vocab: Sequence[str]) -> str:
        """Return the top words of ``node``, or the parts of its name; of a vector, its length."""
        if tree.vectors is not None and not tree.has_words:
            return f"norm {np.linalg.norm(tree.vectors[node]):.4g}"
        return called(tree, vocab, node, self.n_words)

    def document_names(self, node: int) -> str:
        """Return the top documents of ``node``, each with its share."""
        top = () if self.documents is None else self.documents[node]
        return ", ".join(f"{name} {share:.2f}" for name, share in top)


def comes_back(tree: Tree, node: int) -> float | None:
    """Return the support of a node by resamples; None where there is none to speak of."""
    if tree.transfer is None or np.isnan(tree.transfer.value[node]):
        return None
    return float(tree.transfer.value[node])


def is_weak(tree: Tree, node: int) -> bool:
    """Tell whether a node does not come back in resamples."""
    support = comes_back(tree, node)
    return support is not None and support < SUPPORTED


def share(tree: Tree, node: int) -> str:
    """Return the share of tokens at or below ``node``, and its own share if it differs."""
    total, own = tree.subtree_weight[node], tree.weight[node]
    return f"{total:.2%}" + (f" (own {own:.2%})" if 0 < own < total else "")


def share_told(share: float) -> str:
    """Return a share in percent as figures and the page write it: two digits, or one decimal."""
    if share == 0:
        return "0%"
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def for_reading(tree: Tree, view: View, min_docs: int | None = None) -> View:
    """Return the view as it suits a screen: the largest branches first, small nodes left out.

    Tokens alone would put a few long documents first, documents alone what is a little in all of
    them: siblings stand by both, multiplied. min_docs: None takes what at most ``MOST_READ`` nodes
    have. Flat topics all stay, by tokens; and so do nodes of
    the first levels alone, most of which have nearly all documents.
    """
    if min_docs is None:
        nodes = (
            tree.shown if view.depth is None else tree.shown[tree.depth[tree.shown] < view.depth]
        )
        min_docs = 0 if tree.is_flat else _fewest_read(tree.branch_docs[nodes])
    by_size = not tree.is_flat and view.depth is None
    return view._replace(min_docs=min_docs, by_size=by_size)


def first_levels(tree: Tree) -> int | None:
    """Return how many levels of a tree are read at first, the root's among them; None: all.

    ``FIRST_LEVELS`` below a single root of trees with more than ``MOST_READ`` nodes.
    """
    if tree.is_flat or len(tree.shown) <= MOST_READ:
        return None
    return FIRST_LEVELS + int((tree.parent[tree.shown] == ROOT).sum() == 1)


def _fewest_read(n_docs: I64) -> int:
    """Return below how many documents nodes are left out, so that ``MOST_READ`` stay at most.

    Where nearly all have the same number those stay.
    """
    if len(n_docs) <= MOST_READ:
        return 0
    largest = int(np.sort(n_docs)[::-1][MOST_READ])
    return largest + (int((n_docs > largest).sum()) >= FEWEST_READ)


def few_documents(tree: Tree, depth: int | None = None) -> int:
    """Return below how many documents a node is left out where a tree is too large to be read.

    1% of the documents, for trees of more than ``LARGE`` nodes in the levels that are shown (None:
    all); flat topics are all shown.
    """
    deepest = tree.n_nodes if depth is None else depth
    if tree.is_flat or int((tree.depth[tree.shown] < deepest).sum()) <= LARGE:
        return 0
    return int(np.ceil(0.01 * tree.branch_docs[tree.shown].max()))
