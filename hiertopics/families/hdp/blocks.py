"""A sweep over tokens that holds the topics: draws of these, and tasks over pieces of the corpus.

Topics are drawn given all tokens, then documents are independent of each other (theory/hdp 6.2).
A task is a function of a piece of the corpus, the topics of its tokens and a message, which returns
their new topics and what changes: whole numbers, so that they may be added in any order. Random
numbers belong to words and tokens (``numeric.streams``): the number of pieces changes no byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, F64, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.base.room import beside
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Context, Engine, Shared
from hiertopics.families.hdp import block_kernels as kernels
from hiertopics.families.hdp.block_kernels import (
    BlockScratch,
    BlockSweepInput,
    DocumentLists,
    SlotTopics,
    SweepOutput,
    Topics,
)
from hiertopics.families.hdp.block_layout import Piece, room_of
from hiertopics.families.hdp.summary import ThetaPlan, TopicTheta, weigh
from hiertopics.families.hdp.table_kernels import SMALL
from hiertopics.families.hdp.topic_kernels import draw_masses, draw_proportions
from hiertopics.numeric.differences import Difference, caught_up, difference, summed
from hiertopics.numeric.lanes import LANES, padded
from hiertopics.numeric.streams import new_key

RANGE = 1024
"""Words whose masses are added up together, the sums then in order of ranges."""

LEAST_WORD_PRIOR = 1e-100
"""Prior mass of a word below which logarithms would end; such words stay absent all the same."""

LEAST_PRIOR = 1e-20
"""Prior mass of a topic below which its product with a topic's mass would leave float32."""

LEAST_SUM = 0.01
"""Sums of a topic's masses below which it is drawn anew: what draws leave out would matter."""

CHANGES_AT_ONCE = 1 << 20
"""Changes of n_wk that are written before they are put away."""

LISTED_BYTES = 12
"""Bytes of a change in a list; in a table of all cells it takes 4."""

DENSE_CELLS = 1 << 18
"""Counts of documents by topic that are in memory at a time."""


class Local(NamedTuple):
    """Per-document state of a piece: z, uint16 or uint32 [n_tokens]."""

    z: Annotated[Topics, Axes("n_tokens", below="truncation")]


class SweepChanges(NamedTuple):
    """Changes by a sweep. histogram, large: of n_dk as in ``SweepOutput``.

    cells, amounts: of n_wk; no cells: amounts are those of all cells. moved: tokens whose topic is
    another one.
    """

    histogram: I64
    large: I64
    cells: I64
    amounts: I32
    moved: int


def topic_dtype(n_topics: int) -> type[np.uint16] | type[np.uint32]:
    """Return the type of z."""
    return np.uint16 if n_topics <= np.iinfo(np.uint16).max else np.uint32


def begin_uniform(piece: Piece, message: tuple[np.uint64, int]) -> Local:
    """Return uniformly random topics of a piece's tokens. message: a key, the number of topics."""
    key, n_topics = message
    z = beside(piece.doc).empty(piece.n_tokens_in_all, topic_dtype(n_topics))
    kernels.draw_uniform(piece.doc_ptr[0], n_topics, key, z)
    return Local(z)


class InitialTopics(NamedTuple):
    """First topics of a piece's tokens, and a key to draw those of the other tokens."""

    topics: Topics
    key: np.uint64
    n_topics: int


def begin_known(piece: Piece, initial: InitialTopics) -> Local:
    """Return the topics of a piece's tokens: those that are known, the others uniformly random."""
    n_known = len(initial.topics)
    z = beside(piece.doc).empty(piece.n_tokens_in_all, topic_dtype(initial.n_topics))
    z[:n_known] = initial.topics
    kernels.draw_uniform(piece.doc_ptr[0] + n_known, initial.n_topics, initial.key, z[n_known:])
    return Local(z)


def count_words(piece: Piece, local: Local, message: tuple[int, int]) -> I32:
    """Return the n_wk of a piece, int32 [n_words, T]. message: n_words and T."""
    n_wk = np.zeros(message, np.int32)
    kernels.count_words(piece, local.z, n_wk)
    return n_wk


def begun_counts(piece: Piece, local: Local, message: tuple[int, int]) -> Difference:
    """Return the n_wk of a piece as ``count_words`` does, ready to travel."""
    return difference(None, count_words(piece, local, message))


