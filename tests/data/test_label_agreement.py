"""Agreement of a tree with label paths: figures worked out by hand, and slow twins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score
from small_trees import PARENT, THETA, shares_of

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.agreement import (
    TIE,
    Level,
    adjusted_mutual_information,
    best_node_f1,
    branches_of,
    count_triplets,
    dendrogram_purity,
    levels,
    mixed_branches,
    torn_labels,
)
from hiertopics.corpus.data.labelpaths import LabelPaths, label_paths
from hiertopics.corpus.data.tree import NODE, OUTSIDE
from hiertopics.corpus.data.treeshares import (
    TreeShares,
    descend,
    linkage_shares,
    pair_scores,
)

PATHS = ("a/x", "a/y", "b/z", "b/z", "a/x", "b/w")
RIGHT = ("a/x", "a/x", "a/y", "b/z", "b/z", "b/w")


def paths_of(texts: Sequence[str]) -> LabelPaths:
    return label_paths([tuple(text.split("/")) if text else () for text in texts])


def measured(shares: TreeShares, texts: Sequence[str], n_orders: int = 0) -> list[Level]:
    n = len(texts)
    orders = [np.random.default_rng(k).permutation(n) for k in range(n_orders)]
    return levels(shares, paths_of(texts), orders, np.arange(n) % 4)


def scores_of(shares: TreeShares) -> F64:
    return np.concatenate([block for _, block in pair_scores(shares)])


def test_scores_are_expected_depths_of_common_ancestors() -> None:
    scores = scores_of(shares_of(PARENT, THETA))
    assert scores[0, 1] == pytest.approx(0.99)
    assert scores[0, 5] == pytest.approx(0.19)
    assert scores[3, 3] == pytest.approx(1.40)


def test_the_reference_example() -> None:
    first, second = measured(shares_of(PARENT, THETA), PATHS)
    assert first.triplets.share == pytest.approx(0.527778, abs=1e-6)
    assert (first.triplets.n, first.kin.n, second.triplets.n) == (36, 24, 16)
    assert first.kin.share == pytest.approx(0.708333, abs=1e-6)
    assert second.triplets.share == pytest.approx(0.125)
    assert second.kin.share == second.triplets.share
    assert (first.purity.value, second.purity.value) == pytest.approx((0.611111, 1 / 3), abs=1e-6)
    f1 = (first.best_node_f1.value, second.best_node_f1.value)
    assert f1 == pytest.approx((0.733333, 2 / 3), abs=1e-6)
    assert first.ami.value == pytest.approx(-0.111111, abs=1e-6)


def test_labels_that_are_those_of_the_tree_are_told_right() -> None:
    first, second = measured(shares_of(PARENT, THETA), RIGHT)
    for level in (first, second):
        assert level.triplets.share == level.kin.share == 1
        assert level.purity.value == level.best_node_f1.value == 1
    assert first.ami.value == pytest.approx(1)
    assert second.ami.value == pytest.approx(0.465578, abs=1e-6)


def wrong(table: F64) -> TreeShares:
    """Return shares that a mistake would score; the first column is left out as the root's."""
    return TreeShares(np.array(PARENT, np.int32), sparse.csr_array(table), np.arange(7))


def test_shares_at_nodes_alone_score_otherwise() -> None:
    first, second = measured(wrong(THETA), PATHS)
    assert first.triplets.share == pytest.approx(0.597222, abs=1e-6)
    assert round(first.triplets.ties * first.triplets.n) == 1
    assert second.triplets.share == pytest.approx(0.28125)
    assert first.kin.share == pytest.approx(0.708333, abs=1e-6)


def test_a_root_that_is_summed_too_scores_otherwise() -> None:
    table = np.column_stack([np.zeros(6), THETA])
    parent = np.array([-1, 0, *(np.array(PARENT[1:]) + 1)], np.int32)
    found = measured(TreeShares(parent, sparse.csr_array(table), np.arange(8)), PATHS)
    assert found[0].kin.share == pytest.approx(0.729167, abs=1e-6)


