"""What somebody said of the nodes of a tree: names, notes, and which ones are hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hiertopics.data.tree import ROOT, Tree


class Label(NamedTuple):
    """What somebody said of a node; the name is one line, empty where there is none."""

    name: str = ""
    hidden: bool = False
    note: str = ""


Labels = Mapping[int, Label]
"""Labels by row of a tree."""

NONE: Labels = {}


def n_hidden(tree: Tree, labels: Labels) -> int:
    """Return how many nodes are not shown because they, or what lies above them, are hidden."""
    gone = np.zeros(tree.n_nodes, dtype=bool)
    for node in range(tree.n_nodes):
        above = tree.parent[node]
        gone[node] = labels.get(node, Label()).hidden or (above != ROOT and gone[above])
    return int(gone[tree.shown].sum())
