"""Moves besides sweeps: leaps of documents and grafts of branches.

A leap proposes a document's path and all its levels together.
The path move holds a document's levels, so that its words hold it where it is. A leap draws a
path by its prior times a score with the levels summed out,

    S = prod_w (sum_l share_l (n_iw + eta)/(n_i + V eta))^x_w,   i the path's node at level l,

and then each token's level given the tokens before it. All counts are the other documents', and
share_l is the share of their tokens at level l. The levels drawn have the chance
p(levels, words | path)/W, where W is the product over tokens of the sum, over levels, of
(n_dl + prior_l)/(n_d + sum of prior) (n_iw + eta)/(n_i + V eta) with the tokens before counted. So
the acceptance ratio of Metropolis and Hastings comes to (W'/S')/(W/S), primes for what is
proposed; W of the present levels is what their draw would have given.

A graft moves a node and all below it, documents included, to another parent.
Documents move one by one between leaves, and each is held by the words of the path that it
shares with others; so a branch that hangs in the wrong place stays there. A graft redraws the
parent of a whole branch given all levels: its documents' words at the levels above it are one
block, weighed against every node as a document's are, and the nested CRP weighs their number.
The branch stays a child of its own, so the move is a Gibbs step.
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
    make_scratch,
    no_room,
    note_totals,
    occupy,
    trace,
    vacate,
)
from hiertopics.families.ncrp.sampler.sweep_kernels import (
    FACTORS,
    divide,
    draw_node,
    multiply,
    take_logs,
    weigh_paths,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import copy_row

FACTORS_PER_LOG = 16
"""Chances multiplied before a logarithm is taken; each is above 1e-18."""

SMALL = 1e-200
"""A product of chances below this goes into a logarithm."""


@kernel()
def leap_all(
    words: TokenRanges, chain: Chain, hyper: Hyperparameters, start: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Let each document from ``start`` on leap; return where it stopped and how many moved.

    It stops before a document where a level has no free column left.
    """
    scratch = make_scratch(words, chain, hyper, FACTORS)
    moved, n_levels = 0, chain.path.shape[1]
    for doc in range(start, len(chain.path)):
        if no_room(chain, scratch, n_levels):
            return doc, moved
        moved += leap(doc, words, chain, hyper, scratch, rng)
    return len(chain.path), moved


@kernel()
def leap(
    doc: int,
    words: TokenRanges,
    chain: Chain,
    hyper: Hyperparameters,
    scratch: ChainScratch,
    rng: np.random.Generator,
) -> bool:
    """Propose path and levels for a document; return whether they were accepted."""
    path = chain.path[doc]
    tokens = chain.level[
        words.token_ptr[words.pair_ptr[doc]] : words.token_ptr[words.pair_ptr[doc + 1]]
    ]
    old_path, old_level = path.copy(), tokens.copy()
    take_off(doc, words, chain)
    vacate(path, 1, chain, hyper, scratch)
    score_slots(doc, words, chain, hyper, scratch)
    now = put_on(doc, words, chain, hyper, False, rng) - scratch.score[slot_of(path, chain)]
    take_off(doc, words, chain)
    node = draw_node(chain, scratch, rng)
    trace(path, node, chain, scratch)
    proposed = put_on(doc, words, chain, hyper, True, rng) - scratch.score[node]
    accepted = math.log(rng.random()) < proposed - now
    if not accepted:
        take_off(doc, words, chain)
        copy_row(old_path, path)
        copy_row(old_level, tokens)
        put_back(doc, words, chain)
    occupy(path, 1, chain, hyper, scratch)
    note_totals(doc, chain, hyper, scratch)
    return accepted


@kernel()
def slot_of(path: I32, chain: Chain) -> int:
    """Return the last node of a path, [n_levels], that has other documents than the path's own."""
    level = 0
    while level < len(path) - 1 and chain.visits[path[level + 1]] > 0:
        level += 1
    return path[level]


@kernel()
def take_off(doc: int, words: TokenRanges, chain: Chain) -> None:
    """Take all of a document's words off its path; levels stay noted."""
    path, n_dl = chain.path[doc], chain.n_dl[doc]
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            row[path[chain.level[token]]] -= 1
    for level in range(len(path)):
        chain.n_k[path[level]] -= n_dl[level]
        n_dl[level] = 0


