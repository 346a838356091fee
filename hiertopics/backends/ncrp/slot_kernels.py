"""Chances of path slots for documents (spec ncrp sections 3, 8): what both families share.

Tables are word-major [n_words, n_nodes], float32 in use, float64 in tests and for tiny eta. A
document's chance in a slot is a product over its tokens of ``sum over levels of exp(E log theta)
exp(E log phi)``; the product is kept as a mantissa and a whole exponent, so that no logarithm is
taken inside the loop and no digit is lost in long documents.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.jit import LOG_2, REASSOCIATE, digamma, kernel, log

MANY = 8
"""Repeats of a word from which on its logarithm is cheaper than multiplying."""


class Cells(NamedTuple):
    """A corpus: pairs ``ptr[d] .. ptr[d + 1]`` of document d have ``word`` and ``tokens``."""

    ptr: NDArray[np.int64]
    word: NDArray[np.int32]
    tokens: NDArray[np.int32]


class Slots(NamedTuple):
    """The tree as kernels see it (``slots.Nodes``), its LM [n_nodes] and exp(e0).

    parent is unsigned, so that no index is taken for one from the end; the root's is not used.
    """

    parent: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    path: NDArray[np.int32]
    log_mass: NDArray[np.float64]
    outside: float


class Globals(NamedTuple):
    """What a local step is told: tables, the tree, and level_prior [depth].

    log_table [n_words, n_nodes]: E log phi; e_table: its exp. by_slot [n_words, depth - 1,
    n_nodes]: e_table at each level below the root of each slot's path, or exp(e0) where it is
    outside. Tables that a step does not need have no rows.
    """

    e_table: NDArray[np.floating]
    by_slot: NDArray[np.floating]
    log_table: NDArray[np.floating]
    slots: Slots
    level_prior: NDArray[np.float64]
    e0: float


class Schedule(NamedTuple):
    """rounds: local rounds per sweep; rare: chances below it do not enter word statistics."""

    rounds: int
    rare: float


class Statistics(NamedTuple):
    """Sums over documents: words [n_words, n_columns], slot [n_nodes] and outside [1] tokens.

    columns: int32 [n_nodes, depth], the column of ``words`` to which a slot's tokens of a level
    go, -1: none.
    """

    words: NDArray[np.floating]
    slot: NDArray[np.float64]
    outside: NDArray[np.float64]
    columns: NDArray[np.int32]


class Scratch(NamedTuple):
    """Rows [n_nodes]: acc and prod in the tables' dtype; bits, the same memory as prod, and
    exponent in the whole numbers of its size; rest float64. float_format: the number of mantissa
    bits, the exponent's bias, the mask of the mantissa and the bits of 1.0.
    """

    acc: NDArray[np.floating]
    prod: NDArray[np.floating]
    bits: NDArray[np.signedinteger]
    exponent: NDArray[np.signedinteger]
    rest: NDArray[np.float64]
    float_format: tuple[int, int, int, int]


@kernel(fastmath=REASSOCIATE)
def slot_scores(
    cells: Cells,
    doc: int,
    e_theta: NDArray[np.floating],
    given: Globals,
    scratch: Scratch,
    scores: NDArray[np.float64],
) -> None:
    """Write to ``scores`` [n_nodes] the sum over tokens of log sum over levels (spec 3.1 B).

    e_theta [depth]: exp E log theta.
    """
    table, by_slot = given.e_table, given.by_slot
    acc, prod = scratch.acc, scratch.prod
    bits, exponent, rest = scratch.bits, scratch.exponent, scratch.rest
    mantissa_bits, bias, mask, one = scratch.float_format
    prod[:] = 1
    exponent[:] = 0
    rest[:] = 0.0
    n_factors = 0
    for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
        word, count = cells.word[pair], cells.tokens[pair]
        _mix(by_slot[word], e_theta, e_theta[0] * table[word, 0], acc)
        if count > MANY:
            _add_logs(rest, acc, count)
        else:
            for _ in range(count):
                _multiply(prod, acc)
                _split(bits, exponent, mantissa_bits, mask, one)
            n_factors += count
    for node in range(len(scores)):
        power = exponent[node] - bias * n_factors
        scores[node] = log(float(prod[node])) + LOG_2 * power + rest[node]


@kernel(fastmath=REASSOCIATE)
def _mix(
    rows: NDArray[np.floating],
    e_theta: NDArray[np.floating],
    at_root: float,
    acc: NDArray[np.floating],
) -> None:
    """Write a word's chance in each slot to ``acc``; rows [depth - 1, n_nodes]."""
    share = e_theta[1]
    for node in range(len(acc)):
        acc[node] = at_root + share * rows[0, node]
    for level in range(2, len(e_theta)):
        share = e_theta[level]
        for node in range(len(acc)):
            acc[node] += share * rows[level - 1, node]


