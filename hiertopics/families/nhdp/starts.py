"""The start: flat topics, the tree above them, and q(z) divided among its nodes (theory/nhdp 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Floats
from hiertopics.base.room import beside
from hiertopics.contract.engine import Each, Workers, stacked
from hiertopics.contract.model import Context, Settings
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.corpus.data.shelf import Bags
from hiertopics.families.flat.bursts import UNTIL, Plan, are_wanted
from hiertopics.families.flat.config import Model, PosteriorInference, PosteriorSettings
from hiertopics.families.flat.layout import (
    Data,
    InCells,
    Piece,
    build_piece,
    counts_of,
    pairs_of,
    parts_of,
    sent_from_here,
    some_of,
)
from hiertopics.families.flat.summary import LIVE_TOKENS, document_weights
from hiertopics.families.flat.variational import IN_FIXED_ORDER, Responsibilities, SweepVariant
from hiertopics.families.hdp import burst_learning, bursts, few_bursty, posteriors
from hiertopics.families.hdp import bursty as orders
from hiertopics.families.hdp.few import FEW, are_many
from hiertopics.families.nhdp import (
    branching,
    document_kernels,
    documents,
    flat_starts,
    mixing,
    shape_trials,
)
from hiertopics.families.nhdp.config import VariationalInference, most_leaves, sized
from hiertopics.families.nhdp.flat_starts import BranchContent
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal
from hiertopics.families.nhdp.learning import refit
from hiertopics.families.nhdp.patches import PatchedTable
from hiertopics.families.nhdp.shapes import (
    GROUP,
    OTHER,
    ArrangedTopics,
    Usage,
    arrange,
    arrange_grouped,
    find,
    find_grouped,
    find_within,
    nested,
    numbered,
    ward,
)
from hiertopics.families.nhdp.state import State, counted
from hiertopics.numeric.special import exp_of, log_of

ROOM = 500_000_000
"""Responsibilities of the flat topics, pairs times topics: so many documents do they see."""

ROUNDS = 10
"""Of the theta of documents that the flat topics have not seen."""

FIRST, INSIDE, TOGETHER = 0.3, 0.5, 0.15
"""Shares of the start's iterations. FIRST is for branches that are topics. With names or bursts,
INSIDE is for the topics within each branch, and TOGETHER for the topics of all branches together.
Without names and bursts, all iterations are for the topics within each branch."""

LONG = 500
"""Tokens of a document, on average, from which topics are found in all branches together."""

UNEVEN = 3.0
"""The pairs of the largest branch relative to those of a mean branch, at most."""

OFTEN = 5
"""Iterations of topics together from one update of the concentration of bursts to the next."""

PASSING = 0.1
"""What stopping at branches and groups weighs, of its weight at other inner nodes."""

WORDS_AT_ONCE = 1024
"""Words whose part in q(z) is made at a time."""

FLOOR = 1e-7
"""What a word's chance counts as at least in the mean of logarithms."""


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


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return the state that flat topics of the same seed lead to (theory/nhdp 6)."""
    asked, settings = settings, sized(settings, data.n_docs)
    cuts, sample = settings.model.branches, sampled(data, settings, context)
    if settings.inference.start != "random":
        # What entries take of chance is the same for every seed.
        context = replace(context, seed=0, chain=())
    # Sweeps over a sample are short; their tables of words would travel at each turn of each.
    here = replace(context, workers=context.workers.here)
    n_named, least = len(data.seeds.names), settings.model.least_children
    n_branches = branches_first(sample, asked, data.n_docs)
    if n_branches > 1 and settings.inference.start == "groups":
        flat, arranged = grouped(n_branches, sample, settings, here, dtype)
    elif n_branches > 1:
        branch = branch_of_pairs(n_branches, sample, settings, here, dtype)
        before = round(FIRST * settings.inference.start_iterations)
        flat, branch = topics_within(branch, sample, settings, here, dtype, before)
        arranged = find_within(branch, features(flat, sample), n_named, least)
    else:
        flat = flat_topics(sample, settings, here, dtype)
        merges = ward(features(flat, sample))
        if cuts == "auto":
            arranged = find(merges, Usage(flat.theta, flat.n_k), n_named, least)
        else:
            arranged = arrange(merges, cuts, n_named, least)
    if data.bursts is not None:
        data = documents.at_concentration(data, flat.concentration)
    small = cuts == "auto" and shape_trials.is_small(arranged.shape.n_nodes, data)
    if small and settings.inference.trials and len(flat.theta) == data.n_docs:
        found = in_other_shapes(flat, arranged, data, settings, here, dtype)
        if found is not None:
            return replace(found, local=sent_from_here(found.local, data, context))
    division = divide(flat, arranged, data, settings.inference, dtype)
    del flat  # nobody needs it any more
    return divided(division, arranged, data, settings, context, dtype)


def in_other_shapes(
    flat: AnyTopics,
    arranged_topics: ArrangedTopics,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> State | None:
    """Return the state that trials of other shapes end at; None: the tree stays as it is."""
    phi = flat.phi[:]

    def of_some(some: Data, docs: I64) -> State:
        tables = None if flat.tables is None else flat.tables[in_documents(data, docs)]
        its = FlatTopics(flat.theta[docs], phi, flat.n_k, tables, flat.concentration)
        return begin(its, arranged_topics, some, settings, context, dtype)

    return shape_trials.reshaped(of_some, data, settings, context, dtype)


def in_documents(data: Data, docs: I64) -> Bools:
    """Return which pairs are in some documents, bool [n_pairs]."""
    chosen = np.zeros(data.n_docs, bool)
    chosen[docs] = True
    return np.repeat(chosen, data.cells.cuts[:, -1] - data.cells.cuts[:, 0])


def is_seen_whole(data: Data, settings: Settings) -> bool:
    """Return whether the flat topics see all documents."""
    return len(data.cells.word) <= ROOM // sized(settings, data.n_docs).model.truncation


def sampled(data: Data, settings: Settings, context: Context) -> Data:
    """Return random documents, as many as the flat topics may see, at least one.

    Those of a corpus in files are taken into memory: sweeps over them are many.
    """
    n_pairs = ROOM // settings.model.truncation
    if is_seen_whole(data, settings):
        in_memory = beside(data.cells.word).folder is None
        return data if in_memory else some_of(data, np.arange(data.n_docs))
    order = context.rng("sample").permutation(data.n_docs)
    sizes = np.cumsum((data.cells.cuts[:, -1] - data.cells.cuts[:, 0])[order])
    n_docs = max(1, int(np.searchsorted(sizes, n_pairs, side="right")))
    return some_of(data, np.sort(order[:n_docs]))


def branches_first(sample: Data, settings: Settings, n_docs: int) -> int:
    """Return how many branches are found before topics are; 0: none. n_docs: of the corpus."""
    start, cuts = settings.inference.start, settings.model.branches
    if start not in ("groups", "branches") or (start == "branches" and cuts != "auto"):
        return 0
    return number_first(len(flat_starts.frequent(counts_of(sample))), n_docs, settings)


def number_first(n_words: int, n_docs: int, settings: Settings) -> int:
    """Return the number of branches to find before topics are found; 0: none.

    n_words: words that occur. Few words have no branches; few documents have few.
    """
    cuts = settings.model.branches
    if flat_starts.most_clusters(n_words, most_leaves(settings.model)) < flat_starts.FEWEST_TOPICS:
        return 0
    n_leaves = sized(settings, n_docs).model.truncation
    n_topics = flat_starts.most_clusters(n_words, n_leaves)
    n_branches = flat_starts.number_of_branches(n_topics)
    if cuts == "auto":
        return n_branches
    levels = [n for n in cuts if 1 < n < n_topics]
    if not n_branches or not levels:
        return 0
    return branch_level(levels, n_branches)


def branch_level(levels: Sequence[int], n_branches: int) -> int:
    """Return which number of nodes is nearest to that of the branches, by ratio."""
    return min(levels, key=lambda n: (max(n / n_branches, n_branches / n), n))


def grouped(
    n_branches: int, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> tuple[AnyTopics, ArrangedTopics]:
    """Return the topics of branches, and the tree of groups of these branches.

    Topics are found within branches, or, of long documents, in the whole corpus.
    """
    counts, n_named = counts_of(data), len(data.seeds.names)
    effort = branching.WHOLE._replace(passes=settings.inference.start_passes)
    branch = branching.branches_of(counts, n_branches, data.seeds, effort)
    linked = branching.BranchLinks(counts, branch, n_named)
    find_topics = topics_across if are_long(data.doc_lengths) else topics_within
    flat, inside = find_topics(branch, data, settings, context, dtype)
    described = Features(flat, counts)
    cuts, least = settings.model.branches, settings.model.least_children
    if cuts == "auto":
        return flat, find_grouped(inside, linked.groups(), described, n_named, least)
    levels = [n for n in cuts if 1 < n < len(flat.phi)]
    middle = levels.index(n_branches) if n_branches in levels else 0
    groups = [linked.groups(n - n_named) for n in levels[:middle]]
    finer = levels[middle + 1 :]
    whole = described[slice(None)]
    return flat, arrange_grouped(inside, groups, whole, finer, n_named, least)


def are_long(doc_lengths: I64) -> bool:
    """Return whether the mean length of documents is so large that branches share topics."""
    return int(doc_lengths.sum()) >= LONG * int(np.count_nonzero(doc_lengths))


def part_at_once(corpus: Bags, settings: Settings) -> float:
    """Return the largest part of the flat topics' q(z) that is kept at one time, at most 1.

    Of topics within branches that is q(z) of one branch, or of as many as there are workers.
    """
    used = int((corpus.word_counts > 0).sum())
    n_branches = number_first(used, corpus.n_docs, settings)
    joint = are_wanted(settings) or bool(settings.model.seeds)
    first = settings.inference.start in ("groups", "branches") and n_branches > 1
    if joint or not first or are_long(corpus.doc_lengths):
        return 1.0
    return min(1.0, UNEVEN / n_branches)


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
    before: int = 0,
) -> tuple[AnyTopics, I64]:
    """Return topics that were found within branches, and the branch of each, int64 [T].

    The topics of a branch see its pairs alone. If there are names, the topics of all branches are
    then swept together. For bursts, such sweeps learn the concentration alone: they move tokens
    between branches, so topics are found within branches again, with what was learned. branch:
    int64 [n_pairs], of each pair. before: iterations of the start that were done.
    """
    n_inside, n_joint = iterations_within(data, settings)
    n_parts = len(np.unique(branch))
    total = before + n_parts + n_joint
    context.report(before, total)
    if not are_joint(data):
        return topics_apart(branch, n_inside, data, settings, context, dtype)
    counted = replace(context, report=lambda now, _: context.report(before + n_parts + now, total))
    flat, home = topics_together(branch, data, settings, counted, dtype)
    if data.bursts is None or data.seeds.names:
        return flat, home
    learned, n_iterations = flat.concentration, settings.inference.start_iterations
    del flat
    data = documents.at_concentration(data, learned)
    apart, home = topics_apart(branch, n_iterations, data, settings, context, dtype)
    return apart._replace(concentration=learned), home


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
    branch: I64, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> tuple[FlatTopics[F64], I64]:
    """Return topics that begin within branches and are then swept together, and their branches."""
    n_inside, n_joint = iterations_within(data, settings)
    seen = seen_in_parts(branch, data, context)
    apart, home = topics_apart(seen, n_inside, data, settings, context, dtype)
    order = order_of(
        settings.model.truncation,
        len(data.cells.word),
        settings.inference,
        bursty=data.bursts is not None,
    )
    theta, phi, tables = converted(apart.theta, dtype), turned(apart.phi, dtype), apart.tables
    del apart  # what is float64 goes before q(z) of all pairs is made
    begun = known(theta, phi, data, order, context, dtype)
    if data.bursts is not None and tables is not None:
        bursts.hand_on(begun.local, tables, data)
        changes_of(order).left(begun, data)
        data = data._replace(bursts=plan_together(data.bursts, n_joint))
    flat, live = fit_flat(begun, data, n_joint, order, context)
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
    quiet = replace(context, report=lambda done, total: None, workers=Workers())
    n_topics = flat_starts.n_clusters(counts, model.truncation - len(data.seeds.names))

    def inside(part: BranchContent) -> FlatTopics[F64]:
        share = part.counts.sum() / counts.sum()
        own = Settings(
            structs.replace(model, truncation=max(round(share * n_topics), 2), seeds=None),
            VariationalInference(
                hold=settings.inference.hold,
                start_iterations=n_iterations,
                start_words=settings.inference.start_words,
                responsibilities=settings.inference.responsibilities,
                start="words",
            ),
        )
        data_of_part = part.data._replace(bursts=plan_inside(data.bursts, part, counts))
        return flat_topics(data_of_part, own, quiet, dtype)

    return list(context.map(inside, parts))


ASIDE = -1
"""The branch of pairs that topics within branches do not see."""


def seen_in_parts(branch: I64, data: Data, context: Context) -> I64:
    """Return the branches of pairs, those of documents that are put aside apart."""
    if data.bursts is None or not data.bursts.n_aside:
        return branch
    docs = burst_learning.choose_aside(data, data.bursts.n_aside, context)
    return np.where(in_documents(data, docs), ASIDE, branch)


def plan_inside(plan: Plan | None, part: BranchContent, counts: sparse.csr_array) -> Plan | None:
    """Return the plan of bursts inside a branch, where nothing is learned of them.

    A part of a document is as bursty as the whole if its concentration is that part of the whole's;
    here the mean by tokens. counts: of the whole corpus.
    """
    if plan is None:
        return None
    own, whole = part.counts.sum(axis=1), counts.sum(axis=1)[part.docs]
    share = float((own * own / whole).sum() / own.sum())
    return plan._replace(concentration=plan.concentration * share, n_aside=0, every=None)


def plan_together(plan: Plan, n_iterations: int) -> Plan:
    """Return the plan of bursts of topics that were found within branches, together."""
    join = int(UNTIL * n_iterations)
    return plan._replace(start=0, join=join, every=OFTEN, n_aside=plan.n_aside if join else 0)


def branch_of_pairs(
    n_branches: int, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> I64:
    """Return which of few topics suits each pair best, int64 [n_pairs], the root left out."""
    n_iterations = round(FIRST * settings.inference.start_iterations)
    total = n_iterations + n_branches + iterations_within(data, settings)[1]
    n_topics = max(n_branches, len(data.seeds.names) + 1)
    first = Settings(
        structs.replace(settings.model, truncation=n_topics, branches=[]),
        VariationalInference(
            hold=settings.inference.hold,
            start_iterations=n_iterations,
            responsibilities=settings.inference.responsibilities,
            start="words",
        ),
    )
    told = replace(context, report=lambda now, _: context.report(now, total))
    flat = flat_topics(data, first, told, dtype)
    each = numbered(nested([], len(flat.phi)))
    state = begin(flat, each, data, first, context, dtype)
    for iteration in range(1, first.inference.iterations + 1):
        refit(state, data, first, replace(context, iteration=iteration))
    mixing, n_nodes = state.mixing, state.mixing.shape.n_nodes
    locals_ = (state.local.state_of(number) for number in range(state.local.n_pieces))
    counts = [rows for local in locals_ for rows in documents.counts_of(local, n_nodes)]
    theta = mixing.weights(np.concatenate(counts))[:, 1:]
    phi = np.maximum(state.n_wk, 0, dtype=np.float64)[:, 1:] + settings.model.eta
    phi /= state.n_k[1:] + data.seeds.totals(n_nodes - 1) + settings.model.eta * data.n_words
    return flat_starts.topic_of_pairs(data.cells.cuts, data.cells.word, theta, phi)


def order_of(
    n_topics: int, n_pairs: int, inference: VariationalInference, *, bursty: bool
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
    """Return the result of hdp-cvb0 from this start, and the selected topics of it.

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
    tables = orders.tables_of_pairs(state) if isinstance(state, bursts.WholeState) else None
    # Whatever holds the state, q(z) of its pairs is gone: larger than all that is made of it.
    n_dk = stacked(state.local.step(_counts_alone, None))[:, live]
    theta = document_weights(n_dk, (state.alpha * state.pi)[live])
    phi = np.maximum(state.n_wk[:, live], 0) + (state.word_mass * state.tau)[:, None]
    n_k = np.maximum(state.n_k[live], np.finfo(float).tiny)
    found = FlatTopics(theta, np.ascontiguousarray((phi / phi.sum(axis=0)).T), n_k)
    if isinstance(state, bursts.WholeState):
        found = found._replace(tables=tables, concentration=float(state.burst_concentration))
    return found, live


