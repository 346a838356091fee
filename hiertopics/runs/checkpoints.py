"""Checkpoints: whole states of a fit, the last two of them kept.

What is local stands there piece by piece: ``local.0.resp``, ``local.1.resp``, ... Older ones have
``resp`` of the whole corpus, which is cut into the same pieces.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hiertopics import files
from hiertopics.engine import Each, as_given, cut
from hiertopics.errors import RunError
from hiertopics.model import AnyBackend, Context
from hiertopics.runs.rundir import RunDir, by_iteration

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Arrays = dict[str, NDArray[Any]]
LOCAL = "local"
KEPT = 2


def save_checkpoint(run: RunDir, iteration: int, state: object, stamp: str) -> None:
    """Write the whole state and drop all but the last two checkpoints.

    They are large, and one that a power cut damaged is passed over for the one before: hence
    no waiting for the disk. stamp: what the state belongs to (corpus and split), checked
    when it is loaded.
    """
    folder = run.path / "checkpoints"
    arrays = arrays_of(state)
    arrays["stamp_"] = np.asarray(stamp)
    files.write_npz(folder / f"{iteration:08d}.npz", arrays, sync=False)
    for old in by_iteration(folder)[:-KEPT]:
        old.unlink(missing_ok=True)


def arrays_of(state: object) -> dict[str, NDArray[Any]]:
    """Return a state as the arrays of a checkpoint, by their names there."""
    arrays: Arrays = {}
    for field in fields(cast("DataclassInstance", state)):
        value = getattr(state, field.name)
        if field.name == LOCAL:
            for number in range(value.n_pieces):
                local = value.state_of(number)
                kept = {name: np.asarray(getattr(local, name)) for name in kept_of(type(local))}
                arrays |= {f"{LOCAL}.{number}.{name}": array for name, array in kept.items()}
        else:
            arrays[field.name] = np.asarray(value)
    return arrays


def kept_of(local: Any) -> list[str]:
    """Return the names of what a record of a piece's state keeps between iterations."""
    return [name for name in local._fields if name not in local._field_defaults]


def load_checkpoint(run: RunDir, backend: AnyBackend, stamp: str) -> tuple[int, Arrays] | None:
    """Return the iteration and arrays of the newest checkpoint that can be continued.

    None: the fit came to no checkpoint yet. One that is damaged, or of another program, is passed
    over for the one before it. Raises RunError where no other is left, or
    where they are gone.
    """
    found = by_iteration(run.path / "checkpoints")[::-1]
    reasons = [] if found or not _had_checkpoints(run) else ["all of them are gone"]
    for path in found:
        try:
            return int(path.stem), _read(path, backend, stamp)
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


def restored(arrays: Arrays, backend: AnyBackend, data: object, context: Context) -> object:
    """Return the state of a checkpoint; its pieces are placed, others are taken from older ones.

    Arrays without dimensions are the state's numbers and strings.
    """
    given: dict[str, Any] = {
        name: array if array.ndim else array.item() for name, array in arrays.items()
    }
    sharded = backend.pieces
    if sharded is not None:
        names, local = kept_of(sharded.Local), sharded.Local
        parts = sharded.parts(data)
        if all(name in given for name in names):
            whole = {name: given.pop(name) for name in names}
            states = cut(local, whole, sharded.bounds(data))
        else:
            prefixes = [f"{LOCAL}.{number}." for number in range(len(parts))]
            states = [local(**{n: given.pop(prefix + n) for n in names}) for prefix in prefixes]
        given[LOCAL] = context.place(sharded.build, parts, as_given, Each(states))
    return backend.State(**given)


def _read(path: Path, backend: AnyBackend, stamp: str) -> Arrays:
    """Read the arrays of a state, and see that none is missing and none is there besides."""
    arrays = files.read_npz(path)
    if "stamp_" not in arrays:
        raise RunError(f"{path} is damaged: it has no array 'stamp_'")
    if str(arrays.pop("stamp_")) != stamp:
        raise RunError(f"{path} belongs to another corpus or split")
    arrays = backend.renewed(arrays)
    names = _names(backend, arrays)
    parts = [f"no {name}" for name in sorted(names - set(arrays))]
    parts += [f"{name} besides" for name in sorted(set(arrays) - names)]
    if parts:
        raise RunError(f"{path} is of another version of hiertopics: its state has {parts[0]}")
    return arrays


def _names(backend: AnyBackend, found: Collection[str]) -> set[str]:
    """Return the names of the arrays of a state that has as many pieces as are found."""
    names = {field.name for field in fields(cast("type[DataclassInstance]", backend.State))}
    if backend.pieces is None:
        return names
    kept = kept_of(backend.pieces.Local)
    numbers = {name.split(".")[1] for name in found if name.startswith(f"{LOCAL}.")}
    local = {f"{LOCAL}.{number}.{name}" for number in numbers for name in kept}
    return names - {LOCAL} | (local or set(kept))
