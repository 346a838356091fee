"""Topics drawn given the tokens of each word: independent Gamma draws, cell by cell.

Most cells have no token, and a Gamma draw of the small shape b that the prior gives is next to 0.
J. Ahrens and U. Dieter (Computing, 1974): with c = 1 + b/e and p uniform below c, x = p^(1/b) where
p <= 1, accepted with chance e^-x, else x = -log((c - p)/b), accepted with chance x^(b - 1). A draw
below ``TINY`` is p < TINY^b: that is seen without a power, and such cells hold 0. The other cells
of some words are listed, tried together in the first branch, which is vector code, and finished one
by one. Shapes from 1 on: G. Marsaglia, W. Tsang (ACM TOMS, 2000).

Numbers are those of places (``numeric.streams``). A word has a sequence of its own: the first T / 2
entries begin its cells, two by two, entry T + k goes on with cell k, and entry 2 T + k is the key
of what else cell k needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32, U64
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import exp, log
from hiertopics.numeric.streams import random_bits, uniform

TINY = 1e-10
"""Gamma draws below which a word is as good as absent from a topic."""

WORDS_AT_ONCE = 16
HALF_WORD, LOW_BITS = np.uint64(32), np.uint64(8)
LOWER_HALF = np.uint64((1 << 32) - 1)
HALF_UNIT, LOW_UNIT = 2.0**-32, np.float32(2.0**-24)
FLOOR = -80.0
"""The least logarithm that ``exp`` takes."""

OPEN = np.float32(-1.0)
"""Stands for a draw that is not finished."""


class CellDraws(NamedTuple):
    """Cells of words whose draws go on: word, topic, first bits, the word's key, and 1 / b."""

    word: I64
    topic: I64
    begun: U32
    key: U64
    inverse: F64


@kernel()
def draw_masses(
    begin: int, end: int, n_wk: I32, word_prior: F64, key: np.uint64, table: F32
) -> F64:
    """Draw rows ``begin`` to ``end`` of ``table`` [n_words, >= T]: Gamma(n_wk + word prior).

    Returns their sums by topic, float64 [T]. What a row holds beyond its T topics is left alone.
    """
    n_topics = n_wk.shape[1]
    total, room = np.zeros(n_topics), WORDS_AT_ONCE * n_topics
    cells = CellDraws(
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.uint32),
        np.empty(room, np.uint64),
        np.empty(room),
    )
    begun, drawn = np.empty(n_topics + 1, np.uint32), np.empty(room, np.float32)
    for first in range(begin, end, WORDS_AT_ONCE):
        n_cells = 0
        for word in range(first, min(first + WORDS_AT_ONCE, end)):
            n_cells = list_cells(
                word, n_wk[word], word_prior[word], random_bits(key, word), begun, cells, n_cells
            )
            for k in range(n_topics):
                table[word, k] = np.float32(0.0)
        try_small(cells.topic, cells.begun, cells.key, cells.inverse, n_topics, n_cells, drawn)
        for i in range(n_cells):
            word, k = cells.word[i], cells.topic[i]
            mass = drawn[i]
            if n_wk[word, k] > 0 or mass == OPEN or cells.inverse[i] <= 1.0:
                shape = word_prior[word] + n_wk[word, k]
                mass = np.float32(finish(cells.begun[i], cells.key[i], n_topics, k, shape))
            table[word, k] = mass
            total[k] += mass
    return total


@kernel()
def list_cells(
    word: int, counts: I32, shape: float, key: np.uint64, begun: U32, cells: CellDraws, n_cells: int
) -> int:
    """List the cells of a word that have tokens or exceed ``TINY``; return how many there are now.

    counts: int32 [T]. key: of the word. begun: scratch [T + 1], the first bits of its cells.
    """
    half = len(begun) // 2
    for place in range(half):
        bits = random_bits(key, place)
        begun[place] = np.uint32(bits >> HALF_WORD)
        begun[half + place] = np.uint32(bits & LOWER_HALF)
    least = np.uint32(0)
    if shape < 1.0:
        least = np.uint32(min(2.0**32 * TINY**shape / (1.0 + shape / math.e), 2.0**32 - 1.0))
    topic, listed = cells.topic, n_cells
    for k in range(len(counts)):
        topic[n_cells] = k
        n_cells += (counts[k] > 0) | (begun[k] >= least)
        if n_cells == len(topic):
            break
    for i in range(listed, n_cells):
        cells.word[i] = word
        cells.begun[i] = begun[topic[i]]
        cells.key[i] = key
        cells.inverse[i] = 1.0 / shape
    return n_cells


