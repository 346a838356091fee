"""What every task takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from hiertopics.rundir import RunDir

Metrics = Mapping[str, float | None]


class Request(NamedTuple):
    """What is scored. data: entries of the ``data`` section that describe a corpus file."""

    run: RunDir
    data: Mapping[str, Any]
    workers: int


class Result(NamedTuple):
    """The run's metrics, the same metrics of each baseline, and the arrays behind them.

    sizes: what was scored (``n_docs`` and the like). split: hash of the split scored on.
    """

    metrics: Metrics
    sizes: Mapping[str, Any]
    split: str
    baselines: Mapping[str, Metrics]
    arrays: Mapping[str, NDArray[Any]]
