"""Comparisons that last bits do not decide: numbers on a grid, ties by index (docs/runs.md).

Sums of floats differ between processors and libraries in their last bits. What is compared is
rounded to a grid that is far above such noise and far below any difference that matters. Then what
is equal but for noise is equal everywhere, unless it lies at the border of two steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hiertopics.base.arrays import F64

DISTANCE_STEP = 2.0**-32
"""For distances of at most a few units, which are exact to 1e-15."""

GAIN_STEP = 2.0**-20
"""For gains in nats, of sums up to a million, which are exact to 1e-10."""


def on_grid(values: ArrayLike, step: float) -> F64:
    """Return the nearest multiples of ``step``, a power of two, float64 of the shape of values.

    Infinities stay.
    """
    return np.asarray(np.rint(np.asarray(values, np.float64) / step) * step)


def first_largest(values: ArrayLike, step: float = GAIN_STEP) -> int:
    """Return the index of the largest number on the grid, the first of those that tie."""
    return int(np.argmax(on_grid(values, step)))


def ranked(values: ArrayLike, step: float = GAIN_STEP) -> list[int]:
    """Return the indices of numbers on the grid, largest first, ties by index."""
    return [int(place) for place in np.argsort(-on_grid(values, step), kind="stable")]


def ward(points: F64, step: float = DISTANCE_STEP, apart: ArrayLike = 0.0) -> F64:
    """Return Ward's linkage of points [n, n_dims], float64 [n - 1, 4], as scipy gives it.

    Distances are on the grid, so that points equally far from each other tie; ties go to the
    points that come first, by scipy's rule. apart: float64 [n (n - 1) / 2], what is added to the
    distance of each pair of points.
    """
    from scipy.cluster.hierarchy import linkage  # slow to import
    from scipy.spatial.distance import pdist

    if len(points) < 2:
        return np.zeros((0, 4))
    return np.asarray(linkage(on_grid(pdist(points), step) + np.asarray(apart), "ward"))
