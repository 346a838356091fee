"""Rows of 0 and 1: the law of nodes, Gaussian diffusion, and draws of all nodes' parameters.

A row x at a node with parameters theta has log likelihood x . theta - sum log(1 + e^theta)
(theory/tssb 2). Draws are by Hamiltonian Monte Carlo and slices. Given the variances, columns are
independent of each other: a proposal moves all nodes of a column at once and is accepted or not
for that column alone (theory/tssb 4.5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, U8, Floats
from hiertopics.families.tssb.assign_kernels import dot
from hiertopics.families.tssb.layout import BEAR, FOUND, MARGINAL, Memo, StickNodes
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
    scale: F64


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
def offset_of(value: Floats) -> float:
    """Return the log likelihood of a row of zeros: minus the sum of log(1 + e^value), value [P]."""
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
def bear_diffusion(law: Diffusion, parent: F32, value: F32, rng: np.random.Generator) -> float:
    """Draw the parameters of a child, [P] as its parent's; return its offset."""
    for item in range(len(value)):
        noise = law.scale[item] * rng.standard_normal()
        value[item] = on_grid(law.persistence * parent[item] + noise)
    return offset_of(value)


@kernel()
def marginal_diffusion(
    law: Diffusion, features: U8, parent: int, nodes: StickNodes, memo: Memo
) -> float:
    """Return the log likelihood of a row at a new child, the child's parameters integrated out.

    features: uint8 [P].
    """
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
    features: U8,
    parent: int,
    node: int,
    nodes: StickNodes,
    memo: Memo,
    rng: np.random.Generator,
) -> float:
    """Draw the parameters of a child given its one row, by rejection from the prior.

    features: uint8 [P].
    """
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
def sums_at(rows: U8, home: I32, n_nodes: int) -> F64:
    """Return the sum of the rows at each node, float64 [n_nodes, P]."""
    sums = np.zeros((n_nodes, rows.shape[1]))
    for datum in range(len(home)):
        node = home[datum]
        for item in range(rows.shape[1]):
            sums[node, item] += rows[datum, item]
    return sums


@kernel()
def squared_steps(theta: F64, up: I32, persistence: float) -> F64:
    """Return the sum over nodes but the first of (theta - persistence theta_parent)^2, [P]."""
    squares = np.zeros(theta.shape[1])
    for node in range(1, len(up)):
        for item in range(theta.shape[1]):
            step = theta[node, item] - persistence * theta[up[node], item]
            squares[item] += step * step
    return squares


@kernel()
def draw_variances(
    variance: F64, squares: F64, n_steps: int, low: float, high: float, rng: np.random.Generator
) -> None:
    """Draw each variance in place given its ``n_steps`` steps, uniform on (low, high) before.

    variance, squares: float64 [P]. By slice sampling of v^(-n/2) e^(-squares / 2v); the bracket is
    (low, high), shrunk to the present value (theory/tssb 4.5).
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


COLUMNS = 32
"""Columns that move together; all nodes' numbers of them fit into a cache."""


class Family(NamedTuple):
    """Nodes and facts about their parameters, parents before children; node 0 is the root.

    up: int32 [n], parents, -1 for the root. n_at: float64 [n], rows at each node, and sums
    [n, P], their sum. persistence: as in Diffusion. precision: float64 [P], of a child around its
    parent; root_precision [P], of the root around 0.
    """

    up: I32
    n_at: F64
    sums: F64
    persistence: float
    precision: F64
    root_precision: F64


@kernel()
def of_columns(family: Family, start: int, stop: int) -> Family:
    """Return the family of a range of columns."""
    return Family(
        family.up,
        family.n_at,
        family.sums[:, start:stop].copy(),
        family.persistence,
        family.precision[start:stop].copy(),
        family.root_precision[start:stop].copy(),
    )


@kernel()
def log_density(theta: F64, family: Family) -> F64:
    """Return the log density of the parameters [n, P], column by column, up to a constant."""
    n_nodes, n_columns = theta.shape
    total = np.zeros(n_columns)
    for node in range(n_nodes):
        up, n_at = family.up[node], family.n_at[node]
        for column in range(n_columns):
            here = theta[node, column]
            step, precision = here, family.root_precision[column]
            if node > 0:
                step -= family.persistence * theta[up, column]
                precision = family.precision[column]
            total[column] -= 0.5 * precision * step * step
            if n_at > 0.0:
                total[column] += family.sums[node, column] * here - n_at * softplus(here)
    return total


@kernel()
def slope(theta: F64, family: Family, out: F64) -> None:
    """Fill ``out`` [n, P] with the gradient of ``log_density``."""
    n_nodes, n_columns = theta.shape
    for node in range(n_nodes):
        up, n_at = family.up[node], family.n_at[node]
        for column in range(n_columns):
            out[node, column] = 0.0
            if n_at > 0.0:
                expected = n_at * sigmoid(theta[node, column])
                out[node, column] = family.sums[node, column] - expected
        if node == 0:
            for column in range(n_columns):
                out[node, column] -= family.root_precision[column] * theta[node, column]
        else:
            for column in range(n_columns):
                step = theta[node, column] - family.persistence * theta[up, column]
                pull = family.precision[column] * step
                out[node, column] -= pull
                out[up, column] += family.persistence * pull


