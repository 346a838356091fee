"""A fitted tree with other nodes above its leaves, whose topics stay (theory/nhdp 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Ints
from hiertopics.base.made import all_entries
from hiertopics.contract.model import Context
from hiertopics.corpus.data import NODE, Bags, Tree, seedwords
from hiertopics.corpus.data.arranging import contexts
from hiertopics.families.nhdp import documents
from hiertopics.families.nhdp.config import VariationalSettings
from hiertopics.families.nhdp.layout import Shape, shape_of
from hiertopics.families.nhdp.learning import learn
from hiertopics.families.nhdp.shapes import ArrangedTopics, arrange, ward
from hiertopics.families.nhdp.summary import mixing_of

ROUNDS = 10
"""Updates of shares and concentrations, given the tokens of documents at nodes."""

DOCS_AT_ONCE = 4096
"""Documents whose shares are moved at a time."""

TINY = np.finfo(float).tiny


class NodeContents(NamedTuple):
    """Contents of the new tree's nodes. theta: float64 CSR [n_docs, K].

    tokens: float64 [K_old, K], those that each node of the old tree leaves to each of the new one.
    """

    theta: sparse.csr_array
    tokens: F64


class ShareTargets(NamedTuple):
    """The new places of an inner node's share of a document.

    leaves: those of the old tree below it; usual: float64, their tokens, by which the share of a
    document with nothing there is divided. into: nodes of the new tree; which: float64
    [n_leaves, n_into], 1 where a leaf stands below one of these.
    """

    node: int
    leaves: I64
    usual: F64
    into: I64
    which: F64


def recut(
    tree: Tree,
    theta: sparse.csr_array,
    corpus: Bags,
    branches: Sequence[int],
    settings: VariationalSettings,
    context: Context,
) -> tuple[Tree, sparse.csr_array]:
    """Return the tree with leaves merged into n clusters at each level, and its theta.

    The leaves are linked by Ward's rule on their words and on those of their documents that the
    model expects. Leaves and the root keep topics and theta. The tokens of any other inner node go
    to the nodes of its depth, or to the lowest inner nodes, above the leaves that its documents
    have below it. What documents share is learned from q(z) proportional to theta and phi.
    """
    lengths = corpus.doc_lengths
    leaves = shape_of(tree.parent).leaves
    around = contexts(theta, lengths, tree.phi)[leaves]
    merges = ward((tree.phi[leaves] + around) / 2)
    arranged = arrange(merges, branches, least=settings.model.least_children)
    moved = _moved(tree, theta, lengths, arranged)
    bare = _tree(tree, moved, arranged)
    data = documents.prepare(corpus, settings)._replace(seeds=seedwords.NONE)
    begun = bare.parent, bare.phi, moved.theta
    stop = _stops(tree, moved.tokens, arranged.shape)
    state = documents.begin_known(*begun, data, settings, context, stop=stop)
    for _ in range(ROUNDS):
        state.mix(learn(state, data, settings))
    mixing = state.mixing
    stop = np.column_stack([mixing.stop_a, mixing.stop_b])
    own = {"share": mixing.share, "concentration": mixing.concentration, "stop": stop}
    return replace(bare, extra={**tree.extra, **own}), moved.theta


def _moved(
    tree: Tree, theta: sparse.csr_array, lengths: Ints, arranged_topics: ArrangedTopics
) -> NodeContents:
    old, shape = shape_of(tree.parent), arranged_topics.shape
    leaves, at = old.leaves, arranged_topics.node
    tokens = np.zeros((old.n_nodes, shape.n_nodes))
    tokens[leaves, at] = tree.n_tokens[leaves]
    ways = [_way(tree, old, node, arranged_topics) for node in old.inner.tolist()]
    is_full = theta.nnz == theta.shape[0] * theta.shape[1]
    parts = []
    for first in range(0, theta.shape[0], DOCS_AT_ONCE):
        rows = theta[first : first + DOCS_AT_ONCE].toarray()
        found = np.zeros((len(rows), shape.n_nodes))
        found[:, at] = rows[:, leaves]
        for way in ways:
            its = _shared(rows, way)
            found[:, way.into] += its
            tokens[way.node, way.into] += lengths[first : first + len(rows)] @ its
        found /= found.sum(axis=1, keepdims=True)
        parts.append(all_entries(found) if is_full else sparse.csr_array(found))
    used = tokens[old.inner].sum(axis=1, keepdims=True)
    share = np.divide(tokens[old.inner], used, out=np.zeros_like(tokens[old.inner]), where=used > 0)
    tokens[old.inner] = tree.n_tokens[old.inner, None] * share
    return NodeContents(sparse.csr_array(sparse.vstack(parts, format="csr")), tokens)


def _way(tree: Tree, old: Shape, node: int, arranged_topics: ArrangedTopics) -> ShareTargets:
    below = _below(old, node)[old.leaves]
    leaves = old.leaves[below]
    above = _at_depth(arranged_topics.shape, arranged_topics.node[below], int(old.depth[node]))
    into, place = np.unique(above, return_inverse=True)
    usual = np.maximum(tree.n_tokens[leaves], TINY)
    return ShareTargets(node, leaves, usual, into, np.eye(len(into))[place])


def _shared(rows: F64, way: ShareTargets) -> F64:
    """Return an inner node's shares of documents, divided among new nodes, [n_docs, n_into]."""
    share = rows[:, way.leaves]
    share[share.sum(axis=1) == 0] = way.usual
    share /= share.sum(axis=1, keepdims=True)
    return np.asarray(rows[:, [way.node]] * (share @ way.which))