@kernel(fastmath=REASSOCIATE)
def _multiply(prod: NDArray[np.floating], acc: NDArray[np.floating]) -> None:
    for node in range(len(prod)):
        prod[node] *= acc[node]


@kernel()
def _split(
    bits: NDArray[np.signedinteger],
    exponent: NDArray[np.signedinteger],
    mantissa_bits: int,
    mask: int,
    one: int,
) -> None:
    """Move the exponents of positive floats, bias included, from their ``bits`` to ``exponent``."""
    for node in range(len(bits)):
        exponent[node] += bits[node] >> mantissa_bits
        bits[node] = (bits[node] & mask) | one


@kernel(fastmath=REASSOCIATE)
def _add_logs(rest: NDArray[np.float64], acc: NDArray[np.floating], count: int) -> None:
    for node in range(len(rest)):
        rest[node] += count * log(float(acc[node]))


@kernel()
def level_terms(tau: NDArray[np.float64], e_log_theta: NDArray[np.float64]) -> None:
    """Write E log theta under Dirichlet(tau), both [depth]."""
    total = digamma(tau.sum())
    for level in range(len(tau)):
        e_log_theta[level] = digamma(tau[level]) - total


@kernel()
def levels_gap(
    tau: NDArray[np.float64], prior: NDArray[np.float64], e_log_theta: NDArray[np.float64]
) -> float:
    """Return E_theta of one document, but for what does not depend on tau."""
    value = -math.lgamma(tau.sum())
    for level in range(len(tau)):
        value += math.lgamma(tau[level]) + (prior[level] - tau[level]) * e_log_theta[level]
    return value


@kernel()
def normalise(log_weights: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """Write exp(log_weights) scaled to sum 1; return the log of the sum."""
    largest = log_weights.max()
    total = 0.0
    for slot in range(len(log_weights)):
        chances[slot] = math.exp(log_weights[slot] - largest)
        total += chances[slot]
    for slot in range(len(chances)):
        chances[slot] /= total
    return largest + math.log(total)


@kernel(fastmath=REASSOCIATE)
def expect_words(
    lam: NDArray[np.floating],
    log_total: NDArray[np.float64],
    e_table: NDArray[np.floating],
    log_table: NDArray[np.floating],
) -> None:
    """Write exp E log phi, and E log phi unless its table has no rows (spec 2.4).

    log_total [n_nodes]: psi of each topic's total.
    """
    n_nodes = len(log_total)
    logs = np.empty(n_nodes)
    for word in range(len(lam)):
        for node in range(n_nodes):
            logs[node] = _digamma(float(lam[word, node])) - log_total[node]
        if len(log_table):
            log_table[word] = logs
        for node in range(n_nodes):
            e_table[word, node] = math.exp(logs[node])


@kernel(inline=True)
def _digamma(x: float) -> float:
    """Return psi(x), x > 0, without branch or call (error < 1e-11)."""
    first = 1.0 / x + 1.0 / (x + 1.0) + 1.0 / (x + 2.0)
    first += 1.0 / (x + 3.0) + 1.0 / (x + 4.0) + 1.0 / (x + 5.0)
    y = x + 6.0
    inverse = 1.0 / y
    square = inverse * inverse
    series = 1.0 / 240 - square * (1.0 / 132 - square * 691.0 / 32760)
    series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * series)))
    return log(y) - 0.5 * inverse - series - first
