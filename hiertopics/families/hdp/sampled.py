"""A start of the variational HDP: what a short run of the sampler comes to (theory/hdp 3.8).

Responsibilities that begin nearly alike part by what is common to whole documents first, and long
documents settle in few broad topics, which no later sweep leaves. A sampler tries topics for single
tokens. So hdp-gibbs sweeps some times from random topics, and its counts and concentrations are
those that hdp-cvb0 goes on with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.arrays import I32, I64
from hiertopics.data.seedwords import Seeds
from hiertopics.data.shelf import Bags
from hiertopics.engine import Each
from hiertopics.families.flat import few, variational
from hiertopics.families.flat.layout import (
    Block,
    Cells,
    Data,
    InCells,
    Piece,
    build_piece,
    parts_of,
    take_turns,
)
from hiertopics.families.flat.token_kernels import count_block, share_pairs
from hiertopics.families.flat.variational import Responsibilities
from hiertopics.families.hdp import gibbs
from hiertopics.model import Context
from hiertopics.model import Settings as SettingsOf

CHAIN = 1
"""Stands before keys of the sampler's numbers: the iterations that follow draw others."""

GEOMETRIC = "_geo"


class Local(NamedTuple):
    """A draw of a piece, as ``gibbs.Local`` has it, and its tokens, which pairs do not tell."""

    tokens: Piece
    z: I32
    n_dk: I32


class Drawing(NamedTuple):
    """What first topics are drawn by."""

    rng: np.random.Generator
    n_topics: int
    seeds: Seeds


Kept = Callable[[InCells, Local, DTypeLike], tuple[Any, None]]


def is_wanted(settings: Any) -> bool:
    """Tell whether settings ask for this start."""
    return bool(getattr(settings.inference, "start", None) == "sampled")


def start(
    data: Data, settings: Any, context: Context, kept: Kept, dtype: DTypeLike
) -> tuple[Responsibilities, dict[str, Any]]:
    """Return q(z) of a draw with its counts, and what the draw says of all else, by field.

    kept: makes of a piece's draw what is kept of q(z).
    """
    drawn = draw(data, settings, context)
    drawn.local.step(kept, np.dtype(dtype))
    n_wk = drawn.n_wk.astype(dtype)
    begun = Responsibilities(drawn.local, n_wk, drawn.n_k.astype(np.float64))
    names = ("n_tables", "pi", "tau", "alpha", "gamma", "word_mass")
    known = {name: getattr(drawn, name) for name in names}
    return begun, known | {"n_tables": drawn.n_tables.astype(np.float64)}


def replaced(fields: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a state, those known and their geometric means as they are known."""
    found = {name: known.get(name.removesuffix(GEOMETRIC), value) for name, value in fields.items()}
    return {name: np.copy(value) if np.ndim(value) == 1 else value for name, value in found.items()}


def draw(data: Data, settings: Any, context: Context) -> gibbs.State:
    """Return a draw after the start's sweeps from random topics, in pieces of ``data``.

    Nothing is held: random topics ask for a large alpha, under which documents keep many topics.
    """
    n_topics = settings.model.truncation
    rngs = [context.rng("init", piece) for piece in range(data.cells.n_shards)]
    messages = Each([Drawing(rng, n_topics, data.seeds) for rng in rngs])
    local = context.place(build_piece, parts_of(data), _begin, messages)
    n_wk = np.zeros((data.n_words, n_topics), np.int32)
    for turn in range(local.n_pieces):
        take_turns(local, _count, turn, (n_wk,), data.word_bounds)
    drawn = gibbs.begun(local, n_wk, data.seeds, settings.model)
    n_sweeps = settings.inference.start_sweeps
    # Topics that have names keep their numbers, which changes of their sticks would not.
    inference = gibbs.Inference(hyper_start=0, reorder_sticks=not data.seeds.names)
    schedule = SettingsOf(settings.model, inference)
    for sweep in range(1, n_sweeps + 1):
        at = replace(context, iteration=sweep, chain=(*context.chain, CHAIN))
        gibbs.redraw(drawn, data, schedule, at, _sweep_block)
        context.report(sweep, n_sweeps)
    return drawn


def _begin(piece: Piece, drawing: Drawing) -> Local:
    rng, n_topics, seeds = drawing
    tokens = _in_tokens(piece)
    z = gibbs.begin_topics(np.repeat(piece.cells.word, times_of(piece)), n_topics, seeds, rng)
    return Local(tokens, z, np.zeros((piece.n_docs, n_topics), np.int32))


def times_of(piece: Piece) -> I64:
    """Return the tokens of each pair of a piece [n_pairs]."""
    return piece.cells.tokens.astype(np.int64)


def _in_tokens(piece: Piece) -> Piece:
    """Return a piece with a cell for each token, in the order of the pairs."""
    times = times_of(piece)
    ends = np.concatenate([[0], np.cumsum(times)])
    cuts = ends[piece.cells.cuts]

    # Kernels of tokens do not ask how many a cell has: one.
    blocks = Cells(cuts, np.repeat(piece.blocks.word, times), np.zeros(0), piece.blocks.doc_bounds)
    return Piece(blocks, blocks, piece.first_doc)


def _count(piece: Piece, local: Local, block: Block) -> tuple[Local, Any]:
    count_block(local.tokens.blocks, block.number, local.z, local.n_dk, *block.rows)
    return local, (block.rows, None)


def _sweep_block(piece: Piece, local: Local, block: Block) -> tuple[Local, Any]:
    own = gibbs.Local(local.z, local.n_dk)
    return local, gibbs.sweep_block(local.tokens, own, block)[1]


def as_few(piece: InCells, local: Local, dtype: DTypeLike) -> tuple[few.Local, None]:
    """Keep the counts alone, of which q(z) can be made (theory/hdp 3.7)."""
    return few.begin_without_entries(piece, local.n_dk.astype(np.float32)), None


def as_rows(piece: InCells, local: Local, dtype: DTypeLike) -> tuple[variational.Local, None]:
    """Take the shares of topics among a pair's tokens for its q(z)."""
    resp = np.zeros((len(piece.cells.word), local.n_dk.shape[1]), dtype)
    share_pairs(piece.cells.tokens, local.z, resp)
    return variational.Local(resp, local.n_dk.astype(dtype)), None


def memory(corpus: Bags, settings: Any) -> int:
    """Return the bytes of tokens, counts and lists of words."""
    n_topics = settings.model.truncation
    lists = 8 * min(corpus.n_tokens, n_topics * corpus.n_words)
    return 8 * corpus.n_tokens + lists + 4 * n_topics * (corpus.n_docs + corpus.n_words)
