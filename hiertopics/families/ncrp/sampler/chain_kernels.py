"""The records that the collapsed sampler of the nested CRP moves, their upkeep, their log joint.

Nodes are columns of one word-major table of counts. Each level owns a range of columns, so that
a document's words at a level are weighed against all nodes of that level by loops of unit
stride. A column without documents is free, and one free column at every level stands for a new
node: its counts are zero, which is what the marginal of a new topic asks for.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I8, I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import log

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Chain(NamedTuple):
    """Arrays that a sweep changes; C columns hold the nodes, L levels.

    path: int32 [n_docs, L], columns from the root down. level: int8 [n_tokens], 0 for the root,
    -1 where none has been drawn yet.
    n_dl: int32 [n_docs, L]. n_wk: int32 [n_words, C]. n_k: int64 [C]. parent: int32 [C].
    visits: int32 [C], documents through a node; 0: free. first: int64 [L + 1], the first column
    of each level, then C; column 0 is the root.
    """

    path: Annotated[I32, Axes("n_docs", "depth", least=0)]
    level: Annotated[I8, Axes("n_tokens", below="depth")]
    n_dl: Annotated[I32, Axes("n_docs", "depth", least=0, maybe_empty=True)]
    n_wk: Annotated[I32, Axes("n_words", "n_columns", least=0, maybe_empty=True)]
    n_k: Annotated[I64, Axes("n_columns", least=0, maybe_empty=True)]
    parent: Annotated[I32, Axes("n_columns", below="n_columns", maybe_empty=True)]
    visits: Annotated[I32, Axes("n_columns", least=0, maybe_empty=True)]
    first: Annotated[I64, Axes("depth+1", least=0)]

    def require_sound(self) -> None:
        """Raise ValueError unless levels follow one another and every path has all of them."""
        if self.first[0] != 0 or (self.first[1:] <= self.first[:-1]).any():
            raise ValueError("first does not lead from level to level")
        if len(self.parent) and len(self.parent) != self.first[-1]:
            raise ValueError("levels do not have as many columns as there are parents")
        if (self.path < self.first[:-1]).any() or (self.path >= self.first[1:]).any():
            raise ValueError("a path has a column of another level")
        if self.path[:, 0].any():
            raise ValueError("a path does not begin at the root")


class Hyperparameters(NamedTuple):
    """Hyperparameters: level, float64 [L], the Dirichlet of levels; gamma; eta."""

    level: Annotated[F64, Axes("depth", least=0)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    eta: Annotated[float, Axes(least=POSITIVE)]


class ChainScratch(NamedTuple):
    """Memory of a sweep.

    By column: log_total, log Gamma(n_k + V eta); log_docs, log(visits); log_room,
    log(visits + gamma); and of the document at hand product, score, above, inside, share,
    below, log_weight.
    By level: new_score [L + 1], scores of new nodes summed from a level down; used, one past the
    last column that is not free; free, the lowest free column. pairs: [most pairs, L], a
    document's tokens by level. row, scale, add: factors ``scale * count + add`` of its words.
    """

    log_total: F64
    log_docs: F64
    log_room: F64
    product: F64
    score: F64
    above: F64
    inside: F64
    share: F64
    below: F64
    log_weight: F64
    new_score: F64
    used: I64
    free: I64
    pairs: I32
    row: I64
    scale: F64
    add: F64


@kernel(inline=True)
def log_gamma(x: float) -> float:
    """Return log Gamma(x) for x > 0: eight steps up, then Stirling's series (error < 1e-12).

    No branch and no call, so that loops over it become vector code.
    """
    steps = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0) * (x + 7.0)
    y = x + 8.0
    inverse = 1.0 / y
    square = inverse * inverse
    series = 1.0 / 1260 - square * (1.0 / 1680 - square * (1.0 / 1188 - square * 691.0 / 360360))
    series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * series))
    return (y - 0.5) * log(y) - y + HALF_LOG_TWO_PI + series - log(steps)


@kernel()
def make_scratch(
    words: TokenRanges, chain: Chain, hyper: Hyperparameters, spare: int
) -> ChainScratch:
    """Return the memory of a sweep, its logarithms up to date; ``spare`` more factors fit."""
    n_levels, n_columns = chain.path.shape[1], len(chain.visits)
    most_pairs, longest = 0, 0
    for doc in range(len(words.pair_ptr) - 1):
        begin, end = words.pair_ptr[doc], words.pair_ptr[doc + 1]
        most_pairs = max(most_pairs, end - begin)
        longest = max(longest, words.token_ptr[end] - words.token_ptr[begin])
    by_column = np.zeros((10, n_columns))
    factors = np.zeros((2, longest + spare))
    scratch = ChainScratch(
        by_column[0],
        by_column[1],
        by_column[2],
        by_column[3],
        by_column[4],
        by_column[5],
        by_column[6],
        by_column[7],
        by_column[8],
        by_column[9],
        np.zeros(n_levels + 1),
        np.zeros(n_levels, np.int64),
        np.zeros(n_levels, np.int64),
        np.zeros((most_pairs, n_levels), np.int32),
        np.zeros(longest + spare, np.int64),
        factors[0],
        factors[1],
    )
    word_total = chain.n_wk.shape[0] * hyper.eta
    for column in range(n_columns):
        scratch.log_total[column] = math.lgamma(chain.n_k[column] + word_total)
        note_visits(column, chain, hyper, scratch)
    for level in range(n_levels):
        scratch.used[level] = chain.first[level + 1]
        note_used(level, chain, scratch)
        note_free(level, chain.first[level], chain, scratch)
    scratch.used[0] = 1  # The root is there before its first document.
    return scratch


@kernel()
def note_visits(column: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch) -> None:
    """Bring the logarithms of a node's documents up to date."""
    visits = chain.visits[column]
    scratch.log_docs[column] = math.log(visits) if visits > 0 else -np.inf
    scratch.log_room[column] = math.log(visits + hyper.gamma)


