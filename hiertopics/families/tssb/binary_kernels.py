"""Gaussian diffusion with logistic Bernoulli: the law of nodes, sums of rows, variances.

A row x of 0 and 1 at a node with parameters theta has log likelihood
x . theta - sum log(1 + e^theta) (theory/tssb 2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.assign_kernels import dot
from hiertopics.families.tssb.layout import BEAR, FOUND, MARGINAL, Memo, Nodes
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within

GRID = 2.0**12
"""Parameters are multiples of 1 / GRID, far finer than they can be known. Up to 4096, sums of them
are then exact in single precision, in whatever order they are added up: a matrix product gives the
bits that a loop gives.
"""


FACTORS = 512
"""Numbers from 1 to 2 whose product is still finite."""


POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Gauss-Hermite quadrature: means over standard normal numbers."""

SMALLEST = 1e-300

MOST_TRIALS = 10_000
"""A row that is less likely than this in one column keeps the last proposal there."""


class Diffusion(NamedTuple):
    """A child's parameters are ``persistence`` times its parent's, plus normal noise.

    scale: float64 [P], standard deviations of the noise.
    """

    persistence: float
    scale: NDArray[np.float64]


@kernel()
def softplus(x: float) -> float:
    """Return log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@kernel()
def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^-x)."""
    return 1.0 / (1.0 + math.exp(-x))


@kernel()
def on_grid(x: float) -> float:
    """Return the nearest multiple of 1 / GRID."""
    return math.floor(x * GRID + 0.5) / GRID


@kernel()
def offset_of(value: NDArray[np.floating]) -> float:
    """Return the log likelihood of a row of zeros: minus the sum of log(1 + e^value)."""
    total = 0.0
    for start in range(0, len(value), FACTORS):
        factor = 1.0
        for item in range(start, min(start + FACTORS, len(value))):
            here = np.float64(value[item])
            total -= max(here, 0.0)
            factor *= 1.0 + math.exp(-abs(here))
        total -= math.log(factor)
    return total


@kernel()
def bear_diffusion(
    law: Diffusion,
    parent: NDArray[np.float32],
    value: NDArray[np.float32],
    rng: np.random.Generator,
) -> float:
    """Draw the parameters of a child; return its offset."""
    for item in range(len(value)):
        noise = law.scale[item] * rng.standard_normal()
        value[item] = on_grid(law.persistence * parent[item] + noise)
    return offset_of(value)


@kernel()
def marginal_diffusion(
    law: Diffusion, features: NDArray[np.uint8], parent: int, nodes: Nodes, memo: Memo
) -> float:
    """Return the log likelihood of a row at a new child, the child's parameters integrated out."""
    if not memo.ready[parent]:
        memo.offset[parent] = 0.0
        for item in range(len(features)):
            chance = chance_of_one(law.persistence * nodes.value[parent, item], law.scale[item])
            memo.offset[parent] += math.log1p(-chance)
            memo.slope[parent, item] = math.log(chance) - math.log1p(-chance)
        memo.ready[parent] = True
    return dot(features, memo.slope[parent]) + memo.offset[parent]


@kernel()
def chance_of_one(centre: float, scale: float) -> float:
    """Return the mean of sigmoid over a normal law, by quadrature."""
    total = 0.0
    for place in range(len(POINTS)):
        total += WEIGHTS[place] * sigmoid(centre + scale * POINTS[place])
    return min(max(total, SMALLEST), 1.0 - 2.0**-53)


@kernel()
def found_diffusion(
    law: Diffusion,
    features: NDArray[np.uint8],
    parent: int,
    node: int,
    nodes: Nodes,
    memo: Memo,
    rng: np.random.Generator,
) -> float:
    """Draw the parameters of a child given its one row, by rejection from the prior."""
    for item in range(len(features)):
        centre, sign = law.persistence * nodes.value[parent, item], 2.0 * features[item] - 1.0
        for _ in range(MOST_TRIALS):
            theta = centre + law.scale[item] * rng.standard_normal()
            if rng.random() < sigmoid(sign * theta):
                break
        nodes.value[node, item] = on_grid(theta)
    memo.ready[node] = False
    return offset_of(nodes.value[node])


BEAR[Diffusion] = bear_diffusion
MARGINAL[Diffusion] = marginal_diffusion
FOUND[Diffusion] = found_diffusion


@kernel()
def sums_at(rows: NDArray[np.uint8], home: NDArray[np.int32], n_nodes: int) -> NDArray[np.float64]:
    """Return the sum of the rows at each node, float64 [n_nodes, P]."""
    sums = np.zeros((n_nodes, rows.shape[1]))
    for datum in range(len(home)):
        node = home[datum]
        for item in range(rows.shape[1]):
            sums[node, item] += rows[datum, item]
    return sums


@kernel()
def squared_steps(
    theta: NDArray[np.float64], up: NDArray[np.int32], persistence: float
) -> NDArray[np.float64]:
    """Return the sum over nodes but the first of (theta - persistence theta_parent)^2, [P]."""
    squares = np.zeros(theta.shape[1])
    for node in range(1, len(up)):
        for item in range(theta.shape[1]):
            step = theta[node, item] - persistence * theta[up[node], item]
            squares[item] += step * step
    return squares


@kernel()
def draw_variances(
    variance: NDArray[np.float64],
    squares: NDArray[np.float64],
    n_steps: int,
    low: float,
    high: float,
    rng: np.random.Generator,
) -> None:
    """Draw each variance in place given its ``n_steps`` steps, uniform on (low, high) before.

    By slice sampling of v^(-n/2) e^(-squares / 2v); the bracket is (low, high), shrunk to the
    present value (theory/tssb 4.5).
    """
    for item in range(len(variance)):
        if low == high:
            variance[item] = low
            continue
        now, bracket = variance[item], Bracket(low, high)
        floor = log_density_of_variance(now, squares[item], n_steps) - rng.standard_exponential()
        while is_open(bracket):
            place = within(bracket, rng)
            if log_density_of_variance(place, squares[item], n_steps) > floor:
                variance[item] = place
                break
            bracket = narrowed(bracket, place, now)


@kernel()
def log_density_of_variance(variance: float, squares: float, n_steps: int) -> float:
    """Return the log density of a variance given squared steps, up to a constant."""
    return -0.5 * (n_steps * math.log(variance) + squares / variance)
