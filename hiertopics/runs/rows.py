"""Nodes and documents as records: for tree.json, topics.csv, ``docs`` and ``infer``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64, Ints
from hiertopics.base.files import to_csv
from hiertopics.contract.model import Paths
from hiertopics.corpus.data.membership import single_root
from hiertopics.corpus.data.naming import Names
from hiertopics.corpus.data.tree import NODE, NONE, ROOT, Label, Labels, Tree
from hiertopics.corpus.data.treeshares import main_topics
from hiertopics.runs.labels import words_told

TREE_SCHEMA = "hiertopics.tree/1"
SEPARATORS = {"words": " ", "documents": "; ", "branch_words": " "}

Documents = Mapping[int, Sequence[tuple[int | str, float]]]
"""Top documents of each node, best first, with their shares."""


def node_rows(
    tree: Tree,
    vocab: Sequence[str],
    n_words: int,
    nodes: Iterable[int] | None = None,
    documents: Documents | None = None,
    labels: Labels = NONE,
    names: Names | None = None,
) -> list[dict[str, Any]]:
    """Return one record per node, in the order given: the nodes of tree.json.

    nodes: rows of the tree; None takes all that may be shown, parents first. documents: top
    documents of each node, for a record's ``documents``. labels: where there are
    any, each record has a name and a note. names: each record has the automatic name, the share of
    its words that are not true of the node's siblings (None: without siblings), whether the branch
    is mixed, and the words of each part of the name if it is.
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
            **_transfer(tree, node),
            "words": [
                [vocab[word], tree.chance(node, word)] for word in tree.top_words(node, n_words)
            ],
            **({} if documents is None else {"documents": [list(d) for d in documents[node]]}),
            **_branch(tree, node),
            **_named(names, node),
        }
        for node in (tree.shown if nodes is None else nodes)
    ]


def _labelled(labels: Labels, node: int) -> dict[str, str]:
    if not labels:
        return {}
    label = labels.get(node, Label())
    return {"name": label.name, "note": label.note}


def _named(names: Names | None, node: int) -> dict[str, Any]:
    if names is None:
        return {}
    parts = names.parts.get(node, [])
    told = {"auto_name": names.texts[node], "name_score": names.scores[node]}
    return {**told, "mixed": bool(parts), "parts": parts}


BRANCH = ("branch_docs", "branch_share")
"""Entries of a node whose documents were counted: documents, and share of tokens, at or below."""


def _branch(tree: Tree, node: int) -> dict[str, float]:
    if tree.counted is None:
        return {}
    numbers = (int(tree.counted[node]), float(tree.subtree_weight[node]))
    return dict(zip(BRANCH, numbers, strict=True))


def _norm(tree: Tree, node: int) -> dict[str, float]:
    if tree.vectors is None or tree.has_words:
        return {}
    return {"norm": float(np.linalg.norm(tree.vectors[node]))}


TRANSFER = ("transfer_support", "transfer_by_documents", "transfer_by_words")
"""Entries of a node that was held against trees of resamples."""


