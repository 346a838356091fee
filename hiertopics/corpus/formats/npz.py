"""Sparse matrices as scipy saves them: a zip of arrays, read without pickle."""

from __future__ import annotations

import zipfile
from typing import IO

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import (
    MAX_COUNT,
    MAX_DOCS,
    large_notes,
    only,
    refuse_inflated,
    room_for,
    size_announced,
    words_of,
)
from hiertopics.corpus.formats.opening import opened
from hiertopics.corpus.formats.source import Source

LAYOUTS = ("csr", "csc", "coo")
KNOWN = (*LAYOUTS, "bsr", "dia")
NO_MATRIX = "not a sparse matrix as scipy.sparse.save_npz writes it"
HEAD_BYTES = 4096
"""More than the arrays that say format and shape take."""


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a documents x words matrix of whole numbers; stored zeros are no pairs.

    Raises DataError where the file is no such matrix or contradicts the length of ``vocab``.
    """
    with opened(source.path) as file:
        if file.read(2) != b"PK":
            raise DataError(source.path, "not an .npz file (a zip of arrays)")
        if not source.path.is_file():
            what = "an .npz file cannot be read from a pipe; write it to a file first"
            raise DataError(source.path, what)
        n_docs, n_words = _announced(source, file)
        words = words_of(source, n_words, vocab)
        with room_for(source, size_announced(n_docs, n_words, named=vocab is not None)):
            return _corpus(source, _load(source, file), words, vocab is not None)


def _corpus(source: Source, stored: sparse.sparray, words: tuple[str, ...], named: bool) -> Corpus:
    _check_counts(source, stored)
    n_stored = stored.nnz
    counts = sparse.csr_array(stored)
    counts.sum_duplicates()
    if counts.nnz != n_stored:
        raise DataError(source.path, "a word is repeated in a document")
    counts.eliminate_zeros()
    return Corpus(counts, words, notes=large_notes(*counts.shape, named=named))


def _announced(source: Source, file: IO[bytes]) -> tuple[int, int]:
    """Return the numbers of documents and words; refuse what would fill the memory, unread."""
    with only(source, NO_MATRIX):
        file.seek(0)
        archive = zipfile.ZipFile(file)
        parts = archive.infolist()
        size, packed = (sum(getattr(p, n) for p in parts) for n in ("file_size", "compress_size"))
        heads = {
            p.filename: p.file_size for p in parts if p.filename in ("format.npy", "shape.npy")
        }
        if max(heads.values()) > HEAD_BYTES:
            raise ValueError("no format or shape is that long")
        with np.load(file, allow_pickle=False) as arrays:
            sizes, layout = arrays["shape"], arrays["format"].item()
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
            raise ValueError("a shape is a row of whole numbers")
        shape = sizes.tolist()
        layout = layout if isinstance(layout, str) else layout.decode()
        if layout not in KNOWN:
            raise ValueError("scipy has no such layout")
    if len(shape) != 2 or layout not in LAYOUTS:
        what = f"expected a documents x words matrix stored as {', '.join(LAYOUTS)}"
        raise DataError(source.path, f"{what}, got {layout} {tuple(shape)}")
    announced = size_announced(*shape)
    if shape[0] > MAX_DOCS:
        raise DataError(source.path, f"{announced}; more than {MAX_DOCS} documents are not read")
    refuse_inflated(
        source,
        f"{shape[0]} documents x {shape[1]} words announced:",
        size,
        min(packed, source.path.stat().st_size),
    )
    return shape[0], shape[1]


def _load(source: Source, file: IO[bytes]) -> sparse.sparray:
    file.seek(0)
    with only(source, NO_MATRIX):
        stored = sparse.load_npz(file)
        if stored.format in ("csr", "csc"):
            stored.check_format(full_check=True)
            # Where the last entry is 0 scipy does not look at those before it.
            if (np.diff(stored.indptr) < 0).any():
                raise ValueError("indptr must not decrease")
    return stored


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
