"""A small table of numbers in a file, and a run fitted to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hiertopics.runs.rundir import RunDir

N_COLUMNS = 5


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """Return 80 rows of two kinds that share a direction, with a mean."""
    rng = np.random.default_rng(3)
    rows = 3 * np.outer(rng.standard_normal(80), np.eye(N_COLUMNS)[0])
    rows += 2 * np.eye(N_COLUMNS)[1 + np.arange(80) % 2] * rng.standard_normal((80, 1))
    table: np.ndarray = rows + 0.1 * rng.standard_normal(rows.shape) + [5, 0, 0, 0, -2]
    return table


@pytest.fixture(scope="session")
def digits(
    fit_tiny: Callable[..., Any], table: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> RunDir:
    """Return a run on three quarters of the table; do not write to it but through eval."""
    folder = tmp_path_factory.mktemp("hca")
    np.save(folder / "rows.npy", table)
    fit_tiny(
        folder / "run",
        "hca-variational",
        12,
        ["model.depth=2", "model.max_nodes=4", "model.vector_variance=20"],
        folder / "rows.npy",
        holdout="train:60@0",
    )
    return RunDir.open(folder / "run")
