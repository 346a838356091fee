"""hdp-gibbs, partially collapsed, where documents are bursty (theory/bursts 9.3).

As ``partial``, with tables in place of tokens. Topics are drawn given the counts of tables; then
each document's tables get their topics, and tables of repeated words come or go, pair by pair.
Tables move nowhere else: between word mass and topics nothing may change z, and so no table.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Arrays, Backend, Chains, Context, Each, Summary, of_pieces
from hiertopics.corpus.data import Bags, Corpus
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import putting_aside, repeats_of_blocks
from hiertopics.families.flat.prediction import BURSTS_EXTRA, EXTRA, infer_bursty
from hiertopics.families.flat.tokens import in_chains
from hiertopics.families.hdp import burst_learning, burst_stages, bursty_blocks, partial
from hiertopics.families.hdp.block_layout import Blocks, in_blocks, made_piece
from hiertopics.families.hdp.burst_stages import DocumentAccess, repeats_in
from hiertopics.families.hdp.bursty_blocks import InitialSlotTopics, Local, TableDrawRule
from hiertopics.families.hdp.bursty_gibbs import Info
from hiertopics.families.hdp.gibbs import Settings
from hiertopics.families.hdp.gibbs_aside import DRAWN, LEARNING, JoiningDocument
from hiertopics.numeric.streams import new_key


@dataclass(kw_only=True)
class State(burst_stages.StagedDraw, partial.State):
    """A draw whose counts are of tables, with the process of documents."""


def prepare(corpus: Bags, settings: Settings) -> Blocks:
    """Lay the corpus out in blocks of documents, with its repeated words."""
    inference = settings.inference
    repeats = repeats_of_blocks(corpus.blocks(), corpus.doc_lengths, inference.burst_start)
    repeats = putting_aside(repeats, inference.burst_aside, corpus.n_docs, inference.burn_in)
    return partial.prepare(corpus, settings)._replace(repeats=repeats)


def init(data: Blocks, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, a table for each token, and the start's other values."""
    model = settings.model
    aside = burst_learning.choose_aside(data, repeats_in(data).n_aside, context)
    key = new_key(context.rng("init"))
    none = np.empty(0, bursty_blocks.slot_dtype(model.truncation))
    messages = [
        InitialSlotTopics(none, key, model.truncation, slots) for slots in slots_of(data, aside)
    ]
    local = context.place(made_piece, data.pieces, bursty_blocks.begin_tables, Each(messages))
    return State(
        **vars(partial.begun(local, data, settings, context, aside)),
        burst_discount=model.burst_process.discount,
        burst_concentration=model.burst_process.concentration,
        # Where all documents are too short to be parted, a and b are drawn.
        burst_stage=LEARNING if len(aside) else DRAWN,
    )


def slots_of(data: Blocks, docs: I64) -> list[I64]:
    """Return the slots of some documents, int64 [n] for each piece, which numbers its own from 0.

    docs: int64 [n], ascending.
    """
    doc_ptr = ends_of(data.doc_lengths)
    own = [np.arange(doc_ptr[doc], doc_ptr[doc + 1]) for doc in docs.tolist()]
    slots, bounds = np.concatenate([np.empty(0, np.int64), *own]), data.bounds["z"]
    ends = np.searchsorted(slots, bounds)
    return [
        slots[first:last] - at for (first, last), at in zip(pairwise(ends), bounds, strict=False)
    ]


def extend_state(before: Arrays, data: Blocks, settings: Settings, context: Context) -> State:
    """Return an earlier draw with further documents, as ``partial`` does.

    These have a table for each token; discount and concentration go on from the draw's.
    """
    n_topics = settings.model.truncation
    z = data.corpus.room.growing(bursty_blocks.slot_dtype(n_topics))
    for part in of_pieces(before, "z"):
        z.append(part)
    known, key = z.done(), new_key(context.rng("continued"))
    bounds = np.minimum(data.bounds["z"], len(known))
    none = np.empty(0, np.int64)
    messages = [
        InitialSlotTopics(known[first:last], key, n_topics, none)
        for first, last in pairwise(bounds)
    ]
    local = context.place(made_piece, data.pieces, bursty_blocks.begin_tables, Each(messages))
    return State(
        **vars(partial.continued(before, local, data, settings)),
        burst_discount=float(before["burst_discount"]),
        burst_concentration=float(before["burst_concentration"]),
        burst_stage=int(before["burst_stage"]),
    )


