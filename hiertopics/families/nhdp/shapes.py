"""The shape of a tree above topics: their linkage, cut at heights or at gaps (theory/nhdp 6.1).

Ward's heights of points that are all as far from each other are all the same, so that a node of the
linkage far below its parent stands for a cluster, and nodes near their parent for one family. Text
has few such gaps: families that stay broad are cut by size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.families.nhdp.layout import Shape, shape_of
from hiertopics.numeric import grid

OTHER, BRANCH, GROUP = 0, 1, 2
"""A branch was found before its topics were, a group has branches below it."""


class ArrangedTopics(NamedTuple):
    """A tree above topics.

    node: int64 [n_topics], where each topic stands: at a leaf, or, as its own, at an inner node.
    kind: int64 [K], what each node is: ``BRANCH``, ``GROUP`` or ``OTHER``.
    """

    shape: Shape
    node: I64
    kind: I64

    @property
    def members(self) -> Bools:
        """The topics at or below each node, bool [K, n_topics]."""
        member = np.zeros((self.shape.n_nodes, len(self.node)), bool)
        member[self.node, np.arange(len(self.node))] = True
        for node in self.shape.inner[::-1]:
            member[node] |= member[self.shape.children(int(node))].any(axis=0)
        return member


def ward(features: F64) -> F64:
    """Return Ward's linkage of the square roots of rows that sum to 1, float64 [n - 1, 4]."""
    return grid.ward(np.sqrt(features))


def labels_at(merges: F64, n_clusters: int) -> I64:
    """Return the cluster of each topic after all but the last ``n_clusters - 1`` merges.

    int64 [n_topics]. merges: a linkage as of scipy, float64 [n_topics - 1, 4].
    """
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


def nested(levels: Sequence[I64], n_topics: int, kinds: Sequence[int] = ()) -> Node:
    """Return the tree of clusters within clusters; levels: [n_topics] each, coarse to fine.

    kinds: what the clusters of each level are; others are ``OTHER``.

    An inner node with one child, the root excepted, is replaced by that child. Siblings stand in
    the order of the smallest topic below them.
    """
    kind = [OTHER, *kinds] + [OTHER] * (len(levels) - len(kinds))

    def grow(topics: I64, level: int) -> Node:
        if level == len(levels):
            return Node([leaf(int(topic)) for topic in topics], -1, kind=kind[level])
        labels = levels[level][topics]
        names = labels[np.sort(np.unique(labels, return_index=True)[1])]
        below = [shortened(grow(topics[labels == name], level + 1)) for name in names]
        return Node(below, -1, kind=kind[level])

    return grow(np.arange(n_topics), 0)


class Node(NamedTuple):
    """A node of a tree that has no numbers yet.

    topic: of a leaf; -1 at inner nodes, which may have topics of their own. kind: as in
    ``ArrangedTopics``.
    """

    children: list[Node]
    topic: int
    own: tuple[int, ...] = ()
    kind: int = OTHER

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
    """Return the tree of topics ``names``, int64 [n], where those of ``node`` are 0 .. n - 1."""
    children = [renamed(child, names) for child in node.children]
    topic = int(names[node.topic]) if node.topic >= 0 else -1
    return Node(children, topic, tuple(int(names[own]) for own in node.own), node.kind)


def shortened(node: Node) -> Node:
    """Return a node's only child in its place."""
    return node.children[0] if len(node.children) == 1 else node


def at_least(root: Node, n_children: int) -> Node:
    """Return the tree without inner nodes of fewer children, whose children take their places.

    The root stays, and so does a node that has topics of its own.
    """

    def kept(node: Node) -> list[Node]:
        below = [found for child in node.children for found in kept(child)]
        few = node.topic < 0 and not node.own and len(below) < n_children
        return below if few else [node._replace(children=_in_order(below))]

    below = [found for child in root.children for found in kept(child)]
    return root._replace(children=_in_order(below))