@kernel()
def try_small(
    topic: I64, begun: U32, key: U64, inverse: F64, n_topics: int, n_cells: int, drawn: F32
) -> None:
    """Try the first branch for the first ``n_cells`` listed cells as if they had no tokens.

    Those that it does not draw are left ``OPEN``.
    """
    for i in range(n_cells):
        c = 1.0 + 1.0 / (math.e * inverse[i])
        p, chance = first_try(begun[i], random_bits(key[i], n_topics + topic[i]), c)
        x = exp(np.float32(min(max(inverse[i] * log(p), FLOOR), 0.0)))
        accepted = (p <= 1.0) & (chance < exp(-x))
        drawn[i] = x if accepted else OPEN


@kernel(inline=True)
def first_try(begun: np.uint32, bits: np.uint64, c: float) -> tuple[float, np.float32]:
    """Return p, uniform below c, and a uniform number: of 32 bits and 64 further ones."""
    fine = HALF_UNIT * (np.float64(np.int64(bits >> HALF_WORD)) + 0.5)
    low = np.float32(np.int32((bits & LOWER_HALF) >> LOW_BITS))
    p = c * HALF_UNIT * (np.float64(np.int64(begun)) + fine)
    return p, LOW_UNIT * (low + np.float32(0.5))


@kernel()
def finish(begun: np.uint32, key: np.uint64, n_topics: int, topic: int, shape: float) -> float:
    """Return the draw of a cell that has tokens, or that ``try_small`` left open.

    begun: its first bits. key: of the word. shape: with the tokens.
    """
    own_key = random_bits(key, 2 * n_topics + topic)
    if shape >= 1.0:
        return draw_large(own_key, shape)
    c = 1.0 + shape / math.e
    p, chance = first_try(begun, random_bits(key, n_topics + topic), c)
    if p > 1.0:
        x = -math.log((c - p) / shape)
        if chance < x ** (shape - 1.0):
            return x
    return draw_small(own_key, shape)


@kernel()
def draw_small(key: np.uint64, shape: float) -> float:
    """Return a Gamma draw of a shape below 1."""
    c = 1.0 + shape / math.e
    number = 0
    while True:
        p = c * (1.0 - uniform(key, number))
        chance = uniform(key, number + 1)
        number += 2
        if p <= 1.0:
            x = math.exp(max(math.log(p) / shape, FLOOR))
            if chance < math.exp(-x):
                return x
        else:
            x = -math.log((c - p) / shape)
            if chance < x ** (shape - 1.0):
                return x


@kernel()
def draw_large(key: np.uint64, shape: float) -> float:
    """Return a Gamma draw of a shape >= 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    number = 0
    while True:
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, number)))
        normal = radius * math.cos(2.0 * math.pi * uniform(key, number + 1))
        v = 1.0 + c * normal
        chance = 1.0 - uniform(key, number + 2)
        number += 3
        if v <= 0.0:
            continue
        v = v * v * v
        square = normal * normal
        if chance < 1.0 - 0.0331 * square * square:
            return d * v
        if math.log(chance) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return d * v


@kernel()
def draw_proportions(topics: I64, n_wk: I32, word_prior: F64, key: np.uint64, table: F32) -> None:
    """Draw columns of ``table`` whose masses are all small, in logarithms; each then sums to 1.

    A Gamma draw of shape b is one of shape b + 1 times a uniform number to the power 1 / b. What a
    draw of the masses came to does not tell how they are shared out, so that to draw anew is exact.
    """
    n_words = len(table)
    logs = np.empty(n_words)
    for topic in topics:
        largest = -np.inf
        for word in range(n_words):
            shape = word_prior[word] + n_wk[word, topic]
            own_key = random_bits(random_bits(key, word), topic)
            power = math.log(1.0 - uniform(own_key, 0)) / shape
            logs[word] = math.log(draw_large(random_bits(own_key, 1), shape + 1.0)) + power
            largest = max(largest, logs[word])
        total = 0.0
        for word in range(n_words):
            logs[word] = math.exp(logs[word] - largest)
            total += logs[word]
        for word in range(n_words):
            table[word, topic] = logs[word] / total