def common(first: str, second: str) -> int:
    pairs = list(zip(first.split("/"), second.split("/"), strict=False))
    return next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs)) if first else 0


def by_hand(
    scores: F64, texts: Sequence[str], level: int, *, kin: bool
) -> tuple[float, float, int, F64, F64]:
    """Return hits, ties and number of triplets, and hits and number by document in any place."""
    n = len(texts)
    hits, ties, total = 0.0, 0.0, 0
    doc_hits, doc_total = np.zeros(n), np.zeros(n)
    for i, j, k in permutations(range(n), 3):
        near = common(texts[i], texts[j])
        if near < level or (kin and near != level) or common(texts[i], texts[k]) >= level:
            continue
        tie = abs(scores[i, j] - scores[i, k]) < TIE
        hit = 0.5 if tie else float(scores[i, j] > scores[i, k])
        hits, ties, total = hits + hit, ties + tie, total + 1
        doc_hits[[i, j, k]] += hit
        doc_total[[i, j, k]] += 1
    return hits, ties, total, doc_hits, doc_total


LABELS = st.sampled_from(["a", "a/x", "a/y", "b/x", "b/x/u", "b/x/v", "c/z/w"])


@given(st.lists(LABELS, min_size=3, max_size=9), st.integers(0, 10**6))
def test_counts_are_those_of_every_triplet_one_by_one(texts: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.integers(0, 3, (len(texts), 7)) + np.eye(len(texts), 7)
    shares = shares_of(PARENT, theta / theta.sum(axis=1, keepdims=True))
    scores, paths = scores_of(shares), paths_of(texts)
    counted = count_triplets(shares, [paths, paths.permuted(np.arange(len(texts)))])
    for kind, parts in enumerate(counted):
        for level, found in enumerate(parts, 1):
            hits, ties, total, doc_hits, doc_total = by_hand(scores, texts, level, kin=bool(kind))
            assert found.hits.tolist() == [hits, hits]
            assert (found.ties[0], found.totals[0]) == (ties, total)
            assert found.doc_hits.tolist() == doc_hits.tolist()
            assert found.doc_totals.tolist() == doc_total.tolist()


def test_scores_within_rounding_of_each_other_are_ties() -> None:
    parent = np.array([-1, 0, 0], np.int32)
    below = np.array([[1, 1, 0], [1, 0.5, 0], [1, 0.5 + 4e-13, 0]])
    found = measured(TreeShares(parent, sparse.csr_array(below), np.arange(3)), ["a", "a", "b"])
    # Of the two triplets, 0 1 2 is a tie within rounding; 1 0 2 is told right.
    assert found[0].triplets.share == pytest.approx(0.75)
    assert found[0].triplets.ties == pytest.approx(0.5)


def test_chance_is_a_half_and_purity_of_permuted_labels_that_of_no_tree() -> None:
    rng = np.random.default_rng(3)
    texts = [("a/x", "a/y", "b/x")[k] for k in rng.integers(0, 3, 60)]
    theta = rng.dirichlet(np.full(7, 0.3), 60)
    level = measured(shares_of(PARENT, theta), texts, n_orders=20)[0]
    assert level.triplets.chance == pytest.approx(0.5, abs=0.02)
    assert level.kin.chance == pytest.approx(0.5, abs=0.02)
    assert level.ami.chance == pytest.approx(0, abs=0.02)
    assert 0.5 < level.purity.chance < 0.7


def test_the_error_of_triplets_is_that_of_leaving_out_each_document() -> None:
    rng = np.random.default_rng(5)
    n = 60
    texts = [("a/x", "a/y", "b/x")[k] for k in rng.integers(0, 3, n)]
    right = np.array([(3, 4, 5)[("a/x", "a/y", "b/x").index(text)] for text in texts])
    theta = 0.5 * rng.dirichlet(np.full(7, 0.5), n) + 0.5 * np.eye(7)[right]
    shares = shares_of(PARENT, theta)
    level = measured(shares, texts)[0]
    without = []
    for doc in range(n):
        rest = np.delete(np.arange(n), doc)
        part = measured(shares.of_documents(rest), [texts[other] for other in rest])
        without.append(part[0].triplets.share)
    jackknife = np.sqrt((n - 1) / n * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert level.triplets.error == pytest.approx(jackknife, rel=0.05)


def purity_by_hand(parent: Sequence[int], at: Sequence[int], labels: Sequence[str]) -> float:
    def path(node: int) -> list[int]:
        return [node] if parent[node] < 0 else [*path(parent[node]), node]

    found = []
    for i, j in permutations(range(len(labels)), 2):
        if labels[i] == labels[j]:
            meet = [a for a, b in zip(path(at[i]), path(at[j]), strict=False) if a == b][-1]
            inside = [labels[d] for d in range(len(labels)) if meet in path(at[d])]
            found.append(inside.count(labels[i]) / len(inside))
    return float(np.mean(found))


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abc")), min_size=4, max_size=12))
def test_purity_is_the_mean_over_pairs_one_by_one(docs: list[tuple[int, str]]) -> None:
    at, labels = [node for node, _ in docs], [label for _, label in docs]
    codes = np.array(["abc".index(label) for label in labels])
    parent = np.array(PARENT, np.int32)
    found = dendrogram_purity(parent, np.array(at), codes)
    assert found == pytest.approx(purity_by_hand(PARENT, at, labels))


def test_a_document_without_a_label_of_a_level_is_not_counted_on_it() -> None:
    parent, at = np.array(PARENT, np.int32), np.array([3, 3, 3, 5])
    assert dendrogram_purity(parent, at, np.array([0, 0, -3, 1])) == 1
    assert best_node_f1(parent, at, np.array([0, 0, -3, 1])) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=25))
