"""From counts to the tree that users see: nodes without a token go, theta and phi of the others."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.regrouping import Regrouping
from hiertopics.data.tree import NODE, ROOT, Tree
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.model import Summary
from hiertopics.numeric.mixtures import all_entries

LIVE_TOKENS = 1.0
NEARLY_ALL = 0.95
FEW_NODES = 2


class Fitted(NamedTuple):
    """What every method ends with, by node.

    n_di [n_docs, K], n_wi [n_words, K]: (expected) counts. eta: pseudo-count of each word.
    """

    mixing: Mixing
    n_di: NDArray[np.floating]
    n_wi: NDArray[np.floating]
    eta: float


def summarise(fitted: Fitted) -> Summary:
    """Return the tree of nodes with a token, and theta of the training documents."""
    mixing, n_di, n_wi, eta = pruned(fitted)
    n_i = np.maximum(n_wi, 0).sum(axis=0, dtype=np.float64)
    phi = np.maximum(n_wi, 0, dtype=np.float64).T + eta
    phi /= phi.sum(axis=1, keepdims=True)
    theta = mixing.weights(n_di)
    lengths = np.maximum(n_di.sum(axis=1, dtype=np.float64), 0.0)
    has_tokens = lengths > 0.5
    enough = theta >= 1.0 / np.maximum(lengths, 1.0)[:, None]
    shape = mixing.shape
    tree = Tree(
        phi=np.ascontiguousarray(phi),
        parent=shape.parent.copy(),
        kind=np.full(shape.n_nodes, NODE, np.int8),
        weight=n_i / n_i.sum() if n_i.sum() > 0 else np.eye(shape.n_nodes)[0],
        n_docs=(enough & has_tokens[:, None]).sum(axis=0).astype(np.int64),
        n_tokens=n_i,
        extra={
            "share": mixing.share,
            "concentration": mixing.concentration,
            "stop": np.column_stack([mixing.stop_a, mixing.stop_b]),
            "eta": np.array([eta]),
        },
    )
    return Summary(tree, all_entries(theta), notes=_notes(tree))


def pruned(fitted: Fitted) -> Fitted:
    """Return the fit without nodes that have less than one token at and below them.

    What they hold goes to their parent, their share to their siblings (theory/nhdp 6.5).
    """
    mixing = fitted.mixing
    shape = mixing.shape
    n_di, n_wi = np.array(fitted.n_di, np.float64), np.array(fitted.n_wi, np.float64)
    kept = below(shape, n_di.sum(axis=0)) >= LIVE_TOKENS
    kept[0] = True
    if kept.all():
        return Fitted(mixing, n_di, n_wi, fitted.eta)
    for node in range(shape.n_nodes - 1, 0, -1):
        if not kept[node]:
            n_di[:, shape.parent[node]] += n_di[:, node]
            n_wi[:, shape.parent[node]] += n_wi[:, node]
    share = np.where(kept, mixing.share, 0.0)
    for node in shape.inner:
        children = shape.children(int(node))
        share[children] /= max(share[children].sum(), np.finfo(float).tiny)
    number = np.cumsum(kept) - 1
    parent = np.where(shape.parent[kept] == ROOT, ROOT, number[shape.parent[kept]])
    smaller = shape_of(parent)
    leaf = smaller.n_children == 0
    rows = ((0.0, mixing.concentration), (1.0, mixing.stop_a), (0.0, mixing.stop_b))
    concentration, stop_a, stop_b = (np.where(leaf, at_leaf, row[kept]) for at_leaf, row in rows)
    left = Mixing(smaller, share[kept], concentration, stop_a, stop_b)
    return Fitted(left, n_di[:, kept], n_wi[:, kept], fitted.eta)


def notes_on_shape(tree: Tree, branches: Literal["auto"] | list[int]) -> tuple[str, ...]:
    """Say where the corpus gave a smaller tree than ``model.branches`` asks for, or hardly one."""
    depth = int(tree.depth.max())
    if branches != "auto" and depth <= len(branches):
        asked = f"{len(branches) + 1} levels below the root, of {branches} nodes and the leaves"
        return (f"the corpus gave {depth}, where model.branches asks for {asked}",)
    if tree.n_nodes <= FEW_NODES:
        few = "a single node" if tree.n_nodes == 1 else f"{tree.n_nodes} nodes"
        return (f"the tree has {few}; the corpus is too small or uniform for branches",)
    return ()


def mixing_of(tree: Tree) -> Mixing:
    """Return what documents share, as ``summarise`` left it in the tree."""
    extra = tree.extra
    return Mixing(
        shape_of(tree.parent),
        extra["share"],
        extra["concentration"],
        *np.ascontiguousarray(extra["stop"].T),
    )


def regrouped(tree: Tree, grouping: Regrouping) -> dict[str, NDArray[Any]]:
    """Return ``extra`` of a tree some of whose nodes were put together or taken out.

    Shares of siblings that are one add up, and their children's are weighed by them; the
    concentrations and stops of inner nodes become means, weighted by the share of all tokens at
    and below each. What was taken out leaves its share to its siblings (theory/nhdp 6.5).
    """
    extra, into, gone = tree.extra, grouping.into, grouping.removed
    share = np.where(gone, 0.0, extra["share"])
    merged = grouping.sums(share)
    above = np.where(tree.parent == ROOT, 0, tree.parent)
    # Of its parent's part in the node that the parent has become.
    part = share[above] / np.maximum(merged[into[above]], np.finfo(float).tiny)
    part[(tree.parent == ROOT) | (grouping.counts[into[above]] == 1)] = 1.0
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


def _notes(tree: Tree) -> tuple[str, ...]:
    """Say where the tree came out as a single topic."""
    if tree.n_nodes > 1 and tree.weight.max() > NEARLY_ALL:
        return ("one node holds nearly every token; the corpus may be too small or uniform",)
    return ()
