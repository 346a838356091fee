"""Responsibilities kept as a few entries for each pair, which they are on average (theory/hdp 3.7).

While concentrations are held nothing is kept of q(z): each pass makes it of the counts of the pass
before, which topics that are all alike need for their first differences to grow. Then every pair
gets ``ROOM`` entries at most: those above a grain as they are, of the rest a random part, each
as heavy as the grain, so that every topic's mean stays what it was. Memory is that of the entries,
whatever the truncation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.base.arrays import F32, F64, I64
from hiertopics.base.axes import Axes
from hiertopics.base.room import Room
from hiertopics.contract import Context, Each
from hiertopics.corpus.data import Bags, Seeds, Shelf
from hiertopics.corpus.data.stored import BLOCK_PAIRS
from hiertopics.families.flat import variational
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import (
    BlockInput,
    Data,
    HasCells,
    build_piece,
    parts_of,
    room_of,
    spans,
    take_turns,
)
from hiertopics.families.flat.summary import summary_bytes
from hiertopics.families.flat.variational import (
    PairSweepInput,
    Responsibilities,
    ResponsibilitySource,
    RowsOfPairs,
    Visit,
    settled,
)
from hiertopics.families.hdp import few_kernels as kernels
from hiertopics.families.hdp.few_kernels import CountTables, EntryCounts, Thinning
from hiertopics.numeric.lanes import padded
from hiertopics.numeric.streams import new_key

Table = F32

MOST_ENTRIES = 1 << 28
"""Pairs times topics up to which all responsibilities are kept by themselves: a gibibyte."""

ROOM = 16
"""Entries for which there is room."""

GRAIN = 1 / 16
"""The share of a pair below which an entry is kept by chance."""

UNLIKE = 1 / 0.6
"""How far the first counts of a single pair lie apart, in parts of their mean."""

N_NOISE = 1 << 14
"""Places in the noise at which a pair may begin."""

CELLS = 1 << 18
"""First counts that are made at a time."""

LEAST = 1e-7
"""The least value of the noise, which must be above 0."""


class Local(NamedTuple):
    """``flat.variational.Local`` with entries in place of rows.

    topic uint16, or uint32 where that is too small, and share float32 [n_pairs, ROOM]: entries of
    q(z), share 0 from the first that is not used on; no columns while nothing is kept. new_dk: the
    counts that a pass makes.
    """

    topic: Annotated[
        NDArray[np.unsignedinteger[Any]], Axes("n_pairs", "n_kept", below="truncation")
    ]
    share: Annotated[Table, Axes("n_pairs", "n_kept", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    seen_dk: Table | None = None
    var_dk: Table | None = None
    new_dk: Table | None = None

    def require_sound(self) -> None:
        """Raise ValueError where there is room for another number of entries."""
        if self.share.shape[1] not in (0, ROOM):
            raise ValueError(f"share has room for {self.share.shape[1]} entries, not {ROOM}")


def are_many(n_pairs: int, n_topics: int) -> bool:
    """Whether q(z) would exceed MOST_ENTRIES, so that it is stored sparsely."""
    return n_pairs * n_topics > MOST_ENTRIES


def start(data: Data, n_topics: int, context: Context, dtype: DTypeLike) -> Responsibilities:
    """Return the counts of random q(z), float32, and no entries.

    A row of counts differs among topics as one of so many pairs does in ``variational.start``. Seed
    words begin in the topics of their names.
    """
    keys = [(), *((piece,) for piece in range(1, data.cells.n_shards))]
    lengths = np.split(data.doc_lengths, data.cells.doc_bounds[1:-1])
    messages = [
        EntryDrawInput(context.rng("documents", *key), n_topics, data.seeds, n_tokens)
        for key, n_tokens in zip(keys, lengths, strict=True)
    ]
    local = context.place(build_piece, parts_of(data), _begin, Each(messages))
    n_tokens, n_pairs = by_word(data)
    n_wk = _unlike(
        n_pairs, EntryDrawInput(context.rng("init"), n_topics, data.seeds, n_tokens), Room()
    )
    for words, topics in data.seeds.homes(np.arange(data.n_words)):
        n_wk[words] = 0
        n_wk[np.ix_(words, topics)] = (n_tokens[words] / len(topics))[:, None]
    n_k = n_wk.sum(axis=0, dtype=np.float64)
    data.seeds.add_to(n_wk)
    return Responsibilities(local, n_wk, n_k)


def begun(
    data: Data,
    rows: RowsOfPairs,
    messages: Sequence[Any],
    n_topics: int,
    context: Context,
    dtype: DTypeLike,
) -> Responsibilities:
    """Return entries of q(z) that is known, and their counts, float32."""
    noise = noise_of(n_topics, context)
    known = [
        ResponsibilitySource(
            rows, message, n_topics, dtype, thinning_of(noise, context, "known", number)
        )
        for number, message in enumerate(messages)
    ]
    state = Responsibilities(
        context.place(build_piece, parts_of(data), _as_known, Each(known)),
        np.zeros((data.n_words, n_topics), np.float32),
        np.zeros(n_topics),
    )
    variational.recount(state, data, recount_block)
    return state


def _as_known(piece: HasCells, source: ResponsibilitySource) -> Local:
    cuts = piece.cells.cuts
    n_dk = room_of(piece).zeros((piece.n_docs, source.n_topics), np.float32)
    local = with_room(piece, begin_without_entries(piece, n_dk))
    for first, last in spans(cuts):
        rows = source.rows(piece, source.message, first, last)
        rows = np.ascontiguousarray(rows, np.float32)
        kernels.choose_rows(rows, cuts[first, 0], source.more, local.topic, local.share)
    return local


class EntryDrawInput(NamedTuple):
    """Input of a draw of counts [n, T]; n_tokens: int64 [n], the sums of rows."""

    rng: np.random.Generator
    n_topics: int
    seeds: Seeds
    n_tokens: I64


def _begin(piece: HasCells, drawing: EntryDrawInput) -> Local:
    cuts = piece.cells.cuts
    n_tokens, at_home = drawing.n_tokens.copy(), []
    for pairs, topics in drawing.seeds.homes(piece.cells.word):
        docs = np.searchsorted(cuts[:, -1], pairs, side="right")
        tokens = piece.cells.tokens[pairs]
        np.subtract.at(n_tokens, docs, tokens.astype(np.int64))
        at_home.append((docs[:, None], topics, (tokens / len(topics))[:, None]))
    drawing = drawing._replace(n_tokens=n_tokens)
    n_dk = _unlike(cuts[:, -1] - cuts[:, 0], drawing, room_of(piece))
    for docs, topics, tokens in at_home:
        np.add.at(n_dk, (docs, topics), tokens)
    return begin_without_entries(piece, n_dk)


def by_word(data: Data, first_doc: int = 0) -> tuple[I64, I64]:
    """Return tokens and pairs of each word in documents from ``first_doc`` on, int64 [n_words]."""
    n_tokens, n_pairs = np.zeros((2, data.n_words), np.int64)
    cells = data.cells
    begin = int(cells.cuts[first_doc, 0]) if first_doc < data.n_docs else len(cells.word)
    for first in range(begin, len(cells.word), BLOCK_PAIRS):
        word, tokens = (each[first : first + BLOCK_PAIRS] for each in (cells.word, cells.tokens))
        n_tokens += np.bincount(word, tokens, data.n_words).astype(np.int64)
        n_pairs += np.bincount(word, minlength=data.n_words)
    return n_tokens, n_pairs


def begin_without_entries(piece: HasCells, n_dk: Table) -> Local:
    """Return the state of a piece from its counts alone [n_docs, T]."""
    kind = np.uint16 if n_dk.shape[1] <= 1 << 16 else np.uint32
    n_pairs = len(piece.cells.word)
    return Local(np.empty((n_pairs, 0), kind), np.empty((n_pairs, 0), np.float32), n_dk)


def _unlike(n_pairs: NDArray[np.signedinteger], drawing: EntryDrawInput, room: Room) -> Table:
    """Return nearly equal counts [n, T]; rows sum to ``n_tokens``, columns to all the same.

    They are made some rows at a time.
    """
    rng, n_topics, _, n_tokens = drawing
    counts = room.empty((len(n_tokens), n_topics), np.float32)
    widths = (UNLIKE / np.sqrt(np.maximum(n_pairs, 1))).astype(np.float32)
    total, step = np.zeros(n_topics), max(1, CELLS // n_topics)
    blocks = [slice(first, first + step) for first in range(0, len(counts), step)]
    for block in blocks:
        rows = rng.random((len(counts[block]), n_topics), dtype=np.float32)
        rows -= np.float32(0.5)
        rows *= widths[block, None]
        rows += np.float32(1.0)
        rows *= (n_tokens[block] / rows.sum(axis=1)).astype(np.float32)[:, None]
        total += rows.sum(axis=0, dtype=np.float64)
        counts[block] = rows
    whole = int(n_tokens.sum())
    excess = total - whole / n_topics
    for block in blocks:
        rows = counts[block]
        rows -= np.outer(n_tokens[block] / max(whole, 1), excess).astype(np.float32)
        np.maximum(rows, np.float32(0.0), out=rows)
    return counts


class BlockTasks(NamedTuple):
    """Tasks of blocks: a pass, first entries, a sweep, recounting and variances."""

    pass_block: Visit
    choose_block: Visit
    sweep_block: Visit
    recount_block: Visit
    spread_block: Visit


def sweep(
    state: Responsibilities,
    data: Data,
    pseudo_counts: PseudoCounts,
    context: Context,
    *,
    indicators: bool,
    held: bool,
    visits: BlockTasks | None = None,
    more: Any = None,
) -> Table:
    """Visit every pair once; as ``variational.sweep``, which see, but keep a few entries.

    held: keep none, unless there are some. visits: the tasks, ``VISITS`` unless documents are
    bursty. more: what a sweep takes besides how entries are thinned.
    """
    visits = visits or VISITS
    if held and not has_entries(state):
        _pass(state, data, pseudo_counts, visits)
        return np.zeros((data.n_words, 0), np.float32)
    noise = noise_of(state.n_topics, context)
    if not has_entries(state):
        _choose(state, data, pseudo_counts, visits, partial(thinning_of, noise, context, "entries"))
    return variational.sweep(
        state,
        data,
        pseudo_counts,
        indicators=indicators,
        visit=visits.sweep_block,
        more=lambda *block: ThinningInput(thinning_of(noise, context, "sweep", *block), more),
    )


class ThinningInput(NamedTuple):
    """The thinning of a block's entries, and further input of its task."""

    thinning: Thinning
    more: Any


