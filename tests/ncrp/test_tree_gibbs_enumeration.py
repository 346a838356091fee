"""The sampler against the enumerated posterior of two documents (theory/ncrp 9, T6 and T7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gibbs_cases import copy_of, levels_of, paths_of, random_chain
from naive_gibbs import Hyper, Posterior, posterior, relabelled
from nights import by_night
from stepping import corpus_of, docs_of

from hiertopics.base.arrays import I8, I32
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.sampler.move_kernels import graft_level, leap_all
from hiertopics.families.ncrp.sampler.sweep_kernels import sweep

CORPUS = corpus_of([[2, 1, 0], [1, 0, 2]])
PRIOR = Hyperparameters(np.array([2.0, 1.0]), 1.0, 1.0)
# The problem of the page is written in token order; here words ascend within a document.
Z_LOWER = [[0.3416301, 0.3416301, 0.4183256], [0.3126101, 0.4124260, 0.4124260]]
N_SWEEPS = 40_000
LONG = 80_000
SWEEP, LEAP, BOTH, ALL = (
    (True, False, False),
    (False, True, False),
    (True, False, True),
    (True, True, True),
)


def exact(prior: Hyperparameters, corpus: Any = CORPUS) -> Posterior:
    """Return the enumerated posterior."""
    hyper = Hyper(prior.level.tolist(), prior.gamma, prior.eta, corpus.n_words)
    return posterior(docs_of(corpus), hyper)


def states(
    words: TokenRanges,
    chain: Chain,
    prior: Hyperparameters,
    n_sweeps: int,
    moves: tuple[bool, ...],
    rng: Any,
) -> tuple[I32, I8]:
    """Return paths [n_sweeps, D, L] and levels [n_sweeps, n_tokens] after each sweep."""
    order = np.arange(len(chain.path))
    paths = np.empty((n_sweeps, *chain.path.shape), np.int32)
    levels = np.empty((n_sweeps, len(chain.level)), np.int8)
    for turn in range(n_sweeps):
        if moves[0]:
            sweep(words, chain, prior, order, 0, False, rng)
        if moves[1]:
            leap_all(words, chain, prior, 0, rng)
        if moves[2]:
            for level in range(chain.path.shape[1] - 1, 1, -1):
                by_node = np.argsort(chain.path[:, level])
                graft_level(words, chain, prior, level, by_node, 0, rng)
        paths[turn], levels[turn] = chain.path, chain.level
    return paths, levels


def run(
    prior: Hyperparameters,
    n_sweeps: int,
    corpus: Any = CORPUS,
    moves: tuple[bool, bool, bool] = SWEEP,
) -> Any:
    """Return the states of a run at fixed hyperparameters."""
    data, chain, _ = random_chain(corpus, len(prior.level), prior=prior)
    rng = np.random.default_rng(11)
    return states(data.words, copy_of(chain), prior, n_sweeps, moves, rng)


def test_the_evidence_of_the_tiny_corpus_is_that_of_the_theory() -> None:
    """T6: -6.989242420490596, and what follows from the same list."""
    log_evidence, chances = exact(PRIOR)
    assert log_evidence == pytest.approx(-6.989242420490596, rel=1e-14)
    same = sum(chance for (paths, _), chance in chances.items() if paths[0] == paths[1])
    assert same == pytest.approx(0.4748985498, abs=1e-10)
    for doc in range(2):
        for token in range(3):
            lower = sum(c for (_, levels), c in chances.items() if levels[doc][token] == 1)
            assert lower == pytest.approx(Z_LOWER[doc][token], abs=1e-7)


def test_forty_thousand_sweeps_agree_with_the_evidence() -> None:
    """T7: the chance of one leaf, and of level 2 for each token, within 0.01."""
    paths, levels = run(PRIOR, N_SWEEPS)
    assert (paths[:, 0, 1] == paths[:, 1, 1]).mean() == pytest.approx(0.4748985498, abs=0.01)
    np.testing.assert_allclose(levels.mean(axis=0), np.ravel(Z_LOWER), atol=0.01)


def distance(paths: Any, levels: Any, expected: Posterior, corpus: Any) -> float:
    """Return the total variation between visits and an enumerated posterior."""
    rows = np.concatenate([paths.reshape(len(paths), -1), levels], axis=1)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    found = dict.fromkeys(expected.chances, 0.0)
    n_entries = paths[0].size
    for row, count in zip(distinct, times, strict=True):
        tree = relabelled(paths_of(row[:n_entries].reshape(paths[0].shape)))
        key = (tree, tuple(map(tuple, levels_of(corpus, row[n_entries:]))))
        found[key] += count / len(rows)
    return sum(abs(found[key] - chance) for key, chance in expected.chances.items()) / 2


@pytest.mark.slow
def test_every_state_is_visited_as_often_as_the_posterior_says() -> None:
    """All 128 trees and levels, not only their margins."""
    paths, levels = run(PRIOR, LONG)
    assert distance(paths, levels, exact(PRIOR), CORPUS) < 0.025


@pytest.mark.slow
def test_leaps_alone_visit_every_state_as_often_as_the_posterior_says() -> None:
    paths, levels = run(PRIOR, LONG, moves=LEAP)
    assert distance(paths, levels, exact(PRIOR), CORPUS) < 0.025


@pytest.mark.slow
@pytest.mark.parametrize(
    "moves", [*by_night((SWEEP,), (LEAP,), (BOTH,)), ALL], ids=["sweep", "leap", "graft", "all"]
)
def test_three_documents_on_three_levels_too(moves: tuple[bool, bool, bool]) -> None:
    """Trees with inner nodes to branch off from, one document empty: 12 trees, 27 level choices."""
    corpus = corpus_of([[2, 0], [0, 1], [0, 0]])
    prior = Hyperparameters(np.array([0.8, 1.2, 0.6]), 0.7, 0.5)
    paths, levels = run(prior, LONG, corpus, moves)
    assert distance(paths, levels, exact(prior, corpus), corpus) < 0.035


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        PRIOR._replace(gamma=1.3),
        *by_night(
            (PRIOR._replace(eta=1.3),),
            (PRIOR._replace(level=np.array([2.0, 1.3])),),
        ),
    ],
    ids=["gamma", "eta", "levels"],
)
def test_posteriors_of_other_priors_are_told_apart(wrong: Hyperparameters) -> None:
    """The distance would notice hyperparameters that are off by a third."""
    paths, levels = run(PRIOR, LONG)
    assert distance(paths, levels, exact(wrong), CORPUS) > 0.035
