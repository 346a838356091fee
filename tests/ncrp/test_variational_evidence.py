"""The bound against the enumerated evidence of a tiny corpus (theory/ncrp 9, T6)."""

from __future__ import annotations

import numpy as np
import pytest
from naive_variational import random_q
from variational_cases import bound, data_of, exact_sweep, state_of

EVIDENCE = -6.989242420490596
COUNTS = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 2.0]])
PRIOR = np.array([2.0, 1.0])
TREES = [(-1,), (-1, 0), (-1, 0, 0), (-1, 0, 0, 0, 0)]
BEST = {
    "meanfield": [-9.6408, -9.2854, -9.2653, -9.2622],
    "structured": [-9.6408, -9.2843, -9.2645, -9.2614],
}


def best_bound(parent: tuple[int, ...], *, structured: bool) -> float:
    """Return the highest bound of several random starts, each followed to the end."""
    data, found = data_of(COUNTS), []
    for seed in range(12):
        q = random_q(
            np.random.default_rng(seed), parent, COUNTS, PRIOR, 1.0, 1.0, structured=structured
        )
        state = state_of(q)
        for _ in range(150):
            exact_sweep(state, 2)
        found.append(bound(state, data))
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize("mode", BEST)
def test_best_bounds_have_their_reference_values_below_the_evidence(mode: str) -> None:
    found = [best_bound(parent, structured=mode == "structured") for parent in TREES]
    assert found == pytest.approx(BEST[mode], abs=6e-5)
    assert (np.diff(found) > 0).all() and max(found) < EVIDENCE


@pytest.mark.slow
def test_the_structured_family_is_tighter() -> None:
    assert (np.array(BEST["structured"]) >= np.array(BEST["meanfield"])).all()
    loose = best_bound((-1, 0, 0), structured=False)
    assert loose < best_bound((-1, 0, 0), structured=True) < EVIDENCE
