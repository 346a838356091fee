"""Planted trees are found: theory/ncrp 9, T10, part (iii)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from gibbs_cases import advance, settings_of
from nights import by_night
from sklearn.metrics import adjusted_rand_score
from stepping import at, begin, corpus_of

from hiertopics.base.arrays import I64
from hiertopics.families.ncrp.sampler import backend as gibbs

ALPHA = [5.0, 5.0, 5.0]


class Planted(NamedTuple):
    """Counts [n_docs, 60] and the leaf of each document, 0 to 5; leaf k hangs below node k // 2."""

    counts: I64
    leaf: I64


def planted(n_docs: int, seed: int = 0) -> Planted:
    """Draw documents of 60 words from a root, three children and six leaves of disjoint blocks."""
    rng = np.random.default_rng(seed)
    sizes = [12, *[8] * 3, *[4] * 6]
    phi = np.repeat(np.eye(10), sizes, axis=1) + 0.01
    phi /= phi.sum(axis=1, keepdims=True)
    leaf = rng.integers(6, size=n_docs)
    counts = np.zeros((n_docs, phi.shape[1]), dtype=np.int64)
    for doc in range(n_docs):
        tokens = rng.multinomial(60, rng.dirichlet(ALPHA))
        for node, n_tokens in zip((0, 1 + leaf[doc] // 2, 4 + leaf[doc]), tokens, strict=True):
            counts[doc] += rng.multinomial(n_tokens, phi[node])
    return Planted(counts, leaf)


def agreement(
    text: Planted,
    iterations: int,
    seed: int,
    leap_every: int,
    graft_every: int,
    start: str = "clusters",
) -> float:
    """Return the adjusted Rand index of the best draw's leaves and the planted ones."""
    settings = settings_of(
        level_prior=ALPHA, eta=0.1, leap_every=leap_every, graft_every=graft_every, start=start
    )
    state, data = begin(gibbs, corpus_of(text.counts), settings, seed=seed)
    state = advance(state, data, settings, iterations, seed=seed)
    paths = gibbs.summarise(state, data, settings, at(0)).paths
    assert paths is not None
    return float(adjusted_rand_score(text.leaf, paths.node[:, 2]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *by_night(1, 2)])
def test_planted_leaves_are_found(seed: int) -> None:
    """T10 with its 150 documents, 400 iterations: above 0.9 from every start."""
    assert agreement(planted(150), 400, seed, 1, 1) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("start", "least"), [("sequential", 0.95), *by_night(("clusters", 0.9))])
def test_planted_leaves_of_more_documents_are_found(start: str, least: float) -> None:
    """The same tree with 300 documents: clusters may leave a planted leaf in two."""
    assert agreement(planted(300), 600, 0, 1, 1, start) > least


@pytest.mark.nightly
@pytest.mark.slow
def test_sweeps_alone_do_not_find_them() -> None:
    """Why there are leaps and grafts: the mean over three starts stays behind."""
    alone = [agreement(planted(150), 400, seed, 0, 0) for seed in range(3)]
    assert np.mean(alone) < 0.9