def numbered(root: Node) -> ArrangedTopics:
    """Return a tree whose nodes are numbered breadth first."""
    row = [(root, -1)]
    parent: list[int] = []
    kind: list[int] = []
    places: dict[int, int] = {}
    while row:
        below = []
        for node, above in row:
            below += [(child, len(parent)) for child in node.children]
            places |= dict.fromkeys(node.own if node.topic < 0 else (node.topic,), len(parent))
            parent.append(above)
            kind.append(node.kind)
        row = below
    at = np.array([places[topic] for topic in sorted(places)])
    return ArrangedTopics(shape_of(np.array(parent)), at, np.array(kind))


GAP = 0.75
"""A cluster's height over its parent's is below this."""

ALIKE = 0.75
"""Ward's height below which two topics are taken for one that was found twice."""

BROAD = 30
"""Children that a family has at most."""

USED, USERS, MUCH, MANY = 0.02, 0.4, 0.04, 15
"""A branch is one of general words where more than ``USERS`` of the documents give it ``USED`` or
more, it holds more than ``MUCH`` of the tokens, and more than ``MANY`` distinct topics make it up:
one of a few topics may well be in most documents."""

BRANCHES = 20
"""A root with so many children or more has no general one, of however few topics: among so many
none needs to be in most documents."""

BROAD_WITHIN = 12
"""Children that a family has at most within a branch that was found first."""

STEP = 2.0**-20
"""Distances are rounded to it where noise in their last bits must not decide."""

APART = 1e3
"""Distance that is added between clusters that are merged last."""

SMALL_CORPUS = 100_000
POWERS = {True: (0.52,), False: (0.4, 0.68)}
"""Into how many clusters a broad family is cut at each level, as powers of its size, in small
corpora and in others."""


class Dendrogram(NamedTuple):
    """A dendrogram. children: of each node after the topics; height: float64 [2 T - 1]."""

    n_topics: int
    children: I64
    height: F64

    def below(self, node: int) -> tuple[int, int]:
        """Return the two nodes that were merged."""
        one, other = self.children[node - self.n_topics]
        return int(one), int(other)


def by_gaps(merges: F64) -> Node:
    """Return the tree of clusters whose height is far below that of their parent.

    merges: a linkage as of scipy, float64 [n_topics - 1, 4].
    """
    n_topics = len(merges) + 1
    height = np.concatenate([np.zeros(n_topics), merges[:, 2]])
    dendrogram = Dendrogram(n_topics, merges[:, :2].astype(np.int64), height)
    if n_topics == 1:
        return Node([leaf(0)], -1)
    return _family(dendrogram, 2 * n_topics - 2)


def _family(dendrogram: Dendrogram, node: int) -> Node:
    """Return a node of the linkage with the clusters and topics next below it as children."""
    children, waiting = [], [node]
    while waiting:
        above = waiting.pop()
        for below in dendrogram.below(above):
            if below < dendrogram.n_topics:
                children.append(leaf(below))
            elif ALIKE < dendrogram.height[below] < GAP * dendrogram.height[above]:
                children.append(_family(dendrogram, below))
            else:
                waiting.append(below)
    return Node(sorted(children, key=lambda child: child.first), -1)


def distinct_topics(merges: F64) -> I64:
    """Return a label for each topic, int64 [T]; equal labels mean the same topic."""
    return labels_at(merges, 1 + int((merges[:, 2] > ALIKE).sum()))


def cut_broad(root: Node, merges: F64, powers: Sequence[float], broad: int = BROAD) -> Node:
    """Return the tree with families of more than ``broad`` topics that differ cut into clusters.

    merges: a linkage as of scipy, float64 [n_topics - 1, 4]. powers: into how many at each level,
    as powers of their size.
    """
    distinct = distinct_topics(merges)

    def cut(node: Node) -> Node:
        children = [cut(child) for child in node.children]
        n_distinct = len({int(distinct[child.first]) for child in children})
        if n_distinct <= broad:
            return node._replace(children=children)
        n_clusters = [round(n_distinct**power) for power in powers]
        return node._replace(children=_cut(children, merges, n_clusters))

    return cut(root)