def _counts_alone(piece: InCells, local: Any, _: None) -> tuple[None, Floats]:
    """Answer with the counts of documents; the piece keeps no state."""
    return None, local.n_dk


def begun_of(begun: Responsibilities, data: Data, settings: PosteriorSettings) -> posteriors.State:
    """Return the state of flat topics before the first sweep."""
    fields = posteriors.start(begun, data, settings)
    if data.bursts is None:
        return posteriors.State(**fields)
    return bursts.WholeState(**fields, **orders.fields(begun, data))


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


def _as_known(piece: InCells, given: PieceMixtures, first: int, last: int) -> Floats:
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


class Features:
    """The mean of each topic and of its context [T, n_words] (theory/nhdp 6.1), by topics.

    counts: float64 [n_docs, n_words]. Those of all topics would be the largest arrays of a start.
    """

    def __init__(self, flat: AnyTopics, counts: sparse.csr_array) -> None:
        self._flat, self._by_word = flat, counts.T

    def __getitem__(self, topics: I64 | slice) -> F64:
        """Return the rows of some topics, float64 [n, n_words]."""
        phi = self._flat.phi[topics]
        found = np.asarray((self._by_word @ self._flat.theta[:, topics]).T)
        total = found.sum(axis=1, keepdims=True)
        found /= np.maximum(total, 1e-300)
        found += phi
        found /= 2
        return np.where(total > 0, found, phi)


