"""Trees that other programs made, in files: parents, shares of documents, and words.

Files of one tree may each bring a part of it. json: an object with ``parent``, ``theta``, and
``phi`` with ``vocab``, or ``words``. npz: arrays of these names. csv: by its columns, nodes
(``node,parent`` and maybe ``words``), shares (``doc,node,share``) or words
(``node,word,probability``). Two forms are named: ``linkage`` and ``levels``, of documents.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import archives
from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import DataError, RunError
from hiertopics.base.stretches import rows_of
from hiertopics.corpus.data.treeshares import linkage_tree
from hiertopics.corpus.formats.opening import lines, require_file
from hiertopics.corpus.formats.othermodels import nested_groups, read_tomotopy

OFF_ONE = 1e-4
"""How far a sum of shares may be from 1: files have few digits."""


class ForeignTree(NamedTuple):
    """A tree as it was read, parents before children. parent: int64 [n_nodes], -1 for a root.

    theta: float64 CSR [n_docs, n_nodes], rows sum to 1. phi: float64 [n_nodes, n_words] over
    ``vocab``, rows sum to 1; None where words are those of the documents.
    """

    parent: I64
    theta: sparse.csr_array
    phi: F64 | None = None
    vocab: tuple[str, ...] = ()


Parts = dict[str, Any]


def read_foreign_tree(paths: Sequence[Path], form: str | None = None) -> ForeignTree:
    """Read a tree from files that each bring a part of it.

    form: None, by the files' suffixes; ``linkage``, merges as scipy gives them, a line each;
    ``levels``, a line per document with its group on each level, the coarsest first, such as those
    of a nested block model; ``bertopic``, the tables of documents and of the hierarchy of topics;
    ``tomotopy-hlda`` and ``tomotopy-lda``, saved models. Raises DataError.
    """
    parts: Parts = {}
    for path in paths:
        require_file(path)
        if form is not None:
            parts |= FORMS[form](path, parts)
            continue
        suffix = path.suffix.lower()
        if suffix not in READERS:
            what = (
                f"expected a file that ends in {', '.join(READERS)}, or --form {', '.join(FORMS)}"
            )
            raise DataError(path, what)
        parts |= READERS[suffix](path)
    return foreign_tree(parts, paths[0])


def foreign_tree(parts: Mapping[str, Any], source: Path | str) -> ForeignTree:
    """Return a tree of its parts: parent and theta, and phi with vocab, or words, or neither.

    theta: rows of shares, dense or sparse. words: for each node pairs of a word and its weight.
    source: for messages. Raises DataError for what is no tree.
    """
    for name in ("parent", "theta"):
        if name not in parts:
            raise DataError(source, f"no {name}: a tree has parents, and shares of documents")
    parent = _parents(parts["parent"], source)
    order = _parents_first(parent, source)
    theta = _theta(parts["theta"], len(parent), source)
    phi, vocab = _words(parts, len(parent), source)
    place = np.empty(len(parent), dtype=np.int64)
    place[order] = np.arange(len(parent))
    above = parent[order]
    moved = np.where(above < 0, -1, place[above])
    chances = None if phi is None else phi[order]
    return ForeignTree(moved, sparse.csr_array(theta[:, order]), chances, vocab)


def _parents(given: Any, source: Path | str) -> I64:
    try:
        parent = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(source, "parent is no list of numbers") from None
    if parent.ndim != 1 or not len(parent) or (parent != np.floor(parent)).any():
        raise DataError(source, "parent is no list of numbers of nodes")
    wrong = np.flatnonzero((parent < -1) | (parent >= len(parent)))
    if len(wrong):
        what = f"node {wrong[0]} has the parent {parent[wrong[0]]:g}, which is no node"
        raise DataError(source, f"{what}: they go from 0 to {len(parent) - 1}, and a root has -1")
    return parent.astype(np.int64)


def _parents_first(parent: I64, source: Path | str) -> I64:
    """Return the nodes, parents before children; DataError for a cycle or several roots."""
    depth = np.full(len(parent), -1)
    level = np.flatnonzero(parent == -1)
    roots = level
    order: list[I64] = []
    while len(level):
        depth[level] = len(order)
        order.append(level)
        level = np.flatnonzero(np.isin(parent, level) & (depth < 0))
    lost = np.flatnonzero(depth < 0)
    if len(lost):
        raise DataError(source, f"node {lost[0]} is below itself: its parents form a cycle")
    if len(roots) > 1 and len(order) > 1:
        what = f"nodes {roots[0]} and {roots[1]} are both roots; a tree has one"
        raise DataError(source, f"{what} (topics without a tree are all roots)")
    return np.concatenate(order)


def _theta(given: Any, n_nodes: int, source: Path | str) -> sparse.csr_array:
    try:
        theta = sparse.csr_array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(source, "theta is no table of shares, a row per document") from None
    if theta.ndim != 2 or theta.shape[1] != n_nodes:
        what = f"theta has {theta.shape[-1]} columns, but there are {n_nodes} nodes"
        raise DataError(source, what)
    sums = np.asarray(theta.sum(axis=1)).ravel()
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= OFF_ONE))
    if len(wrong):
        what = f"theta of document {wrong[0]} (from 0) sums to {sums[wrong[0]]:.6g}, not to 1"
        raise DataError(source, what)
    if theta.nnz and theta.data.min() < 0:
        raise DataError(source, "theta has a share below 0")
    rows = rows_of(theta.indptr)
    theta.data = theta.data / sums[rows]
    return theta


def _words(
    parts: Mapping[str, Any], n_nodes: int, source: Path | str
) -> tuple[F64 | None, tuple[str, ...]]:
    """Return word chances of nodes and the words; None where none are given."""
    if parts.get("phi") is not None:
        if parts.get("vocab") is None:
            raise DataError(source, "phi without vocab, which says what its columns are")
        vocab = tuple(map(str, parts["vocab"]))
        try:
            phi = np.asarray(parts["phi"], dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(source, "phi is no table of numbers") from None
        if phi.shape != (n_nodes, len(vocab)):
            shape = " x ".join(map(str, phi.shape))
            what = f"phi is {shape}, but there are {n_nodes} nodes and {len(vocab)} words"
            raise DataError(source, what)
    elif parts.get("words") is not None:
        phi, vocab = _listed(parts["words"], n_nodes, source)
    else:
        return None, ()
    sums = phi.sum(axis=1)
    empty = np.flatnonzero(~(sums > 0))
    if len(empty) or phi.min() < 0:
        node = int(empty[0]) if len(empty) else int(phi.min(axis=1).argmin())
        raise DataError(source, f"node {node} has no words, or weights below 0")
    return phi / sums[:, None], vocab


def _listed(words: Any, n_nodes: int, source: Path | str) -> tuple[F64, tuple[str, ...]]:
    """Return chances of the words that nodes list, in proportion to their weights."""
    if not isinstance(words, Sequence) or len(words) != n_nodes:
        raise DataError(source, f"words is no list with an entry for each of {n_nodes} nodes")
    try:
        pairs = [[(str(word), float(weight)) for word, weight in one] for one in words]
    except (TypeError, ValueError):
        what = "words of a node are no pairs of a word and its weight"
        raise DataError(source, what) from None
    vocab = tuple(sorted({word for one in pairs for word, _ in one}))
    column = {word: place for place, word in enumerate(vocab)}
    phi = np.zeros((n_nodes, len(vocab)))
    for node, one in enumerate(pairs):
        for word, weight in one:
            phi[node, column[word]] += weight
    if not len(vocab):
        raise DataError(source, "node 0 has no words, or weights below 0")
    return phi, vocab


def _json(path: Path) -> Parts:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise DataError(path, f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise DataError(path, "expected an object with parent, theta, and phi or words")
    return found


def _npz(path: Path) -> Parts:
    try:
        arrays = archives.read_npz(path)
    except RunError as error:
        raise DataError(path, str(error)) from error
    found: Parts = {n: array for n, array in arrays.items() if not n.startswith("theta_")}
    if "theta_indptr" in arrays:
        try:
            found["theta"] = archives.unpack_csr("theta", arrays, marks=True)
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(path, f"theta_* is no CSR matrix: {error}") from error
    return found


def _csv(path: Path) -> Parts:
    rows = _rows(path)
    head = set(rows[0]) if rows else set()
    if {"node", "parent"} <= head:
        return _nodes(path, rows)
    if {"doc", "node", "share"} <= head:
        cells = [_numbers(path, n, row, ("doc", "node", "share")) for n, row in enumerate(rows, 2)]
        doc, node, share = np.array(cells).T
        where = (doc.astype(np.int64), node.astype(np.int64))
        return {"theta": sparse.csr_array((share, where))}
    if {"node", "word", "probability"} <= head:
        words: dict[int, list[tuple[str, float]]] = {}
        for n, row in enumerate(rows, 2):
            node, chance = _numbers(path, n, row, ("node", "probability"))
            words.setdefault(int(node), []).append((row["word"], chance))
        return {"words": [words.get(node, []) for node in range(max(words) + 1)]}
    told = "node,parent[,words], doc,node,share or node,word,probability"
    raise DataError(path, f"expected the columns {told}", 1)


def _nodes(path: Path, rows: list[dict[str, str]]) -> Parts:
    cells = [_numbers(path, n, row, ("node", "parent")) for n, row in enumerate(rows, 2)]
    if [int(node) for node, _ in cells] != list(range(len(rows))):
        raise DataError(path, "nodes are not numbered 0, 1, 2, ... in this order")
    found: Parts = {"parent": [parent for _, parent in cells]}
    if "words" in rows[0]:
        try:
            found["words"] = [[_weighted(word) for word in row["words"].split()] for row in rows]
        except ValueError:
            what = "words are written as bread:0.2 butter:0.1, a blank between them"
            raise DataError(path, what) from None
    return found


def _weighted(text: str) -> tuple[str, float]:
    word, _, weight = text.rpartition(":")
    return word, float(weight)


def _rows(path: Path) -> list[dict[str, str]]:
    text = "\n".join(lines(path))
    return [
        {str(name): value or "" for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _numbers(path: Path, line: int, row: Mapping[str, str], names: Sequence[str]) -> list[float]:
    try:
        return [float(row[name]) for name in names]
    except (KeyError, ValueError):
        raise DataError(path, f"expected numbers in {', '.join(names)}", line) from None


def _linkage(path: Path, _: Parts) -> Parts:
    """Return the tree of a table of merges: each line has two clusters, a height and a size."""
    merges = _table(path)
    n = len(merges)
    below = np.arange(n) + n + 1
    if merges.ndim != 2 or merges.shape[1] < 2 or not n:
        raise DataError(path, "expected a line for each merge: two clusters, height, size")
    pairs = merges[:, :2]
    if (pairs < 0).any() or (pairs >= below[:, None]).any() or len(np.unique(pairs)) != 2 * n:
        raise DataError(path, "a merge names a cluster that is none yet, or was merged before")
    parent, theta = linkage_tree(merges)
    return {"parent": parent, "theta": theta}


def _levels(path: Path, _: Parts) -> Parts:
    """Return the tree of groups of documents on several levels, a line per document."""
    table = _table(path)
    if table.ndim != 2 or not len(table):
        raise DataError(path, "expected a line per document: its group on each level")
    return nested_groups(table.tolist())


def _table(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False).astype(np.float64)
        return np.loadtxt(path, delimiter="," if path.suffix.lower() == ".csv" else None, ndmin=2)
    except (ValueError, OSError) as error:
        raise DataError(path, f"no table of numbers: {error}") from error


def _bertopic(path: Path, before: Parts) -> Parts:
    """Return documents by topic, then the hierarchy of topics where a second table has one.

    The tables of ``get_document_info`` (a row per document, column Topic, -1 for none) and of
    ``hierarchical_topics`` (columns Parent_ID, Child_Left_ID, Child_Right_ID).
    """
    rows = _rows(path)
    head = set(rows[0]) if rows else set()
    if "Topic" in head:
        topic = [int(_numbers(path, n, row, ("Topic",))[0]) for n, row in enumerate(rows, 2)]
        names = sorted({one for one in topic if one >= 0})
        column = {name: place + 1 for place, name in enumerate(names)} | {-1: 0}
        cells = (np.ones(len(topic)), (np.arange(len(topic)), [column[one] for one in topic]))
        theta = sparse.csr_array(cells, shape=(len(topic), len(names) + 1))
        return {"parent": [-1, *[0] * len(names)], "theta": theta, "topics": names}
    wanted = ("Parent_ID", "Child_Left_ID", "Child_Right_ID")
    if not set(wanted) <= head or "topics" not in before:
        what = "expected the table of documents (column Topic) first, then that of the hierarchy"
        raise DataError(path, what)
    place = {name: number + 1 for number, name in enumerate(before["topics"])}
    parent = list(before["parent"])
    merges = [list(map(int, _numbers(path, n, row, wanted))) for n, row in enumerate(rows, 2)]
    for above, *_ in merges:
        place[above] = len(parent)
        parent.append(0)
    for number, (above, *children) in enumerate(merges, 2):
        for child in children:
            if child not in place:
                raise DataError(path, f"{child} is no topic of the documents", number)
            parent[place[child]] = place[above]
    theta = sparse.csr_array(before["theta"])
    theta.resize((theta.shape[0], len(parent)))
    return {"parent": parent, "theta": theta}


READERS: dict[str, Callable[[Path], Parts]] = {".json": _json, ".npz": _npz, ".csv": _csv}
FORMS: dict[str, Callable[[Path, Parts], Parts]] = {
    "linkage": _linkage,
    "levels": _levels,
    "bertopic": _bertopic,
    "tomotopy-hlda": lambda path, _: read_tomotopy(path, "HLDAModel"),
    "tomotopy-lda": lambda path, _: read_tomotopy(path, "LDAModel"),
}
