"""Documents on their way from a reader into shards: in nameless files, whatever their number.

A reader learns its words as it goes and a document frequency is known at the end only; so what is
read is laid down once as it comes, and written in its final form in one more pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.base.room import Room
from hiertopics.base.stretches import stretches
from hiertopics.corpus.data import Limits, Tags
from hiertopics.corpus.data.stored import Texts
from hiertopics.corpus.formats.counting import CountedPairs

BLOCK_PAIRS = 1 << 18
"""Pairs that are in memory at a time, a longer document apart."""


class CorpusFacts(NamedTuple):
    """Facts about a corpus besides its counts, known after it was read.

    vocab: words in their final order. place: int64, the final id of each id in the draft; None:
    the same. doc_ids, groups, labels, notes: as in ``Corpus``. choices: what chose these words, one
    after the other.
    """

    vocab: tuple[str, ...]
    place: I64 | None = None
    doc_ids: Sequence[str] | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    notes: tuple[str, ...] = ()
    choices: tuple[Limits, ...] = ()


class DraftDocuments(NamedTuple):
    """All documents of a draft. ends: int64 [n_docs + 1], the pairs before each; ids, counts."""

    ends: I64
    ids: I32
    counts: I32

    def blocks(self) -> Iterator[CountedPairs]:
        """Yield the documents, some at a time."""
        for first, last in stretches(self.ends, BLOCK_PAIRS):
            inside = slice(self.ends[first], self.ends[last])
            yield CountedPairs(
                np.diff(self.ends[first : last + 1]), self.ids[inside], self.counts[inside]
            )


class CorpusDraft:
    """Documents that are added in order. room: where they are laid down.

    n_docs_with: int64, in how many documents each id is, from 0 to the largest.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.n_docs = 0
        self._lengths = room.growing(np.int64)
        self._ids, self._counts = room.growing(np.int32), room.growing(np.int32)
        self._text, self._name_ends = room.growing(np.uint8), room.growing(np.int64)
        self._n_docs_with = np.zeros(1024, np.int64)
        self._n_ids = 0

    @property
    def n_docs_with(self) -> I64:
        """In how many documents each id is, int64 [n_ids]."""
        return self._n_docs_with[: self._n_ids]

    def add(self, pairs: CountedPairs) -> None:
        """Add documents; raises RunError where the disk has no room for them."""
        self.n_docs += len(pairs.lengths)
        self._lengths.append(pairs.lengths)
        self._ids.append(pairs.ids)
        self._counts.append(pairs.counts)
        if len(pairs.ids):
            self._count(pairs.ids)

    def add_name(self, name: str) -> None:
        """Add the name of the next document; either all documents have one or none has."""
        self._text.append(np.frombuffer(name.encode(), np.uint8))
        self._name_ends.append(np.array([self._text.n_entries]))

    def names(self) -> Texts | None:
        """Return the names of all documents, where they have any."""
        if not self._name_ends.n_entries:
            return None
        return Texts(self._text.done(), np.concatenate([[0], self._name_ends.done()]))

    def _count(self, ids: I32) -> None:
        self._n_ids = max(self._n_ids, int(ids.max()) + 1)
        if self._n_ids > len(self._n_docs_with):
            larger = np.zeros(2 * self._n_ids, np.int64)
            larger[: len(self._n_docs_with)] = self._n_docs_with
            self._n_docs_with = larger
        if len(ids) < self._n_ids // 8:
            np.add.at(self._n_docs_with, ids, 1)
        else:
            self._n_docs_with[: self._n_ids] += np.bincount(ids, minlength=self._n_ids)

    def laid(self) -> DraftDocuments:
        """Return all documents; none can be added any more."""
        lengths = self._lengths.done()
        ends = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        return DraftDocuments(ends, self._ids.done(), self._counts.done())
