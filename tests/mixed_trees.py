"""A tree with a branch of two subjects beside a branch of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import sparse

from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.runs.rundir import RunDir

VOCAB = (
    "common", "ball", "balls", "goal", "team", "vote", "law", "party", "chess", "board", "pawn",
    "king", "gambit", "rook", "tempo", "choir", "file", "disk", "page", "votes",
)  # fmt: skip
PARENT = (-1, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)
MIXED, PURE, FIRST_LEAF = 1, 2, 8
NAMES = {MIXED: "ball goal · vote law · tempo choir", PURE: "chess board pawn king gambit"}
"""Names of the branches of ``mixed_tree``; a view with room for more words shows more of one."""

PARTS = [["ball", "goal"], ["vote", "law"], ["tempo", "choir"]]
BALLS = {"ball": 60, "balls": 50, "goal": 40, "team": 10}
VOTES = {"vote": 55, "law": 45, "party": 35}
MUSIC = {"tempo": 45, "choir": 35}
CHESS = {"chess": 30, "board": 20, "pawn": 10, "king": 5}
LEAVES: Sequence[Mapping[str, float]] = (
    BALLS,
    {**BALLS, "team": 20},
    VOTES,
    {**VOTES, "party": 30},
    MUSIC,
    {**MUSIC, "choir": 30},
    {**CHESS, "gambit": 4},
    {**CHESS, "gambit": 4},
    {**CHESS, "rook": 3},
    {**CHESS, "rook": 3},
)


def tree_of(parent: Sequence[int], tokens: Mapping[int, Mapping[str, float]]) -> Tree:
    """Return a tree with these tokens at its nodes, and one of the first word at each other one."""
    n = len(parent)
    table = np.zeros((n, len(VOCAB)))
    for node in range(n):
        for word, number in tokens.get(node, {"common": 1.0}).items():
            table[node, VOCAB.index(word)] = number
    n_tokens = table.sum(axis=1)
    smoothed = table + 1e-4
    return Tree(
        phi=smoothed / smoothed.sum(axis=1, keepdims=True),
        parent=np.array(parent, np.int32),
        kind=np.full(n, NODE, np.int8),
        weight=n_tokens / n_tokens.sum(),
        n_docs=np.arange(n, 0, -1),
        n_tokens=n_tokens,
    )


def planted(leaves: Sequence[Mapping[str, float]]) -> dict[int, Mapping[str, float]]:
    """Return the tokens of leaves by row."""
    return dict(enumerate(leaves, FIRST_LEAF))


def mixed_tree() -> Tree:
    """Return a root, two branches, groups below each, two leaves below each group.

    Groups of branch ``MIXED`` have no word in common, those of branch ``PURE`` most of theirs.
    """
    return tree_of(PARENT, {0: {"common": 90}} | planted(LEAVES))


def with_mixed_tree(run: RunDir, patch: pytest.MonkeyPatch) -> RunDir:
    """Return a run with the tree in its memory, and with theta for it."""
    tree, n_docs = mixed_tree(), len(run.theta.indptr) - 1
    theta = np.random.default_rng(2).dirichlet(np.full(tree.n_nodes, 0.3), n_docs)
    shares = sparse.csr_array(theta)
    made = {"tree": tree, "supported_tree": tree, "vocab": VOCAB, "theta": shares}
    for name, value in made.items():
        patch.setitem(run.__dict__, name, value)
    return run
