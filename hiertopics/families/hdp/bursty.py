"""Zero-order responsibilities of tables: the parts of an iteration where documents are bursty.

Every pair keeps its expected number of tables beside q(z), and tables take the place of tokens in
all counts (theory/bursts 6). A document that is put aside has none, and no counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, I64, Floats
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract import Context, Each
from hiertopics.corpus.data.shelf import Bags, Shelf
from hiertopics.families.flat import burst_kernels, variational
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.bursts import BurstPlan
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import BlockInput, Data, HasCells, Piece, room_of
from hiertopics.families.flat.variational import Responsibilities, RowsOfPairs, SweepVariant, Table
from hiertopics.families.hdp.burst_learning import FOLD

UNLEARNED, LEARNING, HELD = range(3)
"""Stages of a fit: a table for each token; tables refitted; b held, nothing put aside."""


class Local(NamedTuple):
    """``flat.variational.Local`` with the expected tables of pairs, float32 [n_pairs] in use.

    0 in documents that are put aside.
    """

    resp: Annotated[Table, Axes("n_pairs", "truncation", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    pair_tables: Annotated[Table, Axes("n_pairs", least=0)]
    seen_dk: Table | None = None
    var_dk: Table | None = None


BurstValue = Annotated[float, Axes(least=POSITIVE)]
BurstStage = Annotated[int, Axes(least=0)]


def plan_of(data: Data) -> BurstPlan:
    """Return the plan of data that were laid out for bursts."""
    assert data.bursts is not None
    return data.bursts


def fields(begun: Responsibilities, data: Data) -> dict[str, Any]:
    """Return the fields that states with bursts have besides."""
    return {"burst_concentration": plan_of(data).concentration, "burst_stage": UNLEARNED}


def seating_of(state: Any, data: Data) -> TableRule:
    """Return how tables are found at present."""
    means = plan_of(data).means
    return TableRule(means, float(state.burst_concentration), state.burst_stage > UNLEARNED)


def tables_of_tokens(piece: HasCells, dtype: DTypeLike) -> Table:
    """Return a table for each token, by pair [n_pairs]."""
    tables = room_of(piece).empty(len(piece.cells.word), dtype)
    tables[:] = piece.cells.tokens
    return tables


def by_tables(visit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task of a block that takes tables for tokens."""
    return partial(_visit_tables, visit)


def _visit_tables(visit: Callable[..., Any], piece: Piece, local: Any, block: BlockInput) -> Any:
    blocks = piece.blocks._replace(tokens=local.pair_tables)
    return visit(piece._replace(blocks=blocks), local, block)


def with_tables(plain: SweepVariant, as_bursty: Callable[..., Any]) -> SweepVariant:
    """Return a variant that begins with a table for each token; its pairs have room for these.

    as_bursty: a task that gives plain states of pieces their tables.
    """

    def start(
        data: Data, n_topics: int, context: Context, dtype: DTypeLike = np.float32
    ) -> Responsibilities:
        return bursty_now(plain.start(data, n_topics, context, dtype))

    def begun(
        data: Data,
        rows: RowsOfPairs,
        messages: Sequence[Any],
        n_topics: int,
        context: Context,
        dtype: DTypeLike = np.float32,
    ) -> Responsibilities:
        return bursty_now(plain.begun(data, rows, messages, n_topics, context, dtype))

    def bursty_now(state: Responsibilities) -> Responsibilities:
        state.local.step(as_bursty, None)
        return state

    def memory(corpus: Bags, settings: ModelSettings) -> int:
        tables = 0 if isinstance(corpus, Shelf) else 4 * corpus.n_pairs
        return plain.memory(corpus, settings) + tables

    return plain._replace(
        start=start,
        begun=begun,
        besides=fields,
        memory=memory,
        pair_bytes=lambda n_topics: plain.pair_bytes(n_topics) + 4,
        sized=sized,
    )


def as_bursty(piece: HasCells, local: variational.Local, _: None) -> tuple[Local, None]:
    """Return the state of a piece with a table for each token."""
    return Local(local.resp, local.n_dk, tables_of_tokens(piece, local.n_dk.dtype)), None


def sweep(
    state: Any,
    data: Data,
    pseudo_counts: PseudoCounts,
    context: Context,
    *,
    indicators: bool,
    held: bool,
    fixed: bool = False,
) -> Table:
    """Visit every pair once, as ``variational.sweep`` does. fixed: the same bits on every
    processor.
    """
    seating = seating_of(state, data)
    return variational.sweep(
        state,
        data,
        pseudo_counts,
        indicators=indicators,
        visit=_sweep_in_fixed_order if fixed else _sweep_block,
        more=lambda *block: seating,
    )


def _sweep_block(piece: HasCells, local: Local, block: BlockInput) -> tuple[Local, Any]:
    return _swept(burst_kernels.sweep_block, piece, local, block)


def _sweep_in_fixed_order(piece: HasCells, local: Local, block: BlockInput) -> tuple[Local, Any]:
    return _swept(burst_kernels.sweep_block_in_fixed_order, piece, local, block)


