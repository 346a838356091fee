"""``topics --by COLUMN``: the share of each topic by metadata of documents, with intervals.

A share is the mean, over the documents of a value, of the part of their words that is at or below
a node. Its interval, and that of its difference from all other documents, comes from resampling
documents with replacement (B. Efron: Bootstrap methods, Annals of Statistics 1979), percentiles
2.5 and 97.5. The model is held fixed: what another fit would say is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.base.saying import note
from hiertopics.corpus.data import Tags
from hiertopics.corpus.data.columns import binned, in_ranges, is_time
from hiertopics.corpus.data.naming import names_of
from hiertopics.corpus.data.tree import Labels
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir
from hiertopics.views.remarks import (
    column_called,
    counted_at,
    parse_sides,
    tags_of,
    tell_what_is_not_shown,
)
from hiertopics.views.render import FEW_DOCUMENTS, View

Record: TypeAlias = dict[str, Any]

N_SAMPLES = 1000
BLOCK = 50
"""Samples that are drawn at a time."""

TAIL = 2.5
FEWEST = 2
"""Documents of a value below which nothing is said of its spread."""

MOST_VALUES = 200
FEWEST_NAMES = 15
"""Values that are compared without a word, though each may be of one document."""

UNIQUE = 0.9
"""Values per document from which on a value stands for a document."""

MOST_CELLS = 8_000_000
"""Shares of documents at some nodes that are looked at together: 64 MB."""

TILE = 64
"""Nodes in one product. All products are as wide, so that a node's numbers do not depend on the
nodes beside it."""

DOCS_AT_ONCE = 2048
"""Documents in one product."""

ENTRIES = 1 << 20
"""Entries of theta that are read together."""

Columns: TypeAlias = Callable[[slice], F64]
"""Shares at or below some nodes: [n_docs, as many]."""


def by_column(
    run: RunDir,
    column: str,
    nodes: Sequence[int] | None,
    sides: Sequence[str],
    seed: int,
    words_by: str | None = None,
    *,
    intervals: bool = True,
) -> list[dict[str, Any]]:
    """Return a record for each node and value of a column, nodes in their order, then values.

    words_by: the order of the words of automatic names. intervals: whether samples are drawn;
    without them the bounds are None. Keys: id, name (where somebody named
    nodes), auto_name (the automatic one), value, n_docs (documents of that value counted at
    the node, as by ``--side``), of (all of that value), docs_share (n_docs / of), share, low, high,
    difference (from the documents without that value), difference_low, difference_high; None where
    there are too few documents to tell. Of a column with more values than ``MOST_VALUES`` these are
    the commonest, and stderr says so. Raises UsageError or DataError.
    """
    if seed < 0:
        raise UsageError(f"--seed must be >= 0, got {seed}")
    tags = _values(run, column, sides)
    used = _commonest(tags, column)
    labels = labels_of(run)
    shown = _all_but_the_whole(run, labels) if nodes is None else list(nodes)
    members = sparse.csr_array(tags.members, dtype=np.float64)[:, used]
    counts = (counted_at(run).T @ sparse.csr_array(members, dtype=np.int64)).toarray()[shown]
    totals = np.asarray(members.sum(axis=0)).ravel().astype(int)
    found = _intervals(
        members, partial(_below, run, shown), len(shown), seed, N_SAMPLES if intervals else 0
    )
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


def n_values(run: RunDir, column: str, sides: Sequence[str]) -> int:
    """Return how many values of a column documents have. Raises as ``by_column`` does."""
    members = _values(run, column, sides).members
    return int(np.count_nonzero(members.sum(axis=0)))


def refuse_names(run: RunDir, column: str, sides: Sequence[str]) -> None:
    """Raise UsageError where nearly each value is one document. Raises as ``by_column`` does."""
    members = _compared(_column(run, column, sides)).members
    n_values, n_docs = int(np.count_nonzero(members.sum(axis=0))), int(members.sum())
    if n_values <= FEWEST_NAMES or n_values < UNIQUE * n_docs:
        return
    raise UsageError(
        f"column {column_called(column)!r} has {n_values} values in {n_docs} documents: nearly "
        "each is one document, and shares say nothing of it; --top N or --format csv show them "
        "all the same"
    )


def _values(run: RunDir, column: str, sides: Sequence[str]) -> Tags:
    """Return a column in the values that it is compared by."""
    tags = _column(run, column, sides)
    bins = _compared(tags)
    tell_what_is_not_shown(column_called(column), tags, bins)
    return bins


def _compared(tags: Tags) -> Tags:
    return in_ranges(binned(tags), MOST_VALUES)


def _column(run: RunDir, column: str, sides: Sequence[str]) -> Tags:
    """Return a column of the run or of a side file; raises as ``tags_of`` does."""
    files = parse_sides(sides)
    return tags_of(run, column, files.get(column, files.get(column_called(column))))


def _commonest(tags: Tags, column: str) -> I64:
    """Return the values that are compared, in their order: at most ``MOST_VALUES``."""
    n_docs = np.asarray(tags.members.sum(axis=0)).ravel()
    used = np.flatnonzero(n_docs)
    if len(used) <= MOST_VALUES:
        return used
    note(
        f"column {column_called(column)!r} has {len(used)} values; "
        f"the {MOST_VALUES} commonest are compared"
    )
    return np.sort(used[np.argsort(-n_docs[used], kind="stable")[:MOST_VALUES]])


def every_node(run: RunDir) -> list[int]:
    """Return the nodes that ``by_column`` has records of where none is asked for."""
    return _all_but_the_whole(run, labels_of(run, quiet=True))


def first_level(run: RunDir) -> list[int]:
    """Return the children of a tree's root, of ``every_node``; of several roots these."""
    shown, parent = run.tree.shown, run.tree.parent[run.tree.shown]
    roots = shown[parent < 0]
    first = shown[parent == roots[0]] if len(roots) == 1 < len(shown) else roots
    return [node for node in every_node(run) if node in first]


