"""A run whose branches have long names in three and four parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mixed_trees import VOCAB, tree_of
from scipy import sparse

from hiertopics.runs.rundir import RunDir

PARENT = (-1, 0, 0, *[1] * 4, *[2] * 3, *(group for group in range(3, 10) for _ in range(2)))
"""A root, two branches, four and three groups below them, two leaves below each group."""

FIRST_LEAF = 10
LONG = {word: f"{word}{'xylophone' * (1 + place % 2)}" for place, word in enumerate(VOCAB)}
SUBJECTS = (
    ("ball", "goal"), ("vote", "law"), ("tempo", "choir"), ("chess", "board"),
    ("pawn", "king"), ("gambit", "rook"), ("file", "disk"),
)  # fmt: skip
NAMES = {
    branch: " · ".join(f"{LONG[first]} {LONG[second]}" for first, second in subjects)
    for branch, subjects in ((1, SUBJECTS[:4]), (2, SUBJECTS[4:]))
}


def with_long_names(run: Path, patch: pytest.MonkeyPatch) -> RunDir:
    """Return the run with such a tree in its memory, and with theta for it."""
    leaves = [{first: 60.0, second: 50.0} for first, second in SUBJECTS for _ in range(2)]
    tree = tree_of(PARENT, {0: {"common": 90.0}} | dict(enumerate(leaves, FIRST_LEAF)))
    opened = RunDir(run)
    n_docs = len(opened.theta.indptr) - 1
    theta = np.random.default_rng(2).dirichlet(np.full(tree.n_nodes, 0.3), n_docs)
    made: dict[str, Any] = {"tree": tree, "supported_tree": tree, "vocab": tuple(LONG.values())}
    for name, value in {**made, "theta": sparse.csr_array(theta)}.items():
        patch.setitem(opened.__dict__, name, value)
    return opened
