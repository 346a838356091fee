"""The held-out split of a table of vectors: whole rows are put aside."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hiertopics.data.vectors import Vectors
from hiertopics.errors import UsageError
from hiertopics.holdouts.spec import Holdout
from hiertopics.holdouts.split import Split, docs_apart, split_hash


def split_rows(vectors: Vectors, holdout: Holdout) -> tuple[Vectors, Split]:
    """Return the training rows and what was put aside.

    ``heldout`` and ``scored`` of the split are float64 CSR, the held-out rows themselves;
    nothing of them is observed. The hash covers every bit of them.

    Raises UsageError for a holdout of parts of documents, DataError where nothing would be left.
    """
    if holdout.kind in ("tokens", "links"):
        raise UsageError(
            f"holdout {holdout.kind} puts parts of documents aside, but rows of numbers go whole; "
            "choose docs, fold, train or none"
        )
    train_docs, heldout_docs = docs_apart(vectors.n_docs, holdout)
    train = vectors.select(train_docs)
    heldout = sparse.csr_array(vectors.rows[heldout_docs] + 0.0)  # -0.0 becomes 0.0
    nothing = sparse.csr_array(heldout.shape, dtype=np.int32)
    return train, Split(
        kind=holdout.kind,
        seed=holdout.seed,
        train_docs=train_docs,
        heldout_docs=heldout_docs,
        heldout=heldout,
        observed=nothing,
        scored=heldout,
        word_counts=np.zeros(vectors.n_columns, dtype=np.int64),
        hash=_row_split_hash(train_docs, heldout_docs, heldout, vectors.columns),
        train_lengths=train.doc_lengths,
    )


def hash_of_file(vectors: Vectors) -> str:
    """Return the hash of rows in a file of their own: all are scored, none was trained on."""
    docs = np.arange(vectors.n_docs)
    return _row_split_hash(docs[:0], docs, sparse.csr_array(vectors.rows), vectors.columns)


def _row_split_hash(
    train_docs: np.ndarray[tuple[int], np.dtype[np.int64]],
    heldout_docs: np.ndarray[tuple[int], np.dtype[np.int64]],
    heldout: sparse.csr_array,
    columns: tuple[str, ...],
) -> str:
    """Return the hash over rows and columns, 16 hexadecimal digits; equal bits, equal hashes."""
    bits = heldout.data.astype(np.float64).view(np.int64)
    exact = sparse.csr_array((bits, heldout.indices, heldout.indptr), shape=heldout.shape)
    nothing = sparse.csr_array(heldout.shape, dtype=np.int32)
    return split_hash(train_docs, heldout_docs, nothing, exact, columns)
