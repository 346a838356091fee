"""Runs with nodes joined or removed by hand: ``merge``, ``drop``, and their shared code.

Nothing is fitted. The counts of the nodes are added, and ``Backend.merge_extra`` makes the arrays
that place new documents. The new run is scored and shown like any other, on the same split.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import RunError, UsageError
from hiertopics.contract import Paths, Settings, Summary, registry
from hiertopics.corpus.data.membership import documents_with, passing
from hiertopics.corpus.data.regrouping import Regrouping, joined, regrouped, without
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.runs import artifacts
from hiertopics.runs.documents import DOCUMENTS
from hiertopics.runs.edits import EDITS, MERGE, as_line
from hiertopics.runs.labels import LABELS, Row, read_rows, words_told, write_rows
from hiertopics.runs.manifest import FILES
from hiertopics.runs.meant import another_output
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.origin import lineage, peak_memory
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.soundness import check_fitted

KEPT = ("config.yaml", *artifacts.INPUTS, DOCUMENTS)


class ReshapedRun(NamedTuple):
    """A run that was made, and the new number of each old node that is a node still."""

    run: RunDir
    numbers: dict[int, int]


def merge(
    run: Path | str | RunDir,
    nodes: Sequence[int | str],
    output: Path | str,
    *,
    argv: Sequence[str] = (),
) -> ReshapedRun:
    """Write a run with nodes of one parent, or flat topics, merged; nodes below them stay.

    Its words are the means of theirs by tokens, its documents' shares their sums. argv: for the
    manifest. Raises UsageError or RunError.
    """
    target = ready(run, output)
    numbers = [int(node_meant(target, node)) for node in nodes]
    try:
        grouping = joined(target.tree, numbers)
    except UsageError as error:
        raise UsageError(f"{error}{_by_edit(target, numbers)}") from error
    return _made(target, grouping, f"merge {' '.join(map(str, numbers))}", Path(output), argv)


def _by_edit(run: RunDir, nodes: Sequence[int]) -> str:
    """Return how nodes of one level with different parents are merged, as the end of a message."""
    chosen = sorted(set(nodes))
    if len(set(run.tree.parent[chosen])) < 2 or len(set(run.tree.depth[chosen])) > 1:
        return ""
    return f"; 'edit' can, with this line in {EDITS}: {as_line(MERGE, run, chosen)}"


def drop(
    run: Path | str | RunDir, node: int | str, output: Path | str, *, argv: Sequence[str] = ()
) -> ReshapedRun:
    """Write a run without a node and all below it.

    Its documents stay at what lies above it. Its share of their words goes to the row outside the
    nodes, as if no topic explained them; of the nested HDP, which has no outside, to the parent.
    argv: for the manifest. Raises UsageError or RunError.
    """
    target = ready(run, output)
    number = int(node_meant(target, node))
    return _made(target, without(target.tree, number), f"drop {number}", Path(output), argv)


def ready(run: Path | str | RunDir, output: Path | str) -> RunDir:
    """Return a run whose nodes can be regrouped; UsageError where they cannot, or for the place."""
    target = opened(run)
    if RunDir(output).exists:
        raise UsageError(f"{output} is there already; {another_output(output)}")
    if registry.load_for(target.experiment).merge_extra is None:
        raise UsageError(f"nodes of {target.experiment.backend} cannot be merged or dropped")
    return target


def _made(
    parent: RunDir, grouping: Regrouping, made_by: str, output: Path, argv: Sequence[str]
) -> ReshapedRun:
    """Write the run that a regrouping makes of its parent."""
    began = time.perf_counter()
    summary = after(parent, fitted(parent), grouping)
    numbers = {
        node: int(grouping.into[node])
        for node in parent.tree.shown.tolist()
        if not grouping.removed[node]
    }
    return written(parent, Reshaping(summary, numbers, made_by, began), output, argv)


class Reshaping(NamedTuple):
    """The new tree of a changed run.

    numbers: the new number of each old node that is a node still. began: when, in seconds of
    ``time.perf_counter``.
    """

    summary: Summary
    numbers: dict[int, int]
    made_by: str
    began: float


def written(parent: RunDir, change: Reshaping, output: Path, argv: Sequence[str]) -> ReshapedRun:
    """Write the run of a summary, with the inputs of its parent; the manifest comes last."""
    summary, numbers, made_by, began = change
    run = RunDir(output)
    with run.made():
        for name in KEPT:
            if parent.file(name).exists():
                _copy(parent.file(name), run.file(name))
        seals = run.seals(n for n in KEPT[1:] if run.file(n).exists())
        seals |= artifacts.write_summary(run, summary, parent.vocab, parent.experiment)
        _carry_labels(parent, run, summary.tree, numbers)
        run.log(f"{made_by} of {parent.path}")
        manifest = {**parent.manifest, "argv": list(argv), "status": "done", "objective": None}
        manifest.pop("diagnostics", None)
        manifest |= {"wall_seconds": time.perf_counter() - began}
        manifest |= {"peak_memory_bytes": peak_memory(), FILES: seals}
        run.write_manifest(manifest | lineage([parent], made_by))
    return ReshapedRun(run, numbers)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror or error}") from error


def fitted(run: RunDir) -> Summary:
    """Return the summary of a run's fit; RunError if its tree lacks arrays of its backend."""
    settings = Settings(run.experiment.model, run.experiment.inference)
    check_fitted(run.tree, registry.load_for(run.experiment), settings)
    return Summary(run.tree, run.theta, run.paths)


