"""The corpus: documents x words counts, checked once and trusted by everything downstream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import HiertopicsError
from hiertopics.base.room import Room


@dataclass(frozen=True)
class Tags:
    """Many-to-many marks on documents: their groups (authors) or their labels.

    members: bool CSR [n_docs, n_tags]; names: one string per column. notes: what a reader has to
    say about them.
    """

    members: sparse.csr_array
    names: tuple[str, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.members.shape[1] != len(self.names):
            raise HiertopicsError(
                f"{self.members.shape[1]} tag columns but {len(self.names)} names"
            )

    @property
    def by_row(self) -> list[list[str]]:
        """The names of each document's marks, in the order of the columns stored."""
        ends = pairwise(self.members.indptr.tolist())
        return [[self.names[mark] for mark in self.members.indices[a:b]] for a, b in ends]

    def select(self, docs: I64) -> Tags:
        """Return the rows ``docs``, int64 [n]; the columns stay."""
        return Tags(sparse.csr_array(self.members[docs]), self.names)


@dataclass(frozen=True)
class Corpus:
    """A bag-of-words corpus.

    counts: int32 CSR [n_docs, n_words], positive, column indices sorted, none repeated.
    vocab: one string per column (``w0 w1 ...`` where the source names no words).
    doc_ids: one string per row, or None. groups, labels: marks per document, or None.
    snippets: how each document's text begins, or None. metadata: what else is known of documents,
    by name. notes: what a reader has to say about the file. None of these is a part of the corpus.

    Raises HiertopicsError where the parts do not fit together.
    """

    counts: sparse.csr_array
    vocab: tuple[str, ...]
    doc_ids: tuple[str, ...] | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    snippets: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    metadata: Mapping[str, Tags] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _canonical(self.counts))
        n_docs, n_words = self.counts.shape
        if len(self.vocab) != n_words:
            raise HiertopicsError(f"{n_words} word columns but {len(self.vocab)} words")
        check_marks(n_docs, self.doc_ids, self.groups, self.labels)

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return int(self.counts.shape[1])

    @property
    def n_pairs(self) -> int:
        """Number of (document, word) pairs with a positive count."""
        return int(self.counts.nnz)

    @cached_property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.counts.data.sum(dtype=np.int64))

    @cached_property
    def doc_lengths(self) -> I64:
        """Tokens per document, int64 [n_docs]."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.int64)).ravel()

    @cached_property
    def n_empty(self) -> int:
        """Number of documents without a token."""
        return int((self.doc_lengths == 0).sum())

    @cached_property
    def doc_pairs(self) -> I64:
        """Pairs per document, int64 [n_docs]."""
        return np.asarray(np.diff(self.counts.indptr), dtype=np.int64)

    @cached_property
    def word_counts(self) -> I64:
        """Tokens of each word, int64 [n_words]."""
        return np.asarray(self.counts.sum(axis=0, dtype=np.int64)).ravel()

    @property
    def largest_count(self) -> int:
        """The largest count; 0 where there is none."""
        return int(self.counts.data.max(initial=0))

    @property
    def room(self) -> Room:
        """The room for arrays as large as the corpus: in memory, like the corpus."""
        return Room()

    def rows(self, first: int, last: int) -> sparse.csr_array:
        """Return the counts of documents ``first`` to below ``last``, int32 CSR [n, n_words]."""
        counts = self.counts
        inside = slice(counts.indptr[first], counts.indptr[last])
        indptr = counts.indptr[first : last + 1] - counts.indptr[first]
        parts = (counts.data[inside], counts.indices[inside], indptr)
        return sparse.csr_array(parts, shape=(last - first, self.n_words))

    def counts_of(self, docs: I64) -> sparse.csr_array:
        """Return the counts of the documents ``docs``, int64 [n]: int32 CSR [n, n_words]."""
        return sparse.csr_array(self.counts[docs])

    def with_words(self, words: I64) -> Corpus:
        """Return all documents over the words ``words`` alone, int64 [n], ascending."""
        vocab = tuple(self.vocab[word] for word in words)
        return replace(self, counts=sparse.csr_array(self.counts[:, words]), vocab=vocab)

    def capped(self, most: int) -> Corpus:
        """Return the same documents and words with no count above ``most``."""
        counts = self.counts
        parts = (np.minimum(counts.data, most), counts.indices, counts.indptr)
        return replace(self, counts=sparse.csr_array(parts, shape=counts.shape))

    def blocks(self) -> Iterator[sparse.csr_array]:
        """Yield the counts of all documents, int32 CSR [n_docs, n_words].

        A ``Shelf`` yields them in blocks of some documents.
        """
        yield self.counts

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over counts, vocabulary, groups and labels: equal corpora, equal strings."""
        digest = hashlib.sha256()
        digest.update(self.text_fingerprint.encode())
        digest_tags(digest, self.groups, self.labels)
        return digest.hexdigest()

    @cached_property
    def text_fingerprint(self) -> str:
        """SHA-256 over counts and vocabulary alone."""
        digest = hashlib.sha256()
        _digest(digest, self.counts, self.vocab)
        return digest.hexdigest()

    def select(self, docs: Sequence[int] | I64) -> Corpus:
        """Return the documents ``docs``, in that order, over the same vocabulary, without notes.

        docs: whole numbers [n], from 0.
        """
        rows = np.asarray(docs, dtype=np.int64)
        return Corpus(
            sparse.csr_array(self.counts[rows]),
            self.vocab,
            None if self.doc_ids is None else tuple(self.doc_ids[row] for row in rows),
            None if self.groups is None else self.groups.select(rows),
            None if self.labels is None else self.labels.select(rows),
            snippets=None if self.snippets is None else tuple(self.snippets[row] for row in rows),
            metadata={name: tags.select(rows) for name, tags in self.metadata.items()},
        )

    def with_counts(self, counts: sparse.csr_array) -> Corpus:
        """Return the same documents and words with other counts of the same shape."""
        return replace(self, counts=counts)


