"""The corpus as kernels that count by topic want it: rows of cells, cut into blocks.

A cell is a (document, word) pair for the variational methods and a token for Gibbs. Documents
and words are both cut into S contiguous ranges of about equal work, and a range of documents is a
piece. In turn r piece s visits its block of word range (s + r) mod S: blocks of a turn share
neither a document's nor a word's row of the count tables, so they may be visited at the same time
and the result depends on S, never on who visits them or when. Rows of documents stay with their
piece, rows of words go with the message and come back with the answer. Only the topic totals are
seen by a block as they were when its turn began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from hiertopics.base.arrays import I32, I64, Floats, Numbers
from hiertopics.base.room import Room, beside
from hiertopics.base.stretches import ends_of, entries_of, even_bounds, stretches
from hiertopics.contract import Context, Each, Pieces, Sharded, as_given, cut
from hiertopics.corpus.data import Bags, Seeds, seedwords
from hiertopics.families.flat.bursts import BurstPlan, Repeats

Local = TypeVar("Local")
Result = TypeVar("Result")

PAIRS_AT_ONCE = 2048
"""Pairs whose q(z) at all topics is in memory at a time, a longer document apart."""


class Cells(NamedTuple):
    """Cells in document order, by word id within a document.

    cuts: int64 [n_docs, S + 1]; cells ``cuts[d, s] .. cuts[d, s + 1]`` are those of document d
    in word range s. word: int32 [n_cells]. tokens: float [n_cells], tokens of the cell.
    doc_bounds: int64 [S + 1], the document ranges.
    """

    cuts: I64
    word: I32
    tokens: Floats
    doc_bounds: I64

    @property
    def n_shards(self) -> int:
        """Number S of document ranges and of word ranges."""
        return len(self.doc_bounds) - 1

    @property
    def ends(self) -> I64:
        """The cells before each document, and all of them, int64 [n_docs + 1]."""
        return np.append(self.cuts[:, 0], len(self.word))


class Data(NamedTuple):
    """A corpus laid out: its cells, and the counts that hyperparameter updates need.

    lengths: int64, the distinct document lengths > 0; n_with: how many documents have each.
    doc_lengths: int64 [n_docs]. word_bounds: int64 [S + 1], the word ranges. seeds: tokens of
    words that are in counts of words by topic, but in no document and in no topic's total. bursts:
    what a fit with bursts knows of them, whose documents are as long as they have tables. repeats:
    the same of a sampler.
    """

    cells: Cells
    doc_lengths: I64
    lengths: Numbers
    n_with: I64
    word_bounds: I64
    seeds: Seeds = seedwords.NONE
    bursts: BurstPlan | None = None
    repeats: Repeats | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.doc_lengths)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return int(self.word_bounds[-1])

    @property
    def cell_bounds(self) -> I64:
        """Bounds of the pieces' cells, int64 [S + 1]."""
        return self.cells.ends[self.cells.doc_bounds]


class PieceData(NamedTuple):
    """Data of a piece: cells of its documents, whose cuts count from the corpus's first.

    first_doc: the number of its first document. word_bounds as in ``Data``.
    """

    cells: Cells
    first_doc: int
    word_bounds: I64


class Piece(NamedTuple):
    """The cells of a range of documents, which count from 0 here.

    blocks: the same cells, words counted from the first of their range.
    """

    cells: Cells
    blocks: Cells
    first_doc: int

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.cells.cuts)


class HasCells(Protocol):
    """An object with the cells of a ``Piece``, and maybe more."""

    @property
    def cells(self) -> Cells:
        """As in ``Piece``."""

    @property
    def blocks(self) -> Cells:
        """As in ``Piece``."""

    @property
    def first_doc(self) -> int:
        """As in ``Piece``."""

    @property
    def n_docs(self) -> int:
        """As in ``Piece``."""


