"""Initial states from a sampler's draw or an earlier fit.

A draw (theory/hdp 3.8). Responsibilities that begin nearly alike part by what is common to whole
documents first, and long documents settle in few broad topics, which no later sweep leaves. A
sampler tries topics for single tokens. So hdp-gibbs sweeps some times from random topics, and its
counts and concentrations are those that hdp-cvb0 goes on with.

An earlier fit of hdp-cvb0 or hdp-pcvb0, and further documents. What stays are counts, of which q(z)
can be made (theory/hdp 3.7): those of the earlier documents as they were; of each further token as
its word alone would have it under the earlier topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F32, I32, I64
from hiertopics.base.room import beside
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Arrays, Context, Each, Settings as SettingsOf, of_pieces
from hiertopics.corpus.data import Bags, Seeds
from hiertopics.families.flat import variational
from hiertopics.families.flat.layout import (
    BlockInput,
    Cells,
    Data,
    HasCells,
    Piece,
    build_piece,
    pairs_of,
    parts_of,
    spans,
    take_turns,
)
from hiertopics.families.flat.token_kernels import count_block, share_pairs
from hiertopics.families.flat.tokens import sweep_block
from hiertopics.families.flat.variational import Responsibilities, begun
from hiertopics.families.hdp import bursty, few, few_bursty, gibbs
from hiertopics.families.hdp.summary import word_probabilities

CHAIN = 1
"""Stands before keys of the sampler's numbers: the iterations that follow draw others."""

GEOMETRIC = "_geo"


class Local(NamedTuple):
    """A draw of a piece, as ``gibbs.Local`` has it, and its tokens, which pairs do not tell."""

    tokens: Piece
    z: I32
    n_dk: I32


class FirstTopicsInput(NamedTuple):
    """Input of the first topics' draw."""

    rng: np.random.Generator
    n_topics: int
    seeds: Seeds


PieceConverter = Callable[[HasCells, Local, DTypeLike], tuple[Any, None]]


def is_wanted(settings: Any) -> bool:
    """Tell whether settings ask for this start."""
    return bool(getattr(settings.inference, "start", None) == "gibbs")


def start(
    data: Data, settings: Any, context: Context, kept: PieceConverter, dtype: DTypeLike
) -> tuple[Responsibilities, dict[str, Any]]:
    """Return q(z) of a draw with its counts, and the draw's other values, by field.

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
    messages = Each([FirstTopicsInput(rng, n_topics, data.seeds) for rng in rngs])
    local = context.place(build_piece, parts_of(data), _begin, messages)
    n_wk = np.zeros((data.n_words, n_topics), np.int32)
    for turn in range(local.n_pieces):
        take_turns(local, _count, turn, (n_wk,), data.word_bounds)
    drawn = gibbs.begun(local, n_wk, data.seeds, settings.model)
    n_sweeps = settings.inference.start_sweeps
    # Topics that have names keep their numbers, which changes of their sticks would not.
    hold, reorder = settings.inference.hold, not data.seeds.names
    inference = gibbs.Inference(hyper_start=0, hold=hold, reorder_sticks=reorder)
    schedule = SettingsOf(settings.model, inference)
    for sweep in range(1, n_sweeps + 1):
        at = replace(context, iteration=sweep, chain=(*context.chain, CHAIN))
        gibbs.redraw(drawn, data, schedule, at, _sweep_block)
        context.report(sweep, n_sweeps)
    return drawn


def _begin(piece: Piece, drawing: FirstTopicsInput) -> Local:
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
    ends = ends_of(times)
    cuts = ends[piece.cells.cuts]

    # Kernels of tokens do not ask how many a cell has: one.
    blocks = Cells(cuts, np.repeat(piece.blocks.word, times), np.zeros(0), piece.blocks.doc_bounds)
    return Piece(blocks, blocks, piece.first_doc)


def _count(piece: Piece, local: Local, block: BlockInput) -> tuple[Local, Any]:
    count_block(local.tokens.blocks, block.number, local.z, local.n_dk, *block.rows)
    return local, (block.rows, None)


def _sweep_block(piece: Piece, local: Local, block: BlockInput) -> tuple[Local, Any]:
    own = gibbs.Local(local.z, local.n_dk)
    return local, sweep_block(local.tokens, own, block)[1]


def as_few(piece: HasCells, local: Local, dtype: DTypeLike) -> tuple[few.Local, None]:
    """Keep the counts alone, from which q(z) can be computed (theory/hdp 3.7)."""
    return few.begin_without_entries(piece, local.n_dk.astype(np.float32)), None


def as_rows(piece: HasCells, local: Local, dtype: DTypeLike) -> tuple[variational.Local, None]:
    """Take the shares of topics among a pair's tokens for its q(z)."""
    resp = np.zeros((len(piece.cells.word), local.n_dk.shape[1]), dtype)
    share_pairs(piece.cells.tokens, local.z, resp)
    return variational.Local(resp, local.n_dk.astype(dtype)), None


