"""Probabilities of path slots for documents (theory/ncrp 3, 8): shared by both families.

Tables are word-major [n_words, n_nodes], float32 in use, float64 in tests and for tiny eta. A
document's chance in a slot is a product over its tokens of ``sum over levels of exp(E log theta)
exp(E log phi)``; the product is kept as a mantissa and a whole exponent, so that no logarithm is
taken inside the loop and no digit is lost in long documents.

Counts of a tree whose documents have been seated by a sampler stand at the end (theory/ncrp 4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64, I8, I32, I64, U32, Floats
from hiertopics.families.ncrp.variational.slot_simd import multiply_four
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import LOG_2, digamma, log

GROUP = 4

NOTHING = -45.0
"""Log of a chance that is lost when it is added to one a hundred times over."""


class DocumentPairs(NamedTuple):
    """A corpus: pairs ``ptr[d] .. ptr[d + 1]`` of document d have ``word`` and ``tokens``."""

    ptr: I64
    word: I32
    tokens: I32


class Slots(NamedTuple):
    """The tree as kernels see it (``nested.slots.SlotNodes``), its LM [n_nodes] and exp(e0).

    parent is unsigned, so that no index is taken for one from the end; the root's is not used.
    """

    parent: U32
    bounds: I64
    path: I32
    log_mass: F64
    outside: float


class SlotGlobals(NamedTuple):
    """Global input of a local step: tables, the tree, and level_prior [depth].

    log_table [n_words, n_nodes]: E log phi; e_table: its exp. by_slot [n_words, depth - 1,
    n_nodes]: e_table at each level below the root of each slot's path, or exp(e0) where it is
    outside, and at_root [n_words], both over exp(log_scale [n_words]), the word's largest entry.
    Tables that a step does not need have no rows.
    """

    e_table: Floats
    by_slot: Floats
    at_root: Floats
    log_scale: F64
    log_table: Floats
    slots: Slots
    level_prior: F64
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

    words: Floats
    slot: F64
    outside: F64
    columns: I32


class SlotScratch(NamedTuple):
    """Rows [n_nodes]: acc and prod in the tables' dtype; bits, the same memory as prod, and
    exponent in the whole numbers of its size; rest float64. float_format: the number of mantissa
    bits, the exponent's bias, the mask of the mantissa and the bits of 1.0.
    """

    acc: Floats
    prod: Floats
    bits: NDArray[np.signedinteger]
    exponent: NDArray[np.signedinteger]
    rest: F64
    float_format: tuple[int, int, int, int]


@kernel(fastmath=REASSOCIATE, apart=True)
def slot_scores(
    cells: DocumentPairs,
    doc: int,
    e_theta: Floats,
    given: SlotGlobals,
    scratch: SlotScratch,
    scores: F64,
) -> None:
    """Write to ``scores`` [n_nodes] the sum over tokens of log sum over levels (theory/ncrp 3.1 B).

    e_theta [depth]: exp E log theta. A word's factor is at most 1 and, as all paths share the
    root, at least what the root alone gives: exponents are moved only when they could run out.
    Words that occur once or a few times are taken ``GROUP`` at a time, for which the products
    are read and written once.
    """
    prod, acc, rest = scratch.prod, scratch.acc, scratch.rest
    by_slot, at_root = given.by_slot, given.at_root
    most = scratch.float_format[1] - 8
    prod[:] = 1
    scratch.exponent[:] = 0
    rest[:] = 0.0
    used, n_splits, common = 0, 0, 0.0
    group, n_group, in_group = np.empty(GROUP, np.int32), 0, 0
    of_theta = _halvings(e_theta[0], most)
    # ``used`` and ``in_group`` bound how many halvings ``prod`` and the waiting group have taken: a
    # split of the exponents comes before a product could pass ``most``.
    for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
        word, count = cells.word[pair], cells.tokens[pair]
        common += count * given.log_scale[word]
        once = of_theta + _halvings(at_root[word], most)
        if count * once > most or count >= GROUP:
            _mix(by_slot[word], e_theta, e_theta[0] * at_root[word], acc)
            if count * once > most:  # no float holds its power: logarithms for this word alone
                _add_logs(rest, acc, count)
                continue
            if used + count * once > most:
                _split(scratch)
                n_splits, used = n_splits + 1, 0
            _multiply_power(prod, acc, count)
            used += count * once
            continue
        # A rare word waits in the group, once for each of its tokens.
        for _ in range(count):
            if n_group == GROUP or in_group + once > most:
                if used + in_group > most:
                    _split(scratch)
                    n_splits, used = n_splits + 1, 0
                _multiply_group(prod, acc, group[:n_group], e_theta, by_slot, at_root)
                used, n_group, in_group = used + in_group, 0, 0
            group[n_group] = word
            n_group, in_group = n_group + 1, in_group + once
    if used + in_group > most:
        _split(scratch)
        n_splits += 1
    _multiply_group(prod, acc, group[:n_group], e_theta, by_slot, at_root)
    for node in range(len(scores)):
        power = scratch.exponent[node] - scratch.float_format[1] * n_splits
        scores[node] = log(float(prod[node])) + LOG_2 * power + rest[node] + common


@kernel()
def _halvings(x: float, most: int) -> int:
    """Return how many halvings take 1 to ``x`` or below, at most ``most``; x from 0 to 1."""
    return min(1 - math.frexp(x)[1], most) if x > 0.0 else most


@kernel(fastmath=REASSOCIATE)
def _multiply_group(
    prod: Floats, acc: Floats, group: I32, e_theta: Floats, by_slot: Floats, at_root: Floats
) -> None:
    """Multiply ``prod`` by the chances of up to ``GROUP`` words in each slot."""
    if len(group) < GROUP or len(e_theta) != 3:
        for word in group:
            _mix(by_slot[word], e_theta, e_theta[0] * at_root[word], acc)
            for node in range(len(prod)):
                prod[node] *= acc[node]
        return
    a, b, c, d = group[0], group[1], group[2], group[3]
    rows_a, rows_b, rows_c, rows_d = by_slot[a], by_slot[b], by_slot[c], by_slot[d]
    multiply_four(
        prod,
        rows_a[0],
        rows_a[1],
        rows_b[0],
        rows_b[1],
        rows_c[0],
        rows_c[1],
        rows_d[0],
        rows_d[1],
        e_theta[0] * at_root[a],
        e_theta[0] * at_root[b],
        e_theta[0] * at_root[c],
        e_theta[0] * at_root[d],
        e_theta[1],
        e_theta[2],
    )


@kernel(fastmath=REASSOCIATE)
def _mix(rows: Floats, e_theta: Floats, at_root: float, acc: Floats) -> None:
    """Write a word's chance in each slot to ``acc``; rows [depth - 1, n_nodes]."""
    share = e_theta[1]
    for node in range(len(acc)):
        acc[node] = at_root + share * rows[0, node]
    for level in range(2, len(e_theta)):
        share = e_theta[level]
        for node in range(len(acc)):
            acc[node] += share * rows[level - 1, node]


