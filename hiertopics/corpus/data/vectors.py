"""Dense data: rows of finite numbers, checked once and trusted by everything downstream."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.corpus.data.corpus import Corpus, Tags, check_marks, default_vocab, digest_tags
from hiertopics.corpus.data.names import require_names

MAX_CELLS = 2**28
MAX_COUNT = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Vectors:
    """Rows of numbers with named columns: the dense twin of ``Corpus``.

    rows: float64 [n_docs, n_columns], finite. columns: one name per column (``x0 x1 ...`` where
    the source names none), none empty or repeated. doc_ids, groups, labels, notes: as those
    of a corpus.

    Raises HiertopicsError where the parts do not fit together.
    """

    rows: F64
    columns: tuple[str, ...]
    doc_ids: tuple[str, ...] | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        rows = np.ascontiguousarray(self.rows, dtype=np.float64)
        if rows.ndim != 2:
            raise HiertopicsError(f"expected a table of rows and columns, got shape {rows.shape}")
        if not np.isfinite(rows).all():
            row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(rows)))
            raise HiertopicsError(f"row {row} holds {rows[row, column]} in column {column}")
        object.__setattr__(self, "rows", rows)
        if len(self.columns) != self.n_columns:
            raise HiertopicsError(f"{self.n_columns} columns but {len(self.columns)} names")
        require_names(self.columns, "column")
        check_marks(self.n_docs, self.doc_ids, self.groups, self.labels)

    @property
    def n_docs(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def vocab(self) -> tuple[str, ...]:
        """Names of the columns, which take the place of words wherever a corpus has words."""
        return self.columns

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return self.n_columns

    @property
    def n_tokens(self) -> int:
        """Number of rows: each row counts as one token."""
        return self.n_docs

    @property
    def doc_lengths(self) -> I64:
        """1 for each row, int64 [n_docs]."""
        return np.ones(self.n_docs, dtype=np.int64)

    @property
    def n_empty(self) -> int:
        """No row is empty."""
        return 0

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 over rows and column names alone."""
        return Vectors(self.rows, self.columns).fingerprint

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over rows, column names, groups and labels: equal data, equal strings."""
        digest = hashlib.sha256()
        digest.update(np.asarray(self.rows.shape, dtype=np.int64).tobytes())
        digest.update((self.rows + 0.0).tobytes())  # -0.0 becomes 0.0, which it equals
        digest.update("\0".join(self.columns).encode())
        digest_tags(digest, self.groups, self.labels)
        return digest.hexdigest()

    def select(self, docs: Sequence[int] | I64) -> Vectors:
        """Return the rows ``docs``, whole numbers [n], in that order, with the same columns."""
        chosen = np.asarray(docs, dtype=np.int64)
        return Vectors(
            self.rows[chosen],
            self.columns,
            None if self.doc_ids is None else tuple(self.doc_ids[row] for row in chosen),
            None if self.groups is None else self.groups.select(chosen),
            None if self.labels is None else self.labels.select(chosen),
        )


def default_columns(n_columns: int) -> tuple[str, ...]:
    """Return ``x0 x1 ...``: the columns of a table whose source names none."""
    return tuple(f"x{column}" for column in range(n_columns))


def no_count(vectors: Vectors) -> str | None:
    """Return the place of the first entry that can be no count; None for a table of counts."""
    rows = vectors.rows
    wrong = np.argwhere(~((rows >= 0) & (rows <= MAX_COUNT) & (rows == np.floor(rows))))
    if not len(wrong):
        return None
    row, column = wrong[0]
    return f"row {row + 1} holds {rows[row, column]} in column {vectors.columns[column]!r}"


def to_corpus(vectors: Vectors) -> Corpus:
    """Return a table of counts as a corpus; columns without names of their own are ``w0 w1 ...``.

    Raises HiertopicsError for any other table.
    """
    if (place := no_count(vectors)) is not None:
        raise HiertopicsError(f"no table of counts: {place}")
    unnamed = vectors.columns == default_columns(vectors.n_columns)
    return Corpus(
        sparse.csr_array(vectors.rows),
        default_vocab(vectors.n_columns) if unnamed else vectors.columns,
        vectors.doc_ids,
        vectors.groups,
        vectors.labels,
        vectors.notes,
    )


def to_vectors(corpus: Corpus) -> Vectors:
    """Return a corpus as its dense table of counts; raises UsageError where that is too large."""
    n_cells = corpus.n_docs * corpus.n_words
    if n_cells > MAX_CELLS:
        raise UsageError(
            f"a dense table of {corpus.n_docs} documents x {corpus.n_words} words has {n_cells} "
            f"cells, more than {MAX_CELLS}; choose a sparse format"
        )
    dense = corpus.counts.toarray().astype(np.float64)
    marks = (corpus.doc_ids, corpus.groups, corpus.labels, corpus.notes)
    return Vectors(dense, corpus.vocab, *marks)
