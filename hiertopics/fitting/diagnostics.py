"""Have the chains of a sampler come together: R-hat and effective sample sizes of its traces.

A trace is what a sampler records every few iterations: its objective and the size of its model,
a value per chain. The draws up to ``inference.burn_in`` are left out. R-hat is the
rank-normalised split one, bulk and tail sizes go with it (A. Vehtari, A. Gelman, D. Simpson,
B. Carpenter, P.-C. Bürkner: Rank-normalization, folding, and localization, Bayesian Analysis
2021), by arviz-stats (extra ``diagnostics``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.base.errors import RunError, UsageError, optional
from hiertopics.runs.rundir import RunDir

MOST_R_HAT = 1.01
LEAST_ESS = 100
FEWEST_DRAWS = 4
"""Fewest draws of each part that R-hat compares: fewer have no useful spread."""

TAIL = (0.05, 0.95)
NOT_THE_BACKENDS = ("iteration", "seconds", "objective", "chains")


class Diagnosis(NamedTuple):
    """The diagnosis of one trace.

    n_draws: of each chain, after the burn-in. r_hat, ess_bulk, ess_tail: None where they are not
    defined: too few draws, or a value that never changes. apart: R-hat is infinite.
    """

    trace: str
    n_chains: int
    n_draws: int
    r_hat: float | None
    ess_bulk: float | None
    ess_tail: float | None
    apart: bool

    @property
    def problem(self) -> str | None:
        """The problem in words."""
        if self.apart:
            return "R-hat is infinite: each chain keeps to values of its own"
        if self.n_draws < FEWEST_DRAWS:
            return f"{self.n_draws} recorded draws after burn_in are too few to tell"
        if self.r_hat is not None and self.r_hat > MOST_R_HAT:
            return f"R-hat is above {MOST_R_HAT:g}: the chains have not come together"
        sizes = [size for size in (self.ess_bulk, self.ess_tail) if size is not None]
        if sizes and min(sizes) < LEAST_ESS * self.n_chains:
            return f"ESS is below {LEAST_ESS} per chain: more iterations make it larger"
        return None

    def told(self, name: str | None = None) -> str:
        """Return the diagnosis in one line; ``name`` replaces that of the trace."""
        shown = [
            f"{label} {'-' if value is None else format(value, form)}"
            for label, value, form in (
                ("R-hat", self.r_hat, ".3f"),
                ("bulk ESS", self.ess_bulk, ".0f"),
                ("tail ESS", self.ess_tail, ".0f"),
            )
        ]
        size = f"{self.n_chains} x {self.n_draws} draws"
        return f"{name or self.trace}: {', '.join(shown)} ({size})"


def diagnose(run: RunDir) -> list[Diagnosis]:
    """Return the diagnoses of a sampler's traces, from metrics.jsonl and config.yaml.

    Raises UsageError where arviz-stats is not installed, and for a run of no sampler, RunError
    where metrics.jsonl is damaged.
    """
    experiment = run.experiment
    burn_in = getattr(experiment.inference, "burn_in", None)
    if burn_in is None:
        raise UsageError(f"{run.path}: {experiment.backend} draws no samples to diagnose")
    try:
        found = traces(run.metrics(), burn_in, experiment.output.record_every)
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        path = run.file("metrics.jsonl")
        raise RunError(f"{path} is damaged: its lines have no common columns") from error
    return [diagnosis(name, values) for name, values in found.items()]


def traces(rows: Sequence[Mapping[str, Any]], burn_in: int, record_every: int) -> dict[str, F64]:
    """Return each trace, float64 [n_chains, n_draws], from the lines of metrics.jsonl.

    Of several chains it is what the column ``chains`` holds; of one, the objective and the first
    column of the backend, its size. A line between two regular ones is passed over: it is there
    only where a run was ended.
    """
    kept = [r for r in rows if r["iteration"] > burn_in and r["iteration"] % record_every == 0]
    if not kept:
        return {}
    if "chains" in kept[0]:
        return {
            name: np.array([row["chains"][name] for row in kept], dtype=np.float64).T
            for name in kept[0]["chains"]
        }
    size = next(name for name in kept[0] if name not in NOT_THE_BACKENDS)
    return {
        name: np.array([[row[name] for row in kept]], dtype=np.float64)
        for name in ("objective", size)
    }


def diagnosis(trace: str, values: F64) -> Diagnosis:
    """Return R-hat and effective sample sizes of ``values`` [n_chains, n_draws].

    Raises UsageError where arviz-stats is not installed.
    """
    array_stats = _array_stats()
    n_chains, n_draws = values.shape
    measured: tuple[float, ...] = (np.nan, np.nan, np.nan)
    if n_draws >= FEWEST_DRAWS and (values != values[0, 0]).any():
        # Ranks that differ between chains alone, or nowhere, are divided by 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            measured = (
                _r_hat(array_stats, values),
                float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")),
                float(array_stats.ess(values, chain_axis=0, draw_axis=1, method="tail", prob=TAIL)),
            )
    r_hat, bulk, tail = (value if np.isfinite(value) else None for value in measured)
    return Diagnosis(trace, n_chains, n_draws, r_hat, bulk, tail, bool(np.isinf(measured[0])))


def _r_hat(array_stats: Any, values: F64) -> float:
    """Return rank-normalised split R-hat; arviz-stats has it of several chains only."""
    if len(values) > 1:
        return float(array_stats.rhat(values, chain_axis=0, draw_axis=1, method="rank"))
    return split_r_hat(array_stats, values)


def split_r_hat(array_stats: Any, values: F64) -> float:
    """Return rank-normalised split R-hat of chains: the larger one of plain and folded values.

    values: float64 [n_chains, n_draws]. NaN for fewer than ``2 * FEWEST_DRAWS`` draws, and where
    ranks do not differ.
    """
    half = values.shape[1] // 2
    if half < FEWEST_DRAWS:
        return np.nan
    halves = np.vstack([values[:, :half], values[:, -half:]])
    folded = np.abs(halves - np.median(halves))
    found = [
        float(array_stats.rhat(_scores(part), chain_axis=0, draw_axis=1, method="identity"))
        for part in (halves, folded)
    ]
    return float(np.nanmax(found)) if np.isfinite(found).any() else np.nan


def _scores(values: F64) -> F64:
    """Return the normal scores of ranks over all chains (Vehtari et al. 2021, equation 14)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    share = (rankdata(values, axis=None) - 0.375) / (values.size + 0.25)
    return np.asarray(ndtri(share).reshape(values.shape))


def _array_stats() -> Any:
    told = "R-hat and ESS need arviz-stats: pip install 'hiertopics[diagnostics]'"
    return optional("arviz_stats.base", told).array_stats
