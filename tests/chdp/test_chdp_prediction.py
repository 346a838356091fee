"""Summaries and new documents: groups by name, unknown ones, nothing observed.

Source: theory/chdp 0, 6.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, advance, begin, settings_of, with_parents
from naive_chdp import base
from scipy import sparse
from stepping import at

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab
from hiertopics.corpus.data.groups import groups_of
from hiertopics.corpus.data.tree import OUTSIDE, Tree
from hiertopics.families.chdp import gibbs

PARENTS = [[0, 1], [0], [], [1], [0, 1], [2]]


def fitted(**keys: Any) -> tuple[Tree, Any, Any, Settings, Corpus]:
    """Return a fit to six documents; group g3 has no document."""
    corpus = with_parents(np.random.default_rng(0).poisson(1.5, (6, 8)), PARENTS, 4)
    settings = settings_of(truncation=9, hyper_start=0, **keys)
    state, data = begin(corpus, settings)
    state = advance(state, data, settings, 8)
    return gibbs.one.summarise(state, data, settings, at(0)).tree, state, data, settings, corpus


def newcomers(names: list[list[str]], *, words: int = 0) -> Corpus:
    """Return documents with groups of these names and ``words`` tokens of word 2 each."""
    known = sorted({name for mine in names for name in mine}, reverse=True)
    members = np.array([[name in mine for name in known] for mine in names])
    counts = np.zeros((len(names), 8), dtype=np.int32)
    counts[:, 2] = words
    tags = Tags(sparse.csr_array(members), tuple(known))
    return Corpus(sparse.csr_array(counts), default_vocab(8), groups=tags)


def theta_of(tree: Tree, corpus: Corpus, settings: Settings) -> F64:
    return np.asarray(gibbs.one.infer(tree, corpus, settings, at(0)).theta.toarray())


NAMES = [["g1", "g0"], ["g2"], [], ["nobody"], ["g0", "nobody"], ["g3"]]


def together(tree: Tree, kind: str, cooperation: str) -> F64:
    """Return by hand how the groups of NAMES cooperate; an unknown one counts as the corpus."""
    corpus = tree.extra[f"corpus_{kind}"]
    known = zip(tree.extra["group_names"], tree.extra[f"group_{kind}"], strict=True)
    weights = dict(known) | {"nobody": corpus}
    maximization = cooperation == "maximization"
    return np.array(
        [
            base(
                range(len(mine)),
                np.array([weights[name] for name in mine]),
                corpus,
                np.full(len(mine), 1 / max(len(mine), 1)),
                maximization,
            )
            for mine in NAMES
        ]
    )


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_before_a_word_theta_is_the_mean_of_the_documents_of_the_groups_that_are_known(
    cooperation: str,
) -> None:
    """Names are matched, whatever their order; an unknown one counts as the corpus."""
    tree, _, _, settings, _ = fitted(cooperation=cooperation)
    theta = theta_of(tree, newcomers(NAMES), settings)
    np.testing.assert_allclose(theta, together(tree, "mean", cooperation), atol=1e-12)
    assert (theta[2] == theta[3]).all() and (theta[3] == theta[5]).all()


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_words_are_explained_by_the_weights_of_groups_and_the_rest_by_the_mean(
    cooperation: str,
) -> None:
    """One token: q(z) is proportional to phi times the base, no other token being there."""
    tree, _, _, settings, _ = fitted(cooperation=cooperation)
    theta = theta_of(tree, newcomers(NAMES, words=1), settings)
    alpha_doc = tree.extra["alpha_doc"][0]
    chance = together(tree, "theta", cooperation) * tree.phi[:, 2]
    chance /= chance.sum(axis=1, keepdims=True)
    expected = chance + alpha_doc * together(tree, "mean", cooperation)
    np.testing.assert_allclose(theta, expected / (1 + alpha_doc), atol=1e-12)


def test_the_mean_of_a_group_is_that_of_its_documents_and_half_a_document_like_the_corpus() -> None:
    tree, state, data, settings, _ = fitted()
    theta = gibbs.one.summarise(state, data, settings, at(0)).theta.toarray()
    corpus = np.append(state.n_k, 0) + np.append(np.exp(state.log_pi_0), 0)
    order = np.argsort(-state.n_k, kind="stable")
    live, gone = order[state.n_k[order] > 0], order[state.n_k[order] == 0]
    corpus = np.append(corpus[live], corpus[gone].sum() if len(gone) else [])
    corpus /= corpus.sum()
    np.testing.assert_allclose(tree.extra["corpus_mean"], corpus, atol=1e-12)
    for group, docs in ((0, [0, 1, 4]), (2, [5]), (3, [])):
        mean = (theta[docs].sum(axis=0) + 0.5 * corpus) / (len(docs) + 0.5)
        np.testing.assert_allclose(tree.extra["group_mean"][group], mean, atol=1e-12)


def test_words_and_groups_both_tell() -> None:
    tree, _, _, settings, _ = fitted()
    names = [["g0"], ["g1"]]
    before, after = (theta_of(tree, newcomers(names, words=n), settings) for n in (0, 200))
    assert ((after @ tree.phi)[:, 2] > (before @ tree.phi)[:, 2]).all()
    assert np.abs(before[0] - before[1]).max() > np.abs(after[0] - after[1]).max() > 1e-6


def test_theta_of_a_training_document_is_its_counts_and_its_base() -> None:
    tree, state, data, settings, _ = fitted()
    summary = gibbs.one.summarise(state, data, settings, at(0))
    groups = groups_of(tree)
    assert groups is not None
    order = np.argsort(-state.n_k, kind="stable")
    live = order[state.n_k[order] > 0]
    bases = (groups.theta[0] + groups.theta[1]) / 2
    prior = state.alpha_doc * bases
    counts = np.append(state.n_dk[0, live], np.zeros(len(prior) - len(live)))
    expected = (counts + prior) / (counts + prior).sum()
    np.testing.assert_allclose(summary.theta.toarray()[0], expected, atol=1e-12)


def test_groups_of_the_tree_are_all_groups_of_the_corpus() -> None:
    tree, state, _, _, corpus = fitted()
    groups = groups_of(tree)
    assert groups is not None and corpus.groups is not None
    assert groups.names == corpus.groups.names
    assert groups.n_docs.tolist() == [3, 3, 1, 0]
    np.testing.assert_allclose(groups.theta.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(groups.theta[3], tree.extra["corpus_theta"])
    mean = state.n_group_tables + state.alpha_group * np.exp(state.log_pi_0)
    mean /= mean.sum(axis=1, keepdims=True)
    order = np.argsort(-state.n_k, kind="stable")
    n_live = int((tree.kind != OUTSIDE).sum())
    np.testing.assert_allclose(groups.theta[:3, :n_live], mean[:, order[:n_live]], atol=1e-12)


def test_labels_may_be_the_parents() -> None:
    _, _, _, _, corpus = fitted()
    labelled = replace(corpus, groups=None, labels=corpus.groups)
    settings = settings_of(parents="labels", truncation=9, hyper_start=0)
    state, data = begin(labelled, settings)
    ends = [advance(state, data, settings, 8)]
    state, data = begin(corpus, settings_of(truncation=9, hyper_start=0))
    ends.append(advance(state, data, settings_of(truncation=9, hyper_start=0), 8))
    assert ends[0].z.tobytes() == ends[1].z.tobytes()
    assert ends[0].log_pi.shape == (3, 9)


def test_learned_mixing_weights_are_shares_of_each_document() -> None:
    _, state, data, _, _ = fitted(weights="learned")
    owner = np.repeat(np.arange(6), np.diff(data.parents.ptr))
    np.testing.assert_allclose(np.bincount(owner, state.share), [1, 1, 0, 1, 1, 1], atol=1e-12)
    assert 0 < state.share[0] < 1 and state.share[0] != 0.5


def test_similar_groups_are_those_with_similar_topics() -> None:
    theta = np.array([[0.9, 0.1, 0.0], [0.1, 0.1, 0.8], [0.8, 0.2, 0.0], [0.9, 0.1, 0.0]])
    tree = fitted()[0]
    extra = {
        "group_names": np.array(["a", "b", "c", "d"]),
        "group_docs": np.array([2, 5, 2, 0]),
        "group_theta": theta,
    }
    groups = groups_of(replace(tree, extra=extra))
    assert groups is not None
    assert groups.by_size.tolist() == [1, 0, 2]
    near = groups.most_similar(0, 5)
    assert [other for other, _ in near] == [2, 1]  # d has no document
    assert near[0][1] == pytest.approx(np.sqrt(0.72) + np.sqrt(0.02))
