"""Task scores as a table: each run, then what it is to be compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics.views.render.table import to_table


def to_task_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Return a line per run and a line per baseline; one that several runs share stands once."""
    rows = [{**record, "method": record["run"]} for record in records]
    for record in records:
        for name, metrics in record["baselines"].items():
            row = {"method": name, **metrics, "split": record["split"]}
            if row not in rows:
                rows.append(row)
    metrics = next(iter(records[0]["baselines"].values()))
    sizes = [key for key in records[0] if key.startswith("n_")]
    return to_table(rows, ("method", *metrics, *sizes, "split"))
