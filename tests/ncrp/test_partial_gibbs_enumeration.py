"""The partially collapsed sweep against enumerated posteriors (theory/ncrp 9, T6 and T7)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from gibbs_cases import paths_of, random_chain
from naive_gibbs import relabelled
from nights import by_night
from partial_cases import one_generator
from stepping import at, corpus_of
from test_tree_gibbs_enumeration import CORPUS, PRIOR, Z_LOWER, distance, exact

from hiertopics.base.arrays import I8, I32
from hiertopics.families.ncrp.sampler import partial, partial_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters

N_SWEEPS = 16_000
FOUR = corpus_of([[1, 0], [0, 1], [2, 0], [0, 1]])
FOUR_PRIOR = Hyperparameters(np.array([0.8, 1.6]), 0.9, 0.4)
DEEP = corpus_of([[2, 0], [0, 1], [0, 0]])
DEEP_PRIOR = Hyperparameters(np.array([0.8, 1.2, 0.6]), 0.7, 0.5)


@pytest.fixture(autouse=True)
def _one_is_seated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single document be redrawn with topics integrated out."""
    monkeypatch.setattr(partial, "SEATED", 0.1)


def run(corpus: Any, prior: Hyperparameters, n_sweeps: int, n_shards: int = 0) -> tuple[I32, I8]:
    """Return paths [n_sweeps, D, L] and levels [n_sweeps, n_tokens] after each sweep.

    n_shards: 0 for one shard whose random numbers all come from one generator, which is faster.
    """
    data, chain, _ = random_chain(corpus, len(prior.level), prior=prior)
    shards = one_generator(11)
    paths = np.empty((n_sweeps, *chain.path.shape), np.int32)
    levels = np.empty((n_sweeps, len(chain.level)), np.int8)
    for turn in range(n_sweeps):
        if n_shards:
            shards = partial.Shards(n_shards, at(turn))
        chain = partial.sweep(data, chain, prior, shards)
        paths[turn], levels[turn] = chain.path, chain.level
    return paths, levels


def off(corpus: Any, prior: Hyperparameters, n_sweeps: int = N_SWEEPS, n_shards: int = 0) -> float:
    """Return the total variation between the trees of a run and those of the posterior."""
    paths, _ = run(corpus, prior, n_sweeps, n_shards)
    missing: dict[Any, float] = defaultdict(float)
    for (tree, _), chance in exact(prior, corpus).chances.items():
        missing[tree] += chance
    rows, times = np.unique(paths.reshape(n_sweeps, -1), axis=0, return_counts=True)
    for row, count in zip(rows, times, strict=True):
        missing[relabelled(paths_of(row.reshape(paths[0].shape)))] -= count / n_sweeps
    return sum(map(abs, missing.values())) / 2


@pytest.mark.slow
def test_sweeps_agree_with_the_evidence() -> None:
    """T7: the chance of one leaf, and of level 2 for each token, within 0.01."""
    paths, levels = run(CORPUS, PRIOR, N_SWEEPS)
    assert (paths[:, 0, 1] == paths[:, 1, 1]).mean() == pytest.approx(0.4748985498, abs=0.01)
    np.testing.assert_allclose(levels.mean(axis=0), np.ravel(Z_LOWER), atol=0.01)


@pytest.mark.nightly
@pytest.mark.slow
def test_four_documents_are_seen_as_often_as_the_posterior_says() -> None:
    """All 15 trees; two of the documents may move given topics. Shards see them each day."""
    assert off(FOUR, FOUR_PRIOR) < 0.025


@pytest.mark.slow
def test_three_levels_are_seen_as_often_as_the_posterior_says() -> None:
    """All 12 trees and 27 choices of levels, one document empty."""
    found = run(DEEP, DEEP_PRIOR, N_SWEEPS)
    assert distance(*found, exact(DEEP_PRIOR, DEEP), DEEP) < 0.06


@pytest.mark.slow
def test_shards_keep_the_posterior() -> None:
    """Three shards and generators of their own, as in a fit."""
    assert off(FOUR, FOUR_PRIOR, 5_000, n_shards=3) < 0.035


def anyone_moves(chain: Chain, prior: Hyperparameters, place: Any, *others: Any) -> Any:
    """Draw topics, but let first documents leave their paths."""
    topics = draw_topics(chain, prior, place, *others)
    topics.first[:] = -1
    return topics


draw_topics = partial.draw_topics


def even_weights(chain: Chain, gamma: float, rng: Any) -> Any:
    """Weigh all siblings alike."""
    return np.zeros(len(chain.visits))


def anywhere(docs: Any, place: Any, *others: Any) -> None:
    """Let documents take paths that came after them in the order, first ones excepted."""
    topics = others[-2]
    kept = topics.first[others[0]] == place
    late = np.where(kept, -1, np.iinfo(np.int64).max)
    late[kept] = topics.first[others[0]][kept]
    redraw(docs, late, *others)


redraw = partial_kernels.redraw
draw_masses = partial_kernels.draw_masses


def flat_masses(begin: Any, end: Any, n_wk: Any, node: Any, eta: Any, *others: Any) -> Any:
    """Draw topics from the prior, the words forgotten."""
    return draw_masses(begin, end, np.zeros_like(n_wk), node, eta, *others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "wrong", "n_sweeps"),
    [
        (partial, "draw_masses", flat_masses, 5_000),
        *by_night(
            (partial, "draw_topics", anyone_moves, 5_000),
            (partial, "draw_log_weights", even_weights, 5_000),
            (partial_kernels, "redraw", anywhere, N_SWEEPS),
        ),
    ],
    ids=["words forgotten", "first documents leave", "weights forgotten", "later paths too"],
)
def test_mistakes_are_noticed(
    where: Any, name: str, wrong: Any, n_sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert off(FOUR, FOUR_PRIOR, n_sweeps) > 0.035
