"""Flat topics of the start: of the whole corpus, or within its branches (theory/nhdp 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Floats
from hiertopics.contract import Context, Settings, Workers, stacked
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.bursts import UNTIL, BurstPlan
from hiertopics.families.flat.config import Model, PosteriorInference, PosteriorSettings
from hiertopics.families.flat.layout import Data, HasCells, counts_of, pairs_of
from hiertopics.families.flat.summary import LIVE_TOKENS, document_weights
from hiertopics.families.flat.variational import IN_FIXED_ORDER, Responsibilities, SweepVariant
from hiertopics.families.hdp import burst_learning, bursts, bursty as orders, few_bursty, posteriors
from hiertopics.families.hdp.few import FEW, are_many
from hiertopics.families.nhdp import branching, documents, flat_starts
from hiertopics.families.nhdp.config import NhdpVariationalInference
from hiertopics.families.nhdp.flat_starts import BranchContent
from hiertopics.families.nhdp.patches import PatchedTable
from hiertopics.families.nhdp.stages import side_by_side, stages

INSIDE, TOGETHER = 0.5, 0.15
"""With names or bursts, the shares of the start's iterations for the topics within each branch, and
for the topics of all branches together; else all are for the topics within each branch."""

OFTEN = 5
"""Iterations of topics together from one update of the concentration of bursts to the next."""

WORDS_AT_ONCE = 1024
"""Words of a table of topics that are looked at at a time."""

Table = TypeVar("Table", F64, PatchedTable)


class FlatTopics(NamedTuple, Generic[Table]):
    """Result of a flat fit. theta: float64 [n_docs, T], phi: float64 [T, n_words], rows sum to 1.

    Those of topics within branches are ``PatchedTable``, which has rows and columns as arrays do.
    n_k: float64 [T], expected tokens. Where documents are bursty, these are tables; tables: of each
    pair [n_pairs]; concentration: of the bursts.
    """

    theta: Table
    phi: Table
    n_k: F64
    tables: Floats | None = None
    concentration: float = 0.0


AnyTopics: TypeAlias = FlatTopics[F64] | FlatTopics[PatchedTable]


def in_documents(data: Data, docs: I64) -> Bools:
    """Return which pairs are in some documents, bool [n_pairs]."""
    chosen = np.zeros(data.n_docs, bool)
    chosen[docs] = True
    return np.repeat(chosen, data.cells.cuts[:, -1] - data.cells.cuts[:, 0])


def topics_across(
    branch: I64, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> tuple[FlatTopics[F64], I64]:
    """Return topics of all branches together, and the branch of each, int64 [T].

    branch: int64 [n_pairs], of each pair. A topic's branch is that in which it has most tokens; of
    a topic that has a name, that of the name.
    """
    flat = flat_topics(data, settings, context, dtype)
    found = branching.homes(counts_of(data), branch, flat.theta, flat.phi)
    n_named = len(data.seeds.names)
    found[:n_named] = np.arange(n_named)
    return flat, found


def topics_within(
    branch: I64,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> tuple[AnyTopics, I64]:
    """Return topics that were found within branches, and the branch of each, int64 [T].

    The topics of a branch see its pairs alone. If there are names, the topics of all branches are
    then swept together. For bursts, such sweeps learn the concentration alone: they move tokens
    between branches, so topics are found within branches again, with what was learned. branch:
    int64 [n_pairs], of each pair.
    """
    n_inside, _ = iterations_within(data, settings)
    if not are_joint(data):
        return topics_apart(branch, n_inside, data, settings, context, dtype)
    work = work_within(len(np.unique(branch)), data, settings)
    before, after = stages(context, [sum(work[:2]), sum(work[2:])])
    flat, home = topics_together(branch, data, settings, before, dtype)
    if data.bursts is None or data.seeds.names:
        return flat, home
    learned, n_iterations = flat.concentration, settings.inference.start_iterations
    del flat
    data = at_learned(data, learned)
    apart, home = topics_apart(branch, n_iterations, data, settings, after, dtype)
    return apart._replace(concentration=learned), home


def work_within(n_branches: int, data: Data, settings: Settings) -> list[float]:
    """Return the work of each stage of ``topics_within``, responsibilities of each pair."""
    n_topics, (n_inside, n_joint) = settings.model.truncation, iterations_within(data, settings)
    work = [n_inside * n_topics / n_branches]
    if are_joint(data):
        work.append(n_joint * n_topics)
    if data.bursts is not None and not data.seeds.names:
        work.append(settings.inference.start_iterations * n_topics / n_branches)
    return work


def at_learned(data: Data, concentration: float) -> Data:
    """Return data whose bursts have a known concentration: tables are refitted from the beginning.

    Tables wait for topics only as long as the concentration is a guess.
    """
    plan = documents.at_concentration(data, concentration).bursts
    return data._replace(bursts=None if plan is None else plan._replace(start=0))


def topics_apart(
    branch: I64,
    n_iterations: int,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> tuple[FlatTopics[PatchedTable], I64]:
    """Return the topics that branches have by themselves, and the branch of each, int64 [T].

    branch: int64 [n_pairs], of each pair; those of ``ASIDE`` are not seen.
    """
    counts = counts_of(data)
    parts = [part for part in flat_starts.parts(branch, counts) if part.branch != ASIDE]
    flats = topics_inside(parts, n_iterations, data, settings, context, dtype)
    found = [(flat.theta, flat.phi) for flat in flats]
    within = flat_starts.joined(parts, found, counts, data.seeds)
    tables = None
    if data.bursts is not None:
        tables = data.cells.tokens.astype(dtype)
        for part, flat in zip(parts, flats, strict=True):
            tables[branch == part.branch] = flat.tables
    n_k = np.concatenate([flat.n_k for flat in flats])
    return FlatTopics(within.theta, within.phi, n_k, tables), within.branch


def topics_together(
    branch: I64,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> tuple[FlatTopics[F64], I64]:
    """Return topics that begin within branches and are then swept together, and their branches.

    branch: int64 [n_pairs], the branch of each pair. The branches of topics: int64 [n_topics].
    """
    n_inside, n_joint = iterations_within(data, settings)
    work = work_within(len(np.unique(branch)), data, settings)
    within, together = stages(context, work[:2])
    seen = seen_in_parts(branch, data, within)
    apart, home = topics_apart(seen, n_inside, data, settings, within, dtype)
    order = order_of(
        settings.model.truncation,
        len(data.cells.word),
        settings.inference,
        bursty=data.bursts is not None,
    )
    theta, phi, tables = converted(apart.theta, dtype), turned(apart.phi, dtype), apart.tables
    del apart  # what is float64 goes before q(z) of all pairs is made
    begun = known(theta, phi, data, order, together, dtype)
    if data.bursts is not None and tables is not None:
        bursts.hand_on(begun.local, tables, data)
        changes_of(order).left(begun, data)
        data = data._replace(bursts=plan_together(data.bursts, n_joint))
    flat, live = fit_flat(begun, data, n_joint, order, together)
    return flat, home[live]


def are_joint(data: Data) -> bool:
    """Return whether the topics of all branches are swept together, for names or for bursts.

    Names find words there, and the concentration of bursts is learned.
    """
    return data.bursts is not None or bool(data.seeds.names)


def iterations_within(data: Data, settings: Settings) -> tuple[int, int]:
    """Return the iterations of topics within branches, and of the topics of all branches."""
    n_iterations = settings.inference.start_iterations
    if not are_joint(data):
        return n_iterations, 0
    return round(INSIDE * n_iterations), round(TOGETHER * n_iterations)


def topics_inside(
    parts: Sequence[BranchContent],
    n_iterations: int,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> list[FlatTopics[F64]]:
    """Return the topics of each branch by itself, as many as are in proportion to its tokens."""
    model, counts = settings.model, counts_of(data)
    reports = side_by_side(context, [int(part.counts.sum()) for part in parts])
    n_topics = flat_starts.n_clusters(counts, model.truncation - len(data.seeds.names))

    def inside(task: tuple[BranchContent, Callable[[int, int], None]]) -> FlatTopics[F64]:
        part, report = task
        share = part.counts.sum() / counts.sum()
        own = Settings(
            structs.replace(model, truncation=max(round(share * n_topics), 2), seeds=None),
            NhdpVariationalInference(
                hold=settings.inference.hold,
                start_iterations=n_iterations,
                start_words=settings.inference.start_words,
                responsibilities=settings.inference.responsibilities,
                start="words",
            ),
        )
        data_of_part = part.data._replace(bursts=plan_inside(data.bursts, part, counts))
        alone = replace(context, report=report, workers=Workers())
        return flat_topics(data_of_part, own, alone, dtype)

    return list(context.map(inside, list(zip(parts, reports, strict=True))))


ASIDE = -1
"""The branch of pairs that topics within branches do not see."""


def seen_in_parts(branch: I64, data: Data, context: Context) -> I64:
    """Return the branches of pairs, those of documents that are put aside apart.

    int64 [n_pairs], as ``branch``.
    """
    if data.bursts is None or not data.bursts.n_aside:
        return branch
    docs = burst_learning.choose_aside(data, data.bursts.n_aside, context)
    return np.where(in_documents(data, docs), ASIDE, branch)


def plan_inside(
    plan: BurstPlan | None, part: BranchContent, counts: sparse.csr_array
) -> BurstPlan | None:
    """Return the plan of bursts inside a branch, where nothing is learned of them.

    A part of a document is as bursty as the whole if its concentration is that part of the whole's;
    here the mean by tokens. counts: of the whole corpus, CSR [n_docs, n_words].
    """
    if plan is None:
        return None
    own, whole = part.counts.sum(axis=1), counts.sum(axis=1)[part.docs]
    share = float((own * own / whole).sum() / own.sum())
    return plan._replace(concentration=plan.concentration * share, n_aside=0, every=None)


def plan_together(plan: BurstPlan, n_iterations: int) -> BurstPlan:
    """Return the plan of bursts of topics that were found within branches, together."""
    join = int(UNTIL * n_iterations)
    return plan._replace(start=0, join=join, every=OFTEN, n_aside=plan.n_aside if join else 0)


def order_of(
    n_topics: int, n_pairs: int, inference: NhdpVariationalInference, *, bursty: bool
) -> SweepVariant:
    """Return the way to keep q(z) for n pairs and flat topics."""
    kept = inference.responsibilities
    if kept == "few" or (kept == "auto" and are_many(n_pairs, n_topics)):
        return few_bursty.FEW if bursty else FEW
    return orders.IN_FIXED_ORDER if bursty else IN_FIXED_ORDER


def changes_of(variant: SweepVariant) -> bursts.DocumentMoves:
    """Return how bursty documents leave and join."""
    return bursts.ENTRIES if variant is few_bursty.FEW else bursts.ROWS


def flat_topics(
    data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32
) -> FlatTopics[F64]:
    """Return the topics of a fit of hdp-cvb0 that have at least one expected token."""
    n_pairs, bursty = len(data.cells.word), data.bursts is not None
    order = order_of(settings.model.truncation, n_pairs, settings.inference, bursty=bursty)
    begun = begin_flat(data, settings, order, context, dtype)
    return fit_flat(begun, data, settings.inference.start_iterations, order, context)[0]


def fit_flat(
    begun: Responsibilities, data: Data, n_iterations: int, variant: SweepVariant, context: Context
) -> tuple[FlatTopics[F64], I64]:
    """Return the result of hdp-cvb0 from this start, and the selected topics of it, int64 [n].

    Topics that have names are among them, and first, even without a token.
    """
    flat = Settings(Model(truncation=begun.n_topics), PosteriorInference())
    state = begun_of(begun, data, flat)
    for iteration in range(1, n_iterations + 1):
        context.report(iteration - 1, n_iterations)
        now = replace(context, iteration=iteration)
        step_flat(state, data, flat, now, variant)
    named = np.arange(begun.n_topics) < len(data.seeds.names)
    live = np.flatnonzero(named | (state.n_k >= LIVE_TOKENS))
    if not len(live):
        live = np.array([int(np.argmax(state.n_k))])
    tables = orders.tables_of_pairs(state) if isinstance(state, bursts.BurstyWholeState) else None
    # Whatever holds the state, q(z) of its pairs is gone: larger than all that is made of it.
    n_dk = stacked(state.local.step(_counts_alone, None))[:, live]
    theta = document_weights(n_dk, (state.alpha * state.pi)[live])
    phi = np.maximum(state.n_wk[:, live], 0) + (state.word_mass * state.tau)[:, None]
    n_k = np.maximum(state.n_k[live], np.finfo(float).tiny)
    found = FlatTopics(theta, np.ascontiguousarray((phi / phi.sum(axis=0)).T), n_k)
    if isinstance(state, bursts.BurstyWholeState):
        found = found._replace(tables=tables, concentration=float(state.burst_concentration))
    return found, live


def _counts_alone(piece: HasCells, local: Any, _: None) -> tuple[None, Floats]:
    """Answer with the counts of documents; the piece keeps no state."""
    return None, local.n_dk


def begun_of(begun: Responsibilities, data: Data, settings: PosteriorSettings) -> posteriors.State:
    """Return the state of flat topics before the first sweep."""
    fields = posteriors.start(begun, data, settings)
    if data.bursts is None:
        return posteriors.State(**fields)
    return bursts.BurstyWholeState(**fields, **orders.fields(begun, data))


def step_flat(
    state: posteriors.State,
    data: Data,
    settings: PosteriorSettings,
    context: Context,
    variant: SweepVariant,
) -> None:
    """Do an iteration of flat topics; with bursty documents, also update their bursts."""
    bursty = data.bursts is not None
    if bursty:
        prior = posteriors.prior_of(state, settings)
        bursts.begin_iteration(state, data, prior, context, changes_of(variant))
    posteriors.step(state, data, settings, context, variant, posteriors.IN_FIXED_ORDER)
    if bursty:
        bursts.end_iteration(state, data, posteriors.prior_of(state, settings), context)


def begin_flat(
    data: Data, settings: Settings, variant: SweepVariant, context: Context, dtype: DTypeLike
) -> Responsibilities:
    """Return q(z) of flat topics before the first sweep: by words, or drawn."""
    n_topics = settings.model.truncation
    if settings.inference.start == "random":
        return variant.start(data, n_topics, context, dtype)
    n_words = settings.inference.start_words
    return flat_starts.by_words(counts_of(data), data, n_topics, variant, context, dtype, n_words)


class PieceMixtures(NamedTuple):
    """theta [n_docs, T] of a piece's documents and phi [n_words, T]."""

    theta: Floats
    phi: Floats
    seeds: Seeds