def test_mutual_information_is_adjusted_as_scikit_learn_does(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs).T
    wanted = adjusted_mutual_info_score(first, second)
    assert adjusted_mutual_information(first, second) == pytest.approx(wanted, abs=1e-9)


def test_documents_go_to_the_largest_child_until_there_is_none() -> None:
    theta = np.array(
        [[0.2, 0.2, 0.2, 0, 0, 0.4, 0], [1, 0, 0, 0, 0, 0, 0], [0, 0.6, 0.4, 0, 0, 0, 0]]
    )
    shares = shares_of(PARENT, theta)
    at: I64 = descend(shares)
    assert at.tolist() == [5, 0, 1]
    assert branches_of(shares.parent, at).tolist() == [2, 0, 1]


def test_flat_topics_get_a_root_and_the_outside_is_no_node() -> None:
    shares = shares_of((-1, -1, -1), np.array([[0.5, 0.2, 0.3]]), (NODE, NODE, OUTSIDE))
    assert shares.parent.tolist() == [-1, 0, 0]
    assert shares.rows.tolist() == [-1, 0, 1]
    assert shares.below.toarray()[0, 1:].tolist() == [0.5, 0.2]


def test_a_linkage_is_a_tree_of_its_documents() -> None:
    merges = np.array([[0, 1, 0.1, 2], [2, 3, 0.2, 2], [4, 5, 1.0, 4]])
    shares = linkage_shares(merges)
    scores = scores_of(shares)
    assert scores.tolist() == [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]]
    assert len(np.unique(descend(shares))) == 4


def test_torn_labels_and_mixed_branches() -> None:
    shares, paths = shares_of(PARENT, THETA), paths_of(PATHS)
    torn = {one.label: one for one in torn_labels(shares, paths, 1)}
    # Of a: documents 0 and 1 are in branch 1, 4 is in branch 2.
    entropy = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    assert torn["a",].branches == pytest.approx(np.exp(entropy))
    assert torn["a",].largest == ((1, 2), (2, 1))
    mixed = {one.node: one for one in mixed_branches(shares, paths, 1)}
    assert mixed[1].label == ("a",) and mixed[1].share == pytest.approx(2 / 3)
    assert mixed[2].label == ("b",) and mixed[2].n_docs == 3