@kernel()
def put_back(doc: int, words: TokenRanges, chain: Chain) -> None:
    """Put a document's words on its path at the levels that are noted."""
    path, n_dl = chain.path[doc], chain.n_dl[doc]
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            row[path[chain.level[token]]] += 1
            n_dl[chain.level[token]] += 1
    for level in range(len(path)):
        chain.n_k[path[level]] += n_dl[level]


@kernel()
def put_on(
    doc: int,
    words: TokenRanges,
    chain: Chain,
    hyper: Hyperparameters,
    fresh: bool,
    rng: np.random.Generator,
) -> float:
    """Put a document's words on its path, token by token; return log W.

    fresh: each level is drawn given the tokens before it; else the levels are those noted.
    """
    path, n_dl, n_levels = chain.path[doc], chain.n_dl[doc], chain.path.shape[1]
    word_total, doc_total = chain.n_wk.shape[0] * hyper.eta, 0.0
    # The document is counted nowhere: a token sees those of other documents, and its own
    # document's tokens before it.
    local = np.empty((5, n_levels))
    by_doc, total, inverse, by_word, cumulative = local[0], local[1], local[2], local[3], local[4]
    for level in range(n_levels):
        by_doc[level] = hyper.level[level]
        doc_total += by_doc[level]
        total[level] = chain.n_k[path[level]] + word_total
        inverse[level] = 1.0 / total[level]
    log_w, w = 0.0, 1.0
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row = chain.n_wk[words.word[pair]]
        for level in range(n_levels):
            by_word[level] = row[path[level]] + hyper.eta
        for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
            mass = 0.0
            for level in range(n_levels):
                mass += by_doc[level] * by_word[level] * inverse[level]
                cumulative[level] = mass
            # One logarithm for many tokens: it is taken before the product runs out of digits.
            w *= mass / doc_total
            if w < SMALL:
                log_w += math.log(w)
                w = 1.0
            new = chain.level[token]
            if fresh:
                target = rng.random() * mass
                new = 0
                while cumulative[new] <= target and new < n_levels - 1:
                    new += 1
                chain.level[token] = new
            by_doc[new] += 1.0
            doc_total += 1.0
            by_word[new] += 1.0
            total[new] += 1.0
            inverse[new] = 1.0 / total[new]
            n_dl[new] += 1
            row[path[new]] += 1
    # ``total`` had the sizes of the path's nodes meanwhile.
    for level in range(n_levels):
        chain.n_k[path[level]] += n_dl[level]
    return log_w + math.log(w)