def known(
    theta: Floats,
    phi: Floats,
    data: Data,
    variant: SweepVariant,
    context: Context,
    dtype: DTypeLike,
) -> Responsibilities:
    """Return q(z) proportional to theta [n_docs, T] phi [n_words, T], and its counts."""
    rows = np.split(theta, data.cells.doc_bounds[1:-1])
    messages = [PieceMixtures(own, phi, data.seeds) for own in rows]
    return variant.begun(data, _as_known, messages, phi.shape[1], context, dtype)


def _as_known(piece: HasCells, given: PieceMixtures, first: int, last: int) -> Floats:
    doc, word = pairs_of(piece.cells, first, last)
    rows = given.theta[doc] * given.phi[word]
    rows /= rows.sum(axis=1, keepdims=True)
    given.seeds.settle(rows, word)
    return np.asarray(rows)


def converted(theta: F64 | PatchedTable, dtype: DTypeLike) -> Floats:
    """Return rows as an array [n, T] of this type; some rows are float64 at a time."""
    found = np.empty(theta.shape, dtype)
    for first in range(0, len(theta), documents.DOCS_AT_ONCE):
        rows = slice(first, first + documents.DOCS_AT_ONCE)
        found[rows] = theta[rows]
    return found


def turned(phi: F64 | PatchedTable, dtype: DTypeLike) -> Floats:
    """Return phi [T, n_words] as [n_words, T] of this type; some words are float64 at a time."""
    found = np.empty(phi.shape[::-1], dtype)
    for first in range(0, len(found), WORDS_AT_ONCE):
        words = slice(first, first + WORDS_AT_ONCE)
        found[words] = phi[:, words].T
    return found
