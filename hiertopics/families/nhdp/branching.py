"""Few branches that come back, and groups of them (theory/nhdp 6.1).

The corpus and subsamples of its documents are factorised, each three times, with their counts
weighted in three ways. What all factorisations have in common are the branches, and branches whose
documents are about the same stand in one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from hiertopics.base.arrays import F64, I64
from hiertopics.base.stretches import rows_of
from hiertopics.contract.model import unreported
from hiertopics.corpus.data import Seeds, seedwords
from hiertopics.families.nhdp.shapes import labels_at
from hiertopics.numeric import factor_kernels, factors

WEIGHTS: tuple[Callable[[F64], F64], ...] = (
    np.ones_like,
    lambda tokens: 1 + factors.logarithms(tokens),
    lambda tokens: tokens,
)
"""Weights of a word in a document by its number of tokens: presence, damped, counts."""

PRIOR = 1e-3
"""Tokens that a document has of each branch besides its own, where branches are linked."""

SMOOTHING = 1.0
"""Tokens that a document has of each branch besides its own, where topics are found within them."""

SHARPNESS = 2
"""The power of theta by which pairs belong to branches, where topics are found within them."""

CHANCE = 1e-12
"""Probability of a word in a branch without a token of it."""


EVERY = 10
"""A subsample leaves out every tenth document."""


FASTER = 5
"""Multiplications of a factorisation that take as long as one responsibility of a pair."""


DENSE = 2 / 3
"""Time of a multiplication of dense factors relative to one of a sparse matrix with them."""


LARGE, MOST_GROUPS = 1.5, 8
"""A group of several branches is divided if it holds more than ``LARGE`` times the tokens of the
mean group and there are fewer than ``MOST_GROUPS``: readers find several subjects in such a
group."""

NEARLY_ALL = 0.9
"""A branch that holds so much of the tokens of its group takes up the other branches of the group:
a level above it would divide nothing."""


class Effort(NamedTuple):
    """How long branches are looked for.

    powers, passes: of ``factors``. subsamples: factorised besides the corpus, at most EVERY.
    rounds: that divide documents among branches. vectors: singular ones, in which documents are
    compared.
    """

    powers: int = factors.POWERS
    passes: int = 50
    subsamples: int = EVERY
    rounds: int = 20
    vectors: int = 50

    def work(self, n_branches: int) -> float:
        """Return the work for each pair of a corpus, in responsibilities of a pair."""
        return self._of_pairs(n_branches) / FASTER

    def multiplications(self, n_branches: int, counts: sparse.csr_array) -> float:
        """Return the work for each pair of a corpus, in multiplications with its counts.

        Work on dense factors grows with documents and words, not with pairs: of a corpus with many
        rare words it is most of the work. counts: [n_docs, n_words].
        """
        n_docs, n_words = counts.shape
        wide = n_branches + factors.FURTHER
        rows = (n_docs + n_words) * 2 * self.passes * n_branches**2
        rows += n_words * 2 * (self.powers + 1) * wide**2
        dense = DENSE * len(WEIGHTS) * (1 + self.subsamples) * rows
        return self._of_pairs(n_branches) + dense / max(counts.nnz, 1)

    def _of_pairs(self, n_branches: int) -> float:
        products = 2 * (self.powers + 1)
        wide = n_branches + factors.FURTHER
        factorisation = products * wide + 2 * self.passes * n_branches
        compared = products * (self.vectors + factors.FURTHER)
        n_factorisations = len(WEIGHTS) * (1 + self.subsamples)
        return n_factorisations * factorisation + self.rounds * n_branches + compared


WHOLE = Effort()
"""That of a fit."""

GRID = 2.0**20
"""Distances are rounded to 1 / GRID before they are compared."""


class PairBranches(NamedTuple):
    """Held branches, and which of them each pair of document and word belongs to.

    counts: float64 [n_docs, n_words]; phi: float64 [n_branches, n_words], rows sum to 1; rounds: in
    which a document's shares of the branches are found. Branches are linked by their probable
    pairs. Topics are found in sharper ones, by which a document has a part in fewer branches.
    """

    counts: sparse.csr_array
    phi: F64
    rounds: int

    def probable(self) -> I64:
        """Return the most probable branch of each pair, int64 [n_pairs]."""
        return self._best(PRIOR, 1)

    def sharp(self) -> I64:
        """Return the branch of each pair, int64 [n_pairs], where large shares weigh more."""
        return self._best(SMOOTHING, SHARPNESS)

    def _best(self, prior: float, power: int) -> I64:
        return factor_kernels.best_parts(
            self.counts.indptr.astype(np.int64),
            self.counts.indices.astype(np.int32),
            self.counts.data,
            np.ascontiguousarray(self.phi.T),
            prior,
            self.rounds,
            power,
        )


def branches_of(
    counts: sparse.csr_array,
    n_branches: int,
    seeds: Seeds,
    effort: Effort = WHOLE,
    report: Callable[[int, int], None] = unreported,
) -> PairBranches:
    """Return the branches of a corpus, at most n_branches, and of its pairs.

    counts: float64 [n_docs, n_words]. The first branches are those of the names of ``seeds``, and
    no other has their words. report: is told how many of how many factorisations are done.
    """
    phi = branch_topics(counts, max(n_branches, len(seeds.names) + 1), seeds, effort, report)
    own = phi[seeds.name, seeds.word]
    phi[:, seeds.word] = CHANCE
    phi[seeds.name, seeds.word] += own
    phi /= phi.sum(axis=1, keepdims=True)
    return PairBranches(counts, phi, effort.rounds)


def branch_topics(
    counts: sparse.csr_array,
    n_branches: int,
    seeds: Seeds = seedwords.NONE,
    effort: Effort = WHOLE,
    report: Callable[[int, int], None] = unreported,
) -> F64:
    """Return the words of branches that several factorisations have in common, rows sum to 1.

    float64 [n_found, n_words]; counts: CSR [n_docs, n_words]. The rows of all factors, each of
    length 1, and one for each name are gathered in as many clusters by Ward's linkage; a branch is
    the mean of a cluster. The first are those of the names: of the clusters that have their rows.
    """
    rarity, n_names = rarities(counts), len(seeds.names)
    # Room for all of them at once: parts beside a copy of them would be twice as large.
    most = n_names + (1 + effort.subsamples) * len(WEIGHTS) * n_branches
    rows, end = np.empty((most, counts.shape[1])), n_names
    rows[:n_names] = factors.unit(_around(counts, seeds) * rarity)
    for done, some in enumerate(chain([counts], subsamples(counts, effort))):
        report(done, 1 + effort.subsamples)
        found = factor_rows(some, n_branches, effort)
        rows[end : end + len(found)] = found
        end += len(found)
    rows = rows[:end]
    labels = clusters(rows, n_branches)
    means = np.array([rows[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    # Names of one cluster differ by their own rows.
    named = means[labels[:n_names]] + rows[:n_names]
    rest = np.delete(means, np.unique(labels[:n_names]), axis=0)
    topics = np.concatenate([named, rest]) / np.maximum(rarity, 1 / GRID) + CHANCE
    return np.asarray(topics / topics.sum(axis=1, keepdims=True))


def subsamples(counts: sparse.csr_array, effort: Effort) -> Iterator[sparse.csr_array]:
    """Yield the counts of each subsample, float64 [n_docs of the subsample, n_words].

    Subsample i leaves out document i and every EVERY-th document after it. A subsample without
    documents is not yielded.
    """
    place = np.arange(counts.shape[0]) % EVERY
    for number in range(min(effort.subsamples, counts.shape[0])):
        kept = np.flatnonzero(place != number)
        if len(kept):
            yield sparse.csr_array(counts[kept])


def factor_rows(counts: sparse.csr_array, n_branches: int, effort: Effort = WHOLE) -> F64:
    """Return the factors of the counts in all weightings, float64 [k, n_words], of length 1."""
    rarity, found = rarities(counts), []
    for weigh in WEIGHTS:
        weighted = _weighted(counts, weigh(counts.data) * rarity[counts.indices])
        basis = factors.singular(weighted, n_branches, effort.powers)
        found.append(factors.unit(factors.non_negative(weighted, basis, effort.passes)[1]))
    return np.concatenate(found)


def rarities(counts: sparse.csr_array) -> F64:
    """Return log((1 + D) / (1 + df)) of each word, float64 [n_words]."""
    n_docs_with = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)
    return factors.logarithms((1.0 + counts.shape[0]) / (1.0 + n_docs_with))


def homes(counts: sparse.csr_array, branch: I64, theta: F64, phi: F64) -> I64:
    """Return the branch in which each topic has most tokens, int64 [T]; of equal ones the first.

    counts: float64 [n_docs, n_words]; branch: int64 [n_pairs], of each pair; theta: float64
    [n_docs, T]; phi: float64 [T, n_words].
    """
    tokens = factor_kernels.tokens_in_parts(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data,
        branch,
        np.ascontiguousarray(theta),
        np.ascontiguousarray(phi.T),
        int(branch.max(initial=0)) + 1,
    )
    share = tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(rounded(share).argmax(axis=1), np.int64)


def _around(counts: sparse.csr_array, seeds: Seeds) -> F64:
    """Return the words of the documents that have seed words, by these, [n_names, n_words]."""
    found = np.zeros((len(seeds.names), counts.shape[1]))
    lengths = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    for name in range(len(found)):
        seen = np.asarray(counts[:, seeds.word[seeds.name == name]].sum(axis=1)).ravel()
        found[name] = counts.T @ (seen / lengths)
    return found


class BranchLinks:
    """Branches, linked by the subjects of their documents.

    A branch is where its documents are, by the roots of their tokens, in singular vectors of the
    weighted corpus, less the mean of all branches. counts: [n_docs, n_words]; branch: int64
    [n_pairs], of each pair. The first ``n_named`` branches are in no group with another.
    """

    def __init__(
        self, counts: sparse.csr_array, branch: I64, n_named: int = 0, effort: Effort = WHOLE
    ) -> None:
        doc = rows_of(counts.indptr)
        shape = (counts.shape[0], max(int(branch.max(initial=-1)) + 1, n_named))
        tokens = sparse.coo_array((counts.data, (doc, branch)), shape=shape).tocsr()
        tokens.sum_duplicates()
        held = np.asarray(tokens.sum(axis=0)).ravel()
        held[:n_named] = 0
        self._rest, self._n_branches = np.flatnonzero(held), len(held)
        tokens.data = np.sqrt(tokens.data)
        places = factors.unit(np.ascontiguousarray(tokens.T @ embedded(counts, effort))[self._rest])
        share = held[self._rest] / max(float(held.sum()), 1.0)
        self._places = factors.unit(places - factor_kernels.product(share[None], places))
        self._share = share

    def groups(self, n_groups: int | None = None) -> I64:
        """Return the group of each branch, int64 [n_branches], by Ward's linkage.

        n_groups: besides those of names; None: the root of the number of branches, and one more,
        after which large groups are divided.
        """
        if n_groups is None:
            few = clusters(self._places, round(len(self._rest) ** 0.5) + 1)
            labels = divided(few, self._places, self._share)
        else:
            labels = clusters(self._places, max(n_groups, 1))
        found = np.arange(self._n_branches)
        found[self._rest] = self._n_branches + labels
        return found

    def joined(self, group: I64) -> I64:
        """Return the branch that takes up each branch, int64 [n_branches]; mostly itself.

        group: int64 [n_branches], the group of each branch. If one branch holds ``NEARLY_ALL`` of
        the tokens of its group, it takes up all branches of the group (theory/nhdp 6.1).
        """
        found = np.arange(self._n_branches)
        share = np.zeros(self._n_branches)
        share[self._rest] = self._share
        for name in np.unique(group[self._rest]):
            inside = np.flatnonzero(group == name)
            largest = inside[share[inside].argmax()]
            if share[largest] >= NEARLY_ALL * share[inside].sum():
                found[inside] = largest
        return found


def divided(group: I64, places: F64, share: F64) -> I64:
    """Return the groups after large ones were divided, int64 [n].

    The largest group of several branches is divided into the two that Ward's linkage joined last,
    and so on while it holds more than ``LARGE`` times the tokens of the mean of the first groups
    (theory/nhdp 6.1). group: int64 [n], the group of each branch, numbered from 0; places: float64
    [n, k]; share: float64 [n], of the tokens.
    """
    group, most = group.copy(), LARGE / (group.max(initial=0) + 1)
    while group.max(initial=0) + 1 < MOST_GROUPS:
        held = np.bincount(group, share)
        held[np.bincount(group) < 2] = 0.0
        largest = int(held.argmax())
        if held[largest] <= most:
            break
        inside = np.flatnonzero(group == largest)
        group[inside[clusters(places[inside], 2) == 1]] = group.max() + 1
    return group


def embedded(counts: sparse.csr_array, effort: Effort = WHOLE) -> F64:
    """Return documents by their words in singular vectors, float64 [n_docs, k], of length 1."""
    rarity = rarities(counts) + 1
    damped = 1 + factors.logarithms(counts.data)
    weighted = _weighted(counts, damped * rarity[counts.indices])
    n_vectors = min(effort.vectors, min(weighted.shape) - 1) or 1
    found = factors.singular(weighted, n_vectors, effort.powers)
    return factors.unit(found.left * found.values)


def _weighted(counts: sparse.csr_array, weights: F64) -> sparse.csr_array:
    """Return rows of these weights, each of length 1."""
    doc = rows_of(counts.indptr)
    length = np.sqrt(np.bincount(doc, weights * weights, counts.shape[0]))
    scaled = weights / np.maximum(length, 1e-300)[doc]
    return sparse.csr_array((scaled, counts.indices, counts.indptr), shape=counts.shape)


def clusters(rows: F64, n_clusters: int) -> I64:
    """Return the cluster of each row, int64 [n], numbered by their first row (Ward's linkage).

    Distances are rounded, so that noise in the last bits decides nothing.
    """
    if len(rows) <= n_clusters:
        return np.arange(len(rows))
    products = factors.inner_products(rows)
    squares = products.diagonal()
    apart = np.maximum(squares[:, None] + squares - 2 * products, 0)
    distances = rounded(np.sqrt(apart[np.triu_indices(len(rows), 1)]))
    labels = labels_at(np.asarray(linkage(distances, "ward")), n_clusters)
    order = np.unique(labels, return_index=True)[1]
    return np.asarray(np.argsort(np.argsort(order))[labels], np.int64)


def rounded(distances: F64) -> F64:
    """Return distances, float64 of any shape, on the grid."""
    return np.asarray(np.rint(distances * GRID) / GRID)
