"""Views of a tree: one writer per file, each a function from a tree to text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.tree import Tree


class View(NamedTuple):
    """What of a tree is shown: levels, words per node, and the fewest documents of a node."""

    depth: int | None = None
    n_words: int = 8
    min_docs: int = 0

    def children(self, tree: Tree, node: int) -> NDArray[np.int64]:
        """Return the children of ``node`` (-1: the roots) that are shown, heaviest first."""
        children = tree.children(node)
        shown = tree.n_docs[children] >= self.min_docs
        if self.depth is not None:
            shown &= tree.depth[children] < self.depth
        return children[shown]

    def words(self, tree: Tree, node: int, vocab: Sequence[str]) -> str:
        """Return the top words of ``node``, separated by blanks."""
        return " ".join(vocab[word] for word in tree.top_words(node, self.n_words))
