"""Sweeps of the collapsed Gibbs sampler of the nested CRP over documents (theory/ncrp 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.token_layout import Words
from hiertopics.families.ncrp.sampler.chain_kernels import (
    Chain,
    Prior,
    Scratch,
    make_scratch,
    no_room,
    note_totals,
    occupy,
    trace,
    vacate,
)
from hiertopics.families.ncrp.sampler.path_kernels import (
    FACTORS,
    draw_node,
    score_nodes,
    weigh_paths,
)
from hiertopics.numeric.jit import kernel


@kernel()
def sweep(
    words: Words,
    chain: Chain,
    prior: Prior,
    order: NDArray[np.int64],
    start: int,
    fresh: bool,
    rng: np.random.Generator,
) -> int:
    """Redraw path, then levels, of each document of ``order[start:]``; return where it stopped.

    It stops before a document where a level has no free column left. fresh: the documents are
    not seated yet and their tokens have no level; each first draws a path from the prior, and
    levels given those before it.
    """
    scratch = make_scratch(words, chain, prior, FACTORS)
    n_levels = chain.path.shape[1]
    for place in range(start, len(order)):
        if no_room(chain, scratch, n_levels):
            return place
        doc = order[place]
        if fresh:
            scratch.score[:] = 0.0
            scratch.new_score[:] = 0.0
            weigh_paths(chain, prior, scratch)
            seat(doc, draw_node(chain, scratch, rng), chain, prior, scratch)
            draw_levels(doc, words, chain, prior, rng)
        lift(doc, words, chain, prior, scratch)
        score_nodes(doc, words, chain, prior, scratch)
        weigh_paths(chain, prior, scratch)
        seat(doc, draw_node(chain, scratch, rng), chain, prior, scratch)
        lower(doc, words, chain, scratch)
        draw_levels(doc, words, chain, prior, rng)
        note_totals(doc, chain, prior, scratch)
    return len(order)


@kernel()
def lift(doc: int, words: Words, chain: Chain, prior: Prior, scratch: Scratch) -> None:
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
    vacate(path, 1, chain, prior, scratch)
    note_totals(doc, chain, prior, scratch)


@kernel()
def seat(doc: int, node: int, chain: Chain, prior: Prior, scratch: Scratch) -> None:
    """Give a lifted document the path to ``node`` and, from an inner node, new nodes below it."""
    trace(chain.path[doc], node, chain, scratch)
    occupy(chain.path[doc], 1, chain, prior, scratch)


@kernel()
def lower(doc: int, words: Words, chain: Chain, scratch: Scratch) -> None:
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
    doc: int, words: Words, chain: Chain, prior: Prior, rng: np.random.Generator
) -> None:
    """Redraw the level of each token of a document given its path.

    P(level) is proportional to (n_dl + prior)(n_wk + eta)/(n_k + V eta) without the token. Of
    tokens that have no level yet each is drawn given those before it.
    """
    path, n_dl, n_levels = chain.path[doc], chain.n_dl[doc], chain.path.shape[1]
    word_total = chain.n_wk.shape[0] * prior.eta
    local = np.empty((5, n_levels))
    by_doc, total, inverse, by_word, cumulative = local[0], local[1], local[2], local[3], local[4]
    for level in range(n_levels):
        by_doc[level] = n_dl[level] + prior.level[level]
        total[level] = chain.n_k[path[level]] + word_total
        inverse[level] = 1.0 / total[level]
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for level in range(n_levels):
            by_word[level] = row[path[level]] + prior.eta
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            old = chain.level[token]
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
            while cumulative[new] <= target and new < n_levels - 1:
                new += 1

            by_doc[new] += 1.0
            by_word[new] += 1.0
            total[new] += 1.0
            inverse[new] = 1.0 / total[new]
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
