"""``docs``: the documents of a run, or of a node, as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.data.tree import ROOT, Tree
from hiertopics.runs.docrows import last_of, names_above, place_of
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.topdocs import EQUAL, LEAST, document_names
from hiertopics.views.topics import require_node
from hiertopics.visible import visible


def docs(run: Path | str | RunDir, node: int | None = None) -> list[dict[str, Any]]:
    """Return a record per training document, in the order of the corpus; or of a node's, by share.

    Keys: doc (number in the corpus, from 1), name (None without), share (of its words at ``node``
    or below it; only with a node), path and probability (only of backends with one path per
    document), topics (id and share of its main ones), topic_name (the name of the last node of its
    path, or of its main topic, or of the nearest node above that has one; only where somebody
    named nodes), snippet (None where the run has none).
    A node's documents are those whose share does not round to 0.00. Raises UsageError where there
    is no such node, RunError.
    """
    target = opened(run)
    tree, theta = target.tree, target.theta
    chosen, shares = np.arange(theta.shape[0]), None
    if node is not None:
        chosen, shares = _of_node(tree, theta, require_node(target, tree, node))
    names, kept, paths = document_names(target), target.documents, target.paths
    called = names_above(tree, labels_of(target))
    records = []
    for place, doc in enumerate(chosen.tolist()):
        name = names[doc]
        record: dict[str, Any] = {
            "doc": int(target.split.train_docs[doc]) + 1,
            "name": name if isinstance(name, str) else None,
        }
        if shares is not None:
            record["share"] = float(shares[place])
        record |= place_of(doc, tree, theta, paths)
        if called is not None:
            last = last_of(record)
            record["topic_name"] = "" if last is None else called[last]
        record["snippet"] = None if kept is None or kept.snippets is None else kept.snippets[doc]
        records.append(record)
    return records


def docs_text(records: list[dict[str, Any]]) -> str:
    """Return two lines per document: name, share, path or main topics; and how it begins."""
    lines = []
    for record in records:
        name = f"{record['doc']}" if record["name"] is None else record["name"]
        share = f"{record['share']:.2f}  " if "share" in record else ""
        where = " > ".join(map(str, record["path"])) if "path" in record else ""
        topics = ", ".join(f"[{topic}] {value:.2f}" for topic, value in record["topics"])
        said = f"  {record['topic_name']}" if record.get("topic_name") else ""
        lines.append(f"{share}{name}  {f'[{where}]' if where else topics}{said}")
        if record["snippet"]:
            lines.append(f"    {record['snippet']}")
    return "".join(f"{visible(line)}\n" for line in lines)


def _of_node(tree: Tree, theta: sparse.csr_array, node: int) -> tuple[Any, Any]:
    """Return the documents of a node and their shares, the largest first."""
    inside = np.zeros(tree.n_nodes, dtype=bool)
    for row in range(node, tree.n_nodes):
        above = tree.parent[row]
        inside[row] = row == node or (above != ROOT and inside[above])
    below = theta @ inside.astype(np.float64)
    own = theta[:, [node]].toarray().ravel()
    order = np.lexsort((-own.round(EQUAL), -below.round(EQUAL)))
    order = order[below[order] >= LEAST]
    return order, np.minimum(below[order], 1.0)
