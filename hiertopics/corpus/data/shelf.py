"""A corpus larger than memory: its counts stay in files and come some documents at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I32, I64
from hiertopics.base.axes import require_record
from hiertopics.base.room import Room
from hiertopics.base.stretches import ends_of, rows_of, stretches
from hiertopics.corpus.data.corpus import Corpus, Tags, check_marks, digest_names, digest_tags
from hiertopics.corpus.data.stored import BLOCK_PAIRS, DocumentFiles, Texts


class SelectedStrings(Sequence[str]):
    """Some of other strings, in an order of their own."""

    def __init__(self, texts: Sequence[str], places: I64) -> None:
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        return self._texts[int(self._places[place])]


class JoinedNames(Sequence[str]):
    """The names of documents of several corpora; those without any go by their number from 1.

    parts: of each corpus its names, or None, and how many documents it has.
    """

    def __init__(self, parts: Sequence[tuple[Sequence[str] | None, int]]) -> None:
        self._names = [names for names, _ in parts]
        self._ends = np.cumsum([n_docs for _, n_docs in parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        if not 0 <= place < len(self):
            raise IndexError(place)
        part = int(np.searchsorted(self._ends, place, side="right"))
        names = self._names[part]
        if names is None:
            return str(place + 1)
        return names[place - (int(self._ends[part - 1]) if part else 0)]


class WordSelection(NamedTuple):
    """A selection of the stored words. place: int32, the id of each stored word, -1 if left out.

    pairs, lengths: int64 [n_docs], pairs and tokens that the documents of a shelf have of them.
    """

    place: I32
    pairs: I64
    lengths: I64

    def of(self, docs: I64 | slice) -> WordSelection:
        """Return the same for some of the documents, int64 [n] or a slice."""
        return WordSelection(self.place, self.pairs[docs], self.lengths[docs])


@dataclass(frozen=True, eq=False)
class Shelf:
    """A ``Corpus`` in files, or some of its documents; equal names have equal meanings.

    docs: int64, the documents in their order; None are all. prints: fingerprint and text
    fingerprint where they are known. fewer: which words it has of those that are stored; None: all.
    most: the largest count of a word in a document, larger ones are read as it; None: no limit.
    room: where what is as large as the corpus is to be made.
    """

    stored: DocumentFiles
    vocab: tuple[str, ...]
    docs: I64 | None = None
    doc_ids: Sequence[str] | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    notes: tuple[str, ...] = ()
    prints: tuple[str, str] | None = field(default=None, repr=False)
    fewer: WordSelection | None = field(default=None, repr=False)
    most: int | None = None
    room: Room = field(default_factory=Room, repr=False)

    snippets = None

    def __post_init__(self) -> None:
        check_marks(self.n_docs, self.doc_ids, self.groups, self.labels)

    def require_sound(self) -> None:
        """Raise ValueError unless the arrays in files are those of documents over the vocabulary.

        Pairs are in memory a block at a time.
        """
        if isinstance(self.doc_ids, Texts):
            require_record(self.doc_ids)
        require_record(self.stored, n_pairs=self.stored.n_pairs)
        for block in self.stored.blocks():
            require_record(block, n_words=self.n_words)

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.stored.lengths) if self.docs is None else len(self.docs)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.vocab)

    @cached_property
    def doc_pairs(self) -> I64:
        """Pairs per document, int64 [n_docs]."""
        return self._stored_pairs() if self.fewer is None else self.fewer.pairs

    @cached_property
    def n_pairs(self) -> int:
        """Number of (document, word) pairs with a positive count."""
        return int(self.doc_pairs.sum())

    @cached_property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.doc_lengths.sum())

    @cached_property
    def doc_lengths(self) -> I64:
        """Tokens per document, int64 [n_docs]."""
        if self.fewer is not None:
            return self.fewer.lengths
        lengths = self.stored.lengths
        return np.array(lengths if self.docs is None else lengths[self.docs])

    @cached_property
    def n_empty(self) -> int:
        """Number of documents without a token."""
        return int((self.doc_lengths == 0).sum())

    @cached_property
    def word_counts(self) -> I64:
        """Tokens of each word, int64 [n_words]."""
        found = np.zeros(self.n_words, np.int64)
        for block in self.blocks():
            found += np.bincount(block.indices, block.data, self.n_words).astype(np.int64)
        return found

    @cached_property
    def largest_count(self) -> int:
        """The largest count; 0 where there is none."""
        return max((int(block.data.max(initial=0)) for block in self.blocks()), default=0)

    @property
    def counts(self) -> sparse.csr_array:
        """The counts of all documents, in memory: for code that cannot work in blocks.

        int32 CSR [n_docs, n_words].
        """
        return self.rows(0, self.n_docs)

    def rows(self, first: int, last: int) -> sparse.csr_array:
        """Return the counts of documents ``first`` to below ``last``, in memory.

        int32 CSR [n, n_words].
        """
        docs = np.arange(first, last) if self.docs is None else self.docs[first:last]
        return self._counts_of(docs)

    def counts_of(self, docs: I64) -> sparse.csr_array:
        """Return the counts of the documents ``docs``, int64 [n], in memory.

        int32 CSR [n, n_words].
        """
        return self._counts_of(docs if self.docs is None else self.docs[docs])

    def blocks(self) -> Iterator[sparse.csr_array]:
        """Yield the counts of all documents, some at a time: int32 CSR [some, n_words]."""
        ends = ends_of(self._stored_pairs())
        for first, last in stretches(ends, BLOCK_PAIRS):
            yield self.rows(first, last)

    def select(self, docs: Sequence[int] | I64) -> Shelf:
        """Return the documents ``docs``, in that order, over the same vocabulary, without notes.

        docs: whole numbers [n], from 0.
        """
        rows = np.asarray(docs, dtype=np.int64)
        return replace(
            self,
            docs=rows if self.docs is None else self.docs[rows],
            doc_ids=None if self.doc_ids is None else SelectedStrings(self.doc_ids, rows),
            groups=None if self.groups is None else self.groups.select(rows),
            labels=None if self.labels is None else self.labels.select(rows),
            notes=(),
            prints=None,
            fewer=None if self.fewer is None else self.fewer.of(rows),
        )

    def bare(self, first: int, last: int) -> Shelf:
        """Return documents ``first`` to ``last`` without names, groups and labels."""
        docs = np.arange(first, last) if self.docs is None else self.docs[first:last]
        fewer = None if self.fewer is None else self.fewer.of(slice(first, last))
        return Shelf(self.stored, self.vocab, docs, fewer=fewer, most=self.most, room=self.room)

    def with_words(self, words: I64) -> Shelf:
        """Return all documents over the words ``words`` alone, int64 [n], ascending."""
        place = np.full(self.n_words, -1, np.int32)
        place[words] = np.arange(len(words), dtype=np.int32)
        pairs, lengths = np.empty(self.n_docs, np.int64), np.empty(self.n_docs, np.int64)
        first = 0
        for block in self.blocks():
            inside, stays = slice(first, first + block.shape[0]), place[block.indices] >= 0
            at = rows_of(block.indptr)[stays]
            pairs[inside] = np.bincount(at, minlength=block.shape[0])
            lengths[inside] = np.bincount(at, block.data[stays], block.shape[0]).astype(np.int64)
            first = inside.stop
        if self.fewer is not None:
            before = self.fewer.place
            place = np.where(before < 0, -1, place[before]).astype(np.int32)
        vocab = tuple(self.vocab[word] for word in words)
        return replace(self, vocab=vocab, fewer=WordSelection(place, pairs, lengths), prints=None)

    def capped(self, most: int) -> Shelf:
        """See ``Corpus``; reads all counts once, for the lengths of the documents."""
        lowest = most if self.most is None else min(most, self.most)
        return replace(self, most=lowest, prints=None).with_words(np.arange(self.n_words))

    def in_memory(self) -> Corpus:
        """Return the same as a corpus in memory."""
        names = None if self.doc_ids is None else tuple(self.doc_ids)
        marks = (names, self.groups, self.labels)
        return Corpus(self.counts, self.vocab, *marks, notes=self.notes)

    @cached_property
    def fingerprint(self) -> str:
        """See ``Corpus``."""
        if self.prints is not None:
            return self.prints[0]
        digest = hashlib.sha256(self.text_fingerprint.encode())
        digest_tags(digest, self.groups, self.labels)
        return digest.hexdigest()

    @cached_property
    def text_fingerprint(self) -> str:
        """See ``Corpus``."""
        if self.prints is not None:
            return self.prints[1]
        digest = hashlib.sha256(np.array([self.n_docs, self.n_words], np.int64).tobytes())
        digest.update(ends_of(self.doc_pairs).tobytes())
        for name in ("indices", "data"):
            for block in self.blocks():
                digest.update(getattr(block, name).astype(np.int64).tobytes())
        digest_names(digest, self.vocab)
        return digest.hexdigest()

    def _stored_pairs(self) -> I64:
        pairs = np.diff(self.stored.ends)
        return pairs if self.docs is None else pairs[self.docs]

    def _counts_of(self, docs: I64) -> sparse.csr_array:
        """Return the counts of documents by their numbers among all that are stored."""
        stored = self.stored
        lengths = stored.ends[docs + 1] - stored.ends[docs]
        indptr = ends_of(lengths)
        words, counts = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int32)
        part_of = np.searchsorted(stored.first_doc, docs, side="right") - 1
        for number in np.unique(part_of):
            part, places = stored.parts[number], np.flatnonzero(part_of == number)
            begin = stored.ends[docs[places]] - stored.ends[stored.first_doc[number]]
            n_pairs = lengths[places]
            within = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
            source = np.repeat(begin, n_pairs) + within
            target = np.repeat(indptr[places], n_pairs) + within
            words[target], counts[target] = part.words[source], part.counts[source]
        if self.fewer is not None:
            words = self.fewer.place[words]
            stays = words >= 0
            words, counts = words[stays], counts[stays]
            indptr = ends_of(stays)[indptr]
        if self.most is not None:
            np.minimum(counts, self.most, out=counts)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_array((counts, words, indptr), shape=(len(docs), self.n_words))


Bags = Corpus | Shelf
"""Bags of words, in memory or in files."""


def in_memory(corpus: Any) -> Any:
    """Return a corpus in memory; vectors are returned unchanged."""
    return corpus.in_memory() if isinstance(corpus, Shelf) else corpus