def _below(shape: Shape, node: int) -> Bools:
    """Return which nodes stand at or below one, bool [K]."""
    found = np.zeros(shape.n_nodes, bool)
    found[node] = True
    for other in range(node + 1, shape.n_nodes):
        found[other] = found[shape.parent[other]]
    return found


def _at_depth(shape: Shape, at: I64, depth: int) -> I64:
    """Return the inner node of this depth above each node, or the lowest one, int64 [n]."""
    found = shape.parent[at].astype(np.int64)
    while (deeper := shape.depth[found] > depth).any():
        found[deeper] = shape.parent[found[deeper]]
    return found


def _tree(tree: Tree, moved: NodeContents, arranged_topics: ArrangedTopics) -> Tree:
    """Return the tree without what documents share; topics of nodes are means by tokens.

    A node to which no token goes has the mean of those below it.
    """
    shape, n_tokens = arranged_topics.shape, moved.tokens.sum(axis=0)
    leaves = shape_of(tree.parent).leaves
    weights = moved.tokens.copy()
    weights[leaves, arranged_topics.node] = np.maximum(weights[leaves, arranged_topics.node], TINY)
    weights[0, 0] = max(weights[0, 0], TINY)
    sums = weights.sum(axis=0)
    phi = (weights / np.maximum(sums, TINY)).T @ tree.phi
    usual = np.maximum(tree.n_tokens[leaves], 1e-9)
    members = arranged_topics.members
    for node in shape.inner[sums[shape.inner] <= 0].tolist():
        phi[node] = (members[node] * usual) @ tree.phi[leaves]
    # The very numbers of topics that stay, without the rounding of a product.
    phi[arranged_topics.node], phi[0] = tree.phi[leaves], tree.phi[0]
    stays = np.append(arranged_topics.node, 0)
    other = np.setdiff1d(np.arange(shape.n_nodes), stays)
    phi[other] /= phi[other].sum(axis=1, keepdims=True)
    return Tree(
        phi=phi,
        parent=shape.parent.copy(),
        kind=np.full(shape.n_nodes, NODE, np.int8),
        weight=n_tokens / n_tokens.sum() if n_tokens.sum() > 0 else np.eye(shape.n_nodes)[0],
        n_docs=np.zeros(shape.n_nodes, np.int64),
        n_tokens=n_tokens,
    )


def _stops(tree: Tree, tokens: F64, shape: Shape) -> F64:
    """Return weights of stopping and of going on, [K, 2]: means of those that tokens come from.

    The root's where there are no tokens.
    """
    mixing, inner = mixing_of(tree), shape.inner
    weights = tokens[:, inner].copy()
    weights[0] = np.where(weights.sum(axis=0) > 0, weights[0], 1.0)
    weights /= weights.sum(axis=0)
    stop = np.zeros((shape.n_nodes, 2))
    stop[inner] = np.column_stack([mixing.stop_a @ weights, mixing.stop_b @ weights])
    return stop
