"""New documents under a draw: exact posteriors of short ones, and flat topics (theory/ncrp 6)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from gibbs_cases import advance, settings_of, varied_corpus
from scipy.special import gammaln
from stepping import at, corpus_of

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Summary
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.ncrp.sampler import backend as gibbs
from hiertopics.families.ncrp.sampler.infer_kernels import FittedTree, sample_document

RNG = np.random.default_rng(4)
PARENT = np.array([-1, 0, 1, 1, 0], dtype=np.int32)
TOPICS = FittedTree(
    phi=np.ascontiguousarray(RNG.dirichlet(np.full(4, 0.4), 5).T),
    parent=PARENT,
    depth=np.array([0, 1, 2, 2, 1], dtype=np.int32),
    log_mass=np.log([0.1, 0.15, 0.3, 0.25, 0.2]),
    level_prior=np.array([1.2, 0.5, 0.9]),
)
PATHS = [[0, 5, 5], [0, 1, 5], [0, 1, 2], [0, 1, 3], [0, 4, 5]]
"""The node of each slot at each level; 5 is outside the tree."""

WORDS, COUNTS = np.array([0, 2, 3], dtype=np.int32), np.array([2, 1, 1], dtype=np.int32)


def exact() -> F64:
    """Return the share of each slot and level, by listing all levels of the four tokens."""
    alpha = TOPICS.level_prior
    tokens = np.repeat(WORDS, COUNTS)
    phi = np.column_stack([TOPICS.phi, np.full(4, 0.25)])
    shares = np.zeros((5, 3))
    for slot, path in enumerate(PATHS):
        for levels in itertools.product(range(3), repeat=len(tokens)):
            n = np.bincount(levels, minlength=3)
            weight = np.exp(TOPICS.log_mass[slot] + (gammaln(alpha + n) - gammaln(alpha)).sum())
            for word, level in zip(tokens, levels, strict=True):
                weight *= phi[word, path[level]]
            shares[slot] += weight * (alpha + n) / (alpha + n).sum()
    return shares / shares.sum()


def test_paths_and_their_level_weights_are_those_of_the_exact_posterior() -> None:
    rng = np.random.default_rng(0)
    found = sample_document(WORDS, COUNTS, TOPICS, 10, 60_000, rng)
    np.testing.assert_allclose(found, exact(), atol=0.003)


def test_the_exact_posterior_differs_from_the_prior() -> None:
    """So that the test above could fail."""
    shares = exact()
    assert np.abs(shares.sum(axis=1) - np.exp(TOPICS.log_mass)).max() > 0.05
    weights = TOPICS.level_prior / TOPICS.level_prior.sum()
    assert abs(shares.sum(axis=0)[0] - weights[0]) > 0.05


def summary_of(n: int = 6, **keys: Any) -> tuple[Summary, Any]:
    settings = settings_of(**keys)
    data = gibbs.prepare(varied_corpus(), settings)
    state = advance(gibbs.init(data, settings, at(0)), data, settings, n)
    return gibbs.summarise(state, data, settings, at(0)), settings


def test_an_empty_document_gets_the_prior() -> None:
    fitted, settings = summary_of(level_prior=[2.0, 1.0, 1.0])
    found = gibbs.infer(fitted.tree, corpus_of(np.zeros((1, 7))), settings, at(0))
    theta = found.theta.toarray()[0]
    log_mass = fitted.tree.extra["log_mass"]
    at_root = [node for node in range(fitted.tree.n_nodes - 1) if fitted.tree.parent[node] == 0]
    assert theta[0] == pytest.approx(0.5)
    assert theta[-1] == pytest.approx(
        0.5 * np.exp(log_mass[0]) + 0.25 * np.exp(log_mass[at_root]).sum()
    )
    assert found.paths is not None
    assert found.paths.log_prob[0] == pytest.approx(log_mass[:-1].max())


def test_flat_topics_give_one_in_v_to_every_word() -> None:
    """T13: with flat topics the score per word is -log V exactly."""
    fitted, settings = summary_of()
    tree = fitted.tree
    flat = Tree(
        phi=np.full(tree.phi.shape, 1 / 7),
        parent=tree.parent,
        kind=tree.kind,
        weight=tree.weight,
        n_docs=tree.n_docs,
        n_tokens=tree.n_tokens,
        extra=tree.extra,
    )
    theta = gibbs.infer(flat, varied_corpus(seed=6), settings, at(0)).theta
    np.testing.assert_allclose(np.log(theta @ flat.phi), -np.log(7), rtol=1e-12)


def test_another_seed_gives_another_answer_close_by() -> None:
    fitted, settings = summary_of()
    corpus = varied_corpus(seed=6)
    one, other = (
        gibbs.infer(fitted.tree, corpus, settings, at(0, seed=seed)).theta.toarray()
        for seed in (0, 1)
    )
    assert (one != other).any()
    assert np.abs(one - other).sum(axis=1).mean() < 0.3


def test_a_training_document_finds_its_own_path() -> None:
    """Documents of disjoint words, each seen fifty times."""
    block = np.kron(np.eye(3, dtype=int), np.full((1, 3), 10))
    settings = settings_of(gamma=0.5, eta=0.01)
    data = gibbs.prepare(corpus_of(np.repeat(block, 20, axis=0)), settings)
    state = advance(gibbs.init(data, settings, at(0)), data, settings, 30)
    fitted = gibbs.summarise(state, data, settings, at(0))
    found = gibbs.infer(fitted.tree, corpus_of(block), settings, at(0))
    assert fitted.paths is not None and found.paths is not None
    predicted = found.theta @ fitted.tree.phi
    assert (predicted[block > 0].reshape(3, 3).sum(axis=1) > 0.9).all()