@kernel(fastmath=REASSOCIATE)
def _multiply_power(prod: Floats, acc: Floats, count: int) -> None:
    """Multiply ``prod`` by ``acc`` to the power of ``count`` >= 1; acc is overwritten."""
    while True:
        if count & 1:
            for node in range(len(prod)):
                prod[node] *= acc[node]
        count >>= 1
        if count == 0:
            return
        for node in range(len(acc)):
            acc[node] *= acc[node]


@kernel()
def _split(scratch: SlotScratch) -> None:
    """Move the exponents of the positive floats ``prod``, bias included, to ``exponent``."""
    mantissa_bits, _, mask, one = scratch.float_format
    bits, exponent = scratch.bits, scratch.exponent
    for node in range(len(bits)):
        exponent[node] += bits[node] >> mantissa_bits
        bits[node] = (bits[node] & mask) | one


@kernel(fastmath=REASSOCIATE)
def _add_logs(rest: F64, acc: Floats, count: int) -> None:
    for node in range(len(rest)):
        rest[node] += count * log(float(acc[node]))


@kernel()
def level_terms(tau: F64, e_log_theta: F64) -> None:
    """Write E log theta under Dirichlet(tau), both [depth]."""
    mass = 0.0
    for level in range(len(tau)):
        mass += tau[level]
    total = digamma(mass)
    for level in range(len(tau)):
        e_log_theta[level] = digamma(tau[level]) - total


