"""Shares of nodes on a fixed tree, drawn again and again, and what they must reproduce."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numba
import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.families.tssb import text_kernels
from hiertopics.families.tssb.layout import StickNodes


@numba.njit
def share_draws(
    parents: Any, counts: Any, bounds: Any, n_sweeps: int, nodes: StickNodes, rng: Any
) -> F64:
    """Return kappa, first shares of nodes 0 and 1 and their product by update of a fixed tree."""
    n = len(parents)
    nodes.size[0] = n
    nodes.parent[:n] = parents
    nodes.n_sub[:n] = 1
    nodes.value[:n] = math.log(0.5)
    found, kappa = np.empty((n_sweeps, 4)), 0.5 * (bounds[0] + bounds[1])
    for place in range(n_sweeps):
        kappa = text_kernels.draw_shares(nodes, counts.copy(), kappa, bounds, 1.0, rng)
        root, child = math.exp(nodes.value[0, 0]), math.exp(nodes.value[1, 0])
        found[place] = kappa, root, child, root * child
    return found


def stirling(n: int) -> list[int]:
    """Return unsigned Stirling numbers of the first kind of n."""
    row = [1]
    for m in range(n):
        row = [m * a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
    return row


def exact_shares(kappa: float) -> tuple[float, float, float, float]:
    """Return evidence and means of theta_01, theta_11 and their product (T6) by listing tables."""
    own = {0: (1, 3), 1: (4, 0), 2: (0, 2), 3: (2, 2)}
    total = mean_0 = mean_1 = product = 0.0

    def options(counts: tuple[int, int]) -> list[tuple[tuple[int, int], float]]:
        tables = [[(t, float(s)) for t, s in enumerate(stirling(m)) if s] for m in counts]
        scale = math.exp(math.lgamma(kappa) - math.lgamma(kappa + sum(counts)))
        return [
            ((a, b), scale * wa * wb * kappa ** (a + b))
            for (a, wa), (b, wb) in itertools.product(*tables)
        ]

    for t_2, w_2 in options(own[2]):
        m_1 = (own[1][0] + t_2[0], own[1][1] + t_2[1])
        for (t_1, w_1), (t_3, w_3) in itertools.product(options(m_1), options(own[3])):
            root = tuple(own[0][k] + t_1[k] + t_3[k] for k in range(2))
            log_root = sum(math.lgamma(kappa + m) - math.lgamma(kappa) for m in root)
            log_root += math.lgamma(2 * kappa) - math.lgamma(2 * kappa + sum(root))
            weight = w_1 * w_2 * w_3 * math.exp(log_root)
            mass = 2 * kappa + sum(root)
            theta_0 = (kappa + root[0]) / mass
            square = theta_0 * (kappa + root[0] + 1) / (mass + 1)
            total += weight
            mean_0 += weight * theta_0
            mean_1 += weight * (kappa * theta_0 + m_1[0]) / (kappa + sum(m_1))
            product += weight * (kappa * square + m_1[0] * theta_0) / (kappa + sum(m_1))
    return total, mean_0 / total, mean_1 / total, product / total
