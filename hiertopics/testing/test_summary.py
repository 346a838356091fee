"""The summary: distributions that are distributions, a tree in order, nothing left out."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.contract import Summary, registry
from hiertopics.corpus.data import NODE, OUTSIDE, ROOT, Corpus, Tree
from hiertopics.runs.soundness import check_extra
from hiertopics.testing.bench import Bench, of_those
from hiertopics.testing.corpora import corpus_of, two_themes

OF_NODES = {
    "vectors": ("mean", "scale", "mu", "tau"),
    "bits": ("mean", "value", "newborn", "variance"),
}
"""Arrays by node of a tree without words."""


def assert_sound(bench: Bench, summary: Summary, corpus: Corpus) -> None:
    """Assert the properties of every summary; a tree of vectors has no words."""
    tree, theta = summary.tree, summary.theta
    assert theta.shape == (corpus.n_docs, tree.n_nodes)
    assert_distributions(theta.toarray())
    if tree.vectors is None:
        assert tree.phi.shape == (tree.n_nodes, corpus.n_words)
        assert_distributions(tree.phi)
        assert_distributions(theta @ tree.phi)
        return
    assert tree.phi.shape == (tree.n_nodes, 0)
    assert tree.vectors.shape == (tree.n_nodes, corpus.n_words)
    for name in OF_NODES[bench.module.observes]:
        array = tree.to_arrays()[name]
        assert array.dtype == np.float64 and np.isfinite(array).all(), name


def assert_distributions(rows: np.ndarray) -> None:
    """Assert that each row is a distribution."""
    assert np.isfinite(rows).all() and rows.min() >= 0
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_rows_are_distributions(bench: Bench, corpus: Corpus) -> None:
    assert_sound(bench, bench.summary(corpus), corpus)


def test_rows_are_distributions_before_the_first_iteration(bench: Bench, corpus: Corpus) -> None:
    assert_sound(bench, bench.summarise(corpus, 0), corpus)


def test_rows_are_distributions_for_odd_corpora(bench: Bench, hard_corpus: Corpus) -> None:
    assert_sound(bench, bench.summarise(hard_corpus), hard_corpus)


def test_rows_are_distributions_on_the_backends_own_corpus(bench: Bench) -> None:
    corpus = bench.simulate()
    assert_sound(bench, bench.summarise(corpus), corpus)


def test_columns_have_their_types(bench: Bench, corpus: Corpus) -> None:
    summary = bench.summary(corpus)
    tree = summary.tree
    assert tree.phi.dtype == tree.weight.dtype == tree.n_tokens.dtype == np.float64
    assert tree.parent.dtype == np.int32 and tree.kind.dtype == np.int8
    assert tree.n_docs.dtype == np.int64
    assert summary.theta.format == "csr" and summary.theta.dtype == np.float64
    assert {len(tree.to_arrays()[name]) for name in ("parent", "kind", "weight", "n_docs")} == {
        tree.n_nodes
    }


def test_parents_come_before_children(bench: Bench, corpus: Corpus) -> None:
    tree = bench.summary(corpus).tree
    for node in range(tree.n_nodes):
        assert ROOT <= tree.parent[node] < node
    assert tree.parent[0] == ROOT


def test_only_the_last_row_may_lie_outside(bench: Bench, corpus: Corpus) -> None:
    tree = bench.summary(corpus).tree
    assert set(tree.kind[:-1].tolist()) <= {NODE}
    assert tree.kind[-1] in (NODE, OUTSIDE)
    assert tree.kind[tree.parent[tree.parent != ROOT]].max(initial=NODE) == NODE
    assert tree.shown.tolist() == np.flatnonzero(tree.kind == NODE).tolist()


def test_weight_is_the_share_of_tokens(bench: Bench, corpus: Corpus) -> None:
    tree = bench.summary(corpus).tree
    assert tree.weight.sum() == pytest.approx(1, abs=1e-9)
    assert tree.weight.min() >= 0
    assert tree.n_tokens / tree.n_tokens.sum() == pytest.approx(tree.weight, abs=1e-9)


def test_no_node_has_more_documents_than_there_are(bench: Bench, corpus: Corpus) -> None:
    tree = bench.summary(corpus).tree
    assert tree.n_docs.min() >= 0 and tree.n_docs.max() <= corpus.n_docs


@of_those(lambda bench: not bench.of_vectors)
def test_the_row_outside_spreads_over_all_words(bench: Bench) -> None:
    """So that a word without a training token has a chance in every document."""
    corpus = corpus_of([[2, 1, 0, 3], [5, 1, 0, 2], [1, 3, 0, 1]])
    summary = bench.having().summarise(corpus, 12)
    outside = summary.tree.phi[summary.tree.kind == OUTSIDE]
    assert len(outside) <= 1 and (outside > 0).all()
    assert (summary.theta @ summary.tree.phi).min() > 0


@of_those(lambda bench: bench.has_paths)
def test_best_paths_run_from_a_root_to_a_node(bench: Bench, corpus: Corpus) -> None:
    summary = bench.summary(corpus)
    assert summary.paths is not None
    node, log_prob = summary.paths
    assert len(node) == len(log_prob) == corpus.n_docs
    assert (log_prob <= 1e-12).all()
    for path in node:
        steps = path[path >= 0]
        assert (path[len(steps) :] == -1).all()
        assert summary.tree.parent[steps].tolist() == [ROOT, *steps[:-1]]


def test_extra_arrays_are_those_that_the_backend_declares(bench: Bench, corpus: Corpus) -> None:
    try:
        check_extra(bench.summary(corpus).tree, bench.module, bench.settings)
    except ValueError as error:
        pytest.fail(f"{registry.described(bench.name)}: Tree.extra: {error}", pytrace=False)


def test_a_tree_survives_its_arrays(bench: Bench, corpus: Corpus) -> None:
    tree = bench.summary(corpus).tree
    again = Tree.from_arrays(tree.to_arrays())
    assert again.to_arrays().keys() == tree.to_arrays().keys()
    for name, array in again.to_arrays().items():
        assert isinstance(array, np.ndarray), name
        assert array.tobytes() == np.asarray(tree.to_arrays()[name]).tobytes(), name


def test_notes_are_sentences(bench: Bench, corpus: Corpus) -> None:
    for note in bench.summary(corpus).notes:
        assert isinstance(note, str) and note and "\n" not in note


@of_those(lambda bench: bench.tells_documents_apart and not bench.of_vectors)
def test_two_themes_are_told_apart(bench: Bench) -> None:
    """Documents on food expect more words on food than those on sport do, after some training."""
    summary = bench.summarise(two_themes(), 30)
    on_food = (summary.theta @ summary.tree.phi)[:, :3].sum(axis=1)
    food, sport = on_food[[0, 3, 6, 9, 12]], on_food[[1, 7, 10, 13]]
    assert food.min() > sport.max()
