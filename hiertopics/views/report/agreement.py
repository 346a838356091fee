"""The part ``agreement`` of a report: how far the tree agrees with label paths.

It comes from a score that ``eval --task hierarchy`` kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hiertopics.runs.rundir import RunDir
from hiertopics.runs.scorefiles import kept_scores

TASK = "hierarchy"
MEASURES = ("triplets", "kin", "purity", "best_node_f1", "ami")
MOST_ROWS = 12


def agreement_part(run: RunDir) -> dict[str, Any] | None:
    """Return the levels of the run and its baselines, torn labels and mixed branches.

    Of the score of training documents where there is one. None where none was kept.
    """
    records = [one for one in kept_scores(run) if one.get("task") == TASK and one.get("levels")]
    if not records:
        return None
    record = min(records, key=lambda one: bool(one.get("heldout")))
    systems = {"this tree": record, **record.get("baselines", {})}
    first = record["levels"][0]["level"]
    return {
        "heldout": bool(record.get("heldout")),
        "n_docs": record["n_docs"],
        "rows": [
            {"method": name, **_shown(level)}
            for name, system in systems.items()
            for level in system["levels"]
        ],
        "torn": [
            {"label": "/".join(one["label"]), "n_docs": one["n_docs"], "branches": one["branches"]}
            for one in record["torn"]
            if one["level"] == first
        ][:MOST_ROWS],
        "mixed": [
            {"node": one["node"], "label": "/".join(one["label"]), "share": one["share"]}
            for one in record["mixed"]
            if one["level"] == first
        ][:MOST_ROWS],
    }


def _shown(level: Mapping[str, Any]) -> dict[str, Any]:
    names = [f"{name}{more}" for name in MEASURES for more in ("", "_error", "_chance")]
    return {name: level[name] for name in ("level", "labels", *names)}
