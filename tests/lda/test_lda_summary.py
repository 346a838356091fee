"""From a state to tree, theta, predictions and the objective, by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lda_cases import log_joint, settings_of, split, varied_corpus
from stepping import at, corpus_of, docs_of

from hiertopics.corpus.data.tree import NODE, OUTSIDE
from hiertopics.families.lda import gibbs, hyperparameters

CORPUS = varied_corpus()
DOCS = docs_of(CORPUS)


def fitted(n_topics: int, iterations: int = 5, **model: Any) -> tuple[Any, Any, Any]:
    """Return state, data and settings of a short fit."""
    settings = settings_of(n_topics=n_topics, **model)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    for iteration in range(1, iterations + 1):
        state, _ = gibbs.step(state, data, settings, at(iteration))
    return state, data, settings


@pytest.mark.parametrize("n_topics", [1, 4, 20])
@pytest.mark.parametrize("iterations", [0, 6])
def test_objective_is_the_joint_token_by_token(n_topics: int, iterations: int) -> None:
    state, data, settings = fitted(n_topics, iterations, alpha=0.3, eta=0.2)
    expected = log_joint(DOCS, split(state.z, DOCS), n_topics, CORPUS.n_words, 0.3, 0.2)
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(expected, rel=1e-12)


def test_objective_with_differing_alphas_is_the_joint_token_by_token() -> None:
    state, data, settings = fitted(4, 6, alpha=0.3, eta=0.2, prior="asymmetric")
    state.alpha = np.array([0.9, 0.1, 0.02, 3.0])
    topics = split(state.z, DOCS)
    expected = log_joint(DOCS, topics, 4, CORPUS.n_words, state.alpha.tolist(), 0.2)
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(expected, rel=1e-12)


def test_alphas_begin_alike_and_are_drawn_apart() -> None:
    assert fitted(20, 0, prior="asymmetric")[0].alpha.tolist() == [2.5] * 20
    settings = settings_of(n_topics=4, prior="asymmetric", hold=("eta",), hyper_start=0)
    data = gibbs.prepare(CORPUS, settings)
    state: Any
    state, info = gibbs.step(gibbs.init(data, settings, at(0)), data, settings, at(1))
    assert len(set(state.alpha.tolist())) == 4
    assert info.alpha == pytest.approx(state.alpha.mean())


def test_alpha_and_eta_are_held_and_then_drawn() -> None:
    settings = settings_of(n_topics=4, hold=(), hyper_start=3)
    data = gibbs.prepare(CORPUS, settings)
    state, seen = gibbs.init(data, settings, at(0)), []
    for iteration in range(1, 6):
        before = state.alpha, state.eta
        state, _ = gibbs.step(state, data, settings, at(iteration))
        seen.append((state.alpha != before[0], state.eta != before[1]))
    assert seen == [(False, False)] * 3 + [(True, True)] * 2


def test_alpha_and_eta_are_drawn_given_the_topics_just_drawn() -> None:
    """The same draws again, from the state that the step left."""
    settings = settings_of(n_topics=4, hold=(), hyper_start=0)
    data = gibbs.prepare(CORPUS, settings)
    state: Any = gibbs.init(data, settings, at(0))
    for iteration in range(1, 41):
        alpha, eta, context = state.alpha, state.eta, at(iteration)
        state, _ = gibbs.step(state, data, settings, context)
        n_dk = np.array([np.bincount(z, minlength=4) for z in split(state.z, DOCS)], np.int32)
        assert state.alpha == hyperparameters.draw_alpha(n_dk, alpha, context.rng("alpha"))
        n_kw = np.zeros((4, CORPUS.n_words), np.int32)
        np.add.at(n_kw, (state.z, np.concatenate(DOCS).astype(int)), 1)
        assert state.eta == hyperparameters.draw_eta(n_kw, eta, context.rng("eta"))


def test_alpha_left_open_is_fifty_over_the_number_of_topics() -> None:
    assert fitted(20, 0)[0].alpha == 2.5
    assert fitted(20, 0, alpha=0.3)[0].alpha == 0.3


@pytest.mark.parametrize("n_topics", [3, 90])
def test_predictions_are_those_of_all_topics(n_topics: int) -> None:
    """theta @ phi token by token; with 90 topics most are empty and lie outside the tree."""
    state, data, settings = fitted(n_topics, alpha=0.2, eta=0.1)
    summary = gibbs.summarise(state, data, settings, at(0))
    n_dk = np.array([np.bincount(z, minlength=n_topics) for z in split(state.z, DOCS)])
    theta = (n_dk + 0.2) / (n_dk + 0.2).sum(axis=1, keepdims=True)
    n_kw = state.n_wk[:, :n_topics].T + 0.1
    phi = n_kw / n_kw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose((summary.theta @ summary.tree.phi), theta @ phi, rtol=1e-12)
    n_live = int((n_dk.sum(axis=0) > 0).sum())
    assert len(summary.tree.shown) == n_live
    assert (summary.tree.kind[-1] == OUTSIDE) == (n_live < n_topics)
    assert summary.tree.extra["doc_prior"].sum() == pytest.approx(0.2 * n_topics)
    assert (np.diff(summary.tree.n_tokens[summary.tree.kind == NODE]) <= 0).all()


@pytest.mark.parametrize("n_topics", [3, 90])
def test_rows_keep_the_alpha_of_their_topic(n_topics: int) -> None:
    """Predictions of all topics again; the row outside has the sum of its topics' alphas."""
    state, data, settings = fitted(n_topics, prior="asymmetric")
    alphas = state.alpha = np.random.default_rng(1).gamma(0.5, size=n_topics)
    summary = gibbs.summarise(state, data, settings, at(0))
    n_dk = np.array([np.bincount(z, minlength=n_topics) for z in split(state.z, DOCS)])
    theta = (n_dk + alphas) / (n_dk + alphas).sum(axis=1, keepdims=True)
    n_kw = state.n_wk[:, :n_topics].T + 0.1
    phi = n_kw / n_kw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose((summary.theta @ summary.tree.phi), theta @ phi, rtol=1e-12)
    np.testing.assert_allclose(
        summary.tree.extra["doc_prior"] @ summary.tree.phi, alphas @ phi, rtol=1e-12
    )


