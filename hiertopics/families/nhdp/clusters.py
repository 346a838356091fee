"""The shape of a tree above given topics: their linkage, cut at several heights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from hiertopics.arrays import F64, I64, Bools
from hiertopics.families.nhdp.layout import Shape, shape_of


class Arranged(NamedTuple):
    """A tree above topics.

    node: int64 [n_topics], where each topic stands: at a leaf, or, as its own, at an inner node.
    """

    shape: Shape
    node: I64

    @property
    def members(self) -> Bools:
        """Which topics stand at or below each node, bool [K, n_topics]."""
        member = np.zeros((self.shape.n_nodes, len(self.node)), bool)
        member[self.node, np.arange(len(self.node))] = True
        for node in self.shape.inner[::-1]:
            member[node] |= member[self.shape.children(int(node))].any(axis=0)
        return member


def ward(features: F64) -> F64:
    """Return Ward's linkage of the square roots of rows that sum to 1, float64 [n - 1, 4]."""
    if len(features) < 2:
        return np.zeros((0, 4))
    return np.asarray(linkage(pdist(np.sqrt(features)), "ward"))


def labels_at(merges: F64, n_clusters: int) -> I64:
    """Return the cluster of each topic after all but the last ``n_clusters - 1`` merges."""
    n_topics = len(merges) + 1
    cluster = [[topic] for topic in range(n_topics)]
    alive = dict.fromkeys(range(n_topics))
    for step, (one, other) in enumerate(merges[: n_topics - n_clusters, :2].astype(int)):
        cluster.append(cluster[one] + cluster[other])
        alive.pop(one), alive.pop(other)
        alive[n_topics + step] = None
    labels = np.zeros(n_topics, np.int64)
    for label, name in enumerate(alive):
        labels[cluster[name]] = label
    return labels


def nested(levels: Sequence[I64], n_topics: int) -> Node:
    """Return the tree of clusters within clusters; levels: [n_topics] each, coarse to fine.

    An inner node with one child, the root excepted, is replaced by that child. Siblings stand in
    the order of the smallest topic below them.
    """

    def grow(topics: I64, level: int) -> Node:
        if level == len(levels):
            return Node([leaf(int(topic)) for topic in topics], -1)
        labels = levels[level][topics]
        names = labels[np.sort(np.unique(labels, return_index=True)[1])]
        return Node([shortened(grow(topics[labels == name], level + 1)) for name in names], -1)

    return grow(np.arange(n_topics), 0)


class Node(NamedTuple):
    """A node of a tree that has no numbers yet.

    topic: of a leaf; -1 at inner nodes, which may have topics of their own.
    """

    children: list[Node]
    topic: int
    own: tuple[int, ...] = ()

    @property
    def topics(self) -> list[int]:
        """All topics at and below the node."""
        here = [self.topic] if self.topic >= 0 else list(self.own)
        return here + [topic for child in self.children for topic in child.topics]

    @property
    def first(self) -> int:
        """The smallest of them."""
        return min(self.topics)


def leaf(topic: int) -> Node:
    """Return a node for a topic."""
    return Node([], topic)


def renamed(node: Node, names: I64) -> Node:
    """Return the tree of topics ``names`` where those of ``node`` are numbered from 0."""
    children = [renamed(child, names) for child in node.children]
    topic = int(names[node.topic]) if node.topic >= 0 else -1
    return Node(children, topic, tuple(int(names[own]) for own in node.own))


def shortened(node: Node) -> Node:
    """Return a node's only child in its place."""
    return node.children[0] if len(node.children) == 1 else node


def numbered(root: Node) -> Arranged:
    """Return a tree whose nodes are numbered breadth first."""
    row = [(root, -1)]
    parent: list[int] = []
    places: dict[int, int] = {}
    while row:
        below = []
        for node, above in row:
            below += [(child, len(parent)) for child in node.children]
            places |= dict.fromkeys(node.own if node.topic < 0 else (node.topic,), len(parent))
            parent.append(above)
        row = below
    return Arranged(
        shape_of(np.array(parent)), np.array([places[topic] for topic in sorted(places)])
    )
