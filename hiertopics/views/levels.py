"""Trees with fewer nodes, for reading: ``--cut 20,80`` and ``--supported 0.5``.

The one makes levels of about so many nodes, of the largest nodes; the other keeps the nodes that
come back in resamples.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.membership import single_root
from hiertopics.corpus.data.support import collapsed
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.runs.rundir import RunDir

MOST = 2 / 3
"""Share of a node that its children hold which stand in its place."""


def parse_cut(text: str) -> tuple[int, ...]:
    """Return the sizes of levels in ``20,80``; UsageError unless they are numbers that grow."""
    parts = text.strip("[]").split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"--cut is written like 20,80, got {text!r}")
    sizes = tuple(map(int, parts))
    if sizes[0] < 1 or any(
        after <= before for before, after in zip(sizes, sizes[1:], strict=False)
    ):
        raise UsageError(f"--cut takes numbers from 1 that grow, like 20,80, got {text!r}")
    return sizes


def levels_shown(tree: Tree, depth: int | None) -> int | None:
    """Return the number of levels of a tree that hold the first ``depth`` levels of its cut.

    A single root stands above the first level of a cut. None stands for all levels.
    """
    return None if depth is None else depth + (single_root(tree) >= 0)


def in_levels(tree: Tree, sizes: Sequence[int]) -> Tree:
    """Return the tree in levels of about n nodes, below its single root if it has one.

    A single root is always opened: a level has its children, however few are wanted. The first
    level comes of them by opening, again and again, the node with most tokens below it into its
    children, while that brings the number of nodes closer to the one wanted. The places of a
    further level go to the nodes below the one above with most tokens. Nodes that are passed over
    on the way, and nodes without a place, are left out, and their tokens count at the node above; a
    node that cannot be opened stays where it stands. Rows keep their numbers. Raises UsageError for
    topics without any tree.
    """
    if tree.is_flat:
        raise UsageError("--cut is for trees; these topics are flat, and --arrange makes a tree")
    roots = tree.children(ROOT).tolist()
    top = roots if len(roots) == 1 else []
    level = [node for root in top for node in tree.children(root).tolist()] or roots
    kept = dict.fromkeys(top, ROOT)
    above = dict.fromkeys(level, top[0] if top else ROOT)
    for number, size in enumerate(sizes):
        level, owner = _largest(tree, level, size) if number else _opened(tree, level, size)
        for node in level:
            if node not in kept:
                kept[node] = above.get(owner[node], owner[node])
        above = {node: node for node in level}
    return _of(tree, kept)


def _opened(tree: Tree, level: list[int], size: int) -> tuple[list[int], dict[int, int]]:
    """Return the nodes of a level of about ``size``, and which of ``level`` each comes from."""
    owner = {node: node for node in level}
    waiting = sorted(level, key=lambda node: -tree.subtree_weight[node])
    n_nodes = len(level)
    while waiting:
        node = waiting.pop(0)
        children = tree.children(node).tolist()
        more = n_nodes + len(children) - 1
        if not children or abs(more - size) > abs(n_nodes - size) or n_nodes >= size:
            continue
        n_nodes, mine = more, owner.pop(node)
        owner |= dict.fromkeys(children, mine)
        waiting = sorted([*waiting, *children], key=lambda one: -tree.subtree_weight[one])
    return list(owner), owner


def _largest(tree: Tree, level: list[int], size: int) -> tuple[list[int], dict[int, int]]:
    """Return the largest nodes at or below ``level``, ``size`` at most, and where each comes from.

    Nodes are added by their tokens, the largest first, as long as there are places. A node below
    ``level`` gives way to its children where those that were added hold ``MOST`` of it.
    """
    ends = _Ends(tree, level)
    below = [child for node in level for child in tree.children(node).tolist()]
    waiting = [(-float(tree.subtree_weight[node]), node) for node in below]
    heapq.heapify(waiting)
    while waiting:
        _, node = heapq.heappop(waiting)
        if not ends.add(node, size):
            continue
        for child in tree.children(node).tolist():
            heapq.heappush(waiting, (-float(tree.subtree_weight[child]), child))
    owner = {node: top for top in level for node in ends.below(top)}
    return list(owner), owner


class _Ends:
    """The lower ends of a tree that grows node by node from some nodes at its top."""

    def __init__(self, tree: Tree, tops: Sequence[int]) -> None:
        self.tree, self.tops = tree, {*tops}
        self.kept: dict[int, list[int]] = {}
        self.n = dict.fromkeys(tops, 1)

    def add(self, node: int, size: int) -> bool:
        """Add a node, unless there were more ends than ``size`` then; tell whether it was added."""
        above = int(self.tree.parent[node])
        self.kept.setdefault(above, []).append(node)
        self.n[node] = 1
        before = {}
        while True:
            before[above] = self.n[above]
            self.n[above] = self._ends_of(above)
            if above in self.tops:
                break
            above = int(self.tree.parent[above])
        if sum(self.n[top] for top in self.tops) <= size:
            return True
        self.n |= before
        self.kept[int(self.tree.parent[node])].pop()
        return False

    def below(self, node: int) -> list[int]:
        """Return the ends at or below a node, in the order of the tree."""
        found, waiting = [], [node]
        while waiting:
            node = waiting.pop()
            if self._is_open(node):
                waiting += self.kept[node][::-1]
            else:
                found.append(node)
        return found

    def _ends_of(self, node: int) -> int:
        return sum(self.n[child] for child in self.kept[node]) if self._is_open(node) else 1

    def _is_open(self, node: int) -> bool:
        children = self.kept.get(node, [])
        if len(children) < 2:
            return False
        weight = self.tree.subtree_weight
        return node in self.tops or bool(weight[children].sum() >= MOST * weight[node])


def _of(tree: Tree, parents: dict[int, int]) -> Tree:
    """Return the tree of these nodes under these parents; other nodes' tokens count above them."""
    gone = np.ones(tree.n_nodes, dtype=bool)
    gone[list(parents)] = False
    found = tree.without(gone)
    parent = found.parent.copy()
    for node, above in parents.items():
        parent[node] = above
    return replace(found, parent=parent)


def supported_part(run: RunDir, tree: Tree, least: float) -> Tree:
    """Return a tree without the nodes of less support by resamples; UsageError without any."""
    if not 0 <= least <= 1:
        raise UsageError(f"--supported must be from 0 to 1, got {least:g}")
    if tree.transfer is None:
        what = "has no support of its nodes"
        raise UsageError(f"{run.path} {what}; hiertopics support {run.path} finds it")
    value, inner = tree.transfer.value, tree.shown[tree.parent[tree.shown] != ROOT]
    if len(inner) and np.isnan(value[inner]).any():
        what = "has the support of its branches alone"
        raise UsageError(f"{run.path} {what}; hiertopics support {run.path} finds that of all")
    return collapsed(tree, value, least)
