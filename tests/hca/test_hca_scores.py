"""Reconstruction, density and inference of rows, against formulas written out."""

from __future__ import annotations

import json
from pathlib import Path

import naive_hca as naive
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from stepping import advance, at, begin

from hiertopics.base.archives import read_npz
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.hca import variational as hca
from hiertopics.families.hca.config import Inference, Model
from hiertopics.families.hca.variational import log_density
from hiertopics.families.nested.slots import mean_masses
from hiertopics.families.nested.tree_state import MeanField
from hiertopics.papers import hca_meanfield as meanfield
from hiertopics.papers.task_reconstruction import pca_squared_distances, squared_distances
from hiertopics.runs import newdocs
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.comparison import compare
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.tasks import evaluate_task


def settings_of(run: RunDir) -> Settings:
    experiment = run.experiment
    return Settings(experiment.model, experiment.inference)


def test_principal_components_leave_the_trailing_eigenvalues() -> None:
    rng = np.random.default_rng(0)
    train = rng.normal(size=(50, 6)) * [5, 3, 2, 1, 1, 1] + 7
    values = np.sort(np.linalg.eigvalsh(np.cov(train.T, bias=True)))
    for n_components in range(1, 7):
        error = pca_squared_distances(train, train, n_components).mean()
        assert error == pytest.approx(values[: 6 - n_components].sum(), abs=1e-9)


def test_new_rows_are_reconstructed_with_the_components_of_the_training_rows() -> None:
    """On the line (t, 0), new rows lose what they have beside it; the mean is the old one."""
    train = np.column_stack([np.arange(10.0), np.zeros(10)])
    assert pca_squared_distances(np.array([[3.0, 4.0]]), train, 1) == pytest.approx([16.0])


def test_reconstruction_of_training_rows_is_the_direct_formula(
    digits: RunDir, table: np.ndarray
) -> None:
    record = evaluate_task(digits, "reconstruction")
    model, paths = read_npz(digits.path / "model.npz"), read_npz(digits.path / "paths.npz")
    train = table[digits.split.train_docs]
    errors = []
    for row, path in zip(train, paths["node"], strict=True):
        axes = model["mean"][path[path >= 0]].T
        onto = axes @ np.linalg.pinv(axes)
        rest = (row - model["mu"]) - onto @ (row - model["mu"])
        errors.append(rest @ rest)
    assert record["mean_squared_error"] == pytest.approx(np.mean(errors), rel=1e-9)
    values = np.sort(np.linalg.eigvalsh(np.cov(train.T, bias=True)))
    assert record["pca_mean_squared_error"] == pytest.approx(values[:-2].sum())
    assert record["baselines"] == {"pca": {"mean_squared_error": record["pca_mean_squared_error"]}}
    assert record["mean_squared_error"] < 0.2 * record["pca_mean_squared_error"]
    assert (record["n_docs"], record["n_nodes"]) == (60, len(digits.tree.shown))
    assert record["split"] == digits.split.hash
    kept = json.loads((digits.path / "eval" / "reconstruction.json").read_text())
    assert kept == record


def test_reconstruction_of_a_file_takes_the_paths_of_local_steps(
    digits: RunDir, table: np.ndarray, tmp_path: Path
) -> None:
    """The training rows in a file of their own have the error that they had in training."""
    np.save(tmp_path / "same.npy", table[digits.split.train_docs])
    record = evaluate_task(digits, "reconstruction", corpus=tmp_path / "same.npy")
    trained = evaluate_task(digits, "reconstruction")
    assert record["mean_squared_error"] == pytest.approx(trained["mean_squared_error"], rel=1e-9)
    assert record["split"] != trained["split"]
    np.save(tmp_path / "far.npy", table[:7] + 100)
    far = evaluate_task(digits, "reconstruction", corpus=tmp_path / "far.npy")
    assert far["n_docs"] == 7 and far["mean_squared_error"] > 1000
    beside = pca_squared_distances(table[:7] + 100, table[digits.split.train_docs], 2)
    assert far["pca_mean_squared_error"] == pytest.approx(beside.mean(), rel=1e-9)


def test_an_axis_of_length_zero_reconstructs_nothing(digits: RunDir) -> None:
    tree = digits.tree
    assert tree.vectors is not None
    row = tree.extra["mu"] + tree.vectors[0]
    empty = np.full((1, 2), -1, dtype=np.int32)
    length = tree.vectors[0] @ tree.vectors[0]
    assert squared_distances(row[None], tree, empty) == pytest.approx([length])
    root = np.array([[0, -1]], dtype=np.int32)
    assert squared_distances(row[None], tree, root) == pytest.approx([0], abs=1e-9)


def test_training_rows_are_placed_where_training_left_them(
    digits: RunDir, table: np.ndarray
) -> None:
    rows = Vectors(table[digits.split.train_docs], default_columns(table.shape[1]))
    found, paths = newdocs.infer_theta(digits, rows), digits.paths
    assert paths is not None and found.paths is not None
    assert (found.paths.node == paths.node).all()
    assert found.theta.toarray() == pytest.approx(digits.theta.toarray(), abs=1e-9)