def noise_of(n_topics: int, context: Context) -> Table:
    """Return the noise of an iteration, uniform on (0, 1]."""
    noise = context.rng("noise").random(N_NOISE + padded(n_topics), dtype=np.float32)
    return np.maximum(noise, np.float32(LEAST))


def thinning_of(noise: Table, context: Context, purpose: str, *block: int) -> Thinning:
    """Return how the entries of a block are chosen."""
    return Thinning(GRAIN, noise, new_key(context.rng(purpose, *block)))


def has_entries(state: Responsibilities) -> bool:
    """Tell whether anything is kept of q(z)."""
    return state.local.state_of(0).share.shape[1] > 0


def _pass(
    state: Responsibilities, data: Data, pseudo_counts: PseudoCounts, visits: BlockTasks
) -> None:
    """Make the counts anew of those that are."""
    new_wk = np.zeros_like(state.n_wk)
    data.seeds.add_to(new_wk)
    priors = variational.prior_of_blocks(pseudo_counts, data)
    totals = state.n_k + data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        take_turns(
            state.local,
            visits.pass_block,
            turn,
            (state.n_wk, new_wk),
            data.word_bounds,
            lambda *block: PairSweepInput(totals, priors(*block)),
        )
    state.n_wk = new_wk
    state.n_k = np.sum(state.local.step(_renew, None), axis=0)


