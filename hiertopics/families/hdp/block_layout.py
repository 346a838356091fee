"""The corpus as samplers want it that hold the topics: documents in blocks, words within a block.

Given topics, documents do not see each other, and only the order of a document's own tokens
matters: by word. So a block of documents may be visited word by word: a word's row of the topics is
fetched once for all documents of the block, whose lists of topics fit a cache meanwhile. No result
depends on the blocks, or on the pieces that the corpus is cut into for workers (theory/hdp 6.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, I32, I64, U8, U16, Ints
from hiertopics.base.stretches import ends_of
from hiertopics.contract.model import Sharded
from hiertopics.corpus.data import Bags, Seeds, Shelf, seedwords
from hiertopics.families.flat.bursts import Repeats
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES, padded

BLOCK_BYTES = 1 << 19
"""Lists of the documents of a block: half of a second cache of 1 MiB."""

LONGEST = 255
"""Tokens of a pair; a pair of more is laid out as several, one behind the other."""


class Piece(NamedTuple):
    """Consecutive documents of the corpus, in blocks.

    doc_ptr: int64 [n_docs + 1], tokens, numbered as in the whole corpus: document by document, by
    word id within one. block_doc, block_entry, block_pair: int64 [n_blocks + 1]. An entry is a word
    of a block, ascending: word int32 [n_entries], n_pairs int32 [n_entries]. Its pairs are in order
    of documents: doc uint16 [n_pairs], counted from the block's first, n_tokens uint8 [n_pairs].
    """

    doc_ptr: I64
    block_doc: I64
    block_entry: I64
    block_pair: I64
    word: I32
    n_pairs: I32
    doc: U16
    n_tokens: U8

    @property
    def n_tokens_in_all(self) -> int:
        """Number of tokens of all documents."""
        return int(self.doc_ptr[-1] - self.doc_ptr[0])


class StoredDocuments(NamedTuple):
    """Documents of a corpus in files, to be laid out where their piece will live; see ``Piece``."""

    shelf: Shelf
    doc_ptr: I64
    block_doc: I64


class Blocks(NamedTuple):
    """A corpus laid out in blocks, and the counts that hyperparameters need.

    pieces: of the corpus, in order; ``made_piece`` makes them what they are. doc_lengths: int64
    [n_docs]. lengths: int64, the distinct ones > 0; n_with: how many documents have each. table:
    float32 [n_words, >= T], room for the topics of an iteration, a multiple of 16 long, 0 beyond T;
    what is in it is no state. corpus: what is laid out. seeds, repeats: as in ``flat.layout.Data``.
    """

    pieces: tuple[Piece | StoredDocuments, ...]
    doc_lengths: I64
    lengths: I64
    n_with: I64
    table: F32
    corpus: Bags
    seeds: Seeds = seedwords.NONE
    repeats: Repeats | None = None

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.corpus.n_words

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.doc_lengths)

    @property
    def bounds(self) -> Mapping[str, I64]:
        """The bounds of pieces in arrays by token, int64 [n_pieces + 1]."""
        return {"z": np.array([0, *(piece.doc_ptr[-1] for piece in self.pieces)])}


def lay_out(
    corpus: Bags, n_topics: int, n_pieces: int = 1, block_bytes: int = BLOCK_BYTES
) -> Blocks:
    """Lay a corpus out in at most ``n_pieces``, in blocks that take about ``block_bytes``.

    One in files is cut alone: its pieces are laid out where they will live.
    """
    lengths = corpus.doc_lengths
    doc_ptr = ends_of(lengths)
    block_doc = _blocks(lengths, n_topics, block_bytes)
    pieces: tuple[Piece | StoredDocuments, ...]
    if isinstance(corpus, Shelf):
        bounds = [
            block_doc[first : last + 1] for first, last in _cuts(doc_ptr[block_doc], n_pieces)
        ]
        pieces = tuple(
            StoredDocuments(
                corpus.bare(own[0], own[-1]), doc_ptr[own[0] : own[-1] + 1], own - own[0]
            )
            for own in bounds
        )
    else:
        pieces = tuple(cut(_laid(corpus, doc_ptr, block_doc), n_pieces))
    distinct, n_with = np.unique(lengths[lengths > 0], return_counts=True)
    table = np.zeros((corpus.n_words, padded(n_topics)), np.float32)
    return Blocks(pieces, lengths, distinct, n_with, table, corpus)


def made_piece(part: Piece | StoredDocuments) -> Piece:
    """Return a piece as it lives."""
    if isinstance(part, StoredDocuments):
        return _laid(part.shelf, part.doc_ptr, part.block_doc)
    return part


def in_blocks(local: Callable[..., Any]) -> Sharded[Blocks]:
    """Return how states ``local`` are placed by pieces."""
    return Sharded(
        Local=local,
        parts=lambda data: data.pieces,
        build=made_piece,
        bounds=lambda data: data.bounds,
    )


def _laid(corpus: Bags, doc_ptr: I64, block_doc: I64) -> Piece:
    columns = [corpus.room.growing(kind) for kind in (np.int32, np.int32, np.uint16, np.uint8)]
    entries, pairs = [0], [0]
    for first, last in zip(block_doc[:-1], block_doc[1:], strict=True):
        rows = corpus.rows(first, last)
        bounds = rows.indptr.astype(np.int64)
        block = lay_block(bounds, rows.indices, rows.data, corpus.n_words)
        for column, part in zip(columns, block, strict=True):
            column.append(np.asarray(part))
        entries.append(columns[0].n_entries)
        pairs.append(columns[2].n_entries)
    word, n_pairs, doc, n_tokens = (column.done() for column in columns)
    return Piece(
        doc_ptr, block_doc, np.array(entries), np.array(pairs), word, n_pairs, doc, n_tokens
    )


def cut(piece: Piece, n_parts: int) -> list[Piece]:
    """Cut a piece between blocks into at most ``n_parts``, of about as many tokens."""
    before = piece.doc_ptr[piece.block_doc] - piece.doc_ptr[0]
    return [_part(piece, *pair) for pair in _cuts(before, n_parts)]


def _cuts(before: I64, n_parts: int) -> list[tuple[int, int]]:
    """Return first and last block of at most ``n_parts``. before: tokens before each block."""
    targets = np.arange(1, n_parts) * (before[-1] / n_parts)
    inner = np.searchsorted(before[1:], targets)
    bounds = np.unique([0, *inner, len(before) - 1]).tolist()
    return list(pairwise(bounds))


def _part(piece: Piece, first: int, last: int) -> Piece:
    """Return the blocks ``first`` to ``last``, views of the arrays."""
    docs, entries, pairs = (
        bounds[first : last + 1]
        for bounds in (piece.block_doc, piece.block_entry, piece.block_pair)
    )
    of_docs, of_entries, of_pairs = (
        slice(int(bounds[0]), int(bounds[-1])) for bounds in (docs, entries, pairs)
    )
    return Piece(
        piece.doc_ptr[of_docs.start : of_docs.stop + 1],
        docs - docs[0],
        entries - entries[0],
        pairs - pairs[0],
        piece.word[of_entries],
        piece.n_pairs[of_entries],
        piece.doc[of_pairs],
        piece.n_tokens[of_pairs],
    )


def room_of(lengths: Ints, n_topics: int) -> I64:
    """Return the entries that the list of a document of each length [n] has room for: int64 [n]."""
    longest = np.minimum(lengths, n_topics)
    return np.asarray(-(-longest // LANES) * LANES, dtype=np.int64)


def _blocks(lengths: I64, n_topics: int, block_bytes: int) -> I64:
    """Return the first document of each block, and the end: int64."""
    n_bytes = 2 * n_topics + 6 * room_of(lengths, n_topics)
    number = (np.cumsum(n_bytes) - n_bytes) // block_bytes
    first = np.flatnonzero(np.diff(number[1:], prepend=number[:1])) + 1
    return np.array([0, *first, len(lengths)], dtype=np.int64)


@kernel()
def lay_block(bounds: I64, words: I32, counts: I32, n_words: int) -> tuple[I32, I32, U16, U8]:
    """Return word, n_pairs, doc and n_tokens of a block of documents that are given by rows.

    bounds: int64 [n_docs + 1]. words, counts: int32 [n_pairs]. word, n_pairs: [n_entries]. doc,
    n_tokens: [n_pairs], those of more than ``LONGEST`` tokens in parts.
    """
    by_word = np.zeros(n_words + 1, np.int64)
    for pair in range(len(words)):
        by_word[words[pair] + 1] += (counts[pair] + LONGEST - 1) // LONGEST
    n_entries = 0
    for word in range(n_words):
        n_entries += by_word[word + 1] > 0
    word_of, n_pairs = np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
    entry = 0
    for word in range(n_words):
        if by_word[word + 1] > 0:
            word_of[entry], n_pairs[entry] = word, by_word[word + 1]
            entry += 1
        by_word[word + 1] += by_word[word]
    doc_of = np.empty(by_word[n_words], np.uint16)
    n_tokens = np.empty(by_word[n_words], np.uint8)
    for doc in range(len(bounds) - 1):
        for pair in range(bounds[doc], bounds[doc + 1]):
            left = counts[pair]
            while left > 0:
                place = by_word[words[pair]]
                doc_of[place], n_tokens[place] = doc, min(left, LONGEST)
                by_word[words[pair]] += 1
                left -= LONGEST
    return word_of, n_pairs, doc_of, n_tokens