def test_theta_is_path_marginals_over_depth(digits: RunDir) -> None:
    theta = digits.theta.toarray()
    assert theta[:, 0] == pytest.approx(0.5)
    assert digits.tree.weight[0] == pytest.approx(0.5)
    assert digits.tree.n_docs[0] == len(theta)


def test_the_density_is_a_mixture_of_normals_written_out(digits: RunDir, table: np.ndarray) -> None:
    rows = Vectors(table[digits.split.heldout_docs], default_columns(table.shape[1]))
    model = read_npz(digits.path / "model.npz")
    variance = settings_of(digits).model.vector_variance
    chance = np.zeros(rows.n_docs)
    for node in np.flatnonzero(model["kind"] == 0):
        path = [node] if model["parent"][node] < 0 else [model["parent"][node], node]
        axes = model["mean"][path]
        own = 1 / model["tau"][0] + (2 - len(path)) * variance
        spread = axes.T @ axes + own * np.eye(rows.n_columns)
        normal = multivariate_normal(model["mu"], spread)
        chance += model["mass"][node] * normal.pdf(rows.rows)
    record = evaluate(digits)
    assert record["protocol"] == "density" and record["perplexity"] is None
    assert record["log_likelihood_per_row"] == pytest.approx(np.log(chance).mean(), rel=1e-9)
    error = np.log(chance).std() / np.sqrt(rows.n_docs)
    assert record["standard_error"] == pytest.approx(error, rel=1e-9)
    assert (record["n_docs"], record["split"]) == (20, digits.split.hash)
    own = read_npz(digits.path / "eval" / "density.npz")
    assert own["log_density"] == pytest.approx(np.log(chance), rel=1e-9)


def test_the_density_integrates_to_one(digits: RunDir) -> None:
    """By importance sampling from a wide normal, the slots' masses adding up to one."""
    tree, settings = digits.tree, settings_of(digits)
    assert tree.extra["mass"].sum() == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(1)
    spread = 16.0 * np.eye(5)
    draws = rng.multivariate_normal(tree.extra["mu"], spread, 200_000)
    proposal = multivariate_normal(tree.extra["mu"], spread).logpdf(draws)
    logs = log_density(tree, Vectors(draws, default_columns(5)), settings)
    inside = np.exp(logs - proposal)
    assert inside.mean() == pytest.approx(1, abs=max(4 * inside.std() / 447, 0.02))


def test_dropped_nodes_hand_their_mass_to_their_nearest_live_ancestor() -> None:
    """Rows in the slots of the root and of node 4 alone: 0, 1 and 4 live."""
    state, data = naive.random_state(3, structured=False), naive.random_data(3)
    assert isinstance(state, MeanField)
    state.chances[:] = [0.3, 0, 0, 0, 0.7, 0, 0]
    settings = Settings(naive.MODEL, Inference(mode="meanfield"))
    tree = hca.summarise(state, data, settings, at(0)).tree
    own = mean_masses(state.nodes, state.sticks)
    expected = [own[[0, 2, 3, 6]].sum(), own[[1, 5]].sum(), own[4], 0.0]
    assert tree.extra["mass"] == pytest.approx(expected, rel=1e-12)


def test_rows_like_the_training_rows_are_denser_than_others(
    digits: RunDir, table: np.ndarray, tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    np.save(tmp_path / "noise.npy", table.mean(axis=0) + 2 * rng.standard_normal((20, 5)))
    other = evaluate(digits, corpus=tmp_path / "noise.npy")
    assert evaluate(digits)["log_likelihood_per_row"] > other["log_likelihood_per_row"] + 10


def test_runs_on_vectors_are_compared_by_their_density(digits: RunDir) -> None:
    (row,) = compare([digits])
    assert row["log_likelihood_per_row"] == evaluate(digits)["log_likelihood_per_row"]


def test_meanfield_inference_starts_at_the_average_and_settles() -> None:
    """Two disjoint axes: rows on either end up on their own leaf."""
    rng = np.random.default_rng(4)
    rows = 3 * np.eye(4)[1 + np.arange(90) % 2] * rng.standard_normal((90, 1))
    rows += 2 * np.outer(rng.standard_normal(90), np.eye(4)[0])
    vectors = Vectors(rows + 0.1 * rng.standard_normal(rows.shape), default_columns(4))
    settings = Settings(
        Model(depth=2, max_nodes=3, vector_variance=10.0), Inference(mode="meanfield")
    )
    state, data = begin(meanfield.backend, vectors, settings)
    state = advance(meanfield.backend, state, data, settings, 15)
    summary = hca.summarise(state, data, settings, at(0))
    found = meanfield.infer(summary.tree, vectors, settings, at(0))
    assert found.paths is not None and summary.paths is not None
    assert (found.paths.node == summary.paths.node).mean() > 0.97
