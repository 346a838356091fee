"""Support of nodes by other trees: the reference example, slow twins, and what is covered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from small_trees import PARENT, THETA, shares_of, tree_of

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.support import (
    BAND,
    Transfer,
    best_overlap,
    collapsed,
    covered,
    how_found,
    in_tree,
    masses,
    support_of,
    support_told,
    transfer,
    without_sentence,
    word_orders,
    word_shares,
)
from hiertopics.corpus.data.tree import OUTSIDE, NodeSupport, Tree
from hiertopics.views.render import View
from hiertopics.views.render.trees import to_html, to_text

LENGTHS = np.array([10, 20, 10, 10, 10, 20])
COMMON = np.array([0, 1, 2, 3, 5])
OTHER_PARENT = (-1, 0, 0, 1, 1)
OTHER = np.array(
    [
        [0.1, 0.2, 0.1, 0.5, 0.1],
        [0.1, 0.2, 0.1, 0.3, 0.3],
        [0.1, 0.1, 0.1, 0.2, 0.5],
        [0, 0.1, 0.9, 0, 0],
        [0.2, 0.1, 0.6, 0.1, 0],
    ]
)
FOUND = (0.885714, 0.851852, 0.5, 0.4, 0, 0)
CHANCE = (0.410476, 0.256481, 0.190741, 0.15, 0.133333, 0.045)
SUPPORT = (0.806139, 0.800747, 0.382151, 0.294118, 0, 0)


def both(lengths: I64) -> tuple[sparse.csr_array, sparse.csr_array]:
    own = masses(shares_of(PARENT, THETA[COMMON]), lengths)
    return own, masses(shares_of(OTHER_PARENT, OTHER), lengths)


def by_hand(own: F64, other: F64) -> F64:
    """Return T of each node; own and other: tokens [n_rows, n_nodes]."""
    found = []
    for a in own.T:
        near = [1 - np.abs(a - b).sum() / a.sum() if a.sum() else 0 for b in other.T[1:]]
        found.append(max(0, *near))
    return np.array(found)


def test_the_reference_example() -> None:
    own, other = both(LENGTHS[COMMON])
    orders = [np.array(order) for order in permutations(range(5))]
    found = transfer(own, other, orders)
    assert found.found[1:] == pytest.approx(FOUND, abs=1e-6)
    assert found.chance[1:] == pytest.approx(CHANCE, abs=1e-6)
    assert support_of([found])[1:] == pytest.approx(SUPPORT, abs=1e-6)


def test_documents_that_all_count_alike_score_otherwise() -> None:
    own, other = both(np.ones(5, np.int64))
    wrong = (0.884615, 0.842105, 0.538462, 0.625, 0, 0)
    assert best_overlap(own, other)[1:] == pytest.approx(wrong, abs=1e-6)


def test_a_root_is_no_partner() -> None:
    own = sparse.csr_array(np.array([[5.0, 5.0, 0.0], [5.0, 5.0, 0.0]]))
    other = sparse.csr_array(np.array([[5.0, 1.0, 4.0], [5.0, 4.0, 1.0]]))
    # Node 1 is what the root of the other tree is; of the nodes below it the best has a half.
    assert best_overlap(own, other)[1] == pytest.approx(0.5)


def random_masses(rng: np.random.Generator, n_rows: int, parent: Sequence[int]) -> sparse.csr_array:
    theta = rng.dirichlet(np.full(len(parent), 0.3), n_rows)
    return masses(shares_of(parent, theta), rng.integers(0, 9, n_rows))


@pytest.mark.parametrize("seed", range(5))
def test_overlap_is_that_of_every_pair_of_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, other = (random_masses(rng, 40, parent) for parent in (PARENT, OTHER_PARENT))
    wanted = by_hand(own.toarray(), other.toarray())
    assert best_overlap(own, other) == pytest.approx(wanted)
    order = rng.permutation(40)
    permuted = by_hand(own.toarray(), other.toarray()[order])
    assert best_overlap(own, other, order) == pytest.approx(permuted)


def test_small_shares_count_nothing() -> None:
    shares = shares_of((-1, 0, 0), np.array([[0, 0.019, 0.981], [0, 0.02, 0.98]]))
    assert masses(shares, np.array([100, 100])).toarray()[:, 1].tolist() == [0, 2]


def test_a_tree_supports_itself_and_no_shuffled_one_does() -> None:
    rng = np.random.default_rng(0)
    right = rng.integers(3, 7, 200)
    theta = 0.8 * np.eye(7)[right] + 0.2 * rng.dirichlet(np.ones(7), 200)
    own = masses(shares_of(PARENT, theta), np.full(200, 20))
    orders = [rng.permutation(200) for _ in range(5)]
    assert support_of([transfer(own, own, orders)])[1:] == pytest.approx(np.ones(6))
    shuffled = sparse.csr_array(own[rng.permutation(200)])
    assert support_of([transfer(own, shuffled, orders)])[1:].max() < 0.1


def test_words_are_permuted_among_words_of_like_frequency() -> None:
    counts = np.random.default_rng(1).integers(1, 1000, 103)
    ranked = np.argsort(-counts, kind="stable")
    (order,) = word_orders(counts, 1, np.random.default_rng(2))
    assert sorted(order.tolist()) == list(range(103)) and (order != np.arange(103)).any()
    for first in range(0, 103, BAND):
        band = ranked[first : first + BAND]
        assert sorted(order[band].tolist()) == sorted(band.tolist())


def test_shares_of_words_are_their_tokens_by_node() -> None:
    tree = tree_of((-1, 0, 0))
    tree.phi[:] = np.array([[0.5, 0.5], [1, 0], [0.25, 0.75]])
    tree.n_tokens[:] = np.array([4, 2, 4])
    wanted = [[2 / 5, 2 / 5, 1 / 5], [2 / 5, 0, 3 / 5]]
    assert word_shares(tree).toarray() == pytest.approx(np.array(wanted))


def test_what_is_covered_and_the_bits_of_what_is_left() -> None:
    tree = tree_of(PARENT)
    tree.n_tokens[:] = [10, 10, 20, 30, 40, 50, 60]
    value = np.array([np.nan, 0.2, 0.6, 0.8, 0.1, 0.9, 0.3])
    theta = sparse.csr_array(np.eye(7)[[3, 4, 5, 6, 0]])
    found = covered(tree, theta, np.ones(5, np.int64), value)
    assert found.covered_50 == pytest.approx((20 + 30 + 50 + 60) / 210)
    assert found.covered_70 == pytest.approx((30 + 50) / 210)
    assert found.branches_50 == pytest.approx((20 + 50 + 60) / 220)
    assert found.by_depth == pytest.approx([0.4, 0.525])
    # Nodes 1 and 4 are part of the root, node 6 of node 2: 3 | 4 and 0 | 5 | 6.
    parts = np.array([1, 2, 1, 1]) / 5
    assert found.bits == pytest.approx(-(parts * np.log2(parts)).sum())


BACK = np.array([np.nan, 0.2, 0.6, 0.8, 0.1, 0.9, 0.3])


def supported(parent: Sequence[int] = PARENT, value: F64 = BACK) -> Tree:
    """Return a tree whose nodes have this support; branches have 20, 30 and more of the words."""
    tree = tree_of(parent)
    weights = np.array([0.1, 0.1, 0.15, 0.15, 0.05, 0.2, 0.25])[: len(parent)]
    transfer = NodeSupport(value, None, how="20 resamples")
    return replace(tree, weight=weights, transfer=transfer)


def test_the_sentence_counts_and_sums_what_a_view_shows() -> None:
    """Node 3 comes back below node 1, which does not: its words are of no branch that does."""
    tree = supported()
    first = "Without a tenth of the documents 1 of 2 branches come back, "
    first += "with 60% of all words"
    how = "(support 0.5 or more, 20 resamples)"
    assert support_told(tree) == f"{first} {how}"
    assert support_told(tree, 2) == f"{first} {how}"
    hidden = np.zeros(7, bool)
    hidden[[2, 5, 6]] = True
    told = support_told(tree, hidden=hidden)
    left = "Without a tenth of the documents 0 of 1 branches come back, with 0% of all words"
    assert told == f"{left} {how}"
    flat = supported([-1] * 7, np.where(np.isnan(BACK), 0.5, BACK))
    assert support_told(flat) == (
        f"Without a tenth of the documents 4 of 7 topics come back, with 60% of all words {how}"
    )
    others = replace(tree, transfer=NodeSupport(BACK, None, how="2 other runs"))
    assert support_told(others).startswith("In other runs 1 of 2 branches come back, with 60%")
    assert support_told(tree, 1) == support_told(replace(tree, transfer=None)) == ""


@pytest.mark.parametrize("asked", [False, True])
def test_shuffled_words_are_spoken_of_where_they_were_fitted(asked: bool) -> None:
    """A figure of other corpora would be read as a test of this one."""
    record = {"resamples": 20} | ({"null": {"branches_50": 0.04}} if asked else {})
    tree = replace(supported(), transfer=NodeSupport(BACK, None, how=how_found(record)))
    vocab = list("abcdefg")[: tree.phi.shape[1]]
    text, html = to_text(tree, vocab, View()), to_html(tree, vocab, View())
    assert text.endswith(support_told(tree) + "\n") and support_told(tree) in html
    assert ["huffled" in view for view in (text, html)] == [asked, asked]


def test_a_view_may_leave_the_sentence_out() -> None:
    quick = replace(supported(), transfer=NodeSupport(np.full(7, np.nan), None, note="quick"))
    assert support_told(quick) == "quick"
    for tree in (supported(), quick):
        assert support_told(without_sentence(tree)) == ""


def test_the_sentence_tells_how_support_was_found() -> None:
    record = {"resamples": 20, "iterations": 8, "needed": 8, "settings": {}}
    assert how_found(record) == "20 resamples"
    few = record | {"resamples": 2, "iterations": 1, "null": {"branches_50": 0.04}}
    assert how_found(few) == (
        "2 resamples, too few to tell; 1 iteration of the 8 that a resample needs; "
        "4% of the words of a shuffled corpus"
    )
    # As in runs of 0.2.0, whose shares of shuffled words count nodes of any depth.
    assert how_found(record | {"null": {"covered_50": 0.1}}) == "20 resamples"
    assert how_found(record | {"settings": {"against": ["a"]}, "resamples": 1}) == "1 other run"


def test_nodes_of_less_support_are_part_of_what_is_above() -> None:
    tree = tree_of(PARENT)
    value = np.array([np.nan, 0.2, 0.6, 0.8, 0.1, 0.9, 0.3])
    found = collapsed(tree, value, 0.5)
    assert found.shown.tolist() == [0, 2, 3, 5]
    assert found.parent[[2, 3, 5]].tolist() == [0, 0, 2]
    assert found.n_tokens[[0, 2, 3, 5]].tolist() == [3, 2, 1, 1]


def test_support_stands_at_the_rows_of_the_tree() -> None:
    shares = shares_of((-1, -1, -1), np.array([[0.5, 0.2, 0.3]]), (0, 0, OUTSIDE))
    values = in_tree(np.array([1.0, 0.3, 0.4]), shares, 3)
    assert values[:2].tolist() == [0.3, 0.4] and np.isnan(values[2])


def test_support_is_that_of_mean_transfers() -> None:
    one = Transfer(np.array([0.5, 1.0]), np.array([0.1, 1.0]))
    two = Transfer(np.array([0.7, 0.0]), np.array([0.3, 1.0]))
    assert support_of([one, two]) == pytest.approx([(0.6 - 0.2) / 0.8, 0])
