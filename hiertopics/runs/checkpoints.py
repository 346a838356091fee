"""Checkpoints: whole states of a fit, the last two of them kept."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics import files
from hiertopics.errors import RunError
from hiertopics.runs.rundir import RunDir

KEPT = 2


def save_checkpoint(run: RunDir, iteration: int, state: Any, stamp: str) -> None:
    """Write the whole state and drop all but the last two checkpoints.

    They are large, and one that a power cut damaged is passed over for the one before: hence
    no waiting for the disk. stamp: what the state belongs to (corpus and split), checked
    when it is loaded.
    """
    folder = run.path / "checkpoints"
    arrays = {f.name: np.asarray(getattr(state, f.name)) for f in fields(state)}
    arrays["stamp_"] = np.asarray(stamp)
    files.write_npz(folder / f"{iteration:08d}.npz", arrays, sync=False)
    for old in sorted(folder.glob("*.npz"))[:-KEPT]:
        old.unlink(missing_ok=True)


def load_checkpoint(run: RunDir, state_type: Any, stamp: str) -> tuple[int, Any] | None:
    """Return (iteration, state) of the newest sound checkpoint, or None.

    A damaged newest one is passed over for the one before it.
    """
    for path in sorted((run.path / "checkpoints").glob("*.npz"), reverse=True):
        try:
            arrays = files.read_npz(path)
            if str(arrays.pop("stamp_")) != stamp:
                continue
            return int(path.stem), _to_state(state_type, arrays)
        except (RunError, KeyError, TypeError, zipfile.BadZipFile):
            continue
    return None


def _to_state(state_type: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Rebuild a state: arrays without dimensions are its numbers and strings."""
    return state_type(**{n: a if a.ndim else a.item() for n, a in arrays.items()})