def features(flat: AnyTopics, data: Data) -> F64:
    """Return the mean of each topic and of its context, float64 [T, n_words] (theory/nhdp 6.1)."""
    return Features(flat, counts_of(data))[slice(None)]


def begin(
    flat: AnyTopics,
    arranged_topics: ArrangedTopics,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
) -> State:
    """Return the state of these topics as the leaves of this tree (theory/nhdp 6.3)."""
    division = divide(flat, arranged_topics, data, settings.inference, dtype)
    return divided(division, arranged_topics, data, settings, context, dtype)


def divided(
    division: Division,
    arranged_topics: ArrangedTopics,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> State:
    """Return the state of topics that were divided among the nodes of a tree."""
    model = settings.model
    stop = model.stop_weight * np.where(arranged_topics.kind != OTHER, PASSING, 1.0)
    begun = mixing.even(arranged_topics.shape, model.concentration, stop, model.go_weight)
    bounds = pairwise(data.cells.doc_bounds.tolist())
    seats = documents.tables_of_pieces(division.tables, data)
    messages = [
        division._replace(theta=rows_between(division.theta, *ends), tables=own)
        for ends, own in zip(bounds, seats, strict=True)
    ]
    del division
    local = context.place(build_piece, parts_of(data), _divided, Each(messages))
    del messages  # their tables are as large as the counts by word
    return counted(local, begun, data, dtype)


class Division(NamedTuple):
    """Input of q(z); see ``document_kernels.divide``. least: as in ``documents.begin``.

    theta [n_docs, K], at nodes, or ``PatchedTable`` [n_docs, T], of topics; without columns it is
    found anew from the topics: phi [n_words, T], share [T] of all tokens. node: int64 [T], of each
    topic. bursty: whether documents are; tables: of pairs then, None: one for each token.
    """

    theta: Floats | PatchedTable
    leaf_part: Floats
    lent: Floats
    inner_phi: Floats
    ancestry: Ancestry
    least: float
    phi: Floats
    share: Floats
    node: I64
    bursty: bool
    tables: Floats | None


def rows_between(table: Floats | PatchedTable, first: int, last: int) -> Floats | PatchedTable:
    """Return a table of some rows; it has no copy of what it is made of."""
    return table.between(first, last) if isinstance(table, PatchedTable) else table[first:last]


def _divided(piece: Piece, division: Division) -> AnyLocal:
    """Return the first state of a piece; not yet counted."""
    cells, ancestry = piece.cells, division.ancestry
    parts = (division.leaf_part, division.lent, division.inner_phi, ancestry)

    def theta_of(first: int, last: int) -> Floats:
        if isinstance(division.theta, PatchedTable):
            of_topics = division.theta[first:last]
            dtype = division.leaf_part.dtype
            return at_nodes(of_topics, division.node, len(ancestry.parent), dtype)
        if division.theta.shape[1]:
            return division.theta[first:last]
        by_topic = document_kernels.fold(cells, first, last, division.phi, division.share, ROUNDS)
        theta = np.zeros((last - first, len(ancestry.parent)), by_topic.dtype)
        np.add.at(theta.T, division.node, by_topic.T)
        return theta

    def rows(first: int, last: int) -> Floats:
        return document_kernels.divide(cells, first, last, theta_of(first, last), *parts)

    room, tables = beside(cells.word), None
    if division.bursty:
        tables = documents.room_for_tables(piece, division.tables, division.leaf_part.dtype)
    return documents.begin(piece, rows, ancestry, division.least, room, tables)


def divide(
    flat: AnyTopics,
    arranged_topics: ArrangedTopics,
    data: Data,
    inference: VariationalInference,
    dtype: DTypeLike,
) -> Division:
    """Return q(z) of leaves, part of it lent to the nodes above (theory/nhdp 6.3)."""
    shape, at = arranged_topics.shape, arranged_topics.node
    shared = shared_topics(flat, arranged_topics)
    tables = [np.empty((data.n_words, shape.n_nodes), dtype) for _ in range(3)]
    for first in range(0, data.n_words, WORDS_AT_ONCE):
        part = slice(first, first + WORDS_AT_ONCE)
        divided = _divided_words(
            flat, flat.phi[:, part], shared[:, part], arranged_topics, inference
        )
        for table, rows in zip(tables, divided, strict=True):
            table[part] = rows.T
    # theta is of a sample where it is not of all documents: then each piece makes its own.
    theta: Floats | PatchedTable
    phi, seats = np.empty((0, 0), dtype), flat.tables
    if len(flat.theta) != data.n_docs:
        theta, phi, seats = np.empty((data.n_docs, 0), dtype), turned(flat.phi, dtype), None
    elif isinstance(flat.theta, PatchedTable):
        theta = flat.theta
    else:
        theta = at_nodes(flat.theta, at, shape.n_nodes, dtype)
    share = (flat.n_k / flat.n_k.sum()).astype(dtype)
    leaf_part, lent, above = tables
    own = (leaf_part, lent, above, shape.ancestry, inference.least)
    return Division(theta, *own, phi, share, at, data.bursts is not None, seats)


def at_nodes(theta: F64, at: I64, n_nodes: int, dtype: DTypeLike) -> Floats:
    """Return theta of topics as theta of their nodes, [n_docs, n_nodes]; at: int64 [T].

    Some documents at a time: in float64 it would be larger than all that the start keeps.
    """
    found = np.empty((len(theta), n_nodes), dtype)
    for first in range(0, len(theta), documents.DOCS_AT_ONCE):
        docs = slice(first, first + documents.DOCS_AT_ONCE)
        rows = np.zeros((n_nodes, len(theta[docs])))
        np.add.at(rows, at, theta[docs].T)
        found[docs] = rows.T
    return found


def _divided_words(
    flat: AnyTopics,
    phi: F64,
    shared: F64,
    arranged_topics: ArrangedTopics,
    inference: VariationalInference,
) -> tuple[F64, F64, F64]:
    """Return leaf_part, lent and inner_phi of some words, [K, n_words].

    phi [T, n_words], shared [n_inner, n_words]: of these words.
    """
    shape, at = arranged_topics.shape, arranged_topics.node
    above = np.zeros((shape.n_nodes, phi.shape[1]))
    above[shape.inner] = shared
    above[arranged_topics.kind == GROUP] = 0
    # Sums along the path: what all nodes above a leaf would give to a word.
    along, lenders = above.copy(), (arranged_topics.kind != GROUP).astype(np.int64)
    for node in range(1, shape.n_nodes):
        along[node] += along[shape.parent[node]]
        lenders[node] += lenders[shape.parent[node]]
    lending = np.where(shape.n_children[at] == 0, inference.inner_share, 0.0)[:, None]
    depth = np.maximum(lenders[at] - 1, 1)[:, None]
    own = (1.0 - lending) * phi
    total = own + lending / depth * along[at]
    leaf_part, lent = np.zeros_like(above), np.zeros_like(above)
    # Several topics may be one inner node's own: there its words are theirs, by tokens.
    weight = flat.n_k / np.bincount(at, flat.n_k, shape.n_nodes)[at]
    np.add.at(leaf_part, at, weight[:, None] * phi * own / total)
    np.add.at(lent, at, phi * lending / (depth * total))
    return leaf_part, lent, above


def shared_topics(flat: AnyTopics, arranged_topics: ArrangedTopics) -> F64:
    """Return the common words of the topics below each inner node, float64 [n_inner, n_words].

    Their geometric mean, weighted by tokens, scaled to sum to 1 (theory/nhdp 6.2).
    """
    inner = arranged_topics.shape.inner
    weights = arranged_topics.members[inner] * flat.n_k
    weights /= weights.sum(axis=1, keepdims=True)
    by_topic, logs = sparse.csr_array(weights), np.empty((len(inner), flat.phi.shape[1]))
    for first in range(0, logs.shape[1], WORDS_AT_ONCE):
        words = slice(first, first + WORDS_AT_ONCE)
        phi = flat.phi[:, words] + FLOOR
        logs[:, words] = by_topic @ log_of(phi.ravel()).reshape(phi.shape)
    rows = logs - logs.max(axis=1, keepdims=True)
    rows = exp_of(rows.ravel()).reshape(rows.shape)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
