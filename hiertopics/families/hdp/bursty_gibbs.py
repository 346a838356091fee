"""hdp-gibbs where documents are bursty: collapsed Gibbs sampling of topics and tables.

Each document draws its words from a Pitman-Yor process around its mixture of topics; tables of that
process are what tokens are of the ordinary model (theory/bursts 9). A sweep redraws the topics of
all tables and lets tables come or go; at times discount and concentration are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract.chains import Chains
from hiertopics.contract.model import Backend, Context, Summary
from hiertopics.contract.states import Arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, more_than, putting_aside, repeats_of
from hiertopics.families.flat.layout import Block, Data, Piece, dealt, sharded
from hiertopics.families.flat.prediction import BURSTS_EXTRA, EXTRA, infer_bursty
from hiertopics.families.flat.seat_kernels import Seats, begin_slots, count_tables
from hiertopics.families.flat.seats import TableHistograms
from hiertopics.families.flat.summary import topic_counts
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.families.flat.tokens import in_chains, miscounted
from hiertopics.families.hdp import burst_learning, gibbs, gibbs_aside
from hiertopics.families.hdp import bursty_gibbs_kernels as kernels
from hiertopics.families.hdp.gibbs import Settings
from hiertopics.families.hdp.gibbs_aside import DRAWN, HELD, LEARNING
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.pitman_yor_kernels import Stirling


class Local(NamedTuple):
    """Per-document state of a piece: z int32 [n_tokens], n_dk int32 [n_docs, T].

    z: topics of tables, in the first slots of each pair; -1 in the others (``flat.seat_kernels``).
    """

    z: Annotated[I32, Axes("n_tokens", least=-1, below="truncation")]
    n_dk: Annotated[I32, Axes("n_docs", "truncation", least=0)]


@dataclass(kw_only=True)
class State(gibbs.State):
    """A draw whose counts are of tables, with the process of documents."""

    burst_discount: Annotated[float, Axes(least=0)]
    burst_concentration: Annotated[float, Axes(least=POSITIVE)]
    burst_stage: Annotated[int, Axes(least=0)] = DRAWN

    @property
    def process(self) -> PitmanYor:
        """Discount and concentration."""
        return PitmanYor(float(self.burst_discount), float(self.burst_concentration))


class Info(NamedTuple):
    """Columns of metrics.jsonl: those of ``gibbs.Info``, and of bursts.

    moved: tables whose topic changed. tables_per_token: of all documents; 1: no bursts.
    times_as_likely: a word of usual chance, used once in a usual document, has so many times that
    chance to come next.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float
    alpha: float
    gamma: float
    eta: float
    moved: int
    burst_discount: float
    burst_concentration: float
    tables_per_token: float
    times_as_likely: float


