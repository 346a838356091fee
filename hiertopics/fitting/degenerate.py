"""Trees that say little: one path for all documents, or siblings with the same words."""

from __future__ import annotations

import numpy as np

from hiertopics.data.tree import ROOT, Tree
from hiertopics.model import Summary

NEARLY_ALL = 0.95
SAME = 0.99
MOST_PAIRS = 3


def notes(summary: Summary) -> tuple[str, ...]:
    """Say where the tree of a fit is degenerate; of flat topics there is nothing to say."""
    tree, n_docs = summary.tree, summary.theta.shape[0]
    if summary.paths is None and (tree.parent[tree.shown] == ROOT).all():
        return ()
    found = []
    leaves = np.setdiff1d(tree.shown, tree.parent)
    if n_docs > 1 and tree.n_docs[leaves].max(initial=0) >= NEARLY_ALL * n_docs:
        found.append("one path holds nearly every document; the corpus may be small or uniform")
    same = alike_siblings(tree)
    if same:
        pairs = ", ".join(f"{first} and {second}" for first, second in same[:MOST_PAIRS])
        more = f" and {len(same) - MOST_PAIRS} more pairs" if len(same) > MOST_PAIRS else ""
        what = "words" if tree.vectors is None else "direction"
        found.append(f"sibling nodes have nearly the same {what}: {pairs}{more}")
    return tuple(found)


def alike_siblings(tree: Tree) -> list[tuple[int, int]]:
    """Return pairs of siblings whose rows of phi have a cosine above ``SAME``.

    In a tree of vectors those whose vectors do, either way round: their sign is free.
    """
    table = tree.phi if tree.vectors is None else tree.vectors
    found = []
    for node in tree.shown:
        children = np.sort(tree.children(int(node)))
        rows = table[children]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        first, second = np.nonzero(np.triu(np.abs(rows @ rows.T), 1) > SAME)
        found += [(int(children[i]), int(children[j])) for i, j in zip(first, second, strict=True)]
    return found
