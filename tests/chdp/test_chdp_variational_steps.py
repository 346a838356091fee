"""chdp-variational: steps against a plain twin, fixed points, and what it agrees with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, doc_prior_of, fit_variational, simulated, with_parents
from stepping import at, settings_of
from variational_twin import Twin, sticks

from hiertopics.contract.model import Settings, Sizes
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.groups import groups_of
from hiertopics.corpus.data.tree import OUTSIDE
from hiertopics.families.chdp import variational
from hiertopics.families.chdp.variational import weights_of
from hiertopics.families.flat import variational as flat_variational
from hiertopics.families.hdp.variational import pcvb0

PARENTS = [[0, 1], [0], [], [1], [0, 1], [2]]


def six_documents() -> Corpus:
    return with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_a_step_is_that_of_a_plain_twin(cooperation: str) -> None:
    """Responsibilities, tables of groups, sticks and concentrations, three steps after the hold."""
    corpus = six_documents()
    state, data, settings = fit_variational(
        corpus, 9, truncation=4, hyper_start=2, cooperation=cooperation
    )
    rows = corpus.counts.toarray()
    for iteration in range(10, 13):
        twin = Twin(rows, PARENTS, state, cooperation)
        state, _ = variational.step(state, data, settings, at(iteration))
        twin.sweep()
        np.testing.assert_allclose(state.resp, twin.q, atol=1e-12)
        tables, seen = twin.document_tables()
        served = twin.serve(tables)
        expected = np.zeros_like(twin.tables)
        for _, group, given in served:
            expected[group] += given
        np.testing.assert_allclose(state.n_group_tables, expected, atol=1e-10)
        assert twin.alpha_group == state.alpha_group == 1.0
        twin.tables = expected
        options = twin.options(served, tables, seen).sum(axis=0) + tables[2]
        np.testing.assert_allclose(state.pi, sticks(options, twin.gamma), rtol=1e-6)
        np.testing.assert_allclose(state.n_tables, tables.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_a_converged_fit_is_a_fixed_point_and_a_perturbed_one_returns_to_it(
    cooperation: str,
) -> None:
    corpus, _ = simulated(Sizes(30, 25, 30), seed=1, truncation=4, gamma=3.0)
    keys: dict[str, Any] = {"truncation": 5, "hyper_start": 3, "cooperation": cooperation}
    state, data, settings = fit_variational(corpus, 4000, **keys)
    before = state.resp.copy()
    state, _ = variational.step(state, data, settings, at(4001))
    assert np.abs(state.resp - before).max() < 1e-6
    resp = state.resp
    resp *= np.exp(np.random.default_rng(0).normal(0, 0.05, resp.shape))
    resp /= resp.sum(axis=1, keepdims=True)
    flat_variational.recount(state, data.laid)
    moved = np.abs(state.resp - before).max()
    for iteration in range(4002, 6002):
        state, _ = variational.step(state, data, settings, at(iteration))
    assert np.abs(state.resp - before).max() < 0.01 * moved


def test_with_one_parent_each_both_cooperations_are_one_model() -> None:
    corpus, _ = simulated(Sizes(20, 20, 15), truncation=4)
    corpus = with_parents(corpus.counts.toarray(), [[doc % 3] for doc in range(20)], 3)
    ends = [
        fit_variational(corpus, 12, np.float32, truncation=6, hyper_start=2, cooperation=name)[0]
        for name in COOPERATIONS
    ]
    for name in ("resp", "n_group_tables", "pi"):
        assert getattr(ends[0], name).tobytes() == getattr(ends[1], name).tobytes()
    assert ends[0].alpha_doc == ends[1].alpha_doc


def test_without_groups_the_sweep_is_that_of_the_hdp() -> None:
    corpus, _ = simulated(Sizes(20, 20, 15), truncation=4)
    corpus = replace(corpus, groups=None)
    state, data, _ = fit_variational(corpus, 8, np.float32, truncation=6, hyper_start=8, eta=0.05)
    backend: Any = pcvb0
    plain = Settings(backend.Model(truncation=6, eta=0.05), backend.Inference(hyper_start=8))
    twin = backend.init(data.laid, plain, at(0))
    for iteration in range(1, 9):
        twin, _ = backend.step(twin, data.laid, plain, at(iteration))
    np.testing.assert_allclose(state.resp, twin.resp, atol=1e-6)


def test_groups_tied_to_the_corpus_predict_as_the_hdp_does() -> None:
    """One author of all documents who follows the corpus closely: the two-layer HDP."""
    corpus, _ = simulated(Sizes(60, 30, 40), truncation=5, gamma=4.0)
    one = with_parents(corpus.counts.toarray(), [[0]] * 60, 1)
    keys = {"truncation": 8, "hyper_start": 5}
    tied, data, settings = fit_variational(one, 60, alpha_group=1e6, **keys)
    free, others, _ = fit_variational(replace(corpus, groups=None), 60, **keys)
    assert tied.alpha_doc == pytest.approx(free.alpha_doc, rel=0.02)
    np.testing.assert_allclose(np.sort(tied.pi), np.sort(free.pi), atol=0.01)
    found, expected = (
        variational.summarise(s, d, settings, at(0)) for s, d in ((tied, data), (free, others))
    )
    words, twin = found.theta @ found.tree.phi, expected.theta @ expected.tree.phi
    assert np.abs(words - twin).sum(axis=1).max() < 0.02


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_documents_without_parents_and_groups_without_documents_are_kept(cooperation: str) -> None:
    state, data, settings = fit_variational(
        six_documents(), 20, np.float32, truncation=5, hyper_start=2, cooperation=cooperation
    )
    weights = weights_of(state, data, settings.model)
    prior = doc_prior_of(state, data, settings)
    np.testing.assert_allclose(prior[2], state.alpha_doc * state.pi, rtol=1e-5)
    np.testing.assert_allclose(prior[5], state.alpha_doc * weights.group[2], rtol=1e-5)
    tree = variational.summarise(state, data, settings, at(0)).tree
    groups = groups_of(tree)
    assert groups is not None and groups.n_docs.tolist() == [3, 3, 1, 0]
    np.testing.assert_allclose(groups.theta[3], tree.extra["corpus_theta"])
    assert (tree.kind == OUTSIDE).sum() <= 1


def test_learned_weights_sum_to_one_and_favour_the_parent_who_explains_the_document() -> None:
    rows = np.zeros((21, 4), dtype=int)
    rows[:10, :2], rows[10:20, 2:], rows[20] = 9, 9, [14, 13, 1, 1]
    parents = [[0]] * 10 + [[1]] * 10 + [[0, 1]]
    state, _, _ = fit_variational(
        with_parents(rows, parents, 2), 60, truncation=4, hyper_start=5, weights="learned"
    )
    assert state.share[:20] == pytest.approx(1.0)
    assert state.share[20:].sum() == pytest.approx(1.0) and state.share[20] > 0.6


def test_the_surrogate_rises_while_weights_are_held() -> None:
    """No bound: zero-order steps ascend it approximately, so a fall of a thousandth is allowed."""
    corpus, _ = simulated(Sizes(40, 30, 40), truncation=5, gamma=4.0)
    settings = settings_of(variational, truncation=8, hyper_start=60)
    data = variational.prepare(corpus, settings)
    state = variational.init(data, settings, at(0), np.float64)
    scores = [variational.objective(state, data, settings, at(0))]
    for iteration in range(1, 61):
        state, _ = variational.step(state, data, settings, at(iteration))
        scores.append(variational.objective(state, data, settings, at(0)))
    rise = scores[-1] - scores[0]
    assert rise > 0 and min(np.diff(scores)) > -0.001 * rise
