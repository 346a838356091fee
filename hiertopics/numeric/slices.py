"""Slice sampling of one positive number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

WIDTH = 1.0
"""First width of a slice, in logs."""


def draw_by_slice(
    value: float,
    log_density: Callable[[float], float],
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """Return a new value within ``bounds`` by a slice sampling step on the log scale.

    R. Neal, Annals of Statistics 2003: stepping out, then shrinkage. log_density: of the value
    itself; the Jacobian of the logarithm is added here. A start outside moves to the bound.
    """
    lowest, highest = math.log(bounds[0]), math.log(bounds[1])

    def height(place: float) -> float:
        return log_density(math.exp(place)) + place if lowest <= place <= highest else -math.inf

    start = min(max(math.log(value), lowest), highest)
    floor = height(start) - rng.exponential()
    low = start - WIDTH * rng.random()
    high = low + WIDTH
    while height(low) > floor:
        low -= WIDTH
    while height(high) > floor:
        high += WIDTH
    while True:
        place = rng.uniform(low, high)
        if height(place) >= floor:
            return math.exp(place)
        low, high = (place, high) if place < start else (low, place)
