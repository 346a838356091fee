"""Moves of topics to other places of a tree, judged by document counts (theory/nhdp 6.6)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import betaln

from hiertopics.base.arrays import F64, I64
from hiertopics.numeric.grid import first_largest, ranked
from hiertopics.numeric.mixtures import log_rising

MASS = 0.25
"""Concentration of a node's documents for each of its children."""

RARE = 0.05
"""Expected tokens of a document at a node below which it has none there."""

LEAST = 1e-6
"""Least gain of a change, in nats."""

ROUNDS = 6


class ScoredTree:
    """A tree above given counts, and the log chance of these counts (theory/nhdp 2.1).

    n: float64 [n_docs, K], tokens that stop at each node; s: those at and below it. parent: int64
    [K], -1 for node 0, the others in any order. stop, go: weights of stopping and of going on.
    n_named: branches that have names, nodes 1 to that, stay below node 0.
    """

    def __init__(self, n: F64, parent: I64, stop: float, go: float, n_named: int = 0) -> None:
        self.n, self.stop, self.go = np.where(n < RARE, 0.0, n), stop, go
        self.n_named = n_named
        # What a node without children would cost its documents as the parent of one of them.
        self._alone = betaln(stop + self.n, go) - betaln(stop, go)
        self.hang(parent)

    def hang(self, parent: I64) -> None:
        """Take over another tree; parent: int64 [n_nodes], -1 for the root."""
        self.parent = parent
        self.kids = children_of(parent)
        self.s = sums(self.n, self.kids)
        self.value = np.array([self._family(node, self.s) for node in range(len(parent))])
        gone = np.maximum(self.s - self.n, 0)
        n_kids = np.array([len(kids) for kids in self.kids])
        self._more = np.where(n_kids > 0, _more(gone, n_kids), 0.0)

    @property
    def total(self) -> float:
        """The log chance of the counts."""
        return float(self.value.sum())

    def _family(self, node: int, s: F64, kids: list[int] | None = None) -> float:
        """Return the factor of a node's documents that says who stopped and who went where."""
        kids = self.kids[node] if kids is None else kids
        if not kids:
            return 0.0
        here = s[s[:, node] > 0]
        stopped, below = np.maximum(here[:, node] - here[:, kids].sum(axis=1), 0), here[:, kids]
        gone = below.sum(axis=1)
        value = (betaln(self.stop + stopped, self.go + gone) - betaln(self.stop, self.go)).sum()
        value -= log_rising(MASS * len(kids), gone).sum()
        return float(value + log_rising(MASS, below).sum())

    def chance(self, parent: I64, changed: Iterable[int], n: F64 | None = None) -> float:
        """Return the total under other parents, where the factors of ``changed`` alone differ.

        parent: int64 [n_nodes]. n: float64 [n_docs, n_nodes]; None: the tokens as they are.
        """
        kids = children_of(parent)
        s = sums(self.n if n is None else n, kids)
        nodes = list(changed)
        now = sum(self._family(node, s, kids[node]) for node in nodes)
        return self.total + now - float(self.value[nodes].sum())

    def above(self, node: int) -> list[int]:
        """Return a node and those above it."""
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return found

    def below(self, node: int) -> set[int]:
        """Return a node and those below it."""
        found, waiting = set(), [node]
        while waiting:
            found.add(here := waiting.pop())
            waiting += self.kids[here]
        return found

    def gains(self, child: int) -> F64:
        """Return the total, up to a constant, for a node and its subtree under each other node.

        float64 [n_nodes], -inf at nodes below it.
        """
        docs = np.flatnonzero(self.s[:, child] > 0)
        moved, old = self.s[docs, child][:, None], int(self.parent[child])
        s = self.s[docs].copy()
        s[:, self.above(old)] -= moved
        s = np.maximum(s, 0)
        n, n_kids = self.n[docs], np.array([len(kids) for kids in self.kids])
        n_kids[old] -= 1
        gone = np.maximum(s - n, 0)
        inner = n_kids > 0
        mass = MASS * np.maximum(n_kids, 1)
        a, b = self.stop, self.go
        with_it = betaln(a + n, b + gone + moved)
        stopping = (with_it - betaln(a + n, b + gone)).sum(axis=0)
        rising = log_rising(mass, gone + moved).sum(axis=0) - log_rising(mass, gone).sum(axis=0)
        passed = np.where(inner, stopping - rising, 0.0)
        lifted = (log_rising(MASS, s + moved) - log_rising(MASS, s)).sum(axis=0)
        lifted[0] = 0.0
        # As one child more: documents without it are spread over one child more, too.
        others = self._more.sum(axis=0) - self._more[docs].sum(axis=0)
        if inner[old]:
            rest = np.delete(self.s[:, old] - self.n[:, old], docs)
            others[old] = _more(np.maximum(rest, 0)[:, None], n_kids[[old]]).sum()
        joined = stopping - others
        joined -= log_rising(MASS * (n_kids + 1), gone + moved).sum(axis=0)
        joined += np.where(inner, log_rising(mass, gone).sum(axis=0), 0.0)
        first = (with_it - betaln(a, b)).sum(axis=0) - log_rising(MASS, moved).sum()
        first += self._alone.sum(axis=0) - self._alone[docs].sum(axis=0)
        joined = np.where(inner, joined, first)
        found = np.full(len(n_kids), -np.inf)
        along = np.zeros(len(n_kids))
        barred = self.below(child)
        for node in _downwards(self.kids):
            if node in barred:
                continue
            up = int(self.parent[node])
            along[node] = lifted[node] + (along[up] + passed[up] if up >= 0 else 0.0)
            found[node] = along[node] + joined[node]
        return found

    def climb(self) -> None:
        """Hang each node where it gains most, those of few tokens first, until none moves."""
        first = 1 + self.n_named
        order = first + np.argsort(self.n[:, first:].sum(axis=0), kind="stable")
        for _ in range(20):
            moved = False
            for node in order.tolist():
                gains, old = self.gains(node), int(self.parent[node])
                best = first_largest(gains)
                if gains[best] > gains[old] + LEAST:
                    self._put([node], best)
                    moved = True
            if not moved:
                return

    def adopt(self) -> bool:
        """Let each node take siblings as its children where they gain together."""
        changed = False
        for node in np.argsort(-self.s.sum(axis=0), kind="stable").tolist():
            up = int(self.parent[node])
            kids = self.kids[up] if up >= 0 else []
            siblings = [kid for kid in kids if kid != node and kid > self.n_named]
            if not siblings:
                continue
            parent = self.parent.copy()
            alone = []
            for sibling in siblings:
                parent[sibling] = node
                alone.append(self.chance(parent, (node, up)))
                parent[sibling] = up
            best, taken, order = self.total + LEAST, 0, ranked(alone)
            for count, place in enumerate(order, 1):
                parent[siblings[place]] = node
                total = self.chance(parent, (node, up))
                if total > best:
                    best, taken = total, count
            if taken:
                self._put([siblings[place] for place in order[:taken]], node)
                changed = True
        return changed

    def swap(self) -> bool:
        """Let nodes take the places of their parents where that gains."""
        changed = False
        for node in range(1, len(self.parent)):
            up = int(self.parent[node])
            if up <= self.n_named:
                continue
            kept = self.parent.copy()
            kept[[kid for kid in self.kids[up] if kid != node]] = node
            kept[node], kept[up] = self.parent[up], node
            traded = kept.copy()
            traded[self.kids[node]] = up
            totals = [self.chance(tree, (node, up)) for tree in (kept, traded)]
            if max(totals) > self.total + LEAST:
                self.hang((kept, traded)[first_largest(totals)])
                changed = True
        return changed

    def improve(self) -> None:
        """Climb, adopt and swap until nothing gains."""
        for _ in range(ROUNDS):
            self.climb()
            changed = self.adopt()
            if not (self.swap() or changed):
                return

    def _put(self, nodes: list[int], under: int) -> None:
        parent = self.parent.copy()
        parent[nodes] = under
        self.hang(parent)


def _more(gone: F64, n_kids: I64) -> F64:
    """Return the cost of one more child, in the documents that go on: [n_docs, K]."""
    mass = MASS * np.maximum(n_kids, 1)
    return log_rising(mass + MASS, gone) - log_rising(mass, gone)


def children_of(parent: I64) -> list[list[int]]:
    """Return the children of each node; parent: int64 [n_nodes], -1 for a root."""
    kids: list[list[int]] = [[] for _ in parent]
    for node, up in enumerate(parent.tolist()):
        if up >= 0:
            kids[up].append(node)
    return kids


def _downwards(kids: list[list[int]]) -> list[int]:
    """Return the nodes, each after its parent."""
    found = [0]
    for node in found:
        found += kids[node]
    return found


def sums(n: F64, kids: list[list[int]]) -> F64:
    """Return the counts at and below each node, [n_docs, K]."""
    s = n.copy()
    for node in _downwards(kids)[::-1]:
        if kids[node]:
            s[:, node] += s[:, kids[node]].sum(axis=1)
    return s
