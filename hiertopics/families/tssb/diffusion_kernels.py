"""Draws of all nodes' parameters given the data at them: Hamiltonian Monte Carlo and slices.

Given the variances, columns are independent of each other: a proposal moves all nodes of a column
at once and is accepted or not for that column alone (theory/tssb 4.5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.binary_kernels import sigmoid, softplus
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.slices import Bracket, narrowed, within

COLUMNS = 32
"""Columns that move together; all nodes' numbers of them fit into a cache."""


class Family(NamedTuple):
    """Nodes with what is known of their parameters, parents before children; node 0 is the root.

    up: int32 [n], parents, -1 for the root. n_at: float64 [n], rows at each node, and sums
    [n, P], their sum. persistence: as in Diffusion. precision: float64 [P], of a child around its
    parent; root_precision [P], of the root around 0.
    """

    up: NDArray[np.int32]
    n_at: NDArray[np.float64]
    sums: NDArray[np.float64]
    persistence: float
    precision: NDArray[np.float64]
    root_precision: NDArray[np.float64]


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
def log_density(theta: NDArray[np.float64], family: Family) -> NDArray[np.float64]:
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
def slope(theta: NDArray[np.float64], family: Family, out: NDArray[np.float64]) -> None:
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
def masses(family: Family) -> NDArray[np.float64]:
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
    theta: NDArray[np.float64],
    momentum: NDArray[np.float64],
    mass: NDArray[np.float64],
    step_size: float,
    n_steps: int,
    family: Family,
) -> None:
    """Follow the Hamiltonian for ``n_steps`` leapfrog steps, in place."""
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
def energy(
    theta: NDArray[np.float64],
    momentum: NDArray[np.float64],
    mass: NDArray[np.float64],
    family: Family,
) -> NDArray[np.float64]:
    """Return the Hamiltonian of each column, float64 [P]."""
    total = -log_density(theta, family)
    for node in range(theta.shape[0]):
        for column in range(theta.shape[1]):
            total[column] += 0.5 * momentum[node, column] ** 2 / mass[node, column]
    return total


@kernel()
def hamiltonian_step(
    theta: NDArray[np.float64],
    family: Family,
    step_size: float,
    n_steps: int,
    rng: np.random.Generator,
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
def slice_sweep(theta: NDArray[np.float64], family: Family, rng: np.random.Generator) -> None:
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
