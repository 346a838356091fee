"""Runs that have one model: fits whose seed changes nothing give it again, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable

from hiertopics.base.errors import HiertopicsError
from hiertopics.runs.manifest import FILES
from hiertopics.runs.rundir import RunDir

MODEL = "model.npz"


def model_seal(run: RunDir) -> str:
    """Return the seal of a run's model.npz; of a run older than seals, it is computed."""
    written = run.manifest.get(FILES, {}).get(MODEL)
    return str(written or run.seals([MODEL])[MODEL])


def groups_of_one_model(runs: Iterable[RunDir]) -> list[list[RunDir]]:
    """Return the runs that share a model with another one, a list for each such model."""
    groups: dict[str, list[RunDir]] = {}
    for run in runs:
        groups.setdefault(model_seal(run), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def twin_of_other_seed(run: RunDir) -> RunDir | None:
    """Return a run beside ``run`` that another seed gave the same model; None if there is none.

    Only folders that are named like ``run`` except for the seed are looked at. Those that cannot
    be read are passed over.
    """
    stem, found, seed = run.path.absolute().name.rpartition("-s")
    if not found or seed != str(run.manifest["seed"]):
        return None
    own = model_seal(run)
    for path in sorted(run.path.absolute().parent.glob("*/manifest.json")):
        other = RunDir(run.path.parent / path.parent.name)
        if other.path.name == run.path.name or other.path.name.rpartition("-s")[0] != stem:
            continue
        try:
            if other.manifest["seed"] != run.manifest["seed"] and model_seal(other) == own:
                return other
        except (HiertopicsError, OSError, KeyError):
            continue
    return None
