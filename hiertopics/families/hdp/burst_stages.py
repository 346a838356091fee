"""How samplers of bursty documents come to their discount and concentration (theory/bursts 9.1).

Either both are drawn, or they are learned from documents that are put aside for a part of the
burn-in, and held once these have joined the others. What differs between samplers is how they keep
documents: ``DocumentAccess``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Summary
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.flat.seats import TableHistograms
from hiertopics.families.hdp import burst_learning, gibbs_aside
from hiertopics.families.hdp.gibbs import Settings
from hiertopics.families.hdp.gibbs_aside import DRAWN, HELD, LEARNING, HeldTopics, JoiningDocument
from hiertopics.numeric.pitman_yor_kernels import Stirling


@dataclass(kw_only=True)
class StagedDraw(seats.BurstyDraw):
    """A draw whose process may be learned from documents put aside; the stage says whether."""

    burst_stage: Annotated[int, Axes(least=0)] = DRAWN


class DocumentAccess(NamedTuple):
    """How a sampler keeps documents; each field is a function of a draw or of its data.

    tables: of each document, int64 [n_docs], 0 where it is put aside. seated: histograms of all
    tables. pairs: words and tokens of a document. seeded: seed words of each topic, int64 [T].
    place: writes the topics of tables of documents that join into their slots.
    """

    tables: Callable[[Any], I64]
    seated: Callable[[Any, Stirling], TableHistograms]
    pairs: Callable[[Any, int], tuple[I32, I64]]
    seeded: Callable[[Any, Any], I64]
    place: Callable[[Any, Any, list[JoiningDocument]], None]


def repeats_in(data: Any) -> Repeats:
    """Return the repeated words in data that were laid out for bursts."""
    assert data.repeats is not None
    found: Repeats = data.repeats
    return found


def join_where_due(state: Any, data: Any, context: Context, documents: DocumentAccess) -> None:
    """Let documents join the others where it is time; from then on a and b are held."""
    if state.burst_stage != LEARNING or context.iteration <= repeats_in(data).join:
        return
    _learn(state, data, context, documents)
    docs = gibbs_aside.documents_aside(documents.tables(state), data)
    pairs = [documents.pairs(data, doc) for doc in docs.tolist()]
    joining = gibbs_aside.seats_for(_held_topics(state, data, documents), docs, pairs, context)
    documents.place(state, data, joining)
    for each in joining:
        there = each.topics >= 0
        np.add.at(state.n_wk, (each.words[there], each.topics[there]), 1)
        np.add.at(state.n_k, each.topics[there], 1)
    state.burst_stage = HELD


def redraw_process(
    state: Any, data: Any, settings: Settings, context: Context, documents: DocumentAccess
) -> None:
    """Learn discount and concentration, or draw them, where it is time."""
    iteration, repeats = context.iteration, repeats_in(data)
    if iteration <= repeats.start or not repeats.there:
        return
    if state.burst_stage == LEARNING and burst_learning.is_due(iteration, repeats):
        _learn(state, data, context, documents)
    if state.burst_stage == DRAWN and iteration > settings.inference.hyper_start:
        state.redraw_process(partial(documents.seated, state), repeats, context)


def _learn(state: Any, data: Any, context: Context, documents: DocumentAccess) -> None:
    """Learn discount and concentration from the documents that are put aside."""
    docs = gibbs_aside.documents_aside(documents.tables(state), data)
    pairs = [documents.pairs(data, doc) for doc in docs.tolist()]
    learned = gibbs_aside.learn(_held_topics(state, data, documents), docs, pairs, context)
    state.burst_discount, state.burst_concentration = learned


def _held_topics(state: Any, data: Any, documents: DocumentAccess) -> HeldTopics:
    """Return the topics and priors that place documents."""
    word, doc = state.word_mass * state.tau, state.alpha * state.pi
    n_k = state.n_k + documents.seeded(state, data) + state.word_mass
    return HeldTopics(state.n_wk, n_k, word, doc, state.process)


def columns_of(
    state: StagedDraw, data: Any, n_tables: int, documents: DocumentAccess
) -> tuple[float, float, float, float]:
    """Return what metrics.jsonl says of bursts, see ``BurstyDraw``."""
    return state.columns(n_tables, _seen_lengths(state, data, documents), repeats_in(data))


def _seen_lengths(state: Any, data: Any, documents: DocumentAccess) -> I64:
    """Return the tokens of each document [n_docs], 0 where it is put aside."""
    lengths: I64 = data.doc_lengths
    if state.burst_stage != LEARNING:
        return lengths
    return np.where(documents.tables(state) > 0, lengths, 0)


def with_bursts(
    found: Summary, state: Any, data: Any, context: Context, documents: DocumentAccess
) -> Summary:
    """Return a summary with a and b beside the topics, and notes on them."""
    times = columns_of(state, data, int(state.n_k.sum()), documents)[-1]
    if state.burst_stage == LEARNING:
        n_aside = len(gibbs_aside.documents_aside(documents.tables(state), data))
        found = found.noting(f"{n_aside} documents were still put aside: their theta is the prior")
    return seats.with_process(found, state.process, times, repeats_in(data), context.iteration)


def log_chance(state: Any, data: Any, documents: DocumentAccess) -> float:
    """Return the log probability of seatings; without documents that are put aside."""
    longer = more_than(np.bincount(_seen_lengths(state, data, documents)))
    repeats = repeats_in(data)._replace(longer=longer)
    found: float = state.log_chance(partial(documents.seated, state), repeats)
    return found


def misstaged(state: Any, data: Any, documents: DocumentAccess) -> str | None:
    """Return the error in the stage of a saved draw, or None."""
    if state.burst_stage not in (DRAWN, LEARNING, HELD):
        return f"burst_stage is {state.burst_stage}, which is no stage"
    aside = gibbs_aside.documents_aside(documents.tables(state), data)
    if state.burst_stage == LEARNING and not len(aside):
        return "burst_stage says that documents are put aside, and all documents have tables"
    return None
