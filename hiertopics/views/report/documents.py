"""The documents of a report: the place of each in the tree, its words, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import HiertopicsError
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.corpus.data import Corpus, Tags, Tree
from hiertopics.corpus.data.best import largest
from hiertopics.corpus.data.columns import (
    axis_of,
    binned,
    day_of,
    drawn_part,
    is_time,
    moments,
    same_times,
)
from hiertopics.corpus.data.membership import blocks_of
from hiertopics.corpus.data.treeshares import forest_shares, main_rows
from hiertopics.runs.documents import DocumentRecords, by_field
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report.topics import Layout

UNIT = 1000
"""Shares of documents are whole numbers of this."""

SMALLEST = 5
"""Smaller shares, in those units, are left out unless a document has no larger one."""

BLOCK, COLUMNS = 2048, 32
"""Documents, and places, that are looked at together."""


class TrainingDocuments(NamedTuple):
    """A run's facts about its training documents, a row each.

    names, snippets: None where they have none. counts: CSR [n_docs, n_words] or None. tags: by what
    they are called. problem: why something is missing, in one line.
    """

    names: list[str] | None
    counts: sparse.csr_array | None
    tags: dict[str, Tags]
    snippets: list[str] | None
    problem: str | None


def known_documents(run: RunDir) -> TrainingDocuments:
    """Return facts of documents from the run, and from its corpus if that is there.

    Groups and labels of a field of the texts have its name.
    """
    kept = run.documents or DocumentRecords(None, {}, None)
    data = run.experiment.data
    names = None if kept.names is None else list(kept.names)
    snippets = None if kept.snippets is None else list(kept.snippets)
    try:
        train = read_original(run).train
    except HiertopicsError as error:
        folder = f"{Path(str(data.corpus)).parent}/"
        return TrainingDocuments(
            names, None, by_field(kept.tags, data), snippets, str(error).replace(folder, "")
        )
    marks = {"groups": train.groups, "labels": train.labels}
    return TrainingDocuments(
        names if train.doc_ids is None else list(train.doc_ids),
        train.counts if isinstance(train, Corpus) else None,
        by_field({**kept.tags, **{name: tags for name, tags in marks.items() if tags}}, data),
        snippets,
        None,
    )


class Shares(NamedTuple):
    """Shares of documents over the places of a layout.

    own: the share at each node, CSR [n_docs, n_places]. above: which places lie at or above each,
    CSR [n_places, n_places]. home: the place of the deepest node on a document's path; of an
    arranged topic, that with the largest share; else the main topic (``treeshares.main_rows``);
    -1: none is shown. int64 [n_docs].

    Shares at or below all places would fill more memory than own, so they are made when asked for.
    """

    own: sparse.csr_array
    above: sparse.csr_array
    home: I64

    def below(self, places: I64 | slice) -> sparse.csr_array:
        """Return the shares at or below some places, CSR [n_docs, n]."""
        return sparse.csr_array(self.own @ self.above[:, places])

    def of(self, docs: I64 | slice) -> Shares:
        """Return the shares of some documents, int64 [n] or a slice."""
        return Shares(sparse.csr_array(self.own[docs]), self.above, self.home[docs])

    def of_words(self, lengths: I64 | None) -> Shares:
        """Return the shares to be counted: documents without words have none, and no home.

        Their own are those of the prior alone. lengths: int64 [n_docs], words of each document;
        None: all count.
        """
        if lengths is None or (lengths > 0).all():
            return self
        own = sparse.csr_array(sparse.diags_array((lengths > 0).astype(np.float64)) @ self.own)
        own.eliminate_zeros()
        return Shares(own, self.above, np.where(lengths > 0, self.home, -1))


def shares_of(run: RunDir, tree: Tree, layout: Layout) -> Shares:
    """Return the shares of the training documents at the places of a report.

    A node that is not shown, or was cut, counts as the nearest shown one above it.
    """
    at = np.full(run.tree.n_nodes, -1, dtype=np.int64)
    for row in range(tree.n_nodes):
        name = tree.id_of(row)
        if isinstance(name, int):
            at[name] = _nearest_shown(tree, layout, row)
    n_places = len(layout.rows)
    rows = [_moved(block, at, n_places) for block in run.theta_in_blocks()]
    own = sparse.csr_array(sparse.vstack([sparse.csr_array((0, n_places)), *rows], format="csr"))
    return Shares(own, _upwards(layout), _homes(run, tree, layout, own, at))


def _homes(run: RunDir, tree: Tree, layout: Layout, own: sparse.csr_array, at: I64) -> I64:
    """Return the home of each document, int64 [n_docs]; at: the place of each node of the run."""
    if run.paths is not None and tree.arrangement is None:
        node = run.paths.node
        deepest = np.where(node >= 0, np.arange(node.shape[1]), -1).max(axis=1, initial=-1)
        last = node[np.arange(len(node)), np.maximum(deepest, 0)]
        return np.where(deepest >= 0, at[last], -1)
    if tree.arrangement is not None:
        home = np.asarray(own.argmax(axis=1), np.int64).ravel()
    else:
        places = np.arange(len(layout.rows))
        blocks = (forest_shares(layout.parent, rows, places) for rows in blocks_of(own))
        home = np.concatenate([np.empty(0, np.int64), *map(main_rows, blocks)])
    return np.where(np.diff(own.indptr) > 0, home, -1)


def _nearest_shown(tree: Tree, layout: Layout, row: int) -> int:
    while row >= 0 and layout.place[row] < 0:
        row = int(tree.parent[row])
    return int(layout.place[row]) if row >= 0 else -1


def _moved(theta: sparse.csr_array, at: I64, n_places: int) -> sparse.csr_array:
    """Return theta with column j in place at[j]; columns without a place are left out."""
    rows, columns = np.flatnonzero(at >= 0), at[at >= 0]
    shape = (theta.shape[1], n_places)
    moved = sparse.csr_array(theta @ sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape))
    moved.eliminate_zeros()
    moved.sort_indices()
    return moved


def _upwards(layout: Layout) -> sparse.csr_array:
    """Return which places lie at or above each, CSR [n_places, n_places]."""
    n = len(layout.rows)
    counts = layout.end - np.arange(n)
    ones = np.ones(int(counts.sum()))
    parts = [np.arange(place, layout.end[place]) for place in range(n)]
    below = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    above = np.repeat(np.arange(n), counts)
    return sparse.csr_array((ones, (below, above)), shape=(n, n))


def leading(shares: Shares, n_docs: int) -> I64:
    """Return the documents that are among the ``n_docs`` first ones of any node.

    int64 [n], ascending.
    """
    found = np.zeros(shares.own.shape[0], dtype=bool)
    for first in range(0, shares.own.shape[1], COLUMNS):
        below = sparse.csc_array(shares.below(slice(first, first + COLUMNS)))
        for begin, end in pairwise(below.indptr.tolist()):
            order = largest(below.data[begin:end].round(9), n_docs)
            found[below.indices[begin:end][order]] = True
    return np.flatnonzero(found)


class ShareEntries(NamedTuple):
    """The shares that are kept, flat: how many of each document, places, whole shares.

    n: [n_docs]. place, share: [n.sum()].
    """

    n: I64
    place: I64
    share: I64


def entries_of(shares: Shares, most: int) -> ShareEntries:
    """Return the ``most`` largest shares of each document, by place; the largest always stays."""
    blocks = (shares.of(slice(first, first + BLOCK)) for first in range(0, len(shares.home), BLOCK))
    return _joined([_entries_of_block(block.own, most) for block in blocks])


def _entries_of_block(own: sparse.csr_array, most: int) -> ShareEntries:
    doc = rows_of(own.indptr)
    whole = np.rint(UNIT * own.data).astype(np.int64)
    # Most shares are small: where a document has others, these alone are sorted.
    has_others = np.bincount(doc[whole >= SMALLEST], minlength=own.shape[0]) > 0
    some = np.flatnonzero((whole >= SMALLEST) | ~has_others[doc])
    order = some[np.lexsort((own.indices[some], -own.data[some], doc[some]))]
    first = ends_of(np.bincount(doc[some], minlength=own.shape[0]))
    rank = np.arange(len(order)) - first[doc[order]]
    kept = np.sort(order[(rank == 0) | ((rank < most) & (whole[order] >= SMALLEST))])
    n = np.bincount(doc[kept], minlength=own.shape[0])
    return ShareEntries(n, own.indices[kept].astype(np.int64), np.maximum(whole[kept], 1))


def _joined(parts: list[ShareEntries]) -> ShareEntries:
    none = np.empty(0, dtype=np.int64)
    columns = zip(ShareEntries(none, none, none), *parts, strict=True)
    return ShareEntries(*(np.concatenate(column) for column in columns))


def rest_of(shares: Shares, entries: ShareEntries, layout: Layout) -> ShareEntries:
    """Return the differences between true shares at or below inner nodes and sums of kept ones.

    The share of a document at or below such a node is the sum of its kept shares there and of its
    rests there; it differs from the true one by at most one unit. A rest may be below 0.
    """
    inner = np.flatnonzero(layout.end - np.arange(len(layout.rows)) > 1)
    first = ends_of(entries.n)
    parts = [
        _rest_of_block(shares, entries, first, layout, inner, start)
        for start in range(0, len(entries.n), BLOCK)
    ]
    return _joined(parts)


def _rest_of_block(
    shares: Shares, entries: ShareEntries, first: I64, layout: Layout, inner: I64, start: int
) -> ShareEntries:
    """Return the rests of the documents from ``start`` on, a block of them."""
    n = entries.n[start : start + BLOCK]
    cells = slice(first[start], first[start + len(n)])
    table = (np.repeat(np.arange(len(n)), n), entries.place[cells])
    shape = (len(n), len(layout.rows))
    kept = sparse.csr_array((entries.share[cells], table), shape=shape)
    at_or_below = sparse.csr_array(shares.above, dtype=np.int64)[:, inner]
    below = shares.of(slice(start, start + BLOCK)).below(inner).toarray()
    whole = np.rint(UNIT * below).astype(np.int64)
    lacking = whole - (kept @ at_or_below).toarray()
    column = {place: i for i, place in enumerate(inner.tolist())}
    rest = np.zeros_like(lacking)
    # What a node lacks is added once, at the deepest node that lacks it: from the leaves upwards.
    for i in range(len(inner) - 1, -1, -1):
        rest[:, i] = np.where(np.abs(lacking[:, i]) > 1, lacking[:, i], 0)
        place = int(layout.parent[inner[i]])
        while place >= 0:
            lacking[:, column[place]] -= rest[:, i]
            place = int(layout.parent[place])
    doc, found = np.nonzero(rest)
    return ShareEntries(np.bincount(doc, minlength=len(n)), inner[found], rest[doc, found])


class Contents(NamedTuple):
    """The words of documents, flat: how many of each document, ids, how often, whose topic.

    n: [n_docs]. word, times, topic: [n.sum()]. topic: which of the document's entries
    (``ShareEntries``) the word most probably comes from.
    """

    n: I64
    word: I64
    times: I64
    topic: I64


def contents_of(
    counts: sparse.csr_array,
    entries: ShareEntries,
    tree: Tree,
    layout: Layout,
    docs: I64,
    most: int,
) -> Contents:
    """Return the ``most`` most frequent words of some documents, each with its topic.

    counts: CSR, a row for each document of the corpus. docs: int64 [n_docs], the rows; entries:
    those of these documents.
    """
    first = ends_of(entries.n)
    parts = []
    for start in range(0, len(docs), BLOCK):
        rows = counts[docs[start : start + BLOCK]]
        parts.append(_contents(rows, docs[start : start + BLOCK], entries, first, tree, layout))
    if not parts:
        none = np.empty(0, dtype=np.int64)
        return Contents(none, none, none, none)
    joined = Contents(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    doc = np.repeat(np.arange(len(docs)), joined.n)
    order = np.lexsort((joined.word, -joined.times, doc))
    begins = ends_of(joined.n)
    kept = np.sort(order[np.arange(len(order)) - begins[doc[order]] < most])
    n = np.bincount(doc[kept], minlength=len(docs))
    return Contents(n, joined.word[kept], joined.times[kept], joined.topic[kept])


def _contents(
    counts: sparse.csr_array,
    docs: I64,
    entries: ShareEntries,
    first: I64,
    tree: Tree,
    layout: Layout,
) -> Contents:
    n_words = np.diff(counts.indptr)
    doc = np.repeat(docs, n_words)
    n_pairs = entries.n[doc]
    cell = np.repeat(np.arange(len(doc)), n_pairs)
    begin = ends_of(n_pairs)
    which = np.arange(len(cell)) - begin[cell]
    entry = first[doc[cell]] + which
    row = layout.rows[entries.place[entry]]
    score = tree.phi[row, counts.indices[cell]] * entries.share[entry]
    has = np.flatnonzero(n_pairs > 0)
    topic = np.zeros(len(doc), dtype=np.int64)
    if len(has):
        best = np.repeat(np.maximum.reduceat(score, begin[has]), n_pairs[has])
        # Of equal scores the first one is taken.
        reached = np.flatnonzero(score == best)
        topic[has] = which[reached[np.unique(cell[reached], return_index=True)[1]]]
    times = counts.data.astype(np.int64)
    return Contents(n_words.astype(np.int64), counts.indices.astype(np.int64), times, topic)


MOST_VALUES = 100
"""Values of a column that are counted at each node: the most common ones there."""

MOST_BARS = 200
"""Values that a column of numbers, years or dates may have to be shown in their order."""


def columns_part(
    tags: Mapping[str, Tags], home: I64, layout: Layout, kept: I64
) -> list[dict[str, Any]]:
    """Return a record per column: its values, how often each occurs, and counts by node.

    Dates count by their months or years. home: int64 [n_docs], the place of each document's node,
    -1 for none. A document counts at that node and at all above it. kept: int64 [n], the documents
    whose own values the record holds, too.
    """
    found = [_column(name, one, home, layout, kept) for name, one in tags.items()]
    same = same_times({one["name"]: tags[one["name"]] for one in found if one["ordered"]})
    for column in found:
        if column["name"] in same:
            column["same_as"] = same[column["name"]]
    return found


def _column(name: str, exact: Tags, home: I64, layout: Layout, kept: I64) -> dict[str, Any]:
    tags = binned(exact)
    members = sparse.csr_array(tags.members, dtype=np.int64)
    totals = np.asarray(members.sum(axis=0)).ravel()
    used = np.flatnonzero(totals)
    has_order = _has_order([tags.names[value] for value in used], members)
    is_ordered = has_order and is_time(tags)  # drawn as bars from the first to the last value
    if not has_order:
        used = used[np.argsort(-totals[used], kind="stable")]
    place = np.full(members.shape[1], -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    n_values, values, counts = [], [], []
    for node_values, node_counts in _by_node(members, home, layout):
        order = np.lexsort((place[node_values], -node_counts))[:MOST_VALUES]
        chosen = node_values if is_ordered else node_values[order]
        n_values.append(len(chosen))
        values += place[chosen].tolist()
        counts += (node_counts if is_ordered else node_counts[order]).tolist()
    mine = members[kept]
    values_told = [tags.names[value] for value in used]
    drawn = drawn_part(values_told, totals[used].tolist())
    axis = {"axis": axis_of(drawn.of(values_told)), "not_drawn": drawn.told}
    return {
        "name": name,
        "ordered": is_ordered,
        **(axis if is_ordered else {}),
        "values": values_told,
        "totals": totals[used].tolist(),
        "node_n": n_values,
        "node_value": values,
        "node_count": counts,
        "doc_n": np.diff(mine.indptr).tolist(),
        "doc_value": place[mine.indices].tolist(),
        **({} if tags is exact else _days(exact, tags, kept)),
    }


def _days(exact: Tags, bins: Tags, kept: I64) -> dict[str, Any]:
    """Return the days of the documents of a column of dates, if its bins are none of days.

    days: ascending, as ``1998-05-31``. doc_day: an entry for each one of ``doc_value``.
    """
    names = [day_of(name) for name in exact.names]
    mine = sparse.csr_array(exact.members)[kept]
    days, doc_day = np.unique([names[at] for at in mine.indices.tolist()], return_inverse=True)
    if not set(days.tolist()) - set(bins.names):
        return {}
    return {"days": days.tolist(), "doc_day": doc_day.tolist()}


def _has_order(names: list[str], members: sparse.csr_array) -> bool:
    """Tell whether each document has at most one value, and the values are numbers or dates."""
    if not 1 < len(names) <= MOST_BARS or int(np.diff(members.indptr).max(initial=0)) > 1:
        return False
    return moments(names) is not None


def _by_node(members: sparse.csr_array, home: I64, layout: Layout) -> list[tuple[I64, I64]]:
    """Return of each place the values of the documents at or below it, ascending, and counts."""
    n = len(layout.rows)
    docs = np.flatnonzero(home >= 0)
    ones = np.ones(len(docs), dtype=np.int64)
    at = sparse.csr_array((ones, (home[docs], docs)), shape=(n, members.shape[0]))
    table = sparse.csr_array(at @ members)
    sums = sparse.csr_array(sparse.csr_array(_upwards(layout).T, dtype=np.int64) @ table)
    sums.sort_indices()
    bounds = zip(sums.indptr[:-1], sums.indptr[1:], strict=True)
    return [(sums.indices[a:b].astype(np.int64), sums.data[a:b]) for a, b in bounds]