def counts_of_documents(piece: Piece, local: Any, n_topics: int) -> Iterator[I32]:
    """Yield the n_dk of a piece's documents, int32 [n, T], some at a time."""
    doc_ptr, step = piece.doc_ptr, max(1, DENSE_CELLS // n_topics)
    for first in range(0, len(doc_ptr) - 1, step):
        ends = doc_ptr[first : first + step + 1]
        tokens = slice(ends[0] - doc_ptr[0], ends[-1] - doc_ptr[0])
        n_dk = np.zeros((len(ends) - 1, n_topics), np.int32)
        kernels.count_documents(ends, local.z[tokens], n_dk)
        yield n_dk


def weigh_documents(piece: Piece, local: Local, message: tuple[ThetaPlan, int]) -> TopicTheta:
    """Return theta of a piece's documents. message: how, and the number of topics."""
    plan, n_topics = message
    return weigh(counts_of_documents(piece, local, n_topics), plan, beside(piece.doc))


def count_cells(piece: Piece, local: Local, n_topics: int) -> tuple[I64, I64]:
    """Return how often each count occurs among the n_dk of each topic (histogram, large).

    Both as in ``SweepOutput``, int64.
    """
    found = _found(n_topics, len(local.z), 0)
    kernels.note_topics(piece.doc_ptr, local.z, n_topics, found)
    return found.histogram, found.large[: found.n_large[0]]


class Recipe(NamedTuple):
    """Input of a sweep besides counts. word_mass: of the topics' prior; 0: topics are given.

    doc_prior: float64 [T], alpha pi. seed, iteration, chain: whose random numbers.
    """

    word_mass: float
    doc_prior: F64
    seed: int
    iteration: int
    chain: tuple[int, ...]


def drawn(
    word_mass: float,
    doc_prior: F64,
    arrays: Mapping[str, NDArray[Any]],
    table: F32,
    context: Context,
) -> Shared:
    """Return the message of a sweep that draws the topics. arrays: n_wk and tau.

    table: float32 [n_words, padded T], where topics go.
    """
    recipe = Recipe(word_mass, doc_prior, context.seed, context.iteration, context.chain)
    return Shared(_drawn, arrays, recipe, table)


def given(topics: F32, doc_prior: F64, table: F32, context: Context) -> Shared:
    """Return the message of a sweep under topics [n_words, T] that are known."""
    recipe = Recipe(0.0, doc_prior, context.seed, context.iteration, context.chain)
    return Shared(_given, {"topics": topics}, recipe, table)


def _drawn(
    arrays: Mapping[str, NDArray[Any]], recipe: Recipe, table: F32, engine: Engine
) -> tuple[BlockSweepInput, int]:
    context = Context(recipe.seed, recipe.iteration, engine, chain=recipe.chain)
    word_prior = np.maximum(recipe.word_mass * arrays["tau"], LEAST_WORD_PRIOR)
    scale = draw_topics(arrays["n_wk"], word_prior, table, context)
    return hold(table, scale, recipe.doc_prior, context), len(recipe.doc_prior)


def _given(
    arrays: Mapping[str, NDArray[Any]], recipe: Recipe, table: F32, engine: Engine
) -> tuple[BlockSweepInput, int]:
    return held_topics(arrays, recipe, table, engine)


def held_topics(
    arrays: Mapping[str, NDArray[Any]], recipe: Recipe, table: F32, engine: Engine
) -> tuple[BlockSweepInput, int]:
    """Return the fixed input of a sweep under known topics, and the number of topics."""
    n_topics = len(recipe.doc_prior)
    table[:, :n_topics] = arrays["topics"]
    scale = np.zeros(table.shape[1], np.float32)
    scale[:n_topics] = 1.0
    context = Context(recipe.seed, recipe.iteration, engine, chain=recipe.chain)
    return hold(table, scale, recipe.doc_prior, context), n_topics


def draw_topics(n_wk: I32, word_prior: F64, table: F32, context: Context) -> F32:
    """Draw all topics given the tokens into ``table``; return the scale of its columns.

    Column k times scale [k] is a draw of Dir(n_wk + word_prior), but for a factor that all share.
    """
    return scale_of(draw_topic_masses(n_wk, word_prior, table, context), table)


def scale_of(masses: F64, table: F32) -> F32:
    """Return the scale of columns of a table that sum to these masses [T]; the largest has 1."""
    scale = np.zeros(table.shape[1], np.float32)
    scale[: len(masses)] = masses.max() / masses
    return scale


def draw_topic_masses(n_wk: I32, word_prior: F64, table: F32, context: Context) -> F64:
    """Draw topics given the tokens into ``table``; return the sums of its columns, float64 [T].

    Column k over its sum is a draw of Dir(n_wk + word_prior).
    """
    key = new_key(context.rng("topics"))
    n_words, n_topics = n_wk.shape
    starts = range(0, n_words, RANGE)

    def draw(start: int) -> F64:
        end = min(start + RANGE, n_words)
        return draw_masses(start, end, n_wk, word_prior, key, table)

    total = np.zeros(n_topics)
    for part in context.map(draw, starts):
        total += part
    redrawn = np.flatnonzero(total < LEAST_SUM)
    if len(redrawn):
        key = new_key(context.rng("small topics"))
        draw_proportions(redrawn, n_wk, word_prior, key, table)
        total[redrawn] = 1.0
    return total


def hold(table: F32, scale: F32, doc_prior: F64, context: Context) -> BlockSweepInput:
    """Return the fixed input of this iteration's sweep: topics in ``table``, prior [T]."""
    prior = np.zeros(len(scale), np.float32)
    prior[: len(doc_prior)] = np.maximum(doc_prior, LEAST_PRIOR)
    return BlockSweepInput(table, scale, prior, new_key(context.rng("sweep")))


def sweep_piece(
    piece: Piece, local: Local, message: tuple[BlockSweepInput, int]
) -> tuple[Local, SweepChanges]:
    """Redraw the topics of a piece's tokens. message: fixed input, and the number of topics."""
    held, n_topics = message

    def redraw(
        block: int, after: Topics, lists: DocumentLists, scratch: BlockScratch, found: SweepOutput
    ) -> int:
        return kernels.sweep_block(
            piece, block, local.z, after, held, n_topics, lists, scratch, found
        )

    after, changes = swept(piece, local.z, held, n_topics, redraw)
    return Local(after), changes


Redraw = Callable[[int, Any, DocumentLists, BlockScratch, SweepOutput], int]
"""Redraws a block into the topics after the sweep; returns how many tokens moved."""


def swept(
    piece: Piece, before: SlotTopics, held: BlockSweepInput, n_topics: int, redraw: Redraw
) -> tuple[Any, SweepChanges]:
    """Return the topics of a piece's tokens after a sweep, and what changed."""
    lists = _lists(piece, n_topics, np.dtype(topic_dtype(n_topics)))
    scratch = _scratch(n_topics)
    tokens = np.diff(piece.doc_ptr[piece.block_doc])
    # A word of a block changes a topic's count once at most, and a token two of them.
    most = np.minimum(2 * tokens, n_topics * np.diff(piece.block_entry))
    found = _found(n_topics, int(tokens.sum()), int(most.max(initial=0)))
    after = beside(piece.doc).empty(len(before), before.dtype)
    moved, changes = 0, CountChanges(len(held.table) * n_topics)
    for block in range(len(tokens)):
        moved += redraw(block, after, lists, scratch, found)
        if len(found.cells) - found.n_changes[0] < most[block + 1 : block + 2].sum():
            changes.take(found)
    changes.take(found)
    large = found.large[: found.n_large[0]].copy()
    return after, SweepChanges(found.histogram, large, *changes.told(), moved)


class PackedChanges(NamedTuple):
    """A ``SweepChanges`` from another process. counts: of n_wk [n_words T], the changes."""

    histogram: Difference
    large: I64
    counts: Difference
    moved: int


def packed(results: list[SweepChanges], n_cells: int) -> PackedChanges:
    """Return the results of several pieces as one. n_cells: of n_wk."""
    one = _joined(results)
    tables = [result.amounts for result in results if len(result.amounts) > len(result.cells)]
    lists = [result for result in results if len(result.amounts) == len(result.cells)]
    if tables:
        whole = tables[0].copy()
        for table in tables[1:]:
            whole += table
        for result in lists:
            kernels.add_amounts(result.cells, result.amounts, whole)
        counts = difference(None, whole)
    else:
        cells = np.concatenate([result.cells for result in lists])
        counts = summed(cells, np.concatenate([result.amounts for result in lists]), n_cells)
    return PackedChanges(difference(None, one.histogram), one.large, counts, one.moved)


def unpacked(given: PackedChanges) -> SweepChanges:
    """Return a result as pieces here give it."""
    counts = given.counts
    cells = np.empty(0, np.int64) if counts.cells is None else counts.cells.astype(np.int64)
    histogram = caught_up(None, given.histogram)
    return SweepChanges(histogram, given.large, cells, counts.values.astype(np.int32), given.moved)


def add_results(
    answers: Sequence[SweepChanges | PackedChanges], n_wk: I32, n_k: I64
) -> SweepChanges:
    """Add the changes of all pieces to n_wk [n_words, T] and n_k [T]; return the rest, added."""
    results = [unpacked(one) if isinstance(one, PackedChanges) else one for one in answers]
    for result in results:
        if len(result.amounts) > len(result.cells):
            table = result.amounts.reshape(n_wk.shape)
            n_wk += table
            n_k += table.sum(axis=0, dtype=np.int64)
        else:
            kernels.add_changes(result.cells, result.amounts, n_wk, n_k)
    return _joined(results)


def _joined(results: list[SweepChanges]) -> SweepChanges:
    """Return the first result with histogram, large counts and moved tokens of all."""
    large = np.concatenate([result.large for result in results])
    order = np.lexsort((large[:, 1], large[:, 0]))
    histogram = results[0].histogram
    for result in results[1:]:
        histogram += result.histogram
    moved = sum(result.moved for result in results)
    return results[0]._replace(histogram=histogram, large=large[order], moved=moved)


class CountChanges:
    """Changes of ``n_cells`` counts: listed, or in a table once that is the smaller."""

    def __init__(self, n_cells: int) -> None:
        self._n_cells = n_cells
        self._listed = [(np.empty(0, np.int64), np.empty(0, np.int32))]
        self._table: I32 | None = None

    def take(self, output: SweepOutput) -> None:
        """Take the changes written so far, and empty ``output`` for further ones."""
        written = slice(int(output.n_changes[0]))
        output.n_changes[0] = 0
        if self._table is not None:
            kernels.add_amounts(output.cells[written], output.amounts[written], self._table)
            return
        self._listed.append((output.cells[written].copy(), output.amounts[written].copy()))
        if LISTED_BYTES * sum(len(cells) for cells, _ in self._listed) > 4 * self._n_cells:
            self._table = np.zeros(self._n_cells, np.int32)
            for cells, amounts in self._listed:
                kernels.add_amounts(cells, amounts, self._table)
            self._listed = []

    def told(self) -> tuple[I64, I32]:
        """Return cells and amounts as in ``SweepChanges``."""
        if self._table is not None:
            return np.empty(0, np.int64), self._table
        cells, amounts = zip(*self._listed, strict=True)
        return np.concatenate(cells), np.concatenate(amounts)


def _lists(piece: Piece, n_topics: int, dtype: np.dtype[Any]) -> DocumentLists:
    """Return memory for the largest block."""
    n_docs = int(np.diff(piece.block_doc).max(initial=0))
    rooms = ends_of(room_of(np.diff(piece.doc_ptr), n_topics))
    room = int(np.diff(rooms[piece.block_doc]).max(initial=0))
    return DocumentLists(
        np.empty(n_docs, np.int64),
        np.empty(n_docs, np.int64),
        np.zeros(room, dtype),
        np.zeros(room, np.float32),
        np.empty(n_docs * n_topics, dtype),
        np.empty(n_docs, np.int64),
    )


def _scratch(n_topics: int) -> BlockScratch:
    width = padded(n_topics)
    return BlockScratch(
        np.zeros(width, np.float32),
        np.zeros(LANES, np.float32),
        np.zeros(width, np.float32),
        np.zeros(width, np.float32),
        np.zeros(LANES + 1, np.float32),
        np.zeros(n_topics, np.int32),
        np.zeros(n_topics, np.bool_),
        np.zeros(n_topics, np.int64),
    )


def _found(n_topics: int, n_tokens: int, most: int) -> SweepOutput:
    """Return arrays for the results of a sweep. most: changes of the largest block."""
    n_changes = min(2 * n_tokens, max(most, CHANGES_AT_ONCE))
    return SweepOutput(
        np.zeros((n_topics, SMALL), np.int64),
        np.empty((n_tokens // SMALL + 1, 2), np.int64),
        np.zeros(1, np.int64),
        np.empty(n_changes, np.int64),
        np.empty(n_changes, np.int32),
        np.zeros(1, np.int64),
    )
