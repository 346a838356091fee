"""Grafts: a node and all below it, documents included, moves to another parent.

Documents move one by one between leaves, and each is held by the words of the path that it
shares with others; so a branch that hangs in the wrong place stays there. A graft redraws the
parent of a whole branch given all levels: its documents' words at the levels above it are one
block, weighed against every node as a document's are, and the nested CRP weighs their number.
The branch stays a child of its own, so the move is a Gibbs step.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.token_layout import Words
from hiertopics.families.ncrp.sampler.chain_kernels import (
    Chain,
    Prior,
    Scratch,
    make_scratch,
    no_room,
    occupy,
    trace,
    vacate,
)
from hiertopics.families.ncrp.sampler.path_kernels import FACTORS, divide, draw_node, multiply
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import copy_row


@kernel()
def graft_level(
    words: Words,
    chain: Chain,
    prior: Prior,
    level: int,
    order: NDArray[np.int64],
    start: int,
    rng: np.random.Generator,
) -> int:
    """Redraw the parent of each node of a level in turn; return where it stopped.

    order: the documents, those of a node side by side. Returns the place in ``order`` of a node
    that found no free column above it, or the number of documents.
    """
    scratch = make_scratch(words, chain, prior, 64 * FACTORS)
    block = np.zeros((chain.n_wk.shape[0], level), np.int32)
    while start < len(order):
        if no_room(chain, scratch, level):
            return start
        stop = start + 1
        node = chain.path[order[start], level]
        while stop < len(order) and chain.path[order[stop], level] == node:
            stop += 1
        docs = order[start:stop]
        path = chain.path[docs[0], :level]
        gather(docs, words, chain, block)
        move_words(-1, path, block, chain)
        vacate(path, len(docs), chain, prior, scratch)
        score_block(level, chain, prior, scratch, block)
        weigh_parents(level, len(docs), chain, prior, scratch)
        trace(path, draw_node(chain, scratch, rng), chain, scratch)
        occupy(path, len(docs), chain, prior, scratch)
        move_words(1, path, block, chain)
        chain.parent[node] = path[-1]
        for doc in docs:
            copy_row(path, chain.path[doc, :level])
        start = stop
    return len(order)


@kernel()
def gather(docs: NDArray[np.int64], words: Words, chain: Chain, block: NDArray[np.int32]) -> None:
    """Count the documents' words at the levels of ``block`` [n_words, level], not at the root."""
    block[:] = 0
    for doc in docs:
        for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
            for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
                level = chain.level[token]
                if 0 < level < block.shape[1]:
                    block[words.word[pair], level] += 1


@kernel()
def move_words(sign: int, path: NDArray[np.int32], block: NDArray[np.int32], chain: Chain) -> None:
    """Put the block's words on a path (sign 1) or take them off it (sign -1)."""
    for word in range(len(block)):
        for level in range(1, len(path)):
            n_tokens = sign * block[word, level]
            if n_tokens != 0:
                chain.n_wk[word, path[level]] += n_tokens
                chain.n_k[path[level]] += n_tokens


@kernel()
def score_block(
    level: int, chain: Chain, prior: Prior, scratch: Scratch, block: NDArray[np.int32]
) -> None:
    """Write the log likelihood ratio of the block's words under each node above ``level``."""
    word_total = len(block) * prior.eta
    scratch.new_score[:] = 0.0
    for above in range(level - 1, 0, -1):
        first, free = chain.first[above], scratch.free[above]
        last = max(scratch.used[above], free + 1)
        score = scratch.score[first:last]
        score[:] = 0.0
        n_factors, n_tokens = 0, 0
        for word in range(len(block)):
            for before in range(block[word, above]):
                scratch.row[n_factors] = word
                scratch.scale[n_factors] = 1.0
                scratch.add[n_factors] = prior.eta + before
                n_factors += 1
                n_tokens += 1
                if n_factors + FACTORS == len(scratch.row):
                    multiply(chain.n_wk, n_factors, first, scratch, score)
                    n_factors = 0
        if n_factors > 0:
            multiply(chain.n_wk, n_factors, first, scratch, score)
        for column in range(first, last):
            scratch.log_total[column] = math.lgamma(chain.n_k[column] + word_total)
        divide(chain.n_k[first:last], scratch.log_total[first:last], word_total + n_tokens, score)
        scratch.new_score[above] = scratch.new_score[above + 1] + score[free - first]


@kernel()
def weigh_parents(level: int, n_docs: int, chain: Chain, prior: Prior, scratch: Scratch) -> None:
    """Write to ``log_weight`` the log posterior of hanging a branch of ``n_docs`` at each node.

    A node right above ``level`` becomes the parent; one further up gets new nodes between.
    """
    gamma = prior.gamma
    new = math.log(gamma) + math.lgamma(n_docs) + math.lgamma(gamma) - math.lgamma(gamma + n_docs)
    scratch.log_weight[:] = -np.inf
    for above in range(level):
        for column in range(chain.first[above], scratch.used[above]):
            visits = chain.visits[column]
            if above > 0 and visits == 0:
                continue
            here = math.lgamma(gamma + visits) - math.lgamma(gamma + visits + n_docs)
            if above > 0:
                here += scratch.below[chain.parent[column]] + scratch.score[column]
                here += math.lgamma(visits + n_docs) - math.lgamma(visits)
            scratch.below[column] = here
            n_new = level - 1 - above
            scratch.log_weight[column] = here + n_new * new + scratch.new_score[above + 1]
