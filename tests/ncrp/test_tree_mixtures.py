"""Path mixtures of new documents on a tiny tree, against sums over every path.

Source: theory/ncrp 6, T13.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from gibbs_cases import settings_of
from stepping import at, corpus_of
from variational_cases import MODES, settings_of as variational_settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.contract.model import PathMixture
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import NODE, OUTSIDE, Tree
from hiertopics.families.ncrp.sampler import backend as gibbs
from hiertopics.families.ncrp.variational import backend as variational
from hiertopics.scoring.protocols.predicting import path_log_likelihoods

PARENT = np.array([-1, 0, 1, 1, 0, -1], dtype=np.int32)
"""The root, its children 1 and 4, the children 2 and 3 of 1; 5 is outside."""
PATHS = [[0, 5, 5], [0, 1, 5], [0, 1, 2], [0, 1, 3], [0, 4, 5]]
SHARES = np.array([0.5, 0.3, 0.2])
MASS = np.array([0.1, 0.15, 0.3, 0.25, 0.2])
OBSERVED = np.array([[2, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 3], [1, 1, 1, 1]])
SCORED = np.array([[1, 1, 0, 1], [1, 0, 2, 0], [0, 0, 1, 2], [0, 2, 0, 0]])


def tree_of(phi: F64, level_prior: F64) -> Tree:
    """Return the tree with topics ``phi`` [5, 4] and flat ones outside."""
    return Tree(
        phi=np.vstack([phi, np.full(4, 0.25)]),
        parent=PARENT,
        kind=np.array([NODE] * 5 + [OUTSIDE], dtype=np.int8),
        weight=np.full(6, 1 / 6),
        n_docs=np.ones(6, dtype=np.int64),
        n_tokens=np.ones(6),
        extra={
            "log_mass": np.append(np.log(MASS), 0.0),
            "eta": np.array([0.1]),
            "level_prior": level_prior,
        },
    )


def topics() -> F64:
    return np.random.default_rng(2).dirichlet(np.full(4, 0.5), 5)


def by_gibbs(tree: Tree, corpus: Corpus) -> PathMixture:
    found = gibbs.infer(tree, corpus, settings_of(), at(0)).mixture
    assert found is not None
    return found


def by_variation(mode: str) -> Callable[[Tree, Corpus], PathMixture]:
    def infer(tree: Tree, corpus: Corpus) -> PathMixture:
        found = variational.infer(tree, corpus, variational_settings_of(mode=mode), at(0)).mixture
        assert found is not None
        return found

    return infer


METHODS = {"gibbs": by_gibbs, **{mode: by_variation(mode) for mode in MODES}}


def chance(phi: F64, path: list[int], counts: I64) -> float:
    """Return p(tokens | path) under the level weights ``SHARES``, token by token."""
    words = np.repeat(np.arange(4), counts)
    return math.prod(
        sum(share * phi[node, word] for share, node in zip(SHARES, path, strict=True))
        for word in words
    )


@pytest.mark.parametrize("name", ["gibbs", "structured"])
def test_with_level_weights_known_a_path_score_is_the_exact_predictive(name: str) -> None:
    """A strong level prior leaves only the path open: Bayes' rule over five of them."""
    tree = tree_of(topics(), 1e8 * SHARES)
    mixture = METHODS[name](tree, corpus_of(OBSERVED))
    expected = []
    for seen, scored in zip(OBSERVED, SCORED, strict=True):
        joint = sum(
            m * chance(tree.phi, p, seen + scored) for m, p in zip(MASS, PATHS, strict=True)
        )
        known = sum(m * chance(tree.phi, p, seen) for m, p in zip(MASS, PATHS, strict=True))
        expected.append(math.log(joint / known))
    found = path_log_likelihoods(mixture, tree.phi, corpus_of(SCORED).counts)
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("name", ["gibbs", "structured"])
def test_with_level_weights_known_full_scores_by_the_paths_of_the_same_words(name: str) -> None:
    tree = tree_of(topics(), 1e8 * SHARES)
    mixture = METHODS[name](tree, corpus_of(SCORED))
    expected = []
    for scored in SCORED:
        chances = np.array([chance(tree.phi, path, scored) for path in PATHS])
        expected.append(math.log((MASS * chances**2).sum() / (MASS * chances).sum()))
    found = path_log_likelihoods(mixture, tree.phi, corpus_of(SCORED).counts)
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("name", METHODS)
def test_uniform_topics_give_one_in_v_by_every_method(name: str) -> None:
    """T13: -log V per word, exactly, for ``full`` and ``path``."""
    tree = tree_of(np.full((5, 4), 0.25), np.array([2.0, 1.0, 0.5]))
    mixture = METHODS[name](tree, corpus_of(OBSERVED))
    for counts in (OBSERVED, SCORED):
        found = path_log_likelihoods(mixture, tree.phi, corpus_of(counts).counts)
        assert found == pytest.approx(-math.log(4) * counts.sum(axis=1), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("name", METHODS)
def test_the_tokens_of_a_document_score_the_same_one_after_the_other(name: str) -> None:
    """Chain rule: the chances of all documents of two tokens sum to one."""
    tree = tree_of(topics(), np.array([2.0, 1.0, 0.5]))
    mixture = METHODS[name](tree, corpus_of(OBSERVED[:1]))
    total = 0.0
    for pair in itertools.product(range(4), repeat=2):
        counts = corpus_of([np.bincount(pair, minlength=4)]).counts
        total += math.exp(path_log_likelihoods(mixture, tree.phi, counts)[0])
    assert total == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_words_of_one_leaf_point_to_its_path(name: str) -> None:
    phi = np.full((5, 4), 0.25)
    phi[2] = [0.97, 0.01, 0.01, 0.01]
    tree = tree_of(phi, np.array([1.0, 1.0, 3.0]))
    mixture = METHODS[name](tree, corpus_of(np.array([[30, 1, 0, 0]])))
    best = int(np.argmax(mixture.log_prob))
    assert mixture.node[best].tolist() == [0, 1, 2] and mixture.log_prob[best] > np.log(0.99)
    assert mixture.level_weights[best][2] > 0.6
    outside = (mixture.node == -1).any(axis=1)
    assert np.exp(mixture.log_prob[outside]).sum() < 0.01
