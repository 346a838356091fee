"""The corpus as kernels that count by topic want it: rows of cells, cut into blocks for threads.

A cell is a (document, word) pair for the variational methods and a token for Gibbs. Documents
and words are both cut into S contiguous ranges of about equal work. Round r visits the S blocks
(document range s, word range (s + r) mod S): they share neither a document's nor a word's row of
the count tables, so S threads may work at once and the result depends on S, never on the number
of threads or their timing. Only the topic totals are seen by a block as they were when its
round began.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.data.corpus import Corpus


class Cells(NamedTuple):
    """Cells in document order, by word id within a document.

    cuts: int64 [n_docs, S + 1]; cells ``cuts[d, s] .. cuts[d, s + 1]`` are those of document d
    in word range s. word: int32 [n_cells]. tokens: float [n_cells], tokens of the cell.
    doc_bounds: int64 [S + 1], the document ranges.
    """

    cuts: NDArray[np.int64]
    word: NDArray[np.int32]
    tokens: NDArray[np.floating]
    doc_bounds: NDArray[np.int64]

    @property
    def n_shards(self) -> int:
        """Number S of document ranges and of word ranges."""
        return len(self.doc_bounds) - 1


class Data(NamedTuple):
    """A corpus laid out: its cells, and what the hyperparameter updates need of it.

    lengths: int64, the distinct document lengths > 0; n_with: how many documents have each.
    doc_lengths: int64 [n_docs]. n_words: size of the vocabulary.
    """

    cells: Cells
    doc_lengths: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_with: NDArray[np.int64]
    n_words: int

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.doc_lengths)


def lay_out(
    corpus: Corpus, n_shards: int, dtype: DTypeLike = np.float32, *, tokens: bool = False
) -> Data:
    """Lay ``corpus`` out; ``tokens``: one cell per token instead of one per pair."""
    counts = corpus.counts
    repeats = counts.data if tokens else np.ones(corpus.n_pairs, dtype=np.int64)
    word = np.repeat(counts.indices, repeats).astype(np.int32)
    weights = np.ones(len(word), dtype) if tokens else counts.data.astype(dtype)
    ends = np.concatenate([[0], np.cumsum(repeats, dtype=np.int64)])
    doc_ptr = ends[counts.indptr]
    word_bounds = _even_bounds(np.bincount(word, minlength=corpus.n_words), n_shards)
    cuts = np.empty((corpus.n_docs, n_shards + 1), dtype=np.int64)
    for doc in range(corpus.n_docs):
        start, stop = doc_ptr[doc], doc_ptr[doc + 1]
        cuts[doc] = start + np.searchsorted(word[start:stop], word_bounds)
    cells = Cells(cuts, word, weights, _even_bounds(np.diff(doc_ptr), n_shards))
    lengths, n_with = np.unique(corpus.doc_lengths[corpus.doc_lengths > 0], return_counts=True)
    return Data(cells, corpus.doc_lengths, lengths, n_with, corpus.n_words)


def rounds(n_shards: int) -> list[list[tuple[int, int]]]:
    """Return the schedule: S rounds of S (document range, word range) blocks."""
    shards = range(n_shards)
    return [[(shard, (shard + turn) % n_shards) for shard in shards] for turn in shards]


def _even_bounds(work: NDArray[np.integer], n_parts: int) -> NDArray[np.int64]:
    """Cut items into contiguous parts of about equal work: int64 [n_parts + 1] bounds."""
    total = np.cumsum(work, dtype=np.int64)
    targets = np.arange(1, n_parts) * (total[-1] / n_parts if len(total) else 0.0)
    inner = np.searchsorted(total, targets)
    return np.concatenate([[0], inner, [len(work)]]).astype(np.int64)
