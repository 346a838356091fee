"""Shared code of the collapsed variational HDP methods: tables, sweep and recount."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, Floats
from hiertopics.base.axes import Axes
from hiertopics.base.errors import NumericalError
from hiertopics.contract import Context, Each, Pieces, Settings, joined
from hiertopics.corpus.data.seedwords import Seeds, SeedSettings, seeds_in
from hiertopics.corpus.data.shelf import Bags, Shelf
from hiertopics.families.flat import kernels, moments
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import (
    BlockInput,
    Data,
    HasCells,
    build_piece,
    lay_out,
    parts_of,
    room_of,
    spans,
    take_turns,
)
from hiertopics.numeric.simd import rows_on_lines
from hiertopics.settings.config import InferenceConfig

Table = Floats
SeededSettings = Settings[SeedSettings, InferenceConfig]
Visit = Callable[[Any, Any, BlockInput], tuple[Any, Any]]
RowsOfPairs = Callable[[HasCells, Any, int, int], Table]
"""From a piece, a message and a range of its documents to q(z) of their pairs [n, T]."""

RECOUNT_EVERY = 10

MAX_DRIFT = 1e-3
"""Drift of a topic's total between two recounts that is no fault, as a share of the tokens, besides
that of rounding (theory/hdp 9.3)."""


class Local(NamedTuple):
    """Per-document state of a piece: q(z) and its counts, float32 in use.

    resp [n_pairs, T], n_dk [n_docs, T]. Within an iteration also seen_dk, E[I(n_dk >= 1)], and
    var_dk, Var[n_dk]; both [n_docs, T].
    """

    resp: Annotated[Table, Axes("n_pairs", "truncation", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    seen_dk: Table | None = None
    var_dk: Table | None = None


@dataclass
class Responsibilities:
    """q(z) and the expected counts that follow from it; the base of every variational state.

    local: q(z) and the counts of documents, in pieces. n_wk [n_words, T]: float32 in use, seed
    words among them. n_k: float64 [T], without these.
    """

    local: Pieces[Any, Any]
    n_wk: Annotated[Table, Axes("n_words", "truncation")]
    n_k: Annotated[F64, Axes("truncation")]

    @property
    def n_topics(self) -> int:
        """The truncation T."""
        return len(self.n_k)

    @property
    def resp(self) -> Table:
        """q(z) of all pairs [n_pairs, T]; of a single piece not a copy."""
        return joined(self.local, "resp")

    @property
    def n_dk(self) -> Table:
        """The counts of all documents [n_docs, T]; of a single piece not a copy."""
        return joined(self.local, "n_dk")


class SweepVariant(NamedTuple):
    """To which order of the counts' variances q(z) is refitted: the parts of an iteration.

    Local: what pieces have. start(data, n_topics, context, dtype): random q(z) and its counts.
    begun(data, rows, messages, n_topics, context, dtype): q(z) that is known, and its counts.
    besides(begun, data): the fields of a state that differ from those of ``Responsibilities``.
    sweep(state, data, prior, context, indicators=..., held=...), recount_now_and_then and spread
    are as ``variational``'s own, the zero order; held: the start values are not left yet. memory:
    the bytes of responsibilities and tables. pair_bytes: those of a pair, of so many topics. sized:
    the data with the lengths of documents that concentrations see.
    """

    Local: Callable[..., Any]
    start: Callable[[Data, int, Context, DTypeLike], Responsibilities]
    begun: Callable[[Data, RowsOfPairs, Sequence[Any], int, Context, DTypeLike], Responsibilities]
    besides: Callable[[Responsibilities, Data], dict[str, Any]]
    sweep: Callable[..., Table]
    recount_now_and_then: Callable[[Any, Data, Context], float]
    spread: Callable[[Any, Data], Table]
    memory: Callable[[Bags, ModelSettings], int]
    pair_bytes: Callable[[int], int]
    sized: Callable[[Any, Data], Data] = lambda state, data: data


class PairSweepInput(NamedTuple):
    """Input of a block's sweep besides rows of words: topic totals [T] and pseudo-counts.

    more: what else its task wants.
    """

    n_k: F64
    prior: PseudoCounts
    more: Any = None


def prepare(corpus: Bags, settings: SeededSettings) -> Data:
    """Lay the corpus out in pairs, with the seed words of the settings."""
    laid_out = lay_out(corpus, settings.inference.shards)
    return laid_out._replace(seeds=seeds_in(settings.model, corpus.vocab))


def start(
    data: Data, n_topics: int, context: Context, dtype: DTypeLike = np.float32
) -> Responsibilities:
    """Return q proportional to 0.1 + u, u uniform on [0, 1] (theory/hdp 3.5), and its counts.

    Seed words begin in the topics of their names.
    """
    return _counted(draw, drawings(data, n_topics, context, dtype), data, n_topics, context, dtype)


def _counted(
    first: Callable[..., Local],
    messages: Sequence[Any],
    data: Data,
    n_topics: int,
    context: Context,
    dtype: DTypeLike,
) -> Responsibilities:
    """Return q(z) that a task makes of a message for each piece, and its counts."""
    state = Responsibilities(
        context.place(build_piece, parts_of(data), first, Each(messages)),
        np.zeros((data.n_words, n_topics), dtype),
        np.zeros(n_topics),
    )
    recount(state, data)
    return state


class DrawInput(NamedTuple):
    """Input of a piece's draw of q(z): one generator for all pairs, the piece's first pair."""

    rng: np.random.Generator
    first_pair: int
    n_topics: int
    dtype: DTypeLike
    seeds: Seeds


def drawings(data: Data, n_topics: int, context: Context, dtype: DTypeLike) -> list[DrawInput]:
    """Return the input of each piece's draw of q(z)."""
    return [
        DrawInput(context.rng("init"), int(first), n_topics, dtype, data.seeds)
        for first in data.cell_bounds[:-1]
    ]


