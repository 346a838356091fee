"""Topics of tokens: their counts, and the tables that counts make (theory/hdp 6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import kernel


class Tables(NamedTuple):
    """The arrays that a sweep moves: z [n_tokens], n_dk [n_docs, T], n_wk [n_words, T], n_k [T]."""

    z: NDArray[np.int32]
    n_dk: NDArray[np.int32]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]


@kernel()
def count_tokens(
    cells: Cells, z: NDArray[np.int32], n_dk: NDArray[np.int32], n_wk: NDArray[np.int32]
) -> None:
    """Add every token to n_dk [n_docs, T] and n_wk [n_words, T]."""
    for doc in range(cells.cuts.shape[0]):
        for token in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
            n_dk[doc, z[token]] += 1
            n_wk[cells.word[token], z[token]] += 1


@kernel()
def count_block(
    cells: Cells,
    word_shard: int,
    z: NDArray[np.int32],
    n_dk: NDArray[np.int32],
    n_wk: NDArray[np.int32],
) -> None:
    """Add the tokens of a piece in a word range to n_dk [n_docs, T] and n_wk [n_words, T]."""
    for doc in range(cells.cuts.shape[0]):
        for token in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]):
            n_dk[doc, z[token]] += 1
            n_wk[cells.word[token], z[token]] += 1


@kernel()
def share_pairs(
    tokens: NDArray[np.floating[Any]], z: NDArray[np.int32], resp: NDArray[np.floating[Any]]
) -> None:
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
def renumber_tokens(z: NDArray[np.int32], number: NDArray[np.int32]) -> None:
    """Give each token's topic its ``number`` [T], in place."""
    for token in range(len(z)):
        z[token] = number[z[token]]


@kernel()
def take_columns(counts: NDArray[np.int32], order: NDArray[np.int64]) -> None:
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
def count_tables(counts: NDArray[np.int32], x: float, rng: np.random.Generator) -> int:
    """Return the tables that all cells of ``counts`` make under one concentration x."""
    n_tables = 0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            count = counts[row, column]
            n_tables += draw_n_tables(count, x, rng) if count > 1 else count
    return n_tables
