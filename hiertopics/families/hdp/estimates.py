"""Estimates of every variational HDP method besides q(z)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.layout import Data
from hiertopics.families.flat.variational import Responsibilities


@dataclass
class State(Responsibilities):
    """The responsibilities, and estimates of all else: points, or means of posteriors.

    n_tables: float64 [T], expected tables of each topic. pi: float64 [T]. tau: float64 [n_words].
    word_mass: eta times the vocabulary's size.
    """

    n_tables: Annotated[F64, Axes("truncation", least=0)]
    pi: Annotated[F64, Axes("truncation", least=0)]
    tau: Annotated[F64, Axes("n_words", least=0)]
    alpha: Annotated[float, Axes(least=POSITIVE)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    word_mass: Annotated[float, Axes(least=POSITIVE)]


def start(begun: Responsibilities, data: Data, settings: ModelSettings) -> dict[str, Any]:
    """Return the fields of a ``State``: those begun, the others at the start values.

    Source: theory/hdp 3.5.
    """
    model = settings.model
    return {
        **vars(begun),
        "n_tables": np.zeros(model.truncation),
        "pi": np.full(model.truncation, 1.0 / model.truncation),
        "tau": np.full(data.n_words, 1.0 / data.n_words),
        "alpha": model.alpha,
        "gamma": model.gamma,
        "word_mass": model.eta * data.n_words,
    }
