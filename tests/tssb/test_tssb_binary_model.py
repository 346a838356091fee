"""The binary model as a backend: what it reads, finds, keeps and says of new rows."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import adjusted_rand_score
from stepping import advance, at, begin

from benchmarks.tree_distance import correlation, edges_between, lineage
from hiertopics.base.archives import read_npz
from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, UsageError
from hiertopics.contract.model import Settings, Sizes
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.tssb import binary, binary_kernels, trees
from hiertopics.families.tssb.assign_kernels import product
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.tasks import evaluate_task
from hiertopics.views.showing import show_tree

BINARY = ("model.likelihood=binary",)
PLANTED = np.array([-1, 0, 0, 1, 1, 2, 2])


def settings_of(*overrides: str) -> Settings:
    experiment = read_experiment({"backend": "tssb-mcmc"}, None, (*BINARY, *overrides))
    return Settings(experiment.model, experiment.inference)


def planted(n_rows: int = 210, block: int = 12) -> tuple[Vectors, I64]:
    """Return rows of a tree of three levels, and the node of each.

    Each of the six nodes below the root has a block of columns that is mostly 1 from there on down
    and mostly 0 elsewhere.
    """
    rng = np.random.default_rng(0)
    theta = np.full((7, 6 * block), -2.5)
    for node in range(1, 7):
        theta[node] = theta[PLANTED[node]]
        theta[node, (node - 1) * block : node * block] = 2.5
    home = np.arange(n_rows) % 7
    rows = (rng.random((n_rows, 6 * block)) < expit(theta[home])).astype(float)
    return Vectors(rows, default_columns(6 * block)), home


def fitted(vectors: Vectors, settings: Settings, n_iterations: int, seed: int = 0) -> Any:
    """Return the laid out rows and the state after some iterations."""
    state, data = begin(binary.one, vectors, settings, seed=seed)
    return data, advance(binary.one, state, data, settings, n_iterations, seed=seed)


@pytest.fixture(scope="module")
def grown() -> Any:
    """Return settings, rows, their planted nodes, the data and a state of the planted tree."""
    settings = settings_of("inference.burn_in=50")
    vectors, node = planted()
    return settings, vectors, node, *fitted(vectors, settings, 150)


@pytest.mark.slow
def test_a_planted_tree_is_found(grown: Any) -> None:
    settings, _, node, data, state = grown
    summary = binary.one.summarise(state, data, settings, at(0))
    home = summary.theta.toarray().argmax(axis=1)
    assert adjusted_rand_score(node, home) > 0.8
    apart = edges_between(lineage(summary.tree.parent)[home])
    planted_apart = edges_between(lineage(PLANTED)[node])
    assert correlation(apart, planted_apart) > 0.5


@pytest.mark.slow
def test_rows_that_differ_more_stand_further_apart(grown: Any) -> None:
    settings, vectors, _, data, state = grown
    summary = binary.one.summarise(state, data, settings, at(0))
    assert summary.paths is not None
    first, second = np.triu_indices(vectors.n_docs, 1)
    differing = np.abs(vectors.rows[first] - vectors.rows[second]).sum(axis=1)
    assert correlation(edges_between(summary.paths.node), differing) > 0.5
    shuffled = np.random.default_rng(0).permutation(vectors.n_docs)
    assert abs(correlation(edges_between(summary.paths.node[shuffled]), differing)) < 0.1


@pytest.mark.slow
def test_a_matrix_product_gives_the_bytes_of_one_row_at_a_time(grown: Any) -> None:
    settings, _, _, data, state = grown
    found = []
    for tabled in (False, True):
        chain = copy.deepcopy(state)
        home, rng = chain.node, np.random.default_rng(3)
        law = binary.law(chain.law, settings.model)
        nodes, moved = trees.assign(
            data.rows, home, chain.nodes, chain.process, law, rng, tabled=tabled
        )
        found.append((moved, home.tobytes(), *(array.tobytes() for array in nodes), rng.random()))
    assert found[0] == found[1] and found[0][0] > 0


def test_sums_of_parameters_are_exact_in_single_precision() -> None:
    """So that the order of additions cannot matter: 256 columns, parameters of a usual size."""
    rng = np.random.default_rng(2)
    value = binary.on_grid(rng.normal(0.0, 4.0, (30, 256)))
    rows = rng.integers(0, 2, (40, 256)).astype(np.uint8)
    exact = rows.astype(np.float64) @ value.astype(np.float64).T
    assert (rows.astype(np.float32) @ value.T == exact).all()
    for row, node in itertools.product(range(40), range(30)):
        assert product(rows, row, value, node) == exact[row, node]


@pytest.mark.slow
def test_the_objective_is_that_of_rows_and_nodes_one_by_one(grown: Any) -> None:
    settings, vectors, _, data, state = grown
    chain = state
    chance = expit(chain.nodes.value[chain.node].astype(np.float64))
    of_rows = np.where(vectors.rows == 1, np.log(chance), np.log1p(-chance)).sum()
    mass, below, left = np.zeros((3, int(chain.nodes.size[0])))
    for node, parent in enumerate(chain.nodes.parent[: len(mass)]):
        reach = 1.0
        if node:
            reach = below[parent] * left[parent] * np.exp(chain.nodes.log_psi[node])
            left[parent] *= np.exp(chain.nodes.log_psi_rest[node])
        left[node] = 1.0
        mass[node] = reach * np.exp(chain.nodes.log_nu[node])
        below[node] = reach * np.exp(chain.nodes.log_rest[node])
    expected = of_rows + np.log(mass[chain.node]).sum()
    assert binary.one.objective(state, data, settings, at(0)) == pytest.approx(expected, rel=1e-6)


def test_sums_and_offsets_are_those_of_numpy() -> None:
    rng = np.random.default_rng(1)
    rows, home = rng.integers(0, 2, (40, 700)).astype(np.uint8), rng.integers(0, 5, 40)
    sums = binary_kernels.sums_at(rows, home.astype(np.int32), 6)
    assert (sums == [rows[home == node].sum(axis=0) for node in range(6)]).all()
    value = rng.normal(0, 20, 700).astype(np.float32)
    expected = -np.logaddexp(0.0, value.astype(np.float64)).sum()
    assert binary_kernels.offset_of(value) == pytest.approx(expected, rel=1e-12)


def test_the_chances_of_all_rows_add_up_to_one() -> None:
    """Nodes and newcomers together; also what inference says of a row is its posterior."""
    settings = settings_of()
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=5)))
    vectors = Vectors(rows, default_columns(5))
    data, state = fitted(vectors, settings, 5)
    tree = binary.one.summarise(state, data, settings, at(0)).tree
    assert binary.one.log_density is not None
    density = binary.one.log_density(tree, vectors, settings)
    assert np.exp(density).sum() == pytest.approx(1, abs=1e-7)
    theta = binary.one.infer(tree, vectors, settings, at(0)).theta.toarray()
    alone = binary.one.infer(tree, vectors.select([7]), settings, at(0)).theta
    assert (alone.toarray()[0] == theta[7]).all()
    # Over all rows, weighted by their chances, the posterior averages to the prior.
    masses = np.exp(tree.extra["log_mass"])
    assert np.exp(density) @ theta == pytest.approx(masses, abs=1e-6)


def test_chances_of_a_newborn_child_are_means_over_the_diffusion() -> None:
    value, variance = np.array([[-2.0, 0.0, 3.0]]), np.array([0.5, 1.0, 0.8])
    draws = np.random.default_rng(0).standard_normal((400_000, 3))
    expected = expit(0.9 * value + np.sqrt(variance) * draws).mean(axis=0)
    assert binary.chance_of_child(value, variance, 0.9)[0] == pytest.approx(expected, abs=2e-3)


def test_simulated_rows_have_the_chances_of_their_nodes() -> None:
    settings = settings_of()
    vectors, truth = binary.one.simulate(settings, Sizes(4000, 6, 1), at(0, seed=1))
    assert set(np.unique(vectors.rows)) == {0.0, 1.0}
    expected = truth["mean"][truth["node"]]
    error = np.sqrt((expected * (1 - expected)).sum(axis=0))
    assert (np.abs((vectors.rows - expected).sum(axis=0)) < 4 * error).all()


def bits_file(tmp_path: Path) -> Path:
    vectors, _ = planted(40, 2)
    np.save(tmp_path / "bits.npy", vectors.rows)
    (tmp_path / "bits.vocab").write_text("".join(f"has{column}\n" for column in range(12)))
    return tmp_path / "bits.npy"


def test_a_run_from_file_to_scores(fit_tiny: Callable[..., Any], tmp_path: Path) -> None:
    path = bits_file(tmp_path)
    fit_tiny(tmp_path / "run", "tssb-mcmc", corpus=path, overrides=BINARY)
    run = RunDir.open(tmp_path / "run")
    model = read_npz(run.path / "model.npz")
    assert "phi" not in model and model["mean"].shape == (run.tree.n_nodes, 12)
    assert "has" in show_tree(run)
    node = int(run.tree.shown[-1])
    best = int(run.tree.top_words(node, 1)[0])
    assert best == int(np.argmax(model["telling"][node]))
    assert evaluate(run)["log_likelihood_per_row"] < 0
    infer(run, path, tmp_path / "theta.npz")
    with pytest.raises(
        UsageError, match="is for rows of numbers, but tssb-mcmc observes rows of 0"
    ):
        evaluate_task(run, "reconstruction")
    with pytest.raises(UsageError, match="is for counts of words, but tssb-mcmc observes rows of"):
        evaluate(run, protocol="completion")


def test_stopped_and_continued_ends_in_the_same_bytes(
    fit_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    given = {"corpus": bits_file(tmp_path), "overrides": (*BINARY, "inference.slice_every=3")}
    fit_tiny(tmp_path / "whole", "tssb-mcmc", 8, **given)
    fit_tiny(tmp_path / "parts", "tssb-mcmc", 5, **given)
    fit_tiny(tmp_path / "parts", "tssb-mcmc", 8, **given)
    for name in ("model.npz", "theta.npz", "tree.json"):
        parts = [(tmp_path / run / name).read_bytes() for run in ("whole", "parts")]
        assert parts[0] == parts[1], name


@pytest.mark.parametrize(("value", "shown"), [(2.0, "2"), (0.5, "0.5"), (-1.0, "-1")])
def test_other_numbers_than_0_and_1_are_refused_before_anything_is_written(
    fit_tiny: Callable[..., Any], tmp_path: Path, value: float, shown: str
) -> None:
    rows = planted(10, 1)[0].rows.copy()
    rows[2, 1] = value
    np.save(tmp_path / "bits.npy", rows)
    with pytest.raises(DataError, match=rf"row 3 holds {shown} in column 'x1', .* 0 and 1"):
        fit_tiny(tmp_path / "run", "tssb-mcmc", corpus=tmp_path / "bits.npy", overrides=BINARY)
    assert not (tmp_path / "run").exists()
