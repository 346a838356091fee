"""HDP backends of order zero with bursty documents: their additions to an iteration.

Each document draws its words from a Pitman-Yor process around its mixture of topics; tables of that
process are what tokens are of the ordinary model (theory/bursts 6, 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64, Floats
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Arrays, Backend, Context, Each, Pieces, Summary, of_pieces
from hiertopics.corpus.data import Bags, Corpus
from hiertopics.families.flat import bursts, variational
from hiertopics.families.flat.bursts import times_as_likely, told
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data, HasCells
from hiertopics.families.flat.prediction import BURSTS_EXTRA, EXTRA, infer_bursty
from hiertopics.families.flat.summary import document_weights
from hiertopics.families.hdp import (
    burst_learning,
    bursty,
    estimates,
    few_bursty,
    posteriors,
    summary as common,
)
from hiertopics.families.hdp.beginnings import Begin, fields_of
from hiertopics.families.hdp.burst_learning import AsideDocument
from hiertopics.families.hdp.bursty import HELD, LEARNING, UNLEARNED, ReturnInput
from hiertopics.numeric.pitman_yor import PitmanYor, marginal

MOST_WORK = 1 << 23
"""Terms of the marginal likelihood of a piece's documents that are added up at a time."""


@dataclass
class BurstyPointState(estimates.State):
    """Point estimates, with b of bursts, and how far it is learned (``hdp.bursty``)."""

    burst_concentration: bursty.BurstValue
    burst_stage: bursty.BurstStage


@dataclass
class BurstyWholeState(posteriors.State):
    """Whole posteriors, with b of bursts, and how far it is learned (``hdp.bursty``)."""

    burst_concentration: bursty.BurstValue
    burst_stage: bursty.BurstStage


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    burst_concentration: b. tables_per_token: of all documents; 1: no bursts. times_as_likely: a
    word of usual chance, used once in a usual document, has so many times that chance to come next.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float
    alpha: float
    gamma: float
    eta: float
    drift: float
    burst_concentration: float
    tables_per_token: float
    times_as_likely: float


class DocumentMoves(NamedTuple):
    """How documents leave and join, for one way to keep q(z).

    left(state, data): after documents were left without tables. join(state, data, returning,
    context): documents that were aside begin where the topics place them. as_bursty: a task that
    gives plain states of pieces a table for each token.
    """

    left: Callable[[Any, Data], None]
    join: Callable[[Any, Data, ReturnInput, Context], None]
    as_bursty: Callable[..., Any]


ROWS = DocumentMoves(bursty.recount, bursty.join, bursty.as_bursty)
ENTRIES = DocumentMoves(few_bursty.recount, few_bursty.join, few_bursty.as_bursty)


def prepare(corpus: Bags, settings: Any) -> Data:
    """Lay a corpus out with the plan of its bursts."""
    return planned(variational.prepare(corpus, settings), settings, settings.inference.iterations)


def planned(data: Data, settings: Any, n_iterations: int) -> Data:
    """Return data with the plan of bursts for a fit of n_iterations."""
    cells = data.cells
    found = bursts.plan(cells.word, cells.tokens, data.n_docs, settings, n_iterations)
    return data._replace(bursts=found)


def begin_iteration(
    state: Any, data: Data, pseudo_counts: PseudoCounts, context: Context, changes: DocumentMoves
) -> None:
    """Put documents aside, begin to refit tables, or let documents join, by the iteration."""
    plan = bursty.plan_of(data)
    if state.burst_stage == HELD:
        return
    if plan.n_aside and context.iteration == 1:
        docs = burst_learning.choose_aside(data, plan.n_aside, context)
        bursty.take_out(state, data, docs)
        changes.left(state, data)
    if context.iteration > plan.start:
        state.burst_stage = LEARNING
    if plan.n_aside and context.iteration > plan.join:
        state.burst_stage = HELD
        phi = topics_of(state, pseudo_counts, data)
        return_input = ReturnInput(
            phi, pseudo_counts.doc.astype(np.float64), bursty.seating_of(state, data)
        )
        changes.join(state, data, return_input, context)


def topics_of(
    state: Any, pseudo_counts: PseudoCounts, data: Data, words: I64 | slice = slice(None)
) -> F64:
    """Return p(w | topic) of words, float64 [n, T], as q(z) sees it."""
    total = state.n_k + data.seeds.totals(state.n_topics) + pseudo_counts.word_total
    counts = np.maximum(state.n_wk[words], 0) + pseudo_counts.word[words, None]
    return np.asarray(counts / total, dtype=np.float64)