@kernel()
def note_totals(doc: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch) -> None:
    """Bring log_total of the nodes below the root of a document's path up to date."""
    word_total = chain.n_wk.shape[0] * hyper.eta
    for column in chain.path[doc, 1:]:
        scratch.log_total[column] = math.lgamma(chain.n_k[column] + word_total)


@kernel()
def note_used(level: int, chain: Chain, scratch: ChainScratch) -> None:
    """Lower ``used`` of a level to one past its last node."""
    used = scratch.used[level]
    while used > chain.first[level] and chain.visits[used - 1] == 0:
        used -= 1
    scratch.used[level] = used


@kernel()
def note_free(level: int, column: int, chain: Chain, scratch: ChainScratch) -> None:
    """Set ``free`` of a level to its first free column from ``column`` on."""
    while column < chain.first[level + 1] and chain.visits[column] > 0:
        column += 1
    scratch.free[level] = column


@kernel()
def trace(path: I32, node: int, chain: Chain, scratch: ChainScratch) -> None:
    """Write the path to ``node`` and, from an inner node, free columns for the levels below.

    path: int32 [n_levels], ends above the last level where only so much of it is wanted.
    """
    depth = 0
    while chain.first[depth + 1] <= node:
        depth += 1
    column = node
    for level in range(depth, -1, -1):
        path[level] = column
        column = chain.parent[column]
    for level in range(depth + 1, len(path)):
        path[level] = scratch.free[level]


