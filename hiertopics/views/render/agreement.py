"""Records of task ``hierarchy``: a line per system and level; torn labels, mixed branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics.views.render.records import Grid, Row, to_table

MEASURES = ("triplets", "kin", "purity", "best_node_f1", "ami")
MOST_ROWS = 12
"""Torn labels and mixed branches that people are shown, of the coarsest level; records have all."""


def level_rows(records: Sequence[Row]) -> list[Row]:
    """Return a flat row for each run, baseline and level; of equal baselines the first."""
    rows: list[Row] = []
    for record in records:
        systems = {record["run"]: record, **record["baselines"]}
        for name, system in systems.items():
            for level in system["levels"]:
                own = {"method": name, **level}
                own |= {key: record[key] for key in ("behind", "behind_error") if key in record}
                if name == record["run"] or own not in rows:
                    rows.append({**own, "split": record["split"]} if name == record["run"] else own)
    return rows


def to_level_table(records: Sequence[Row]) -> Grid:
    """Return a line for each system and level, and the levels of chance of each run."""
    shown = [_cells(row) for row in level_rows(records)]
    shown.sort(key=lambda row: row["level"])
    heads = ("level", "method", *MEASURES, "ties", "labels", "docs")
    return to_table(shown, heads, right=heads[2:])


def _cells(row: Row) -> Row:
    found: dict[str, Any] = {"level": row["level"], "method": row["method"]}
    for name in MEASURES:
        found[name] = _told(row[name], row[f"{name}_error"], row[f"{name}_chance"])
    ties = row["triplets_ties"]
    return found | {"ties": f"{ties:.1%}", "labels": row["labels"], "docs": row["n_docs"]}


def _told(value: float, error: float, chance: float) -> str:
    return f"{value:.3f} ± {error:.3f} ({chance:z.2f})"


def to_torn_table(record: Row) -> Grid:
    """Return the labels that are in most branches: how many, and which ones."""
    rows = [
        {
            "level": one["level"],
            "label": "/".join(one["label"]),
            "docs": one["n_docs"],
            "in branches": f"{one['branches']:.1f}",
            "largest": ", ".join(f"{_branch(node)}: {n}" for node, n in one["largest"]),
        }
        for one in _first(record["torn"])
    ]
    return to_table(rows, ("level", "label", "docs", "in branches", "largest"))


def to_mixed_table(record: Row) -> Grid:
    """Return the branches whose largest label has the least share."""
    rows = [
        {
            "level": one["level"],
            "branch": _branch(one["node"]),
            "docs": one["n_docs"],
            "largest label": "/".join(one["label"]),
            "share": f"{one['share']:.0%}",
            "words": one["auto_name"],
        }
        for one in _first(record["mixed"])
    ]
    return to_table(rows, ("level", "branch", "docs", "largest label", "share", "words"))


def _branch(node: int) -> str:
    return "none" if node < 0 else f"[{node}]"


def _first(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first rows of the coarsest level."""
    return [row for row in rows if row["level"] == rows[0]["level"]][:MOST_ROWS]
