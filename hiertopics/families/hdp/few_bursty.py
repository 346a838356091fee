"""A few entries of each pair (``hdp.few``) where documents are bursty.

While nothing is kept of q(z) a pass counts a table for each token. Afterwards all topics are
weighed at each visit, so that tables are those of all responsibilities.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import BlockInput, Data, HasCells, Piece
from hiertopics.families.hdp import bursty, few, few_kernels
from hiertopics.families.hdp.bursty import (
    ReturnInput,
    aside_in,
    by_tables,
    folded,
    seating_of,
    tables_of_tokens,
)
from hiertopics.families.hdp.few import ROOM, BlockTasks, Table, has_entries
from hiertopics.families.hdp.few_kernels import EntryCounts


class Local(NamedTuple):
    """``hdp.few.Local`` with the expected tables of pairs, float32 [n_pairs]; 0: put aside."""

    topic: Annotated[
        NDArray[np.unsignedinteger[Any]], Axes("n_pairs", "n_kept", below="truncation")
    ]
    share: Annotated[Table, Axes("n_pairs", "n_kept", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    pair_tables: Annotated[Table, Axes("n_pairs", least=0)]
    seen_dk: Table | None = None
    var_dk: Table | None = None
    new_dk: Table | None = None

    def require_sound(self) -> None:
        """Raise ValueError where there is room for another number of entries."""
        if self.share.shape[1] not in (0, ROOM):
            raise ValueError(f"share has room for {self.share.shape[1]} entries, not {ROOM}")


def as_bursty(piece: HasCells, local: few.Local, _: None) -> tuple[Local, None]:
    """Return the state of a piece with a table for each token."""
    tables = tables_of_tokens(piece, np.float32)
    return Local(local.topic, local.share, local.n_dk, tables), None


def sweep(
    state: Any,
    data: Data,
    pseudo_counts: PseudoCounts,
    context: Context,
    *,
    indicators: bool,
    held: bool,
) -> Table:
    """Visit every pair once; as ``few.sweep``, which see."""
    return few.sweep(
        state,
        data,
        pseudo_counts,
        context,
        indicators=indicators,
        held=held,
        visits=VISITS,
        more=seating_of(state, data),
    )


def _sweep_block(piece: HasCells, local: Local, block: BlockInput) -> tuple[Local, Any]:
    _, prior, (thinning, seating) = block.given
    of_tables = (prior, thinning, local.pair_tables, seating)

    def visit(counts: EntryCounts, n_k: F64) -> int:
        return few_kernels.sweep_block(piece.blocks, 0, block.number, counts, n_k, *of_tables)

    return few.swept(piece, local, block, visit)


VISITS = BlockTasks(
    by_tables(few.pass_block),
    few.choose_block,
    _sweep_block,
    by_tables(few.recount_block),
    by_tables(few.spread_block),
)


def recount_now_and_then(state: Any, data: Data, context: Context) -> float:
    """Recount tables at every tenth iteration, once there are entries."""
    return few.recount_now_and_then(state, data, context, VISITS)


def recount(state: Any, data: Data) -> None:
    """Rebuild the counts after documents have come or gone; those of words in the next pass."""
    if has_entries(state):
        state.n_k[:] = 0
        variational.recount(state, data, VISITS.recount_block)
    else:
        state.n_k = np.sum(state.local.ask(_totals, None), axis=0)


def _totals(piece: HasCells, local: Local, _: None) -> NDArray[np.float64]:
    return np.asarray(local.n_dk.sum(axis=0, dtype=np.float64))


def spread(state: Any, data: Data) -> Table:
    """Return Var[n_wk] [n_words, T] of tables under the entries."""
    return variational.spread(state, data, VISITS.spread_block)


def join(state: Any, data: Data, return_input: ReturnInput, context: Context) -> None:
    """Let documents that were put aside begin where the topics place them."""
    noise = few.noise_of(state.n_topics, context)
    thinning = few.thinning_of(noise, context, "joining")
    state.local.step(_join, return_input._replace(more=thinning))
    recount(state, data)


def _join(piece: Piece, local: Local, return_input: ReturnInput) -> tuple[Local, None]:
    for doc in aside_in(piece, local).tolist():
        own, resp, tables = folded(piece, doc, return_input)
        local.share[own] = 0
        rows = np.ascontiguousarray(resp, np.float32)
        few_kernels.choose_rows(rows, own.start, return_input.more, local.topic, local.share)
        local.pair_tables[own] = tables
    return local, None


FEW = bursty.with_tables(few.FEW, as_bursty)._replace(
    Local=Local, sweep=sweep, recount_now_and_then=recount_now_and_then, spread=spread
)
"""q(z) of tables sees the means of the counts alone, and is kept as a few entries."""
