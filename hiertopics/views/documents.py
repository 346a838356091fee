"""``docs``, and the top documents of nodes: those with the largest shares at or below them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.base.units import many
from hiertopics.base.visible import steady, visible
from hiertopics.corpus.data import Tags
from hiertopics.corpus.data.membership import columns_of, single_root
from hiertopics.corpus.data.naming import names_of
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.formats.source import beside
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.labels import labels_of
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.original import read_original
from hiertopics.runs.rows import Documents, names_above, places_of
from hiertopics.runs.rundir import RunDir, opened

LEAST = 0.005
"""Smaller shares are printed as 0.00."""

EQUAL = 9
"""Decimals to which two shares must agree to count as equal."""

BLOCK = 1 << 16
"""Documents whose shares are looked at together."""

STANDING = frozenset(
    ("doc", "name", "share", "counted", "topic", "path", "probability", "main_path", "topics")
    + ("topic_name", "topic_auto_name", "snippet")
)
"""Names of the fields of ``docs`` that every run has."""

_Best = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Documents, their shares at or below a node, and at the node itself."""


def documents_of(run: RunDir, tree: Tree, n_docs: int) -> Documents:
    """Return the top training documents of each node of a run's tree, or of it arranged.

    They go by their names in the corpus file; by their numbers in it, from 1, where they have
    none or where the file is gone.
    """
    return top_documents(tree, run.theta, document_names(run), n_docs)


def top_documents(
    tree: Tree, theta: sparse.csr_array, names: Sequence[int | str], n_docs: int
) -> Documents:
    """Return ``(name, share)`` of the ``n_docs`` top documents of each shown node, best first.

    share: sum of theta over the node and all nodes below it. theta: CSR [n_docs, n_nodes], its
    columns are the tree's own ids. Equal shares: the document with more at the node itself
    first, then the earlier one. Documents whose share rounds to 0.00 are left out.
    """
    columns = columns_of(tree, theta.shape[1])
    best: dict[int, _Best] = {
        node: (np.empty(0, np.int64), *np.empty((2, 0))) for node in tree.shown.tolist()
    }
    for first in range(0, theta.shape[0], BLOCK):
        own = sparse.csc_array(theta[first : first + BLOCK] @ columns)
        below = sparse.csc_array(own @ tree.above)
        for node, before in best.items():
            best[node] = _better(before, _leading(own, below, node, first, n_docs), n_docs)
    return {
        node: [
            (names[doc], min(share, 1.0))
            for doc, share in zip(docs.tolist(), shares.tolist(), strict=True)
        ]
        for node, (docs, shares, _) in best.items()
    }


def _leading(
    own: sparse.csc_array, below: sparse.csc_array, node: int, first: int, n_docs: int
) -> _Best:
    """Return documents of a block, numbered from ``first``, that may be among the best ones."""
    cells = slice(below.indptr[node], below.indptr[node + 1])
    docs, shares = below.indices[cells], below.data[cells].round(EQUAL)
    lowest = np.sort(shares)[-n_docs:].min(initial=np.inf)
    leading = (shares >= lowest) & (shares >= LEAST)
    docs, shares = docs[leading], below.data[cells][leading]
    return first + docs, shares, own[:, [node]].toarray().ravel()[docs]


def _better(before: _Best, others: _Best, n_docs: int) -> _Best:
    docs, shares, at_node = map(np.concatenate, zip(before, others, strict=True))
    order = np.lexsort((docs, -at_node.round(EQUAL), -shares.round(EQUAL)))[:n_docs]
    return docs[order], shares[order], at_node[order]


def document_names(run: RunDir) -> Sequence[int | str]:
    """Return the names of the training documents: from the run, its corpus, or their numbers."""
    kept = run.documents
    if kept is not None and kept.names is not None:
        return kept.names
    if kept is not None and kept.snippets is not None:  # raw text without names
        return [int(doc) + 1 for doc in run.split.train_docs]
    corpus = Path(str(run.experiment.data.corpus))
    try:
        names = read_original(run).train.doc_ids
    except HiertopicsError as error:
        print(f"warning: documents go by their numbers: {steady(str(error))}", file=sys.stderr)
        names = None
    names = _names_beside(run, corpus) if names is None else names
    return [int(doc) + 1 for doc in run.split.train_docs] if names is None else names


def _names_beside(run: RunDir, corpus: Path) -> list[str] | None:
    """Return the names of the training documents in ``X.docs`` beside corpus X of counts.

    The file has a line for each document of the corpus. None, with a warning, if it has another
    number of lines.
    """
    path, split = beside(corpus, ".docs"), run.split
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    n_docs = len(split.train_docs) + len(split.heldout_docs)
    if len(lines) != n_docs:
        told = f"{path} has {many(len(lines), 'line')}, but the corpus has {n_docs} documents"
        print(f"warning: {steady(told)}", file=sys.stderr)
        return None
    return [lines[doc] for doc in split.train_docs.tolist()]


