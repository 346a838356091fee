"""From counts to the tree that users see: nodes without a token go, theta and phi of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Floats
from hiertopics.base.axes import Axes
from hiertopics.base.made import MadeRows, all_entries
from hiertopics.base.room import Room
from hiertopics.contract.model import Summary
from hiertopics.corpus.data import NODE, ROOT, Regrouping, Seeds, Tree, seedwords
from hiertopics.families.flat.summary import EntriesWriter, RowEntries, stacked_rows
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing, below

LIVE_TOKENS = 1.0
MOST_ENTRIES = 1 << 25
"""Entries of theta up to which all of them are stored: 400 MB."""

KEPT_ENTRIES = 1 << 22
"""Entries of theta above which they are made where they are wanted: 50 MB with their indices."""

WORDS_AT_ONCE = 1024
"""Words whose chances are made at a time."""

DOCS_AT_ONCE = 1024
"""Documents whose theta is made at a time, at least, where there are so many."""

NEARLY_ALL = 0.95
FEW_NODES = 2


class WordCounts(NamedTuple):
    """Input of topics. n_wi [n_words, K]: (expected) counts, without seed words.

    eta: pseudo-count of each word.
    """

    n_wi: Floats
    eta: float
    seeds: Seeds = seedwords.NONE


class NhdpSummaryInput(NamedTuple):
    """The result of every method, by node.

    n_di: (expected) counts [n_docs, K], dense or CSR. words: makes those of words, which may be
    large, when theta is there.
    """

    mixing: Mixing
    n_di: Floats | sparse.csr_array
    words: Callable[[], WordCounts]


EXTRA = {
    "share": Annotated[F64, Axes("n_nodes", least=0)],
    "concentration": Annotated[F64, Axes("n_nodes", least=0)],
    "stop": Annotated[F64, Axes("n_nodes", "2", least=0)],
}
"""Arrays of a tree that ``mixing_of`` needs."""


def summarise(fitted: NhdpSummaryInput) -> Summary:
    """Return the tree of nodes with a token, and theta of the training documents.

    Of nodes that have less than one token at and below them what they hold goes to their parent,
    their share to their siblings (theory/nhdp 6.5).
    """
    left = pruning(fitted.mixing, _totals(fitted.n_di))
    n_nodes, n_rows = left.mixing.shape.n_nodes, fitted.n_di.shape[0]
    # A large theta is not kept itself; the counts that it is made of are.
    is_large = isinstance(fitted.n_di, sparse.csr_array) and n_rows * n_nodes > KEPT_ENTRIES
    theta, n_docs = np.empty((0 if is_large else n_rows, n_nodes)), np.zeros(n_nodes, np.int64)
    # All else is of some documents at a time. None is alone: numpy adds up the children of a
    # single row in another order.
    n_blocks = max(n_rows // DOCS_AT_ONCE, 1)
    bounds = np.linspace(0, n_rows, n_blocks + 1).astype(np.int64)
    for first, last in pairwise(bounds.tolist()):
        n_di = _gathered(left, fitted.n_di, first, last)
        rows = left.mixing.weights(n_di)
        n_docs += _users(rows, n_di)
        if not is_large:
            theta[first:last] = rows
    tree, seeds = _tree_and_seeds(left, fitted.words(), n_docs)
    made = MadeRows(partial(_theta, left, fitted.n_di), bounds, n_nodes)
    summary = Summary(tree, made if is_large else all_entries(theta), notes=_notes(tree))
    return named(summary, left, seeds)


def _gathered(left: Pruning, n_di: Floats | sparse.csr_array, first: int, last: int) -> F64:
    """Return the counts of some documents by the remaining nodes, float64."""
    rows = n_di[first:last]
    return left.gather(rows.toarray() if isinstance(rows, sparse.csr_array) else rows)


def _theta(left: Pruning, n_di: Floats | sparse.csr_array, first: int, last: int) -> F64:
    """Return theta of some documents."""
    return left.mixing.weights(_gathered(left, n_di, first, last))


def _tree_and_seeds(left: Pruning, words: WordCounts, n_docs: I64) -> tuple[Tree, Seeds]:
    """Return the tree of these counts, and the seed words."""
    return tree_of(left, words, n_docs), words.seeds


def _totals(n_di: Floats | sparse.csr_array) -> F64:
    """Return the sums of columns, float64 [K], added up in the order of documents."""
    if isinstance(n_di, sparse.csr_array):
        return np.asarray(np.bincount(n_di.indices, n_di.data, n_di.shape[1]), np.float64)
    return np.asarray(n_di.sum(axis=0, dtype=np.float64))


def named(summary: Summary, left: Pruning, seeds: Seeds) -> Summary:
    """Return the summary with names at their nodes; it notes those that are without a token."""
    nodes = dict(zip(seeds.names, left.into[seeds.branches].tolist(), strict=True))
    gone = [name for name, node in nodes.items() if not node]
    notes = [f"the branch of the seed words {name!r} has no token: it is left out" for name in gone]
    found = {node: name for name, node in nodes.items() if node}
    return replace(summary, names=found).noting(*notes)


def tree_of(left: Pruning, words: WordCounts, n_docs: I64) -> Tree:
    """Return the tree of these counts of words. n_docs: int64 [n_nodes], of the nodes left."""
    shape, mixing = left.mixing.shape, left.mixing
    n_wi, eta, seeds = words
    phi = np.empty((shape.n_nodes, len(n_wi)))
    n_i, total = np.zeros((2, shape.n_nodes))
    for first in range(0, len(n_wi), WORDS_AT_ONCE):
        counts = np.maximum(left.gather(n_wi[first : first + WORDS_AT_ONCE]), 0)
        n_i += counts.sum(axis=0)
        counts += eta
        total += counts.sum(axis=0)
        phi[:, first : first + WORDS_AT_ONCE] = counts.T
    node = left.into[seeds.branches][seeds.name]
    here = node > 0  # the root's place is that of branches that are left out
    phi[node[here], seeds.word[here]] += seeds.weight
    total += seeds.weight * np.bincount(node[here], minlength=len(total))
    phi /= total[:, None]
    return Tree(
        phi=phi,
        parent=shape.parent.copy(),
        kind=np.full(shape.n_nodes, NODE, np.int8),
        weight=n_i / n_i.sum() if n_i.sum() > 0 else np.eye(shape.n_nodes)[0],
        n_docs=n_docs,
        n_tokens=n_i,
        extra={
            "share": mixing.share,
            "concentration": mixing.concentration,
            "stop": np.column_stack([mixing.stop_a, mixing.stop_b]),
            "eta": np.array([eta]),
        },
    )


def _users(theta: F64, n_di: Floats) -> I64:
    """Return how many documents give each node at least a token's share, int64 [K]."""
    lengths = np.maximum(n_di.sum(axis=1, dtype=np.float64), 0.0)
    enough = theta >= 1.0 / np.maximum(lengths, 1.0)[:, None]
    return np.asarray((enough & (lengths > 0.5)[:, None]).sum(axis=0), np.int64)


