"""What somebody said of the nodes of a tree: names, notes, and which ones are hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hiertopics.data.tree import Tree


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
    hidden = np.array([labels.get(node, Label()).hidden for node in range(tree.n_nodes)])
    return int(np.count_nonzero((tree.above @ hidden)[tree.shown]))
