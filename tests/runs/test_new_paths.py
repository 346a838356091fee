"""What ``infer`` writes of paths: for a stranger with numpy, beside theta in one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir

Finished = Callable[..., Path]


@pytest.mark.parametrize("backend", ["hlda-variational", "hlda-gibbs"])
def test_the_best_path_and_all_others_stand_beside_theta(
    finished: Finished, tiny_file: Path, tmp_path: Path, backend: str
) -> None:
    run = RunDir(finished(backend))
    infer(run, tiny_file, tmp_path / "theta.npz")
    theta = sparse.load_npz(tmp_path / "theta.npz").toarray()
    with np.load(tmp_path / "theta.npz") as file:
        new = dict(file)
    with np.load(run.path / "paths.npz") as file:
        old = dict(file)
    assert theta.shape == (30, run.tree.n_nodes)
    for name in ("node", "log_prob"):
        assert new[name].dtype == old[name].dtype and new[name].shape[1:] == old[name].shape[1:]
    mean = np.zeros(theta.shape)
    for doc in range(30):
        own = slice(*new["path_indptr"][doc : doc + 2])
        chances = np.exp(new["path_log_prob"][own])
        assert chances.sum() == pytest.approx(1)
        assert np.exp(new["log_prob"][doc]) == pytest.approx(chances.max())
        assert new["path_node"][own][chances.argmax()].tolist() == new["node"][doc].tolist()
        weights = chances[:, None] * new["path_level_weights"][own]
        np.add.at(mean[doc], new["path_node"][own], weights)
    assert theta == pytest.approx(mean, abs=1e-12)


def test_a_flat_model_writes_theta_alone(
    finished: Finished, tiny_file: Path, tmp_path: Path
) -> None:
    infer(finished(), tiny_file, tmp_path / "theta.npz")
    with np.load(tmp_path / "theta.npz") as file:
        assert not {"node", "log_prob", "path_node"} & set(file)
