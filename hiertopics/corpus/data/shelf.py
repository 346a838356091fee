"""A corpus larger than memory: its counts stay in files and come some documents at a time."""

from __future__ import annotations

import codecs
import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import I32, I64, U8
from hiertopics.base.axes import read_head, require_below, require_pointers, require_whole
from hiertopics.base.room import Room
from hiertopics.corpus.data.corpus import Corpus, Tags, check_marks, digest_names, digest_tags

BLOCK_PAIRS = 1 << 18
"""Pairs that are in memory at a time, a longer document apart: a few megabytes."""

CONTINUING, CONTINUES = 0xC0, 0x80
"""The bits of a byte of UTF-8 that tell whether it goes on with a letter, and how they are then."""


def stretches(
    ends: I64, most_pairs: int, most_docs: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the first and the last document (apart) of blocks of so many pairs or documents.

    ends: int64 [n_docs + 1], the pairs before each document, from 0. A longer document is a block.
    """
    first = 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + most_pairs, side="right")) - 1
        last = max(last, first + 1)
        last = last if most_docs is None else min(last, first + most_docs)
        yield first, last
        first = last


class Part(NamedTuple):
    """Some documents, one behind the other: word and count of each pair, int32 [n_pairs].

    Words ascend within a document; the arrays are mapped from files.
    """

    words: I32
    counts: I32


class Texts(Sequence[str]):
    """Strings in a file: their UTF-8 bytes, one behind the other, and where each ends."""

    def __init__(self, text: U8, ends: I64) -> None:
        self._text, self._ends = text, ends

    def require_sound(self) -> None:
        """Raise ValueError unless each string is UTF-8 and ends where the next one begins."""
        if self._text.ndim != 1 or self._text.dtype != np.uint8:
            raise ValueError("names are no row of bytes")
        require_pointers("name_ends", self._ends, max(len(self._ends) - 1, 0), len(self._text))
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self._text), BLOCK_PAIRS):
            decoder.decode(self._text[start : start + BLOCK_PAIRS].tobytes())
        decoder.decode(b"", final=True)
        begins = self._ends[self._ends < len(self._text)]
        if ((self._text[begins] & CONTINUING) == CONTINUES).any():
            raise ValueError("a name ends within a letter")

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._text[self._ends[place] : self._ends[place + 1]].tobytes().decode()


class Chosen(Sequence[str]):
    """Some of other strings, in an order of their own."""

    def __init__(self, texts: Sequence[str], places: I64) -> None:
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        return self._texts[int(self._places[place])]


class Appended(Sequence[str]):
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


class Stored(NamedTuple):
    """What lies in files. ends: int64 [n + 1], the pairs before each document; lengths: int64 [n],
    its tokens. first_doc: int64 [n_parts + 1], where parts begin. folder: of the files.

    It is pickled by the name of its folder, which who unpickles it has to see.
    """

    parts: tuple[Part, ...]
    first_doc: I64
    ends: I64
    lengths: I64
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return stored_in, (self.folder, self.first_doc)


def part_names(number: int) -> tuple[str, str]:
    """Return the files of a part: words and counts."""
    return f"{number:05d}.words.npy", f"{number:05d}.counts.npy"


def stored_in(folder: Path, first_doc: I64) -> Stored:
    """Map the arrays in a folder; raises OSError or ValueError where they cannot be."""
    names = [part_names(number) for number in range(len(first_doc) - 1)]
    parts = [Part(mapped(folder / words), mapped(folder / counts)) for words, counts in names]
    ends, lengths = mapped(folder / "ends.npy"), mapped(folder / "lengths.npy")
    return Stored(tuple(parts), first_doc, ends, lengths, folder)


def mapped(path: Path) -> NDArray[Any]:
    """Return the array of a file, mapped into memory, for reading.

    Raises ValueError where the file is not as long as its header tells.
    """
    with open(path, "rb") as stream:
        shape, by_columns, dtype = read_head(stream, os.fstat(stream.fileno()).st_size)
        order: Any = "F" if by_columns else "C"
        if not math.prod(shape) * dtype.itemsize:  # nothing can be mapped
            return np.empty(shape, dtype, order)
        return np.memmap(stream, dtype, "r", stream.tell(), shape, order)


def require_places(stored: Stored) -> None:
    """Raise ValueError unless documents and parts lie one behind the other in their files."""
    first_doc, ends, lengths = stored.first_doc, stored.ends, stored.lengths
    for name, row in (("ends", ends), ("lengths", lengths)):
        require_whole(name, row)
        if row.dtype != np.int64:
            raise ValueError(f"{name} holds {row.dtype}, not int64")
    require_pointers("first_doc", first_doc, len(stored.parts), len(lengths))
    require_pointers("ends", ends, len(lengths), int(ends[-1]) if len(ends) else 0)
    for part, n_pairs in zip(stored.parts, np.diff(ends[first_doc]).tolist(), strict=True):
        if not all(array.shape == (n_pairs,) and array.dtype == np.int32 for array in part):
            raise ValueError("a part has not as many pairs as its documents")


def require_pairs(stored: Stored, number: int, n_words: int) -> None:
    """Raise ValueError unless a part holds pairs of documents over ``n_words`` words.

    Words ascend within a document, counts are positive, and their sums are the documents' lengths.
    Only some pairs are looked at together. The places must be sound (``require_places``).
    """
    first, last = stored.first_doc[number : number + 2].tolist()
    words, counts = stored.parts[number]
    ends = stored.ends[first : last + 1] - stored.ends[first]
    lengths = stored.lengths[first:last]
    for a, b in stretches(ends, BLOCK_PAIRS):
        inside = slice(int(ends[a]), int(ends[b]))
        own = ends[a : b + 1] - ends[a]
        _require_rows(np.asarray(words[inside]), np.asarray(counts[inside]), own, n_words)
        starts = own[:-1][np.diff(own) > 0]
        sums = np.zeros(b - a, np.int64)
        if len(starts):
            sums[np.diff(own) > 0] = np.add.reduceat(counts[inside], starts, dtype=np.int64)
        wrong = np.flatnonzero(sums != lengths[a:b])
        if len(wrong):
            doc, found = first + a + int(wrong[0]), int(sums[wrong[0]])
            what = f"counts of document {doc + 1} add up to {found}"
            raise ValueError(f"{what}, but its length is {int(stored.lengths[doc])}")


def _require_rows(words: I32, counts: I32, ends: I64, n_words: int) -> None:
    require_below("words", words, n_words)
    if len(counts) and counts.min() <= 0:
        raise ValueError(f"a count is {int(counts.min())}, not positive")
    ascends = words[1:] > words[:-1]
    starts = ends[1:-1]
    ascends[starts[(starts > 0) & (starts < len(words))] - 1] = True
    if not ascends.all():
        raise ValueError("the words of a document do not ascend")


class Fewer(NamedTuple):
    """Some of the stored words. place: int32, the id of each stored word, -1 of one that is out.

    pairs, lengths: int64 [n_docs], pairs and tokens that the documents of a shelf have of them.
    """

    place: I32
    pairs: I64
    lengths: I64

    def of(self, docs: I64 | slice) -> Fewer:
        """Return the same for some of the documents."""
        return Fewer(self.place, self.pairs[docs], self.lengths[docs])


@dataclass(frozen=True, eq=False)
class Shelf:
    """A ``Corpus`` in files, or some documents of it: what has the same name means the same.

    docs: int64, the documents in their order; None are all. prints: fingerprint and text
    fingerprint where they are known. fewer: which words it has of those that are stored; None: all.
    room: where what is as large as the corpus is to be made.
    """

    stored: Stored
    vocab: tuple[str, ...]
    docs: I64 | None = None
    doc_ids: Sequence[str] | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    notes: tuple[str, ...] = ()
    prints: tuple[str, str] | None = field(default=None, repr=False)
    fewer: Fewer | None = field(default=None, repr=False)
    room: Room = field(default_factory=Room, repr=False)

    snippets = None

    def __post_init__(self) -> None:
        check_marks(self.n_docs, self.doc_ids, self.groups, self.labels)

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
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
        """The counts of all documents, in memory: for what cannot do with some at a time."""
        return self.rows(0, self.n_docs)

    def rows(self, first: int, last: int) -> sparse.csr_array:
        """Return the counts of documents ``first`` to ``last``, int32 CSR, in memory."""
        docs = np.arange(first, last) if self.docs is None else self.docs[first:last]
        return self._counts_of(docs)

    def counts_of(self, docs: I64) -> sparse.csr_array:
        """Return the counts of the documents ``docs``, int32 CSR, in memory."""
        return self._counts_of(docs if self.docs is None else self.docs[docs])

    def blocks(self) -> Iterator[sparse.csr_array]:
        """Yield the counts of all documents, some at a time."""
        ends = np.concatenate([[0], np.cumsum(self._stored_pairs())])
        for first, last in stretches(ends, BLOCK_PAIRS):
            yield self.rows(first, last)

    def select(self, docs: Sequence[int] | I64) -> Shelf:
        """Return the documents ``docs``, in that order, over the same vocabulary, without notes."""
        rows = np.asarray(docs, dtype=np.int64)
        return replace(
            self,
            docs=rows if self.docs is None else self.docs[rows],
            doc_ids=None if self.doc_ids is None else Chosen(self.doc_ids, rows),
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
        return Shelf(self.stored, self.vocab, docs, fewer=fewer, room=self.room)

    def with_words(self, words: I64) -> Shelf:
        """Return all documents over the words ``words`` alone, ascending."""
        place = np.full(self.n_words, -1, np.int32)
        place[words] = np.arange(len(words), dtype=np.int32)
        pairs, lengths = np.empty(self.n_docs, np.int64), np.empty(self.n_docs, np.int64)
        first = 0
        for block in self.blocks():
            inside, stays = slice(first, first + block.shape[0]), place[block.indices] >= 0
            at = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[stays]
            pairs[inside] = np.bincount(at, minlength=block.shape[0])
            lengths[inside] = np.bincount(at, block.data[stays], block.shape[0]).astype(np.int64)
            first = inside.stop
        if self.fewer is not None:
            before = self.fewer.place
            place = np.where(before < 0, -1, place[before]).astype(np.int32)
        vocab = tuple(self.vocab[word] for word in words)
        return replace(self, vocab=vocab, fewer=Fewer(place, pairs, lengths), prints=None)

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
        digest.update(np.concatenate([[0], np.cumsum(self.doc_pairs)]).astype(np.int64).tobytes())
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
        indptr = np.concatenate([[0], np.cumsum(lengths)])
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
            indptr = np.concatenate([[0], np.cumsum(stays)])[indptr]
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        return sparse.csr_array((counts, words, indptr), shape=(len(docs), self.n_words))


Bags = Corpus | Shelf
"""Bags of words, in memory or in files."""


def in_memory(corpus: Any) -> Any:
    """Return a corpus as one in memory; vectors as they are."""
    return corpus.in_memory() if isinstance(corpus, Shelf) else corpus