def is_over_time(run: RunDir, column: str, sides: Sequence[str]) -> bool:
    """Return whether a column is dates or years that differ. Raises as ``by_column`` does."""
    tags = _column(run, column, sides)
    return is_time(tags) and is_time(binned(tags))


def is_few(record: Mapping[str, Any]) -> bool:
    """Return whether a value has so few documents that its shares say little."""
    return int(record["of"]) < FEW_DOCUMENTS


def largest(records: Sequence[Record], most: int) -> list[Record]:
    """Return the records with the largest differences from other documents, in their order.

    Those of values with few documents come last, whatever their differences.
    """
    few = [is_few(record) for record in records]
    apart = [-abs(record["difference"] or 0.0) for record in records]
    ranked = sorted(range(len(records)), key=lambda place: (few[place], apart[place]))[:most]
    return [records[place] for place in sorted(ranked, key=lambda place: (few[place], place))]


def _all_but_the_whole(run: RunDir, labels: Labels) -> list[int]:
    """Return the nodes that are shown, in their order, without a root that all others are below.

    Its share is about 1 whatever the value.
    """
    nodes = sorted(View(labels=labels).nodes(run.tree))
    roots = [node for node in nodes if run.tree.parent[node] < 0]
    return [node for node in nodes if roots != [node]] or nodes


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _below(run: RunDir, nodes: Sequence[int], which: slice) -> F64:
    """Return the shares of the training documents at or below some of the nodes, [n_docs, n]."""
    upwards = run.tree.above[:, nodes[which]]
    below, first = np.empty((len(run.split.train_docs), upwards.shape[1])), 0
    for rows in run.theta_in_blocks(ENTRIES):
        last = first + rows.shape[0]
        below[first:last], first = (rows @ upwards).toarray(), last
    return below


def _intervals(
    members: sparse.csr_array, below: Columns, n_nodes: int, seed: int, n_samples: int
) -> dict[str, F64]:
    """Return shares and differences [n_values, n_nodes] with their bounds; NaN where unknown.

    members: [n_docs, n_values].
    """
    known = np.flatnonzero(np.asarray(members.sum(axis=1)).ravel() > 0)
    members = members[known]
    docs = [
        column.indices.astype(np.int64)
        for column in (sparse.csc_array(members[:, [v]]) for v in range(members.shape[1]))
    ]
    found = {name: np.full((len(docs), n_nodes), np.nan) for name in FIELDS}
    if len(known) and n_nodes:
        times = _samples(len(known), seed, n_samples)
        width = max(MOST_CELLS // (len(known) * TILE), 1) * TILE
        for first in range(0, n_nodes, width):
            columns = slice(first, min(first + width, n_nodes))
            shares = below(columns)
            of_known = shares if len(known) == len(shares) else shares[known]
            _fill(found, times, docs, of_known, columns)
    few = [len(own) < FEWEST for own in docs]
    for name in BOUNDS:
        found[name][few] = np.nan
    return found


BOUNDS = ("low", "high", "difference_low", "difference_high")
FIELDS = ("share", "difference", *BOUNDS)


def _samples(n_docs: int, seed: int, n_samples: int) -> NDArray[np.uint8]:
    """Return how often each document is in each sample, [1 + n_samples, n_docs].

    The first row is no sample: it has every document once. No document is drawn 256 times.
    """
    rng = seeds.derive(seed, "by column")
    times = np.ones((1 + n_samples, n_docs), np.uint8)
    for first in range(1, 1 + n_samples, BLOCK):
        picked = rng.integers(n_docs, size=(BLOCK, n_docs))
        for place, row in enumerate(picked):
            times[first + place] = np.bincount(row, minlength=n_docs)
    return times


def _fill(
    found: dict[str, F64],
    times: NDArray[np.uint8],
    docs: list[I64],
    below: F64,
    columns: slice,
) -> None:
    """Fill in shares of some nodes by value. below: [n_docs, n_nodes]. docs: of each value."""
    whole = _sums(times, np.arange(len(below)), below)
    all_mass = times.sum(axis=1, dtype=np.float64)[:, None]
    for value, own in enumerate(docs):
        sums = _sums(times, own, below)
        mass = times[:, own].sum(axis=1, dtype=np.float64)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = sums / mass
            difference = share - (whole - sums) / (all_mass - mass)
        for name, drawn in (("share", share), ("difference", difference)):
            found[name][value, columns] = drawn[0]
            sound = drawn[1:][~np.isnan(drawn[1:]).any(axis=1)]
            if len(sound):
                bounds = np.percentile(sound, [TAIL, 100 - TAIL], axis=0)
                start = "" if name == "share" else f"{name}_"
                found[f"{start}low"][value, columns], found[f"{start}high"][value, columns] = bounds


def _sums(times: NDArray[np.uint8], docs: I64, below: F64) -> F64:
    """Return the sums of documents' shares, as often as they are drawn, [n_rows, n_nodes]."""
    n_nodes = below.shape[1]
    sums = np.zeros((len(times), -(-n_nodes // TILE) * TILE))
    for first in range(0, len(docs), DOCS_AT_ONCE):
        some = docs[first : first + DOCS_AT_ONCE]
        drawn, rows = times[:, some].astype(np.float64), np.zeros((len(some), sums.shape[1]))
        rows[:, :n_nodes] = below[some]
        for start in range(0, sums.shape[1], TILE):
            tile = slice(start, start + TILE)
            sums[:, tile] += drawn @ np.ascontiguousarray(rows[:, tile])
    return sums[:, :n_nodes]
