"""Sweeps of the collapsed Gibbs sampler of the nested CRP over documents (theory/ncrp 5).

A path is drawn by a document's words against every node of the tree at once.
A document's words at a level, x_w of word w, have under node i the log likelihood ratio

    F(i) = log Gamma(n_i + V eta) - log Gamma(n_i + x + V eta)
           + sum_w log Gamma(n_iw + x_w + eta) - log Gamma(n_iw + eta)

(theory/ncrp 5). The second line is the log of a product of n_iw + eta + j, j < x_w: it is
multiplied up for all nodes of the level side by side, with a logarithm every few words.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.families.ncrp.sampler.chain_kernels import (
    Chain,
    ChainScratch,
    Hyperparameters,
    log_gamma,
    make_scratch,
    no_room,
    note_totals,
    occupy,
    trace,
    vacate,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import log

FACTORS = 4
"""Factors that are multiplied in one pass over the nodes."""

PASSES = 6
"""Passes between logarithms: 24 factors from 2^-42 to 2^42 stay in the range of a float64."""

NEGLIGIBLE = -45.0
"""Log weights this far below the largest are taken for zero: they are below its last digit."""


@kernel()
def score_nodes(
    doc: int, words: TokenRanges, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Write F of every node below the root to ``score``, and of new nodes to ``new_score``.

    The document must be lifted. The root's F is the same for all paths and left out.
    """
    n_levels, begin = chain.path.shape[1], words.pair_ptr[doc]
    word_total = chain.n_wk.shape[0] * hyper.eta
    scratch.new_score[n_levels] = 0.0
    for level in range(n_levels - 1, 0, -1):
        first, free = chain.first[level], scratch.free[level]
        last = max(scratch.used[level], free + 1)
        score = scratch.score[first:last]
        score[:] = 0.0
        n_factors = 0
        for pair in range(begin, words.pair_ptr[doc + 1]):
            for before in range(scratch.pairs[pair - begin, level]):
                scratch.row[n_factors] = words.word[pair]
                scratch.scale[n_factors] = 1.0
                scratch.add[n_factors] = hyper.eta + before
                n_factors += 1
        if n_factors > 0:
            multiply(chain.n_wk, n_factors, first, scratch, score)
            totals = scratch.log_total[first:last]
            divide(chain.n_k[first:last], totals, word_total + n_factors, score)
        scratch.new_score[level] = scratch.new_score[level + 1] + score[free - first]


@kernel()
def multiply(n_wk: I32, n_factors: int, first: int, scratch: ChainScratch, score: F64) -> None:
    """Add the logs of the products of ``scale * n_wk[row] + add`` to ``score``, from ``first`` on.

    The factor lists must have room for FACTORS more: what fills up the last pass is 1.
    """
    row, scale, add = scratch.row, scratch.scale, scratch.add
    for spare in range(n_factors, n_factors + FACTORS):
        row[spare], scale[spare], add[spare] = row[0], 0.0, 1.0
    last = first + len(score)
    product = scratch.product[first:last]
    product[:] = 1.0
    passes = 0
    for f in range(0, n_factors, FACTORS):
        multiply_four(
            n_wk[row[f], first:last],
            n_wk[row[f + 1], first:last],
            n_wk[row[f + 2], first:last],
            n_wk[row[f + 3], first:last],
            scale[f : f + FACTORS],
            add[f : f + FACTORS],
            product,
        )
        passes += 1
        if passes == PASSES or f + FACTORS >= n_factors:
            take_logs(product, score)
            passes = 0


@kernel()
def multiply_four(a: I32, b: I32, c: I32, d: I32, scale: F64, add: F64, product: F64) -> None:
    """Multiply ``product`` by four factors, one of each row of counts; rows: [n], by node."""
    sa, sb, sc, sd = scale[0], scale[1], scale[2], scale[3]
    aa, ab, ac, ad = add[0], add[1], add[2], add[3]
    for k in range(len(product)):
        upper = (sa * a[k] + aa) * (sb * b[k] + ab)
        product[k] *= upper * ((sc * c[k] + ac) * (sd * d[k] + ad))


