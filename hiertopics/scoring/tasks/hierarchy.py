"""Task ``hierarchy``: agreement of a tree with a hierarchy that people made of its documents.

Measures: ``hiertopics.corpus.data.agreement``, theory/agreement. The training documents under
their own theta, or the held-out ones placed under the tree with all their tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.base.units import many
from hiertopics.base.visible import visible
from hiertopics.corpus.data import Vectors, by_branch, in_memory
from hiertopics.corpus.data.agreement import Level, Triplets, levels, mixed_branches, torn_labels
from hiertopics.corpus.data.arranging import topics_arranged
from hiertopics.corpus.data.labelpaths import LabelPaths, label_paths
from hiertopics.corpus.data.naming import names_of, require_order
from hiertopics.corpus.data.treeshares import TreeShares, linkage_shares, tree_shares
from hiertopics.corpus.formats.labelpaths import (
    label_paths_of_column,
    label_paths_of_names,
    read_label_paths,
)
from hiertopics.corpus.formats.opening import require_file
from hiertopics.corpus.formats.source import find_paths
from hiertopics.runs import newdocs
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.trained import whole_theta
from hiertopics.scoring.request import Request, Scorer, TaskResult
from hiertopics.scoring.tfidf import inverse_document_frequency, unit_vectors

PERMUTATIONS = 5
"""Permutations of documents behind each level of chance."""

FOLDS = 20
"""Parts of the documents that are left out, one after the other, for errors."""

SINGULAR_VECTORS = 100
MOST_LINKED = 20_000
"""Documents up to which they are linked: all distances between them are held, 8 bytes each."""

NAMED = 3
"""Documents without a label path that a note names."""

WORDS = 5
"""Words by which a branch is called."""


class HierarchyOptions(NamedTuple):
    """The source of label paths, and the documents to score.

    paths: a file with one for each line of the file given to fit; None: its sibling X.paths.
    path_field: a field of the table that was fitted. path_from_folder: the folders of its files.
    heldout: score what the run put aside. seed: of the permutations. words_by: the order of the
    words that mixed branches are called by, of ``naming.ORDERS``; None: ``name``.
    """

    paths: Path | str | None = None
    separator: str = "/"
    path_field: str | None = None
    path_from_folder: bool = False
    heldout: bool = False
    seed: int = 0
    words_by: str | None = None


class _Documents(NamedTuple):
    """Documents to be scored. flat: where they lie in the topics without the tree; arranged: flat
    topics in the tree that clustering makes of them (``--arrange``), None where the model has one.
    rows: int64, of the corpus; counts: CSR, None where it is gone. problem: why there are no
    counts. n_empty: documents without a token, which are left out.
    """

    shares: TreeShares
    flat: TreeShares
    arranged: TreeShares | None
    rows: I64
    counts: sparse.csr_array | None
    problem: str
    n_empty: int


class _Draws(NamedTuple):
    """orders: permutations of the documents; folds: int64 [n_docs], the part of each."""

    orders: Sequence[I64]
    folds: I64


def score(request: Request, options: HierarchyOptions) -> TaskResult:
    """Return the measures of each level on which documents are together and apart.

    Raises UsageError for a tree of one node, fewer documents than branches, and labels that tell
    nothing apart.
    """
    run = request.run
    if len(run.tree.shown) < 2:
        raise UsageError(f"{run.path} has a tree of one node: no document is apart from another")
    require_order(run.tree, options.words_by)
    given, source = _label_paths(run, options)
    has_path = np.array([bool(path) for path in given])
    documents = _documents(request, options, has_path)
    n_docs, n_branches = len(documents.rows), len(documents.shares.branches)
    if n_docs < n_branches:
        raise UsageError(
            f"{run.path} has {n_branches} branches and {n_docs} documents to score; a tree is "
            "compared with labels where it has more documents than branches"
        )
    paths = label_paths([given[row] for row in documents.rows.tolist()])
    draws = _drawn(n_docs, options.seed)
    found = levels(documents.shares, paths, draws.orders, draws.folds)
    if not found:
        raise UsageError(
            f"{source}: there is nothing to tell apart: no two documents have one label that a "
            "third has not"
        )
    return TaskResult(
        metrics={"levels": _records(found)},
        sizes={
            "n_docs": n_docs,
            "n_empty": documents.n_empty,
            "n_branches": n_branches,
            **_tables(run, documents.shares, paths, found, options.words_by),
        },
        split=run.split.hash,
        baselines=_baselines(documents, paths, draws, options.seed),
        arrays={
            "rows": documents.rows,
            "level": np.array([level.level for level in found]),
            "triplets_influence": np.stack([level.triplets.influence for level in found]),
            "kin_influence": np.stack([level.kin.influence for level in found]),
        },
    )


def _label_paths(run: RunDir, options: HierarchyOptions) -> tuple[list[tuple[str, ...]], str]:
    """Return the label path of each document of the corpus, and where they come from."""
    ways = [options.paths is not None, options.path_field is not None, options.path_from_folder]
    if sum(ways) > 1:
        raise UsageError("--paths, --path-field and --path-from-folder exclude each other")
    if not options.separator:
        raise UsageError("--separator is empty; it is what stands between the parts of a path")
    data, split = run.experiment.data, run.split
    corpus = Path(str(data.corpus))
    n_docs = len(np.union1d(split.train_docs, split.heldout_docs))
    if options.path_field is not None:
        require_file(corpus)
        told = label_paths_of_column(corpus, options.path_field, options.separator, n_docs)
        return told, f"{corpus}, field {options.path_field!r}"
    if options.path_from_folder:
        if not corpus.is_dir():
            raise UsageError(f"{corpus} is no folder of texts; --paths FILE gives label paths")
        names = read_original(run).whole.doc_ids or ()
        found = label_paths_of_names(corpus, names)
        outside = [name for name, path in zip(names, found, strict=True) if not path]
        if outside:
            what = f"{many(len(outside), 'text')} in no folder of {corpus}, left out of the score"
            print(f"note: {what}: {visible(', '.join(outside[:NAMED]))}", file=sys.stderr)
        return found, str(corpus)
    path = find_paths(corpus) if options.paths is None else Path(options.paths)
    if path is None:
        raise UsageError(
            f"{corpus} has no label paths beside it; --paths FILE gives them, one per document"
        )
    require_file(path)
    return read_label_paths(path, options.separator, n_docs, corpus), str(path)


def _documents(request: Request, options: HierarchyOptions, has_path: Bools) -> _Documents:
    """Return the documents with a token and a label path, and where they lie.

    has_path: bool [n_docs of the corpus].
    """
    run, split = request.run, request.run.split
    lengths: Any
    if options.heldout:
        if split.within_documents or not len(split.heldout_docs):
            raise UsageError(f"{run.path} put no documents aside (holdout {split.kind})")
        rows, counts, problem = split.heldout_docs, split.heldout, ""
        new = read_original(run).whole.select(rows)
        if isinstance(new, Vectors):
            counts, problem, lengths = None, "rows of numbers have no words", np.ones(len(rows))
        else:
            new, lengths = in_memory(new), np.asarray(counts.sum(axis=1)).ravel()
        theta = newdocs.infer_theta(run, new, engine=request.engine).theta
    else:
        rows, theta, lengths = split.train_docs, whole_theta(run), split.train_lengths
        counts, problem = _training_counts(run)
        if lengths is None:
            lengths = np.ones(len(rows)) if counts is None else counts.sum(axis=1)
    is_full = np.asarray(lengths) > 0
    full = np.flatnonzero(is_full & has_path[rows])
    shown = run.tree.shown
    own = sparse.csr_array(sparse.csr_array(theta)[full])
    flat = TreeShares(
        np.array([-1, *np.zeros(len(shown))], np.int32),
        sparse.csr_array(sparse.hstack([np.ones((len(full), 1)), own[:, shown]], format="csr")),
        np.concatenate([[-1], shown]),
    )
    return _Documents(
        tree_shares(run.tree, own),
        flat,
        _arranged(run, own),
        np.asarray(rows)[full],
        None if counts is None else sparse.csr_array(counts[full]),
        problem,
        int((~is_full).sum()),
    )


def _arranged(run: RunDir, own: sparse.csr_array) -> TreeShares | None:
    """Return where documents lie in the tree that clustering makes of flat topics of words."""
    tree, lengths = run.tree, run.split.train_lengths
    if not tree.is_flat or tree.vectors is not None or lengths is None:
        return None
    made, moved = topics_arranged(tree, run.theta, lengths)
    return tree_shares(made, sparse.csr_array(own @ moved))


def _training_counts(run: RunDir) -> tuple[sparse.csr_array | None, str]:
    try:
        train = read_original(run).train
    except HiertopicsError as error:
        return None, str(error)
    if isinstance(train, Vectors):
        return None, "rows of numbers have no words"
    return in_memory(train).counts, ""


def _drawn(n_docs: int, seed: int) -> _Draws:
    orders = [
        seeds.derive(seed, "hierarchy chance", number).permutation(n_docs)
        for number in range(PERMUTATIONS)
    ]
    places = seeds.derive(seed, "hierarchy folds").permutation(n_docs)
    return _Draws(orders, places % min(FOLDS, n_docs))


def _records(found: Sequence[Level]) -> list[dict[str, Any]]:
    records = []
    for level in found:
        record: dict[str, Any] = {
            "level": level.level,
            "labels": level.labels,
            "n_docs": level.n_docs,
        }
        for name in ("triplets", "kin"):
            counted: Triplets = getattr(level, name)
            record |= {
                name: counted.share,
                f"{name}_chance": counted.chance,
                f"{name}_error": counted.error,
                f"{name}_ties": counted.ties,
                f"n_{name}": counted.n,
            }
        for name in ("purity", "best_node_f1", "ami"):
            value, chance, error = getattr(level, name)
            record |= {name: value, f"{name}_chance": chance, f"{name}_error": error}
        records.append(record)
    return records


def _tables(
    run: RunDir,
    shares: TreeShares,
    paths: LabelPaths,
    found: Sequence[Level],
    words_by: str | None,
) -> dict[str, Any]:
    """Return which labels are torn over branches, and which branches are mixed, by level."""
    shown = by_branch(run.tree) if run.tree.has_words and run.tree.vectors is None else run.tree
    words = {-1: ""} | {
        node: " ".join(run.vocab[word] for word in shown.top_words(node, WORDS))
        for node in shares.rows[shares.branches].tolist()
    }
    texts = names_of(run.tree, run.vocab, words_by=words_by).texts
    names = [*texts, ""]  # the last one: of no branch, -1
    torn: list[dict[str, Any]] = []
    mixed: list[dict[str, Any]] = []
    for level in found:
        for one in torn_labels(shares, paths, level.level):
            largest = [list(pair) for pair in one.largest]
            record = one._asdict() | {"label": list(one.label), "largest": largest}
            torn.append({"level": level.level, **record})
        for branch in mixed_branches(shares, paths, level.level):
            record = branch._asdict() | {"label": list(branch.label), "words": words[branch.node]}
            record["auto_name"] = names[branch.node]
            mixed.append({"level": level.level, **record})
    return {"torn": torn, "mixed": mixed}


def _baselines(
    documents: _Documents, paths: LabelPaths, draws: _Draws, seed: int
) -> dict[str, Mapping[str, Any]]:
    """Return the same of trees that need no topics, and of the topics without their tree."""
    trees = {"theta_without_tree": documents.flat}
    if documents.arranged is not None:
        trees["topics_arranged"] = documents.arranged
    trees |= _linkages(documents, seed)
    return {
        name: {"levels": _records(levels(shares, paths, draws.orders, draws.folds))}
        for name, shares in trees.items()
    }


def _linkages(documents: _Documents, seed: int) -> dict[str, TreeShares]:
    """Return linkages of the documents by TF-IDF; none, with a note, where that cannot be done."""
    n_docs = len(documents.rows)
    if documents.counts is None:
        _note(f"no TF-IDF baselines: {documents.problem}")
        return {}
    if n_docs > MOST_LINKED:
        _note(f"no TF-IDF baselines: {n_docs} documents are more than {MOST_LINKED}")
        return {}
    rows = singular_rows(documents.counts, seed)
    from scipy.cluster.hierarchy import linkage  # slow to import

    return {
        f"tfidf_{method}": linkage_shares(linkage(rows, method)) for method in ("ward", "average")
    }


def singular_rows(counts: sparse.csr_array, seed: int) -> F64:
    """Return TF-IDF of documents in their first singular vectors, rows of length 1.

    float64 [n_docs, n_vectors], at most ``SINGULAR_VECTORS`` of these. counts: CSR [n_docs,
    n_words].
    """
    from sklearn.decomposition import TruncatedSVD  # slow to import

    vectors = unit_vectors(counts, inverse_document_frequency(counts), sublinear=True)
    n_vectors = min(SINGULAR_VECTORS, min(vectors.shape) - 1)
    places = (vectors.indices.astype(np.int32), vectors.indptr.astype(np.int32))
    matrix = sparse.csr_matrix((vectors.data, *places), shape=vectors.shape)
    rows = TruncatedSVD(max(n_vectors, 1), random_state=seed).fit_transform(matrix)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _note(what: str) -> None:
    print(f"note: {visible(what)}", file=sys.stderr)


task = Scorer(HierarchyOptions, score, ("counts", "vectors", "bits"))
