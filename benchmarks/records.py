"""Results on disk: JSON Lines, one object per result, each with its command and machine.

Of times a record says by which clock: ``clock`` is ``wall`` or ``processor``; keys with
``train_`` or ``command_`` are wall seconds, unless they say ``cpu``, which is processor time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import machine

Record = dict[str, Any]


def append(output: Path | None, command: str, result: Record) -> Record:
    """Stamp ``result``, append it to ``output`` (if given) and return it."""
    stamped = {"command": command, **result, "machine": machine.describe()}
    if output is not None:
        with output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(stamped) + "\n")
    return stamped


def read(paths: Iterable[Path], command: str | None = None) -> list[Record]:
    """Return the records in ``paths``, those of ``command`` if it is given."""
    records = []
    for path in paths:
        if path.exists():
            with path.open(encoding="utf-8") as file:
                records += [json.loads(line) for line in file if line.strip()]
    return [record for record in records if command in (None, record["command"])]


def latest(records: Iterable[Record], *keys: str) -> list[Record]:
    """Return the last record for each combination of ``keys``, in order of first appearance."""
    kept: dict[tuple[object, ...], Record] = {}
    for record in records:
        kept[tuple(record.get(key) for key in keys)] = record
    return list(kept.values())
