"""Tokens drawn from documents: the seen and the scored part, or the withheld part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import I64, Ints

OBSERVED = 0.8
UNROLLED = 2**22
"""Tokens of a document beyond which they are not listed one by one."""


def partition(
    counts: sparse.csr_array, docs: Sequence[int] | I64, seed: int, observed: float = OBSERVED
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split the tokens of each row at random into an observed and a scored part.

    counts: int CSR [n_docs, n_words], whose rows are the documents with the numbers ``docs``,
    [n_docs]. Both parts have its shape. observed: the share of a document's tokens in the first.
    The draw for a document depends on (seed, its number) alone, and on ``observed`` too where that
    is not the default, so a document is cut the same way whatever is evaluated beside it.
    """
    key = () if observed == OBSERVED else (round(observed * 1_000_000),)
    return draw_tokens(counts, docs, seed, "partition", key, observed)


def draw_tokens(
    counts: sparse.csr_array,
    docs: Sequence[int] | I64,
    seed: int,
    purpose: str,
    key: tuple[int, ...],
    share: float,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Draw round(share * length) tokens of each row, at least one unless the share is 0.

    Return the drawn tokens and the others, both CSR of the shape of counts. Rows of more than
    ``UNROLLED`` tokens are drawn from by ``draw_counts``.
    """
    taken = np.zeros_like(counts.data)
    for row, doc in enumerate(docs):
        cells = slice(counts.indptr[row], counts.indptr[row + 1])
        n_tokens = int(counts.data[cells].sum(dtype=np.int64))
        if not n_tokens or share == 0:
            continue
        n_taken = min(n_tokens, max(1, int(share * n_tokens + 0.5)))
        rng = seeds.derive(seed, purpose, int(doc), *key)
        if n_tokens > UNROLLED:
            taken[cells] = draw_counts(rng, counts.data[cells], n_taken)
            continue
        tokens = np.repeat(np.arange(cells.start, cells.stop), counts.data[cells])
        order = rng.permutation(n_tokens)
        np.add.at(taken, tokens[order[:n_taken]], 1)
    return _without_zeros(counts, taken), _without_zeros(counts, counts.data - taken)


def draw_counts(rng: np.random.Generator, counts: Ints, n_taken: int) -> I64:
    """Draw ``n_taken`` tokens of a document without replacement; return how many of each word.

    counts: tokens of each word, int [n_words]. Every token is taken by a coin of its own; then,
    uniformly, as many are put back as were too many, or more taken as were too few. Given how
    many they are, tokens that were taken by coins are a uniform subset, so the result is that of
    a permutation of the tokens. Time and memory grow with the words and with the root of n_taken.
    """
    whole = counts.astype(np.int64)
    taken = rng.binomial(whole, n_taken / int(whole.sum()))
    missing = n_taken - int(taken.sum())
    pool, step = (whole - taken, 1) if missing > 0 else (taken, -1)
    ends = np.cumsum(pool)
    chosen = rng.choice(int(ends[-1]), abs(missing), replace=False, shuffle=False)
    np.add.at(taken, np.searchsorted(ends, chosen, side="right"), step)
    return taken


def _without_zeros(like: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    matrix = sparse.csr_array((data.astype(np.int32), like.indices, like.indptr), shape=like.shape)
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    return matrix