def _cut(children: list[Node], merges: F64, n_clusters: list[int]) -> list[Node]:
    """Return siblings gathered in clusters: those that the first topics of each fall into.

    n_clusters: at each level, coarse to fine.
    """
    if not n_clusters or len(children) <= 2:
        return children
    firsts = np.array([child.first for child in children])
    n_topics = len(merges) + 1
    labels = np.zeros(len(children), np.int64)
    for n in range(n_clusters[0], n_topics):
        labels = labels_at(merges, n)[firsts]
        if len(np.unique(labels)) >= min(n_clusters[0], len(children)):
            break
    groups: dict[int, list[Node]] = {}
    for child, label in zip(children, labels, strict=True):
        groups.setdefault(int(label), []).append(child)
    finer = [n * len(children) for n in n_clusters[1:]]
    cut = []
    for group in groups.values():
        share = [max(round(n / len(children) * len(group) / len(children)), 1) for n in finer]
        cut.append(shortened(Node(_cut(group, merges, share) if share else group, -1)))
    return sorted(cut, key=lambda child: child.first)


class Usage(NamedTuple):
    """How documents use topics. theta: float64 [n_docs, T]; n_k: float64 [T], tokens."""

    theta: F64
    n_k: F64

    def is_general(self, topics: list[int]) -> bool:
        """Return whether many documents use topics that together hold much of the tokens."""
        users = (self.theta[:, topics].sum(axis=1) >= USED).mean()
        return bool(users > USERS and self.n_k[topics].sum() > MUCH * self.n_k.sum())


def without(root: Node, merges: F64, unfit: Callable[[list[int]], bool]) -> Node:
    """Return the tree without branches whose topics are ``unfit``.

    merges: a linkage as of scipy, float64 [n_topics - 1, 4]. In the place of one stand the two that
    the linkage makes of its children, and so on down.
    """
    kept, waiting = [], list(root.children)
    while waiting:
        node = waiting.pop()
        if unfit(node.topics):
            waiting += _cut(node.children, merges, [2])
        else:
            kept.append(node)
    return root._replace(children=sorted(kept, key=lambda child: child.first))


def have_several(topics: list[int], n_named: int) -> bool:
    """Return whether several of these topics have names: the first ``n_named`` of all."""
    return sum(topic < n_named for topic in topics) > 1


def with_names(root: Node, n_named: int) -> Node:
    """Return the tree in which the branch of a topic that has a name has it as its own.

    So these branches are the root's first children, in the order of the names: a child has one
    such topic at most, and siblings stand in the order of their smallest.
    """
    children = [
        _with_own(child, child.first) if child.first < n_named else child for child in root.children
    ]
    return root._replace(children=children)


def _with_own(node: Node, topic: int) -> Node:
    """Return a branch whose own topic is one that is a leaf of it, or all of it."""
    if node.topic == topic:
        return node
    rest = _rest(node, topic)
    return Node(rest.children or [rest], -1, (topic,))


def _rest(node: Node, topic: int) -> Node:
    """Return an inner node without one of its leaves."""
    if topic not in node.topics:
        return node
    kept = [_rest(child, topic) for child in node.children if child.topic != topic]
    return shortened(node._replace(children=sorted(kept, key=lambda child: child.first)))


def find(merges: F64, usage: Usage, n_named: int = 0, least: int = 2) -> ArrangedTopics:
    """Return the tree above topics of this linkage, used like this.

    merges: a linkage as of scipy, float64 [n_topics - 1, 4]. The first ``n_named`` topics are those
    of as many branches. least: children of an inner node.
    """
    small, distinct = usage.n_k.sum() < SMALL_CORPUS, distinct_topics(merges)
    root = cut_broad(by_gaps(merges), merges, POWERS[small])

    def unfit(topics: list[int], many: int) -> bool:
        general = len(set(distinct[topics].tolist())) > many and usage.is_general(topics)
        return general or have_several(topics, n_named)

    root = without(root, merges, lambda topics: unfit(topics, MANY))
    if len(root.children) >= BRANCHES:
        root = without(root, merges, lambda topics: unfit(topics, 1))
    return numbered(at_least(with_names(root, n_named), least))


def arrange(
    merges: F64, branches: Sequence[int], n_named: int = 0, least: int = 2
) -> ArrangedTopics:
    """Return the tree of these cuts: 1 < n < topics clusters at each level, coarse to fine.

    merges: a linkage as of scipy, float64 [n_topics - 1, 4]. The first ``n_named`` topics are those
    of as many branches: a cluster of several is cut further.
    """
    n_topics = len(merges) + 1
    cuts = [n for n in branches if 1 < n < n_topics]
    root = nested([labels_at(merges, n) for n in cuts], n_topics)
    root = without(root, merges, lambda topics: have_several(topics, n_named))
    return numbered(at_least(with_names(root, n_named), least))


