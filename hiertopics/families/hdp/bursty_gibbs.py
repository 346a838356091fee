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
from hiertopics.base.axes import Axes
from hiertopics.contract import Arrays, Backend, Chains, Context, Summary
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import putting_aside, repeats_of
from hiertopics.families.flat.layout import Data, dealt, sharded
from hiertopics.families.flat.prediction import BURSTS_EXTRA, EXTRA, infer_bursty
from hiertopics.families.flat.seat_kernels import begin_slots, count_tables
from hiertopics.families.flat.summary import topic_counts
from hiertopics.families.flat.tokens import in_chains, miscounted
from hiertopics.families.hdp import burst_stages, gibbs, gibbs_aside
from hiertopics.families.hdp.burst_stages import DocumentAccess, repeats_in
from hiertopics.families.hdp.gibbs import Settings
from hiertopics.families.hdp.gibbs_aside import DRAWN, LEARNING


class Local(NamedTuple):
    """Per-document state of a piece: z int32 [n_tokens], n_dk int32 [n_docs, T].

    z: topics of tables, in the first slots of each pair; -1 in the others (``flat.seat_kernels``).
    """

    z: Annotated[I32, Axes("n_tokens", least=-1, below="truncation")]
    n_dk: Annotated[I32, Axes("n_docs", "truncation", least=0)]


@dataclass(kw_only=True)
class State(burst_stages.StagedDraw, gibbs.State):
    """A draw whose counts are of tables, with the process of documents."""


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
        burst_discount=model.burst_process.discount,
        burst_concentration=model.burst_process.concentration,
        burst_stage=stage,
    )


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw topics of all tables, and tables; after the hold all else."""
    repeats = repeats_in(data)
    burst_stages.join_where_due(state, data, context, DOCUMENTS)
    held = context.iteration <= repeats.start
    of_process = seats.seats_of(state.process, repeats)

    def seating(*block: int) -> tuple[Any, ...]:
        return of_process, held, context.rng("tables", *block)

    moved = gibbs.redraw_topics(state, data, settings, context, seating=seating)
    gibbs.redraw_hyperparameters(state, sized(state, data), settings, context)
    burst_stages.redraw_process(state, data, settings, context, DOCUMENTS)
    counts = topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    shown = burst_stages.columns_of(state, data, int(state.n_k.sum()), DOCUMENTS)
    return state, Info(*counts, state.alpha, state.gamma, eta, moved, *shown)


def sized(state: State, data: Data) -> Data:
    """Return the data as concentrations see them: documents are as long as they have tables."""
    return data._replace(doc_lengths=tables_of_documents(state))


def tables_of_documents(state: State) -> I64:
    """Return the tables of each document, int64 [n_docs], 0 where it is put aside."""
    return seats.tables_of_documents(state.local)


DOCUMENTS = DocumentAccess(
    tables=tables_of_documents,
    seated=lambda state, stirling: seats.seated(state.local, stirling),
    pairs=gibbs_aside.pairs_of,
    seeded=lambda state, data: data.seeds.totals(len(state.n_k), state.seeded),
    place=gibbs_aside.place,
)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return topics and theta of tables, with a and b beside the topics."""
    found = gibbs.summarise(state, data, settings, context)
    return burst_stages.with_bursts(found, state, data, context, DOCUMENTS)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of tokens, tables, topics and sticks (theory/bursts 9).

    Without the tokens of documents that are put aside.
    """
    of_topics = gibbs.objective(state, sized(state, data), settings, context)
    return of_topics + burst_stages.log_chance(state, data, DOCUMENTS)


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return the flaw of a saved draw in words, None where there is none; see ``Backend``."""
    wrong = seats.misseated(state.local, aside=state.burst_stage == LEARNING)
    wrong = wrong or burst_stages.misstaged(state, data, DOCUMENTS)
    if wrong is not None:
        return wrong
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
