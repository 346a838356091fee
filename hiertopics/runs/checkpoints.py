"""Checkpoints: whole states of a fit, the last two of them kept.

What is local stands there piece by piece: ``local.0.resp``, ``local.1.resp``, ... Older ones have
``resp`` of the whole corpus, which is cut into the same pieces.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hiertopics.base import files
from hiertopics.base.errors import RunError
from hiertopics.base.room import Room
from hiertopics.contract.model import AnyBackend, Settings
from hiertopics.contract.states import Arrays, check, to_arrays
from hiertopics.runs.rundir import RunDir, by_iteration

KEPT = 2


def save_checkpoint(run: RunDir, iteration: int, state: object, stamp: str) -> None:
    """Write the whole state and drop all but the last two checkpoints.

    They are large, and one that a power cut damaged is passed over for the one before: hence
    no waiting for the disk. stamp: what the state belongs to (corpus and split), checked
    when it is loaded.
    """
    folder = run.path / "checkpoints"
    arrays = to_arrays(state)
    arrays["stamp_"] = np.asarray(stamp)
    files.write_npz(folder / f"{iteration:08d}.npz", arrays, sync=False)
    for old in by_iteration(folder)[:-KEPT]:
        old.unlink(missing_ok=True)


def newest_checkpoint(run: RunDir) -> int:
    """Return the iteration of the newest checkpoint, sound or not; 0 where there is none."""
    found = by_iteration(run.path / "checkpoints")
    return int(found[-1].stem) if found else 0


def load_checkpoint(
    run: RunDir, backend: AnyBackend, settings: Settings, stamp: str, room: Room | None = None
) -> tuple[int, Arrays] | None:
    """Return the iteration and arrays of the newest checkpoint that can be continued.

    None: the fit came to no checkpoint yet. One that is damaged, or of another program, is passed
    over for the one before it. room: where what belongs to documents is put; None: in memory.
    Raises RunError where no other is left, or where they are gone.
    """
    found = by_iteration(run.path / "checkpoints")[::-1]
    reasons = [] if found or not _had_checkpoints(run) else ["all of them are gone"]
    for path in found:
        try:
            return int(path.stem), _read(path, backend, settings, stamp, room or Room())
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


def _read(path: Path, backend: AnyBackend, settings: Settings, stamp: str, room: Room) -> Arrays:
    """Read the arrays of a state, and see that none is missing and none is there besides."""
    memory = Room()

    def room_of(name: str) -> Room:
        grows = ".local." in f".{name}" or name.endswith(backend.by_token)
        return room if grows else memory

    arrays = files.read_npz_in(path, room_of)
    if "stamp_" not in arrays:
        raise RunError(f"{path} is damaged: it has no array 'stamp_'")
    if str(arrays.pop("stamp_")) != stamp:
        raise RunError(f"{path} belongs to another corpus or split")
    try:
        arrays = backend.renewed(arrays, settings)
        check(backend, arrays)
    except (KeyError, ValueError) as error:
        what = f"no {error.args[0]}" if isinstance(error, KeyError) else error
        raise RunError(
            f"{path} is of another version of hiertopics: its state has {what}"
        ) from error
    return arrays
