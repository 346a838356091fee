"""Slice sampling (R. Neal, Annals of Statistics 2003): of one positive number, and in kernels.

A kernel draws places ``within`` a bracket around the present value and, where one is refused, goes
on in what is ``narrowed`` by it; where that is no longer open the value stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hiertopics.numeric.jit import kernel

NARROWEST = 1e-15
"""Width of a bracket in which there is nothing left to draw."""


class Bracket(NamedTuple):
    """Between which places a slice may still reach."""

    low: float
    high: float


@kernel(inline=True)
def is_open(bracket: Bracket) -> bool:
    """Tell whether the bracket is wider than a point."""
    return bracket.high - bracket.low > NARROWEST


@kernel(inline=True)
def within(bracket: Bracket, rng: np.random.Generator) -> float:
    """Draw a place evenly from the bracket."""
    return bracket.low + (bracket.high - bracket.low) * rng.random()


@kernel(inline=True)
def narrowed(bracket: Bracket, place: float, now: float) -> Bracket:
    """Return the bracket up to a place that was refused, the present value still in it."""
    return Bracket(place, bracket.high) if place < now else Bracket(bracket.low, place)


WIDTH = 1.0
"""First width of a slice, in logs."""


def draw_by_slice(
    value: float,
    log_density: Callable[[float], float],
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """Return a new value within ``bounds`` by a slice sampling step on the log scale.

    Stepping out, then shrinkage. log_density: of the value
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
