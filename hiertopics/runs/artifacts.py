"""What a fit leaves for its readers: model, theta, paths, tree.json and topics.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import files
from hiertopics.data.groups import groups_of
from hiertopics.data.tree import Tree
from hiertopics.model import Summary
from hiertopics.runs.rundir import CHAIN_PATHS, RunDir

TREE_SCHEMA = "hiertopics.tree/1"
N_WORDS = 20

LARGE = 1 << 25
"""Bytes of word probabilities above which a model is compressed: trees of thousands of nodes."""
SEPARATORS = {"words": " ", "documents": "; "}

Documents = Mapping[int, Sequence[tuple[int | str, float]]]


def write_summary(run: RunDir, summary: Summary, vocab: Sequence[str], backend: str) -> None:
    """Write the summarised state of a run: all of its files or none, ids equal in all of them."""
    rows = node_rows(summary.tree, vocab, N_WORDS)
    writers = {
        "model.npz": files.as_npz(summary.tree.to_arrays(), compressed=_large(summary.tree)),
        "theta.npz": files.as_csr(summary.theta),
        "tree.json": files.as_json(tree_json(rows, backend)),
        "topics.csv": files.as_text(topics_csv(rows)),
    }
    if summary.paths is not None:
        writers["paths.npz"] = files.as_npz(summary.paths._asdict())
    groups = groups_of(summary.tree)
    if groups is not None:
        writers["theta_groups.npz"] = files.as_csr(sparse.csr_array(groups.theta))
        writers["groups.txt"] = files.as_text("".join(f"{name}\n" for name in groups.names))
    files.write_together({run.path / name: write for name, write in writers.items()})


def write_draw(
    run: RunDir, iteration: int, summary: Summary, paths: NDArray[np.int32] | None = None
) -> None:
    """Keep one draw of a sampler: the arrays of model.npz and theta of the training documents.

    paths: of several chains, those of all of them (``PerChain``).
    """
    files.make_folder(run.path / "draws")
    arrays = summary.tree.to_arrays() | files.pack_csr("theta", summary.theta)
    if paths is not None:
        arrays[CHAIN_PATHS] = paths
    write = files.as_npz(arrays, compressed=_large(summary.tree))
    files.write_whole(run.path / "draws" / f"{iteration:08d}.npz", write)


def _large(tree: Tree) -> bool:
    return tree.phi.nbytes > LARGE


def node_rows(
    tree: Tree,
    vocab: Sequence[str],
    n_words: int,
    nodes: Iterable[int] | None = None,
    documents: Documents | None = None,
) -> list[dict[str, Any]]:
    """Return one record per node, in the order given: the nodes of tree.json.

    nodes: rows of the tree; None takes all that may be shown, parents first. documents: top
    documents of each node, for a record's ``documents``.
    """
    return [
        {
            "id": tree.id_of(node),
            "parent": tree.id_of(tree.parent[node]),
            "depth": int(tree.depth[node]),
            "weight": float(tree.weight[node]),
            "n_docs": int(tree.n_docs[node]),
            "n_tokens": float(tree.n_tokens[node]),
            **_norm(tree, node),
            **_split_probability(tree, node),
            "words": [
                [vocab[word], tree.chance(node, word)] for word in tree.top_words(node, n_words)
            ],
            **({} if documents is None else {"documents": [list(d) for d in documents[node]]}),
        }
        for node in (tree.shown if nodes is None else nodes)
    ]


def _norm(tree: Tree, node: int) -> dict[str, float]:
    if tree.vectors is None or tree.has_words:
        return {}
    return {"norm": float(np.linalg.norm(tree.vectors[node]))}


def _split_probability(tree: Tree, node: int) -> dict[str, float]:
    if tree.split_probability is None:
        return {}
    return {"split_probability": float(tree.split_probability[node])}


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
    """Return topics.csv: one line per record of ``node_rows``.

    Words are separated by blanks, documents, where the records have them, by semicolons.
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    columns = ("id", "parent", "depth", "weight", "n_docs", "n_tokens")
    lists = [name for name in SEPARATORS if rows and name in rows[0]] or ["words"]
    writer.writerow((*columns, *lists))
    for row in rows:
        joined = (listed(row, name) for name in lists)
        writer.writerow((*(row[name] for name in columns), *joined))
    return table.getvalue()


def listed(row: Mapping[str, Any], name: str) -> str:
    """Return the words or the documents of a record of ``node_rows`` in one string."""
    return SEPARATORS[name].join(str(item) for item, _ in row[name])
