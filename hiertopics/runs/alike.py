"""Runs that are held against each other, node by node."""

from __future__ import annotations

from collections.abc import Sequence

from hiertopics.data.matching import Marks, marks_of
from hiertopics.data.tree import ROOT
from hiertopics.errors import UsageError
from hiertopics.runs.rundir import RunDir


def marks_of_run(run: RunDir) -> Marks:
    """Return what the nodes of a run's tree are known by."""
    return marks_of(run.tree, run.theta.toarray())


def refuse_unlike(runs: Sequence[RunDir], command: str) -> None:
    """Raise UsageError where runs are not of one tree backend, corpus and split, or too few."""
    if len(runs) < 2:
        raise UsageError(f"{command} takes two runs or more: a tree, and others of the same split")
    for run in runs:
        if run.tree.vectors is not None or (run.tree.parent[run.tree.shown] == ROOT).all():
            raise UsageError(f"{run.path} has no tree of words: {command} compares nodes by depth")
    same = {
        "backend": [str(run.manifest["backend"]) for run in runs],
        "corpus": [str(run.manifest["corpus"]["fingerprint"]) for run in runs],
        "split": [run.split.hash for run in runs],
    }
    for what, values in same.items():
        if len(set(values)) > 1:
            pairs = zip(runs, values, strict=True)
            listed = ", ".join(f"{run.path} has {value}" for run, value in pairs)
            raise UsageError(f"these runs are not of the same {what}: {listed}")
