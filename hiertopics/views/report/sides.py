"""What a report says of the documents of a node by metadata: years, authors, labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Tags
from hiertopics.views.report.topics import Layout

MOST_VALUES = 100
"""Values of a column that are counted at each node: the most common ones there."""

MOST_BARS = 200
"""Values that a column of numbers may have to be shown in their order, as years are."""


def columns_part(
    tags: Mapping[str, Tags], home: NDArray[np.int64], layout: Layout, kept: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return a record per column: its values, how often each occurs, and counts by node.

    home: of each document, the place of its node, -1 for none. A document counts at that node and
    at all above it. kept: the documents whose own values the record holds, too.
    """
    return [_column(name, one, home, layout, kept) for name, one in tags.items()]


def _column(
    name: str, tags: Tags, home: NDArray[np.int64], layout: Layout, kept: NDArray[np.int64]
) -> dict[str, Any]:
    members = sparse.csr_array(tags.members, dtype=np.int64)
    totals = np.asarray(members.sum(axis=0)).ravel()
    used = np.flatnonzero(totals)
    is_ordered = _is_ordered([tags.names[value] for value in used], members)
    if not is_ordered:
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
    return {
        "name": name,
        "ordered": is_ordered,
        "values": [tags.names[value] for value in used],
        "totals": totals[used].tolist(),
        "node_n": n_values,
        "node_value": values,
        "node_count": counts,
        "doc_n": np.diff(mine.indptr).tolist(),
        "doc_value": place[mine.indices].tolist(),
    }


def _is_ordered(names: list[str], members: sparse.csr_array) -> bool:
    """Tell whether each document has at most one value, and the values are numbers."""
    if not 1 < len(names) <= MOST_BARS or int(np.diff(members.indptr).max(initial=0)) > 1:
        return False
    try:
        return all(np.isfinite(float(name)) for name in names)
    except ValueError:
        return False


def _by_node(
    members: sparse.csr_array, home: NDArray[np.int64], layout: Layout
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return of each place the values of the documents at or below it, ascending, and counts."""
    n = len(layout.rows)
    docs = np.flatnonzero(home >= 0)
    ones = np.ones(len(docs), dtype=np.int64)
    at = sparse.csr_array((ones, (home[docs], docs)), shape=(n, members.shape[0]))
    table = sparse.csr_array(at @ members)
    widths = layout.end - np.arange(n)
    below = np.concatenate([np.arange(place, layout.end[place]) for place in range(n)])
    cells = (np.repeat(np.arange(n), widths), below)
    sums = sparse.csr_array(sparse.csr_array((np.ones(len(below), dtype=np.int64), cells)) @ table)
    sums.sort_indices()
    bounds = zip(sums.indptr[:-1], sums.indptr[1:], strict=True)
    return [(sums.indices[a:b].astype(np.int64), sums.data[a:b]) for a, b in bounds]