def _swept(kernel: Any, piece: HasCells, local: Local, block: BlockInput) -> tuple[Local, Any]:
    n_wk, seen_wk = block.rows
    seen_dk = variational.indicators_of(piece, local.seen_dk, seen_wk, n_wk.dtype)
    tables = ExpectedCounts(local.resp, local.n_dk, n_wk, seen_dk, seen_wk)
    n_k, prior, seating = block.given
    moved = n_k.copy()
    bad_doc = kernel(
        piece.blocks, 0, block.number, tables, local.pair_tables, moved, prior, seating
    )
    variational.require_sound(piece, bad_doc)
    kept = seen_dk if seen_dk.shape[1] else None
    return local._replace(seen_dk=kept), ((n_wk, seen_wk), moved - n_k)


RECOUNT, SPREAD = by_tables(variational.recount_block), by_tables(variational.spread_block)
SPREAD_IN_FIXED_ORDER = by_tables(variational.spread_block_in_fixed_order)


def recount_now_and_then(state: Any, data: Data, context: Context) -> float:
    """Recount tables at every tenth iteration; see ``variational``."""
    return variational.recount_now_and_then(state, data, context, RECOUNT)


def recount(state: Any, data: Data) -> None:
    """Rebuild the counts after documents have come or gone."""
    state.n_k[:] = 0
    variational.recount(state, data, RECOUNT)


def spread(state: Any, data: Data, *, fixed: bool = False) -> Table:
    """Return Var[n_wk] [n_words, T] of tables; see ``variational``. fixed: as in ``sweep``."""
    return variational.spread(state, data, SPREAD_IN_FIXED_ORDER if fixed else SPREAD)


def tables_of_documents(state: Any) -> F64:
    """Return the tables of each document, float64 [n_docs], 0 where it is put aside."""
    return np.concatenate(state.local.ask(_tables_of_documents, None))


def tables_of_pairs(state: Any) -> Floats:
    """Return the tables of each pair [n_pairs]."""
    return np.concatenate(state.local.ask(_tables_of_pairs, None))


def _tables_of_pairs(piece: HasCells, local: Any, _: None) -> Floats:
    return np.asarray(local.pair_tables)


def _tables_of_documents(piece: HasCells, local: Any, _: None) -> F64:
    ends = np.concatenate([[0.0], np.cumsum(local.pair_tables, dtype=np.float64)])
    cuts = piece.cells.cuts
    return np.asarray(ends[cuts[:, -1]] - ends[cuts[:, 0]])


def sized(state: Any, data: Data) -> Data:
    """Return the data as concentrations see them: documents are as long as they have tables."""
    tables = tables_of_documents(state)
    lengths, n_with = np.unique(tables[tables > 0], return_counts=True)
    return data._replace(lengths=lengths, n_with=n_with)


def take_out(state: Any, data: Data, docs: I64) -> None:
    """Leave documents, int64 [n] and ascending, without tables and counts."""
    bounds = data.cells.doc_bounds
    of_pieces = np.split(docs, np.searchsorted(docs, bounds[1:-1]))
    messages = [own - first for own, first in zip(of_pieces, bounds, strict=False)]
    state.local.step(_take_out, Each(messages))


def _take_out(piece: HasCells, local: Any, docs: I64) -> tuple[Any, None]:
    for first, last in piece.cells.cuts[docs][:, [0, -1]]:
        local.pair_tables[first:last] = 0
    local.n_dk[docs] = 0
    return local, None


class ReturnInput(NamedTuple):
    """Input of documents that return: topics phi [n_words, T], prior [T], seating."""

    phi: F64
    prior: F64
    seating: TableRule
    more: Any = None


def aside_in(piece: HasCells, local: Any) -> I64:
    """Return the documents of a piece that are put aside: int64 [n], ascending, from 0."""
    tables, cuts = _tables_of_documents(piece, local, None), piece.cells.cuts
    return np.flatnonzero((tables == 0) & (cuts[:, -1] > cuts[:, 0]))


def folded(piece: HasCells, doc: int, return_input: ReturnInput) -> tuple[slice, Floats, F64]:
    """Return where the pairs of a document are, its q(z) and its tables, topics held.

    q(z): [n_pairs, n_topics]. tables: float64 [n_pairs].
    """
    own = slice(int(piece.cells.cuts[doc, 0]), int(piece.cells.cuts[doc, -1]))
    words, tokens = piece.cells.word[own], piece.cells.tokens[own].astype(np.float64)
    here = np.arange(len(words), dtype=np.int32)
    phi = return_input.phi[words].astype(np.float64)
    resp, tables = burst_kernels.fold_in(
        here, tokens, phi, return_input.prior, return_input.seating, *FOLD
    )
    return own, resp, tables


def join(state: Any, data: Data, return_input: ReturnInput, context: Context) -> None:
    """Let documents that were put aside begin where the topics place them."""
    state.local.step(_join, return_input)
    recount(state, data)


def _join(piece: Piece, local: Local, return_input: ReturnInput) -> tuple[Local, None]:
    for doc in aside_in(piece, local).tolist():
        own, resp, tables = folded(piece, doc, return_input)
        local.resp[own], local.pair_tables[own] = resp, tables
    return local, None


ZERO = with_tables(variational.ZERO, as_bursty)._replace(
    Local=Local, sweep=sweep, recount_now_and_then=recount_now_and_then, spread=spread
)
"""q(z) of tables sees the means of the counts alone."""

IN_FIXED_ORDER = ZERO._replace(sweep=partial(sweep, fixed=True), spread=partial(spread, fixed=True))
"""The same functions with equal bits on every processor: the shape of a tree depends on them."""
