"""How far a tree agrees with a hierarchy that people made of the same documents.

By triplets: of three documents the two that people put together should meet at a deeper node than
the two that they put apart. By clusters: the documents at and below nodes, and in the branches of
the root, against the labels of a level. theory/agreement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from hiertopics.base.arrays import F64, I32, I64, Bools
from hiertopics.corpus.data.labelpaths import LabelPaths
from hiertopics.corpus.data.treeshares import TreeShares, ancestry, descend, pair_scores

TIE = 1e-12
"""Scores that are closer than this are equal."""


class Triplets(NamedTuple):
    """Triplets of documents on one level. share: the part that the tree orders correctly.

    ties: the share of triplets whose two scores are equal; a tie counts a half. n: number
    of triplets. chance: the share where labels are permuted. error: of the share, over documents.
    influence: float64 [n_docs], by how much the share would fall without each document, to first
    order.
    """

    share: float
    ties: float
    n: int
    chance: float
    error: float
    influence: F64


class MeasureEstimate(NamedTuple):
    """A measure with its value where labels are permuted, and its error over documents."""

    value: float
    chance: float
    error: float


class Level(NamedTuple):
    """All measures of one level of label paths.

    level: from 1. labels: their number; n_docs: of the documents that have one.
    """

    level: int
    labels: int
    n_docs: int
    triplets: Triplets
    kin: Triplets
    purity: MeasureEstimate
    best_node_f1: MeasureEstimate
    ami: MeasureEstimate


class _TripletSums(NamedTuple):
    """Sums over triplets, for each of several labellings [n]; and by document, of the first."""

    hits: F64
    ties: F64
    totals: F64
    doc_hits: F64
    doc_totals: F64


def levels(shares: TreeShares, paths: LabelPaths, orders: Sequence[I64], folds: I64) -> list[Level]:
    """Return the measures of each level on which there is a triplet of documents.

    orders: permutations of the documents for the levels of chance. folds: int64 [n_docs], the part
    of the documents that each is left out with, for the errors of purity, F1 and AMI.
    """
    told = [level for level in range(len(paths.codes)) if _has_triplets(paths.codes[level])]
    if not told:
        return []
    counted = count_triplets(shares, [paths, *(paths.permuted(order) for order in orders)])
    at = descend(shares)
    found = []
    for level in told:
        codes = paths.codes[level]
        triplets, kin = (_summed(each[level]) for each in counted)
        purity, best, ami = (
            _measured(measure, shares.parent, at, codes, orders, folds)
            for measure in (dendrogram_purity, best_node_f1, branch_ami)
        )
        n_docs = int((codes >= 0).sum())
        labels = len(np.unique(codes[codes >= 0]))
        found.append(Level(level + 1, labels, n_docs, triplets, kin, purity, best, ami))
    return found


def _has_triplets(codes: I64) -> bool:
    """Tell whether two documents have one label that a third one has not."""
    _, sizes = np.unique(codes, return_counts=True)
    return bool(((sizes > 1) & (sizes < len(codes))).any())


def count_triplets(
    shares: TreeShares, labellings: Sequence[LabelPaths]
) -> tuple[list[_TripletSums], list[_TripletSums]]:
    """Count the triplets, and the kin, of each level of several labellings of the documents.

    For one document i all others are sorted by their scores with it; how many of those put apart
    from i score less than one that is put together with it is then read off a running sum. So the
    cost is that of D sorts of D scores, not that of all triplets.
    """
    codes = np.stack([paths.codes for paths in labellings]).astype(np.int32)
    twice = np.zeros((2, 2, *codes.shape[:2]))
    by_doc = np.zeros((2, *codes.shape[1:]))
    for first, block in pair_scores(shares):
        for doc, scores in enumerate(block, first):
            _add_triplets(doc, scores, codes, twice, by_doc)
    totals = _totals(codes)
    triplets, kin = (
        [
            _TripletSums(
                twice[kind, 0, :, level] / 2,
                twice[kind, 1, :, level],
                totals[kind].sum(axis=2)[:, level] / 3,
                by_doc[kind, level] / 2,
                totals[kind][0, level],
            )
            for level in range(codes.shape[1])
        ]
        for kind in (0, 1)
    )
    return triplets, kin


def _add_triplets(doc: int, scores: F64, codes: I32, twice: F64, by_doc: F64) -> None:
    """Add the triplets whose first document is ``doc``, each hit as 2 and each tie as 1.

    scores: [n_docs]. codes: [n_labellings, n_levels, n_docs]. twice: [2, 2, n_labellings,
    n_levels], triplets and kin: hits, and ties. by_doc: [2, n_levels, n_docs], hits of the triplets
    of the first labelling that hold a document in any place.
    """
    # The order of equal scores changes no count.
    order = np.argsort(scores)
    order = order[order != doc]
    ranked = scores[order]
    lower = np.searchsorted(ranked, ranked - TIE, side="right")
    upper = np.searchsorted(ranked, ranked + TIE, side="left")
    same = codes == codes[:, :, doc, None]
    together = np.take(same, order, axis=2)
    kin = together.copy()
    kin[:, :-1] &= ~together[:, 1:]
    apart = _running(~together)
    below, up_to = np.take(apart, lower, axis=2), np.take(apart, upper, axis=2)
    both, level_with = below + up_to, up_to - below
    place = np.empty(len(scores), dtype=np.int64)
    place[order] = np.arange(len(order))
    place[doc] = len(order)
    told = np.zeros((*by_doc.shape[:2], len(scores)))
    for kind, near in enumerate((together, kin)):
        hits = np.einsum("vld,vld->vl", near, both, dtype=np.int64)
        twice[kind, 0] += hits
        twice[kind, 1] += np.einsum("vld,vld->vl", near, level_with, dtype=np.int64)
        lost = _running(near[0])
        lost_to = 2 * lost[:, -1:] - np.take(lost, lower, axis=1) - np.take(lost, upper, axis=1)
        told[kind, :, :-1] = np.where(together[0], near[0] * both[0], lost_to)
        told[kind, :, -1] = hits[0]
    by_doc += np.take(told, place, axis=2)


def _totals(codes: I32) -> tuple[F64, F64]:
    """Return the triplets, and the kin, that hold a document in any place.

    codes: [n_labellings, n_levels, n_docs], and so are the results. A triplet is counted at each of
    its three documents.
    """
    sizes = np.empty(codes.shape)
    for place in np.ndindex(*codes.shape[:2]):
        _, label, size = np.unique(codes[place], return_inverse=True, return_counts=True)
        sizes[place] = size[label]
    finer = np.ones_like(sizes)
    finer[:, :-1] = sizes[:, 1:]
    found = []
    for near in (sizes - 1, sizes - finer):
        # All that are put together with a document are put apart from as many as it is.
        ahead = near * (codes.shape[2] - sizes)
        last = np.empty_like(near)
        for place in np.ndindex(*codes.shape[:2]):
            _, label = np.unique(codes[place], return_inverse=True)
            last[place] = near[place].sum() - np.bincount(label, near[place])[label]
        found.append(2 * ahead + last)
    return found[0], found[1]


def _running(marks: Bools) -> I32:
    """Return how many marks come before each place of the last axis, and at its end."""
    found = np.zeros((*marks.shape[:-1], marks.shape[-1] + 1), dtype=np.int32)
    np.cumsum(marks, axis=-1, out=found[..., 1:])
    return found


def _summed(counted: _TripletSums) -> Triplets:
    """Return the shares of one level; the first labelling is the true one.

    The error is that of the infinitesimal jackknife: a document is in a triplet in any of three
    places, and without it the share would be another.
    """
    total = float(counted.totals[0])
    if total == 0:
        none = np.zeros(len(counted.doc_hits))
        return Triplets(np.nan, np.nan, 0, np.nan, np.nan, none)
    share = float(counted.hits[0]) / total
    influence = (counted.doc_hits - share * counted.doc_totals) / total
    drawn = counted.totals[1:] > 0
    chance = (
        float(np.mean(counted.hits[1:][drawn] / counted.totals[1:][drawn]))
        if drawn.any()
        else np.nan
    )
    error = float(np.sqrt((influence**2).sum()))
    return Triplets(share, float(counted.ties[0]) / total, int(total), chance, error, influence)


Measure = Callable[[I32, I64, I64], float]
"""Takes parents [n_nodes], the node of each document and its label, below 0 for none, [n_docs]."""


def _measured(
    measure: Measure, parent: I32, at: I64, codes: I64, orders: Sequence[I64], folds: I64
) -> MeasureEstimate:
    """Return a measure with its chance, and its error by leaving out one part after the other."""
    drawn = [measure(parent, at, codes[order]) for order in orders]
    parts = np.unique(folds)
    without = np.array([measure(parent, at[folds != part], codes[folds != part]) for part in parts])
    spread = ((without - without.mean()) ** 2).sum() * (len(parts) - 1) / max(len(parts), 1)
    value = measure(parent, at, codes)
    return MeasureEstimate(
        value, float(np.mean(drawn)) if drawn else np.nan, float(np.sqrt(spread))
    )


def _tables(parent: I32, at: I64, codes: I64) -> tuple[F64, F64]:
    """Return documents of each label at each node, and at and below it, [n_nodes, n_labels]."""
    has = codes >= 0
    _, label = np.unique(codes[has], return_inverse=True)
    own = np.zeros((len(parent), int(label.max(initial=-1)) + 1))
    np.add.at(own, (at[has], label), 1.0)
    below: F64 = ancestry(parent).T @ own
    return own, below


def dendrogram_purity(parent: I32, at: I64, codes: I64) -> float:
    """Return the mean purity of the lowest node above two documents of one label.

    Over ordered pairs of different documents of one label: the share of that label among the
    documents at and below their lowest common ancestor (K. Heller and Z. Ghahramani: Bayesian
    hierarchical clustering, ICML 2005). NaN where no label has two documents.

    parent: int32 [n_nodes]. at: int64 [n_docs], the node of each document. codes: int64 [n_docs],
    its label.
    """
    _, below = _tables(parent, at, codes)
    pairs = below * (below - 1)
    met = pairs.copy()
    np.subtract.at(met, parent[1:], pairs[1:])
    total = below.sum(axis=1, keepdims=True)
    share = below / np.maximum(total, 1)
    n_pairs = float(pairs[0].sum())
    return float((met * share).sum() / n_pairs) if n_pairs else np.nan


def best_node_f1(parent: I32, at: I64, codes: I64) -> float:
    """Return the F1 of the best node of each label, root included, mean weighted by documents.

    B. Larsen and C. Aone: Fast and effective text mining using linear-time document clustering,
    KDD 1999. From 0 to 1. Arguments as in ``dendrogram_purity``: int32 [n_nodes], int64 [n_docs].
    """
    _, below = _tables(parent, at, codes)
    sizes = below[0]
    scores = 2 * below / (below.sum(axis=1, keepdims=True) + sizes)
    return float((scores.max(axis=0) * sizes).sum() / sizes.sum())


def branches_of(parent: I32, at: I64) -> I64:
    """Return the child of the root that each document is in; 0 where it is in none, [n_docs]."""
    branch = np.arange(len(parent))
    for node in range(1, len(parent)):
        if parent[node] != 0:
            branch[node] = branch[parent[node]]
    return branch[at]


def branch_ami(parent: I32, at: I64, codes: I64) -> float:
    """Return the adjusted mutual information of the branches of the root and labels.

    Arguments as in ``dendrogram_purity``: int32 [n_nodes], int64 [n_docs]. Documents with a
    negative code are left out.
    """
    has = codes >= 0
    branch = branches_of(parent, at)[has]
    return adjusted_mutual_information(branch, codes[has])


def adjusted_mutual_information(first: I64, second: I64) -> float:
    """Return the mutual information of two clusterings beyond chance, over their mean entropy.

    (I - E[I]) / ((H(first) + H(second)) / 2 - E[I]), E[I] under permutations: N. X. Vinh, J. Epps
    and J. Bailey: Information theoretic measures for clusterings comparison, JMLR 11 (2010). 1
    where both clusterings have one cluster, or each document its own.
    """
    _, rows = np.unique(first, return_inverse=True)
    _, columns = np.unique(second, return_inverse=True)
    n = len(rows)
    shape = (rows.max() + 1, columns.max() + 1)
    if shape in ((1, 1), (n, n)):
        return 1.0
    table = sparse.csr_array((np.ones(n), (rows, columns)), shape=shape).tocoo()
    a, b = np.bincount(rows).astype(np.float64), np.bincount(columns).astype(np.float64)
    joint = table.data / n
    independent = a[table.coords[0]] * b[table.coords[1]] / n**2
    information = float((joint * np.log(joint / independent)).sum())
    expected = _expected_information(a, b, n)
    mean = (_entropy(a / n) + _entropy(b / n)) / 2
    gap = mean - expected
    # Where one clustering tells nothing both differences are rounding.
    if abs(gap) < 1e-15:
        return 0.0
    return (information - expected) / gap


def _expected_information(a: F64, b: F64, n: int) -> float:
    """Return the mutual information of clusterings of sizes a and b, mean over permutations."""
    total = 0.0
    fixed = gammaln(n - b + 1) + gammaln(b + 1) - gammaln(n + 1)
    for size in a:
        first = np.maximum(1, size + b - n)
        last = np.minimum(size, b)
        lengths = np.maximum(last - first + 1, 0).astype(np.int64)
        column = np.repeat(np.arange(len(b)), lengths)
        step = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        both = first[column] + step
        other = b[column]
        log_chance = (
            gammaln(size + 1)
            + gammaln(n - size + 1)
            + fixed[column]
            - gammaln(both + 1)
            - gammaln(size - both + 1)
            - gammaln(other - both + 1)
            - gammaln(n - size - other + both + 1)
        )
        total += float((both / n * np.log(n * both / (size * other)) * np.exp(log_chance)).sum())
    return total


def _entropy(shares: F64) -> float:
    return float(-(shares * np.log(shares)).sum())


class ScatteredLabel(NamedTuple):
    """A label. branches: exp of the entropy of its documents' branches; largest: the first ones.

    largest: rows of the tree with documents of the label there, most of them first.
    """

    label: tuple[str, ...]
    n_docs: int
    branches: float
    largest: tuple[tuple[int, int], ...]


class MixedBranch(NamedTuple):
    """A branch. node: its row of the tree, -1 for documents in no branch. share: of ``label``."""

    node: int
    n_docs: int
    label: tuple[str, ...]
    share: float


N_LARGEST = 3


def torn_labels(shares: TreeShares, paths: LabelPaths, level: int) -> list[ScatteredLabel]:
    """Return the labels of a level (from 1), those in the most branches first."""
    table, branch = _branch_table(shares, paths, level)
    found = []
    for label, column in enumerate(table.T):
        part = column[column > 0] / column.sum()
        first = np.argsort(-column, kind="stable")[:N_LARGEST]
        largest = tuple((int(branch[row]), int(column[row])) for row in first if column[row])
        name = paths.names[level - 1][label]
        found.append(
            ScatteredLabel(name, int(column.sum()), float(np.exp(_entropy(part))), largest)
        )
    return sorted(found, key=lambda torn: (-torn.branches, torn.label))


def mixed_branches(shares: TreeShares, paths: LabelPaths, level: int) -> list[MixedBranch]:
    """Return the branches of the root by the share of their largest label, the least first."""
    table, branch = _branch_table(shares, paths, level)
    found = [
        MixedBranch(
            int(branch[row]),
            int(counts.sum()),
            paths.names[level - 1][int(counts.argmax())],
            float(counts.max() / counts.sum()),
        )
        for row, counts in enumerate(table)
    ]
    return sorted(found, key=lambda mixed: (mixed.share, mixed.node))


def _branch_table(shares: TreeShares, paths: LabelPaths, level: int) -> tuple[I64, I64]:
    """Return documents by branch and label, and the row of the tree of each branch."""
    codes = paths.codes[level - 1]
    has = codes >= 0
    branch = branches_of(shares.parent, descend(shares))[has]
    used, place = np.unique(branch, return_inverse=True)
    table = np.zeros((len(used), len(paths.names[level - 1])), dtype=np.int64)
    np.add.at(table, (place, codes[has]), 1)
    return table, np.where(used == 0, -1, shares.rows[used])
