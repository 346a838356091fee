"""``topics --by COLUMN``: the share of each topic by metadata of documents, with intervals.

A share is the mean, over the documents of a value, of the part of their words that is at or below
a node. Its interval, and that of its difference from all other documents, comes from resampling
documents with replacement (B. Efron: Bootstrap methods, Annals of Statistics 1979), percentiles
2.5 and 97.5. The model is held fixed: what another fit would say is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.naming import names_of
from hiertopics.corpus.data.tree import Labels
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir
from hiertopics.views.remarks import counted_at, parse_sides, tags_of
from hiertopics.views.render import View

Record: TypeAlias = dict[str, Any]

N_SAMPLES = 1000
BLOCK = 50
"""Samples that are drawn at a time."""

TAIL = 2.5
FEWEST = 2
"""Documents of a value below which nothing is said of its spread."""

MOST_VALUES = 200
MOST_CELLS = 20_000_000
"""Numbers that samples of all values at some nodes may take."""


def by_column(
    run: RunDir,
    column: str,
    nodes: Sequence[int] | None,
    sides: Sequence[str],
    seed: int,
    words_by: str | None = None,
) -> list[dict[str, Any]]:
    """Return a record for each node and value of a column, nodes in their order, then values.

    words_by: the order of the words of automatic names. Keys: id, name (where somebody named
    nodes), auto_name (the automatic one), value, n_docs (documents of that value counted at
    the node, as by ``--side``), of (all of that value), docs_share (n_docs / of), share, low, high,
    difference (from the documents without that value), difference_low, difference_high; None where
    there are too few documents to tell. Raises UsageError or DataError.
    """
    if seed < 0:
        raise UsageError(f"--seed must be >= 0, got {seed}")
    named = parse_sides(sides)
    tags = tags_of(run, column, named.get(column))
    used = np.flatnonzero(np.asarray(tags.members.sum(axis=0)).ravel())
    if len(used) > MOST_VALUES:
        raise UsageError(
            f"column {column!r} has {len(used)} different values; --by takes at most {MOST_VALUES}"
        )
    labels = labels_of(run)
    shown = _all_but_the_whole(run, labels) if nodes is None else list(nodes)
    members = sparse.csr_array(tags.members, dtype=np.float64)[:, used]
    below = sparse.csr_array(run.theta @ run.tree.above[:, shown])
    counts = (counted_at(run).T @ sparse.csr_array(members, dtype=np.int64)).toarray()[shown]
    totals = np.asarray(members.sum(axis=0)).ravel().astype(int)
    found = _intervals(members, below, seed)
    named_any = any(label.name for label in labels.values())
    names = names_of(run.tree, run.vocab, words_by=words_by)
    records = []
    for place, node in enumerate(shown):
        for at, value in enumerate(used.tolist()):
            record: dict[str, Any] = {"id": int(node)}
            if named_any:
                record["name"] = View(labels=labels).label(node).name
            record |= {
                "auto_name": names.texts[node],
                "value": tags.names[value],
                "n_docs": int(counts[place, at]),
                "of": int(totals[at]),
                "docs_share": float(counts[place, at] / totals[at]),
            }
            records.append(record | {k: _number(v[at, place]) for k, v in found.items()})
    return records


def of_first_level(run: RunDir, records: Sequence[Record]) -> list[Record]:
    """Return the records of the children of a tree's root; of several roots, those of the roots."""
    shown, parent = run.tree.shown, run.tree.parent[run.tree.shown]
    roots = shown[parent < 0]
    first = shown[parent == roots[0]] if len(roots) == 1 < len(shown) else roots
    return [record for record in records if record["id"] in first]


def largest(records: Sequence[Record], most: int) -> list[Record]:
    """Return the records with the largest differences from other documents, in their order."""
    apart = [-abs(record["difference"] or 0.0) for record in records]
    return [records[place] for place in sorted(np.argsort(apart, kind="stable")[:most].tolist())]


def _all_but_the_whole(run: RunDir, labels: Labels) -> list[int]:
    """Return the nodes that are shown, in their order, without a root that all others are below.

    Its share is about 1 whatever the value.
    """
    nodes = sorted(View(labels=labels).nodes(run.tree))
    roots = [node for node in nodes if run.tree.parent[node] < 0]
    return [node for node in nodes if roots != [node]] or nodes


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _intervals(members: sparse.csr_array, below: sparse.csr_array, seed: int) -> dict[str, F64]:
    """Return shares and differences [n_values, n_nodes] with their bounds; NaN where unknown.

    members: [n_docs, n_values]. below: [n_docs, n_nodes].
    """
    known = np.asarray(members.sum(axis=1)).ravel() > 0
    members, below = members[known], sparse.csc_array(below[known])
    width = max(MOST_CELLS // (N_SAMPLES * max(members.shape[1], 1)), 1)
    parts = [
        _of_nodes(members, sparse.csr_array(below[:, first : first + width]), seed)
        for first in range(0, below.shape[1], width)
    ]
    few = np.asarray(members.sum(axis=0)).ravel() < FEWEST
    found = {name: np.hstack([part[name] for part in parts]) for name in parts[0]} if parts else {}
    for name in found:
        if name not in ("share", "difference"):
            found[name][few] = np.nan
    return found


def _of_nodes(members: sparse.csr_array, below: sparse.csr_array, seed: int) -> dict[str, F64]:
    """Return what ``_intervals`` does of some nodes: every call draws the same samples."""
    rng, n_docs = seeds.derive(seed, "by column"), below.shape[0]
    (share,), (difference,) = _shares(np.ones((1, n_docs)), members, below)
    drawn: tuple[list[F64], list[F64]] = ([], [])
    for _ in range(N_SAMPLES // BLOCK if n_docs else 0):
        picked = rng.integers(n_docs, size=(BLOCK, n_docs))
        times = np.array([np.bincount(row, minlength=n_docs) for row in picked], dtype=np.float64)
        for kept, part in zip(drawn, _shares(times, members, below), strict=True):
            kept.append(part)
    low, high = _percentiles(drawn[0], share.shape)
    found = {"share": share, "low": low, "high": high, "difference": difference}
    found["difference_low"], found["difference_high"] = _percentiles(drawn[1], share.shape)
    return found


def _shares(times: F64, members: sparse.csr_array, below: sparse.csr_array) -> tuple[F64, F64]:
    """Return shares by value, and their differences from all other documents, of samples.

    times: [n_samples, n_docs], how often each document was drawn. Both [n_samples, n_values,
    n_nodes]; NaN where a sample has no such document.
    """
    n_samples, n_values = len(times), members.shape[1]
    sums = np.zeros((n_samples, n_values, below.shape[1]))
    columns = sparse.csc_array(members)
    for value in range(n_values):
        docs = columns.indices[columns.indptr[value] : columns.indptr[value + 1]]
        sums[:, value] = (below[docs].T @ times[:, docs].T).T
    mass = times @ members
    whole, all_mass = (below.T @ times.T).T[:, None, :], times.sum(axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = sums / mass[:, :, None]
        others = (whole - sums) / (all_mass - mass)[:, :, None]
    return share, share - others


def _percentiles(drawn: list[F64], shape: tuple[int, ...]) -> tuple[F64, F64]:
    """Return the bounds [n_values, n_nodes] of samples; those that lack a value are left out."""
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    for value in range(shape[0] if drawn else 0):
        rows = np.concatenate([part[:, value] for part in drawn])
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows):
            low[value], high[value] = np.percentile(rows, [TAIL, 100 - TAIL], axis=0)
    return low, high
