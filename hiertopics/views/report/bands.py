"""Flat topics arranged in three levels that can be read, out of the binary tree of ``arrange``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hiertopics.data.tree import ROOT, Arrangement, Tree

FEW_TOPICS = 8


def banded(tree: Tree) -> Tree:
    """Return an arranged tree without most of its inner nodes; the others keep their ids.

    Of n topics the cuts into about n^(1/3) and n^(2/3) clusters stay: the root, those clusters
    and the topics; of fewer than ``FEW_TOPICS`` the root and the topics. The rows of ``tree`` above
    its topics stand in the order of their merges, the highest first.
    """
    arrangement = tree.arrangement
    if arrangement is None:
        return tree
    n_topics = sum(isinstance(name, int) for name in arrangement.ids)
    n_above = tree.n_nodes - n_topics
    cuts = [] if n_topics < FEW_TOPICS else [round(n_topics ** (part / 3)) for part in (1, 2)]
    band = np.searchsorted(np.array(cuts) - 1, np.arange(n_above), side="right")
    kept = np.ones(tree.n_nodes, dtype=bool)
    for row in range(1, n_above):
        kept[row] = band[row] > band[tree.parent[row]]
    rows = np.flatnonzero(kept)
    above, lengths = tree.parent.copy(), arrangement.lengths.copy()
    for row in range(1, tree.n_nodes):
        if above[row] != ROOT and not kept[above[row]]:
            lengths[row] += lengths[above[row]]
            above[row] = above[above[row]]
    place = np.cumsum(kept) - 1
    parent = np.where(above[rows] == ROOT, ROOT, place[above[rows]]).astype(np.int32)
    names = tuple(arrangement.ids[row] for row in rows)
    own = {name: getattr(tree, name)[rows] for name in ("phi", "kind", "weight", "n_docs")}
    return replace(
        tree,
        **own,
        parent=parent,
        n_tokens=tree.n_tokens[rows],
        arrangement=Arrangement(arrangement.note, names, lengths[rows]),
    )
