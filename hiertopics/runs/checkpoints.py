"""Checkpoints: whole states of a fit, the last two of them kept."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from hiertopics import files
from hiertopics.errors import RunError
from hiertopics.model import Renewed, as_saved
from hiertopics.runs.rundir import RunDir, by_iteration

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

State = TypeVar("State")
KEPT = 2


def save_checkpoint(run: RunDir, iteration: int, state: object, stamp: str) -> None:
    """Write the whole state and drop all but the last two checkpoints.

    They are large, and one that a power cut damaged is passed over for the one before: hence
    no waiting for the disk. stamp: what the state belongs to (corpus and split), checked
    when it is loaded.
    """
    folder = run.path / "checkpoints"
    arrays = {
        f.name: np.asarray(getattr(state, f.name)) for f in fields(cast("DataclassInstance", state))
    }
    arrays["stamp_"] = np.asarray(stamp)
    files.write_npz(folder / f"{iteration:08d}.npz", arrays, sync=False)
    for old in by_iteration(folder)[:-KEPT]:
        old.unlink(missing_ok=True)


def load_checkpoint(
    run: RunDir, state_type: type[State], stamp: str, renewed: Renewed = as_saved
) -> tuple[int, State] | None:
    """Return (iteration, state) of the newest checkpoint that can be continued.

    None: the fit came to no checkpoint yet. One that is damaged, or of another program, is passed
    over for the one before it. renewed: of the backend. Raises RunError where no other is left, or
    where they are gone.
    """
    found = by_iteration(run.path / "checkpoints")[::-1]
    reasons = [] if found or not _had_checkpoints(run) else ["all of them are gone"]
    for path in found:
        try:
            return int(path.stem), _read_state(path, state_type, stamp, renewed)
        except RunError as error:
            reasons.append(str(error))
    if reasons:
        raise _refusal(run, reasons)
    return None


def _had_checkpoints(run: RunDir) -> bool:
    """Tell whether the fit has come to a checkpoint: each one is older than the model after it."""
    return run.exists and (run.has_model or int(run.manifest["iterations"]) > 0)


def _refusal(run: RunDir, reasons: list[str]) -> RunError:
    """Return the error for a run that cannot go on: the newest checkpoint's reason tells most."""
    return RunError(
        f"no checkpoint of {run.path} can be continued: {reasons[0]}; "
        "choose another -o, or delete the run to begin it anew"
    )


def _read_state(path: Path, state_type: type[State], stamp: str, renewed: Renewed) -> State:
    """Rebuild a state: arrays without dimensions are its numbers and strings."""
    arrays = files.read_npz(path)
    if "stamp_" not in arrays:
        raise RunError(f"{path} is damaged: it has no array 'stamp_'")
    if str(arrays.pop("stamp_")) != stamp:
        raise RunError(f"{path} belongs to another corpus or split")
    arrays = renewed(arrays)
    names = {field.name for field in fields(cast("type[DataclassInstance]", state_type))}
    parts = [f"no {name}" for name in sorted(names - set(arrays))]
    parts += [f"{name} besides" for name in sorted(set(arrays) - names)]
    if parts:
        raise RunError(f"{path} is of another version of hiertopics: its state has {parts[0]}")
    return state_type(**{n: a if a.ndim else a.item() for n, a in arrays.items()})
