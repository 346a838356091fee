"""A fitted tree with other nodes above its leaves, whose topics stay (theory/nhdp 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Ints
from hiertopics.contract.model import Context
from hiertopics.corpus.data import seedwords
from hiertopics.corpus.data.arranging import contexts
from hiertopics.corpus.data.shelf import Bags
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.families.nhdp import documents
from hiertopics.families.nhdp.config import VariationalSettings
from hiertopics.families.nhdp.layout import Shape, shape_of
from hiertopics.families.nhdp.learning import learn
from hiertopics.families.nhdp.shapes import Arranged, arrange, ward
from hiertopics.families.nhdp.summary import mixing_of

ROUNDS = 10
"""Of shares and concentrations, given what documents have at nodes."""

TINY = np.finfo(float).tiny


class Moved(NamedTuple):
    """What nodes of the new tree have. theta: float64 [n_docs, K].

    tokens: float64 [K_old, K], those that each node of the old tree leaves to each of the new one.
    """

    theta: F64
    tokens: F64


def recut(
    tree: Tree,
    theta: F64,
    corpus: Bags,
    branches: Sequence[int],
    settings: VariationalSettings,
    context: Context,
) -> tuple[Tree, F64]:
    """Return the tree whose leaves are merged into so many clusters at each level, and its theta.

    The leaves are linked by Ward's rule on their words and on those of their documents that the
    model expects. Leaves and the root keep topics and theta. The tokens of any other inner node go
    to the nodes of its depth, or to the lowest inner nodes, above the leaves that its documents
    have below it. What documents share is learned from q(z) proportional to theta and phi.
    """
    lengths = corpus.doc_lengths
    leaves = shape_of(tree.parent).leaves
    around = contexts(sparse.csr_array(theta), lengths, tree.phi)[leaves]
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


def _moved(tree: Tree, theta: F64, lengths: Ints, arranged: Arranged) -> Moved:
    old, shape = shape_of(tree.parent), arranged.shape
    leaves, at = old.leaves, arranged.node
    found = np.zeros((len(theta), shape.n_nodes))
    tokens = np.zeros((old.n_nodes, shape.n_nodes))
    found[:, at] = theta[:, leaves]
    tokens[leaves, at] = tree.n_tokens[leaves]
    usual = np.maximum(tree.n_tokens[leaves], TINY)
    for node in old.inner.tolist():
        below = _below(old, node)[leaves]
        above = _at_depth(shape, at, int(old.depth[node]))
        share = np.where(below, theta[:, leaves], 0.0)
        nowhere = share.sum(axis=1) == 0
        share[nowhere] = np.where(below, usual, 0.0)
        share /= share.sum(axis=1, keepdims=True)
        its = np.zeros_like(found)
        np.add.at(its.T, above, (theta[:, [node]] * share).T)
        found += its
        used = lengths @ its
        if used.sum() > 0:
            tokens[node] = tree.n_tokens[node] * used / used.sum()
    return Moved(found / found.sum(axis=1, keepdims=True), tokens)


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


def _tree(tree: Tree, moved: Moved, arranged: Arranged) -> Tree:
    """Return the tree without what documents share; topics of nodes are means by tokens.

    A node to which no token goes has the mean of those below it.
    """
    shape, n_tokens = arranged.shape, moved.tokens.sum(axis=0)
    leaves = shape_of(tree.parent).leaves
    weights = moved.tokens.copy()
    weights[leaves, arranged.node] = np.maximum(weights[leaves, arranged.node], TINY)
    weights[0, 0] = max(weights[0, 0], TINY)
    sums = weights.sum(axis=0)
    phi = (weights / np.maximum(sums, TINY)).T @ tree.phi
    usual = np.maximum(tree.n_tokens[leaves], 1e-9)
    members = arranged.members
    for node in shape.inner[sums[shape.inner] <= 0].tolist():
        phi[node] = (members[node] * usual) @ tree.phi[leaves]
    # The very numbers of topics that stay, without the rounding of a product.
    phi[arranged.node], phi[0] = tree.phi[leaves], tree.phi[0]
    stays = np.append(arranged.node, 0)
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