@kernel()
def score_slots(
    doc: int, words: TokenRanges, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Write log S of every slot to ``score``, and with the tree's log prior to ``log_weight``.

    A slot is a leaf, or an inner node with new nodes below it, whose topics are flat.
    """
    n_levels = chain.path.shape[1]
    scratch.score[:] = 0.0
    scratch.new_score[:] = 0.0
    weigh_paths(chain, hyper, scratch)
    rest = set_shares(chain, hyper, scratch)
    scratch.product[:] = 1.0
    factors, used = 0, scratch.used[n_levels - 1]
    for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
        row, inside = chain.n_wk[words.word[pair]], scratch.inside
        inside[0] = scratch.share[0] * (row[0] + hyper.eta)
        for level in range(1, n_levels):
            first, last = chain.first[level], scratch.used[level]
            above, share = scratch.above[first:last], scratch.share[first:last]
            copy_parents(inside, chain.parent[first:last], above)
            add_chances(row[first:last], share, hyper.eta, above, inside[first:last])
        for _ in range(words.token_ptr[pair + 1] - words.token_ptr[pair]):
            for level in range(n_levels):
                first, last = chain.first[level], scratch.used[level]
                multiply_by(inside[first:last], rest[level], scratch.product[first:last])
            factors += 1
            if factors == FACTORS_PER_LOG:
                take_logs(scratch.product[:used], scratch.score[:used])
                factors = 0
    take_logs(scratch.product[:used], scratch.score[:used])
    for column in range(used):
        scratch.log_weight[column] += scratch.score[column]


@kernel()
def set_shares(chain: Chain, hyper: Hyperparameters, scratch: ChainScratch) -> F64:
    """Set ``share`` of each node to share_l/(n_k + V eta); return the part outside by level.

    float64 [n_levels]. Outside a slot at a level are the new nodes below it: the sum of share_l/V
    over their levels.
    """
    n_levels, n_words = chain.path.shape[1], chain.n_wk.shape[0]
    at_level, total = hyper.level.copy(), 0.0
    for level in range(n_levels):
        n_tokens = 0
        for column in range(chain.first[level], scratch.used[level]):
            n_tokens += chain.n_k[column]
        at_level[level] += n_tokens
        total += at_level[level]
    for level in range(n_levels):
        at_level[level] /= total
    rest = np.zeros(n_levels)
    for level in range(n_levels - 1, -1, -1):
        if level < n_levels - 1:
            rest[level] = rest[level + 1] + at_level[level + 1] / n_words
        for column in range(chain.first[level], scratch.used[level]):
            topic_total = chain.n_k[column] + n_words * hyper.eta
            scratch.share[column] = at_level[level] / topic_total
    return rest


@kernel()
def copy_parents(inside: F64, parent: I32, above: F64) -> None:
    """Set ``above`` of a level's nodes to ``inside`` of their parents.

    above, parent: [n], by node of the level. inside: by node of the level above.
    On its own, because a loop with such look-ups is not made vector code.
    """
    for k in range(len(above)):
        above[k] = inside[np.uint32(parent[k])]


@kernel()
def add_chances(row: I32, share: F64, eta: float, above: F64, inside: F64) -> None:
    """Set ``inside`` of a level's nodes to that of the parent plus a word's chance at the node.

    All rows: [n], by node of the level.
    """
    for k in range(len(inside)):
        inside[k] = above[k] + share[k] * (row[k] + eta)


@kernel()
def multiply_by(inside: F64, rest: float, product: F64) -> None:
    """Multiply ``product`` by a word's chance under each slot of a level; rows: float64 [n]."""
    for k in range(len(product)):
        product[k] *= inside[k] + rest


@kernel()
def graft_level(
    words: TokenRanges,
    chain: Chain,
    hyper: Hyperparameters,
    level: int,
    order: I64,
    start: int,
    rng: np.random.Generator,
) -> int:
    """Redraw the parent of each node of a level in turn; return where it stopped.

    order: int64 [n_docs], those of a node side by side. Returns the place in ``order`` of a node
    that found no free column above it, or the number of documents.
    """
    scratch = make_scratch(words, chain, hyper, 64 * FACTORS)
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
        vacate(path, len(docs), chain, hyper, scratch)
        score_block(level, chain, hyper, scratch, block)
        weigh_parents(level, len(docs), chain, hyper, scratch)
        trace(path, draw_node(chain, scratch, rng), chain, scratch)
        occupy(path, len(docs), chain, hyper, scratch)
        move_words(1, path, block, chain)
        chain.parent[node] = path[-1]
        for doc in docs:
            copy_row(path, chain.path[doc, :level])
        start = stop
    return len(order)


@kernel()
def gather(docs: I64, words: TokenRanges, chain: Chain, block: I32) -> None:
    """Count the documents' words at the levels of ``block`` [n_words, level], not at the root."""
    block[:] = 0
    for doc in docs:
        for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
            for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
                level = chain.level[token]
                if 0 < level < block.shape[1]:
                    block[words.word[pair], level] += 1


@kernel()
def move_words(sign: int, path: I32, block: I32, chain: Chain) -> None:
    """Put the block's words on a path (sign 1) or take them off it (sign -1).

    block: int32 [n_words, n_levels], counts. path: [n_levels].
    """
    for word in range(len(block)):
        for level in range(1, len(path)):
            n_tokens = sign * block[word, level]
            if n_tokens != 0:
                chain.n_wk[word, path[level]] += n_tokens
                chain.n_k[path[level]] += n_tokens


@kernel()
def score_block(
    level: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch, block: I32
) -> None:
    """Write the log likelihood ratio of the block's words under each node above ``level``.

    block: int32 [n_words, level], counts.
    """
    word_total = len(block) * hyper.eta
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
                scratch.add[n_factors] = hyper.eta + before
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
def weigh_parents(
    level: int, n_docs: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Write to ``log_weight`` the log posterior of hanging a branch of ``n_docs`` at each node.

    A node right above ``level`` becomes the parent; one further up gets new nodes between.
    """
    gamma = hyper.gamma
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
