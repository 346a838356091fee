"""Documents redrawn side by side, topics and branch weights held (``partial`` says why).

Given shares of levels theta, a document of words w takes path c with chance proportional to

    prod_l weight of c_l among its siblings  prod_w sum_l theta_l phi_(c_l)w

and then each token level l with chance proportional to theta_l phi_(c_l)w: path and levels are
one draw. The products are multiplied up for all paths at once, their exponents kept apart.

Topics are Gamma draws of many small shapes, divided by their sums.
An absent word's share of a topic is a Gamma draw of shape eta, and there are as many as words
times nodes. They come from J. Ahrens and U. Dieter's rejection for shapes up to 1 (Computing,
1974): with b = 1 + shape/e and p uniform below b, x = p^(1/shape) where p <= 1, accepted with
chance e^-x, else x = -log((b - p)/shape), accepted with chance x^(shape - 1). The first branch is
vector code over a word's nodes; the few it leaves are finished one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I8, I32, I64
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.sampler.sweep_kernels import NEGLIGIBLE
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import LOG_2, exp, log
from hiertopics.numeric.streams import random_bits

LOW_BITS = np.uint64(24)
LOW_MASK = np.uint64((1 << 24) - 1)
UNIT, LOW_UNIT = 2.0**-40, np.float32(2.0**-24)

LEAST_LOG = math.log(1e-30)
"""Where draws end, in logs: a word this rare is as good as impossible, and float32 still has it.

A topic without tokens would be flattened by it where eta times the vocabulary is below about 0.05.
"""

OPEN = np.float32(-1.0)
"""Stands for a draw that is not finished."""


@kernel()
def begin_draws(key: np.uint64, first: int, shape: float, draws: F32) -> None:
    """Draw Gamma variables of a shape <= 1 by entries ``first`` and on; some are left ``OPEN``."""
    b, inverse = 1.0 + shape / math.e, 1.0 / shape
    half = np.float32(0.5)
    for k in range(len(draws)):
        bits = random_bits(key, first + k)
        p = b * UNIT * (np.float64(np.int64(bits >> LOW_BITS)) + 0.5)
        chance = LOW_UNIT * (np.float32(np.int32(bits & LOW_MASK)) + half)
        draws[k] = min(max(inverse * log(p), LEAST_LOG), 0.0)
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
    return max(rng.standard_gamma(shape), math.exp(LEAST_LOG))


@kernel()
def draw_masses(
    begin: int,
    end: int,
    n_wk: I32,
    node: I64,
    eta: float,
    key: np.uint64,
    mass: F32,
    rng: np.random.Generator,
) -> F64:
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


TOKENS_PER_RESET = 7
"""Chances of at least SMALLEST multiplied before exponents are taken out."""

SMALLEST = np.float32(1e-37)
EXPONENT_BIAS = np.int64(1023)
MANTISSA_BITS = np.int64(52)
MANTISSA = np.int64((1 << 52) - 1)
BITS_OF_ONE = np.int64(1023 << 52)


class PathTopics(NamedTuple):
    """Fixed input while documents are redrawn; P paths, those taken by documents.

    path: int32 [P, L], columns of the chain. first: int64 [P], the place in the order of its
    first document. log_weight: float64 [P], of the product of branch weights.
    root: float32 [n_words], below: float32 [n_words, L - 1, P], the word's chance at the root and
    at each lower level of each path.
    """

    path: I32
    first: I64
    log_weight: F64
    root: F32
    below: F32


class DrawMemory(NamedTuple):
    """Memory of a document's draw: by path chance, product, exponent, weight; by level share."""

    chance: F32
    product: F64
    exponent: I64
    weight: F64
    share: F64


@kernel()
def lay_topics(begin: int, end: int, mass: F32, scale: F32, node: I64, topics: PathTopics) -> None:
    """Fill ``root`` and ``below`` of some words from ``mass`` [n_words, K] times ``scale`` [K].

    node: int64 [L, P], the place in ``mass`` of each path's node at each level.
    """
    for word in range(begin, end):
        row = mass[word]
        topics.root[word] = row[0] * scale[0]
        for level in range(1, len(node)):
            chances, place = topics.below[word, level - 1], node[level]
            for k in range(len(chances)):
                chances[k] = row[place[k]] * scale[place[k]]


@kernel()
def redraw(
    docs: I64,
    place: I64,
    number: I64,
    words: TokenRanges,
    chain: Chain,
    hyper: Hyperparameters,
    topics: PathTopics,
    rng: np.random.Generator,
) -> None:
    """Redraw path and levels of documents; counts of words and visits are left as they were.

    place, number: int64 [n_docs], each document's place in the order, and its path's row in
    ``topics``. The first document of a path stays on it; the others choose among the paths that
    were there before them.
    """
    n_paths, n_levels = len(topics.path), chain.path.shape[1]
    table = DrawMemory(
        np.empty(n_paths, np.float32),
        np.empty(n_paths),
        np.empty(n_paths, np.int64),
        np.empty(n_paths),
        np.empty(n_levels),
    )
    for doc in docs:
        draw_shares(chain.n_dl[doc], hyper.level, table.share, rng)
        chosen = number[doc]
        if topics.first[chosen] < place[doc]:
            weigh_paths(doc, place[doc], words, topics, table)
            chosen = draw_path(table.weight, rng)
            chain.path[doc] = topics.path[chosen]
        draw_levels(doc, chosen, words, chain, topics, table.share, rng)


