"""``compare``: several runs on one split, best first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiertopics.errors import UsageError
from hiertopics.evaluation import evaluate
from hiertopics.rundir import RunDir


def compare(
    runs: Sequence[Path | str | RunDir], *, protocol: str | None = None
) -> list[dict[str, Any]]:
    """Return the scores of runs on their common split, best first.

    Raises UsageError where the splits differ, naming them.
    """
    targets = [run if isinstance(run, RunDir) else RunDir.open(run) for run in runs]
    hashes = {str(run.path): run.split.hash for run in targets}
    if len(set(hashes.values())) > 1:
        listed = ", ".join(f"{path} has {code}" for path, code in hashes.items())
        raise UsageError(f"these runs were not scored on the same split: {listed}")
    rows = []
    for run in targets:
        manifest = run.manifest
        rows.append(
            evaluate(run, protocol=protocol)
            | {
                "iterations": manifest["iterations"],
                "seconds": manifest["wall_seconds"],
                "peak_memory_bytes": manifest["peak_memory_bytes"],
            }
        )
    return sorted(rows, key=lambda row: -_log_likelihood(row))


def _log_likelihood(row: dict[str, Any]) -> float:
    return float(row["log_likelihood_per_" + ("word" if row["perplexity"] else "row")])
