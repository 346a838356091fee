"""Gamma draws of many small shapes: what it takes to draw topics of which most words are absent.

An absent word's share of a topic is a Gamma draw of shape eta, and there are as many as words
times nodes. They come from J. Ahrens and U. Dieter's rejection for shapes up to 1 (Computing,
1974): with b = 1 + shape/e and p uniform below b, x = p^(1/shape) where p <= 1, accepted with
chance e^-x, else x = -log((b - p)/shape), accepted with chance x^(shape - 1). The first branch is
vector code over a word's nodes; the few it leaves are finished one by one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import exp, log
from hiertopics.numeric.streams import random_bits

LOW_BITS = np.uint64(24)
LOW_MASK = np.uint64((1 << 24) - 1)
UNIT, LOW_UNIT = 2.0**-40, np.float32(2.0**-24)

SMALLEST = math.log(1e-30)
"""Where draws end, in logs: a word this rare is as good as impossible, and float32 still has it.

A topic without tokens would be flattened by it where eta times the vocabulary is below about 0.05.
"""

OPEN = np.float32(-1.0)
"""Stands for a draw that is not finished."""


@kernel()
def begin_draws(key: np.uint64, first: int, shape: float, draws: NDArray[np.float32]) -> None:
    """Draw Gamma variables of a shape <= 1 by entries ``first`` and on; some are left ``OPEN``."""
    b, inverse = 1.0 + shape / math.e, 1.0 / shape
    half = np.float32(0.5)
    for k in range(len(draws)):
        bits = random_bits(key, first + k)
        p = b * UNIT * (np.float64(np.int64(bits >> LOW_BITS)) + 0.5)
        chance = LOW_UNIT * (np.float32(np.int32(bits & LOW_MASK)) + half)
        draws[k] = min(max(inverse * log(p), SMALLEST), 0.0)
        x = exp(draws[k])
        accepted = (p <= 1.0) & (chance < exp(-x))
        draws[k] = x if accepted else OPEN


@kernel()
def finish_draw(key: np.uint64, number: int, shape: float, rng: np.random.Generator) -> float:
    """Return the draw that ``begin_draws`` left open at an entry."""
    bits = random_bits(key, number)
    b = 1.0 + shape / math.e
    p = b * UNIT * (np.float64(np.int64(bits >> LOW_BITS)) + 0.5)
    if p > 1.0:
        chance = 2.0**-24 * (np.float64(np.int64(bits & LOW_MASK)) + 0.5)
        x = -math.log((b - p) / shape)
        if chance < x ** (shape - 1.0):
            return x
    return max(rng.standard_gamma(shape), math.exp(SMALLEST))


@kernel()
def draw_masses(
    begin: int,
    end: int,
    n_wk: NDArray[np.int32],
    node: NDArray[np.int64],
    eta: float,
    key: np.uint64,
    mass: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw ``mass`` [n_words, K] of some words, Gamma(n_wk + eta); return their sums by node.

    node: the K columns of n_wk that are drawn. Divided by the sums over all words, a column is
    a draw of the node's topic.
    """
    total = np.zeros(len(node))
    for word in range(begin, end):
        row, first = mass[word], word * len(node)
        if eta <= 1.0:
            begin_draws(key, first, eta, row)
        else:
            row[:] = OPEN
        for k in range(len(node)):
            count = n_wk[word, node[k]]
            if count > 0:
                row[k] = rng.standard_gamma(count + eta)
            elif row[k] == OPEN:
                small = eta <= 1.0
                row[k] = finish_draw(key, first + k, eta, rng) if small else rng.standard_gamma(eta)
            total[k] += row[k]
    return total