@kernel()
def draw_shares(n_tokens: I32, prior: F64, share: F64, rng: np.random.Generator) -> None:
    """Draw the shares of levels of a document with these tokens at each level; rows: [n_levels]."""
    for level in range(len(share)):
        share[level] = rng.standard_gamma(prior[level] + n_tokens[level])
    total = share.sum()
    if total > 0.0:
        share /= total


@kernel()
def weigh_paths(
    doc: int, place: int, words: TokenRanges, topics: PathTopics, table: DrawMemory
) -> None:
    """Write to ``weight`` the log chance of each path that was there before the document."""
    table.product[:] = 1.0
    table.exponent[:] = 0
    n_factors = 0
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        mix(words.word[pair], topics, table)
        for _ in range(words.token_ptr[pair + 1] - words.token_ptr[pair]):
            multiply(table.chance, table.product)
            n_factors += 1
            if n_factors == TOKENS_PER_RESET:
                take_exponents(table.product, table.exponent)
                n_factors = 0
    for k in range(len(table.weight)):
        score = log(table.product[k]) + LOG_2 * table.exponent[k]
        table.weight[k] = topics.log_weight[k] + score if topics.first[k] < place else -np.inf


@kernel()
def mix(word: int, topics: PathTopics, table: DrawMemory) -> None:
    """Write to ``chance`` a word's chance on each path: over levels, share times topic."""
    at_root = np.float32(table.share[0]) * topics.root[word]
    rows = topics.below[word]
    table.chance[:] = max(at_root, SMALLEST)
    for level in range(len(rows)):
        add(np.float32(table.share[level + 1]), rows[level], table.chance)


@kernel()
def add(share: np.float32, row: F32, chance: F32) -> None:
    """Add a level's part to ``chance``; rows: float32 [n_paths]."""
    for k in range(len(chance)):
        chance[k] += share * row[k]


@kernel()
def multiply(chance: F32, product: F64) -> None:
    """Multiply ``product`` by ``chance``; rows: [n_paths]."""
    for k in range(len(product)):
        product[k] *= chance[k]


@kernel()
def take_exponents(product: F64, exponent: I64) -> None:
    """Move the binary exponents of ``product`` to ``exponent``; leave factors from 1 to 2.

    Rows: [n_paths]. All products are positive.
    """
    bits = product.view(np.int64)
    for k in range(len(bits)):
        exponent[k] += (bits[k] >> MANTISSA_BITS) - EXPONENT_BIAS
        bits[k] = (bits[k] & MANTISSA) | BITS_OF_ONE


@kernel()
def draw_path(log_weight: F64, rng: np.random.Generator) -> int:
    """Draw a place by log weights, float64 [n], which are overwritten."""
    largest, total = log_weight.max(), 0.0
    for k in range(len(log_weight)):
        difference = log_weight[k] - largest
        log_weight[k] = math.exp(difference) if difference > NEGLIGIBLE else 0.0
        total += log_weight[k]
    target, chosen = rng.random() * total, 0
    for k in range(len(log_weight)):
        if log_weight[k] > 0.0 and target >= 0.0:
            chosen = k
            target -= log_weight[k]
    return chosen


@kernel()
def draw_levels(
    doc: int,
    chosen: int,
    words: TokenRanges,
    chain: Chain,
    topics: PathTopics,
    share: F64,
    rng: np.random.Generator,
) -> None:
    """Draw the level of each token of a document on path ``chosen``, shares and topics held.

    share: float64 [n_levels].
    """
    n_levels = len(share)
    cumulative = np.empty(n_levels)
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        word = words.word[pair]
        mass = share[0] * topics.root[word]
        cumulative[0] = mass
        for level in range(1, n_levels):
            mass += share[level] * topics.below[word, level - 1, chosen]
            cumulative[level] = mass
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            target, new = rng.random() * mass, 0
            while cumulative[new] <= target and new < n_levels - 1:
                new += 1
            chain.level[token] = new


@kernel()
def put_levels(docs: I64, words: TokenRanges, own: I8, level: I8) -> None:
    """Write the levels of some documents, ``own``, to their places among those of all tokens.

    docs: int64 [n]. own, level: int8, by token.
    """
    done = 0
    for doc in docs:
        first = words.token_ptr[words.pair_ptr[doc]]
        last = words.token_ptr[words.pair_ptr[doc + 1]]
        for token in range(first, last):
            level[token] = own[done + token - first]
        done += last - first
