"""Runs with the same model, byte for byte: the seed changes nothing in some fits."""

from __future__ import annotations

from collections.abc import Iterable

from hiertopics.base.errors import HiertopicsError
from hiertopics.runs.manifest import FILES
from hiertopics.runs.rundir import RunDir

MODEL = "model.npz"


def model_seal(run: RunDir) -> str:
    """Return the seal of a run's model.npz; it is computed for a run older than seals."""
    written = run.manifest.get(FILES, {}).get(MODEL)
    return str(written or run.seals([MODEL])[MODEL])


def groups_of_one_model(runs: Iterable[RunDir]) -> list[list[RunDir]]:
    """Return lists of runs with the same model, for each model that several runs have."""
    groups: dict[str, list[RunDir]] = {}
    for run in runs:
        groups.setdefault(model_seal(run), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def twin_of_other_seed(run: RunDir) -> RunDir | None:
    """Return a run beside ``run`` with the same model and another seed; None if there is none.

    Only folders with the name of ``run`` except for the seed are read. Unreadable ones are skipped.
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
