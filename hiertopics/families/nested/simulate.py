"""The tree of the nested CRP, drawn with its documents (theory/ncrp 1)."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import I32
from hiertopics.corpus.data.tree import ROOT


def draw_tree(
    n_docs: int, depth: int, gamma: float, rng: np.random.Generator, n_held: int = 0
) -> tuple[I32, I32]:
    """Seat documents by the nested CRP; return parent [n_nodes] and path [n_docs, depth].

    At each node a document follows a child with probability m / (gamma + total), m the documents
    that did so before it, and opens a new one with probability gamma / (gamma + total). Before all
    of them ``n_held`` others took a path of their own each: their branches are nodes 1 to n_held.
    """
    parent, visits = [ROOT], [0]
    children: list[list[int]] = [[]]
    for level in range(1, depth if n_held else 1):
        above = np.arange(n_held) + len(parent) - n_held if level > 1 else np.zeros(n_held, int)
        for node in above.tolist():
            children[node].append(len(parent))
            parent.append(node)
            visits.append(1)
            children.append([])
    path = np.zeros((n_docs, depth), dtype=np.int32)
    for doc in range(n_docs):
        node = 0
        for level in range(1, depth):
            weights = np.array([visits[child] for child in children[node]] + [gamma])
            choice = int(rng.choice(len(weights), p=weights / weights.sum()))
            if choice == len(children[node]):
                children[node].append(len(parent))
                parent.append(node)
                visits.append(0)
                children.append([])
            node = children[node][choice]
            visits[node] += 1
            path[doc, level] = node
    return np.array(parent, dtype=np.int32), path
