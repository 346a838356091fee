"""lda-gibbs where documents are bursty: the plain sampler of tables, which come and go.

Each document draws its words from a Pitman-Yor process around its mixture of topics; tables of that
process are what tokens are of the ordinary model (theory/bursts 9). The plain sampler sees a corpus
whose tokens are the tables that there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64, Bools
from hiertopics.base.axes import Axes
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Backend, Chains, Context, Hyperparameters, Sizes, Summary
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, repeats_of
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.prediction import BURSTS_EXTRA, EXTRA, infer_bursty
from hiertopics.families.flat.seat_kernels import EMPTY, are_rows, begin_slots, count_pairs
from hiertopics.families.flat.seats import TableHistograms
from hiertopics.families.flat.tokens import in_chains
from hiertopics.families.lda import bursty_kernels, gibbs
from hiertopics.families.lda.config import Settings
from hiertopics.families.lda.gibbs_kernels import PaddedTopics, Tokens
from hiertopics.numeric.pitman_yor_kernels import Stirling


class Data(NamedTuple):
    """A corpus in tokens, as ``gibbs.Data``, and in cells, with its repeated words.

    doc_lengths: int64 [n_docs].
    """

    tokens: Tokens
    doc_lengths: I64
    n_words: int
    cells: Cells
    repeats: Repeats


@dataclass
class State(seats.BurstyDraw, gibbs.State):
    """One draw: ``gibbs.State`` of tables, and the process of documents.

    z: int32 [n_tokens], topics of tables in the first slots of each pair, -1 in the others. n_wk,
    n_k: counts of tables.
    """

    z: Annotated[I32, Axes("n_tokens", least=-1, below="n_topics")]


class Info(NamedTuple):
    """Columns of metrics.jsonl: those of ``gibbs.Info``, and of bursts.

    moved: tables whose topic changed. tables_per_token: of all documents; 1: no bursts.
    times_as_likely: a word of usual chance, used once in a usual document, has so many times that
    chance to come next.
    """

    n_topics: int
    alpha: float
    eta: float
    moved: int
    burst_discount: float
    burst_concentration: float
    tables_per_token: float
    times_as_likely: float


class AsTokens(NamedTuple):
    """The tables of a draw in place of tokens. there: slots with a table [n_tokens]."""

    state: gibbs.State
    data: gibbs.Data
    there: Bools


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens, with its repeated words."""
    plain = gibbs.prepare(corpus, settings)
    ends = plain.tokens.doc_ptr
    cuts, none = np.column_stack([ends[:-1], ends[1:]]), np.zeros(0)
    cells = Cells(cuts, plain.tokens.word, none, np.array([0, len(cuts)]))
    pairs = (corpus.counts.indices, corpus.counts.data)
    repeats = repeats_of(*pairs, corpus.doc_lengths, settings.inference.burst_start)
    return Data(*plain, cells, repeats)


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, a table for each token, and the priors of the config."""
    model = settings.model
    begun = gibbs.init(gibbs.Data(*data[:3]), settings, context)
    z = begun.z.copy()
    begin_slots(data.cells, z)
    beyond = z == EMPTY
    np.subtract.at(begun.n_wk, (data.tokens.word[beyond], begun.z[beyond]), 1)
    begun = replace(begun, z=z, n_k=begun.n_wk.sum(axis=0, dtype=np.int64))
    return State(
        **vars(begun),
        burst_discount=model.burst_process.discount,
        burst_concentration=model.burst_process.concentration,
    )


def as_tokens(state: State, data: Data) -> AsTokens:
    """Return the tables of a draw as the plain sampler sees them; its counts are the draw's own."""
    there = state.z >= 0
    ends = ends_of(there)
    doc_ptr = ends[data.tokens.doc_ptr]
    tokens = Tokens(doc_ptr, data.tokens.word[there])
    plain = gibbs.State(state.z[there], state.n_wk, state.n_k, state.alpha, state.eta)
    return AsTokens(plain, gibbs.Data(tokens, np.diff(doc_ptr), data.n_words), there)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw topics of all tables; after the hold alpha and eta; then tables come or go."""
    tables = as_tokens(state, data)
    plain, info = gibbs.step(tables.state, tables.data, settings, context)
    state.z[tables.there] = plain.z
    state.alpha, state.eta = plain.alpha, plain.eta
    repeats = data.repeats
    if context.iteration > repeats.start:
        alpha = np.array(np.broadcast_to(state.alpha, settings.model.n_topics), np.float64)
        counts = PaddedTopics(state.z, state.n_wk, state.n_k)
        how = (alpha, state.eta, seats.seats_of(state.process, repeats), context.rng("tables"))
        bursty_kernels.seat_documents(data.cells, counts, *how)
        if context.iteration > settings.inference.hyper_start:
            state.redraw_process(partial(seated, state, data), repeats, context)
    in_use = int((state.n_k > 0).sum())
    return state, Info(in_use, info.alpha, info.eta, info.moved, *columns_of(state, data))


def seated(state: State, data: Data, stirling: Stirling) -> TableHistograms:
    """Return how many tables there are, as histograms of the corpus."""
    pairs = np.zeros(len(stirling.values), np.int64)
    count_pairs(data.cells, state.z, stirling.row, stirling.starts, pairs)
    return TableHistograms(pairs, np.bincount(as_tokens(state, data).data.doc_lengths))


def columns_of(state: State, data: Data) -> tuple[float, float, float, float]:
    """Return what metrics.jsonl says of bursts, see ``BurstyDraw``."""
    return state.columns(int(state.n_k.sum()), data.doc_lengths, data.repeats)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return topics and theta of tables, with a and b beside the topics."""
    tables = as_tokens(state, data)
    found = gibbs.summarise(tables.state, tables.data, settings, context)
    times = columns_of(state, data)[-1]
    return seats.with_process(found, state.process, times, data.repeats, context.iteration)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of tokens, tables and topics (theory/bursts 9)."""
    tables = as_tokens(state, data)
    of_topics = gibbs.objective(tables.state, tables.data, settings, context)
    return of_topics + state.log_chance(partial(seated, state, data), data.repeats)


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return the flaw of a saved draw in words, None where there is none; see ``Backend``."""
    if not are_rows(data.cells, state.z, False):
        return "z has pairs whose tables do not stand in their first slots"
    tables = as_tokens(state, data)
    return gibbs.flaw(tables.state, tables.data, settings)


def draw_hyperparameters(settings: Settings, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw alpha and eta as ``gibbs`` does, and discount and concentration from their priors."""
    of_bursts = seats.draw_bursts(settings, context.rng("bursts"))
    return {**gibbs.draw_hyperparameters(settings, sizes, context), **of_bursts}


plain: Backend[Corpus, Any, Any, Settings] = gibbs.one
one: Backend[Corpus, Data, State, Settings] = replace(
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
    predictive=None,
    draw_hyperparameters=draw_hyperparameters,
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = in_chains(one)
