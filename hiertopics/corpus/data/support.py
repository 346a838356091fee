"""Support of nodes: how far a node comes back in trees of other documents.

The transfer bootstrap expectation of phylogenetics (F. Lemoine et al., Nature 556, 2018) with soft
sets: a node holds tokens of rows, which are documents or words. theory/agreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Ints
from hiertopics.base.stretches import rows_of
from hiertopics.corpus.data.tree import ROOT, SUPPORTED, Tree
from hiertopics.corpus.data.treeshares import TreeShares, tree_shares

LEAST_SHARE = 0.02
"""Smaller shares of a row at and below a node count 0."""

FEWEST = 3
"""Resamples that tell how much they differ: of two the 95% interval of a mean has 12.7 standard
errors on each side."""

BAND = 25
"""Words of like frequency that are permuted among each other."""


LEFT_OUT = "Without a tenth of the documents"
"""The condition under which branches come back, in place of the term *resample*."""

OTHER_RUN = "other run"
"""Name of a fit that support was measured against and that is no resample; see ``how_found``."""


class Transfer(NamedTuple):
    """How far each node is found in one other tree. found: float64 [n_nodes], 0 to 1.

    chance: the mean of the same where the rows of the other tree are permuted.
    """

    found: F64
    chance: F64


def masses(shares: TreeShares, lengths: Ints) -> sparse.csr_array:
    """Return the tokens of rows at and below nodes, float64 CSR [n_rows, n_nodes].

    lengths: tokens of each row. Small shares are left out.
    """
    found = sparse.csr_array(shares.below, copy=True)
    found.data[found.data < LEAST_SHARE] = 0.0
    found.eliminate_zeros()
    rows = rows_of(found.indptr)
    found.data *= np.asarray(lengths, dtype=np.float64)[rows]
    return found


def word_shares(tree: Tree) -> sparse.csr_array:
    """Return the share of each word's tokens at each node, float64 CSR [n_words, n_nodes]."""
    tokens = tree.phi * tree.n_tokens[:, None]
    whole = tokens.sum(axis=0)
    found: F64 = np.divide(tokens, whole, out=np.zeros_like(tokens), where=whole > 0)
    return sparse.csr_array(found.T)


def transfer(own: sparse.csr_array, other: sparse.csr_array, orders: Iterable[I64]) -> Transfer:
    """Return how far each node of one tree is found in another one, over the same rows.

    own, other: ``masses`` of the two [n_rows, n_nodes], a root first. orders: permutations of the
    rows for the level of chance.
    """
    found = best_overlap(own, other)
    drawn = [best_overlap(own, other, order) for order in orders]
    return Transfer(found, np.mean(drawn, axis=0) if drawn else np.zeros_like(found))


def best_overlap(own: sparse.csr_array, other: sparse.csr_array, order: I64 | None = None) -> F64:
    """Return the largest max(0, 1 - sum |a_v - a_u| / sum a_v) over nodes u but the root.

    order: int64 [n_rows], the row of the other tree that stands beside each; None: the same.

    sum |a - b| is sum a + sum b - 2 sum min(a, b), and only rows with tokens at both nodes have a
    minimum: the cost is that of the pairs of nodes that share a row.
    """
    from hiertopics.numeric import overlap_kernels  # views that read support compile nothing

    size, other_size = (np.asarray(each.sum(axis=0)).ravel() for each in (own, other))
    common = np.zeros((own.shape[1], other.shape[1]))
    beside = np.arange(own.shape[0]) if order is None else order
    overlap_kernels.add_smaller(*_parts(own), beside, *_parts(other), common)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = size[:, None] + other_size[None, :] - 2 * common
        near = np.maximum(0.0, 1.0 - apart / size[:, None])
    near[size == 0] = 0.0
    found: F64 = near[:, 1:].max(axis=1, initial=0.0)
    return found


def _parts(matrix: sparse.csr_array) -> tuple[I64, I64, F64]:
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def word_orders(counts: Ints, n: int, rng: np.random.Generator) -> list[I64]:
    """Return ``n`` permutations of words, int64 [n_words], within bands of like frequency.

    counts: int [n_words], the tokens of each.
    """
    ranked = np.argsort(-np.asarray(counts), kind="stable")
    orders = []
    for _ in range(n):
        order = np.empty(len(ranked), dtype=np.int64)
        for first in range(0, len(ranked), BAND):
            band = ranked[first : first + BAND]
            order[band] = rng.permutation(band)
        orders.append(order)
    return orders


