"""Last bits decide no comparison on a grid, and ties go to the first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from hiertopics.numeric.grid import GAIN_STEP, first_largest, on_grid, ranked, ward


def test_numbers_go_to_the_nearest_step() -> None:
    assert on_grid([0.24, 0.26, -0.3, np.inf, -np.inf], 0.5).tolist() == [
        *(0.0, 0.5, -0.5, np.inf, -np.inf)
    ]


def test_a_last_bit_does_not_choose() -> None:
    values = np.array([1.0, 5.0, 5.0 + 1e-12, -np.inf])
    assert np.argmax(values) == 2
    assert first_largest(values) == 1
    assert first_largest([5.0, 5.0 + 2 * GAIN_STEP]) == 1
    assert ranked(values) == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(5))
def test_linkage_is_the_same_where_points_differ_by_noise(seed: int) -> None:
    """Corners of a cube: all merges are ties, which noise decides without a grid."""
    corners = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], float)
    noisy = corners + np.random.default_rng(seed).normal(0, 1e-14, corners.shape)
    assert (ward(noisy) == ward(corners)).all()
    plain = [linkage(pdist(points), "ward")[:, :2] for points in (noisy, corners)]
    assert (plain[0] != plain[1]).any()


def test_linkage_of_points_without_ties_is_scipys() -> None:
    points = np.random.default_rng(0).random((30, 4))
    assert ward(points) == pytest.approx(linkage(points, "ward"), abs=1e-8)
    assert ward(points[:1]).shape == (0, 4)