def as_bursty_few(piece: HasCells, local: Local, dtype: DTypeLike) -> tuple[Any, None]:
    """Do as ``as_few``, with a table for each token."""
    return few_bursty.as_bursty(piece, as_few(piece, local, dtype)[0], None)


def as_bursty_rows(piece: HasCells, local: Local, dtype: DTypeLike) -> tuple[Any, None]:
    """Do as ``as_rows``, with a table for each token."""
    return bursty.as_bursty(piece, as_rows(piece, local, dtype)[0], None)


def memory(corpus: Bags, settings: Any) -> int:
    """Return the bytes of tokens, counts and lists of words."""
    n_topics = settings.model.truncation
    lists = 8 * min(corpus.n_tokens, n_topics * corpus.n_words)
    return 8 * corpus.n_tokens + lists + 4 * n_topics * (corpus.n_docs + corpus.n_words)


Table = F32

BY_WORD, MASSES = ("tau", "tau_geo"), ("word_mass", "word_mass_geo")
ALIKE = ("n_tables", "pi", "pi_geo", "alpha", "alpha_geo", "gamma")


class InitialCounts(NamedTuple):
    """Input of q(z): n_dk [n_docs, T] of each piece, n_wk and phi [n_words, T], alpha pi."""

    n_dk: list[Table]
    n_wk: Table
    phi: Table
    doc_prior: Table


Begin = Callable[[InitialCounts, Data, Context], Responsibilities]


def with_few(counts: InitialCounts, data: Data, context: Context) -> Responsibilities:
    """Return the counts as they are, and no entries."""
    messages = Each(counts.n_dk)
    local = context.place(build_piece, parts_of(data), few.begin_without_entries, messages)
    n_k = counts.n_wk.sum(axis=0, dtype=np.float64) - data.seeds.totals(len(counts.doc_prior))
    return Responsibilities(local, counts.n_wk, n_k)


def with_all(counts: InitialCounts, data: Data, context: Context) -> Responsibilities:
    """Return q(z) proportional to (n_dk + alpha pi) phi, and its counts."""
    messages = [PieceInitialCounts(n_dk, counts.doc_prior, counts.phi) for n_dk in counts.n_dk]
    return begun(data, _rows, messages, len(counts.doc_prior), context)


class PieceInitialCounts(NamedTuple):
    """Input of q(z) of a piece, as in ``InitialCounts``."""

    n_dk: Table
    doc_prior: Table
    phi: Table


def _rows(piece: HasCells, counts: PieceInitialCounts, first: int, last: int) -> Table:
    doc, word = pairs_of(piece.cells, first, last)
    rows = counts.phi[word]
    rows *= (counts.n_dk[first:last] + counts.doc_prior)[doc - first]
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return rows


def fields_of(before: Arrays, data: Data, context: Context, begin: Begin) -> dict[str, Any]:
    """Return the fields of a state that continues an earlier one."""
    found = widened(before, data.n_words)
    n_wk = np.pad(before["n_wk"], ((0, data.n_words - len(before["n_wk"])), (0, 0)))
    phi = word_probabilities(n_wk, found["word_mass"] * found["tau"])
    chances = (phi * found["pi"]).astype(np.float32)
    chances /= np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    known = of_pieces(before, "n_dk")
    n_tokens, _ = few.by_word(data, sum(map(len, known)))
    n_wk += n_tokens.astype(np.float32)[:, None] * chances
    doc_prior = (found["alpha"] * found["pi"]).astype(np.float32)
    parts = np.split(_continued(known, data, chances), data.cells.doc_bounds[1:-1])
    state = begin(InitialCounts(parts, n_wk, phi.astype(np.float32), doc_prior), data, context)
    return {**vars(state), **found}


def _continued(known: list[Table], data: Data, chances: Table) -> Table:
    """Return counts [n_docs, T]: those known, and of further documents by word alone."""
    cells = data.cells
    n_dk: Table = beside(cells.word).empty((data.n_docs, chances.shape[1]), np.float32)
    begin = 0
    for rows in known:
        n_dk[begin : begin + len(rows)] = rows
        begin += len(rows)
    for first, last in spans(cells.cuts[begin:]):
        docs = slice(begin + first, begin + last)
        ends = np.append(cells.cuts[docs, 0], cells.cuts[docs, -1][-1:])
        pairs = slice(ends[0], ends[-1])
        parts = (cells.tokens[pairs].astype(np.float64), cells.word[pairs], ends - ends[0])
        n_dk[docs] = sparse.csr_array(parts, shape=(len(ends) - 1, len(chances))) @ chances
    return n_dk


def widened(before: Arrays, n_words: int) -> dict[str, Any]:
    """Return the hyperparameters for n words; eta is unchanged."""
    n_before = len(before["tau"])
    further = np.full(n_words - n_before, 1.0 / n_words)
    found: dict[str, Any] = {}
    for name in (*ALIKE, *BY_WORD, *MASSES):
        value = before.get(name)
        if value is None:
            continue
        if name in BY_WORD:
            value = np.append(value * (n_before / n_words), further)
        elif name in MASSES:
            value = value * (n_words / n_before)
        found[name] = value if value.ndim else float(value)
    return found
