"""What is planted is found again; one path is principal component analysis (theory/ncrp T11)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from stepping import advance, at, begin

from hiertopics.contract import registry
from hiertopics.contract.model import Settings, Sizes, Summary
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.hca import variational as hca
from hiertopics.families.hca.config import Inference, Model
from hiertopics.numeric.priors import GammaPrior


def fitted(rows: np.ndarray, settings: Settings, iterations: int, seed: int = 0) -> Summary:
    vectors = Vectors(rows, default_columns(rows.shape[1]))
    state, data = begin(hca.backend, vectors, settings, seed=seed)
    state = advance(hca.backend, state, data, settings, iterations, seed=seed)
    return hca.summarise(state, data, settings, at(0))


@pytest.mark.parametrize("vectors", ["joint", "separate"])
def test_a_root_with_one_leaf_spans_the_space_of_two_principal_components(vectors: str) -> None:
    """T11, gamma so small that no mass is outside the tree; broad priors."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    rows = 5 + rng.normal(size=(400, 8)) * [6, 4, 2, 1, 1, 1, 1, 1] @ turn
    model = Model(depth=2, max_nodes=2, gamma=1e-6)
    settings = Settings(model, Inference(start="axes", trials=0, vectors=vectors))  # type: ignore[arg-type]
    tree = fitted(rows, settings, 60).tree
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0))
    assert tree.vectors is not None and len(tree.shown) == 2
    assert subspace_angles(tree.vectors[:2].T, axes[:2].T).max() < 1e-2
    assert tree.extra["mu"] == pytest.approx(rows.mean(axis=0), abs=1e-2)


def test_planted_subspaces_are_found_again() -> None:
    """A root, two children, two leaves below each; the first start and the moves find them all."""
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.normal(size=(12, 12)))[0] * 4
    leaf = rng.integers(4, size=600)
    paths = np.column_stack([np.zeros(600, dtype=int), 1 + leaf // 2, 3 + leaf])
    coordinates = rng.standard_normal((600, 3))
    rows = 2 + np.einsum("nl,nlp->np", coordinates, axes[paths])
    rows += 0.05 * rng.standard_normal(rows.shape)
    settings = Settings(Model(depth=3, max_nodes=7), Inference(trial_sweeps=10))
    summary = fitted(rows, settings, 40)
    tree, paths_found = summary.tree, summary.paths
    assert tree.vectors is not None and paths_found is not None
    assert np.bincount(tree.depth[tree.shown]).tolist() == [1, 2, 4]
    for number in range(4):
        mine = paths_found.node[leaf == number]
        node, count = np.unique(mine[:, 2], return_counts=True)
        home = mine[mine[:, 2] == node[count.argmax()]][0]
        assert count.max() > 0.9 * len(mine)
        planted = axes[[0, 1 + number // 2, 3 + number]]
        assert subspace_angles(tree.vectors[home].T, planted.T).max() < 0.02
    noise = 1 / np.sqrt(tree.extra["tau"][0])
    assert noise == pytest.approx(0.05, rel=0.05)


def test_the_structured_bound_is_above_the_meanfield_one() -> None:
    settings = {
        mode: Settings(
            Model(depth=2, max_nodes=4, vector_variance=10.0),
            Inference(mode=mode, trials=1, trial_sweeps=5),
        )
        for mode in ("structured", "meanfield")
    }
    rows, _ = hca.simulate(settings["structured"], Sizes(80, 5, 1), at(0, seed=2))
    best = {}
    for mode, each in settings.items():
        family = registry.load("hca-variational", inference=each.inference)
        state, data = begin(family, rows, each)
        state = advance(family, state, data, each, 15)
        best[mode] = family.objective(state, data, each, at(0))
    assert best["structured"] > best["meanfield"]


def test_simulated_rows_follow_their_truth() -> None:
    model = Model(depth=3, vector_variance=4.0, noise_prior=GammaPrior(4.0, 1.0))
    settings = Settings(model, Inference())
    rows, truth = hca.simulate(settings, Sizes(3000, 4, 1), at(0, seed=5))
    clean = truth["mu"] + np.einsum(
        "nl,nlp->np", truth["coordinates"], truth["mean"][truth["path"]]
    )
    assert (rows.rows - clean).std() == pytest.approx(0.5, rel=0.03)
    assert truth["mean"].std() == pytest.approx(2.0, rel=0.3)
    assert np.cov(truth["coordinates"].T) == pytest.approx(np.eye(3), abs=0.08)
    path, parent = truth["path"], truth["parent"]
    assert (parent[path[:, 1:]] == path[:, :-1]).all() and (path[:, 0] == 0).all()
