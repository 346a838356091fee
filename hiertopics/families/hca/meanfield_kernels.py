"""Local steps of rows where coordinates and path are apart (theory/ncrp 7, option A)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.hca.kernels import RARE, Globals, Sums, add_products, project, softmax
from hiertopics.numeric.jit import kernel


class Scratch(NamedTuple):
    """Working space of one row: see ``scratch_for``."""

    onto: NDArray[np.float64]
    passing: NDArray[np.float64]
    along: NDArray[np.float64]
    mean: NDArray[np.float64]
    cover: NDArray[np.float64]
    scores: NDArray[np.float64]


@kernel()
def invert(matrix: NDArray[np.float64]) -> float:
    """Invert a symmetric positive definite matrix in place; return log of its determinant."""
    size = matrix.shape[0]
    log_determinant = 0.0
    for pivot in range(size):
        head = matrix[pivot, pivot]
        log_determinant += math.log(head)
        matrix[pivot, pivot] = 1.0
        for column in range(size):
            matrix[pivot, column] /= head
        for row in range(size):
            if row != pivot:
                factor = matrix[row, pivot]
                matrix[row, pivot] = 0.0
                for column in range(size):
                    matrix[row, column] -= factor * matrix[pivot, column]
    return log_determinant


@kernel()
def scratch_for(n_nodes: int, depth: int) -> Scratch:
    """Return working space."""
    return Scratch(
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty(depth),
        np.empty(depth),
        np.empty((depth, depth)),
        np.empty(n_nodes),
    )


@kernel()
def place(chances: NDArray[np.float64], given: Globals, scratch: Scratch) -> float:
    """Set mean and cover of a row's coordinates to their best given q of slots.

    ``scratch.onto`` is from ``project``; ``passing`` becomes the nodes' marginals. Returns KL of
    the coordinates.
    """
    n_slots, depth = given.path.shape
    cover, along = scratch.cover, scratch.along
    cover[:] = 0.0
    along[:] = 0.0
    scratch.passing[:] = 0.0
    for slot in range(n_slots):
        chance = chances[slot]
        if chance < RARE:
            continue
        for level in range(depth):
            node = given.path[slot, level]
            if node >= 0:
                scratch.passing[node] += chance
                along[level] += chance * scratch.onto[node]
            for other in range(depth):
                cover[level, other] += chance * given.gram[slot, level, other]
    for level in range(depth):
        for other in range(depth):
            cover[level, other] *= given.precision
        cover[level, level] += 1.0
    divergence = invert(cover) - depth
    for level in range(depth):
        scratch.mean[level] = 0.0
        for other in range(depth):
            scratch.mean[level] += given.precision * cover[level, other] * along[other]
        divergence += cover[level, level] + scratch.mean[level] ** 2
    return 0.5 * divergence


@kernel()
def score(length: float, given: Globals, scratch: Scratch) -> None:
    """Set ``scratch.scores`` to LM plus the expected log density of a row in each slot."""
    n_slots, depth = given.path.shape
    for slot in range(n_slots):
        fit = 0.0
        for level in range(depth):
            node = given.path[slot, level]
            if node >= 0:
                fit += 2.0 * scratch.onto[node] * scratch.mean[level]
            for other in range(depth):
                moment = scratch.mean[level] * scratch.mean[other] + scratch.cover[level, other]
                fit -= given.gram[slot, level, other] * moment
        scratch.scores[slot] = given.base[slot] + 0.5 * given.precision * (fit - length)


@kernel()
def meanfield_step(
    rows: NDArray[np.float64],
    first: int,
    last: int,
    chances: NDArray[np.float64],
    given: Globals,
    rounds: int,
    sums: Sums,
) -> float:
    """Settle rows ``first`` to ``last`` in some rounds and add them up.

    Returns their share of the bound before that, coordinates at their best given ``chances``.
    """
    depth = given.path.shape[1]
    scratch = scratch_for(given.axes.shape[1], depth)
    weighted = np.empty(given.axes.shape[1])
    value = 0.0
    for doc in range(first, last):
        length = project(rows[doc], given, scratch.onto)
        value -= place(chances[doc], given, scratch)
        score(length, given, scratch)
        for slot in range(chances.shape[1]):
            if chances[doc, slot] > 0.0:
                log_ratio = scratch.scores[slot] - math.log(chances[doc, slot])
                value += chances[doc, slot] * log_ratio
        for turn in range(rounds):
            if turn:
                place(chances[doc], given, scratch)
                score(length, given, scratch)
            softmax(scratch.scores)
            chances[doc] = scratch.scores
        if rounds:
            _add(chances[doc], given, scratch, weighted, sums)
            add_products(weighted, rows[doc], sums)
    return value


@kernel()
def _add(
    chances: NDArray[np.float64],
    given: Globals,
    scratch: Scratch,
    weighted: NDArray[np.float64],
    sums: Sums,
) -> None:
    """Add a row's coordinates to the sums; ``weighted`` becomes its mean at every node."""
    n_slots, depth = given.path.shape
    weighted[:] = 0.0
    for slot in range(n_slots):
        chance = chances[slot]
        if chance < RARE:
            continue
        sums.slot[slot] += chance
        for level in range(depth):
            node = given.path[slot, level]
            if node < 0:
                moment = scratch.mean[level] ** 2 + scratch.cover[level, level]
                sums.outside[0] += chance * moment
                continue
            weighted[node] += chance * scratch.mean[level]
            for other in range(depth):
                beside = given.path[slot, other]
                if beside >= 0:
                    moment = scratch.mean[level] * scratch.mean[other]
                    moment += scratch.cover[level, other]
                    sums.second[node, beside] += chance * moment


@kernel()
def meanfield_scores(
    rows: NDArray[np.float64],
    chances: NDArray[np.float64],
    given: Globals,
    rounds: int,
    scores: NDArray[np.float64],
) -> None:
    """Set ``scores`` [n_rows, n_slots] to log S after some rounds that start at ``chances``.

    ``chances`` stay as they are.
    """
    scratch = scratch_for(given.axes.shape[1], given.path.shape[1])
    own = np.empty(chances.shape[1])
    for doc in range(rows.shape[0]):
        length = project(rows[doc], given, scratch.onto)
        own[:] = chances[doc]
        for _ in range(rounds):
            place(own, given, scratch)
            score(length, given, scratch)
            own[:] = scratch.scores
            softmax(own)
        scores[doc] = scratch.scores
