"""A corpus in tokens: the layout of samplers that redraw a value for every token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I32, I64
from hiertopics.base.room import Room, beside
from hiertopics.base.stretches import ends_of, entries_of, stretches
from hiertopics.corpus.data import Bags, Seeds, Shelf, seedwords

TOKENS_AT_ONCE = 1 << 18
"""Tokens that are in memory at a time, a longer document apart."""


class TokenRanges(NamedTuple):
    """The corpus: documents as ranges of pairs, pairs as ranges of equal tokens.

    pair_ptr: int64 [n_docs + 1]. word: int32 [n_pairs]. token_ptr: int64 [n_pairs + 1].
    """

    pair_ptr: I64
    word: I32
    token_ptr: I64


class Data(NamedTuple):
    """A corpus laid out in tokens: words, and its sizes. shelf: the corpus, where it is in files.

    What has an entry for each pair or token lies in the corpus's room. seeds: tokens that no
    document has.
    """

    words: TokenRanges
    n_docs: int
    n_words: int
    n_tokens: int
    shelf: Shelf | None = None
    seeds: Seeds = seedwords.NONE

    @property
    def room(self) -> Room:
        """The room for arrays by token."""
        return beside(self.words.word)


def lay_out(corpus: Bags) -> Data:
    """Lay a corpus out in tokens, by word id within a document."""
    word, token_ptr = corpus.room.growing(np.int32), corpus.room.growing(np.int64)
    token_ptr.append(np.zeros(1, np.int64))
    n_tokens = 0
    for block in corpus.blocks():
        ends = n_tokens + np.cumsum(block.data, dtype=np.int64)
        word.append(block.indices)
        token_ptr.append(ends)
        n_tokens = int(ends[-1]) if len(ends) else n_tokens
    words = TokenRanges(ends_of(corpus.doc_pairs), word.done(), token_ptr.done())
    shelf = corpus.bare(0, corpus.n_docs) if isinstance(corpus, Shelf) else None
    return Data(words, corpus.n_docs, corpus.n_words, n_tokens, shelf)


class PieceDocuments(NamedTuple):
    """Some documents of a corpus, whose words come some documents at a time.

    docs: int64, their numbers in ``words``, or in ``shelf`` where there are no words. Who unpickles
    it has the words of these documents alone, or reads them in the corpus's files.
    """

    docs: I64
    words: TokenRanges | None
    shelf: Shelf | None

    def __reduce__(self) -> tuple[Any, ...]:
        places = np.arange(len(self.docs))
        if self.shelf is not None:
            return PieceDocuments, (places, None, self.shelf.select(self.docs))
        assert self.words is not None, "documents are in memory or in files"
        return PieceDocuments, (places, words_of(self.words, self.docs), None)

    @property
    def room(self) -> Room:
        """The room for arrays by token."""
        return Room() if self.shelf is None else self.shelf.room

    def blocks(self) -> Iterator[tuple[slice, TokenRanges]]:
        """Yield the words of some documents after the other, and which these are."""
        for first, last in spans(self._lengths()):
            inside = slice(first, last)
            if self.words is not None:
                yield inside, words_of(self.words, self.docs[inside])
            elif self.shelf is not None:
                rows = self.shelf.counts_of(self.docs[inside])
                yield (
                    inside,
                    TokenRanges(rows.indptr.astype(np.int64), rows.indices, ends_of(rows.data)),
                )

    def _lengths(self) -> I64:
        if self.words is not None:
            return doc_lengths(self.words)[self.docs]
        assert self.shelf is not None, "documents are in memory or in files"
        return self.shelf.doc_lengths[self.docs]


def part_of(data: Data, docs: I64) -> PieceDocuments:
    """Return the documents ``docs``, int64 [n], of a corpus."""
    return PieceDocuments(docs, data.words, data.shelf)


def doc_lengths(words: TokenRanges) -> I64:
    """Return the tokens of each document, int64 [n_docs]."""
    return np.diff(words.token_ptr[words.pair_ptr])


def spans(lengths: I64) -> Iterator[tuple[int, int]]:
    """Return ranges of documents of about ``TOKENS_AT_ONCE`` tokens; lengths: int64 [n_docs]."""
    return stretches(ends_of(lengths), TOKENS_AT_ONCE)


def words_of(words: TokenRanges, docs: I64) -> TokenRanges:
    """Return the words of some documents, int64 [n], by themselves."""
    pair, pair_ptr = entries_of(words.pair_ptr, docs)
    token_ptr = ends_of(words.token_ptr[pair + 1] - words.token_ptr[pair])
    return TokenRanges(pair_ptr, words.word[pair], token_ptr)


def counts_of(words: TokenRanges, n_words: int) -> sparse.csr_array:
    """Return words as counts again, float64 CSR [n_docs, n_words]."""
    cells = (np.diff(words.token_ptr).astype(np.float64), words.word, words.pair_ptr)
    return sparse.csr_array(cells, shape=(len(words.pair_ptr) - 1, n_words))
