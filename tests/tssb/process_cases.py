"""Chains of flat data whose process is drawn too, rightly or with a known mistake."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from tree_cases import Chain, TwoStates, right_order, right_sticks, sweep

from hiertopics.base.arrays import F64
from hiertopics.families.tssb import stick_kernels
from hiertopics.families.tssb.layout import Process, StickNodes
from hiertopics.families.tssb.stick_kernels import ProcessBounds, draw_process

AS_IT_IS, BY_STICKS, CLAMPED, UNORDERED = range(4)
NEARLY_ONE = 1.0 - 1e-6


@numba.njit
def slice_within(
    which: int, value: float, bounds: Any, nodes: StickNodes, fixed: Any, rng: Any
) -> Any:
    """Draw a parameter by slice sampling of one of the densities below."""
    low, high = bounds
    floor = density(which, value, nodes, fixed) - rng.standard_exponential()
    while True:
        place = low + (high - low) * rng.random()
        if density(which, place, nodes, fixed) > floor:
            return place
        if place < value:
            low = place
        else:
            high = place


@numba.njit
def density(which: int, value: float, nodes: StickNodes, fixed: Any) -> float:
    """Return alpha0 (0) or decay (1) given sticks nu, gamma given psi (2) or the partition (3)."""
    total = 0.0
    n_below, n_children = np.zeros(nodes.size[0]), np.zeros(nodes.size[0])
    for node in range(nodes.size[0]):
        depth = nodes.depth[node]
        if which < 2 and nodes.n_sub[node] > 0 and depth < fixed.max_depth:
            alpha = (value if which == 0 else fixed.alpha0) * (
                value if which == 1 else fixed.decay
            ) ** depth
            rest = nodes.log_rest[node]
            if fixed.gamma < 0:  # clamped
                rest = max(rest, math.log(1.0 - NEARLY_ONE))
            total += math.log(alpha) + (alpha - 1.0) * rest
        if which == 2 and node > 0:
            total += math.log(value) + (value - 1.0) * nodes.log_psi_rest[node]
        if node > 0 and nodes.n_sub[node] > 0:
            n_below[nodes.parent[node]] += nodes.n_sub[node]
            n_children[nodes.parent[node]] += 1
    if which == 3:
        for node in range(nodes.size[0]):
            total += n_children[node] * math.log(value)
            total += math.lgamma(value) - math.lgamma(value + n_below[node])
    return total


@numba.njit
def draw_wrongly(
    nodes: StickNodes, process: Process, bounds: ProcessBounds, mistake: int, rng: Any
) -> Process:
    """Draw the process from the sticks, from clamped ones, or gamma without the positions."""
    alpha0, decay, gamma, cap = process
    if mistake == UNORDERED:
        process = draw_process(nodes, process, bounds, rng)
        gamma = slice_within(3, gamma, bounds.gamma, nodes, process, rng)
        return Process(process.alpha0, process.decay, gamma, cap)
    sign = -1.0 if mistake == CLAMPED else 1.0
    alpha0 = slice_within(0, alpha0, bounds.alpha0, nodes, Process(alpha0, decay, sign, cap), rng)
    decay = slice_within(1, decay, bounds.decay, nodes, Process(alpha0, decay, sign, cap), rng)
    gamma = slice_within(2, gamma, bounds.gamma, nodes, process, rng)
    return Process(alpha0, decay, gamma, cap)


@numba.njit
def draw_rightly(
    nodes: StickNodes, process: Process, bounds: ProcessBounds, mistake: int, rng: Any
) -> Process:
    """Draw the process as it is."""
    return draw_process(nodes, process, bounds, rng)


def drawn(mistake: int) -> tuple[Any, int]:
    """Return how ``run_process`` draws the process. Numba compiles this way alone."""
    return (draw_rightly if mistake == AS_IT_IS else draw_wrongly), mistake


@numba.njit
def run_process(
    chain: Chain,
    process: Process,
    bounds: ProcessBounds,
    law: TwoStates,
    n_sweeps: int,
    draw: Any,
    mistake: int,
    rng: Any,
) -> F64:
    """Return alpha0, decay, gamma, gamma^2, children of the root k and gamma k by sweep."""
    found = np.empty((n_sweeps, 6))
    home, nodes, places = chain
    features = np.zeros((len(home), 2))
    stick_kernels.draw_sticks(nodes, process, rng, True)
    for place in range(n_sweeps):
        nodes = sweep(
            features, Chain(home, nodes, places), process, law, right_sticks, right_order, rng
        )
        process = draw(nodes, process, bounds, mistake, rng)
        stick_kernels.draw_sticks(nodes, process, rng, True)
        k = 0
        for node in range(1, nodes.size[0]):
            k += nodes.parent[node] == 0 and nodes.n_sub[node] > 0
        gamma = process.gamma
        found[place, 0], found[place, 1], found[place, 2] = process.alpha0, process.decay, gamma
        found[place, 3], found[place, 4], found[place, 5] = gamma * gamma, k, gamma * k
    return found
