"""Results on disk: JSON Lines, one object per result, each with its command and machine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import machine

Record = dict[str, Any]


def append(output: Path | None, command: str, results: Iterable[Record]) -> list[Record]:
    """Stamp ``results``, append them to ``output`` (if given) and return them."""
    stamped = [{"command": command, **result, "machine": machine.describe()} for result in results]
    if output is not None:
        with output.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in stamped)
    return stamped


def read(paths: Iterable[Path], command: str | None = None) -> list[Record]:
    """Return the records in ``paths``, those of ``command`` if it is given."""
    records = []
    for path in paths:
        if path.exists():
            with path.open(encoding="utf-8") as file:
                records += [json.loads(line) for line in file if line.strip()]
    return [record for record in records if command in (None, record["command"])]
