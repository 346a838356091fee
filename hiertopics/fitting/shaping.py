"""A run of a fitted tree that is cut into other numbers of nodes by level."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hiertopics.base.errors import UsageError
from hiertopics.contract import Context, Settings, Summary, Workers, registry
from hiertopics.corpus.data.tree import Tree
from hiertopics.fitting.consensus import with_bins
from hiertopics.fitting.reshaping import Reshaping, documents_of, written
from hiertopics.runs.meant import another_output
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import check_fitted


def cut(
    parent: RunDir,
    branches: Sequence[int],
    output: Path,
    *,
    refit: bool,
    workers: int,
    argv: Sequence[str],
) -> RunDir:
    """Write a run of a tree with given numbers of nodes by level; arguments as in ``shape``."""
    began = time.perf_counter()
    require_cuttable(parent, branches, output)
    summary, numbers = _summary(parent, [int(n) for n in branches], refit, workers)
    made_by = f"shape {','.join(map(str, branches))}{' --refit' * refit}"
    made = written(parent, Reshaping(summary, numbers, made_by, began), output, argv).run
    for note in summary.notes:
        made.log(f"note: {note}")
    return made


def require_cuttable(run: RunDir, branches: Sequence[int], output: Path) -> None:
    """Raise UsageError where ``cut`` has no meaning for a run, for these numbers or this place."""
    if RunDir(output).exists:
        raise UsageError(f"{output} is there already; {another_output(output)}")
    backend = registry.load_for(run.experiment)
    if backend.recut is None or backend.refit_on_tree is None:
        able = ", ".join(registry.which(lambda backend: backend.recut is not None))
        raise UsageError(f"shape is for {able}: a tree of {run.experiment.backend} cannot be cut")
    check_fitted(run.tree, backend, Settings(run.experiment.model, run.experiment.inference))
    _check([int(n) for n in branches], run.tree)


def _summary(
    run: RunDir, branches: list[int], refit: bool, workers: int
) -> tuple[Summary, dict[int, int]]:
    """Return the tree cut anew, and the numbers of nodes whose names it keeps."""
    backend, tree = registry.load_for(run.experiment), run.tree
    assert backend.recut is not None and backend.refit_on_tree is not None
    settings = Settings(run.experiment.model, run.experiment.inference)
    train = read_original(run).train
    with Workers(workers) as pool:
        context = Context(run.experiment.seed, 0, pool)
        found, theta = backend.recut(tree, run.theta, train, branches, settings, context)
        if refit:
            return with_bins(backend.refit_on_tree(found, theta, train, settings, context), run), {}
    found = replace(found, n_docs=documents_of(run, found, theta, None))
    return Summary(found, theta), _numbers(tree, found)


def _check(branches: list[int], tree: Tree) -> None:
    n_leaves = len(np.setdiff1d(tree.shown, tree.parent))
    asked = ",".join(map(str, branches))
    if not branches or branches[0] < 2 or any(np.diff(branches) <= 0):
        raise UsageError(
            "branches must rise from level to level: the nodes below the root first, 2 or more, "
            f"then those of the next level, as 8,30; got {asked!r}"
        )
    if branches[-1] >= n_leaves:
        raise UsageError(f"branches asks for {asked}, but the tree has {n_leaves} leaves: ask less")


def _numbers(tree: Tree, found: Tree) -> dict[int, int]:
    """Return the new numbers of the root and of the leaves, which have the same topics."""
    old, new = (np.setdiff1d(one.shown, one.parent) for one in (tree, found))
    places: dict[tuple[bytes, float], list[int]] = {}
    for node in new.tolist():
        places.setdefault((found.phi[node].tobytes(), found.n_tokens[node]), []).append(node)
    keys = {node: (tree.phi[node].tobytes(), tree.n_tokens[node]) for node in old.tolist()}
    return {0: 0} | {node: places[key].pop(0) for node, key in keys.items()}
