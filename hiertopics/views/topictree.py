"""A tree with its words, for Python users and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.corpus.data import Tree, in_order
from hiertopics.runs.rows import node_rows
from hiertopics.views.render import View, for_reading
from hiertopics.views.render.trees import to_html, to_text

SHOWN_LINES = 30


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

    def words(self, node: int, n_words: int = 10) -> list[str]:
        """Return the most probable words of a node, best first."""
        return [self.vocab[word] for word in self.top_words(node, n_words)]

    def table(self, n_words: int = 10) -> list[dict[str, Any]]:
        """Return one record per node, parents first, as in tree.json.

        Keys: id, parent (-1: a root), depth, weight, n_docs, n_tokens, words (pairs of word and
        probability); branch_docs and branch_share, documents and share of tokens at or below it.
        """
        return node_rows(self, self.vocab, n_words)

    def __str__(self) -> str:
        return to_text(in_order(self, self.vocab), self.vocab, View())

    def __repr__(self) -> str:
        head = f"{len(self.shown)} nodes, {self.n_columns} words"
        notes = "".join(f"note: {note}\n" for note in self.notes)
        view = for_reading(self, View())
        lines = to_text(in_order(self, self.vocab), self.vocab, view, SHOWN_LINES)
        return f"{head}\n{notes}{lines}".rstrip("\n")

    def _repr_html_(self) -> str:
        """Return what a notebook shows; of large trees without the nodes of few documents."""
        view = for_reading(self, View())
        notes = [f"note: {note}" for note in self.notes]
        if view.min_docs:
            notes.append(f"nodes with fewer than {view.min_docs} documents are not shown")
        return to_html(in_order(self, self.vocab), self.vocab, view, notes)