def after(run: RunDir, before: Summary, grouping: Regrouping) -> Summary:
    """Return the tree, theta and paths after a regrouping, documents counted anew.

    run: whose tree it was at first. Paths lead over the nodes of before, at the same levels.
    """
    old, backend = before.tree, registry.load_for(run.experiment)
    assert backend.merge_extra is not None
    tree = regrouped(old, grouping, backend.merge_extra(old, grouping))
    n, cells = old.n_nodes, (np.arange(old.n_nodes), grouping.into)
    moves = sparse.csr_array((np.ones(n), cells), shape=(n, grouping.n_rows))
    theta = sparse.csr_array(before.theta @ moves)
    theta.sort_indices()
    paths = None
    if before.paths is not None:
        node = before.paths.node
        gone = (node < 0) | grouping.removed[node]
        moved = np.where(gone, -1, grouping.into[node]).astype(np.int32)
        paths = Paths(moved, before.paths.log_prob)
    return Summary(replace(tree, n_docs=documents_of(run, tree, theta, paths)), theta, paths)


def documents_of(run: RunDir, tree: Tree, theta: sparse.csr_array, paths: Paths | None) -> I64:
    """Count the documents of each node as fits do: on a path, or with a token's share.

    int64 [n_nodes]. theta: CSR [n_docs, n_nodes]. Raises RunError for a run of before lengths of
    documents were kept.
    """
    if paths is not None:
        return passing(paths.node, tree.n_nodes)
    lengths = run.split.train_lengths
    if lengths is None:
        raise RunError(
            f"{run.path / 'split.npz'} has no train_lengths, which documents are counted by; fit "
            "the run again in another directory"
        )
    users = documents_with(theta, lengths)
    return np.bincount(users.indices, minlength=tree.n_nodes).astype(np.int64)


def _carry_labels(parent: RunDir, run: RunDir, tree: Tree, numbers: dict[int, int]) -> None:
    """Give nodes that are still there their names; of several that are one now, the first's."""
    rows: dict[int, Row] = {}
    for row in read_rows(parent.file(LABELS)):
        node = numbers.get(row.node) if isinstance(row.node, int) else None
        if node is not None and tree.kind[node] == NODE and node not in rows:
            rows[node] = Row(0, node, words_told(tree, parent.vocab, node), row.label)
    if rows:
        write_rows(run.file(LABELS), rows.values())
