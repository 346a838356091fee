"""Sweeps that hold the topics where documents are bursty: tasks over pieces (theory/bursts 9.3).

As ``blocks``, with tables in place of tokens. Slots are numbered as tokens, and random numbers
belong to slots: the number of pieces changes no byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, F64, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.base.room import beside
from hiertopics.contract import Context, Engine, Pieces, Shared
from hiertopics.families.flat import seats
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess
from hiertopics.families.flat.seats import TableHistograms
from hiertopics.families.hdp import block_kernels, blocks, bursty_block_kernels as kernels
from hiertopics.families.hdp.block_kernels import (
    BlockScratch,
    BlockSweepInput,
    DocumentLists,
    SlotTopics,
    SweepOutput,
)
from hiertopics.families.hdp.block_layout import Piece
from hiertopics.families.hdp.blocks import Recipe, SweepChanges
from hiertopics.families.hdp.bursty_block_kernels import TableInput
from hiertopics.numeric.pitman_yor_kernels import Stirling
from hiertopics.numeric.streams import new_key


class Local(NamedTuple):
    """Per-document state of a piece: z, int16 or int32 [n_tokens].

    z: topics of tables, in the first slots of each pair; -1 in the others.
    """

    z: Annotated[SlotTopics, Axes("n_tokens", least=-1, below="truncation")]


class TableDrawRule(NamedTuple):
    """How tables come and go. held: none does."""

    seats: DocumentProcess
    held: bool


class InitialSlotTopics(NamedTuple):
    """First topics of a piece's slots, and a key to draw those of the other slots.

    aside: int64 [n], the slots of documents that are put aside, which are empty.
    """

    topics: SlotTopics
    key: np.uint64
    n_topics: int
    aside: I64


def slot_dtype(n_topics: int) -> type[np.int16] | type[np.int32]:
    """Return the type of z, which knows numbers below 0."""
    return np.int16 if n_topics <= np.iinfo(np.int16).max else np.int32


def begin_tables(piece: Piece, initial: InitialSlotTopics) -> Local:
    """Return the topics of a piece's slots: those that are known, the others uniformly random."""
    n_known = len(initial.topics)
    z = beside(piece.doc).empty(piece.n_tokens_in_all, slot_dtype(initial.n_topics))
    z[:n_known] = initial.topics
    block_kernels.draw_uniform(
        piece.doc_ptr[0] + n_known, initial.n_topics, initial.key, z[n_known:]
    )
    kernels.begin_slots(piece, z)
    z[initial.aside] = EMPTY
    return Local(z)


def drawn(
    rule: TableDrawRule,
    word_mass: float,
    doc_prior: F64,
    arrays: Mapping[str, NDArray[Any]],
    table: F32,
    context: Context,
) -> Shared:
    """Do as ``blocks.drawn`` does; the sweep has tables that come and go by this rule."""
    recipe = Recipe(word_mass, doc_prior, context.seed, context.iteration, context.chain)
    return Shared(_drawn, arrays, (recipe, rule), table)


def given(rule: TableDrawRule, topics: F32, doc_prior: F64, table: F32, context: Context) -> Shared:
    """Do as ``blocks.given`` does; the sweep has tables that come and go by this rule."""
    recipe = Recipe(0.0, doc_prior, context.seed, context.iteration, context.chain)
    return Shared(_given, {"topics": topics}, (recipe, rule), table)


Message = tuple[BlockSweepInput, TableInput, int]


def _drawn(
    arrays: Mapping[str, NDArray[Any]],
    message: tuple[Recipe, TableDrawRule],
    table: F32,
    engine: Engine,
) -> Message:
    recipe, rule = message
    context = Context(recipe.seed, recipe.iteration, engine, chain=recipe.chain)
    word_prior = np.maximum(recipe.word_mass * arrays["tau"], blocks.LEAST_WORD_PRIOR)
    masses = blocks.draw_topic_masses(arrays["n_wk"], word_prior, table, context)
    held = blocks.hold(table, blocks.scale_of(masses, table), recipe.doc_prior, context)
    # Times the scale, columns of the table sum to the largest mass.
    return held, _tables(rule, 1.0 / masses.max(), context), len(recipe.doc_prior)


def _given(
    arrays: Mapping[str, NDArray[Any]],
    message: tuple[Recipe, TableDrawRule],
    table: F32,
    engine: Engine,
) -> Message:
    recipe, rule = message
    context = Context(recipe.seed, recipe.iteration, engine, chain=recipe.chain)
    held, n_topics = blocks.held_topics(arrays, recipe, table, engine)
    return held, _tables(rule, 1.0, context), n_topics


def _tables(rule: TableDrawRule, unit: float, context: Context) -> TableInput:
    return TableInput(rule.seats, rule.held, float(unit), new_key(context.rng("tables")))


def sweep_piece(piece: Piece, local: Local, message: Message) -> tuple[Local, SweepChanges]:
    """Redraw the tables of a piece. message: fixed input, and the number of topics."""
    held, tables, n_topics = message
    all_tables = np.empty(int(np.diff(piece.block_doc).max(initial=0)), np.int64)

    def redraw(
        block: int,
        after: SlotTopics,
        lists: DocumentLists,
        scratch: BlockScratch,
        found: SweepOutput,
    ) -> int:
        return kernels.sweep_block(
            piece, block, local.z, after, held, tables, n_topics, lists, all_tables, scratch, found
        )

    after, changes = blocks.swept(piece, local.z, held, n_topics, redraw)
    return Local(after), changes


def tables_of_documents(local: Pieces[Piece, Local]) -> I64:
    """Return the tables of each document, int64 [n_docs], 0 where it is put aside."""
    return np.concatenate(local.ask(_tables_of, None))


def _tables_of(piece: Piece, local: Local, _: None) -> I64:
    tables = np.empty(len(piece.doc_ptr) - 1, np.int64)
    kernels.count_tables(piece.doc_ptr, local.z, tables)
    return tables


def seated(local: Pieces[Piece, Local], stirling: Stirling) -> TableHistograms:
    """Return how many tables there are, as histograms of the corpus."""
    return seats.added(local.ask(_seated, stirling))


def _seated(piece: Piece, local: Local, stirling: Stirling) -> TableHistograms:
    pairs = np.zeros(len(stirling.values), np.int64)
    kernels.count_pairs(piece, local.z, stirling.row, stirling.starts, pairs)
    return TableHistograms(pairs, np.bincount(_tables_of(piece, local, None)))


def misseated(local: Pieces[Piece, Local], *, aside: bool) -> str | None:
    """Return the error in slots, or None; see ``seats.misseated``."""
    if all(local.ask(_are_rows, aside)):
        return None
    return "z has pairs whose tables do not stand in their first slots"


def _are_rows(piece: Piece, local: Local, aside: bool) -> bool:
    return bool(kernels.are_rows(piece, local.z, aside))


def put(piece: Piece, local: Local, joining: list[tuple[int, I32]]) -> tuple[Local, None]:
    """Write topics of the slots of some documents; message: first slot and topics of each."""
    for first, topics in joining:
        local.z[first : first + len(topics)] = topics
    return local, None