class Pruning(NamedTuple):
    """The remaining part of a tree. into: int64 [K], the node that takes each node's counts."""

    mixing: Mixing
    into: I64

    def gather(self, n: Floats) -> F64:
        """Return counts [n, K] of all nodes by those that are left, float64."""
        n_left = self.mixing.shape.n_nodes
        if n_left == len(self.into):
            return np.array(n, np.float64)
        ones = np.ones(len(self.into))
        onto = sparse.csr_array((ones, (self.into, np.arange(len(ones)))), (n_left, len(ones)))
        return np.ascontiguousarray((onto @ np.asarray(n, np.float64).T).T)


def pruning(mixing: Mixing, n_i: F64) -> Pruning:
    """Return the remaining part of a tree with the given tokens at each node [K]."""
    shape = mixing.shape
    kept = below(shape, n_i) >= LIVE_TOKENS
    kept[0] = True
    if kept.all():
        return Pruning(mixing, np.arange(shape.n_nodes))
    number = np.cumsum(kept) - 1
    into = np.where(kept, number, 0)
    for node in np.flatnonzero(~kept):
        into[node] = into[shape.parent[node]]
    share = np.where(kept, mixing.share, 0.0)
    for node in shape.inner:
        children = shape.children(int(node))
        share[children] /= max(share[children].sum(), np.finfo(float).tiny)
    parent = np.where(shape.parent[kept] == ROOT, ROOT, number[shape.parent[kept]])
    smaller = shape_of(parent)
    leaf = smaller.n_children == 0
    rows = ((0.0, mixing.concentration), (1.0, mixing.stop_a), (0.0, mixing.stop_b))
    concentration, stop_a, stop_b = (np.where(leaf, at_leaf, row[kept]) for at_leaf, row in rows)
    return Pruning(Mixing(smaller, share[kept], concentration, stop_a, stop_b), into)


class NodeTheta(NamedTuple):
    """Theta of a piece's documents.

    n_docs: int64 [K], how many documents give each node at least a token's share.
    """

    theta: RowEntries
    n_docs: I64


def weigh(blocks: Iterable[Floats], left: Pruning, room: Room) -> NodeTheta:
    """Return theta of documents whose counts by all nodes come in blocks, at nodes with tokens.

    A block: [some documents, n_nodes before pruning].
    What 2.2 gives to a branch without a token of the document goes to the node above it, so that
    rows sum to 1, and what is at and below a node with tokens is what it was.
    """
    writer, n_docs = EntriesWriter(room), np.zeros(left.mixing.shape.n_nodes, np.int64)
    parent = left.mixing.shape.parent
    for block in blocks:
        n = left.gather(block)
        theta = left.mixing.weights(n)
        n_docs += _users(theta, n)
        stored = below(left.mixing.shape, np.maximum(n, 0)) > 0
        stored[:, 0] = True
        for node in range(len(parent) - 1, 0, -1):
            theta[:, parent[node]] += np.where(stored[:, node], 0.0, theta[:, node])
        writer.add_stored(theta, stored)
    return NodeTheta(writer.done(), n_docs)