@kernel()
def take_logs(product: F64, score: F64) -> None:
    """Add the logs of the products to ``score``; set the products to one; rows: float64 [n]."""
    for k in range(len(product)):
        score[k] += log(product[k])
        product[k] = 1.0


@kernel()
def divide(n_k: I64, log_total: F64, total: float, score: F64) -> None:
    """Add the first line of F to ``score``; ``total`` is x + V eta; rows: [n], by node."""
    for k in range(len(score)):
        score[k] += log_total[k] - log_gamma(n_k[k] + total)


@kernel()
def weigh_paths(chain: Chain, hyper: Hyperparameters, scratch: ChainScratch) -> None:
    """Write to ``log_weight`` the log posterior of ending a path at each node, up to a constant.

    A leaf stands for its path; an inner node for a new branch from there down. The weight is the
    sum of F from the root down plus the log prior of the nested CRP.
    """
    n_levels, log_new = chain.path.shape[1], math.log(hyper.gamma)
    for level in range(n_levels):
        for column in range(chain.first[level], scratch.used[level]):
            if level > 0 and chain.visits[column] == 0:
                scratch.log_weight[column] = -np.inf
                continue
            here = 0.0
            if level > 0:
                above = scratch.below[chain.parent[column]]
                here = above + scratch.log_docs[column] + scratch.score[column]
            if level < n_levels - 1:
                scratch.below[column] = here - scratch.log_room[column]
                here = scratch.below[column] + log_new + scratch.new_score[level + 1]
            scratch.log_weight[column] = here


@kernel()
def draw_node(chain: Chain, scratch: ChainScratch, rng: np.random.Generator) -> int:
    """Draw a node by its ``log_weight``, which is overwritten."""
    weight, n_levels = scratch.log_weight, chain.path.shape[1]
    largest = -np.inf
    for level in range(n_levels):
        for column in range(chain.first[level], scratch.used[level]):
            largest = max(largest, weight[column])
    total = 0.0
    for level in range(n_levels):
        for column in range(chain.first[level], scratch.used[level]):
            difference = weight[column] - largest
            weight[column] = math.exp(difference) if difference > NEGLIGIBLE else 0.0
            total += weight[column]
    target = rng.random() * total
    chosen = 0
    for level in range(n_levels):
        for column in range(chain.first[level], scratch.used[level]):
            if weight[column] > 0.0 and target >= 0.0:
                chosen = column
                target -= weight[column]
    return chosen


@kernel()
def sweep(
    words: TokenRanges,
    chain: Chain,
    hyper: Hyperparameters,
    order: I64,
    start: int,
    fresh: bool,
    rng: np.random.Generator,
) -> int:
    """Redraw path, then levels, of each document of ``order[start:]``; return where it stopped.

    It stops before a document where a level has no free column left. fresh: the documents are
    not seated yet and their tokens have no level; each first draws a path from the prior, and
    levels given those before it.
    """
    scratch = make_scratch(words, chain, hyper, FACTORS)
    n_levels = chain.path.shape[1]
    for place in range(start, len(order)):
        if no_room(chain, scratch, n_levels):
            return place
        doc = order[place]
        if fresh:
            scratch.score[:] = 0.0
            scratch.new_score[:] = 0.0
            weigh_paths(chain, hyper, scratch)
            seat(doc, draw_node(chain, scratch, rng), chain, hyper, scratch)
            draw_levels(doc, words, chain, hyper, rng)
        lift(doc, words, chain, hyper, scratch)
        score_nodes(doc, words, chain, hyper, scratch)
        weigh_paths(chain, hyper, scratch)
        seat(doc, draw_node(chain, scratch, rng), chain, hyper, scratch)
        lower(doc, words, chain, scratch)
        draw_levels(doc, words, chain, hyper, rng)
        note_totals(doc, chain, hyper, scratch)
    return len(order)