def draw(piece: HasCells, drawing: DrawInput) -> Local:
    """Draw q(z) of a piece: its rows of the draw of a single generator for all pairs."""
    rng, first_pair, n_topics, dtype, seeded = drawing
    room = room_of(piece)
    resp = room.empty((len(piece.cells.word), n_topics), dtype)
    seeds.skip(rng, first_pair * n_topics, resp.dtype)
    rng.random(dtype=resp.dtype.type, out=resp)
    resp += 0.1
    resp /= resp.sum(axis=1, keepdims=True)
    seeded.settle(resp, piece.cells.word)
    return Local(resp, room.zeros((piece.n_docs, n_topics), dtype))


class ResponsibilitySource(NamedTuple):
    """Input of q(z) of a piece. rows, message: see ``RowsOfPairs``; more: further input."""

    rows: RowsOfPairs
    message: Any
    n_topics: int
    dtype: DTypeLike
    more: Any = None


def begun(
    data: Data,
    rows: RowsOfPairs,
    messages: Sequence[Any],
    n_topics: int,
    context: Context,
    dtype: DTypeLike = np.float32,
) -> Responsibilities:
    """Return a given q(z), and its counts. messages: one for each piece."""
    known = [ResponsibilitySource(rows, message, n_topics, dtype) for message in messages]
    return _counted(_as_known, known, data, n_topics, context, dtype)


def _as_known(piece: HasCells, source: ResponsibilitySource) -> Local:
    cuts = piece.cells.cuts
    room = room_of(piece)
    resp = room.empty((len(piece.cells.word), source.n_topics), source.dtype)
    for first, last in spans(cuts):
        resp[cuts[first, 0] : cuts[last - 1, -1]] = source.rows(piece, source.message, first, last)
    return Local(resp, room.zeros((piece.n_docs, source.n_topics), source.dtype))


def sweep(
    state: Responsibilities,
    data: Data,
    pseudo_counts: PseudoCounts,
    *,
    indicators: bool,
    visit: Visit | None = None,
    more: Callable[[int, int], Any] = lambda piece, span: None,
) -> Table:
    """Visit every pair once, block by block; return the indicator table seen_wk.

    Without ``indicators`` it has no columns; with them, seen_dk is left with the pieces. visit:
    the task, ``sweep_block`` unless pieces know their prior or q(z) is kept otherwise. more: what
    block (piece, word range) takes besides. Raises NumericalError naming the document.
    """
    seen_wk = np.zeros((data.n_words, state.n_topics if indicators else 0), state.n_wk.dtype)
    priors = prior_of_blocks(pseudo_counts, data)
    seeded = data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        moves = take_turns(
            state.local,
            visit or sweep_block,
            turn,
            (state.n_wk, seen_wk),
            data.word_bounds,
            lambda *block: PairSweepInput(state.n_k + seeded, priors(*block), more(*block)),
        )
        for moved in moves:
            state.n_k += moved
    data.seeds.mark(seen_wk)
    return seen_wk


