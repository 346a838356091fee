"""Local steps of rows: coordinates on the axes of a path, and chances of path slots.

Every row is done by itself, in one order of additions, so that its answer depends on nothing but
itself (theory/ncrp 7).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.numeric.jit import kernel

RARE = 1e-14
"""Chances below this add nothing to sums."""


class Globals(NamedTuple):
    """What a local step is told of the globals, E tau the expected noise precision.

    path: int32 [n_slots, depth], -1 outside. axes: [n_columns, n_nodes], the node vectors' means.
    centre: [n_columns]. precision: E tau. gram: [n_slots, depth, depth], E W'W of each slot's
    path. cover, covariance of coordinates given the slot: [n_slots, depth, depth]. base:
    [n_slots], LM and all else of a slot's score that no row changes.
    """

    path: NDArray[np.int32]
    axes: NDArray[np.float64]
    centre: NDArray[np.float64]
    precision: float
    gram: NDArray[np.float64]
    cover: NDArray[np.float64]
    base: NDArray[np.float64]


class Sums(NamedTuple):
    """What rows add up, to be filled in place.

    slot [n_slots]: rows. second [n_nodes, n_nodes]: products of coordinates. first [n_nodes]:
    coordinates. cross [n_nodes, n_columns]: coordinates times rows. outside [1]: squared
    coordinates on axes outside the tree.
    """

    slot: NDArray[np.float64]
    second: NDArray[np.float64]
    first: NDArray[np.float64]
    cross: NDArray[np.float64]
    outside: NDArray[np.float64]


@kernel()
def project(row: NDArray[np.float64], given: Globals, onto: NDArray[np.float64]) -> float:
    """Set ``onto`` [n_nodes] to the products of a row with all axes; return its squared length.

    The row is taken relative to the centre.
    """
    onto[:] = 0.0
    length = 0.0
    for column in range(row.shape[0]):
        value = row[column] - given.centre[column]
        length += value * value
        for node in range(onto.shape[0]):
            onto[node] += value * given.axes[column, node]
    return length


@kernel()
def softmax(scores: NDArray[np.float64]) -> float:
    """Turn log scores into chances in place; return the log of what they summed to."""
    largest = scores[0]
    for slot in range(1, scores.shape[0]):
        largest = max(largest, scores[slot])
    total = 0.0
    for slot in range(scores.shape[0]):
        scores[slot] = math.exp(scores[slot] - largest)
        total += scores[slot]
    for slot in range(scores.shape[0]):
        scores[slot] /= total
    return largest + math.log(total)


@kernel()
def weigh(
    onto: NDArray[np.float64], length: float, given: Globals, scores: NDArray[np.float64]
) -> None:
    """Set ``scores`` to log S of slots, coordinates at their best in each.

    onto, length: from ``project``.
    """
    n_slots, depth = given.path.shape
    for slot in range(n_slots):
        fit = 0.0
        for level in range(depth):
            node = given.path[slot, level]
            if node < 0:
                break
            along = 0.0
            for other in range(depth):
                beside = given.path[slot, other]
                if beside < 0:
                    break
                along += given.cover[slot, level, other] * onto[beside]
            fit += onto[node] * along
        gain = given.precision * fit - length
        scores[slot] = given.base[slot] + 0.5 * given.precision * gain


@kernel()
def structured_step(
    rows: NDArray[np.float64], first: int, last: int, given: Globals, sums: Sums
) -> float:
    """Add up rows ``first`` to ``last``; return their share of the bound."""
    n_slots, depth = given.path.shape
    onto, chances = np.empty(given.axes.shape[1]), np.empty(n_slots)
    mean, weighted = np.empty(depth), np.empty(onto.shape[0])
    value = 0.0
    for doc in range(first, last):
        length = project(rows[doc], given, onto)
        weigh(onto, length, given, chances)
        value += softmax(chances)
        weighted[:] = 0.0
        for slot in range(n_slots):
            chance = chances[slot]
            if chance < RARE:
                continue
            sums.slot[slot] += chance
            n_inside = 0
            for level in range(depth):
                if given.path[slot, level] < 0:
                    break
                n_inside += 1
            for level in range(n_inside):
                mean[level] = 0.0
                for other in range(n_inside):
                    mean[level] += given.cover[slot, level, other] * onto[given.path[slot, other]]
                mean[level] *= given.precision
            for level in range(n_inside):
                node = given.path[slot, level]
                weighted[node] += chance * mean[level]
                for other in range(n_inside):
                    beside = given.path[slot, other]
                    sums.second[node, beside] += chance * mean[level] * mean[other]
        add_products(weighted, rows[doc], sums)
    for slot in range(n_slots):
        for level in range(depth):
            node = given.path[slot, level]
            if node < 0:
                sums.outside[0] += sums.slot[slot] * given.cover[slot, level, level]
                continue
            for other in range(depth):
                beside = given.path[slot, other]
                if beside >= 0:
                    sums.second[node, beside] += sums.slot[slot] * given.cover[slot, level, other]
    return value


@kernel()
def add_products(weighted: NDArray[np.float64], row: NDArray[np.float64], sums: Sums) -> None:
    """Add a row's coordinates, ``weighted`` by chance [n_nodes], to ``first`` and ``cross``."""
    for node in range(weighted.shape[0]):
        if weighted[node] != 0.0:
            sums.first[node] += weighted[node]
            for column in range(row.shape[0]):
                sums.cross[node, column] += weighted[node] * row[column]


@kernel()
def structured_scores(
    rows: NDArray[np.float64], given: Globals, scores: NDArray[np.float64]
) -> None:
    """Set ``scores`` [n_rows, n_slots] to log S of each row."""
    onto = np.empty(given.axes.shape[1])
    for doc in range(rows.shape[0]):
        weigh(onto, project(rows[doc], given, onto), given, scores[doc])