def find_within(branch: I64, features: F64, n_named: int = 0, least: int = 2) -> ArrangedTopics:
    """Return the tree above topics of branches that were found first.

    branch: int64 [T], that of each topic; features: float64 [T, n_words]. The first ``n_named``
    topics are those of as many branches.
    """
    found = []
    for name in np.unique(branch):
        topics = np.flatnonzero(branch == name)
        merges = ward(features[topics])
        root = cut_broad(by_gaps(merges), merges, POWERS[True], BROAD_WITHIN)
        found.append(shortened(renamed(root, topics)))
    root = Node(sorted(found, key=lambda node: node.first), -1)
    return numbered(at_least(with_names(root, n_named), least))


FAMILY = 12
"""Children that a node above topics has at most."""


class TopicRows(Protocol):
    """Rows of topics: an array, or an object that makes the rows of some topics."""

    def __getitem__(self, topics: I64, /) -> F64:
        """Return the rows of these topics."""


def find_grouped(
    branch: I64, group: I64, features: TopicRows, n_named: int = 0, least: int = 2
) -> ArrangedTopics:
    """Return the tree above topics of branches that were found first, and of groups of these.

    branch: int64 [T], that of each topic; group: int64 [n_branches]; a group of one is that branch.
    features: float64 [T, n_words]. The first ``n_named`` topics are those of as many branches,
    which stand in no group with another.
    """
    found: dict[int, list[Node]] = {}
    for name in np.unique(branch):
        topics = np.flatnonzero(branch == name)
        inside = [leaf(int(topic)) for topic in topics]
        if len(topics) > FAMILY:
            inside = _families(topics, np.sqrt(features[topics]))
        found.setdefault(int(group[name]), []).append(shortened(Node(inside, -1, kind=BRANCH)))
    groups = [shortened(Node(_in_order(inside), -1, kind=GROUP)) for inside in found.values()]
    only = len(groups) == 1 and groups[0].topic < 0
    root = Node(groups[0].children if only else _in_order(groups), -1)
    return numbered(at_least(with_names(root, n_named), least))


def _families(topics: I64, points: F64) -> list[Node]:
    """Return topics as children of one node: gathered, and again, until no family is too large."""
    if len(topics) <= FAMILY:
        return [leaf(int(topic)) for topic in topics]
    labels = labels_at(ward_on_grid(points), min(round(len(topics) ** 0.5), FAMILY))
    found = [labels == label for label in np.unique(labels)]
    return _in_order([shortened(Node(_families(topics[at], points[at]), -1)) for at in found])


def _in_order(nodes: list[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: node.first)


def ward_on_grid(points: F64, labels: I64 | None = None) -> F64:
    """Return Ward's linkage of points [n, k] by distances on a grid: noise decides nothing.

    labels: int64 [n], of clusters that are merged last.
    """
    if labels is None:
        return grid.ward(points, STEP)
    one, other = np.triu_indices(len(points), 1)
    return grid.ward(points, STEP, APART * (labels[one] != labels[other]))


def arrange_grouped(
    branch: I64,
    groups: Sequence[I64],
    features: F64,
    finer: Sequence[int] = (),
    n_named: int = 0,
    least: int = 2,
) -> ArrangedTopics:
    """Return the tree of levels of groups, coarse to fine, of branches and of their families.

    branch: int64 [T]; groups: int64 [n_branches] each; finer: how many families there are in all,
    at each level below the branches.
    """
    merges = ward_on_grid(np.sqrt(features), branch)
    cuts = [n for n in finer if len(np.unique(branch)) < n < len(branch)]
    levels = [group[branch] for group in groups]
    levels += [branch, *(labels_at(merges, n) for n in cuts)]
    kinds = [GROUP] * len(groups) + [BRANCH]
    root = nested(levels, len(branch), kinds)
    return numbered(at_least(with_names(root, n_named), least))
