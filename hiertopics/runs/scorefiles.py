"""The folder ``eval`` of a run: every score so far, and its arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from hiertopics.base import archives, files
from hiertopics.runs.rundir import RunDir


def keep_score(
    run: RunDir,
    name: str,
    options: Mapping[str, Any],
    record: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write ``record`` and ``arrays`` to eval/NAME-key=value.json and .npz, both or none.

    Where the json file stands, the arrays are those that were written with it. They have any
    shape and type; ``read_arrays`` returns them as they are.

    options: those that are not the default; an option that is None counts as default.
    """
    stem = _stem(name, options)
    files.make_folder(run.file("eval"))
    files.write_together(
        {
            run.file(f"{stem}.npz"): archives.as_npz(arrays),
            run.file(f"{stem}.json"): files.as_json(dict(record)),
        },
        last_tells=True,
    )


def read_arrays(run: RunDir, name: str, options: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a score by name, as ``keep_score`` got them.

    Raises RunError where there is none.
    """
    return archives.read_npz(run.file(f"{_stem(name, options)}.npz"))


def _stem(name: str, options: Mapping[str, Any]) -> str:
    given = "".join(f"-{key}={value}" for key, value in options.items() if value is not None)
    return f"eval/{name}{given}"


def kept_scores(run: RunDir) -> list[dict[str, Any]]:
    """Return the records of all scores that were kept, by file name; the name is in ``score``.

    A file that holds no record is passed over: scores carry no seal.
    """
    found = []
    for path in sorted(run.file("eval").glob("*.json")):
        text = run.file(f"eval/{path.name}")
        try:
            record = json.loads(text.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append({"score": path.stem, **record})
    return found