def pass_block(piece: HasCells, local: Any, block: BlockInput) -> tuple[Any, Any]:
    """Add the pairs of a block to new counts, weighed by the counts before."""
    n_wk, new_wk = block.rows
    new_dk = local.new_dk
    if new_dk is None:
        new_dk = room_of(piece).zeros(local.n_dk.shape, np.float32)
    counts = CountTables(local.n_dk, n_wk, block.given.n_k)
    bad_doc = kernels.pass_block(
        piece.blocks, 0, block.number, counts, block.given.prior, new_dk, new_wk
    )
    variational.require_sound(piece, bad_doc)
    return local._replace(new_dk=new_dk), (block.rows, None)


def _renew(piece: HasCells, local: Local, _: None) -> tuple[Local, F64]:
    assert local.new_dk is not None
    renewed = settled(local._replace(n_dk=local.new_dk))
    return renewed, renewed.n_dk.sum(axis=0, dtype=np.float64)


def _choose(
    state: Responsibilities, data: Data, pseudo_counts: PseudoCounts, visits: BlockTasks, more: Any
) -> None:
    """Choose the first entries, and count them."""
    priors = variational.prior_of_blocks(pseudo_counts, data)
    totals = state.n_k + data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        take_turns(
            state.local,
            visits.choose_block,
            turn,
            (state.n_wk,),
            data.word_bounds,
            lambda *block: PairSweepInput(totals, priors(*block), more(*block)),
        )
    state.n_k = np.zeros(state.n_topics)
    variational.recount(state, data, visits.recount_block)