@kernel()
def masses(family: Family) -> F64:
    """Return the mass of each parameter [n, P]: N / 4 and the precision of its neighbours."""
    n_nodes, n_columns = family.sums.shape
    mass = np.empty((n_nodes, n_columns))
    for node in range(n_nodes):
        for column in range(n_columns):
            own = family.precision[column] if node > 0 else family.root_precision[column]
            mass[node, column] = 0.25 * family.n_at[node] + own
            if node > 0:
                pull = family.persistence**2 * family.precision[column]
                mass[family.up[node], column] += pull
    return mass


@kernel()
def leap(
    theta: F64, momentum: F64, mass: F64, step_size: float, n_steps: int, family: Family
) -> None:
    """Follow the Hamiltonian for ``n_steps`` leapfrog steps, in place.

    theta, momentum, mass: float64 [n_nodes, P].
    """
    n_nodes, n_columns = theta.shape
    force = np.empty((n_nodes, n_columns))
    slope(theta, family, force)
    for _ in range(n_steps):
        for node in range(n_nodes):
            for column in range(n_columns):
                half = momentum[node, column] + 0.5 * step_size * force[node, column]
                theta[node, column] += step_size * half / mass[node, column]
                momentum[node, column] = half
        slope(theta, family, force)
        for node in range(n_nodes):
            for column in range(n_columns):
                momentum[node, column] += 0.5 * step_size * force[node, column]


@kernel()
def energy(theta: F64, momentum: F64, mass: F64, family: Family) -> F64:
    """Return the Hamiltonian of each column, float64 [P]."""
    total = -log_density(theta, family)
    for node in range(theta.shape[0]):
        for column in range(theta.shape[1]):
            total[column] += 0.5 * momentum[node, column] ** 2 / mass[node, column]
    return total


@kernel()
def hamiltonian_step(
    theta: F64, family: Family, step_size: float, n_steps: int, rng: np.random.Generator
) -> int:
    """Move all parameters [n, P] in place; return how many columns accepted.

    The step is ``step_size`` times a number between 1/2 and 3/2, drawn for each block of columns.
    """
    n_nodes, n_columns = theta.shape
    accepted = 0
    for start in range(0, n_columns, COLUMNS):
        stop = min(start + COLUMNS, n_columns)
        part = of_columns(family, start, stop)
        mass = masses(part)
        momentum = np.empty((n_nodes, stop - start))
        for node in range(n_nodes):
            for column in range(stop - start):
                momentum[node, column] = math.sqrt(mass[node, column]) * rng.standard_normal()
        moved = theta[:, start:stop].copy()
        before = energy(moved, momentum, mass, part)
        leap(moved, momentum, mass, step_size * (0.5 + rng.random()), n_steps, part)
        after = energy(moved, momentum, mass, part)
        for column in range(stop - start):
            if before[column] - after[column] > -rng.standard_exponential():
                accepted += 1
                for node in range(n_nodes):
                    theta[node, start + column] = moved[node, column]
    return accepted


@kernel()
def slice_sweep(theta: F64, family: Family, rng: np.random.Generator) -> None:
    """Redraw every parameter [n, P] once, in place, by a slice with stepping out.

    Parents go first, so that sums over children are those from before the sweep.
    """
    n_nodes, n_columns = theta.shape
    n_children = np.zeros(n_nodes)
    below = np.zeros((n_nodes, n_columns))
    for node in range(1, n_nodes):
        n_children[family.up[node]] += 1.0
        below[family.up[node]] += theta[node]
    for node in range(n_nodes):
        up, keep = family.up[node], family.persistence
        for column in range(n_columns):
            step_precision = family.precision[column]
            own = step_precision if node > 0 else family.root_precision[column]
            precision = own + keep**2 * n_children[node] * step_precision
            pull = keep * step_precision * below[node, column]
            if node > 0:
                pull += own * keep * theta[up, column]
            theta[node, column] = slice_logistic(
                theta[node, column],
                pull + family.sums[node, column],
                precision,
                family.n_at[node],
                rng,
            )


@kernel()
def slice_logistic(
    value: float, linear: float, precision: float, n_at: float, rng: np.random.Generator
) -> float:
    """Return a slice draw of exp(linear t - precision t^2 / 2 - n_at log(1 + e^t)) from ``value``.

    The first bracket is two deviations wide; it steps out until both ends lie below the slice.
    """
    floor = log_logistic(value, linear, precision, n_at) - rng.standard_exponential()
    width = 2.0 / math.sqrt(precision + 0.25 * n_at)
    left = value - width * rng.random()
    right = left + width
    while log_logistic(left, linear, precision, n_at) > floor:
        left -= width
    while log_logistic(right, linear, precision, n_at) > floor:
        right += width
    bracket = Bracket(left, right)
    while bracket.high - bracket.low > 1e-14 * (1.0 + abs(value)):
        place = within(bracket, rng)
        if log_logistic(place, linear, precision, n_at) > floor:
            return place
        bracket = narrowed(bracket, place, value)
    return value


@kernel()
def log_logistic(value: float, linear: float, precision: float, n_at: float) -> float:
    """Return linear t - precision t^2 / 2 - n_at log(1 + e^t)."""
    total = (linear - 0.5 * precision * value) * value
    return total - n_at * softplus(value) if n_at > 0.0 else total