def support_of(transfers: Sequence[Transfer]) -> F64:
    """Return max(0, (mean found - mean chance) / (1 - mean chance)), float64 by node, in [0, 1]."""
    found = np.mean([each.found for each in transfers], axis=0)
    chance = np.mean([each.chance for each in transfers], axis=0)
    spare = 1.0 - chance
    value: F64 = np.divide(found - chance, spare, out=np.zeros_like(found), where=spare > 0)
    return np.maximum(0.0, value)


def in_tree(values: F64, shares: TreeShares, n_nodes: int) -> F64:
    """Return values [n_rows] by rows of ``shares`` as float64 [n_nodes] by rows of the tree.

    NaN for its root, and for what lies outside the nodes.
    """
    found = np.full(n_nodes, np.nan)
    found[shares.rows[1:]] = values[1:]
    return found


class Coverage(NamedTuple):
    """The share of a tree that comes back in resamples.

    covered_50, covered_70: share of the tokens below the root that stand at or below a node of
    that support, of any depth. branches_50: share of all tokens that stand at or below a child of
    the root of support 0.5. bits: mutual information of document and node per token, in bits, after
    every node below 0.5 is part of the next one above it that is not. by_depth: the mean support of
    the nodes of each depth, the children of the root first.
    """

    covered_50: float
    covered_70: float
    branches_50: float
    bits: float
    by_depth: list[float]


def covered(tree: Tree, theta: sparse.csr_array, lengths: Ints, value: F64) -> Coverage:
    """Return the share of a tree that comes back. value: float64 [n_nodes], support of nodes."""
    shares = tree_shares(tree, theta)
    own = np.array([0.0 if row < 0 else value[row] for row in shares.rows])
    own[0] = 1.0
    tokens = np.array([0.0 if row < 0 else tree.n_tokens[row] for row in shares.rows])
    below = tokens[1:].sum()
    parts = []
    for least in (SUPPORTED, 0.7):
        back = _anywhere_above(shares, own >= least)
        parts.append(float(tokens[1:][back[1:]].sum() / below) if below > 0 else 0.0)
    first = _anywhere_above(shares, (own >= SUPPORTED) & (shares.parent == 0))
    of_all = float(tokens[first].sum() / max(float(tree.n_tokens.sum()), 1.0))
    depth = _depths(shares)
    by_depth = [float(own[depth == level].mean()) for level in range(1, int(depth.max()) + 1)]
    bits = _bits(tree, theta, lengths, shares, own)
    return Coverage(parts[0], parts[1], of_all, bits, by_depth)


def support_told(tree: Tree, depth: int | None = None, hidden: Bools | None = None) -> str:
    """Return a sentence, without a full stop, on the branches that come back; "" if unknown.

    How many of them come back, and which share of all tokens stands at or below these: what a
    reader of the view counts and sums. depth: levels that the view shows; None: all. hidden: bool
    [n_nodes], nodes that it does not show.
    """
    support = tree.transfer
    if support is None or not support.is_of_nodes:
        return "" if support is None else support.note
    gone = np.isnan(support.value) if hidden is None else np.isnan(support.value) | hidden
    levels = _levels(tree, tree.shown[~gone[tree.shown]], depth)
    if not support.how or not levels:
        return ""
    back = support.value >= SUPPORTED
    first = levels[0]
    share = tree.subtree_weight[first[back[first]]].sum()
    what = "branches" if _has_levels(tree) else "topics"
    tokens = "words" if tree.vectors is None else "rows"
    told = "In other runs" if OTHER_RUN in support.how else LEFT_OUT
    told += f" {back[first].sum()} of {len(first)} {what} come back, "
    told += f"with {share:.0%} of all {tokens}"
    return f"{told} (support {SUPPORTED:g} or more, {support.how})"


