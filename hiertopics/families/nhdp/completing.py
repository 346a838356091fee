"""Theta at every node, from theta that is stored at a document's own nodes (theory/nhdp 2.4)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, Bools, Ints
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.summary import mixing_of


def whole_theta(tree: Tree, theta: sparse.csr_array, lengths: Ints) -> F64:
    """Return theta of documents at every node, float64 [n_docs, K], as ``summarise`` made it.

    theta: as ``weigh`` stores it: the share of a branch without tokens stands at the node above.
    lengths: tokens of the documents.
    """
    mixing, found = mixing_of(tree), theta.toarray()
    stored = found > 0
    reached = below(mixing.shape, found)  # at and below stored nodes; made for the others
    passing = np.zeros_like(found)
    passing[:, 0] = lengths
    for node in mixing.shape.inner.tolist():
        _complete_family(mixing, node, stored, reached, passing)
    for node in mixing.shape.inner.tolist():
        children = reached[:, mixing.shape.children(node)]
        found[:, node] = np.maximum(reached[:, node] - children.sum(axis=1), 0.0)
    leaves = mixing.shape.leaves
    found[:, leaves] = reached[:, leaves]
    return found


def _complete_family(mixing: Mixing, node: int, stored: Bools, reached: F64, passing: F64) -> None:
    """Find the tokens that pass each child of a node, and what reaches children without tokens."""
    family = mixing.shape.children(node)
    stop, go, spread = mixing.stop_a[node], mixing.stop_b[node], mixing.concentration[node]
    mass, own = mixing.mass[family], stored[:, family]
    visits = reached[:, node] / (stop + go + passing[:, node])
    own_mass = own @ mass
    gone = _gone(visits, (reached[:, family] * own).sum(axis=1), own_mass, go, spread)
    going = (visits * (go + gone) / (gone + spread))[:, None]
    tiny = np.finfo(float).tiny
    passed = np.maximum(reached[:, family] / np.maximum(going, tiny) - mass, 0.0)
    passing[:, family] = np.where(own, passed, 0.0)
    reached[:, family] = np.where(own, reached[:, family], going * mass)


def _gone(visits: F64, below_own: F64, own_mass: F64, go: float, spread: float) -> F64:
    """Return the tokens g below a node that has ``visits``, of what is at and below its own
    children: the root of below_own (g + spread) = visits (go + g) (g + own_mass) with g >= 0.
    """
    linear = visits * (go + own_mass) - below_own
    constant = np.minimum(visits * go * own_mass - below_own * spread, 0.0)
    root = np.sqrt(linear**2 - 4.0 * visits * constant)
    # Of the two forms of the larger root the one that subtracts nothing.
    tiny = np.finfo(float).tiny
    return np.where(
        linear > 0,
        -2.0 * constant / np.maximum(linear + root, tiny),
        (root - linear) / np.maximum(2.0 * visits, tiny),
    )