def choose_block(piece: HasCells, local: Any, block: BlockInput) -> tuple[Any, Any]:
    """Choose the first entries of the pairs of a block."""
    if block.turn == 0:
        local = with_room(piece, local)
    (n_wk,) = block.rows
    counts = CountTables(local.n_dk, n_wk, block.given.n_k)
    bad_doc = kernels.choose_block(
        piece.blocks,
        0,
        block.number,
        counts,
        block.given.prior,
        block.given.more,
        local.topic,
        local.share,
    )
    variational.require_sound(piece, bad_doc)
    return local, (block.rows, None)


def with_room(piece: HasCells, local: Local) -> Local:
    """Return the state with room for entries; there are none yet."""
    room, shape = room_of(piece), (len(local.share), ROOM)
    topic, share = room.zeros(shape, local.topic.dtype), room.zeros(shape, np.float32)
    return local._replace(topic=topic, share=share)


def sweep_block(piece: HasCells, local: Any, block: BlockInput) -> tuple[Any, Any]:
    """Sweep a block; answer with the move of the topic totals."""
    _, prior, (thinning, _) = block.given

    def visit(counts: EntryCounts, n_k: F64) -> int:
        return kernels.sweep_block(piece.blocks, 0, block.number, counts, n_k, prior, thinning)

    return swept(piece, local, block, visit)


def swept(
    piece: HasCells, local: Any, block: BlockInput, visit: Callable[[EntryCounts, F64], int]
) -> tuple[Any, Any]:
    """Return the state and the answer after ``visit`` has swept a block.

    visit: moves the counts and the topic totals [T], and returns what ``require_sound`` takes.
    """
    n_wk, seen_wk = block.rows
    seen_dk = variational.indicators_of(piece, local.seen_dk, seen_wk, n_wk.dtype)
    counts = EntryCounts(local.topic, local.share, local.n_dk, n_wk, seen_dk, seen_wk)
    n_k = block.given[0]
    moved = n_k.copy()
    variational.require_sound(piece, visit(counts, moved))
    kept = seen_dk if seen_dk.shape[1] else None
    return local._replace(seen_dk=kept), ((n_wk, seen_wk), moved - n_k)


def recount_now_and_then(
    state: Responsibilities, data: Data, context: Context, visits: BlockTasks | None = None
) -> float:
    """Recount at every tenth iteration, once there are entries; see ``variational``."""
    if not has_entries(state):
        return 0.0
    recount = (visits or VISITS).recount_block
    return variational.recount_now_and_then(state, data, context, recount)


def recount_block(piece: HasCells, local: Any, block: BlockInput) -> tuple[Any, Any]:
    """Add the pairs of a block to the counts."""
    if block.turn == 0:
        local.n_dk[:] = 0
    kernels.recount_block(
        piece.blocks, 0, block.number, local.topic, local.share, local.n_dk, *block.rows
    )
    return local, (block.rows, None)


def spread(state: Responsibilities, data: Data) -> Table:
    """Return Var[n_wk] [n_words, T] under the entries; see ``variational``."""
    return variational.spread(state, data, spread_block)


def spread_block(piece: HasCells, local: Any, block: BlockInput) -> tuple[Any, Any]:
    """Add the pairs of a block to the variances of counts."""
    var_dk = local.var_dk
    if block.turn == 0 or var_dk is None:
        var_dk = room_of(piece).zeros(local.n_dk.shape, np.float32)
    kernels.spread_block(
        piece.blocks, 0, block.number, local.topic, local.share, var_dk, *block.rows
    )
    return local._replace(var_dk=var_dk), (block.rows, None)


def memory(corpus: Bags, settings: ModelSettings) -> int:
    """Return the bytes of entries, counts, indicators and the summary.

    Of a corpus in files what grows with its documents lies in files, too.
    """
    n_topics = settings.model.truncation
    words = 12 * n_topics * corpus.n_words + summary_bytes(corpus, n_topics)
    if isinstance(corpus, Shelf):
        return words
    return pair_bytes(n_topics) * corpus.n_pairs + 12 * n_topics * corpus.n_docs + words


def pair_bytes(n_topics: int) -> int:
    """Return the bytes of a pair's entries."""
    return ROOM * (4 + (2 if n_topics <= 1 << 16 else 4))


VISITS = BlockTasks(pass_block, choose_block, sweep_block, recount_block, spread_block)

FEW = variational.SweepVariant(
    Local,
    start,
    begun,
    lambda begun, data: {},
    sweep,
    recount_now_and_then,
    spread,
    memory,
    pair_bytes,
)
"""q(z) sees the means of the counts alone, and is kept as a few entries."""