def end_iteration(state: Any, data: Data, pseudo_counts: PseudoCounts, context: Context) -> None:
    """Learn b where it is time."""
    plan = bursty.plan_of(data)
    if state.burst_stage != LEARNING or not burst_learning.is_due(context.iteration, plan):
        return
    tables = bursty.tables_of_documents(state)
    aside = np.flatnonzero((tables == 0) & (data.doc_lengths > 0))
    if not len(aside):
        state.burst_concentration = burst_learning.from_fit(tables, data, plan.means.discount)
        return
    seating, doc_prior = bursty.seating_of(state, data), pseudo_counts.doc

    def place(part: AsideDocument) -> F64:
        phi = topics_of(state, pseudo_counts, data, part.words.astype(np.int64)).astype(
            doc_prior.dtype
        )
        return burst_learning.place(part, phi, doc_prior, seating)

    state.burst_concentration = burst_learning.from_aside(aside, data, plan.means, place, context)


def with_bursts(
    plain: Backend[Corpus, Data, Any, Any],
    prior_of: Callable[[Any, Any], PseudoCounts],
    changes: DocumentMoves,
) -> Backend[Corpus, Data, Any, Any]:
    """Return a backend of bursty documents, from one whose order counts tables."""

    def step(state: Any, data: Data, settings: Any, context: Context) -> tuple[Any, Info]:
        """Refit q(z) and tables of every pair; at some iterations the other parameters, too."""
        begin_iteration(state, data, prior_of(state, settings), context, changes)
        state, info = plain.step(state, data, settings, context)
        end_iteration(state, data, prior_of(state, settings), context)
        concentration, per_token, times = shown(state, data)
        return state, Info(
            **info._asdict(),
            burst_concentration=concentration,
            tables_per_token=per_token,
            times_as_likely=times,
        )

    def summarise(state: Any, data: Data, settings: Any, context: Context) -> Summary:
        """Return topics and theta of tables, with a and b beside the topics."""
        found = plain.summarise(state, data, settings, context)
        return with_notes(found, state, data, begun=state.burst_stage > UNLEARNED)

    return replace(
        plain,
        Info=Info,
        objective_name="training log likelihood per token, documents bursty",
        prepare=prepare,
        step=step,
        summarise=summarise,
        infer=infer_bursty,
        extra=EXTRA | BURSTS_EXTRA,
        objective=objective,
    )


def going_on(
    backend: Backend[Corpus, Data, Any, Any], begin: Begin, changes: DocumentMoves
) -> Backend[Corpus, Data, Any, Any]:
    """Return a backend that goes on with further documents, whose bursts are those learned before.

    Pairs of earlier documents have the tables that they had, others one for each token.
    """

    def extend_state(before: Arrays, data: Data, settings: Any, context: Context) -> Any:
        """Return the state of the earlier counts, with further documents under its topics."""
        found = fields_of(before, data, context, begin)
        tables = np.array(data.cells.tokens, np.float32)
        known = np.concatenate(of_pieces(before, "pair_tables"))
        seated = np.flatnonzero(known)
        tables[seated] = known[seated]
        found["local"].step(changes.as_bursty, None)
        hand_on(found["local"], tables, data)
        learned = float(before["burst_concentration"])
        state = backend.State(**found, burst_concentration=learned, burst_stage=HELD)
        changes.left(state, data)
        return state

    return replace(backend, extend_state=extend_state)


def hand_on(local: Pieces[Any, Any], tables: Floats, data: Data) -> None:
    """Give pairs these tables [n_pairs]; the counts are those of before."""
    local.step(_with_tables, Each(np.split(tables, data.cell_bounds[1:-1])))


def _with_tables(piece: HasCells, local: Any, tables: Any) -> tuple[Any, None]:
    local.pair_tables[:] = tables
    return local, None


def shown(state: Any, data: Data) -> tuple[float, float, float]:
    """Return the columns of bursts."""
    plan, tables = bursty.plan_of(data), bursty.tables_of_documents(state)
    there = tables > 0
    length = float(data.doc_lengths[there].mean()) if there.any() else 1.0
    opened = float(tables[there].mean()) if there.any() else 1.0
    process = PitmanYor(plan.means.discount, float(state.burst_concentration))
    return (
        process.concentration,
        opened / length,
        times_as_likely(process, length, opened, plan.chance),
    )


