"""The mixing of a tree's nodes by documents: shared parameters, and the mixture of counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.special import betaln

from hiertopics.base.arrays import F64, Floats, Numbers
from hiertopics.families.nhdp.layout import Shape
from hiertopics.families.nhdp.sweep_kernels import Rates
from hiertopics.numeric.mixtures import log_rising


class Mixing(NamedTuple):
    """Parameters that all documents share besides topics, by node; all float64 [K].

    share: of the parent's documents' mass, siblings sum to 1; 1 at the root. concentration: 0 at
    leaves. stop_a, stop_b: weights of stopping and of going on; 1 and 0 at leaves.
    """

    shape: Shape
    share: F64
    concentration: F64
    stop_a: F64
    stop_b: F64

    @property
    def mass(self) -> F64:
        """The parent's concentration times the node's share, float64 [K]; 0 at the root."""
        mass = self.concentration[self.shape.parent] * self.share
        mass[0] = 0.0
        return mass

    def weights(self, n: Floats) -> F64:
        """Return theta [n_docs, K] of counts n [n_docs, K], rows summing to 1 (theory/nhdp 2.2)."""
        stopped = np.maximum(n, 0, dtype=np.float64)
        passing, mass = below(self.shape, stopped), self.mass
        theta = np.ones_like(stopped)
        for node in self.shape.inner:
            children = self.shape.children(int(node))
            gone = passing[:, children].sum(axis=1)
            visits = theta[:, node] / (self.stop_a[node] + self.stop_b[node] + passing[:, node])
            going = visits * (self.stop_b[node] + gone) / (gone + self.concentration[node])
            theta[:, children] = going[:, None] * (passing[:, children] + mass[children])
            theta[:, node] = visits * (self.stop_a[node] + stopped[:, node])
        return theta

    def log_chance(self, n: Floats) -> float:
        """Return log p(z | shares) of whole counts n [n_docs, K] (theory/nhdp 2.1)."""
        passing, mass, total = below(self.shape, n), self.mass, 0.0
        for node in self.shape.inner:
            children = self.shape.children(int(node))
            stopped, gone = n[:, node], passing[:, node] - n[:, node]
            a, b = self.stop_a[node], self.stop_b[node]
            total += float((betaln(a + stopped, b + gone) - betaln(a, b)).sum())
            total -= float(log_rising(self.concentration[node], gone).sum())
            total += float(log_rising(mass[children], passing[:, children]).sum())
        return total

    def rates(self, eta: float, n_words: int, dtype: DTypeLike) -> Rates:
        """Return this as kernels want it."""
        concentration = np.where(self.concentration > 0, self.concentration, 1.0)
        share, concentration, stop_a, stop_b = (
            row.astype(dtype) for row in (self.mass, concentration, self.stop_a, self.stop_b)
        )
        return Rates(share, concentration, stop_a, stop_b, eta, eta * n_words)


def below(shape: Shape, n: Numbers) -> F64:
    """Return the sums of n [..., K] at and below each node."""
    total = np.array(n, dtype=np.float64)
    for node in shape.inner[::-1]:
        total[..., node] += total[..., shape.children(int(node))].sum(axis=-1)
    return total


def even(shape: Shape, concentration: float, stop_a: float | F64, stop_b: float | F64) -> Mixing:
    """Return equal shares among siblings, and these numbers at inner nodes.

    stop_a, stop_b: the same at every inner node, or float64 [K].
    """
    inner = shape.n_children > 0
    share = np.ones(shape.n_nodes)
    share[1:] = 1.0 / shape.n_children[shape.parent[1:]]
    return Mixing(
        shape,
        share,
        np.where(inner, concentration, 0.0),
        np.where(inner, stop_a, 1.0),
        np.where(inner, stop_b, 0.0),
    )
