"""What a fit leaves for its readers: model, theta, paths, tree.json and topics.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hiertopics import files
from hiertopics.model import Summary
from hiertopics.rundir import RunDir
from hiertopics.tree import Tree

TREE_SCHEMA = "hiertopics.tree/1"
N_WORDS = 20


def write_summary(run: RunDir, summary: Summary, vocab: Sequence[str], backend: str) -> None:
    """Write the summarised state of a run: all of its files or none, ids equal in all of them."""
    rows = node_rows(summary.tree, vocab, N_WORDS)
    writers = {
        "model.npz": files.as_npz(summary.tree.to_arrays()),
        "theta.npz": files.as_csr(summary.theta),
        "tree.json": files.as_json(tree_json(rows, backend)),
        "topics.csv": files.as_text(topics_csv(rows)),
    }
    if summary.paths is not None:
        writers["paths.npz"] = files.as_npz(summary.paths._asdict())
    files.write_together({run.path / name: write for name, write in writers.items()})


def write_draw(run: RunDir, iteration: int, summary: Summary) -> None:
    """Keep one draw of a sampler: the arrays of model.npz and theta of the training documents."""
    files.make_folder(run.path / "draws")
    arrays = summary.tree.to_arrays() | files.pack_csr("theta", summary.theta)
    files.write_npz(run.path / "draws" / f"{iteration:08d}.npz", arrays)


def node_rows(
    tree: Tree, vocab: Sequence[str], n_words: int, nodes: Iterable[int] | None = None
) -> list[dict[str, Any]]:
    """Return one record per node, in the order given: the nodes of tree.json.

    nodes: rows of the tree; None takes all that may be shown, parents first.
    """
    return [
        {
            "id": tree.id_of(node),
            "parent": tree.id_of(tree.parent[node]),
            "depth": int(tree.depth[node]),
            "weight": float(tree.weight[node]),
            "n_docs": int(tree.n_docs[node]),
            "n_tokens": float(tree.n_tokens[node]),
            "words": [
                [vocab[word], float(tree.phi[node, word])] for word in tree.top_words(node, n_words)
            ],
        }
        for node in (tree.shown if nodes is None else nodes)
    ]


def tree_json(
    rows: Sequence[Mapping[str, Any]], backend: str, arranged: str | None = None
) -> dict[str, Any]:
    """Return the object of tree.json for the records of ``node_rows``.

    arranged: how the tree was made, where that was after the fit.
    """
    head = {"schema": TREE_SCHEMA, "backend": backend}
    if arranged is not None:
        head["arranged"] = arranged
    return {**head, "nodes": list(rows)}


def topics_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return topics.csv: one line per record of ``node_rows``, its words separated by blanks."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    columns = ("id", "parent", "depth", "weight", "n_docs", "n_tokens")
    writer.writerow((*columns, "words"))
    for row in rows:
        words = " ".join(word for word, _ in row["words"])
        writer.writerow((*(row[name] for name in columns), words))
    return table.getvalue()