def _transfer(tree: Tree, node: int) -> dict[str, float | None]:
    """Return the support of a node by resamples; None for a root, and where there are no words."""
    if tree.transfer is None or not tree.transfer.is_of_nodes:
        return {}
    parts = (tree.transfer.value, tree.transfer.documents, tree.transfer.words)
    numbers = [
        None if part is None or np.isnan(part[node]) else float(part[node]) for part in parts
    ]
    return dict(zip(TRANSFER, numbers, strict=True))


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

    Words are separated by blanks, documents, where the records have them, by semicolons. What
    was counted of the branch, the automatic name and the words of the branch stand last, where the
    records have them.
    """
    said = [name for name in ("name", "note") if rows and name in rows[0]]
    columns = ["id", *said, "parent", "depth", "weight", "n_docs", "n_tokens"]
    columns += [name for name in ("support", *TRANSFER) if rows and name in rows[0]]
    lists = [name for name in ("words", "documents") if rows and name in rows[0]] or ["words"]
    last = [name for name in (*BRANCH, "auto_name") if rows and name in rows[0]]
    below = ["branch_words"] if rows and "branch_words" in rows[0] else []
    cells = [
        [
            *(row[name] for name in columns),
            *(listed(row, name) for name in lists),
            *(row[name] for name in last),
            *(listed(row, name) for name in below),
        ]
        for row in rows
    ]
    return to_csv([[*columns, *lists, *last, *below], *cells])


def listed(row: Mapping[str, Any], name: str) -> str:
    """Return the words or the documents of a record of ``node_rows`` in one string."""
    return SEPARATORS[name].join(str(item) for item, _ in row[name])


N_TOPICS = 5
SMALL = 0.01
"""Smaller shares are no main topics."""


BLOCK = 1 << 11
"""Documents whose shares are looked at together."""


def places_of(
    docs: Ints,
    tree: Tree,
    theta: sparse.csr_array,
    paths: Paths | None,
    lengths: I64 | None = None,
) -> list[dict[str, Any]]:
    """Return a record for each of ``docs``: where it lies.

    theta: CSR [n_docs, n_nodes]. lengths: int64 [n_docs], known words of each; None: unknown. A
    document without any is not placed: its entries are empty.

    topic: the main topic, the last node of its path, or else of ``main_topics``. Where documents
    have one path each, path and probability. Where they mix the nodes of a tree, main_path: pairs
    of an id and a share at or below, the way to the main topic. topics: pairs of an id and a share
    at the node itself, the largest first. The single root of a tree is above all of them, and
    stands in main_path and topics only if it is the main topic.
    """
    records = []
    for first in range(0, len(docs), BLOCK):
        some = docs[first : first + BLOCK]
        own = sparse.csr_array(theta[some])
        below = sparse.csr_array(own @ tree.above)
        below.sort_indices()
        ends = main_topics(tree, own)
        ends[np.asarray(own[:, tree.shown].sum(axis=1)).ravel() == 0] = ROOT
        parts = None if paths is None else Paths(paths.node[some], paths.log_prob[some])
        is_known = np.ones(len(ends), bool) if lengths is None else lengths[some] > 0
        for doc, end in enumerate(ends.tolist()):
            place = _place_of(doc, tree, (own, below), parts, end)
            records.append(place if is_known[doc] else _emptied(place))
    return records


def _place_of(
    doc: int,
    tree: Tree,
    shares: tuple[sparse.csr_array, sparse.csr_array],
    paths: Paths | None,
    end: int,
) -> dict[str, Any]:
    """Return a record of ``places_of``; shares: at nodes, and at or below them."""
    record: dict[str, Any] = {"topic": None if end == ROOT else end}
    if paths is not None:
        path = paths.node[doc][paths.node[doc] >= 0].tolist()
        record |= {"path": path, "probability": float(np.exp(paths.log_prob[doc]))}
        record["topic"] = path[-1] if path else record["topic"]
    hidden = single_root(tree)
    hidden = ROOT if record["topic"] == hidden else hidden
    if paths is None and not tree.is_flat:
        way = [] if end == ROOT else [node for node in tree.path(end) if node != hidden]
        nodes, values = _cells(shares[1], doc)
        parts = values[np.searchsorted(nodes, np.array(way, np.int64))].tolist()
        record["main_path"] = [list(pair) for pair in zip(way, parts, strict=True)]
    nodes, values = _cells(shares[0], doc)
    # Most of the hundreds of shares are small: those are not sorted.
    main = np.flatnonzero((values >= SMALL) & (tree.kind[nodes] == NODE) & (nodes != hidden))
    first = main[np.argsort(-values[main], kind="stable")[:N_TOPICS]]
    pairs = zip(nodes[first].tolist(), values[first].tolist(), strict=True)
    record["topics"] = [list(pair) for pair in pairs]
    return record


def _cells(shares: sparse.csr_array, doc: int) -> tuple[Any, Any]:
    """Return the nodes in which a document has shares, and the shares."""
    cells = slice(shares.indptr[doc], shares.indptr[doc + 1])
    return shares.indices[cells], shares.data[cells]


def _emptied(place: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [] if isinstance(value, list) else None for name, value in place.items()}


class NamedTree(NamedTuple):
    """A tree with its words, people's labels of its nodes, and their automatic names."""

    tree: Tree
    vocab: Sequence[str]
    labels: Labels = NONE
    names: Names | None = None


