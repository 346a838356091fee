"""``agree``: which nodes of a tree other fits of the same split found again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiertopics.data.matching import supported_by
from hiertopics.data.tree import ROOT
from hiertopics.runs.alike import marks_of_run, refuse_unlike
from hiertopics.runs.artifacts import write_support
from hiertopics.runs.rundir import RunDir, opened

MOST = 0.75
"""A node comes back where this share of the other runs supports it."""


def agree(runs: Sequence[Path | str | RunDir], *, write: bool = False) -> dict[str, Any]:
    """Return how far the nodes of the first run's tree are found again by each of the others.

    Another run supports a node if its one-to-one partner at the same depth shares five of the ten
    words that say most of its branch, and their documents overlap by half (Jaccard): those that
    give the branch a tenth or have their best node in it. write: the first run's tree.json then
    says so of each node.

    Keys: run, others; support, the share of the tokens below the root at nodes that three
    quarters of the others support; nodes, a record of each: id, depth, n_tokens (at and below it),
    support, the number of runs. Raises UsageError where backends, corpora, splits or words differ,
    where a tree has a single level, or where there is nothing to compare with.
    """
    targets = [opened(run) for run in runs]
    refuse_unlike(targets, "agree")
    first, *others = targets
    tree = first.tree
    support = supported_by(marks_of_run(first), [marks_of_run(other) for other in others])
    if write:
        write_support(first, support)
    below = tree.subtree_weight * tree.n_tokens.sum()
    back = (support.found >= MOST * len(others)) & (tree.parent != ROOT)
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
                "support": int(support.found[node]),
            }
            for node in tree.shown.tolist()
        ],
    }
