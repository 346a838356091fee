"""The state between sweeps: tries, the best draw, what is summarised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepping
from gibbs_cases import (
    advance,
    hyper_of,
    levels_of,
    paths_of,
    settings_of,
    varied_corpus,
)
from naive_gibbs import log_joint
from scipy import sparse
from stepping import at, begin, docs_of

from hiertopics.base.errors import ConfigError
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.tree import OUTSIDE
from hiertopics.families.ncrp.sampler import backend as gibbs, hyperparameters
from hiertopics.families.ncrp.sampler.chains import State, keep, moved, revive
from hiertopics.fitting.job import FitResult
from hiertopics.runs.experiment import read_experiment

BACKEND: Any = gibbs.backend
ONE: Any = gibbs.one
CORPUS = varied_corpus(n_docs=12, n_words=8)
LEARN: dict[str, Any] = {"hold": ()}


def fitted(n: int, **keys: Any) -> tuple[State, Any, Any]:
    settings = settings_of(**keys)
    data = gibbs.prepare(CORPUS, settings)
    state = gibbs.init(data, settings, at(0))
    return advance(state, data, settings, n), data, settings


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("n", [0, 1, 10])
def test_objective_is_the_joint_token_by_token(depth: int, n: int) -> None:
    state, data, settings = fitted(n, depth=depth, gamma=2.0, **LEARN)
    expected = log_joint(
        docs_of(CORPUS),
        paths_of(state.chain.path),
        levels_of(CORPUS, state.chain.level),
        hyper_of(state.prior, data.n_words),
    )
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(expected, rel=1e-12)


def test_info_tells_the_objective_and_the_size_of_the_tree() -> None:
    state, data, settings = fitted(4)
    state, info = ONE.step(state, data, settings, at(5))
    assert info.log_joint == pytest.approx(gibbs.objective(state, data, settings, at(0)), rel=1e-12)
    nodes = {path[:cut] for path in map(tuple, state.chain.path.tolist()) for cut in (1, 2, 3)}
    leaves = [tuple(path) for path in state.chain.path.tolist()]
    assert (info.n_nodes, info.n_leaves) == (len(nodes), len(set(leaves)))
    assert info.largest_path == max(map(leaves.count, leaves)) / CORPUS.n_docs


def test_words_in_another_order_leave_the_objective() -> None:
    """T9: the vocabulary is permuted, each token keeps its level."""
    state, data, settings = fitted(5)
    order = np.random.default_rng(1).permutation(CORPUS.n_words)
    rows = CORPUS.counts.toarray()
    moved = Corpus(sparse.csr_array(rows[:, order]), default_vocab(CORPUS.n_words))
    place = np.argsort(order)
    levels = []
    for words, level in zip(docs_of(CORPUS), levels_of(CORPUS, state.chain.level), strict=True):
        levels += [level[k] for k in np.argsort(place[words], kind="stable")]
    chain = state.chain._replace(level=np.array(levels, dtype=np.int8))
    changed = State(chain, state.prior, state.tries)
    expected = gibbs.objective(state, data, settings, at(0))
    found = gibbs.objective(changed, gibbs.prepare(moved, settings), settings, at(0))
    assert (rows[:, order] != rows).any()
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_is_kept_of_a_draw_makes_the_draw_again() -> None:
    """Also of one whose levels are wider than they must be; the kept one holds no counts."""
    state, data, settings = fitted(6, **LEARN)
    wide = moved(state.chain, state.chain.first + 16 * np.arange(4))
    kept = keep(State(wide, state.prior, state.tries))
    again = revive(kept, data)
    assert kept.chain.n_wk.size == 0 and kept.chain.path is not wide.path
    found, expected = (gibbs.summarise(each, data, settings, at(0)) for each in (again, state))
    np.testing.assert_array_equal(found.tree.phi, expected.tree.phi)
    np.testing.assert_array_equal(found.theta.toarray(), expected.theta.toarray())
    assert gibbs.objective(again, data, settings, at(0)) == gibbs.objective(
        state, data, settings, at(0)
    )


def test_hyperparameters_stay_unless_they_are_sampled() -> None:
    fixed, _, _ = fitted(5, gamma=0.7, eta=0.2)
    assert (fixed.prior.gamma, fixed.prior.eta) == (0.7, 0.2)
    for name, key in (("gamma", "gamma"), ("eta", "eta"), ("level", "level_prior")):
        held = tuple({"eta", "gamma", "level_prior"} - {key})
        drawn, _, _ = fitted(5, hold=held)
        others = {"gamma", "eta", "level"} - {name}
        assert np.all(getattr(drawn.prior, name) != getattr(fixed.prior, name))
        default, _, _ = fitted(0)
        for other in others:
            np.testing.assert_array_equal(
                getattr(drawn.prior, other), getattr(default.prior, other)
            )


def test_the_best_draw_is_the_most_probable_after_the_burn_in() -> None:
    """Its log joint is the largest of those that Info told, its tree is what is summarised."""
    settings = settings_of(burn_in=5, iterations=40)
    state, data = begin(BACKEND, CORPUS, settings)
    told, trees = {}, {}
    for iteration in range(1, 41):
        state, info = BACKEND.step(state, data, settings, at(iteration))
        told[iteration] = info.log_joint
        trees[iteration] = BACKEND.draw(state, data, settings, at(0))
    best = max(range(6, 41), key=told.__getitem__)
    assert state.best_score[0] == pytest.approx(
        told[best] + hyperparameters.log_prior(state.now[0].prior), rel=1e-12
    )
    summary = BACKEND.summarise(state, data, settings, at(0))
    np.testing.assert_array_equal(summary.tree.phi, trees[best].tree.phi)
    np.testing.assert_array_equal(summary.theta.toarray(), trees[best].theta.toarray())
    last = BACKEND.summarise(state, data, settings_of(burn_in=5, summarise="last"), at(0))
    np.testing.assert_array_equal(last.tree.phi, trees[40].tree.phi)


def test_no_draw_of_the_burn_in_is_the_best() -> None:
    """The burn-in is made to end with the most probable draw: a later one is the best."""
    settings = settings_of(burn_in=0)
    state, data = begin(BACKEND, CORPUS, settings)
    told = []
    for iteration in range(1, 41):
        state, info = BACKEND.step(state, data, settings, at(iteration))
        told.append(info.log_joint)
    first = int(np.argmax(told)) + 1
    assert 0 < first < 40
    settings = settings_of(burn_in=first)
    state, data = begin(BACKEND, CORPUS, settings)
    state = stepping.advance(BACKEND, state, data, settings, 40)
    log_prior = hyperparameters.log_prior(state.now[0].prior)
    assert state.best_score[0] == pytest.approx(max(told[first:]) + log_prior, rel=1e-12)


def test_before_the_burn_in_ends_the_last_draw_is_summarised() -> None:
    settings = settings_of(burn_in=5)
    state, data = begin(BACKEND, CORPUS, settings)
    state = stepping.advance(BACKEND, state, data, settings, 4)
    found, last = (f(state, data, settings, at(0)) for f in (BACKEND.summarise, BACKEND.draw))
    np.testing.assert_array_equal(found.tree.phi, last.tree.phi)


def test_the_most_probable_try_goes_on_from_where_it_ended() -> None:
    """Three tries of four iterations: the mean of the last two decides."""
    keys = {"restarts": 3, "restart_iterations": 4, "burn_in": 12, "leap_every": 0}
    state, data, settings = fitted(0, **keys)
    told, ends = [], []
    for iteration in range(1, 13):
        state, info = ONE.step(state, data, settings, at(iteration))
        told.append(info.log_joint)
        if iteration in (4, 8):
            ends.append((state.chain.path.copy(), state.chain.level.copy()))
            leading = state.tries.best
    means = np.array(told).reshape(3, 4)[:, 2:].mean(axis=1)
    winner = int(means.argmax())
    log_prior = hyperparameters.log_prior(state.prior)
    assert leading == pytest.approx(means[winner] + log_prior, rel=1e-12)
    assert winner < 2, "another seed is needed: the last try goes on where it is anyway"
    path, level = ends[winner]
    np.testing.assert_array_equal(state.chain.level, level)
    same = [(x[:, None] == x).all(axis=2) for x in (path, state.chain.path)]
    np.testing.assert_array_equal(*same)
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(
        told[4 * winner + 3], rel=1e-12
    )


def test_each_try_starts_anew() -> None:
    """The first iteration of a try does not depend on the tries before it."""
    settings = settings_of(restarts=3, restart_iterations=2, burn_in=6)
    data = gibbs.prepare(CORPUS, settings)
    one = advance(gibbs.init(data, settings, at(0)), data, settings, 2)
    other = gibbs.init(data, settings, at(0, seed=9))
    stepped = [gibbs.one.step(state, data, settings, at(3))[0] for state in (one, other)]
    np.testing.assert_array_equal(stepped[0].chain.level, stepped[1].chain.level)


def test_tries_that_reach_beyond_the_burn_in_are_refused() -> None:
    with pytest.raises(ConfigError, match="burn_in must be >= restarts . restart_iterations = 60"):
        overrides = ["inference.restarts=3", "inference.restart_iterations=20"]
        read_experiment({"backend": "hlda-gibbs"}, None, (*overrides, "inference.burn_in=50"))


def test_a_summary_holds_the_counts_of_the_draw() -> None:
    """phi, theta, paths, documents and prior masses of every node, from the state alone."""
    state, data, settings = fitted(6, gamma=2.0, level_prior=[2.0, 1.0, 0.5])
    summary = gibbs.summarise(state, data, settings, at(0))
    tree, eta = summary.tree, settings.model.eta
    assert summary.paths is not None
    path = summary.paths.node
    doc = np.repeat(np.arange(CORPUS.n_docs), CORPUS.doc_lengths)
    words = np.concatenate([np.array(doc, dtype=int) for doc in docs_of(CORPUS)])
    counts = np.zeros((tree.n_nodes, CORPUS.n_words))
    np.add.at(counts, (path[doc, state.chain.level], words), 1)
    live = tree.kind != OUTSIDE
    phi = (counts + eta) / (counts.sum(axis=1, keepdims=True) + CORPUS.n_words * eta)
    np.testing.assert_allclose(tree.phi[live], phi[live], rtol=1e-12)
    np.testing.assert_allclose(tree.n_tokens, counts.sum(axis=1))
    weights = state.chain.n_dl + np.array([2.0, 1.0, 0.5])
    theta = np.zeros((CORPUS.n_docs, tree.n_nodes))
    np.put_along_axis(theta, path, weights / weights.sum(axis=1, keepdims=True), axis=1)
    np.testing.assert_allclose(summary.theta.toarray(), theta, rtol=1e-12)
    np.testing.assert_array_equal(tree.n_docs, np.bincount(path.ravel(), minlength=tree.n_nodes))
    assert (summary.paths.log_prob == 0).all()
    log_mass = tree.extra["log_mass"][live]
    assert np.exp(log_mass).sum() == pytest.approx(1, abs=1e-12)
    new_at_root = 2.0 / (CORPUS.n_docs + 2.0)
    assert np.exp(log_mass[0]) == pytest.approx(new_at_root)


def test_kept_draws_are_current_draws_not_the_best_one(
    fit_tiny: Callable[..., FitResult], tmp_path: Path
) -> None:
    """draws/ holds what the chain was at, model.npz the summarised draw."""
    keys = ("inference.burn_in=2", "inference.keep_every=1")
    result = fit_tiny(tmp_path / "run", "hlda-gibbs", 30, keys)
    draws = [tree.phi for tree, _ in result.run.draws()]
    assert len(draws) == 28 and len({phi.tobytes() for phi in draws}) > 10
    assert sum(np.array_equal(phi, result.run.tree.phi) for phi in draws) == 1
