"""The folder ``eval`` of a run: every score that was ever asked for, and what is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from hiertopics import files
from hiertopics.rundir import RunDir


def keep_score(
    run: RunDir,
    name: str,
    options: Mapping[str, Any],
    record: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write ``record`` and ``arrays`` to eval/NAME-key=value.json and .npz, both or none.

    options: those that are not the default; an option that is None counts as default.
    """
    given = "".join(f"-{key}={value}" for key, value in options.items() if value is not None)
    folder = run.path / "eval"
    files.make_folder(folder)
    files.write_together(
        {
            folder / f"{name}{given}.npz": files.as_npz(arrays),
            folder / f"{name}{given}.json": files.as_json(dict(record)),
        }
    )