def placed_rows(
    named: NamedTree,
    theta: sparse.csr_array,
    paths: Paths | None,
    names: Sequence[str] | None,
    lengths: I64,
    docs: Sequence[int],
    unknown: I64 | None = None,
) -> list[dict[str, Any]]:
    """Return a record for each of ``docs``: doc (from 1), name, words (known ones), and place.

    unknown: int64 [n_docs], words of each that the vocabulary lacks, which its record then has.

    Place is that of ``places_of``. topic_words: the top words of its main topic; topic_name: that
    node's name (``names_above``), only where somebody named nodes. topic_auto_name: its automatic
    name, where names are given.
    """
    tree, called = named.tree, names_above(named.tree, named.labels)
    top = cache(lambda node: words_told(tree, named.vocab, node))
    rows, chosen = [], np.asarray(docs)
    places = places_of(chosen, tree, theta, paths, lengths)
    for doc, place in zip(chosen.tolist(), places, strict=True):
        row = {
            "doc": doc + 1,
            "name": None if names is None else names[doc],
            "words": int(lengths[doc]),
            **({} if unknown is None else {"unknown": int(unknown[doc])}),
            **place,
        }
        last = row["topic"]
        if called is not None:
            row["topic_name"] = "" if last is None else called[last]
        row["topic_words"] = "" if last is None else top(last)
        if named.names is not None:
            row["topic_auto_name"] = "" if last is None else named.names.texts[last]
        rows.append(row)
    return rows


def names_above(tree: Tree, labels: Labels) -> list[str] | None:
    """Return each node's name or that of the nearest named node above; None if there is none."""
    if not any(label.name for label in labels.values()):
        return None
    called: list[str] = []
    for node in range(tree.n_nodes):
        above = tree.parent[node]
        called.append(labels.get(node, Label()).name or ("" if above == ROOT else called[above]))
    return called


def placed_kinds(tree: Tree, has_paths: bool, is_named: bool) -> dict[str, str]:
    """Return the types of the columns of ``placed_rows``, for parquet."""
    where = {} if tree.is_flat else {"main_path": "shares"}
    if has_paths:
        where = {"path": "ids", "probability": "number"}
    name = {"topic_name": "text"} if is_named else {}
    sizes = {"words": "whole", "unknown": "whole"}
    own = {"doc": "whole", "name": "text", **sizes, "topic": "whole"}
    last = {"topic_words": "text", "topic_auto_name": "text"}
    return {**own, **where, "topics": "shares", **name, **last}


def docs_csv(records: Sequence[dict[str, Any]], *, header: bool = True) -> str:
    """Return a header and a line per record; a path's nodes are separated by blanks."""
    if not records:
        return ""
    names = [list(records[0])] if header else []
    return to_csv([*names, *(map(_cell, record.values()) for record in records)])


def _cell(value: Any) -> Any:
    return _listed(value) if isinstance(value, list) else value


def _listed(parts: Sequence[Any]) -> str:
    """Return pairs and numbers apart by blanks, and texts, which have blanks, by semicolons."""
    told = (f"{p[0]}:{p[1]:.4f}" if isinstance(p, list) else str(p) for p in parts)
    return ("; " if any(isinstance(part, str) for part in parts) else " ").join(told)