def parts_of(data: Data) -> list[PieceData]:
    """Return the data of the pieces."""
    cells, at = data.cells, data.cell_bounds
    parts = []
    for shard in range(cells.n_shards):
        first, last = (int(bound) for bound in cells.doc_bounds[shard : shard + 2])
        here = slice(at[shard], at[shard + 1])
        ends = np.array([0, last - first])
        own = Cells(cells.cuts[first:last], cells.word[here], cells.tokens[here], ends)
        parts.append(PieceData(own, first, data.word_bounds))
    return parts


def build_piece(part: PieceData) -> Piece:
    """Return a piece by itself."""
    cuts = part.cells.cuts - part.cells.cuts[:1, :1]
    cells = part.cells._replace(cuts=cuts)
    if len(part.word_bounds) == 2:
        return Piece(cells, cells, part.first_doc)
    first = np.broadcast_to(part.word_bounds[:-1].astype(np.int32), (len(cuts), cuts.shape[1] - 1))
    word = beside(cells.word).empty(len(cells.word), cells.word.dtype)
    np.subtract(cells.word, np.repeat(first.ravel(), np.diff(cuts, axis=1).ravel()), out=word)
    return Piece(cells, cells._replace(word=word), part.first_doc)


def dealt(
    data: Data, context: Context, local: Callable[..., Local], **arrays: NDArray[Any]
) -> Pieces[Piece, Local]:
    """Place pieces whose states have their part of arrays over all cells or documents."""
    states = cut(local, arrays, bounds(data))
    return context.place(build_piece, parts_of(data), as_given, Each(states))


def sent_from_here(
    pieces: Pieces[Piece, Local], data: Data, context: Context
) -> Pieces[Piece, Local]:
    """Place pieces that ``context.workers.here`` has placed where those of the fit live."""
    if context.workers.here is context.workers:
        return pieces
    states = [pieces.state_of(number) for number in range(pieces.n_pieces)]
    return context.place(build_piece, parts_of(data), as_given, Each(states))


def as_laid_out(data: Data) -> Data:
    """Return the data of a family that lays out nothing else."""
    return data


def sharded(local: Callable[..., Any], laid: Callable[[Any], Data] = as_laid_out) -> Sharded[Any]:
    """Return how states ``local`` are placed by pieces. laid: from a family's data to ``Data``."""
    return Sharded(
        Local=local,
        parts=lambda data: parts_of(laid(data)),
        build=build_piece,
        bounds=lambda data: bounds(laid(data)),
    )


def bounds(data: Data) -> Mapping[str, I64]:
    """Return the bounds of pieces in arrays by cell or document, int64 [S + 1]."""
    docs = data.cells.doc_bounds
    cells = data.cell_bounds
    of_cells = dict.fromkeys(("resp", "topic", "share", "z"), cells)
    return {**of_cells, "pair_tables": cells, "n_dk": docs, "var_dk": docs}


def room_of(piece: HasCells) -> Room:
    """Return the room for arrays as large as a piece."""
    return beside(piece.cells.word)


def spans(cuts: I64) -> Iterator[tuple[int, int]]:
    """Return ranges of documents with about ``PAIRS_AT_ONCE`` pairs, each at least a document.

    cuts: as of ``Cells``, int64 [n_docs, n_shards + 1].
    """
    return stretches(np.append(cuts[:, 0], cuts[-1:, -1]), PAIRS_AT_ONCE)


def pairs_of(cells: Cells, first: int, last: int) -> tuple[I64, I32]:
    """Return document and word of each pair of documents ``first`` to below ``last``.

    int64 and int32 [n_pairs].
    """
    ends = cells.cuts[first:last, [0, -1]]
    docs = np.repeat(np.arange(first, last), np.diff(ends, axis=1).ravel())
    return docs, cells.word[ends[0, 0] : ends[-1, 1]]


def counts_of(data: Data) -> sparse.csr_array:
    """Return the corpus as counts, float64 CSR [n_docs, n_words]."""
    cells = data.cells
    rows = (cells.tokens.astype(np.float64), cells.word, cells.ends)
    return sparse.csr_array(rows, shape=(data.n_docs, data.n_words))


