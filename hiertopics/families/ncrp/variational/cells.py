"""A corpus in cells, one per document and word: what the variational methods go through."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.families.ncrp.variational.slot_kernels import Cells


class Data(NamedTuple):
    """A corpus laid out: its cells, and the bounds of the shards of documents [n_shards + 1]."""

    cells: Cells
    shard_bounds: NDArray[np.int64]
    doc_lengths: NDArray[np.int64]
    n_words: int

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.doc_lengths)


def parts_of(data: Data) -> list[Cells]:
    """Return the cells of each shard, which count from the corpus's first."""
    ptr, word, tokens = data.cells
    docs = [slice(first, last + 1) for first, last in pairwise(data.shard_bounds)]
    cells = [slice(ptr[part][0], ptr[part][-1]) for part in docs]
    return [Cells(ptr[d], word[c], tokens[c]) for d, c in zip(docs, cells, strict=True)]


def build_piece(part: Cells) -> Cells:
    """Return the cells of a shard by themselves."""
    return part._replace(ptr=part.ptr - part.ptr[0])


def lay_out(corpus: Corpus, n_shards: int) -> Data:
    """Lay ``corpus`` out, documents in contiguous shards of about equal work."""
    return _in_shards(corpus.counts, n_shards)


def selected(cells: Cells, n_words: int, docs: NDArray[np.int64]) -> Cells:
    """Return the cells of some documents."""
    return _cells_of(_counts(cells, n_words)[docs])


def _in_shards(counts: sparse.csr_array, n_shards: int) -> Data:
    cells = _cells_of(counts)
    targets = np.arange(1, n_shards) * (counts.nnz / n_shards)
    inner = np.searchsorted(cells.ptr[1:], targets)
    bounds = np.concatenate([[0], inner, [counts.shape[0]]]).astype(np.int64)
    lengths = np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)
    return Data(cells, bounds, lengths, counts.shape[1])


def csr_of(data: Data) -> sparse.csr_array:
    """Return the corpus as counts again, float64 CSR [n_docs, n_words]."""
    return _counts(data.cells, data.n_words)


def _cells_of(counts: sparse.csr_array) -> Cells:
    return Cells(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.int32),
    )


def _counts(cells: Cells, n_words: int) -> sparse.csr_array:
    index = np.int32 if len(cells.word) < np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (cells.tokens.astype(np.float64), cells.word, cells.ptr.astype(index)),
        shape=(len(cells.ptr) - 1, n_words),
    )
