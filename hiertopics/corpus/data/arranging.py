"""Flat topics arranged as a tree after the fit, for looking at: the model itself stays flat.

Topics are clustered bottom up by Ward's rule (J. Ward, JASA 58, 1963) on the square roots of their
features: the mean of a topic's word distribution and of its context, the words of the documents
that it is in. Distances of such roots are Hellinger distances but for a factor. Average linkage
strings topics up into chains, where most branches are one topic; Ward's rule keeps clusters of like
size together. theory/agreement 5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Ints
from hiertopics.base.errors import UsageError
from hiertopics.base.stretches import rows_of
from hiertopics.corpus.data.membership import documents_with
from hiertopics.corpus.data.tree import NODE, ROOT, Arrangement, NodeSupport, Tree

Number = TypeVar("Number", bound=np.generic)

NOTE = (
    "arranged after the fit by clustering topics (words and documents in common, Ward's rule); "
    "the model itself is flat"
)
NO_TOKENS = 1e-9
"""Weight of a topic without tokens, so that a mean over such topics exists."""


def contexts(theta: sparse.csr_array, doc_lengths: Ints, phi: F64) -> F64:
    """Return the words of the documents that each topic is in, [n_nodes, n_words], rows sum to 1.

    theta: CSR [n_docs, n_nodes]. doc_lengths: in tokens. phi: [n_nodes, n_words]. Words of
    documents are those that the model expects, so that the corpus is not needed. A topic in no
    document has its own words.
    """
    tokens = sparse.csr_array(theta, copy=True)
    docs = rows_of(theta.indptr)
    tokens.data = tokens.data * np.asarray(doc_lengths, dtype=np.float64)[docs]
    together = (theta.T @ tokens).toarray()
    total = together.sum(axis=1, keepdims=True)
    found = np.divide(together, total, out=np.eye(len(phi)), where=total > 0)
    mixed: F64 = found @ phi
    return mixed


def arrange(tree: Tree, members: Bools, context: F64 | None = None) -> Tree:
    """Return the topics of a flat ``tree`` as leaves of a binary tree.

    members: bool [n_docs, n_nodes], which documents have which topic. context: [n_nodes, n_words],
    as of ``contexts``; None: topics are clustered by their words alone. Leaves keep what they have
    and are called by their own ids; what lies outside the topics is left out. The nodes above
    are called a0 (the root), a1, ...: a parent before its children. Such a node has no tokens
    of its own; its phi is the mean of its topics, weighted by tokens, and its n_docs counts the
    documents that have any of them. A branch is as long as half the difference of the heights
    at its ends, so that the way between two topics is as long as their merge is high.

    Raises UsageError where ``tree`` is no flat list of topics.
    """
    topics = tree.shown
    if not tree.is_flat:
        raise UsageError("this is a tree already; --arrange is for flat topics")
    words = tree.phi[topics]
    pairs, heights = _merges(words if context is None else (words + context[topics]) / 2)
    n_above = len(pairs)
    parent = np.full(n_above + len(topics), ROOT, dtype=np.int32)
    height = np.zeros(len(parent))
    phi = _below(tree.phi[topics], n_above)
    n_docs = _below(tree.n_docs[topics], n_above)
    mass = _below(np.maximum(tree.n_tokens[topics], NO_TOKENS), n_above)
    docs = {n_above + place: members[:, topic] for place, topic in enumerate(topics)}
    for row in range(n_above - 1, -1, -1):
        left, right = pairs[row]
        parent[[left, right]] = row
        height[row] = heights[row]
        mass[row] = mass[left] + mass[right]
        phi[row] = (mass[left] * phi[left] + mass[right] * phi[right]) / mass[row]
        docs[row] = docs.pop(left) | docs.pop(right)
        n_docs[row] = docs[row].sum()
    above = np.where(parent == ROOT, height, height[parent])
    ids = (*(f"a{row}" for row in range(n_above)), *topics.tolist())
    return Tree(
        phi=phi,
        parent=parent,
        kind=np.full(len(parent), NODE, dtype=np.int8),
        weight=_below(tree.weight[topics], n_above),
        n_docs=n_docs,
        n_tokens=_below(tree.n_tokens[topics], n_above),
        arrangement=Arrangement(NOTE, ids, (above - height) / 2),
        transfer=_support_of_topics(tree, topics, n_above),
    )


def _support_of_topics(tree: Tree, topics: I64, n_above: int) -> NodeSupport | None:
    """Return the support of topics by their present rows; the nodes above them have none."""
    if tree.transfer is None:
        return None
    documents, words = tree.transfer[:2]
    none = np.full(n_above, np.nan)
    by_words = None if words is None else np.concatenate([none, words[topics]])
    moved = np.concatenate([none, documents[topics]])
    return tree.transfer._replace(documents=moved, words=by_words)


def _merges(features: F64) -> tuple[I64, F64]:
    """Return the two rows below each node above topics, and its height; the last merge first.

    Rows are numbered as in the finished tree: the nodes above topics, then the topics.
    """
    from scipy.cluster.hierarchy import linkage  # slow to import

    n_topics = len(features)
    if n_topics < 2:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    # Hellinger distance is Euclidean distance between square roots, over the root of two.
    merges = linkage(np.sqrt(features) / np.sqrt(2), "ward")[::-1]
    clusters = merges[:, :2].astype(np.int64)
    n_above = n_topics - 1
    rows = np.where(clusters < n_topics, n_above + clusters, n_above + n_topics - 1 - clusters)
    return rows, merges[:, 2]


def _below(values: NDArray[Number], n_above: int) -> NDArray[Number]:
    """Return ``values`` of the topics with rows of zeros before them."""
    return np.concatenate([np.zeros((n_above, *values.shape[1:]), values.dtype), values])


FEW_TOPICS = 8


def banded(tree: Tree) -> Tree:
    """Return an arranged tree without most of its inner nodes; the others keep their ids.

    Of n topics the cuts into about n^(1/3) and n^(2/3) clusters stay: the root, those clusters
    and the topics; of fewer than ``FEW_TOPICS`` the root and the topics. The rows of ``tree`` above
    its topics stand in the order of their merges, the highest first.
    """
    arrangement = tree.arrangement
    if arrangement is None:
        return tree
    n_topics = sum(isinstance(name, int) for name in arrangement.ids)
    n_above = tree.n_nodes - n_topics
    cuts = [] if n_topics < FEW_TOPICS else [round(n_topics ** (part / 3)) for part in (1, 2)]
    band = np.searchsorted(np.array(cuts) - 1, np.arange(n_above), side="right")
    kept = np.ones(tree.n_nodes, dtype=bool)
    for row in range(1, n_above):
        kept[row] = band[row] > band[tree.parent[row]]
    rows = np.flatnonzero(kept)
    above, lengths = tree.parent.copy(), arrangement.lengths.copy()
    for row in range(1, tree.n_nodes):
        if above[row] != ROOT and not kept[above[row]]:
            lengths[row] += lengths[above[row]]
            above[row] = above[above[row]]
    place = np.cumsum(kept) - 1
    parent = np.where(above[rows] == ROOT, ROOT, place[above[rows]]).astype(np.int32)
    names = tuple(arrangement.ids[row] for row in rows)
    own = {name: getattr(tree, name)[rows] for name in ("phi", "kind", "weight", "n_docs")}
    support = tree.transfer
    if support is not None:
        words = None if support.words is None else support.words[rows]
        support = support._replace(documents=support.documents[rows], words=words)
    return replace(
        tree,
        **own,
        parent=parent,
        n_tokens=tree.n_tokens[rows],
        transfer=support,
        arrangement=Arrangement(arrangement.note, names, lengths[rows]),
    )


def topics_arranged(
    tree: Tree, theta: sparse.csr_array, doc_lengths: Ints
) -> tuple[Tree, sparse.csr_array]:
    """Return the tree of ``banded`` above the topics of a flat tree, and the topics' places.

    theta: CSR [n_docs, n_nodes]. doc_lengths: in tokens. The second value is ones, float64 CSR
    [n_nodes of ``tree``, n_nodes of the other]: a product with it moves shares of topics. Raises
    UsageError where ``tree`` is no flat list of topics.
    """
    members = documents_with(theta, np.asarray(doc_lengths, dtype=np.int64)).toarray()
    made = banded(arrange(tree, members, contexts(theta, doc_lengths, tree.phi)))
    assert made.arrangement is not None
    places = [(row, name) for row, name in enumerate(made.arrangement.ids) if isinstance(name, int)]
    rows, topics = np.array(places, dtype=np.int64).T
    cells = (np.ones(len(rows)), (topics, rows))
    return made, sparse.csr_array(cells, shape=(tree.n_nodes, made.n_nodes))
