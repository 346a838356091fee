"""What a tree of the binary model says of new rows: at its nodes, and at those not in it.

A row that comes to a node outside the tree comes to a new child of one of its nodes, whose
parameters are integrated out; deeper newcomers are taken for children too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, logsumexp

from hiertopics.data.tree import Tree
from hiertopics.data.vectors import Vectors
from hiertopics.families.tssb.binary_kernels import GRID, offset_of
from hiertopics.model import Settings

LARGEST = 40.0
"""Of log odds: beyond, a chance is 0 or 1 in double precision."""


class Linear(NamedTuple):
    """Log likelihoods x . slope + offset: slope float64 [m, P], offset [m]."""

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]

    def of(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log likelihood of a row at each place, float64 [m]."""
        return np.asarray(self.slope @ row + self.offset)


def linear(log_odds: NDArray[np.float64]) -> Linear:
    """Return the log likelihoods under log odds [m, P], which are put on the grid."""
    slope = np.round(np.clip(log_odds, -LARGEST, LARGEST) * GRID) / GRID
    return Linear(slope, np.array([offset_of(row) for row in slope]))


def scorer(tree: Tree, corpus: Vectors) -> Callable[[int], NDArray[np.float64]]:
    """Return a function: the log likelihood of row ``doc`` at each node, then outside the tree."""
    shown = tree.shown
    at, under = linear(tree.extra["value"][shown]), linear(logit(tree.extra["newborn"][shown]))
    with np.errstate(divide="ignore"):
        log_share = np.log(tree.extra["below"][shown]) - tree.extra["log_mass"][-1]

    def score(doc: int) -> NDArray[np.float64]:
        row = corpus.rows[doc]
        return np.append(at.of(row), logsumexp(log_share + under.of(row)))

    return score


def log_density(tree: Tree, corpus: Vectors, settings: Settings) -> NDArray[np.float64]:
    """Return the log chance of each row before it is seen, float64 [n_docs].

    A mixture over the nodes of the tree and their new children, by their masses.
    """
    score, log_mass = scorer(tree, corpus), tree.extra["log_mass"]
    return np.array([logsumexp(log_mass + score(doc)) for doc in range(corpus.n_docs)])
