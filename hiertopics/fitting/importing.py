"""``import``: a tree that another program made of a corpus, as a run like any other."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import DataError, UsageError
from hiertopics.contract import Summary, observed_by
from hiertopics.corpus.data import Corpus, documents_with, in_memory
from hiertopics.corpus.data.tree import MEAN_SHARES, NODE, Tree
from hiertopics.corpus.data.treeshares import ancestry
from hiertopics.corpus.formats.counting import whole_number
from hiertopics.corpus.formats.foreigntrees import (
    FORMS,
    ForeignTree,
    foreign_tree,
    read_foreign_tree,
)
from hiertopics.corpus.formats.opening import require_file, rows
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import Split, split_of_docs
from hiertopics.runs import artifacts
from hiertopics.runs.experiment import flags_of, read_experiment
from hiertopics.runs.manifest import FILES, MADE_BY, PARENTS
from hiertopics.runs.meant import another_output
from hiertopics.runs.origin import Origin, peak_memory
from hiertopics.runs.rundir import RunDir

BACKEND = "imported"
SMOOTHING = 1e-6
"""The share of each node's words that is spread over all, so that none has no chance at all."""


def import_tree(
    source: Sequence[Path | str] | Mapping[str, Any],
    run: Path | str,
    corpus: Path | str,
    *,
    form: str | None = None,
    holdout: str = "none",
    docs: Path | str | None = None,
    data: Mapping[str, Any] | None = None,
    argv: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> RunDir:
    """Write the run of a tree that another program made; return it.

    source: files (``formats.foreigntrees``), or the parts of a tree by name: parent, theta, and
    phi with vocab, or words. corpus: what it was made of; data: entries that describe that file.
    form: what the files are, where their suffixes do not tell. The rows of theta are the documents
    that ``holdout`` leaves to train on, or those that the file ``docs`` lists (a row of the corpus
    on each line, from 0). Words are matched by string; those that the corpus has not are left out.
    Where there are none, a node has the words of the documents at and below it. argv: for the
    manifest. say: is told what was left out.

    Raises UsageError, or DataError for what is no tree of that corpus.
    """
    began, target = time.perf_counter(), RunDir(run)
    if target.exists:
        raise UsageError(f"{target.path} is a run already; {another_output(target.path)}")
    if form is not None and form not in FORMS:
        raise UsageError(f"unknown form {form!r}; there are {', '.join(FORMS)}")
    section = {**(data or {}), "corpus": str(corpus), "holdout": holdout}
    experiment = read_experiment(flags_of(BACKEND, data=section))
    observed = observed_by(experiment)
    whole, located, _, _ = observed.load(experiment.data, None)
    whole = in_memory(whole)
    experiment = structs.replace(experiment, data=located)
    train, split = _split(whole, holdout, docs, observed.split)
    if isinstance(source, Mapping):
        tree, name = foreign_tree(source, "the tree"), "the tree"
        made_by = "import"
    else:
        paths = [Path(one) for one in source]
        tree, name = read_foreign_tree(paths, form), str(paths[0])
        made_by = f"import {' '.join(path.name for path in paths)}"
    if tree.theta.shape[0] != train.n_docs:
        raise DataError(
            name,
            f"theta has {tree.theta.shape[0]} rows, but {train.n_docs} of {whole.n_docs} documents "
            "were trained on; --holdout or --docs says which (default: all)",
        )
    summary = _summary(tree, train, name, say)
    origin = Origin(
        experiment, whole, train, split.hash, tuple(argv), {PARENTS: [], MADE_BY: made_by}
    )
    target.create()
    with target.locked():
        seals = artifacts.write_inputs(target, experiment, train, split)
        seals |= artifacts.write_summary(target, summary, train.vocab, experiment)
        target.write_manifest(
            {
                **origin.described(),
                "status": "done",
                "iterations": 0,
                "objective": None,
                "objective_name": "none",
                "wall_seconds": time.perf_counter() - began,
                "peak_memory_bytes": peak_memory(),
                FILES: seals,
            }
        )
    return target


def _split(
    whole: Corpus,
    holdout: str,
    docs: Path | str | None,
    split: Callable[..., tuple[Corpus, Split]],
) -> tuple[Corpus, Split]:
    """Return the documents that the tree was made of, and the held-out part."""
    if docs is None:
        return split(whole, parse_holdout(holdout))
    if holdout != "none":
        raise UsageError("--docs and --holdout exclude each other")
    path = Path(docs)
    require_file(path)
    found = []
    for number, line in enumerate(rows(path), 1):
        row = whole_number(line.strip())
        if row is None or row >= whole.n_docs:
            what = f"expected the row of a document, from 0 to {whole.n_docs - 1}"
            raise DataError(path, what, number)
        found.append(row)
    chosen = np.array(found, dtype=np.int64)
    if not len(chosen) or (np.diff(chosen) <= 0).any():
        raise DataError(path, "rows of documents do not grow from line to line")
    return split_of_docs(whole, chosen)


def _summary(
    foreign: ForeignTree, train: Corpus, source: str, say: Callable[[str], None]
) -> Summary:
    """Return the tree with the words of the corpus, its nodes counted."""
    lengths = train.doc_lengths.astype(np.float64)
    theta = foreign.theta
    below = sparse.csr_array(theta @ ancestry(foreign.parent))
    n_tokens = np.asarray(theta.T @ lengths).ravel()
    phi = _matched(foreign, train, source, say)
    if phi is None:
        phi = _of_documents(foreign, below, train, source)
    phi = phi / phi.sum(axis=1, keepdims=True)
    phi = (1 - SMOOTHING) * phi + SMOOTHING / phi.shape[1]
    users = documents_with(below, lengths)
    n_docs = np.bincount(users.indices, minlength=len(phi)).astype(np.int64)
    total = n_tokens.sum()
    tree = Tree(
        phi=phi / phi.sum(axis=1, keepdims=True),
        parent=foreign.parent.astype(np.int32),
        kind=np.full(len(phi), NODE, dtype=np.int8),
        weight=n_tokens / total if total > 0 else np.zeros(len(phi)),
        n_docs=n_docs,
        n_tokens=n_tokens,
        extra={MEAN_SHARES: np.asarray(theta.mean(axis=0)).ravel()},
    )
    return Summary(tree, theta)


def _of_documents(foreign: ForeignTree, below: sparse.csr_array, train: Corpus, source: str) -> F64:
    """Return the words of the documents at and below each node, in tokens [n_nodes, n_words].

    Where those documents are empty a node has the words of its parent.
    """
    bare = np.flatnonzero(np.asarray(below.sum(axis=0)).ravel() == 0)
    if len(bare):
        what = f"node {bare[0]} has no words: none are given, and no document has a share of it"
        raise DataError(source, what)
    phi = np.asarray((below.T @ train.counts).toarray(), dtype=np.float64)
    for node in np.flatnonzero(phi.sum(axis=1) == 0).tolist():
        above = foreign.parent[node]
        phi[node] = phi[above] if above >= 0 else 1.0
    return phi


def _matched(
    foreign: ForeignTree, train: Corpus, source: str, say: Callable[[str], None]
) -> F64 | None:
    """Return word chances over the words of the corpus; None where none are given."""
    if foreign.phi is None:
        return None
    column = {word: place for place, word in enumerate(train.vocab)}
    known = [place for place, word in enumerate(foreign.vocab) if word in column]
    columns: I64 = np.array([column[foreign.vocab[place]] for place in known], dtype=np.int64)
    if len(known) < len(foreign.vocab):
        say(f"note: {len(foreign.vocab) - len(known)} words of {source} are not in the corpus")
    phi = np.zeros((len(foreign.phi), train.n_words))
    np.add.at(phi.T, columns, foreign.phi[:, known].T)
    empty = np.flatnonzero(phi.sum(axis=1) == 0)
    if len(empty):
        raise DataError(source, f"node {empty[0]} has no words that the corpus knows")
    return phi
