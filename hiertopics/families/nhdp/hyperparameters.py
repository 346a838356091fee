"""Draws of what all documents share, given the nodes of tokens (theory/nhdp 5)."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import I32, I64
from hiertopics.families.flat.concentrations import (
    HIGHEST,
    LOWEST,
    PRIOR_RATE,
    PRIOR_SHAPE,
    draw_concentration,
)
from hiertopics.families.flat.token_kernels import count_tables
from hiertopics.families.nhdp import gibbs_kernels as kernels
from hiertopics.families.nhdp.config import Model
from hiertopics.families.nhdp.learning import SMALLEST, levels_of
from hiertopics.families.nhdp.mixing import Mixing, below


def draw_mixing(mixing: Mixing, n_dk: I32, model: Model, rng: np.random.Generator) -> None:
    """Draw shares, concentrations and, if they are learned, stop weights, in place.

    n_dk: int32 [n_docs, K], tokens that stop at each node.
    """
    passing = below(mixing.shape, n_dk).astype(np.int64)
    _draw_shares(mixing, n_dk, passing, model.gamma, rng)
    if model.stop == "learned":
        _draw_stops(mixing, n_dk, passing, rng)


def _draw_shares(
    mixing: Mixing, n_dk: I32, passing: I64, gamma: float, rng: np.random.Generator
) -> None:
    """Draw tables, then shares and concentrations given these."""
    tables = np.zeros(mixing.shape.n_nodes, np.int64)
    kernels.draw_tables(passing, mixing.mass, tables, rng)
    for node in mixing.shape.inner:
        children = mixing.shape.children(int(node))
        of_children = tables[children]
        share = rng.dirichlet(of_children + gamma / len(of_children))
        mixing.share[children] = np.maximum(share, SMALLEST)
        gone = passing[:, node] - n_dk[:, node]
        n_tables = int(of_children.sum())
        drawn = draw_concentration(mixing.concentration[node], n_tables, gone, rng)
        mixing.concentration[node] = np.clip(drawn, LOWEST, HIGHEST)


def _draw_stops(mixing: Mixing, n_dk: I32, passing: I64, rng: np.random.Generator) -> None:
    """Draw the stop weights of each level: Gamma, given tables and auxiliary Beta variables."""
    for nodes in levels_of(mixing.shape):
        a, b = mixing.stop_a[nodes[0]], mixing.stop_b[nodes[0]]
        stopped, passed = n_dk[:, nodes], passing[:, nodes]
        stops = count_tables(stopped, a, rng)
        goes = count_tables((passed - stopped).astype(np.int32), b, rng)
        rate = PRIOR_RATE - np.log(rng.beta(a + b, passed[passed > 0])).sum()
        for weight, n_tables in ((mixing.stop_a, stops), (mixing.stop_b, goes)):
            weight[nodes] = np.clip(rng.gamma(PRIOR_SHAPE + n_tables, 1.0 / rate), LOWEST, HIGHEST)
