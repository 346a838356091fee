"""Tokens drawn from documents: the seen and the scored part of each, or what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import seeds

OBSERVED = 0.8


def partition(
    counts: sparse.csr_array,
    docs: Sequence[int] | NDArray[np.int64],
    seed: int,
    observed: float = OBSERVED,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split the tokens of each row at random into an observed and a scored part.

    counts: CSR whose rows are the documents with the numbers ``docs``. The draw for a document
    depends on (seed, its number) alone, and on ``observed`` too where that is not the default,
    so a document is cut the same way whatever is evaluated beside it.
    """
    key = () if observed == OBSERVED else (round(observed * 1_000_000),)
    return draw_tokens(counts, docs, seed, "partition", key, observed)


def draw_tokens(
    counts: sparse.csr_array,
    docs: Sequence[int] | NDArray[np.int64],
    seed: int,
    purpose: str,
    key: tuple[int, ...],
    share: float,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Draw round(share * length) tokens of each row, at least one unless the share is 0."""
    taken = np.zeros_like(counts.data)
    for row, doc in enumerate(docs):
        cells = slice(counts.indptr[row], counts.indptr[row + 1])
        tokens = np.repeat(np.arange(cells.start, cells.stop), counts.data[cells])
        if not len(tokens) or share == 0:
            continue
        n_taken = min(len(tokens), max(1, int(share * len(tokens) + 0.5)))
        order = seeds.derive(seed, purpose, int(doc), *key).permutation(len(tokens))
        np.add.at(taken, tokens[order[:n_taken]], 1)
    return _without_zeros(counts, taken), _without_zeros(counts, counts.data - taken)


def _without_zeros(like: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    matrix = sparse.csr_array((data.astype(np.int32), like.indices, like.indptr), shape=like.shape)
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    return matrix
