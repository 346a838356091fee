"""The nodes of a tree as records: what tree.json and topics.csv hold of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hiertopics.data.labels import NONE, Label, Labels
from hiertopics.data.tree import Tree
from hiertopics.files import to_csv

TREE_SCHEMA = "hiertopics.tree/1"
SEPARATORS = {"words": " ", "documents": "; "}

Documents = Mapping[int, Sequence[tuple[int | str, float]]]
"""Top documents of each node, best first, with their shares."""


def node_rows(
    tree: Tree,
    vocab: Sequence[str],
    n_words: int,
    nodes: Iterable[int] | None = None,
    documents: Documents | None = None,
    labels: Labels = NONE,
) -> list[dict[str, Any]]:
    """Return one record per node, in the order given: the nodes of tree.json.

    nodes: rows of the tree; None takes all that may be shown, parents first. documents: top
    documents of each node, for a record's ``documents``. labels: where there are
    any, each record has a name and a note.
    """
    return [
        {
            "id": tree.id_of(node),
            **_labelled(labels, node),
            "parent": tree.id_of(tree.parent[node]),
            "depth": int(tree.depth[node]),
            "weight": float(tree.weight[node]),
            "n_docs": int(tree.n_docs[node]),
            "n_tokens": float(tree.n_tokens[node]),
            **_norm(tree, node),
            **_split_probability(tree, node),
            **({} if tree.support is None else {"support": int(tree.support.found[node])}),
            "words": [
                [vocab[word], tree.chance(node, word)] for word in tree.top_words(node, n_words)
            ],
            **({} if documents is None else {"documents": [list(d) for d in documents[node]]}),
        }
        for node in (tree.shown if nodes is None else nodes)
    ]


def _labelled(labels: Labels, node: int) -> dict[str, str]:
    if not labels:
        return {}
    label = labels.get(node, Label())
    return {"name": label.name, "note": label.note}


def _norm(tree: Tree, node: int) -> dict[str, float]:
    if tree.vectors is None or tree.has_words:
        return {}
    return {"norm": float(np.linalg.norm(tree.vectors[node]))}


def _split_probability(tree: Tree, node: int) -> dict[str, float]:
    if tree.split_probability is None:
        return {}
    return {"split_probability": float(tree.split_probability[node])}


def tree_json(
    rows: Sequence[Mapping[str, Any]],
    backend: str,
    arranged: str | None = None,
    others: int | None = None,
) -> dict[str, Any]:
    """Return the object of tree.json for the records of ``node_rows``.

    arranged: how the tree was made, where that was after the fit. others: how many runs the tree
    was held against, where it was.
    """
    head: dict[str, Any] = {"schema": TREE_SCHEMA, "backend": backend}
    if arranged is not None:
        head["arranged"] = arranged
    if others is not None:
        head["others"] = others
    return {**head, "nodes": list(rows)}


def topics_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return topics.csv: one line per record of ``node_rows``.

    Words are separated by blanks, documents, where the records have them, by semicolons.
    """
    said = [name for name in ("name", "note") if rows and name in rows[0]]
    columns = ["id", *said, "parent", "depth", "weight", "n_docs", "n_tokens"]
    columns += ["support"] if rows and "support" in rows[0] else []
    lists = [name for name in SEPARATORS if rows and name in rows[0]] or ["words"]
    cells = [
        [*(row[name] for name in columns), *(listed(row, name) for name in lists)] for row in rows
    ]
    return to_csv([[*columns, *lists], *cells])


def listed(row: Mapping[str, Any], name: str) -> str:
    """Return the words or the documents of a record of ``node_rows`` in one string."""
    return SEPARATORS[name].join(str(item) for item, _ in row[name])