def with_notes(found: Summary, state: Any, data: Data, *, begun: bool) -> Summary:
    """Return a summary whose tree has a and b, with a note on their meaning.

    begun: whether tables are refitted yet.
    """
    plan = bursty.plan_of(data)
    concentration, per_token, times = shown(state, data)
    extra = {**found.tree.extra, "bursts": np.array([plan.means.discount, concentration])}
    found = replace(found, tree=replace(found.tree, extra=extra))
    n_aside = int((bursty.tables_of_documents(state) == 0)[data.doc_lengths > 0].sum())
    repeats = bool((data.cells.tokens > 1).any())
    notes = [told(repeats=repeats, begun=begun, start=plan.start, times=times)]
    if n_aside:
        notes.append(f"{n_aside} documents were still put aside: theta of these is the prior")
    if concentration in (burst_learning.LOWEST, burst_learning.HIGHEST):
        notes.append(f"the concentration of bursts ended at its bound, {concentration:g}")
    return found.noting(*notes)


def objective(state: Any, data: Data, settings: Any, context: Context) -> float:
    """Return the mean log chance of a training token, tables summed over (theory/bursts 4).

    Of documents that are not put aside; where all would take long, of some of them, evenly spaced.
    """
    prior = (state.alpha * state.pi, state.word_mass * state.tau)
    phi = common.word_probabilities(state.n_wk, prior[1])
    process = PitmanYor(bursty.plan_of(data).means.discount, float(state.burst_concentration))
    parts = state.local.ask(_log_likelihood, (phi, prior[0], process))
    return mean_of(parts)


def mean_of(parts: Sequence[tuple[float, float]]) -> float:
    """Return the mean log probability of a token, from sums and numbers of tokens by piece."""
    total, n_tokens = (float(sum(each)) for each in zip(*parts, strict=True))
    return total / max(n_tokens, 1.0)


def _log_likelihood(
    piece: HasCells, local: Any, given: tuple[F64, F64, PitmanYor]
) -> tuple[float, float]:
    """Return the log chance of some documents of a piece, and their tokens."""
    phi, doc_prior, process = given
    there = np.flatnonzero(local.n_dk.sum(axis=1) > 0)
    return log_likelihood(
        piece,
        there,
        lambda doc: document_weights(local.n_dk[doc : doc + 1], doc_prior)[0],
        phi,
        process,
    )


def log_likelihood(
    piece: HasCells, docs: I64, theta_of: Callable[[int], F64], phi: F64, process: PitmanYor
) -> tuple[float, float]:
    """Return the log chance of some of these documents of a piece, evenly spaced, and their tokens.

    theta_of: a document's theta [T]; phi: float64 [n_words, T].
    """
    ends = piece.cells.cuts[:, [0, -1]]
    chosen = evenly(docs[ends[docs, 1] > ends[docs, 0]], piece, MOST_WORK)
    if not len(chosen):
        return 0.0, 0.0
    chances, counts, lengths = [], [], []
    for doc in chosen.tolist():
        own = slice(int(ends[doc, 0]), int(ends[doc, 1]))
        chances.append(phi[piece.cells.word[own]] @ theta_of(doc))
        counts.append(piece.cells.tokens[own].astype(np.int32))
        lengths.append(len(counts[-1]))
    tokens = np.concatenate(counts)
    starts = ends_of(lengths)
    found = marginal(starts, tokens, np.concatenate(chances), process.discount)
    return float(found.log_likelihoods(process.concentration).sum()), float(tokens.sum())


def evenly(docs: I64, piece: HasCells, most: int) -> I64:
    """Return evenly spaced ones of ``docs``, as many as keep their marginal within ``most`` terms.

    docs: int64 [n], documents of the piece.
    """
    cells = piece.cells
    repeated = np.concatenate([[0.0], np.cumsum(np.where(cells.tokens > 1, cells.tokens, 0))])
    work = (repeated[cells.cuts[docs, -1]] - repeated[cells.cuts[docs, 0]]) ** 2
    step = max(1, int(np.ceil(work.sum() / most)))
    return docs[::step]
