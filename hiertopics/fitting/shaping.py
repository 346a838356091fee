"""``shape``: a fitted tree cut into other numbers of nodes by level, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings, Summary
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting.consensus import with_bins
from hiertopics.fitting.reshaping import Reshaping, documents_of, written
from hiertopics.numeric.mixtures import all_entries
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.soundness import check_fitted
from hiertopics.scoring.comparison import compare


class Shaped(NamedTuple):
    """A run that was made. nodes: how many there are at each depth below the root.

    price: by how many nats per held-out word it is behind the run that it was made of, and the
    standard error of this difference over documents; None where nothing was held out.
    """

    run: RunDir
    nodes: list[int]
    price: float | None
    price_error: float | None


@trusts
def shape(
    run: Path | str | RunDir,
    branches: Sequence[int],
    output: Path | str,
    *,
    refit: bool = False,
    workers: int = 1,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> Shaped:
    """Write a run whose tree has so many nodes at each level between the root and the leaves.

    branches: coarse to fine, as ``model.branches``; a node that would have a single child is
    replaced by this child. The leaves keep their topics and what documents have of them; refit:
    topics are fitted anew to the same documents, the shape held. argv: for the manifest.

    Raises UsageError where the backend cannot do so, where the numbers do not rise or are not below
    that of the leaves, or where ``output`` is a run; DataError where the corpus is gone.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    began, parent = time.perf_counter(), opened(run)
    if RunDir(output).exists:
        raise UsageError(f"{output} is there already; choose another -o")
    summary, numbers = _summary(parent, [int(n) for n in branches], refit, workers)
    made_by = f"shape {','.join(map(str, branches))}{' --refit' * refit}"
    made = written(parent, Reshaping(summary, numbers, made_by, began), Path(output), argv).run
    for note in summary.notes:
        made.log(f"note: {note}")
    depth = summary.tree.depth[summary.tree.kind == NODE]
    price = _price(parent, made)
    return Shaped(made, np.bincount(depth)[1:].tolist(), *price)


def _summary(
    run: RunDir, branches: list[int], refit: bool, workers: int
) -> tuple[Summary, dict[int, int]]:
    """Return the tree cut anew, and the numbers of nodes whose names it keeps."""
    backend, tree = registry.load_for(run.experiment), run.tree
    if backend.recut is None or backend.regrown is None:
        able = ", ".join(registry.which(lambda backend: backend.recut is not None))
        raise UsageError(f"shape is for {able}: a tree of {run.experiment.backend} cannot be cut")
    settings = Settings(run.experiment.model, run.experiment.inference)
    check_fitted(tree, backend, settings)
    _check(branches, tree)
    train, theta = read_original(run).train, run.theta.toarray()
    with Workers(workers) as pool:
        context = Context(run.experiment.seed, 0, pool)
        cut, theta = backend.recut(tree, theta, train, branches, settings, context)
        if refit:
            return with_bins(backend.regrown(cut, theta, train, settings, context), run), {}
    rows = all_entries(theta)
    cut = replace(cut, n_docs=documents_of(run, cut, rows, None))
    return Summary(cut, rows), _numbers(tree, cut)


def _check(branches: list[int], tree: Tree) -> None:
    n_leaves = len(np.setdiff1d(tree.shown, tree.parent))
    asked = ",".join(map(str, branches))
    if not branches or branches[0] < 2 or any(np.diff(branches) <= 0):
        raise UsageError(f"branches must rise from level to level, from 2 on, got {asked!r}")
    if branches[-1] >= n_leaves:
        raise UsageError(f"branches asks for {asked}, but the tree has {n_leaves} leaves: ask less")


def _numbers(tree: Tree, cut: Tree) -> dict[int, int]:
    """Return the new numbers of the root and of the leaves, which have the same topics."""
    old, new = (np.setdiff1d(one.shown, one.parent) for one in (tree, cut))
    places: dict[tuple[bytes, float], list[int]] = {}
    for node in new.tolist():
        places.setdefault((cut.phi[node].tobytes(), cut.n_tokens[node]), []).append(node)
    keys = {node: (tree.phi[node].tobytes(), tree.n_tokens[node]) for node in old.tolist()}
    return {0: 0} | {node: places[key].pop(0) for node, key in keys.items()}


def _price(parent: RunDir, made: RunDir) -> tuple[float | None, float | None]:
    if not len(parent.split.heldout_docs):
        return None, None
    rows = compare([parent, made])
    if len(rows) < 2:
        return None, None
    last = rows[1]
    sign = 1.0 if last["run"] == str(made.path) else -1.0
    return sign * last["behind"], last["behind_error"]
