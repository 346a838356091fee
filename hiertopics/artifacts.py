"""What a fit leaves for its readers: model, theta, paths, tree.json and topics.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics import files
from hiertopics.model import Summary
from hiertopics.rundir import RunDir
from hiertopics.tree import Tree

TREE_SCHEMA = "hiertopics.tree/1"
N_WORDS = 20


def write_summary(run: RunDir, summary: Summary, vocab: Sequence[str], backend: str) -> None:
    """Write the summarised state of a run; each file whole, ids equal in all of them."""
    files.write_npz(run.path / "model.npz", summary.tree.to_arrays())
    files.write_csr(run.path / "theta.npz", summary.theta)
    if summary.paths is not None:
        files.write_npz(run.path / "paths.npz", summary.paths._asdict())
    rows = node_rows(summary.tree, vocab, N_WORDS)
    files.write_json(run.path / "tree.json", tree_json(rows, backend))
    files.write_text(run.path / "topics.csv", topics_csv(rows))


def write_draw(run: RunDir, iteration: int, summary: Summary) -> None:
    """Keep one draw of a sampler: the arrays of model.npz and theta of the training documents."""
    files.make_folder(run.path / "draws")
    arrays = summary.tree.to_arrays() | files.pack_csr("theta", summary.theta)
    files.write_npz(run.path / "draws" / f"{iteration:08d}.npz", arrays)


def node_rows(tree: Tree, vocab: Sequence[str], n_words: int) -> list[dict[str, Any]]:
    """Return one record per shown node, parents first: the nodes of tree.json."""
    return [
        {
            "id": int(node),
            "parent": int(tree.parent[node]),
            "depth": int(tree.depth[node]),
            "weight": float(tree.weight[node]),
            "n_docs": int(tree.n_docs[node]),
            "n_tokens": float(tree.n_tokens[node]),
            "words": [
                [vocab[word], float(tree.phi[node, word])] for word in tree.top_words(node, n_words)
            ],
        }
        for node in tree.shown
    ]


def tree_json(rows: Sequence[Mapping[str, Any]], backend: str) -> dict[str, Any]:
    """Return the object of tree.json for the records of ``node_rows``."""
    return {"schema": TREE_SCHEMA, "backend": backend, "nodes": list(rows)}


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
