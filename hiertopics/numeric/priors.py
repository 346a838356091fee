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
    """The Gamma density of a positive number, as a prior or a posterior."""

    shape: Positive
    rate: Positive

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.shape / self.rate

    @property
    def mode(self) -> float:
        """The value of the highest density; shape >= 1."""
        return (self.shape - 1.0) / self.rate

    def posterior(self, count: float, exposure: float) -> GammaPrior:
        """Return the conjugate posterior given a density x^count exp(-exposure x) of the data."""
        return GammaPrior(self.shape + count, self.rate + exposure)

    def log_density(self, value: float) -> float:
        """Return the log density at a value > 0, up to a constant."""
        return (self.shape - 1.0) * math.log(value) - self.rate * value

    def log_density_of_all(self, values: F64) -> float:
        """Return the log density of independent values > 0, float64 of any shape, the same way."""
        return float((self.shape - 1.0) * np.log(values).sum() - self.rate * values.sum())

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a number."""
        return float(rng.gamma(self.shape, 1.0 / self.rate))

    def draw_many(self, size: int | tuple[int, ...], rng: np.random.Generator) -> F64:
        """Draw independent numbers, float64 of shape ``size``."""
        return rng.gamma(self.shape, 1.0 / self.rate, size)
