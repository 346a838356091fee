"""Topics of tokens: their counts, and the tables that counts make (theory/hdp 6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64, Floats
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import kernel


class TokenTopics(NamedTuple):
    """Topics z [n_tokens] of tokens, and their counts n_dk [n_docs, T], n_wk [n_words, T], n_k [T].

    A sweep moves them all.
    """

    z: I32
    n_dk: I32
    n_wk: I32
    n_k: I64


@kernel()
def count_tokens(cells: Cells, z: I32, n_dk: I32, n_wk: I32) -> None:
    """Add every token to n_dk [n_docs, T] and n_wk [n_words, T]."""
    for doc in range(cells.cuts.shape[0]):
        for token in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            n_dk[doc, z[token]] += 1
            n_wk[cells.word[token], z[token]] += 1


@kernel()
def count_block(cells: Cells, word_shard: int, z: I32, n_dk: I32, n_wk: I32) -> None:
    """Add the tokens of a piece in a word range to n_dk [n_docs, T] and n_wk [n_words, T]."""
    for doc in range(cells.cuts.shape[0]):
        for token in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            n_dk[doc, z[token]] += 1
            n_wk[cells.word[token], z[token]] += 1


@kernel()
def share_pairs(tokens: Floats, z: I32, resp: Floats) -> None:
    """Add the share of each topic among a pair's ``tokens`` [n_pairs] to resp [n_pairs, T].

    z: the topics of all tokens, pair by pair.
    """
    token = 0
    for pair in range(len(tokens)):
        end = token + np.int64(tokens[pair])
        share = resp.dtype.type(1.0) / resp.dtype.type(tokens[pair])
        while token < end:
            resp[pair, z[token]] += share
            token += 1


@kernel()
def renumber_tokens(z: I32, number: I32) -> None:
    """Give each token's topic its ``number`` [T], in place; below 0 there is none."""
    for token in range(len(z)):
        if z[token] >= 0:
            z[token] = number[z[token]]


@kernel()
def take_columns(counts: I32, order: I64) -> None:
    """Put column ``order[k]`` of ``counts`` [n, T] at place k, in place."""
    old = np.empty(len(order), counts.dtype)
    for row in range(len(counts)):
        for topic in range(len(order)):
            old[topic] = counts[row, topic]
        for topic in range(len(order)):
            counts[row, topic] = old[order[topic]]


@kernel()
def draw_n_tables(n_tokens: int, x: float, rng: np.random.Generator) -> int:
    """Return the tables that n tokens make under the concentration x: the Antoniak law.

    That is 1 + sum_{j=1}^{n-1} Bernoulli(x / (x + j)); the first customer always opens one, also
    where x has underflowed to 0.
    """
    if n_tokens == 0:
        return 0
    n_tables = 1
    for seated in range(1, n_tokens):
        n_tables += rng.random() * (x + seated) < x
    return n_tables


@kernel()
def count_tables(counts: I32, x: float, rng: np.random.Generator) -> int:
    """Return the tables that all cells of ``counts`` make under one concentration x.

    counts: int32 [n_rows, n_columns].
    """
    n_tables = 0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            count = counts[row, column]
            n_tables += draw_n_tables(count, x, rng) if count > 1 else count
    return n_tables