def without_sentence(tree: Tree) -> Tree:
    """Return the tree without its sentence on support, for views that tell it in its own place."""
    if tree.transfer is None:
        return tree
    return replace(tree, transfer=tree.transfer._replace(how="", note=""))


def support_lacks(tree: Tree) -> str:
    """Return a sentence, without a full stop, if nobody measured the support of a tree; else "".

    None of flat topics: ``fit`` measures the support of trees alone.
    """
    if tree.transfer is not None or not _has_levels(tree) or len(tree.shown) < 3:
        return ""
    return "How many branches come back if a tenth of the documents is left out was not measured"


def _has_levels(tree: Tree) -> bool:
    """Tell whether depths of a tree mean something: not those of flat topics that were arranged."""
    return not tree.is_flat and tree.arrangement is None


def _levels(tree: Tree, nodes: I64, depth: int | None) -> list[I64]:
    """Return the nodes of each depth above ``depth``; of a tree without levels all in one."""
    if depth is not None:
        nodes = nodes[tree.depth[nodes] < depth]
    level = tree.depth[nodes] if _has_levels(tree) else np.zeros(len(nodes), np.int32)
    return [nodes[level == one] for one in np.unique(level)]


def how_found(record: Mapping[str, Any]) -> str:
    """Return how the support of a record of support.json was found, in a few words."""
    n, iterations = int(record["resamples"]), record.get("iterations")
    if "against" in record.get("settings", ()):
        return f"{n} {OTHER_RUN}{'s' * (n != 1)}"
    told = f"{n} resamples"
    if n < FEWEST:
        told += ", too few to tell"
    needed = record.get("needed")
    if iterations is not None and needed is not None and iterations < needed:
        told += f"; {iterations} iteration{'s' * (iterations != 1)}"
        told += f" of the {needed} that a resample needs"
    shuffled = (record.get("null") or {}).get("branches_50")
    if shuffled is not None:
        told += f"; {shuffled:.0%} of the words of a shuffled corpus"
    return told


def _depths(shares: TreeShares) -> I64:
    depth = np.zeros(len(shares.parent), dtype=np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[shares.parent[node]] + 1
    return depth


def _anywhere_above(shares: TreeShares, marks: Bools) -> Bools:
    """Return which nodes are marked or have a marked node above them; the root has no say."""
    found = marks.copy()
    found[0] = False
    for node in range(1, len(found)):
        found[node] |= found[shares.parent[node]]
    return found


def _bits(
    tree: Tree, theta: sparse.csr_array, lengths: Ints, shares: TreeShares, own: F64
) -> float:
    into = np.arange(len(shares.parent))
    for node in range(1, len(into)):
        if not own[node] >= SUPPORTED:
            into[node] = into[shares.parent[node]]
    # What lies outside the nodes counts at the root.
    column = np.zeros(tree.n_nodes, dtype=np.int64)
    known = shares.rows >= 0
    column[shares.rows[known]] = into[known]
    cells = (np.ones(tree.n_nodes), (np.arange(tree.n_nodes), column))
    joined = sparse.csr_array(theta @ sparse.csr_array(cells, shape=(tree.n_nodes, len(into))))
    doc = rows_of(joined.indptr)
    joint = joined.data * np.asarray(lengths, dtype=np.float64)[doc]
    total = joint.sum()
    if not total > 0:
        return 0.0
    joint = joint / total
    of_doc = np.bincount(doc, joint, minlength=joined.shape[0])
    of_node = np.bincount(joined.indices, joint, minlength=len(into))
    here = joint > 0
    expected = of_doc[doc[here]] * of_node[joined.indices[here]]
    return float((joint[here] * np.log2(joint[here] / expected)).sum())


def collapsed(tree: Tree, value: F64, least: float) -> Tree:
    """Return a tree without the nodes of less support, to be looked at only.

    value: float64 [n_nodes], their support. Their tokens count at the next node above that stays,
    and what hangs below them hangs there. A root stays; of flat topics nothing is left above those
    of less support, and all stay.
    """
    into = np.arange(tree.n_nodes)
    for node in tree.shown.tolist():
        if tree.parent[node] != ROOT and not value[node] >= least:
            into[node] = into[tree.parent[node]]
    gone = into != np.arange(tree.n_nodes)
    return tree.without(gone)
