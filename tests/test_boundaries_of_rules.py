"""Rules with a bound, at the bound: what is just enough, and what just falls short."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Paths, Summary
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.languages import COMMON
from hiertopics.corpus.data.matching import Marks, partners
from hiertopics.corpus.data.pruning import notes
from hiertopics.corpus.data.tree import NODE, ROOT, Tree
from hiertopics.families.flat.summary import by_size, document_weights, notes_on_truncation
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.summary import notes_on_shape, pruning
from hiertopics.fitting.diagnostics import Diagnosis
from hiertopics.runs import soundness
from hiertopics.runs.rows import places_of
from hiertopics.views.bycolumn import N_SAMPLES, _intervals
from hiertopics.views.levels import in_levels


def tree_of(parent: list[int], weight: list[float], n_docs: list[int] | None = None) -> Tree:
    n = len(parent)
    return Tree(
        phi=np.eye(n),
        parent=np.array(parent, np.int32),
        kind=np.full(n, NODE, np.int8),
        weight=np.array(weight),
        n_docs=np.array(n_docs or [1] * n),
        n_tokens=100 * np.array(weight),
    )


def told(**changed: object) -> str | None:
    values = {"trace": "t", "n_chains": 2, "n_draws": 4, "r_hat": 1.01, "ess_bulk": 200.0}
    record = {**values, "ess_tail": 200.0, "apart": False, **changed}
    return Diagnosis(**record).problem  # type: ignore[arg-type]


def test_chains_are_diagnosed() -> None:
    assert told() is None
    assert "R-hat is above" in str(told(r_hat=1.0101))
    assert "too few" in str(told(n_draws=3))
    assert "ESS is below" in str(told(ess_bulk=199.9))
    assert "ESS is below" in str(told(ess_tail=199.9))
    assert told(n_chains=1, ess_bulk=100.0, ess_tail=100.0) is None


def test_a_topic_lives_from_one_token_on() -> None:
    found = by_size(np.array([0.999, 1.0, 7.0, 0.0, 1.0]))
    assert found.live.tolist() == [2, 1, 4] and found.dropped.tolist() == [0, 3]


def test_theta_has_the_prior_of_each_topic() -> None:
    rows = document_weights(np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.array([0.5, 0.3, 0.2]))
    assert rows == pytest.approx(np.array([[0.7, 0.06, 0.24], [0.5, 0.3, 0.2]]))


def test_a_fit_ran_into_its_truncation_when_all_topics_are_in_use() -> None:
    tree = tree_of([ROOT] * 3, [0.95, 0.03, 0.02])
    assert notes_on_truncation(tree, 4) == ()
    assert ["all 3 topics" in note for note in notes_on_truncation(tree, 3)] == [True]
    assert "nearly every token" in notes_on_truncation(tree_of([ROOT] * 2, [0.951, 0.049]), 4)[0]


def test_a_node_of_the_nested_hdp_lives_from_one_token_at_and_below_it_on() -> None:
    """Node 1 has half a token, and half a one below it; node 2 nine tenths in all."""
    ones = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    shape = shape_of(np.array([-1, 0, 0, 1, 2]))
    mixing = Mixing(shape, np.array([1, 0.5, 0.5, 1, 1]), ones, np.ones(5), ones)
    left = pruning(mixing, np.array([9.0, 0.5, 0.5, 0.5, 0.4]))
    assert left.mixing.shape.parent.tolist() == [-1, 0]
    assert left.into.tolist() == [0, 1, 0, 1, 0]
    assert left.mixing.share.tolist() == [1.0, 1.0]


def test_a_shape_is_told_where_it_is_smaller_than_asked_for() -> None:
    two = tree_of([ROOT, 0, 0, 1, 1, 2, 2], [1 / 7] * 7)
    assert notes_on_shape(two, [2]) == ()
    assert "where model.branches asks for 3 levels" in notes_on_shape(two, [2, 2])[0]


@pytest.mark.parametrize(("n_docs", "n_notes"), [(19, 1), (18, 0)])
def test_a_path_of_nineteen_documents_in_twenty_is_told(n_docs: int, n_notes: int) -> None:
    tree = tree_of([ROOT, 0, 0], [0.2, 0.4, 0.4], [20, n_docs, 20 - n_docs])
    theta = sparse.csr_array(np.full((20, 3), 1 / 3))
    paths = Paths(np.zeros((20, 2), np.int32), np.zeros(20))
    assert len(soundness.notes(Summary(tree, theta, paths))) == n_notes
    assert soundness.notes(Summary(tree, theta)) == ()


def test_siblings_are_alike_above_a_cosine_and_with_tokens() -> None:
    def pairs(weight: float, angle: float) -> list[tuple[int, int]]:
        tree = tree_of([ROOT, 0, 0], [0.5, 0.5 - weight, weight])
        phi = np.array([[1, 0, 0], [0, 1, 0], [0, np.cos(angle), np.sin(angle)]])
        return soundness.alike_siblings(Tree(**{**vars(tree), "phi": phi}))

    assert pairs(1e-4, 0.14) == [(1, 2)] and pairs(1e-4, 0.142) == []
    assert pairs(0.9e-4, 0.0) == []


def test_a_hundredth_is_a_main_topic() -> None:
    tree = tree_of([ROOT, ROOT, ROOT], [0.4, 0.3, 0.3])
    theta = sparse.csr_array(np.array([[0.98, 0.01, 0.0099]]))
    (place,) = places_of(np.array([0]), tree, theta, None)
    assert [node for node, _ in place["topics"]] == [0, 1]


@pytest.mark.parametrize(("n_common", "n_notes"), [(5, 1), (4, 0)])
def test_half_of_the_most_frequent_words_are_the_most_part(n_common: int, n_notes: int) -> None:
    vocab = (*COMMON["english"][:n_common], *(f"own{n}" for n in range(20)))
    counts = np.arange(len(vocab), 0, -1)[None, :]
    corpus = Corpus(sparse.csr_array(counts), vocab)
    assert len(notes(corpus)) == n_notes


def intervals(members: sparse.csr_array, below: sparse.csr_array, seed: int) -> dict[str, F64]:
    """Return what ``_intervals`` does of shares that are all there."""
    return _intervals(
        members, lambda columns: below.toarray()[:, columns], below.shape[1], seed, N_SAMPLES
    )


def test_two_documents_have_an_interval() -> None:
    below = sparse.csr_array(np.array([[0.2], [0.4], [0.6], [0.8], [1.0]]))
    members = sparse.csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [0, 0], [0, 0]]))
    found = intervals(members, below, 0)
    assert found["low"][0, 0] == pytest.approx(0.2) and found["high"][0, 0] == pytest.approx(0.4)
    assert np.isnan(found["low"][1, 0]) and found["share"][1, 0] == pytest.approx(0.6)


def test_partners_share_half_of_words_and_of_documents() -> None:
    def marks(n_words: int, n_docs: int) -> Marks:
        words, docs = np.zeros((2, 30), bool), np.zeros((2, 30), bool)
        words[1, :n_words] = words[1, 10 : 20 - n_words] = True
        docs[1, :n_docs] = True
        return Marks(np.array([0, 1], np.int32), words, docs)

    whole = marks(10, 10)
    assert partners(whole, marks(5, 5)).mine.tolist() == [1]
    assert partners(whole, marks(5, 5)).overlap == pytest.approx([0.5])
    assert partners(whole, marks(4, 10)).mine.size == 0
    assert partners(whole, marks(10, 4)).mine.size == 0


def test_a_node_is_opened_where_that_comes_no_further_from_the_size() -> None:
    """From two nodes, opening makes four: as far from three, so it is done; not from two."""
    tree = tree_of([ROOT, 0, 0, 1, 1, 1], [0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    assert len(in_levels(tree, (3,)).children(0)) == 4
    assert len(in_levels(tree, (2,)).children(0)) == 2


def test_a_level_of_the_size_is_not_opened_further() -> None:
    """Opening node 1, which has one child, would leave as many nodes, one level deeper."""
    tree = tree_of([ROOT, 0, 0, 1], [0.1, 0.1, 0.3, 0.5])
    assert in_levels(tree, (2,)).children(0).tolist() == [1, 2]