def prior_of_blocks(pseudo_counts: PseudoCounts, data: Data) -> Callable[[int, int], PseudoCounts]:
    """Return a function from a block, a piece and a word range, to its pseudo-counts."""
    words = data.word_bounds

    def of_block(piece: int, span: int) -> PseudoCounts:
        return pseudo_counts._replace(word=pseudo_counts.word[words[span] : words[span + 1]])

    return of_block


def sweep_block(
    piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], F64]]:
    """Sweep a block; answer with the move of the topic totals, float64 [n_topics]."""
    return _swept(kernels.sweep_block, piece, local, block)


def sweep_block_in_fixed_order(
    piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], F64]]:
    """Do as ``sweep_block`` does, with the same bits on every processor (docs/runs.md)."""
    return _swept(kernels.sweep_block_in_fixed_order, piece, local, block)


def indicators_of(
    piece: HasCells, seen_dk: Table | None, seen_wk: Table, dtype: DTypeLike
) -> Table:
    """Return the indicators of a piece's documents [n_docs, T], all 0 where there are none yet.

    seen_wk: those of words [n_words, T], or [n_words, 0] where none are noted.
    """
    if seen_dk is not None:
        return seen_dk
    return room_of(piece).zeros((piece.n_docs, seen_wk.shape[1]), dtype)


def _swept(
    kernel: Callable[..., int], piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], F64]]:
    n_wk, seen_wk = block.rows
    seen_dk = indicators_of(piece, local.seen_dk, seen_wk, n_wk.dtype)
    tables = ExpectedCounts(local.resp, local.n_dk, n_wk, seen_dk, seen_wk)
    n_k = block.given.n_k.copy()
    prior = block.given.prior
    scratch = rows_on_lines(kernels.N_ROWS, local.resp)
    require_sound(piece, kernel(piece.blocks, 0, block.number, tables, n_k, prior, scratch))
    kept = seen_dk if seen_dk.shape[1] else None
    return local._replace(seen_dk=kept), ((n_wk, seen_wk), n_k - block.given.n_k)


def require_sound(piece: HasCells, bad_doc: int) -> None:
    """Raise NumericalError naming the document at which a sweep ended, unless it is -1."""
    if bad_doc >= 0:
        doc = piece.first_doc + bad_doc
        raise NumericalError(f"the topic weights of document {doc} are not finite")


def settled(local: Any) -> Any:
    """Return the state of a piece between iterations: fields that have a default are dropped."""
    return local._replace(**local._field_defaults)


def recount_now_and_then(
    state: Responsibilities, data: Data, context: Context, visit: Visit | None = None
) -> float:
    """Recount at every tenth iteration; a resumed run recounts at the same ones."""
    return recount(state, data, visit) if recount_is_due(context) else 0.0


def recount_is_due(context: Context) -> bool:
    """Tell whether this iteration ends with a recount."""
    return context.iteration % RECOUNT_EVERY == 0


def recount(state: Responsibilities, data: Data, visit: Visit | None = None) -> float:
    """Rebuild the counts from q(z); return the largest relative drift of n_k that this undid.

    float32 counts that are only ever moved drift (theory/hdp 9.3). visit: the task that adds up a
    block where q(z) is kept otherwise. Raises NumericalError above ``MAX_DRIFT`` of the tokens.
    """
    state.n_wk[:] = 0
    data.seeds.add_to(state.n_wk)
    for turn in range(state.local.n_pieces):
        take_turns(state.local, visit or recount_block, turn, (state.n_wk,), data.word_bounds)
    before = state.n_k
    state.n_k = np.sum(state.local.ask(_totals, None), axis=0)
    return drift_undone(before, state.n_k, data, state.n_wk.dtype)


def drift_undone(before: F64, after: F64, data: Data, dtype: DTypeLike) -> float:
    """Return the largest drift of a total that a recount undid, as a share of the tokens.

    before, after: float64 [T], the totals; before is 0 where nothing was counted yet. dtype: of
    the counts by document. Raises NumericalError where the drift is too large (theory/hdp 9.3).
    """
    n_tokens = max(float(data.doc_lengths.sum()), 1.0)
    drift = float(np.abs(after - before).max(initial=0.0) / n_tokens)
    if before.any() and drift > MAX_DRIFT + rounding_bound(data, dtype) / n_tokens:
        raise NumericalError(f"the topic counts drifted by {drift:.1e} of the tokens")
    return drift