@kernel()
def occupy(
    path: I32, n_docs: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Add documents to the nodes of a path, or of its upper part; new nodes come to be.

    path: int32, by level.
    """
    for level in range(len(path)):
        column = path[level]
        if level > 0:
            chain.parent[column] = path[level - 1]
        chain.visits[column] += n_docs
        note_visits(column, chain, hyper, scratch)
        scratch.used[level] = max(scratch.used[level], column + 1)
        if column == scratch.free[level]:
            note_free(level, column, chain, scratch)


@kernel()
def vacate(
    path: I32, n_docs: int, chain: Chain, hyper: Hyperparameters, scratch: ChainScratch
) -> None:
    """Take documents off the nodes of a path, or of its upper part; empty nodes become free.

    path: int32, by level.
    """
    for level in range(len(path)):
        column = path[level]
        chain.visits[column] -= n_docs
        note_visits(column, chain, hyper, scratch)
        if level > 0 and chain.visits[column] == 0:
            scratch.free[level] = min(scratch.free[level], column)
            note_used(level, chain, scratch)


@kernel()
def no_room(chain: Chain, scratch: ChainScratch, stop: int) -> bool:
    """Return whether a level below the root and above ``stop`` has no free column."""
    n_full = 0
    for level in range(1, stop):
        n_full += scratch.free[level] == chain.first[level + 1]
    return n_full > 0


TABLE = 256
"""Counts below this number are looked up."""


@kernel()
def log_joint(chain: Chain, hyper: Hyperparameters) -> float:
    """Return log p(paths, levels, words), topics, level weights and sticks integrated out."""
    eta, n_words = hyper.eta, chain.n_wk.shape[0]
    table = np.empty(TABLE)
    for count in range(TABLE):
        table[count] = math.lgamma(count + eta) - math.lgamma(eta)
    total = log_trees(chain, hyper.gamma) + log_levels(chain.n_dl, hyper.level)
    for column in range(len(chain.visits)):
        total += math.lgamma(n_words * eta) - math.lgamma(n_words * eta + chain.n_k[column])
    for word in range(n_words):
        row = chain.n_wk[word]
        for column in range(len(row)):
            count = row[column]
            if count == 0:
                continue
            if count < TABLE:
                total += table[count]
            else:
                total += math.lgamma(count + eta) - math.lgamma(eta)
    return total


@kernel()
def log_trees(chain: Chain, gamma: float) -> float:
    """Return the log probability of the documents' paths under the nested CRP."""
    total, n_levels = 0.0, chain.path.shape[1]
    for column in range(len(chain.visits)):
        visits = chain.visits[column]
        if visits == 0:
            continue
        if column > 0:
            total += math.lgamma(visits) + math.log(gamma)
        if column < chain.first[n_levels - 1]:
            total += math.lgamma(gamma) - math.lgamma(gamma + visits)
    return total


@kernel()
def log_levels(n_dl: I32, level_prior: F64) -> float:
    """Return the log probability of all tokens' levels.

    n_dl: int32 [n_docs, n_levels]. level_prior: float64 [n_levels].
    """
    mass, total = level_prior.sum(), 0.0
    for doc in range(n_dl.shape[0]):
        length = 0
        for level in range(n_dl.shape[1]):
            count = n_dl[doc, level]
            length += count
            if count > 0:
                total += math.lgamma(level_prior[level] + count) - math.lgamma(level_prior[level])
        if length > 0:
            total += math.lgamma(mass) - math.lgamma(mass + length)
    return total


@kernel()
def count_counts(n_wk: I32) -> I64:
    """Return how often each count occurs, int64 [largest count + 1], zeros not counted."""
    largest = 0
    for word in range(n_wk.shape[0]):
        for column in range(n_wk.shape[1]):
            largest = max(largest, n_wk[word, column])
    times = np.zeros(largest + 1, np.int64)
    for word in range(n_wk.shape[0]):
        for column in range(n_wk.shape[1]):
            count = n_wk[word, column]
            if count > 0:
                times[count] += 1
    return times


@kernel()
def count_all(
    path: I32, level: I8, pair_ptr: I64, word: I32, token_ptr: I64, n_wk: I32, n_dl: I32
) -> None:
    """Add every token to n_wk [n_words, C] and n_dl [n_docs, L]."""
    for doc in range(len(path)):
        for pair in range(pair_ptr[doc], pair_ptr[doc + 1]):
            for token in range(token_ptr[pair], token_ptr[pair + 1]):
                n_wk[word[pair], path[doc, level[token]]] += 1
                n_dl[doc, level[token]] += 1
