"""``agree``: which nodes of a tree other fits of the same split found again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hiertopics.data.tree import ROOT, Tree, by_branch
from hiertopics.errors import UsageError
from hiertopics.runs.rundir import RunDir, opened

LABEL_WORDS, SHARED_WORDS = 10, 5
OVERLAP = 0.5
PART = 0.1
MOST = 0.75
"""A node comes back where this share of the other runs supports it."""


class Marks(NamedTuple):
    """What nodes are known by. depth: int32 [n_nodes]; words: bool [n_nodes, n_words], the ten
    that say most of a branch; docs: bool [n_nodes, n_docs], documents that belong to it.
    """

    depth: NDArray[np.int32]
    words: NDArray[np.bool_]
    docs: NDArray[np.bool_]


def agree(runs: Sequence[Path | str | RunDir]) -> dict[str, Any]:
    """Return how far the nodes of the first run's tree are found again by each of the others.

    Another run supports a node if its one-to-one partner at the same depth shares five of the ten
    words that say most of its branch, and their documents overlap by half (Jaccard): those that
    give the branch a tenth or have their best node in it.

    Keys: run, others; support, the share of the tokens below the root at nodes that three
    quarters of the others support; nodes, a record of each: id, depth, n_tokens (at and below it),
    support, the number of runs. Raises UsageError where the splits or words differ, where a tree
    has a single level, or where there is nothing to compare with.
    """
    targets = [opened(run) for run in runs]
    _refuse(targets)
    first, *others = targets
    tree, own = first.tree, _marks(first)
    support = np.zeros(len(own.depth), np.int64)
    for other in others:
        support[_partners(own, _marks(other))] += 1
    support[tree.parent == ROOT] = len(others)
    below = tree.subtree_weight * tree.n_tokens.sum()
    back = (support >= MOST * len(others)) & (tree.parent != ROOT)
    lower = tree.n_tokens[tree.parent != ROOT].sum()
    return {
        "run": str(first.path),
        "others": [str(other.path) for other in others],
        "support": float(tree.n_tokens[back].sum() / lower) if lower > 0 else 0.0,
        "nodes": [
            {
                "id": tree.id_of(node),
                "depth": int(tree.depth[node]),
                "n_tokens": float(below[node]),
                "support": int(support[node]),
            }
            for node in tree.shown.tolist()
        ],
    }


def _refuse(runs: Sequence[RunDir]) -> None:
    """Raise UsageError where these runs cannot be held against each other."""
    if len(runs) < 2:
        raise UsageError("agree takes two runs or more: a tree, and others of the same split")
    hashes = {str(run.path): run.split.hash for run in runs}
    if len(set(hashes.values())) > 1:
        listed = ", ".join(f"{path} has {code}" for path, code in hashes.items())
        raise UsageError(f"these runs are not of the same split: {listed}")
    for run in runs:
        if run.tree.vectors is not None or (run.tree.parent[run.tree.shown] == ROOT).all():
            raise UsageError(f"{run.path} has no tree of words: agree compares nodes by depth")


def _marks(run: RunDir) -> Marks:
    tree, theta = run.tree, run.theta.toarray()
    below = theta.copy()
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.parent[node] != ROOT:
            below[:, tree.parent[node]] += below[:, node]
    best = np.zeros_like(below, dtype=bool)
    best[np.arange(len(theta)), theta.argmax(axis=1)] = True
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.parent[node] != ROOT:
            best[:, tree.parent[node]] |= best[:, node]
    return Marks(tree.depth, _labels(tree), np.asarray((below >= PART) | best).T)


def _labels(tree: Tree) -> NDArray[np.bool_]:
    shown = by_branch(tree)
    words = np.zeros(tree.phi.shape, dtype=bool)
    for node in range(tree.n_nodes):
        words[node, shown.top_words(node, LABEL_WORDS)] = True
    return words


def _partners(own: Marks, other: Marks) -> NDArray[np.int64]:
    """Return the nodes of ``own`` that have a partner in ``other``, one to one at each depth.

    As many as can be; among equally many the pairs whose documents overlap most.
    """
    found = []
    for level in np.unique(own.depth)[1:]:
        mine, theirs = np.flatnonzero(own.depth == level), np.flatnonzero(other.depth == level)
        if not len(theirs):
            continue
        shared = own.words[mine].astype(np.int64) @ other.words[theirs].T.astype(np.int64)
        both = own.docs[mine].astype(np.float64) @ other.docs[theirs].T.astype(np.float64)
        sizes = own.docs[mine].sum(axis=1)[:, None] + other.docs[theirs].sum(axis=1)
        overlap = both / np.maximum(sizes - both, 1.0)
        fits = (shared >= SHARED_WORDS) & (overlap >= OVERLAP)
        rows, columns = linear_sum_assignment(-np.where(fits, len(mine) + overlap, 0.0))
        found += mine[rows[fits[rows, columns]]].tolist()
    return np.array(sorted(found), np.int64)
