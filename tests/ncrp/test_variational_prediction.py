"""New documents and summaries of the variational tree (theory/ncrp 6, T13)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp
from stepping import at, corpus_of
from variational_cases import MODES, adjusted_rand, best_leaves, fitted, planted, settings_of

from hiertopics.contract.model import Posterior, Settings, Summary
from hiertopics.corpus.data.tree import NODE, OUTSIDE, Tree
from hiertopics.families.ncrp.variational import backend as variational
from hiertopics.families.nested.slots import place
from hiertopics.runs import soundness

CORPUS, BRANCH, _ = planted(0, 120)
NEW, NEW_BRANCH, _ = planted(1, 40)


def summary_of(settings: Settings) -> Summary:
    state, data = fitted(CORPUS, settings, 0, 15)
    return variational.summarise(state, data, settings, at(0))


@pytest.fixture(scope="module", params=MODES)
def fit(request: pytest.FixtureRequest) -> tuple[Summary, Settings]:
    settings = settings_of(mode=request.param)
    return summary_of(settings), settings


def test_new_documents_find_the_branch_of_their_like(fit: tuple[Summary, Settings]) -> None:
    summary, settings = fit
    posterior = variational.infer(summary.tree, NEW, settings, at(0))
    assert posterior.paths is not None
    assert adjusted_rand(posterior.paths.node[:, 2], NEW_BRANCH[:, 1]) > 0.7
    assert (np.exp(posterior.paths.log_prob) <= 1).all()


def test_inference_of_training_documents_finds_their_own_paths(
    fit: tuple[Summary, Settings],
) -> None:
    summary, settings = fit
    posterior = variational.infer(summary.tree, CORPUS, settings, at(0))
    assert posterior.paths is not None and summary.paths is not None
    same = (posterior.paths.node == summary.paths.node).all(axis=1)
    assert same.mean() > 0.9


def uniform_tree(n_words: int, depth: int = 3) -> Tree:
    """Return a tree of one path whose topics are all uniform."""
    n_nodes = depth + 1
    return Tree(
        phi=np.full((n_nodes, n_words), 1 / n_words),
        parent=np.array([-1, *range(depth - 1), -1], dtype=np.int32),
        kind=np.array([NODE] * depth + [OUTSIDE], dtype=np.int8),
        weight=np.full(n_nodes, 1 / n_nodes),
        n_docs=np.ones(n_nodes, dtype=np.int64),
        n_tokens=np.ones(n_nodes),
        extra={
            "log_mass": np.array([-2.0, -1.5, -0.3, 0.0]),
            "eta": np.array([0.1]),
            "level_prior": np.ones(depth),
        },
    )


@pytest.mark.parametrize("mode", MODES)
def test_under_uniform_topics_every_word_has_the_same_chance(mode: str) -> None:
    """T13: -log V per word, exactly."""
    tree, corpus = uniform_tree(7), corpus_of([[3, 0, 1, 0, 0, 0, 2]])
    posterior = variational.infer(tree, corpus, settings_of(mode=mode), at(0))
    assert np.log(posterior.theta @ tree.phi) == pytest.approx(-np.log(7), abs=1e-14)


@pytest.mark.parametrize("length", [3, 8, 60])
def test_the_answer_for_one_document_is_the_best_of_each_slot(length: int) -> None:
    """By the formulas, topics at their means: tau for each slot, then the chances of slots."""
    settings = settings_of()
    tree = summary_of(settings).tree
    words = np.repeat(np.arange(60), NEW.counts[[4]].toarray()[0])
    some = np.random.default_rng(0).permutation(words)[:length]
    document = corpus_of([np.bincount(some, minlength=60)])
    posterior = variational.infer(tree, document, settings, at(0))
    expected = _by_formulas(tree, document.counts.toarray()[0])
    assert posterior.theta.toarray() == pytest.approx(expected.theta.toarray(), abs=2e-3)
    assert posterior.paths is not None and expected.paths is not None
    assert posterior.paths.node.tolist() == expected.paths.node.tolist()


def _by_formulas(tree: Tree, counts: np.ndarray) -> Posterior:
    nodes, prior = tree.shown, tree.extra["level_prior"]
    n_words = tree.phi.shape[1]
    scores, weights = np.empty(len(nodes)), np.empty((len(nodes), len(prior)))
    for node in nodes:
        chance = np.full((n_words, len(prior)), 1 / n_words)
        above = int(node)
        while above >= 0:
            chance[:, tree.depth[above]] = tree.phi[above]
            above = int(tree.parent[above])
        tau = prior * (1 + counts.sum() / prior.sum())
        for _ in range(500):
            inside = chance * np.exp(digamma(tau) - digamma(tau.sum()))
            total = inside.sum(axis=1, keepdims=True)
            tau = prior + counts @ (inside / total)
        e_log = digamma(tau) - digamma(tau.sum())
        score = counts @ np.log((chance * np.exp(e_log)).sum(axis=1))
        score += gammaln(tau).sum() - gammaln(tau.sum()) + ((prior - tau) * e_log).sum()
        scores[node] = tree.extra["log_mass"][node] + score
        weights[node] = tau / tau.sum()
    rows = sparse.csr_array(np.exp(scores - logsumexp(scores))[None, :])
    return place(tree.parent[nodes], len(prior), rows, weights[rows.indices])


def test_the_summary_has_the_expected_counts_and_the_tree_s_own_order(
    fit: tuple[Summary, Settings],
) -> None:
    summary, settings = fit
    tree = summary.tree
    state, data = fitted(CORPUS, settings, 0, 15)
    assert tree.n_tokens.sum() == pytest.approx(CORPUS.n_tokens, rel=1e-6)
    assert np.sort(tree.n_tokens[tree.shown])[-3:] == pytest.approx(
        np.sort((state.lam - state.eta).sum(axis=0))[-3:], rel=1e-4
    )
    assert tree.phi[0] == pytest.approx(state.lam[:, 0] / state.lam[:, 0].sum(), rel=1e-5)
    mass = np.exp(tree.extra["log_mass"][tree.shown]).sum()
    assert mass == pytest.approx(1.0, rel=1e-9)
    leaves = best_leaves(state, data)
    assert summary.paths is not None
    assert adjusted_rand(summary.paths.node[:, 2], leaves) == pytest.approx(1.0)


def test_a_corpus_on_one_path_is_reported() -> None:
    rng = np.random.default_rng(0)
    corpus = corpus_of(rng.multinomial(30, np.full(10, 0.1), 25))
    settings = settings_of(start_leaves=1)
    state, data = fitted(corpus, settings, 0, 6)
    notes = soundness.notes(variational.summarise(state, data, settings, at(0)))
    assert any("one path holds nearly every document" in note for note in notes)


def test_equal_siblings_are_reported_and_others_are_not() -> None:
    settings = settings_of(moves="none")
    state, data = fitted(CORPUS, settings, 0, 3)
    assert soundness.notes(variational.summarise(state, data, settings, at(0))) == ()
    first, second = np.flatnonzero(state.parent == 0)[:2]
    state.lam[:, second] = 0.9 * state.lam[:, first]
    notes = soundness.notes(variational.summarise(state, data, settings, at(0)))
    assert any("sibling" in note for note in notes)
