"""Documents as records, and as CSV: where each stands, for ``docs`` and for new documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.tree import NODE, Tree
from hiertopics.files import to_csv
from hiertopics.model import Paths

N_TOPICS = 5
SMALL = 0.01
"""Smaller shares are no main topics."""


def place_of(doc: int, tree: Tree, theta: sparse.csr_array, paths: Paths | None) -> dict[str, Any]:
    """Return path and probability, where documents have one path each, and the main topics.

    theta: CSR [n_docs, n_nodes]. topics: pairs of an id and a share, the largest first.
    """
    record: dict[str, Any] = {}
    if paths is not None:
        path = paths.node[doc]
        record["path"] = path[path >= 0].tolist()
        record["probability"] = float(np.exp(paths.log_prob[doc]))
    cells = slice(theta.indptr[doc], theta.indptr[doc + 1])
    nodes, values = theta.indices[cells], theta.data[cells]
    order = np.argsort(-values, kind="stable")
    main = [place for place in order if values[place] >= SMALL and tree.kind[nodes[place]] == NODE]
    record["topics"] = [[int(nodes[place]), float(values[place])] for place in main[:N_TOPICS]]
    return record


def placed_rows(
    tree: Tree,
    theta: sparse.csr_array,
    paths: Paths | None,
    names: Sequence[str] | None,
    lengths: NDArray[np.int64],
) -> list[dict[str, Any]]:
    """Return a record per new document: doc (from 1), name, words (known ones), and its place."""
    return [
        {
            "doc": doc + 1,
            "name": None if names is None else names[doc],
            "words": int(lengths[doc]),
            **place_of(doc, tree, theta, paths),
        }
        for doc in range(theta.shape[0])
    ]


def docs_csv(records: Sequence[dict[str, Any]]) -> str:
    """Return a header and a line per record; a path's nodes are separated by blanks."""
    if not records:
        return ""
    return to_csv([list(records[0]), *(map(_cell, record.values()) for record in records)])


def _cell(value: Any) -> Any:
    return _listed(value) if isinstance(value, list) else value


def _listed(parts: Iterable[Any]) -> str:
    return " ".join(f"{p[0]}:{p[1]:.4f}" if isinstance(p, list) else str(p) for p in parts)
