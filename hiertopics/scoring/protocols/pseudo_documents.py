"""The log chance of documents under a mixture of documents drawn from fitted models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.tree import Tree
from hiertopics.model import Components

CHUNK = 128
"""Drawn documents whose word chances are tabulated at a time."""

Draw = Callable[[Tree, int, np.random.Generator], Iterator[Components]]


class Part(NamedTuple):
    """Some of the documents to draw: how many, from which tree, for which block of them."""

    draw: int
    block: int
    n_samples: int


def parts(n_samples: int, n_draws: int, n_blocks: int) -> list[Part]:
    """Spread samples evenly over draws and, in the same order, over disjoint blocks."""
    by_draw = [n_samples * draw // n_draws for draw in range(n_draws + 1)]
    by_block = [n_samples * block // n_blocks for block in range(n_blocks + 1)]
    cuts = sorted({*by_draw, *by_block})
    ends = np.array(cuts[1:])
    draws = np.searchsorted(by_draw, ends) - 1
    blocks = np.searchsorted(by_block, ends) - 1
    sizes = np.diff(cuts)
    return [Part(*map(int, part)) for part in zip(draws, blocks, sizes, strict=True)]


class Documents:
    """Documents to be scored, relative to a distribution over words that is about theirs.

    Sums of float32 logarithms of p(w) / reference(w) stay small, and so do their errors.
    """

    def __init__(self, scored: sparse.csr_array, reference: NDArray[np.float64]) -> None:
        """Keep the words that occur; ``reference`` [n_words] is positive."""
        self.words = np.unique(scored.indices)
        self.counts = sparse.csr_array(scored[:, self.words], dtype=np.float32)
        self.reference = reference[self.words]
        self.base = self.counts.astype(np.float64) @ np.log(self.reference)

    def __len__(self) -> int:
        """Return how many documents there are."""
        return int(self.counts.shape[0])

    def log_ratios(
        self, tree: Tree, blocks: Iterable[Components]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float32]]]:
        """Yield (weights [m], log p(d | component) - log reference(d) [n_docs, m])."""
        before, by_word = None, np.empty((0, 0), np.float32)
        for weights, mixtures, own in blocks:
            rows = tree.phi if own is None else own
            if rows is not before:
                before = rows
                by_word = (rows[:, self.words] / self.reference).T.astype(np.float32)
            for start in range(0, len(weights), CHUNK):
                chunk = slice(start, start + CHUNK)
                table = by_word @ mixtures[chunk].T.astype(np.float32)
                with np.errstate(divide="ignore"):
                    np.log(table, out=table)
                yield weights[chunk], self.counts @ table


class LogSums:
    """Running log sums of exponentials, one per document: float64 [n_docs]."""

    def __init__(self, n_docs: int) -> None:
        """Begin with empty sums."""
        self.peak = np.full(n_docs, -np.inf)
        self.total = np.zeros(n_docs)

    def add(self, weights: NDArray[np.float64], logs: NDArray[np.float32]) -> None:
        """Add weights [m] times the exponentials of logs [n_docs, m]."""
        peak = np.maximum(self.peak, logs.max(axis=1))
        # A document that is impossible so far has nothing to be scaled by.
        shift = np.where(np.isfinite(peak), peak, 0.0)
        self.total *= np.exp(self.peak - shift)
        self.total += np.exp(logs - shift[:, None]) @ weights
        self.peak = peak

    @property
    def value(self) -> NDArray[np.float64]:
        """The logarithms of the sums."""
        with np.errstate(divide="ignore"):
            return np.where(np.isfinite(self.peak), self.peak, 0.0) + np.log(self.total)
