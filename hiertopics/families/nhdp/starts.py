"""The start: branches, flat topics, and the tree above them (theory/nhdp 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.room import beside
from hiertopics.contract.model import Context, Settings
from hiertopics.corpus.data.shelf import Bags
from hiertopics.families.flat.bursts import are_wanted
from hiertopics.families.flat.layout import Data, counts_of, sent_from_here, some_of
from hiertopics.families.nhdp import branching, documents, flat_starts, shape_trials
from hiertopics.families.nhdp.config import MOST_LEAVES, NhdpVariationalInference, sized
from hiertopics.families.nhdp.dividing import begin, divide, divided
from hiertopics.families.nhdp.first_topics import (
    AnyTopics,
    FlatTopics,
    flat_topics,
    in_documents,
    topics_across,
    topics_within,
    work_within,
)
from hiertopics.families.nhdp.learning import refit
from hiertopics.families.nhdp.shapes import (
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
from hiertopics.families.nhdp.stages import stages
from hiertopics.families.nhdp.state import State

ROOM = 500_000_000
"""Responsibilities of the flat topics, pairs times topics: so many documents do they see."""

FIRST = 0.3
"""The share of the start's iterations for branches that are topics."""

LONG = 250
"""Tokens of a document, on average, from which topics are found in all branches together."""

COST_WITHIN, COST_ACROSS = 12, 2
"""Multiplications of a factorisation that take as long as one responsibility of a topic within a
branch, and of one of all topics, as measured. Progress is reported by them."""

UNEVEN = 3.0
"""The pairs of the largest branch relative to those of a mean branch, at most."""


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
        first = FIRST * settings.inference.start_iterations * n_branches
        within = sum(work_within(n_branches, sample, settings))
        before, after = stages(here, [first, within])
        branch = branch_of_pairs(n_branches, sample, settings, before, dtype)
        flat, branch = topics_within(branch, sample, settings, after, dtype)
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

    n_words: words that occur. With few words there are none; few documents, or few
    leaves, have few.
    """
    cuts = settings.model.branches
    if flat_starts.most_clusters(n_words, MOST_LEAVES) < flat_starts.FEWEST_TOPICS:
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

    Topics are found within branches, or, of long documents, in the whole corpus. Branches are
    linked by their probable pairs; within them topics are found in the sharper ones.
    """
    counts, n_named = counts_of(data), len(data.seeds.names)
    effort = branching.WHOLE._replace(passes=settings.inference.start_passes)
    across = are_long(data.doc_lengths)
    work = COST_WITHIN * sum(work_within(n_branches, data, settings))
    if across:
        work = COST_ACROSS * settings.inference.start_iterations * settings.model.truncation
    first, second = stages(context, [effort.multiplications(n_branches, counts), work])
    pairs = branching.branches_of(counts, n_branches, data.seeds, effort, first.report)
    branch = pairs.probable()
    linked = branching.BranchLinks(counts, branch, n_named)
    flat: AnyTopics
    if across:
        flat, inside = topics_across(branch, data, settings, second, dtype)
    else:
        flat, inside = topics_within(pairs.sharp(), data, settings, second, dtype)
    described = Features(flat, counts)
    cuts, least = settings.model.branches, settings.model.least_children
    if cuts == "auto":
        group = linked.groups()
        return flat, find_grouped(linked.joined(group)[inside], group, described, n_named, least)
    levels = [n for n in cuts if 1 < n < len(flat.phi)]
    middle = levels.index(n_branches) if n_branches in levels else 0
    groups = [linked.groups(n - n_named) for n in levels[:middle]]
    finer = levels[middle + 1 :]
    whole = described[slice(None)]
    return flat, arrange_grouped(inside, groups, whole, finer, n_named, least)


def are_long(doc_lengths: I64) -> bool:
    """Return whether the mean length of documents is so large that branches share topics.

    doc_lengths: int64 [n_docs], tokens; documents without any do not count.
    """
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


def branch_of_pairs(
    n_branches: int, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> I64:
    """Return which of few topics suits each pair best, int64 [n_pairs], the root left out."""
    n_iterations = round(FIRST * settings.inference.start_iterations)
    n_topics = max(n_branches, len(data.seeds.names) + 1)
    first = Settings(
        structs.replace(settings.model, truncation=n_topics, branches=[]),
        NhdpVariationalInference(
            hold=settings.inference.hold,
            start_iterations=n_iterations,
            responsibilities=settings.inference.responsibilities,
            start="words",
        ),
    )
    flat = flat_topics(data, first, context, dtype)
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
