"""Local steps of rows: coordinates on the axes of a path, and chances of path slots.

Every row is done by itself, in one order of additions, so that its answer depends on nothing but
itself (theory/ncrp 7). Under mean field coordinates and path are apart (option A).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32
from hiertopics.numeric.jit import kernel

RARE = 1e-14
"""Chances below this add nothing to sums."""


class VectorGlobals(NamedTuple):
    """Global input of a local step, E tau the expected noise precision.

    path: int32 [n_slots, depth], -1 outside. axes: [n_columns, n_nodes], the node vectors' means.
    centre: [n_columns]. precision: E tau. gram: [n_slots, depth, depth], E W'W of each slot's
    path. cover, covariance of coordinates given the slot: [n_slots, depth, depth]. base:
    [n_slots], LM and all else of a slot's score that no row changes.
    """

    path: I32
    axes: F64
    centre: F64
    precision: float
    gram: F64
    cover: F64
    base: F64


class RowSums(NamedTuple):
    """Sums over rows, filled in place.

    slot [n_slots]: rows. second [n_nodes, n_nodes]: products of coordinates. first [n_nodes]:
    coordinates. cross [n_nodes, n_columns]: coordinates times rows. outside [1]: squared
    coordinates on axes outside the tree.
    """

    slot: F64
    second: F64
    first: F64
    cross: F64
    outside: F64


@kernel()
def project(row: F64, given: VectorGlobals, onto: F64) -> float:
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
def softmax(scores: F64) -> float:
    """Turn log scores, float64 [n], into probabilities in place; return the log of their sum."""
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
def weigh(onto: F64, length: float, given: VectorGlobals, scores: F64) -> None:
    """Set ``scores`` to log S of slots, coordinates at their best in each.

    onto, length: from ``project``. scores: float64 [n_slots].
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
def structured_step(rows: F64, first: int, last: int, given: VectorGlobals, sums: RowSums) -> float:
    """Add up rows ``first`` to below ``last``; return their share of the bound, in nats.

    rows: float64 [n_docs, n_columns].
    """
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
def add_products(weighted: F64, row: F64, sums: RowSums) -> None:
    """Add a row's coordinates, ``weighted`` by chance [n_nodes], to ``first`` and ``cross``."""
    for node in range(weighted.shape[0]):
        if weighted[node] != 0.0:
            sums.first[node] += weighted[node]
            for column in range(row.shape[0]):
                sums.cross[node, column] += weighted[node] * row[column]


@kernel()
def structured_scores(rows: F64, given: VectorGlobals, scores: F64) -> None:
    """Set ``scores`` [n_rows, n_slots] to log S of each row."""
    onto = np.empty(given.axes.shape[1])
    for doc in range(rows.shape[0]):
        weigh(onto, project(rows[doc], given, onto), given, scores[doc])


class RowScratch(NamedTuple):
    """Working space of one row: see ``scratch_for``."""

    onto: F64
    passing: F64
    along: F64
    mean: F64
    cover: F64
    scores: F64


@kernel()
def invert(matrix: F64) -> float:
    """Invert a symmetric positive definite matrix [n, n] in place; return its log determinant."""
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
def scratch_for(n_nodes: int, depth: int) -> RowScratch:
    """Return working space."""
    return RowScratch(
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty(depth),
        np.empty(depth),
        np.empty((depth, depth)),
        np.empty(n_nodes),
    )


@kernel()
def place(chances: F64, given: VectorGlobals, scratch: RowScratch) -> float:
    """Set mean and cover of a row's coordinates to their best given q of slots, [n_slots].

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
def score(length: float, given: VectorGlobals, scratch: RowScratch) -> None:
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
    rows: F64, first: int, last: int, chances: F64, given: VectorGlobals, rounds: int, sums: RowSums
) -> float:
    """Settle rows ``first`` to ``last`` in some rounds and add them up.

    Returns their share of the bound before that, in nats, coordinates at their best given
    ``chances``. rows: float64 [n_docs, n_columns]. chances: float64 [n_docs, n_slots].
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
    chances: F64, given: VectorGlobals, scratch: RowScratch, weighted: F64, sums: RowSums
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
    rows: F64, chances: F64, given: VectorGlobals, rounds: int, scores: F64
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
