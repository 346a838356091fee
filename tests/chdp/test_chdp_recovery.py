"""Planted authors are found, by either method and either cooperation (theory/chdp 8.9)."""

from __future__ import annotations

import pytest
from chdp_cases import COOPERATIONS
from chdp_recovery import Recovery, recover

from hiertopics.contract import registry

LIMITS = {"chdp-gibbs": Recovery(0.9, 1.0), "chdp-variational": Recovery(0.95, 0.12)}


@pytest.mark.slow
@pytest.mark.parametrize("planted", COOPERATIONS)
@pytest.mark.parametrize("backend", LIMITS)
def test_planted_authors_are_found_and_best_by_their_own_cooperation(
    backend: str, planted: str
) -> None:
    (another,) = set(COOPERATIONS) - {planted}
    loaded = registry.load(backend)
    own, other = (recover(loaded, planted, fitted) for fitted in (planted, another))
    limit = LIMITS[backend]
    assert own.correlation > limit.correlation and own.total_variation < limit.total_variation, own
    assert own.total_variation < other.total_variation + 0.02, (own, other)