def lay_out(
    corpus: Bags, n_shards: int, dtype: DTypeLike = np.float32, *, tokens: bool = False
) -> Data:
    """Lay ``corpus`` out; ``tokens``: one cell per token instead of one per pair."""
    words, weights = corpus.room.growing(np.int32), corpus.room.growing(dtype)
    n_cells = np.zeros(corpus.n_words, np.int64)
    for counts in corpus.blocks():
        repeats = counts.data if tokens else np.ones(counts.nnz, dtype=np.int64)
        word = np.repeat(counts.indices, repeats)
        n_cells += np.bincount(word, minlength=corpus.n_words)
        words.append(word)
        weights.append(np.ones(len(word), dtype) if tokens else counts.data)
    per_doc = corpus.doc_lengths if tokens else corpus.doc_pairs
    ends = ends_of(per_doc)
    word_bounds = even_bounds(n_cells, n_shards)
    doc_bounds = even_bounds(per_doc, n_shards)
    word = words.done()
    cells = Cells(_cuts(word, ends, word_bounds), word, weights.done(), doc_bounds)
    lengths, n_with = np.unique(corpus.doc_lengths[corpus.doc_lengths > 0], return_counts=True)
    return Data(cells, corpus.doc_lengths, lengths, n_with, word_bounds)


def _cuts(word: I32, ends: I64, word_bounds: I64) -> I64:
    """Return where word ranges begin in each document (``Cells.cuts``)."""
    if len(word_bounds) == 2:
        return np.column_stack([ends[:-1], ends[1:]])
    cuts = np.empty((len(ends) - 1, len(word_bounds)), dtype=np.int64)
    for doc, (start, stop) in enumerate(pairwise(ends.tolist())):
        cuts[doc] = start + np.searchsorted(word[start:stop], word_bounds)
    return cuts


def some_of(data: Data, docs: I64) -> Data:
    """Return some documents, laid out with the same word ranges, in memory.

    docs: int64 [n], ascending.
    """
    cells = data.cells
    chosen, ends = entries_of(cells.ends, docs)
    cuts = cells.cuts[docs] + (ends[:-1] - cells.cuts[docs, 0])[:, None]
    bounds = even_bounds(np.diff(ends), cells.n_shards)
    doc_lengths = data.doc_lengths[docs]
    lengths, n_with = np.unique(doc_lengths[doc_lengths > 0], return_counts=True)
    taken = Cells(cuts, cells.word[chosen], cells.tokens[chosen], bounds)
    return Data(taken, doc_lengths, lengths, n_with, data.word_bounds, data.seeds, data.bursts)


def rounds(n_shards: int) -> list[list[tuple[int, int]]]:
    """Return the turns: S rounds of S (document range, word range) blocks."""
    shards = range(n_shards)
    return [[(shard, (shard + turn) % n_shards) for shard in shards] for turn in shards]


class BlockInput(NamedTuple):
    """Input of a piece's visit to a block: its turn, the word range, the rows of its words.

    rows: of each table that is visited, for the piece to write to. given: what else it takes.
    """

    turn: int
    number: int
    rows: tuple[NDArray[Any], ...]
    given: Any


def take_turns(
    pieces: Pieces[Any, Local],
    visit: Callable[
        [Any, Local, BlockInput], tuple[Local, tuple[tuple[NDArray[Any], ...], Result]]
    ],
    turn: int,
    tables: Sequence[NDArray[Any]],
    word_bounds: I64,
    given: Callable[[int, int], Any] = lambda number, span: None,
) -> list[Result]:
    """Let every piece ``visit`` its block of a turn; return their answers without the rows.

    tables: [n_words, ...], moved in place. given: what block (piece, word range) takes besides.
    """
    n_pieces = pieces.n_pieces
    blocks = []
    for number in range(n_pieces):
        span = (number + turn) % n_pieces
        rows = tuple(table[word_bounds[span] : word_bounds[span + 1]] for table in tables)
        blocks.append(BlockInput(turn, span, rows, given(number, span)))
    answers = pieces.step(visit, Each(blocks))
    for block, (moved, _) in zip(blocks, answers, strict=True):
        for old, new in zip(block.rows, moved, strict=True):
            if not np.may_share_memory(old, new):
                old[:] = new
    return [result for _, result in answers]
