"""Inference on new documents: the answer belongs to the document, not to its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.contract.model import Posterior, Summary
from hiertopics.corpus.data import Corpus, Tree
from hiertopics.testing.bench import Bench, of_those
from hiertopics.testing.corpora import corpus_of


@pytest.fixture(scope="module")
def newcomers() -> Corpus:
    """Return new documents: ordinary, empty, of one word, twice the same, with unused words."""
    rng = np.random.default_rng(11)
    rows = rng.poisson(0.8, (7, 17))
    rows[1] = 0
    rows[2] = np.eye(17, dtype=int)[4]
    rows[5] = rows[0]
    rows[6] = 30 * np.eye(17, dtype=int)[0]
    return corpus_of(rows)


@pytest.fixture
def fitted(bench: Bench, corpus: Corpus) -> Summary:
    """Return the summary of a short fit."""
    return bench.summary(corpus)


def rows(posterior: Posterior) -> list[bytes]:
    """Return each document's answer as bytes."""
    theta = posterior.theta.toarray()
    if posterior.paths is None:
        return [row.tobytes() for row in theta]
    node, log_prob = posterior.paths
    return [
        theta[d].tobytes() + node[d].tobytes() + log_prob[d].tobytes() for d in range(len(node))
    ]


def test_theta_and_its_predictions_are_distributions(
    bench: Bench, fitted: Summary, newcomers: Corpus
) -> None:
    theta = bench.infer(fitted, newcomers).theta
    assert theta.shape == (newcomers.n_docs, fitted.tree.n_nodes)
    assert theta.format == "csr" and theta.data.min() >= 0
    assert theta.sum(axis=1) == pytest.approx(1, abs=1e-9)
    if not bench.of_vectors:
        assert (theta @ fitted.tree.phi).sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_alone_equals_in_a_batch(bench: Bench, fitted: Summary, newcomers: Corpus) -> None:
    together = rows(bench.infer(fitted, newcomers))
    for doc in range(newcomers.n_docs):
        assert rows(bench.infer(fitted, newcomers.select([doc]))) == [together[doc]]


def test_order_does_not_matter(bench: Bench, fitted: Summary, newcomers: Corpus) -> None:
    backwards = newcomers.select(range(newcomers.n_docs - 1, -1, -1))
    assert rows(bench.infer(fitted, backwards)) == rows(bench.infer(fitted, newcomers))[::-1]


def test_equal_documents_get_equal_answers(
    bench: Bench, fitted: Summary, newcomers: Corpus
) -> None:
    answers = rows(bench.infer(fitted, newcomers))
    assert answers[0] == answers[5]
    n_different = newcomers.n_docs - 1 if bench.tells_documents_apart else 1
    assert len(set(answers)) == n_different


def test_workers_change_no_bit(bench: Bench, fitted: Summary, newcomers: Corpus) -> None:
    assert rows(bench.infer(fitted, newcomers, workers=3)) == rows(bench.infer(fitted, newcomers))


def test_the_file_of_the_model_is_all_that_inference_needs(
    bench: Bench, fitted: Summary, newcomers: Corpus
) -> None:
    reread = Summary(Tree.from_arrays(fitted.tree.to_arrays()), fitted.theta)
    assert rows(bench.infer(reread, newcomers)) == rows(bench.infer(fitted, newcomers))


def test_the_tree_is_not_changed(bench: Bench, corpus: Corpus, newcomers: Corpus) -> None:
    fitted = bench.summarise(corpus)
    before = {name: array.tobytes() for name, array in fitted.tree.to_arrays().items()}
    bench.infer(fitted, newcomers)
    assert {n: a.tobytes() for n, a in fitted.tree.to_arrays().items()} == before


@of_those(lambda bench: bench.tells_documents_apart and not bench.of_vectors)
def test_words_move_theta_towards_the_nodes_that_have_them(bench: Bench, fitted: Summary) -> None:
    """Thirty tokens of a word are more likely under theta after they were seen than before."""
    for word in (2, 9, 16):
        seen, empty = corpus_of(30 * np.eye(17, dtype=int)[word]), corpus_of(np.zeros(17))
        chances = [
            float((bench.infer(fitted, corpus).theta @ fitted.tree.phi)[0, word])
            for corpus in (empty, seen)
        ]
        assert chances[1] > chances[0]


@of_those(lambda bench: bench.of_vectors)
def test_the_density_of_a_row_is_its_own(bench: Bench, fitted: Summary, newcomers: Corpus) -> None:
    """Vectors: neither its neighbours nor its place move it, and far away it is low."""
    together = bench.log_density(fitted, newcomers)
    assert together.shape == (newcomers.n_docs,) and np.isfinite(together).all()
    assert together[0] == together[5]
    for doc in range(newcomers.n_docs):
        alone = bench.log_density(fitted, newcomers.select([doc]))
        assert alone == pytest.approx(together[[doc]], rel=1e-12)
    if bench.module.observes == "vectors":
        far = corpus_of(newcomers.counts.toarray() + 10_000)
        assert (bench.log_density(fitted, far) < together).all()


def test_a_model_of_empty_documents_infers_too(bench: Bench, newcomers: Corpus) -> None:
    fitted = bench.summarise(corpus_of(np.zeros((3, 17))))
    theta = bench.infer(fitted, newcomers).theta
    assert theta.sum(axis=1) == pytest.approx(1, abs=1e-9)


@of_those(lambda bench: bench.has_paths and bench.name != "tssb-mcmc")
def test_theta_and_the_best_path_follow_from_the_paths_of_a_document(
    bench: Bench, fitted: Summary, newcomers: Corpus
) -> None:
    """Where documents take one path each; what lies outside the tree is the last column."""
    posterior = bench.infer(fitted, newcomers)
    mixture, paths = posterior.mixture, posterior.paths
    assert mixture is not None and paths is not None
    assert len(mixture.indptr) == newcomers.n_docs + 1
    assert mixture.level_weights.sum(axis=1) == pytest.approx(1, abs=1e-12)
    theta = np.zeros(posterior.theta.shape)
    for doc in range(newcomers.n_docs):
        own = slice(mixture.indptr[doc], mixture.indptr[doc + 1])
        chances = np.exp(mixture.log_prob[own])
        assert chances.sum() == pytest.approx(1, abs=1e-9)
        weights = chances[:, None] * mixture.level_weights[own]
        np.add.at(theta[doc], mixture.node[own], weights)
        best = int(np.argmax(chances))
        assert mixture.node[own][best].tolist() == paths.node[doc].tolist()
        assert mixture.log_prob[own][best] == paths.log_prob[doc]
    assert posterior.theta.toarray() == pytest.approx(theta, abs=1e-12)