def default_vocab(n_words: int) -> tuple[str, ...]:
    """Return ``w0 w1 ...``: the words of a corpus whose source names none."""
    return tuple(f"w{word}" for word in range(n_words))


def check_marks(
    n_docs: int, doc_ids: Sequence[str] | None, groups: Tags | None, labels: Tags | None
) -> None:
    """Raise HiertopicsError where ids, groups or labels are not those of ``n_docs`` documents."""
    if doc_ids is not None and len(doc_ids) != n_docs:
        raise HiertopicsError(f"{n_docs} documents but {len(doc_ids)} document ids")
    for name, tags in (("groups", groups), ("labels", labels)):
        if tags is not None and tags.members.shape[0] != n_docs:
            raise HiertopicsError(f"{n_docs} documents but {tags.members.shape[0]} lines of {name}")


def digest_tags(digest: hashlib._Hash, *several: Tags | None) -> None:
    """Add each table, including absent ones, to a digest."""
    for tags in several:
        if tags is not None:
            _digest(digest, tags.members, tags.names)
        digest.update(b"\2")


def _digest(digest: hashlib._Hash, matrix: sparse.csr_array, names: Sequence[str]) -> None:
    for part in (matrix.shape, matrix.indptr, matrix.indices, matrix.data):
        digest.update(np.asarray(part, dtype=np.int64).tobytes())
    digest_names(digest, names)


def digest_names(digest: hashlib._Hash, names: Sequence[str]) -> None:
    """Add names in their order to a digest."""
    digest.update("\0".join(names).encode())
    digest.update(b"\1")


def _canonical(counts: sparse.csr_array) -> sparse.csr_array:
    """Return ``counts`` as int32 CSR with sorted indices; raises where they are no count matrix."""
    matrix = sparse.csr_array(counts)
    if matrix.nnz and (matrix.data.min() <= 0 or (matrix.data != np.floor(matrix.data)).any()):
        raise HiertopicsError("counts must be positive integers")
    if matrix.nnz and float(matrix.data.max()) > np.iinfo(np.int32).max:
        raise HiertopicsError("a count is larger than 2147483647")
    if matrix.nnz and not 0 <= matrix.indices.min() <= matrix.indices.max() < matrix.shape[1]:
        raise HiertopicsError(f"a word id is outside 0 .. {matrix.shape[1] - 1}")
    # Only the data are cast: casting a whole matrix would add repeated entries up in silence.
    parts = (matrix.data.astype(np.int32), matrix.indices.astype(np.int32), matrix.indptr)
    matrix = sparse.csr_array(parts, shape=matrix.shape)
    matrix.sort_indices()
    same = np.diff(matrix.indices) == 0
    starts = matrix.indptr[1:-1]
    same[starts[(starts > 0) & (starts < matrix.nnz)] - 1] = False
    if same.any():
        entry = int(np.flatnonzero(same)[0])
        doc = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise HiertopicsError(f"a word is repeated in document {doc}")
    return matrix
