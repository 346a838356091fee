"""Starts of the flat topics: from branches that are found first, or from clusters of words.

Branches (theory/nhdp 6.1). A few topics of the whole corpus come back where its documents change;
hundreds do not. So the corpus is first divided among a few, and the topics of each part are found
in it alone. Words in clusters by context are a start that draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.base.stretches import rows_of
from hiertopics.contract.model import Context
from hiertopics.corpus.data import Corpus, Seeds, default_vocab, seedwords
from hiertopics.families.flat.layout import Data, HasCells, lay_out, pairs_of
from hiertopics.families.flat.variational import Responsibilities, SweepVariant
from hiertopics.families.nhdp.patches import Patch, PatchedTable, patched
from hiertopics.families.nhdp.shapes import labels_at

POWER = 0.45
"""The corpus is divided among so many branches: the number of topics to this power."""

FEWEST_TOPICS = 200
"""Where the words of a corpus allow fewer, no branches are found first: the tree is cut at gaps."""

SMALLEST = 1e-3
"""Pseudo-count of every topic, or cluster, in a document."""

WORD_FLOOR = 1e-6


class BranchContent(NamedTuple):
    """Content of a branch.

    docs, words: int64 [n_docs] and [n_words], ascending. counts: float64 CSR [n_docs, n_words].
    """

    branch: int
    docs: I64
    words: I64
    counts: sparse.csr_array

    @property
    def data(self) -> Data:
        """The part laid out, in one piece."""
        whole = sparse.csr_array(self.counts.astype(np.int32))
        return lay_out(Corpus(whole, default_vocab(len(self.words))), 1)


class BranchTopics(NamedTuple):
    """Topics of all branches: theta [n_docs, T], phi [T, n_words], rows sum to 1.

    branch: int64 [T], the one that each was found in.
    """

    theta: PatchedTable
    phi: PatchedTable
    branch: I64


def number_of_branches(n_topics: int) -> int:
    """Return how many branches are found before so many topics are."""
    return round(n_topics**POWER)


def topic_of_pairs(cuts: I64, word: I32, theta: F64, phi: F64) -> I64:
    """Return which topic suits each pair best, int64 [n_pairs].

    cuts: as in ``Cells``; word: of each pair; theta: [n_docs, T]; phi: [n_words, T].
    """
    best = np.empty(len(word), np.int64)
    for doc, (first, last) in enumerate(cuts[:, [0, -1]].tolist()):
        best[first:last] = (theta[doc] * phi[word[first:last]]).argmax(axis=1)
    return best


def parts(branch: I64, counts: sparse.csr_array) -> list[BranchContent]:
    """Return the content of each non-empty branch; branch: int64 [n_pairs], of each pair."""
    doc = rows_of(counts.indptr)
    found = []
    for place in np.unique(branch):
        here = branch == place
        docs, row = np.unique(doc[here], return_inverse=True)
        words, column = np.unique(counts.indices[here], return_inverse=True)
        shape = (len(docs), len(words))
        inside = sparse.csr_array((counts.data[here], (row, column)), shape=shape)
        inside.sort_indices()
        found.append(BranchContent(int(place), docs, words.astype(np.int64), inside))
    return found


def joined(
    parts: Sequence[BranchContent],
    found: Sequence[tuple[F64, F64]],
    counts: sparse.csr_array,
    seeds: Seeds,
) -> BranchTopics:
    """Return the topics of all parts as topics of the corpus, of counts [n_docs, n_words].

    found: theta and phi of each part's topics, over its own documents and words. The first topics
    are those of names, each in the branch of its own, and begin with their seed words alone.
    """
    n_named, ends = len(seeds.names), np.cumsum([0, *(len(phi) for _, phi in found)])
    names, docs = np.arange(n_named), np.arange(counts.shape[0])
    inside = np.repeat([part.branch for part in parts], np.diff(ends)).astype(np.int64)
    theta_patches, phi_patches = [], []
    if len(seeds.word):
        tokens = np.full((len(docs), n_named), SMALLEST)
        np.add.at(tokens.T, seeds.name, counts[:, seeds.word].toarray().T)
        words = np.unique(seeds.word)
        own = np.full((n_named, len(words)), WORD_FLOOR)
        own[seeds.name, np.searchsorted(words, seeds.word)] += 1.0
        theta_patches.append(Patch(docs, names, tokens))
        phi_patches.append(Patch(names, words, own))
    for part, (its_theta, its_phi), first in zip(parts, found, n_named + ends[:-1], strict=True):
        mine = np.arange(first, first + len(its_phi))
        length = np.asarray(part.counts.sum(axis=1)).reshape(-1, 1)
        theta_patches.append(Patch(part.docs, mine, length * its_theta + SMALLEST))
        phi_patches.append(Patch(mine, part.words, its_phi + WORD_FLOOR))
    branch = np.concatenate([names, inside])
    theta = patched((len(docs), len(branch)), SMALLEST, theta_patches)
    phi = patched((len(branch), counts.shape[1]), WORD_FLOOR, phi_patches)
    return BranchTopics(theta, phi, branch)


MOST_WORDS = 3000
"""Words that are clustered: the most frequent ones."""

WORDS_PER_TOPIC = 4
STEPS = 2048.0
"""Roots of contexts are rounded to 1 / STEPS: their inner products, whole numbers below 2^24, are
the same in float32 whatever the order in which a library adds them up."""

WORDS_AT_ONCE = 256
"""Words whose contexts are made at a time."""

WORD_PRIOR = 0.01


class Clusters(NamedTuple):
    """Input of the first q(z). cluster: int64 [n_words], -1 for words in none.

    theta: [n_docs, T], rows sum to 1. phi: [n_words, T], columns sum to 1. Words of ``seeds`` are
    in the first clusters, which have their names.
    """

    cluster: I64
    theta: Floats
    phi: Floats
    seeds: Seeds

    @property
    def n_topics(self) -> int:
        """Number T of clusters."""
        return self.phi.shape[1]


def by_words(
    counts: sparse.csr_array,
    data: Data,
    n_topics: int,
    variant: SweepVariant,
    context: Context,
    dtype: DTypeLike,
    words_per_topic: int = MOST_WORDS,
) -> Responsibilities:
    """Return q(z) by words and documents, for at most n_topics, and its counts.

    counts: float64 [n_docs, n_words], of ``data``. words_per_topic: clustered, at most. The same
    corpus gives the same start.
    """
    found = clusters_of(counts, n_topics, dtype, data.seeds, words_per_topic)
    bounds = data.cells.doc_bounds[1:-1]
    messages = [found._replace(theta=theta) for theta in np.split(found.theta, bounds)]
    return variant.begun(data, suggested, messages, found.n_topics, context, dtype)


def clusters_of(
    counts: sparse.csr_array,
    n_topics: int,
    dtype: DTypeLike,
    seeds: Seeds = seedwords.NONE,
    words_per_topic: int = MOST_WORDS,
) -> Clusters:
    """Return clusters of words, their shares in documents, and the words of these documents.

    counts: CSR [n_docs, n_words]. dtype: of the shares.
    """
    n_named, most = len(seeds.names), min(words_per_topic * n_topics, MOST_WORDS)
    words = np.setdiff1d(frequent(counts, most), seeds.word)
    n = min(n_clusters(counts, n_topics), n_topics - n_named, len(words))
    words = words[: len(words) * (n > 0)]
    labels = n_named + labels_at(linkage_of(counts[:, words]), n)[: len(words)]
    cluster = np.full(counts.shape[1], -1)
    cluster[words] = labels
    member = _with_homes(words, labels, seeds)
    tokens = counts @ sparse.csr_array(member, shape=(counts.shape[1], n_named + n))
    theta = tokens.toarray() + SMALLEST
    theta /= theta.sum(axis=1, keepdims=True)
    phi = counts.T @ theta + WORD_PRIOR
    phi /= phi.sum(axis=0)
    return Clusters(cluster, theta.astype(dtype), np.asarray(phi, dtype), seeds)


def _with_homes(words: I64, labels: I64, seeds: Seeds) -> tuple[F64, tuple[I64, I64]]:
    """Return parts of words in clusters, and which: whole ones, and seed words at their homes."""
    part = np.concatenate([np.ones(len(words)), 1 / np.bincount(seeds.word)[seeds.word]])
    return part, (np.concatenate([words, seeds.word]), np.concatenate([labels, seeds.name]))


def n_clusters(counts: sparse.csr_array, n_topics: int) -> int:
    """Return how many clusters of words there can be, ``n_topics`` at most.

    counts: CSR [n_docs, n_words].
    """
    return most_clusters(len(frequent(counts)), n_topics)


def most_clusters(n_words: int, n_topics: int) -> int:
    """Return the largest number of clusters for n_words different words."""
    return max(min(n_topics, min(n_words, MOST_WORDS) // WORDS_PER_TOPIC), 1)


def frequent(counts: sparse.csr_array, most: int = MOST_WORDS) -> I64:
    """Return the words that are clustered: int64 [n], ascending, at least one.

    counts: CSR [n_docs, n_words].
    """
    totals = np.asarray(counts.sum(axis=0)).ravel()
    ranked = np.argsort(-totals, kind="stable")[:most]
    return np.sort(ranked[: max(int((totals > 0).sum()), 1)])


def memory(n_words: int) -> int:
    """Return the bytes of a linkage of as many words as are clustered."""
    return 16 * min(n_words, MOST_WORDS) ** 2


def linkage_of(counts: sparse.csr_array) -> F64:
    """Return Ward's linkage of words by the roots of their contexts, float64 [n - 1, 4].

    A word's context: the words of its documents, each document's counts scaled to sum to 1 and
    weighted by the word's tokens.
    """
    n_words = counts.shape[1]
    if n_words < 2:
        return np.zeros((0, 4))
    lengths = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    scaled, by_word = sparse.diags_array(1.0 / lengths) @ counts, sparse.csr_array(counts.T)
    roots = np.empty((n_words, n_words), np.float32)
    for first in range(0, n_words, WORDS_AT_ONCE):
        context = (by_word[first : first + WORDS_AT_ONCE] @ scaled).toarray()
        context /= np.maximum(context.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        roots[first : first + WORDS_AT_ONCE] = np.rint(np.sqrt(context) * STEPS)
    products = roots @ roots.T
    squares, end = products.diagonal(), 0
    distances = np.empty(n_words * (n_words - 1) // 2)
    for word in range(n_words - 1):
        row = np.sqrt(squares[word] + squares[word + 1 :] - 2 * products[word, word + 1 :])
        distances[end : end + len(row)] = row
        end += len(row)
    del roots, products
    distances /= STEPS
    return np.asarray(linkage(distances, "ward"))


def suggested(piece: HasCells, found: Clusters, first: int, last: int) -> Floats:
    """Return q(z) of the pairs of documents ``first`` to below ``last``: the mean of three.

    [n_pairs, n_topics], rows sum to 1.
    What document and word suggest (theta phi), the word's own cluster where it has one, and no
    preference. Seed words are at home in their clusters.
    """
    doc, word = pairs_of(piece.cells, first, last)
    rows = found.theta[doc] * found.phi[word]
    rows /= rows.sum(axis=1, keepdims=True)
    cluster = found.cluster[word]
    known = np.flatnonzero(cluster >= 0)
    rows[known, cluster[known]] += 1
    rows += 1 / found.n_topics
    rows /= rows.sum(axis=1, keepdims=True)
    found.seeds.settle(rows, word)
    return rows