def step(state: State, data: Blocks, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do one iteration; at times discount and concentration are learned or drawn."""
    repeats = repeats_in(data)
    burst_stages.join_where_due(state, data, context, DOCUMENTS)
    rule = TableDrawRule(seats.seats_of(state.process, repeats), context.iteration <= repeats.start)
    way = partial.Sweep(
        functools.partial(bursty_blocks.drawn, rule),
        functools.partial(bursty_blocks.given, rule),
        bursty_blocks.sweep_piece,
        sized,
    )
    plain = partial.iterate(state, data, settings, context, way)
    burst_stages.redraw_process(state, data, settings, context, DOCUMENTS)
    shown = burst_stages.columns_of(state, data, int(state.n_k.sum()), DOCUMENTS)
    return state, Info(*plain, *shown)


def sized(state: State, data: Blocks) -> Blocks:
    """Return the data as concentrations see them: documents are as long as they have tables."""
    tables = bursty_blocks.tables_of_documents(state.local)
    lengths, n_with = np.unique(tables[tables > 0], return_counts=True)
    return data._replace(lengths=lengths, n_with=n_with)


def _tables(state: State) -> I64:
    return bursty_blocks.tables_of_documents(state.local)


def _pairs(data: Blocks, doc: int) -> tuple[I32, I64]:
    counts = data.corpus.counts_of(np.array([doc]))
    return counts.indices.astype(np.int32), counts.data.astype(np.int64)


def _place(state: State, data: Blocks, joining: list[JoiningDocument]) -> None:
    """Write topics of tables into the slots of documents that join."""
    starts = ends_of(data.doc_lengths)
    bounds = data.bounds["z"]
    messages: list[list[tuple[int, I32]]] = [[] for _ in bounds[:-1]]
    for each in joining:
        first = int(starts[each.doc])
        piece = int(np.searchsorted(bounds, first, side="right")) - 1
        messages[piece].append((first - int(bounds[piece]), each.topics))
    state.local.step(bursty_blocks.put, Each(messages))


DOCUMENTS = DocumentAccess(
    tables=_tables,
    seated=lambda state, stirling: bursty_blocks.seated(state.local, stirling),
    pairs=_pairs,
    seeded=lambda state, data: data.seeds.totals(len(state.n_k)),
    place=_place,
)


def summarise(state: State, data: Blocks, settings: Settings, context: Context) -> Summary:
    """Return topics and theta of tables, with a and b beside the topics."""
    found = partial.summarise(state, data, settings, context)
    return burst_stages.with_bursts(found, state, data, context, DOCUMENTS)


def objective(state: State, data: Blocks, settings: Settings, context: Context) -> float:
    """Return the log joint of tokens, tables, topics and sticks (theory/bursts 9).

    Without the tokens of documents that are put aside.
    """
    of_topics = partial.objective(state, sized(state, data), settings, context)
    return of_topics + burst_stages.log_chance(state, data, DOCUMENTS)


def flaw(state: State, data: Blocks, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    return (
        bursty_blocks.misseated(state.local, aside=state.burst_stage == LEARNING)
        or burst_stages.misstaged(state, data, DOCUMENTS)
        or partial.flaw(state, data, settings)
    )


plain: Backend[Corpus, Blocks, Any, Settings] = partial.one
one: Backend[Corpus, Blocks, State, Settings] = replace(
    plain,
    State=State,
    Info=Info,
    objective_name="log joint probability, documents bursty",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer_bursty,
    extra=EXTRA | BURSTS_EXTRA,
    objective=objective,
    flaw=flaw,
    pieces=in_blocks(Local),
    extend_state=extend_state,
)
backend: Backend[Corpus, Blocks, Chains[State], Settings] = in_chains(one)
