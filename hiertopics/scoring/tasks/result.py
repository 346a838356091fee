"""What every task gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

Metrics = Mapping[str, float | None]


class Result(NamedTuple):
    """The run's metrics, the same metrics of each baseline, and the arrays behind them.

    sizes: what was scored (``n_docs`` and the like). split: hash of the split scored on.
    """

    metrics: Metrics
    sizes: Mapping[str, Any]
    split: str
    baselines: Mapping[str, Metrics]
    arrays: Mapping[str, NDArray[Any]]