@trusts
def docs(
    run: Path | str | RunDir,
    node: int | str | None = None,
    *,
    below: float | None = None,
    words_by: str | None = None,
    trust_tokenizer: bool = False,
) -> list[dict[str, Any]]:
    """Return a record per training document, in the order of the corpus; or of a node's, by share.

    below: only documents that fit no branch, or no flat topic: none has this share of their words,
    above 0 and at most 1. The least first; documents without words are not among them.

    Keys: doc (number in the corpus, from 1), name (None without), share (of its words at ``node``
    or below it, or with ``below`` in its largest branch; not without both), counted (whether it is
    one of the node's documents as all views count them; only with a node), the entries of
    ``rows.places_of`` (topic, path and probability or main_path, topics), topic_name (the name of
    its main topic, or of the nearest node above that has one; only where somebody named nodes),
    topic_auto_name (that node's automatic one), snippet (None where the run has none), and the
    columns of metadata that the run keeps and whose names are none of these: a document's value as
    text, None without one; lists in a column in which a document has several.
    node: its number, its name or words of its name. words_by: the order of the words of
    topic_auto_name, of ``naming.ORDERS``; None: ``name``.
    Of a node, documents with a share that does not round to 0.00, and those counted. Raises
    UsageError where there is no such node or share, RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target = opened(run)
    tree, theta = target.tree, target.theta
    chosen, shares, belongs = np.arange(theta.shape[0]), None, None
    if below is not None:
        if node is not None:
            raise UsageError("--below has no meaning for one node: it is about all branches")
        chosen, shares = _of_no_branch(tree, theta, target.split.train_lengths, below)
    if node is not None:
        node = node_meant(target, node)
        belongs = target.belong_to(node)
        chosen, shares = _of_node(tree, theta, node, belongs)
    names, kept, paths = document_names(target), target.documents, target.paths
    called = names_above(tree, labels_of(target))
    auto = names_of(tree, target.vocab, words_by=words_by).texts
    places = places_of(chosen, tree, theta, paths, target.split.train_lengths)
    columns = {} if kept is None else _metadata(kept.tags)
    records = []
    for at, (doc, place) in enumerate(zip(chosen.tolist(), places, strict=True)):
        name = names[doc]
        record: dict[str, Any] = {
            "doc": int(target.split.train_docs[doc]) + 1,
            "name": name if isinstance(name, str) else None,
        }
        if shares is not None:
            record["share"] = float(shares[at])
        if node is not None:
            record["counted"] = belongs is None or bool(belongs[doc])
        record |= place
        last = place["topic"]
        if called is not None:
            record["topic_name"] = "" if last is None else called[last]
        record["topic_auto_name"] = "" if last is None else auto[last]
        record["snippet"] = None if kept is None or kept.snippets is None else kept.snippets[doc]
        record |= {column: values[doc] for column, values in columns.items()}
        records.append(record)
    return records


def _metadata(tags: Mapping[str, Tags]) -> dict[str, Sequence[str | list[str] | None]]:
    """Return the values of each document by column, but for columns named as in ``STANDING``."""
    found: dict[str, Sequence[str | list[str] | None]] = {}
    for column, marks in tags.items():
        if column not in STANDING:
            rows = marks.by_row
            several = any(len(row) > 1 for row in rows)
            found[column] = rows if several else [row[0] if row else None for row in rows]
    return found


def docs_text(records: list[dict[str, Any]]) -> str:
    """Return two lines per document: name, share, where it lies; and how it begins."""
    lines = []
    for record in records:
        name = f"{record['doc']}" if record["name"] is None else record["name"]
        share = f"{record['share']:.2f}  " if "share" in record else ""
        called = record.get("topic_name") or record["topic_auto_name"]
        said = f"  {called}" if called else ""
        lines.append(f"{share}{name}  {way_told(record)}{said}")
        if record["snippet"]:
            lines.append(f"    {record['snippet']}")
    return "".join(f"{visible(line)}\n" for line in lines)


def way_told(record: dict[str, Any]) -> str:
    """Return the path of a document, or the way to its main topic, or its topics with shares."""
    if record["topic"] is None:
        return "not placed"
    if record.get("path"):
        return f"[{' > '.join(map(str, record['path']))}]"
    way = record.get("main_path")
    pairs = [f"[{node}] {share:.2f}" for node, share in way or record["topics"]]
    return (" > " if way else ", ").join(pairs)


def _of_no_branch(
    tree: Tree, theta: sparse.csr_array, lengths: I64 | None, least: float
) -> tuple[I64, F64]:
    """Return documents without a branch of share ``least``, and their largest shares, ascending.

    theta: CSR [n_docs, n_nodes]. lengths: int64 [n_docs], words of each document; None: unknown.
    Raises UsageError.
    """
    if not 0 < least <= 1:
        raise UsageError(f"--below must be above 0 and at most 1, got {least:g}")
    branches = tree.shown[tree.parent[tree.shown] == single_root(tree)]
    largest = sparse.csr_array(theta @ tree.above[:, branches]).max(axis=1).toarray().ravel()
    loose = largest < least if lengths is None else (largest < least) & (lengths > 0)
    found = np.flatnonzero(loose)
    found = found[np.argsort(largest[found].round(EQUAL), kind="stable")]
    return found, largest[found]


def _of_node(
    tree: Tree, theta: sparse.csr_array, node: int, belongs: Bools | None = None
) -> tuple[Any, Any]:
    """Return the documents of a node and their shares, the largest first."""
    below = theta @ tree.above[:, [node]].toarray().ravel()
    own = theta[:, [node]].toarray().ravel()
    order = np.lexsort((-own.round(EQUAL), -below.round(EQUAL)))
    listed = below >= LEAST if belongs is None else belongs | (below >= LEAST)
    order = order[listed[order]]
    return order, np.minimum(below[order], 1.0)
