"""A tree with its words, for Python users and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.base.units import many
from hiertopics.corpus.data import ROOT, Tree, in_order
from hiertopics.corpus.data.naming import called
from hiertopics.runs.rows import node_rows
from hiertopics.views.render import View, first_levels, for_reading
from hiertopics.views.render.trees import to_html, to_text

SHOWN_WORDS = 3
"""Words of a node's name in its repr."""


@dataclass(frozen=True, repr=False, eq=False)
class TopicTree(Tree):
    """The node table (``Tree``) with one word per column of phi; prints itself.

    vocab: the words, by column. notes: where the tree says little, in sentences.
    """

    vocab: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(tree: Tree, vocab: Sequence[str], notes: Sequence[str] = ()) -> TopicTree:
        """Return a plain tree with these words."""
        own = {part.name: getattr(tree, part.name) for part in fields(Tree)}
        return TopicTree(**own, notes=tuple(notes)).with_vocab(vocab)

    def with_vocab(self, vocab: Sequence[str]) -> TopicTree:
        """Return the tree with other words for its columns.

        Raises UsageError where their number is not that of the columns.
        """
        words = tuple(map(str, vocab))
        if len(words) != self.n_columns:
            raise UsageError(f"the tree has {self.n_columns} columns, but there are {len(words)}")
        return replace(self, vocab=words)

    def words(self, node: int, n_words: int = 10, words_by: str | None = None) -> list[str]:
        """Return the first words of a node, best first.

        words_by: one of ``naming.ORDERS``: ``name``, that of automatic names, which other views
        show; ``branch``: words at or below the node. None: ``prob``, the most probable words at
        the node itself. Raises IndexError for no node, UsageError for no order.
        """
        self._require(node)
        ordered = in_order(self, self.vocab, words_by, otherwise="prob")
        return [self.vocab[word] for word in ordered.top_words(node, n_words)]

    def table(self, n_words: int = 10) -> list[dict[str, Any]]:
        """Return one record per node, parents first, as in tree.json.

        Keys: id, parent (-1: a root), depth, weight, n_docs, n_tokens, words (pairs of word and
        probability); branch_docs and branch_share, documents and share of tokens at or below it.
        """
        return node_rows(self, self.vocab, n_words)

    def __getitem__(self, node: int) -> TopicBranch:
        """Return the branch of a node, which prints itself; raises IndexError where it is none."""
        self._require(node)
        return TopicBranch(self, int(node))

    def _require(self, node: int) -> None:
        if node not in self.shown:
            raise IndexError(f"there is no node {node!r}; nodes are 0 to {self.shown[-1]}")

    def __str__(self) -> str:
        """Return the tree as text; of a large one the first levels, and how to see the others."""
        depth = first_levels(self)
        text = to_text(in_order(self, self.vocab), self.vocab, View(depth=depth))
        n_deeper = 0 if depth is None else int((self.depth[self.shown] >= depth).sum())
        if not n_deeper:
            return text
        more = f"{many(n_deeper, 'more node', ',')} below: print(tree.branch_text()) shows all"
        return f"{text}... {more}\n"

    def branch_text(self, node: int = ROOT) -> str:
        """Return a line for each node of a branch; -1: of the whole tree."""
        return to_text(in_order(self, self.vocab), self.vocab, View(root=node))

    def __repr__(self) -> str:
        notes = "".join(f"; note: {note}" for note in self.notes)
        return f"TopicTree({len(self.shown)} nodes, {self.n_columns} words{notes})"

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks; of large trees without the nodes of few documents."""
        return self.branch_html(ROOT)

    def branch_html(self, node: int) -> str:
        """Return nested lists of a branch as HTML; -1: of the whole tree."""
        view = for_reading(self, View(root=node), None if node == ROOT else 0)
        notes = [f"note: {note}" for note in self.notes]
        if view.min_docs:
            notes.append(f"nodes with fewer than {view.min_docs} documents are not shown")
        return to_html(in_order(self, self.vocab), self.vocab, view, notes)


@dataclass(frozen=True, repr=False, eq=False)
class TopicBranch:
    """A node of a tree and all nodes below it; prints itself.

    node: its number in ``tree``.
    """

    tree: TopicTree
    node: int

    def words(self, n_words: int = 10, words_by: str | None = None) -> list[str]:
        """Return the first words of the node, as ``TopicTree.words``."""
        return self.tree.words(self.node, n_words, words_by)

    @property
    def children(self) -> list[TopicBranch]:
        """The branches of its children, heaviest first."""
        return [self.tree[node] for node in self.tree.children(self.node).tolist()]

    def __str__(self) -> str:
        return self.tree.branch_text(self.node)

    def __repr__(self) -> str:
        n_nodes = len([*View(root=self.node).nodes(self.tree)])
        told = "1 node" if n_nodes == 1 else f"{n_nodes} nodes"
        tree, vocab = in_order(self.tree, self.tree.vocab), self.tree.vocab
        name = called(tree, vocab, self.node, SHOWN_WORDS)
        return f"TopicBranch({self.node}, {told}: {name})"

    def _repr_html_(self) -> str:
        return self.tree.branch_html(self.node)