@kernel()
def lift(
    doc: int, words: TokenRanges, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Take a document off its path, and its words below the root; note them by level."""
    path, n_levels = chain.path[doc], chain.path.shape[1]
    begin = words.pair_ptr[doc]
    for pair in range(begin, words.pair_ptr[doc + 1]):
        counts = scratch.pairs[pair - begin]
        counts[:] = 0
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            counts[chain.level[token]] += 1
        row = chain.n_wk[words.word[pair]]
        for level in range(1, n_levels):
            row[path[level]] -= counts[level]
    for level in range(1, n_levels):
        chain.n_k[path[level]] -= chain.n_dl[doc, level]
    vacate(path, 1, chain, hyper, scratch)
    note_totals(doc, chain, hyper, scratch)


@kernel()
def seat(doc: int, node: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch) -> None:
    """Give a lifted document the path to ``node`` and, from an inner node, new nodes below it."""
    trace(chain.path[doc], node, chain, scratch)
    occupy(chain.path[doc], 1, chain, hyper, scratch)


@kernel()
def lower(doc: int, words: TokenRanges, chain: Chain, scratch: ChainScratch) -> None:
    """Put a lifted document's words below the root on its path."""
    path, n_levels = chain.path[doc], chain.path.shape[1]
    begin = words.pair_ptr[doc]
    for pair in range(begin, words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for level in range(1, n_levels):
            row[path[level]] += scratch.pairs[pair - begin, level]
    for level in range(1, n_levels):
        chain.n_k[path[level]] += chain.n_dl[doc, level]


@kernel()
def draw_levels(
    doc: int, words: TokenRanges, chain: Chain, hyper: Hyperparameters, rng: np.random.Generator
) -> None:
    """Redraw the level of each token of a document given its path.

    P(level) is proportional to (n_dl + prior)(n_wk + eta)/(n_k + V eta) without the token. Of
    tokens that have no level yet each is drawn given those before it.
    """
    path, n_dl, n_levels = chain.path[doc], chain.n_dl[doc], chain.path.shape[1]
    word_total = chain.n_wk.shape[0] * hyper.eta
    local = np.empty((5, n_levels))
    by_doc, total, inverse, by_word, cumulative = local[0], local[1], local[2], local[3], local[4]
    # Four numbers a level are kept beside the tables: a document touches the nodes of its path
    # alone.
    for level in range(n_levels):
        by_doc[level] = n_dl[level] + hyper.level[level]
        total[level] = chain.n_k[path[level]] + word_total
        inverse[level] = 1.0 / total[level]
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for level in range(n_levels):
            by_word[level] = row[path[level]] + hyper.eta
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            old = chain.level[token]
            # The token is left out of the local numbers, not yet of the tables.
            if old >= 0:
                by_doc[old] -= 1.0
                by_word[old] -= 1.0
                total[old] -= 1.0
                inverse[old] = 1.0 / total[old]

            mass = 0.0
            for level in range(n_levels):
                mass += by_doc[level] * by_word[level] * inverse[level]
                cumulative[level] = mass
            target = rng.random() * mass
            new = 0
            # Rounding may lead past the last level.
            while cumulative[new] <= target and new < n_levels - 1:
                new += 1

            by_doc[new] += 1.0
            by_word[new] += 1.0
            total[new] += 1.0
            inverse[new] = 1.0 / total[new]
            # The tables change only where the level did.
            if new == old:
                continue
            chain.level[token] = new
            n_dl[new] += 1
            row[path[new]] += 1
            chain.n_k[path[new]] += 1
            if old >= 0:
                n_dl[old] -= 1
                row[path[old]] -= 1
                chain.n_k[path[old]] -= 1
