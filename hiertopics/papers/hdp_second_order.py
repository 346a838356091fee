"""Additions of the second-order methods to ``flat.variational``: variances, and their sweep.

theory/hdp 5.1: E[log(x + n)] is expanded to second order around E[n], so that q(z) sees
how certain a count is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.base.axes import Axes
from hiertopics.contract import Context, joined
from hiertopics.corpus.data.shelf import Bags, Shelf
from hiertopics.families.flat import variational
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import BlockInput, Data, Piece, take_turns
from hiertopics.papers import hdp_second_order_kernels as kernels
from hiertopics.papers.hdp_second_order_kernels import Spreads

Table = Floats


class Local(NamedTuple):
    """``variational.Local``, with the variances of the counts, which stay too."""

    resp: Annotated[Table, Axes("n_pairs", "truncation", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    var_dk: Annotated[Table, Axes("n_docs", "truncation")]
    seen_dk: Table | None = None


@dataclass
class Variances(variational.Responsibilities):
    """Responsibilities, counts, and the variances of these under q(z).

    var_wk [n_words, T]: in the counts' dtype. var_k: float64 [T]. Pieces have var_dk besides.
    """

    var_wk: Annotated[Table, Axes("n_words", "truncation")]
    var_k: Annotated[F64, Axes("truncation")]

    @property
    def var_dk(self) -> Table:
        """The variances of all counts of documents [n_docs, T]."""
        return joined(self.local, "var_dk")


class SecondOrderSweepInput(NamedTuple):
    """Input of a block's sweep besides rows of words: totals [T] and pseudo-counts."""

    n_k: F64
    var_k: F64
    prior: PseudoCounts


def variances(state: variational.Responsibilities, data: Data) -> dict[str, Any]:
    """Return the fields that ``Variances`` adds, from q(z), and the pieces with theirs."""
    var_wk = variational.spread(state, data)
    var_k = np.sum(state.local.step(_keep_variances, None), axis=0)
    return {"local": state.local, "var_wk": var_wk, "var_k": var_k}


def _keep_variances(piece: Piece, local: variational.Local, _: None) -> tuple[Local, F64]:
    var_dk = local.var_dk
    assert var_dk is not None
    kept = Local(local.resp, local.n_dk, var_dk, local.seen_dk)
    return kept, var_dk.sum(axis=0, dtype=np.float64)


def sweep(state: Variances, data: Data, pseudo_counts: PseudoCounts, *, indicators: bool) -> Table:
    """Visit every pair once; as ``variational.sweep``, which see, but to second order."""
    seen_wk = np.zeros((data.n_words, state.n_topics if indicators else 0), state.n_wk.dtype)
    tables = (state.n_wk, state.var_wk, seen_wk)
    priors = variational.prior_of_blocks(pseudo_counts, data)
    seeded = data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        moves = take_turns(
            state.local,
            _sweep,
            turn,
            tables,
            data.word_bounds,
            lambda *block: SecondOrderSweepInput(state.n_k + seeded, state.var_k, priors(*block)),
        )
        for moved_n, moved_var in moves:
            state.n_k += moved_n
            state.var_k += moved_var
    data.seeds.mark(seen_wk)
    return seen_wk


def _sweep(
    piece: Piece, local: Local, block: BlockInput
) -> tuple[Local, tuple[tuple[Table, ...], F64]]:
    """Sweep a block; answer with the moves of n_k and var_k."""
    n_wk, var_wk, seen_wk = block.rows
    seen_dk = variational.indicators_of(piece, local.seen_dk, seen_wk, n_wk.dtype)
    tables = ExpectedCounts(local.resp, local.n_dk, n_wk, seen_dk, seen_wk)
    spreads = Spreads(local.var_dk, var_wk)
    before = block.given
    n_k, var_k = before.n_k.copy(), before.var_k.copy()
    bad_doc = kernels.sweep_block(
        piece.blocks, 0, block.number, tables, spreads, n_k, var_k, before.prior
    )
    variational.require_sound(piece, bad_doc)
    kept = seen_dk if seen_dk.shape[1] else None
    moves = np.array([n_k - before.n_k, var_k - before.var_k])
    return local._replace(seen_dk=kept), (block.rows, moves)


def recount_now_and_then(state: Variances, data: Data, context: Context) -> float:
    """Recount counts and variances at every tenth iteration; see ``variational``."""
    drift = variational.recount_now_and_then(state, data, context)
    if variational.recount_is_due(context):
        vars(state).update(variances(state, data))
    return drift


def spread(state: Variances, data: Data) -> Table:
    """Return Var[n_wk], which the state keeps, as the pieces keep Var[n_dk]."""
    return state.var_wk


def memory(corpus: Bags, settings: ModelSettings) -> int:
    """Return the bytes of responsibilities, counts, variances and indicators in float32."""
    n_topics = settings.model.truncation
    in_memory = 0 if isinstance(corpus, Shelf) else corpus.n_docs
    return variational.memory(corpus, settings) + 4 * n_topics * (in_memory + corpus.n_words)


SECOND = variational.SweepVariant(
    Local,
    variational.start,
    variational.begun,
    variances,
    variational.without_numbers(sweep),
    recount_now_and_then,
    spread,
    memory,
    variational.pair_bytes,
)
"""q(z) sees how certain the counts are."""