@kernel()
def weigh_slots(
    cells: DocumentPairs,
    doc: int,
    tau: F64,
    given: SlotGlobals,
    scratch: SlotScratch,
    log_weights: F64,
    chances: F64,
) -> float:
    """Write a document's log weights and chances of all slots [n_nodes] under its tau [depth].

    Returns its log normaliser (theory/ncrp 3.1 B).
    """
    e_log_theta, e_theta = np.empty(len(tau)), np.empty(len(tau), given.e_table.dtype)
    level_chances(tau, e_log_theta, e_theta)
    slot_scores(cells, doc, e_theta, given, scratch, log_weights)
    for slot in range(len(log_weights)):
        log_weights[slot] += given.slots.log_mass[slot]
    return normalise(log_weights, chances)


@kernel()
def level_chances(tau: F64, e_log_theta: F64, e_theta: Floats) -> None:
    """Write E log theta under Dirichlet(tau), and exp of it, all [depth]."""
    level_terms(tau, e_log_theta)
    for level in range(len(tau)):
        e_theta[level] = math.exp(e_log_theta[level])


@kernel()
def levels_gap(tau: F64, prior: F64, e_log_theta: F64) -> float:
    """Return E_theta of one document without the terms that do not depend on tau.

    In nats. All rows: float64 [n_levels].
    """
    mass = 0.0
    for level in range(len(tau)):
        mass += tau[level]
    value = -math.lgamma(mass)
    for level in range(len(tau)):
        value += math.lgamma(tau[level]) + (prior[level] - tau[level]) * e_log_theta[level]
    return value


@kernel()
def normalise(log_weights: F64, chances: F64) -> float:
    """Write exp(log_weights) scaled to sum 1; return the log of the sum; rows: float64 [n_slots].

    What is too small to change the sum is 0. A NaN makes the sum NaN.
    """
    largest, total = log_weights[0], 0.0
    for slot in range(1, len(log_weights)):
        largest = max(largest, log_weights[slot])
    for slot in range(len(log_weights)):
        gap = log_weights[slot] - largest
        chances[slot] = 0.0 if gap <= NOTHING else math.exp(gap)
        total += chances[slot]
    inverse = 1.0 / total
    for slot in range(len(chances)):
        chances[slot] *= inverse
    return largest + math.log(total)


@kernel()
def count_levels(token_ptr: I64, level: I8, found: I32) -> None:
    """Count the tokens of each pair by level [n_pairs, depth]; level: of each token."""
    for pair in range(len(found)):
        for token in range(token_ptr[pair], token_ptr[pair + 1]):
            found[pair, level[token]] += 1


@kernel()
def seat_documents(
    cells: DocumentPairs,
    leaf: I64,
    level_tokens: I32,
    share: F64,
    unsure: float,
    parent: I32,
    bounds: I64,
    words: F64,
    mass: F64,
    tau: F64,
) -> None:
    """Add documents on their paths to words [n_words, n_nodes], slots [n_nodes] and tau.

    leaf: int64 [n_docs], the slot of each document, in which q of slots is 1 - ``unsure``; the rest
    is spread evenly. level_tokens: [n_pairs, depth], tokens of each pair by level, smoothed by
    ``share`` [depth] of a token. parent, bounds: as in ``nested.slots.SlotNodes``. tau: [n_docs,
    depth], added to.
    """
    n_nodes, depth = len(parent), len(share)
    rest = unsure / max(n_nodes - 1, 1)
    passing = np.empty(n_nodes)
    for doc in range(len(leaf)):
        passing[:] = rest
        passing[leaf[doc]] = 1.0 - unsure
        for node in range(n_nodes):
            mass[node] += passing[node]
        for level in range(depth - 1, 0, -1):
            for node in range(bounds[level], bounds[level + 1]):
                passing[parent[node]] += passing[node]
        for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
            row, count = words[cells.word[pair]], cells.tokens[pair]
            for level in range(depth):
                amount = count * (level_tokens[pair, level] + share[level]) / (count + 1.0)
                tau[doc, level] += amount
                for node in range(bounds[level], bounds[level + 1]):
                    row[node] += amount * passing[node]