class TableArguments(NamedTuple):
    """Arguments of a block for its tables. held: no table comes or goes."""

    seats: Seats
    held: bool
    rng: np.random.Generator


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens, with its repeated words."""
    words, counts = corpus.counts.indices, corpus.counts.data
    inference = settings.inference
    repeats = repeats_of(words, counts, corpus.doc_lengths, inference.burst_start)
    repeats = putting_aside(repeats, inference.burst_aside, corpus.n_docs, inference.burn_in)
    return gibbs.prepare(corpus, settings)._replace(repeats=repeats)


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, a table for each token, and the config's values."""
    model = settings.model
    z = gibbs.begin_topics(data.cells.word, model.truncation, data.seeds, context.rng("init"))
    begin_slots(data.cells, z)
    stage = gibbs_aside.put_aside(data, z, repeats_in(data), context)
    n_dk = np.zeros((data.n_docs, model.truncation), dtype=np.int32)
    n_wk = np.zeros((data.n_words, model.truncation), dtype=np.int32)
    count_tables(data.cells, z, n_dk, n_wk)
    begun = gibbs.begun(dealt(data, context, Local, z=z, n_dk=n_dk), n_wk, data.seeds, model)
    return State(
        **vars(begun),
        burst_discount=model.burst_discount,
        burst_concentration=model.burst_concentration,
        burst_stage=stage,
    )


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw topics of all tables, and tables; after the hold all else."""
    repeats = repeats_in(data)
    if state.burst_stage == LEARNING and context.iteration > repeats.join:
        _let_join(state, data, context)
    held = context.iteration <= repeats.start
    of_process = seats.seats_of(state.process, repeats)

    def more(*block: int) -> TableArguments:
        return TableArguments(of_process, held, context.rng("tables", *block))

    moved = gibbs.redraw_topics(state, data, settings, context, _sweep_block, more)
    gibbs.redraw_hyperparameters(state, sized(state, data), settings, context)
    if not held and repeats.there:
        _redraw_process(state, data, settings, context)
    counts = topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    shown = shown_of(state, data)
    return state, Info(*counts, state.alpha, state.gamma, eta, moved, *state.process, *shown)


def repeats_in(data: Data) -> Repeats:
    """Return the repeated words in data that were laid out for bursts."""
    assert data.repeats is not None
    return data.repeats


def sized(state: State, data: Data) -> Data:
    """Return the data as concentrations see them: documents are as long as they have tables."""
    return data._replace(doc_lengths=tables_of_documents(state))


def tables_of_documents(state: State) -> I64:
    """Return the tables of each document, int64 [n_docs], 0 where it is put aside."""
    return seats.tables_of_documents(state.local)


def _redraw_process(state: State, data: Data, settings: Settings, context: Context) -> None:
    """Learn discount and concentration, or draw them, where it is time."""
    iteration = context.iteration
    learns = state.burst_stage == LEARNING and burst_learning.is_due(iteration, repeats_in(data))
    draws = state.burst_stage == DRAWN and iteration % seats.EVERY == 0
    if learns:
        _learn_process(state, data, context)
    elif draws and iteration > settings.inference.hyper_start:
        _draw_process(state, data, context)


def _learn_process(state: State, data: Data, context: Context) -> None:
    """Take the discount and concentration that documents put aside ask for."""
    docs = gibbs_aside.documents_aside(tables_of_documents(state), data)
    learned = gibbs_aside.learn(_held_topics(state, data), docs, data, context)
    state.burst_discount, state.burst_concentration = learned


def _let_join(state: State, data: Data, context: Context) -> None:
    """Learn once more; then all documents have tables, and what was learned is held."""
    _learn_process(state, data, context)
    docs = gibbs_aside.documents_aside(tables_of_documents(state), data)
    joining = gibbs_aside.seats_for(_held_topics(state, data), docs, data, context)
    gibbs_aside.join(state, data, joining)
    state.burst_stage = HELD


def _held_topics(state: State, data: Data) -> gibbs_aside.HeldTopics:
    """Return the topics and priors that place documents."""
    word, doc = state.word_mass * state.tau, state.alpha * state.pi
    n_k = state.n_k + data.seeds.totals(len(state.n_k), state.seeded) + state.word_mass
    return gibbs_aside.HeldTopics(state.n_wk, n_k, word, doc, state.process)


def _draw_process(state: State, data: Data, context: Context) -> None:
    """Draw discount and concentration given all tables."""
    repeats = repeats_in(data)
    found = seated(state, log_stirling(repeats.counts, state.burst_discount))
    drawn = seats.draw_process(state.process, found, repeats, context.rng("bursts"))
    state.burst_discount, state.burst_concentration = drawn


def seated(state: State, stirling: Stirling) -> TableHistograms:
    """Return how many tables there are, as histograms of the corpus."""
    return seats.seated(state.local, stirling)


def _sweep_block(
    piece: Piece, local: Local, block: Block
) -> tuple[Local, tuple[tuple[I32, ...], tuple[int, I64]]]:
    """Sweep a block; answer as ``gibbs.sweep_block`` does."""
    before, prior, dense, rng, more = block.given
    (n_wk,) = block.rows
    n_k = before.copy()
    tables = Tables(local.z, local.n_dk, n_wk, n_k)
    visit = kernels.sweep_block if dense else kernels.sweep_block_by_lists
    how = (more.seats, more.held, rng, more.rng)
    moved = visit(piece.blocks, 0, block.number, tables, prior, *how)
    return local, (block.rows, (moved, n_k - before))


def shown_of(state: State, data: Data) -> tuple[float, float]:
    """Return tables per token, and how many times as likely a word is that was used once."""
    n_tables = int(state.n_k.sum())
    return seats.shown_of(state.process, n_tables, _seen_lengths(state, data), repeats_in(data))


def _seen_lengths(state: State, data: Data) -> I64:
    """Return the tokens of each document [n_docs], 0 where it is put aside."""
    if state.burst_stage != LEARNING:
        return data.doc_lengths
    return np.where(tables_of_documents(state) > 0, data.doc_lengths, 0)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return topics and theta of tables, with a and b beside the topics."""
    found = gibbs.summarise(state, data, settings, context)
    times = shown_of(state, data)[1]
    if state.burst_stage == LEARNING:
        n_aside = len(gibbs_aside.documents_aside(tables_of_documents(state), data))
        found = found.noting(f"{n_aside} documents were still put aside: their theta is the prior")
    return seats.with_process(found, state.process, times, repeats_in(data), context.iteration)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of tokens, tables, topics and sticks (theory/bursts 9).

    Without the tokens of documents that are put aside.
    """
    longer = more_than(np.bincount(_seen_lengths(state, data)))
    repeats = repeats_in(data)._replace(longer=longer)
    stirling = log_stirling(repeats.counts, state.burst_discount)
    found = seated(state, stirling)
    of_topics = gibbs.objective(state, sized(state, data), settings, context)
    return of_topics + seats.log_chance(state.process, found, repeats, stirling)


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return the flaw of a saved draw in words, None where there is none; see ``Backend``."""
    wrong = seats.misseated(state.local, aside=state.burst_stage == LEARNING)
    if wrong is not None:
        return wrong
    aside = gibbs_aside.documents_aside(tables_of_documents(state), data)
    if state.burst_stage == LEARNING and not len(aside):
        return "burst_stage says that documents are put aside, and all documents have tables"
    if len(state.seeded) != len(data.seeds.names):
        return f"seeded has {len(state.seeded)} topics, not {len(data.seeds.names)}"
    return miscounted(state, data.n_words, data.seeds, state.seeded, seats.recounted)


def migrate_state(arrays: Arrays, settings: Settings) -> Arrays:
    """Return the arrays of a draw; those from before documents were put aside drew a and b."""
    return {"burst_stage": np.asarray(DRAWN), **gibbs.migrate_state(arrays, settings)}


plain: Backend[Corpus, Data, Any, Settings] = gibbs.one
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
    pieces=sharded(Local),
    migrate_state=migrate_state,
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = in_chains(one)
