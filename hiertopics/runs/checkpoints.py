"""Checkpoints: whole states of a fit, the last two of them kept.

What is local stands there piece by piece: ``local.0.resp``, ``local.1.resp``, ... Older ones have
``resp`` of the whole corpus, which is cut into the same pieces.

A checkpoint has a seal inside. One without is accepted where the manifest tells that a program of
before there were seals wrote it. A right seal replaces no look at the arrays: types, axes, ranges
(``states.check``), and counts against the corpus (``Backend.flaw``).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base import archives
from hiertopics.base.errors import RunError
from hiertopics.base.room import Room
from hiertopics.contract.model import AnyBackend, Context, Settings
from hiertopics.contract.states import Arrays, MisnamedError, check, lengths_of, restored, to_arrays
from hiertopics.runs.manifest import SEALED_FROM
from hiertopics.runs.rundir import RunDir

KEPT = 2


def save_checkpoint(run: RunDir, iteration: int, state: object, stamp: str) -> None:
    """Write the whole state and drop all but the last two checkpoints.

    They are large, and one that a power cut damaged is passed over for the one before: hence
    no waiting for the disk. stamp: what the state belongs to (corpus and split), checked
    when it is loaded. The file has a seal of its arrays inside, so that both come at once.
    """
    path = run.file(f"checkpoints/{iteration:08d}.npz")
    arrays = to_arrays(state)
    arrays["stamp_"] = np.asarray(stamp)
    archives.write_npz(path, arrays, sync=False, sealed=path.name)
    for old in run.numbered("checkpoints")[:-KEPT]:
        old.unlink(missing_ok=True)


def newest_checkpoint(run: RunDir) -> int:
    """Return the iteration of the newest checkpoint, sound or not; 0 where there is none."""
    found = run.numbered("checkpoints")
    return int(found[-1].stem) if found else 0


class StateOrigin(NamedTuple):
    """The origin of a state: its backend, its settings, and its corpus.

    stamp: of corpus and split. seen: the training corpus, or rows.
    """

    backend: AnyBackend
    settings: Settings
    stamp: str
    seen: object


def load_checkpoint(
    run: RunDir, fitted: StateOrigin, room: Room | None = None, before: int | None = None
) -> tuple[int, Arrays] | None:
    """Return the iteration and arrays of the newest checkpoint that can be continued.

    None: the fit came to no checkpoint yet. One that is damaged, or of another program, is passed
    over for the one before it. room: where what belongs to documents is put; None: in memory.
    before: only those before that iteration, whose own has a flaw. Raises RunError where no other
    is left, or where they are gone.
    """
    found = run.numbered("checkpoints")[::-1]
    found = [path for path in found if before is None or int(path.stem) < before]
    reasons = [] if found or not _had_checkpoints(run) else ["all of them are gone"]
    sealed_from = int(run.manifest.get(SEALED_FROM, sys.maxsize)) if run.exists else 0
    for path in found:
        iteration = int(path.stem)
        try:
            return iteration, _read(path, fitted, iteration >= sealed_from, room or Room())
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


class ResumedState(NamedTuple):
    """A state that goes on: its iteration, its arrays and the state itself."""

    iteration: int
    arrays: Arrays
    state: Any


def resume(
    run: RunDir,
    fitted: StateOrigin,
    found: tuple[int, Arrays],
    data: object,
    context: Context,
    room: Room | None = None,
) -> ResumedState:
    """Return the state of the checkpoint that ``load_checkpoint`` found.

    Where it is no state of the corpus laid out, that of the one before. Raises RunError where no
    other is left.
    """
    last: RunError | None = None
    while True:
        iteration, arrays = found
        try:
            own = replace(context, iteration=iteration)
            state = restored(fitted.backend, arrays, data, fitted.settings, own)
            return ResumedState(iteration, arrays, state)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            path = run.path / "checkpoints" / f"{iteration:08d}.npz"
            last = last or _refusal(run, [f"{path} is damaged: {error}"])
        try:
            earlier = load_checkpoint(run, fitted, room, before=iteration)
        except RunError:
            raise last from None
        if earlier is None:
            raise last
        found = earlier


def _read(path: Path, fitted: StateOrigin, is_sealed: bool, room: Room) -> Arrays:
    """Read the arrays of a state, and see that they can be those of one."""
    memory, backend = Room(), fitted.backend

    def room_of(name: str) -> Room:
        grows = ".local." in f".{name}" or name.endswith(backend.by_token)
        return room if grows else memory

    arrays = archives.read_npz_in(path, room_of)
    seal = arrays.pop(archives.SEAL, None)
    if seal is None and is_sealed:
        raise RunError(f"{path} is damaged: it has no seal")
    if seal is not None and str(seal) != archives.seal_inside(path, path.name):
        raise RunError(f"{path} is damaged: its seal is not that of its arrays")
    if "stamp_" not in arrays:
        raise RunError(f"{path} is damaged: it has no array 'stamp_'")
    if str(arrays.pop("stamp_")) != fitted.stamp:
        raise RunError(f"{path} belongs to another corpus or split")
    try:
        arrays = backend.migrate_state(arrays, fitted.settings)
        check(backend, arrays, lengths_of(fitted.seen, fitted.settings))
    except (KeyError, MisnamedError) as error:
        what = f"no {error.args[0]}" if isinstance(error, KeyError) else error
        raise RunError(
            f"{path} is of another version of hiertopics: its state has {what}"
        ) from error
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise RunError(f"{path} is damaged: {error}") from error
    return arrays
