"""Gamma priors of positive numbers: concentrations, rates, precisions."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta

from hiertopics.base.arrays import F64

Positive = Annotated[float, Meta(gt=0)]
"""A number that a prior or a process of a config may have."""


class GammaPrior(NamedTuple):
    """The prior Gamma(shape, rate) of a positive number, of mean shape / rate."""

    shape: Positive
    rate: Positive

    def posterior(self, count: float, exposure: float) -> GammaPrior:
        """Return the conjugate posterior given a density x^count exp(-exposure x) of the data."""
        return GammaPrior(self.shape + count, self.rate + exposure)

    def log_density(self, value: float) -> float:
        """Return the log density at a value > 0, up to a constant."""
        return (self.shape - 1.0) * math.log(value) - self.rate * value

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a number."""
        return float(rng.gamma(self.shape, 1.0 / self.rate))

    def draw_many(self, size: int | tuple[int, ...], rng: np.random.Generator) -> F64:
        """Draw independent numbers, float64 of shape ``size``."""
        return rng.gamma(self.shape, 1.0 / self.rate, size)