def summarise_rows(
    parts: Sequence[NodeTheta], left: Pruning, words: WordCounts, room: Room
) -> Summary:
    """Return the result of ``summarise`` for theta that was made piece by piece."""
    n_docs = np.sum([part.n_docs for part in parts], axis=0)
    tree = tree_of(left, words, n_docs)
    theta = stacked_rows([part.theta for part in parts], tree.n_nodes, room)
    return named(Summary(tree, theta, notes=_notes(tree)), left, words.seeds)


def notes_on_shape(tree: Tree, branches: Literal["auto"] | list[int]) -> tuple[str, ...]:
    """Warn if the tree is smaller than ``model.branches`` asks for, or hardly a tree."""
    depth = int(tree.depth.max())
    if branches != "auto" and depth <= len(branches):
        asked = f"{len(branches) + 1} levels below the root, of {branches} nodes and the leaves"
        return (f"the corpus gave {depth}, where model.branches asks for {asked}",)
    if tree.n_nodes <= FEW_NODES:
        few = "a single node" if tree.n_nodes == 1 else f"{tree.n_nodes} nodes"
        return (f"the tree has {few}; the corpus is too small or uniform for branches",)
    return ()


def mixing_of(tree: Tree) -> Mixing:
    """Return the parameters that documents share, as ``summarise`` left them in the tree."""
    extra = tree.extra
    return Mixing(
        shape_of(tree.parent),
        extra["share"],
        extra["concentration"],
        *np.ascontiguousarray(extra["stop"].T),
    )


def merge_extra(tree: Tree, grouping: Regrouping) -> dict[str, NDArray[Any]]:
    """Return ``extra`` of a tree some of whose nodes were put together or taken out.

    Shares of siblings that are one add up, and their children's are weighed by them; the
    concentrations and stops of inner nodes become means, weighted by the share of all tokens at
    and below each. What was taken out leaves its share to its siblings (theory/nhdp 6.5). A node
    that was moved has the same share of the whole as before, its new siblings make room for it; a
    leaf that gets children has the concentration and the stops of the inner node above it.
    """
    extra, into, gone = _with_inner(tree, grouping), grouping.into, grouping.removed
    share = np.where(gone, 0.0, extra["share"])
    merged = grouping.sums(share)
    above = np.where(tree.parent == ROOT, 0, tree.parent)
    # Of its parent's part in the node that the parent has become.
    part = share[above] / np.maximum(merged[into[above]], np.finfo(float).tiny)
    part[(tree.parent == ROOT) | (grouping.counts[into[above]] == 1)] = 1.0
    moved = grouping.moved(tree)
    if moved.any():
        whole = _of_whole(tree)
        below_now = grouping.sums(whole)[grouping.parent[into[moved]]]
        part[moved] = whole[above[moved]] / np.maximum(below_now, np.finfo(float).tiny)
    merged = grouping.sums(share * part)
    shape = shape_of(grouping.parent)
    for node in shape.inner:
        children = shape.children(int(node))
        merged[children] /= max(merged[children].sum(), np.finfo(float).tiny)
    leaf = shape.n_children == 0
    inner = (extra["concentration"] > 0) & ~gone
    weights = np.where(inner, tree.subtree_weight, 0.0)
    concentration = np.where(leaf, 0.0, grouping.means(extra["concentration"], weights))
    stop = np.where(leaf[:, None], [[1.0, 0.0]], grouping.means(extra["stop"], weights))
    return {**extra, "share": merged, "concentration": concentration, "stop": stop}


def _of_whole(tree: Tree) -> F64:
    """Return the share of each node in the whole tree: the product of shares from the root on."""
    whole = np.array(tree.extra["share"], dtype=np.float64)
    for node in range(tree.n_nodes):
        if tree.parent[node] != ROOT:
            whole[node] *= whole[tree.parent[node]]
    return whole


def _with_inner(tree: Tree, grouping: Regrouping) -> dict[str, NDArray[Any]]:
    """Return ``extra`` in which leaves that nodes are moved below have what inner nodes have."""
    extra = dict(tree.extra)
    below = grouping.parent[grouping.into[grouping.moved(tree)]]
    for node in np.flatnonzero(np.isin(grouping.into, below)).tolist():
        above = node
        while extra["concentration"][above] == 0 and tree.parent[above] != ROOT:
            above = int(tree.parent[above])
        for name in ("concentration", "stop"):
            extra[name] = extra[name].copy()
            extra[name][node] = extra[name][above]
    return extra


def _notes(tree: Tree) -> tuple[str, ...]:
    """Say where the tree came out as a single topic."""
    if tree.n_nodes > 1 and tree.weight.max() > NEARLY_ALL:
        return ("one node holds nearly every token; the corpus may be too small or uniform",)
    return ()