def test_drawn_documents_have_the_moments_of_the_dirichlet() -> None:
    """E[theta] = prior / mass and E[theta^2], the row outside included; weights count to n."""
    state, data, settings = fitted(60, alpha=0.05)
    tree = gibbs.summarise(state, data, settings, at(0)).tree
    prior = tree.extra["doc_prior"]
    assert tree.kind[-1] == OUTSIDE
    drawn = list(gibbs.predictive(tree, 30_000, settings, np.random.default_rng(0)))
    weights = np.concatenate([each.weights for each in drawn])
    theta = np.concatenate([each.mixtures for each in drawn])
    assert (
        weights.sum() == len(theta) == 30_000 and max(len(each.weights) for each in drawn) <= 1024
    )
    mass = prior.sum()
    for values, expected in (
        (theta, prior / mass),
        (theta**2, prior * (prior + 1) / (mass * (mass + 1))),
    ):
        error = values.std(axis=0) / np.sqrt(30_000)
        assert (np.abs(values.mean(axis=0) - expected) < 4.5 * error).all()


def test_a_tiny_alpha_draws_documents_of_one_topic_each() -> None:
    """Gamma numbers may then vanish for every topic at once; no row may become NaN."""
    state, data, settings = fitted(4, alpha=1e-5)
    tree = gibbs.summarise(state, data, settings, at(0)).tree
    (drawn,) = gibbs.predictive(tree, 500, settings, np.random.default_rng(0))
    assert drawn.mixtures.sum(axis=1) == pytest.approx(1)
    assert (drawn.mixtures.max(axis=1) > 0.999).mean() > 0.99


def test_the_order_of_documents_does_not_matter_to_what_is_learned() -> None:
    """Mean shared topics of a pair of tokens, over long runs of a corpus and of it reordered."""
    corpus = corpus_of([[3, 0, 1, 0], [0, 3, 0, 2], [2, 0, 2, 0]])
    means = []
    for order in ([0, 1, 2], [2, 0, 1]):
        settings = settings_of(n_topics=2, alpha=0.4, eta=0.3)
        data = gibbs.prepare(corpus.select(order), settings)
        state = gibbs.init(data, settings, at(0))
        ends = np.cumsum([len(doc) for doc in docs_of(corpus.select(order))])
        first, other = ends[order.index(0)] - 1, ends[order.index(2)] - 1
        same = []
        for iteration in range(1, 6001):
            state, _ = gibbs.step(state, data, settings, at(iteration))
            same.append(state.z[first] == state.z[other])
        means.append(np.array(same).reshape(60, 100).mean(axis=1))
    error = np.sqrt(sum(batch.var() / 60 for batch in means))
    assert abs(means[0].mean() - means[1].mean()) < 4 * error
    assert error < 0.02
