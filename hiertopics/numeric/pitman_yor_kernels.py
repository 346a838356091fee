"""Kernels of the Pitman-Yor cache: generalised Stirling numbers, mean tables, seatings.

Equations and symbols are those of theory/bursts. A pair is a word of a document with its count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import digamma

LARGEST = 4096
"""Counts above it are treated as it in Stirling numbers and mean tables."""

N_POINTS = 192
"""Points of log x at which mean tables are kept."""

LOWEST, HIGHEST = 1e-6, 1e6
"""The first and the last x of a table."""

FIRST = math.log(LOWEST)
STEP = (math.log(HIGHEST) - FIRST) / (N_POINTS - 1)

STILL = 1e-8
"""By how much no pair's tables move any more at the end of a seating."""

N_ROUNDS = 10_000


class Stirling(NamedTuple):
    """ln S^c_t of counts that occur, rows one after the other.

    row: int32 [LARGEST + 1], the row of each count, -1 where it does not occur. starts: int64
    [n_rows + 1]; values: float64, t = 1..c of each row.
    """

    row: I32
    starts: I64
    values: F64


class MeanTables(NamedTuple):
    """E[t | c, x] of p(t) proportional to S^c_t x^t, for all counts that occur.

    discount: a. row: int32 [LARGEST + 1], the row of each count, -1 where it does not occur.
    points: float32 [n_rows, N_POINTS, 2], the mean and its derivative by log x (the variance of t)
    at even steps of log x; no rows where a = 0, where the mean has a closed form. second: float64
    [LARGEST + 1], S^c_2 / S^c_1 of each count.
    """

    discount: float
    row: I32
    points: F32
    second: F64


@kernel()
def stirling_rows(counts: I64, starts: I64, discount: float) -> F64:
    """Return ln S^c_t, t = 1..c, of counts in ascending order, one row after the other.

    starts: int64 [n_counts + 1], where rows begin. By recursion (2) of theory/bursts 1, whose
    terms are all positive.
    """
    kept = np.empty(starts[-1])
    row = np.empty(counts[-1] + 1)
    row[1] = 0.0
    place = 0
    for count in range(1, counts[-1] + 1):
        if count > 1:
            row[count] = row[count - 1]
            for tables in range(count - 1, 0, -1):
                grown = math.log(count - 1 - discount * tables) + row[tables]
                if tables == 1:
                    row[1] = grown
                else:
                    high, low = max(grown, row[tables - 1]), min(grown, row[tables - 1])
                    row[tables] = high + math.log1p(math.exp(low - high))
        if count == counts[place]:
            for tables in range(1, count + 1):
                kept[starts[place] + tables - 1] = row[tables]
            place += 1
    return kept


@kernel()
def mean_rows(counts: I64, starts: I64, log_stirling: F64, points: F32) -> None:
    """Write mean and variance of t at each point of log x; points: [n_counts, N_POINTS, 2]."""
    for place in range(len(counts)):
        count, start = counts[place], starts[place]
        for point in range(N_POINTS):
            log_x = FIRST + STEP * point
            peak = -np.inf
            for tables in range(1, count + 1):
                peak = max(peak, log_stirling[start + tables - 1] + log_x * tables)
            total = mean = 0.0
            for tables in range(1, count + 1):
                weight = math.exp(log_stirling[start + tables - 1] + log_x * tables - peak)
                total += weight
                mean += weight * tables
            mean /= total
            spread = 0.0
            for tables in range(1, count + 1):
                weight = math.exp(log_stirling[start + tables - 1] + log_x * tables - peak)
                spread += weight * (tables - mean) * (tables - mean)
            points[place, point, 0] = mean
            points[place, point, 1] = spread / total


