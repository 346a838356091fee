"""Sparse matrices as scipy saves them: a zip of arrays, read without pickle."""

from __future__ import annotations

from typing import IO

import numpy as np
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.errors import DataError
from hiertopics.formats.counting import MAX_COUNT, MAX_DOCS, words_of
from hiertopics.formats.opening import opened
from hiertopics.formats.source import Source

LAYOUTS = ("csr", "csc", "coo")


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a documents x words matrix of whole numbers; stored zeros are no pairs.

    Raises DataError where the file is no such matrix or contradicts the length of ``vocab``.
    """
    stored = _load(source)
    if stored.ndim != 2 or stored.format not in LAYOUTS:
        what = f"expected a documents x words matrix stored as {', '.join(LAYOUTS)}"
        raise DataError(source.path, f"{what}, got {stored.format} {stored.shape}")
    if stored.shape[0] > MAX_DOCS:
        what = f"announces {stored.shape[0]} documents, more than {MAX_DOCS}"
        raise DataError(source.path, what)
    words = words_of(source, stored.shape[1], vocab)
    _check_counts(source, stored)
    n_stored = stored.nnz
    counts = sparse.csr_array(stored)
    counts.sum_duplicates()
    if counts.nnz != n_stored:
        raise DataError(source.path, "a word is repeated in a document")
    counts.eliminate_zeros()
    return Corpus(counts, words)


def _load(source: Source) -> sparse.sparray:
    with opened(source.path) as file:
        if file.read(2) != b"PK":
            raise DataError(source.path, "not an .npz file (a zip of arrays)")
        file.seek(0)
        try:
            stored = sparse.load_npz(file)
            if stored.format in ("csr", "csc"):
                stored.check_format(full_check=True)
                # Where the last entry is 0 scipy does not look at those before it.
                if (np.diff(stored.indptr) < 0).any():
                    raise ValueError("indptr must not decrease")
            return stored
        # A damaged zip makes zipfile, zlib, ast and numpy raise almost anything.
        except Exception as error:
            what = "not a sparse matrix as scipy.sparse.save_npz writes it"
            raise DataError(source.path, what) from error


def _check_counts(source: Source, stored: sparse.sparray) -> None:
    data = stored.data
    if data.dtype.kind not in "biuf":
        raise DataError(source.path, f"expected whole numbers, got values of type {data.dtype}")
    if data.dtype.kind == "f":
        # A shorter type would round the largest count up, and scipy knows no float16.
        stored.data = data = data.astype(np.float64)
    wrong = np.flatnonzero(~((data >= 0) & (data <= MAX_COUNT) & (data == np.floor(data))))
    if len(wrong):
        entries = stored.tocoo()
        doc, word, count = entries.row[wrong[0]], entries.col[wrong[0]], entries.data[wrong[0]]
        what = f"expected counts from 1 to {MAX_COUNT}, whole numbers"
        raise DataError(source.path, f"{what}, got {count} in row {doc}, column {word} (from 0)")


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts as compressed CSR; words and marks have files of their own."""
    sparse.save_npz(file, corpus.counts)
