"""Changes of the tree that may be worth a trial (theory/ncrp 4; Ueda et al. 2000).

Each function changes a draft and returns whether there was anything to change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.hca.draft import Draft

LEAST_DOCS = 10
"""A slot with more rows than this may be split."""

CHOICES = 4
"""What is to be split or taken out is drawn from so many of the best."""


def split(draft: Draft, rng: np.random.Generator) -> bool:
    """Split a slot that its axes fit badly.

    A leaf gets a sibling, with half of its rows: those on one side of what they vary most in
    besides, or those far out in it on either side (clusters that share the mean differ in
    that). Below an inner slot a path is opened for all of its rows.
    """
    errors = {}
    for node in draft.live:
        rows = draft.rows[draft.slot == node]
        if len(rows) > LEAST_DOCS:
            rest = draft.residual(rows, draft.path(node))
            errors[node] = float(np.linalg.eigvalsh(rest.T @ rest)[-1])
    if not errors:
        return False
    node = _one_of_first(sorted(errors, key=lambda n: -errors[n]), rng)
    docs = np.flatnonzero(draft.slot == node)
    if not draft.is_leaf(node):
        _open_path(draft, node, docs)
        return True
    rest = draft.residual(draft.rows[docs], draft.path(node))
    along = rest @ np.linalg.eigh(rest.T @ rest)[1][:, -1]
    if rng.integers(2):
        along = np.abs(along)
    twin = draft.add(draft.parent[node])
    draft.slot[docs[along > np.median(along)]] = twin
    draft.lay(node)
    draft.lay(twin)
    return True


def transfer(draft: Draft, rng: np.random.Generator) -> bool:
    """Hang a node from another parent of the same level."""
    level = int(rng.integers(2, draft.depth))
    nodes, parents = draft.at(level), draft.at(level - 1)
    if not nodes or len(parents) < 2:
        return False
    node = int(rng.choice(nodes))
    above = draft.parent[node]
    draft.parent[node] = int(rng.choice([other for other in parents if other != above]))
    if not draft.children(above):
        draft.take_out(above)
    draft.lay_from(node)
    return True


def divide(draft: Draft, rng: np.random.Generator) -> bool:
    """Give some of the children of a node a parent of their own beside it."""
    level = int(rng.integers(1, draft.depth - 1))
    wide = [node for node in draft.at(level) if len(draft.children(node)) > 1]
    if not wide:
        return False
    node = int(rng.choice(wide))
    children = draft.children(node)
    twin = draft.add(draft.parent[node])
    for child in rng.choice(children, int(rng.integers(1, len(children))), replace=False):
        draft.parent[int(child)] = twin
    draft.lay_from(twin)
    return True


def join(draft: Draft, rng: np.random.Generator) -> bool:
    """Put the children of two siblings under one."""
    level = int(rng.integers(1, draft.depth - 1))
    families = [draft.children(above) for above in draft.at(level - 1)]
    families = [family for family in families if len(family) > 1]
    if not families:
        return False
    family = families[int(rng.integers(len(families)))]
    kept, gone = (int(node) for node in rng.choice(family, 2, replace=False))
    for child in draft.children(gone):
        draft.parent[child] = kept
    draft.take_out(gone, np.full(len(draft.slot), kept))
    draft.lay_from(kept)
    return True


def drop(draft: Draft, scores: NDArray[np.float64], rng: np.random.Generator) -> bool:
    """Take out a leaf that is missed little, its rows going to the next best slots.

    scores: [n_docs, n_old] of the nodes that were there at first; new ones stay.
    """
    old = [node for node in draft.live if node < scores.shape[1]]
    loss = {}
    for node in old:
        if draft.is_leaf(node):
            others = [other for other in old if other != node]
            mine = draft.slot == node
            loss[node] = float((scores[mine, node] - scores[mine][:, others].max(axis=1)).sum())
    if len(loss) < 2:
        return False
    node = _one_of_first(sorted(loss, key=lambda n: loss[n]), rng)
    left = np.array([other for other in old if other != node])
    draft.take_out(node, left[scores[:, left].argmax(axis=1)])
    return True


def kinds(depth: int) -> list[Callable[[Draft, np.random.Generator], bool]]:
    """Return the changes that a tree of some depth can undergo, split as often as all others."""
    return [split, split, split, transfer, divide, join] if depth > 2 else [split]


def _open_path(draft: Draft, node: int, docs: NDArray[np.int64]) -> None:
    while not draft.is_leaf(node):
        node = draft.add(node)
        draft.slot[docs] = node
        draft.lay(node)


def _one_of_first(ranked: list[int], rng: np.random.Generator) -> int:
    return ranked[int(rng.integers(min(CHOICES, len(ranked))))]