@kernel()
def expected_tables(means: MeanTables, count: int, x: float) -> float:
    """Return E[t | c, x], from 1 to c, for a count >= 1 that has a row and x >= 0.

    Between points a cubic of log x with their values and slopes (Hermite); beyond them the first
    two terms of the series in x and in 1 / x. No discount: x (psi(x + c) - psi(x)).
    """
    if count <= 1:
        return 1.0
    count = min(count, LARGEST)
    if x >= HIGHEST:
        full = count - (1.0 - means.discount) * count * (count - 1.0) / (2.0 * x)
        return max(full, 1.0)
    if x <= LOWEST:
        return 1.0 + x * means.second[count]
    if means.discount == 0.0:
        return min(max(x * (digamma(x + count) - digamma(x)), 1.0), float(count))
    place = (math.log(x) - FIRST) / STEP
    point = min(int(place), N_POINTS - 2)
    u = place - point
    row = means.points[means.row[count]]
    low, high = float(row[point, 0]), float(row[point + 1, 0])
    low_slope, high_slope = STEP * row[point, 1], STEP * row[point + 1, 1]
    rise = high - low
    bend = 3.0 * rise - 2.0 * low_slope - high_slope
    twist = low_slope + high_slope - 2.0 * rise
    found = low + u * (low_slope + u * (bend + u * twist))
    return min(max(found, 1.0), float(count))


@kernel()
def seat(starts: I64, counts: I32, chances: F64, means: MeanTables, concentration: float) -> F64:
    """Return the tables of each pair, float64 [n_pairs], at fixed mixtures of documents.

    Rounds of t = E[t | c, (b + a (T - 1)) p_w] from t = c, until no pair moves by STILL. starts:
    [n_docs + 1]; counts, chances: [n_pairs], the tokens of each pair and its p_w, not negative.
    """
    seated = np.empty(len(counts))
    for doc in range(len(starts) - 1):
        total = 0.0
        for pair in range(starts[doc], starts[doc + 1]):
            seated[pair] = counts[pair]
            total += counts[pair]
        for _ in range(N_ROUNDS):
            moved = 0.0
            rate = concentration + means.discount * (total - 1.0)
            for pair in range(starts[doc], starts[doc + 1]):
                if counts[pair] > 1:
                    new = expected_tables(means, counts[pair], rate * chances[pair])
                    change = new - seated[pair]
                    moved = max(moved, abs(change))
                    total += change
                    seated[pair] = new
            if moved < STILL:
                break
    return seated


@kernel()
def convolved(
    first: int, last: int, counts: I32, chances: F64, row: I32, starts: I64, log_stirling: F64
) -> F64:
    """Return ln of the coefficients of y^0 .. y^n in prod_w sum_t S^c_t (p_w y)^t of a document.

    float64 [n + 1]; its pairs are ``first`` .. ``last``, n their tokens, counts above LARGEST as
    it. counts, chances: [n_pairs] of the corpus, all chances > 0. row, starts, log_stirling: those
    of ``Stirling``.
    """
    n_tokens, n_single, log_single = 0, 0, 0.0
    for pair in range(first, last):
        n_tokens += min(counts[pair], LARGEST)
        if counts[pair] == 1:
            n_single += 1
            log_single += math.log(chances[pair])
    made = np.full(n_tokens + 1, -np.inf)
    before = np.full(n_tokens + 1, -np.inf)
    made[n_single] = log_single
    low, high = n_single, n_single
    for pair in range(first, last):
        count = min(counts[pair], LARGEST)
        if count > 1:
            log_chance, start = math.log(chances[pair]), starts[row[count]]
            for tables in range(low, high + 1):
                before[tables] = made[tables]
            for total in range(low + 1, high + count + 1):
                least, most = max(1, total - high), min(count, total - low)
                peak = -np.inf
                for tables in range(least, most + 1):
                    term = before[total - tables] + log_stirling[start + tables - 1]
                    peak = max(peak, term + tables * log_chance)
                added = 0.0
                for tables in range(least, most + 1):
                    term = before[total - tables] + log_stirling[start + tables - 1]
                    added += math.exp(term + tables * log_chance - peak)
                made[total] = peak + math.log(added)
            made[low] = -np.inf
            low, high = low + 1, high + count
    return made