def rounding_bound(data: Data, dtype: DTypeLike) -> float:
    """Return a bound of the tokens by which rounding moves a total between two recounts.

    Each pair of a document rounds n_dk once a sweep, by at most half a unit in its last place
    (theory/hdp 9.3).
    """
    half = float(np.finfo(dtype).eps) / 2
    lengths = data.doc_lengths.astype(np.float64)
    return RECOUNT_EVERY * half * float((np.minimum(lengths, data.n_words) * lengths).sum())


def recount_block(
    piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], None]]:
    """Add the pairs of a block to the counts of its documents and words."""
    if block.turn == 0:
        local.n_dk[:] = 0
    empty = np.zeros((0, 0), local.n_dk.dtype)
    (n_wk,) = block.rows
    tables = ExpectedCounts(local.resp, local.n_dk, n_wk, empty, empty)
    kernels.recount_block(piece.blocks, 0, block.number, tables)
    return local, (block.rows, None)


def _totals(piece: HasCells, local: Local, _: None) -> F64:
    return np.asarray(local.n_dk.sum(axis=0, dtype=np.float64))


def spread(state: Responsibilities, data: Data, visit: Visit | None = None) -> Table:
    """Return Var[n_wk] [n_words, T] under q(z); Var[n_dk] is left with the pieces.

    visit: the task of a block where q(z) is kept otherwise.
    """
    var_wk = np.zeros_like(state.n_wk)
    for turn in range(state.local.n_pieces):
        take_turns(state.local, visit or spread_block, turn, (var_wk,), data.word_bounds)
    return var_wk


def spread_block(
    piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], None]]:
    """Add the pairs of a block to Var[n_dk] and Var[n_wk]."""
    return _spread_by(moments.spread_block, piece, local, block)


def spread_block_in_fixed_order(
    piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], None]]:
    """Do as ``spread_block`` does, with the same bits on every processor (docs/runs.md)."""
    return _spread_by(moments.spread_block_in_fixed_order, piece, local, block)


def _spread_by(
    kernel: Callable[..., None], piece: HasCells, local: Any, block: BlockInput
) -> tuple[Any, tuple[tuple[Table, ...], None]]:
    var_dk = local.var_dk
    if block.turn == 0 or var_dk is None:
        var_dk = room_of(piece).zeros(local.n_dk.shape, local.n_dk.dtype)
    kernel(piece.blocks, 0, block.number, local.resp, var_dk, *block.rows)
    return local._replace(var_dk=var_dk), (block.rows, None)


def seen_totals(state: Responsibilities) -> F64:
    """Return the sum over documents of the indicators that a sweep left, and drop these.

    float64 [n_topics].
    """
    return np.sum(state.local.step(_seen_totals, None), axis=0)


def _seen_totals(piece: HasCells, local: Local, _: None) -> tuple[Local, F64]:
    assert local.seen_dk is not None
    return settled(local), np.asarray(local.seen_dk.sum(axis=0, dtype=np.float64))


def memory(corpus: Bags, settings: ModelSettings) -> int:
    """Return the bytes of responsibilities, counts and indicators in float32, or of the summary.

    Of a corpus in files what grows with its documents lies in files, too.
    """
    n_topics = settings.model.truncation
    in_memory = 0 if isinstance(corpus, Shelf) else 1
    documents = pair_bytes(n_topics) * corpus.n_pairs + 8 * n_topics * corpus.n_docs
    return in_memory * documents + 8 * n_topics * corpus.n_words


def pair_bytes(n_topics: int) -> int:
    """Return the bytes of a pair's responsibilities."""
    return 4 * n_topics


def without_numbers(sweep: Callable[..., Table]) -> Callable[..., Table]:
    """Return a sweep without random numbers as the sweep of an ``SweepVariant``."""

    def swept(
        state: Any,
        data: Data,
        pseudo_counts: PseudoCounts,
        context: Context,
        *,
        indicators: bool,
        held: bool,
    ) -> Table:
        return sweep(state, data, pseudo_counts, indicators=indicators)

    return swept


ZERO = SweepVariant(
    Local,
    start,
    begun,
    lambda begun, data: {},
    without_numbers(sweep),
    recount_now_and_then,
    spread,
    memory,
    pair_bytes,
)
"""q(z) sees the means of the counts alone."""

IN_FIXED_ORDER = ZERO._replace(
    sweep=without_numbers(partial(sweep, visit=sweep_block_in_fixed_order)),
    spread=partial(spread, visit=spread_block_in_fixed_order),
)
"""The same functions with equal bits on every processor: the shape of a tree depends on them."""
