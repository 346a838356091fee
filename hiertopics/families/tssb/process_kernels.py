"""Slice sampling of alpha0, decay and gamma with the sticks integrated out (theory/tssb 4.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.layout import Nodes, Process
from hiertopics.families.tssb.stick_kernels import later_siblings
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within

ALPHA0, DECAY, GAMMA = range(3)


class ProcessBounds(NamedTuple):
    """Where each parameter of the process is uniform; equal bounds: it is fixed."""

    alpha0: tuple[float, float]
    decay: tuple[float, float]
    gamma: tuple[float, float]


@kernel()
def draw_process(
    nodes: Nodes, process: Process, bounds: ProcessBounds, rng: np.random.Generator
) -> Process:
    """Draw alpha0, decay and gamma given the counts of a tree at rest.

    The sticks must be drawn next: they are no longer those that belong to the parameters.
    """
    later = later_siblings(nodes)
    process = draw_one(ALPHA0, process.alpha0, bounds.alpha0, nodes, later, process, rng)
    process = draw_one(DECAY, process.decay, bounds.decay, nodes, later, process, rng)
    return draw_one(GAMMA, process.gamma, bounds.gamma, nodes, later, process, rng)


@kernel()
def draw_one(
    which: int,
    value: float,
    bounds: tuple[float, float],
    nodes: Nodes,
    later: NDArray[np.int64],
    process: Process,
    rng: np.random.Generator,
) -> Process:
    """Draw one parameter by slice sampling; the bracket is its bounds, shrunk to the value."""
    bracket = Bracket(*bounds)
    if bracket.low == bracket.high:
        return having(which, bracket.low, process)
    floor = log_density(which, nodes, later, having(which, value, process))
    floor -= rng.standard_exponential()
    while is_open(bracket):
        place = within(bracket, rng)
        moved = having(which, place, process)
        if log_density(which, nodes, later, moved) > floor:
            return moved
        bracket = narrowed(bracket, place, value)
    return having(which, value, process)


@kernel()
def having(which: int, value: float, process: Process) -> Process:
    """Return the process with one parameter changed."""
    return Process(
        value if which == ALPHA0 else process.alpha0,
        value if which == DECAY else process.decay,
        value if which == GAMMA else process.gamma,
        process.max_depth,
    )


@kernel()
def log_density(which: int, nodes: Nodes, later: NDArray[np.int64], process: Process) -> float:
    """Return the part of the log chance of the counts that a parameter has a say in."""
    if which == GAMMA:
        return log_positions(nodes, later, process.gamma)
    return log_stops(nodes, process)


@kernel()
def log_stops(nodes: Nodes, process: Process) -> float:
    """Return the log chance of which data stop at each node they reach, nu integrated out."""
    total = 0.0
    for node in range(nodes.size[0]):
        at, below = nodes.n_at[node], nodes.n_sub[node] - nodes.n_at[node]
        if at + below > 0 and nodes.depth[node] < process.max_depth:
            total += log_stick(process.alpha0 * process.decay ** nodes.depth[node], at, below)
    return total


@kernel()
def log_positions(nodes: Nodes, later: NDArray[np.int64], gamma: float) -> float:
    """Return the log chance of which child data descend to, psi integrated out.

    Of the children at their positions: gaps between those with data depend on gamma too.
    """
    total = 0.0
    for node in range(1, nodes.size[0]):
        total += log_stick(gamma, nodes.n_sub[node], later[node])
    return total


@kernel()
def log_stick(concentration: float, taken: int, left: int) -> float:
    """Return the log of E[v^taken (1 - v)^left] under v ~ Beta(1, concentration)."""
    if taken + left == 0:
        return 0.0
    log_mean = math.lgamma(1.0 + taken) + math.lgamma(concentration + left)
    return log_mean + math.log(concentration) - math.lgamma(1.0 + concentration + taken + left)
