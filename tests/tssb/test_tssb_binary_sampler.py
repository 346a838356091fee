"""The whole binary sampler against the model run forwards (T7's test, for rows of 0 and 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from binary_cases import (
    NO_CHILDREN,
    NO_MISTAKE,
    NO_OFFSET,
    ROWS_TWICE,
    STATISTICS,
    WIDE_BIRTHS,
    chained,
    empty_table,
    forwards,
)

N_FORWARD = 200_000


@pytest.fixture(scope="module")
def prior() -> Any:
    """Return mean and squared error of each statistic under the model, drawn forwards."""
    found = forwards(empty_table(), N_FORWARD, np.random.default_rng(0))
    return found.mean(axis=0), found.var(axis=0) / N_FORWARD


def geweke(prior: Any, n_sweeps: int, mistake: int = NO_MISTAKE) -> dict[str, float]:
    """Return by how many errors the chain's statistics differ from the forward draws'."""
    found = chained(empty_table(), n_sweeps, mistake, np.random.default_rng(1))
    batches = found.reshape(100, -1, found.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 100 + prior[1])
    return dict(zip(STATISTICS, (batches.mean(axis=0) - prior[0]) / error, strict=True))


def test_the_whole_sampler_keeps_the_prior(prior: Any) -> None:
    """Assignments, the urn, Hamiltonian and slice moves, variances, sticks and order."""
    found = geweke(prior, 100_000)
    assert max(map(abs, found.values())) < 4, found


@pytest.mark.parametrize("mistake", [ROWS_TWICE, WIDE_BIRTHS, NO_CHILDREN, NO_OFFSET])
def test_the_test_sees_known_mistakes(prior: Any, mistake: int) -> None:
    """Rows counted twice, births too far from their parents, children cut off, stale offsets."""
    found = geweke(prior, 30_000, mistake)
    assert max(map(abs, found.values())) > 6, found
