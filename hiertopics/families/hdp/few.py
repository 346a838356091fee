"""Responsibilities kept as a few entries for each pair, which they are on average (theory/hdp 3.7).

While concentrations are held nothing is kept of q(z): each pass makes it of the counts of the pass
before, which topics that are all alike need for their first differences to grow. Then every pair
gets ``ROOM`` entries at most: those above a grain as they are, of the rest a random part, each
as heavy as the grain, so that every topic's mean stays what it was. Memory is that of the entries,
whatever the truncation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.seedwords import Seeds
from hiertopics.engine import Each
from hiertopics.families.flat import variational
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.layout import (
    Block,
    Data,
    InCells,
    build_piece,
    parts_of,
    take_turns,
)
from hiertopics.families.flat.summary import summary_bytes
from hiertopics.families.flat.variational import Given, Responsibilities, settled
from hiertopics.families.hdp import few_kernels as kernels
from hiertopics.families.hdp.few_kernels import Counts, Tables, Thinning
from hiertopics.model import Context
from hiertopics.numeric.simd_draw import padded
from hiertopics.numeric.streams import new_key

Table = NDArray[np.float32]

ROOM = 16
"""Entries for which there is room."""

GRAIN = 1 / 16
"""The share of a pair below which an entry is kept by chance."""

UNLIKE = 1 / 0.6
"""How far the first counts of a single pair lie apart, in parts of their mean."""

N_NOISE = 1 << 14
"""Places in the noise at which a pair may begin."""

LEAST = 1e-7
"""Of the noise, which must be above 0."""


class Local(NamedTuple):
    """``flat.variational.Local`` with entries in place of rows.

    topic uint16, or uint32 where that is too small, and share float32 [n_pairs, ROOM]: entries of
    q(z), share 0 from the first that is not used on; no columns while nothing is kept. new_dk: the
    counts that a pass makes.
    """

    topic: NDArray[np.unsignedinteger[Any]]
    share: Table
    n_dk: Table
    seen_dk: Table | None = None
    var_dk: Table | None = None
    new_dk: Table | None = None


def start(data: Data, n_topics: int, context: Context, dtype: DTypeLike) -> Responsibilities:
    """Return the counts of random q(z), float32, and no entries.

    A row of counts differs among topics as one of so many pairs does in ``variational.start``. Seed
    words begin in the topics of their names.
    """
    keys = [(), *((piece,) for piece in range(1, data.cells.n_shards))]
    messages = Each([Drawing(context.rng("documents", *k), n_topics, data.seeds) for k in keys])
    local = context.place(build_piece, parts_of(data), _begin, messages)
    n_tokens = np.bincount(data.cells.word, data.cells.tokens, data.n_words).astype(np.float64)
    n_pairs = np.bincount(data.cells.word, minlength=data.n_words)
    n_wk = _unlike(n_tokens, n_pairs, Drawing(context.rng("init"), n_topics, data.seeds))
    for words, topics in data.seeds.homes(np.arange(data.n_words)):
        n_wk[words] = 0
        n_wk[np.ix_(words, topics)] = (n_tokens[words] / len(topics))[:, None]
    n_k = n_wk.sum(axis=0, dtype=np.float64)
    data.seeds.add_to(n_wk)
    return Responsibilities(local, n_wk, n_k)


class Drawing(NamedTuple):
    """What counts are drawn by."""

    rng: np.random.Generator
    n_topics: int
    seeds: Seeds


def _begin(piece: InCells, drawing: Drawing) -> Local:
    cuts = piece.cells.cuts
    ends = np.concatenate([[0.0], np.cumsum(piece.cells.tokens, dtype=np.float64)])
    n_tokens = ends[cuts[:, -1]] - ends[cuts[:, 0]]
    at_home = []
    for pairs, topics in drawing.seeds.homes(piece.cells.word):
        docs = np.searchsorted(cuts[:, -1], pairs, side="right")
        tokens = piece.cells.tokens[pairs]
        np.subtract.at(n_tokens, docs, tokens)
        at_home.append((docs[:, None], topics, (tokens / len(topics))[:, None]))
    n_dk = _unlike(n_tokens, cuts[:, -1] - cuts[:, 0], drawing)
    for docs, topics, tokens in at_home:
        np.add.at(n_dk, (docs, topics), tokens)
    return begin_without_entries(piece, n_dk)


def begin_without_entries(piece: InCells, n_dk: Table) -> Local:
    """Return the state of a piece of which counts [n_docs, T] are all that is known."""
    kind = np.uint16 if n_dk.shape[1] <= 1 << 16 else np.uint32
    n_pairs = len(piece.cells.word)
    return Local(np.empty((n_pairs, 0), kind), np.empty((n_pairs, 0), np.float32), n_dk)


def _unlike(
    n_tokens: NDArray[np.float64], n_pairs: NDArray[np.signedinteger], drawing: Drawing
) -> Table:
    """Return nearly equal counts [n, T]; rows sum to ``n_tokens``, columns to all the same."""
    rows = drawing.rng.random((len(n_tokens), drawing.n_topics), dtype=np.float32)
    rows -= np.float32(0.5)
    rows *= (UNLIKE / np.sqrt(np.maximum(n_pairs, 1))).astype(np.float32)[:, None]
    rows += np.float32(1.0)
    rows *= (n_tokens / rows.sum(axis=1)).astype(np.float32)[:, None]
    whole = n_tokens.sum()
    excess = rows.sum(axis=0, dtype=np.float64) - whole / drawing.n_topics
    rows -= np.outer(n_tokens / max(whole, 1.0), excess).astype(np.float32)
    return np.maximum(rows, np.float32(0.0), out=rows)


def sweep(
    state: Responsibilities,
    data: Data,
    prior: Prior,
    context: Context,
    *,
    indicators: bool,
    held: bool,
) -> Table:
    """Visit every pair once; as ``variational.sweep``, which see, but keep a few entries.

    held: keep none.
    """
    if held:
        _pass(state, data, prior)
        return np.zeros((data.n_words, 0), np.float32)
    noise = context.rng("noise").random(N_NOISE + padded(state.n_topics), dtype=np.float32)
    noise = np.maximum(noise, np.float32(LEAST))

    def thinning(purpose: str, *block: int) -> Thinning:
        return Thinning(GRAIN, noise, new_key(context.rng(purpose, *block)))

    if not _has_entries(state):
        _choose(state, data, prior, lambda *block: thinning("entries", *block))
    return variational.sweep(
        state,
        data,
        prior,
        indicators=indicators,
        visit=_sweep_block,
        more=lambda *block: thinning("sweep", *block),
    )


def _has_entries(state: Responsibilities) -> bool:
    return state.local.state_of(0).share.shape[1] > 0


def _pass(state: Responsibilities, data: Data, prior: Prior) -> None:
    """Make the counts anew of those that are."""
    new_wk = np.zeros_like(state.n_wk)
    data.seeds.add_to(new_wk)
    priors = variational.prior_of_blocks(prior, data)
    totals = state.n_k + data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        take_turns(
            state.local,
            _pass_block,
            turn,
            (state.n_wk, new_wk),
            data.word_bounds,
            lambda *block: Given(totals, priors(*block)),
        )
    state.n_wk = new_wk
    state.n_k = np.sum(state.local.step(_renew, None), axis=0)


def _pass_block(piece: InCells, local: Local, block: Block) -> tuple[Local, Any]:
    n_wk, new_wk = block.rows
    new_dk = np.zeros_like(local.n_dk) if local.new_dk is None else local.new_dk
    counts = Counts(local.n_dk, n_wk, block.given.n_k)
    bad_doc = kernels.pass_block(
        piece.blocks, 0, block.number, counts, block.given.prior, new_dk, new_wk
    )
    variational.require_sound(piece, bad_doc)
    return local._replace(new_dk=new_dk), (block.rows, None)


def _renew(piece: InCells, local: Local, _: None) -> tuple[Local, NDArray[np.float64]]:
    assert local.new_dk is not None
    renewed = settled(local._replace(n_dk=local.new_dk))
    return renewed, renewed.n_dk.sum(axis=0, dtype=np.float64)


def _choose(state: Responsibilities, data: Data, prior: Prior, more: Any) -> None:
    """Choose the first entries, and count them."""
    priors = variational.prior_of_blocks(prior, data)
    totals = state.n_k + data.seeds.totals(state.n_topics)
    for turn in range(state.local.n_pieces):
        take_turns(
            state.local,
            _choose_block,
            turn,
            (state.n_wk,),
            data.word_bounds,
            lambda *block: Given(totals, priors(*block), more(*block)),
        )
    state.n_k = np.zeros(state.n_topics)
    variational.recount(state, data, _recount)


def _choose_block(piece: InCells, local: Local, block: Block) -> tuple[Local, Any]:
    if block.turn == 0:
        shape = (len(local.share), ROOM)
        local = local._replace(
            topic=np.zeros(shape, local.topic.dtype), share=np.zeros(shape, np.float32)
        )
    (n_wk,) = block.rows
    counts = Counts(local.n_dk, n_wk, block.given.n_k)
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


def _sweep_block(piece: InCells, local: Local, block: Block) -> tuple[Local, Any]:
    n_wk, seen_wk = block.rows
    seen_dk = local.seen_dk
    if seen_dk is None:
        seen_dk = np.zeros((piece.n_docs, seen_wk.shape[1]), n_wk.dtype)
    tables = Tables(local.topic, local.share, local.n_dk, n_wk, seen_dk, seen_wk)
    n_k, prior, thinning = block.given
    moved = n_k.copy()
    variational.require_sound(
        piece, kernels.sweep_block(piece.blocks, 0, block.number, tables, moved, prior, thinning)
    )
    kept = seen_dk if seen_dk.shape[1] else None
    return local._replace(seen_dk=kept), ((n_wk, seen_wk), moved - n_k)


def recount_now_and_then(state: Responsibilities, data: Data, context: Context) -> float:
    """Recount at every tenth iteration, once there are entries; see ``variational``."""
    if not _has_entries(state):
        return 0.0
    return variational.recount_now_and_then(state, data, context, _recount)


def _recount(piece: InCells, local: Local, block: Block) -> tuple[Local, Any]:
    if block.turn == 0:
        local.n_dk[:] = 0
    kernels.recount_block(
        piece.blocks, 0, block.number, local.topic, local.share, local.n_dk, *block.rows
    )
    return local, (block.rows, None)


def spread(state: Responsibilities, data: Data) -> Table:
    """Return Var[n_wk] [n_words, T] under the entries; see ``variational``."""
    return variational.spread(state, data, _spread)


def _spread(piece: InCells, local: Local, block: Block) -> tuple[Local, Any]:
    var_dk = local.var_dk
    if block.turn == 0 or var_dk is None:
        var_dk = np.zeros_like(local.n_dk)
    kernels.spread_block(
        piece.blocks, 0, block.number, local.topic, local.share, var_dk, *block.rows
    )
    return local._replace(var_dk=var_dk), (block.rows, None)


def memory(corpus: Corpus, settings: ModelSettings) -> int:
    """Return the bytes of entries, counts, indicators and the summary."""
    n_topics = settings.model.truncation
    name_bytes = 2 if n_topics <= 1 << 16 else 4
    entries = (4 + name_bytes) * ROOM * corpus.n_pairs
    tables = 4 * n_topics * (3 * corpus.n_docs + 3 * corpus.n_words)
    return entries + tables + summary_bytes(corpus, n_topics)


FEW = variational.Order(
    Local, start, lambda begun, data: {}, sweep, recount_now_and_then, spread, memory
)
"""q(z) sees the means of the counts alone, and is kept as a few entries."""
