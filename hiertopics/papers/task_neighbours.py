"""Task ``neighbours``: the label of a document from those of the training documents nearest to it.

Nearest by squared Hellinger distance on theta, 2 - 2 <sqrt a, sqrt b>. Held-out documents are
placed under the run's tree with all their tokens. I. Sato, K. Kurihara, H. Nakagawa: Practical
collapsed variational Bayes inference for hierarchical Dirichlet process, KDD 2012, equation 38;
theory/hdp 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import archives, seeds
from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data import Corpus, Tags, pack_short_names
from hiertopics.papers.task_sides import read_documents
from hiertopics.runs import newdocs
from hiertopics.scoring.request import Metrics, Request, Scorer, TaskResult
from hiertopics.scoring.tfidf import inverse_document_frequency, unit_vectors

CELLS = 1 << 21
"""Similarities held at a time: 16 MB."""

FULL = 1 / 3
"""A matrix with a larger share of stored entries is multiplied faster when it is dense."""


class NeighboursOptions(NamedTuple):
    """k: neighbours that vote. corpus: classify this file, not the held-out documents."""

    k: int = 7
    corpus: Path | str | None = None


class _Sides(NamedTuple):
    """Training and test documents, with the label id of each."""

    train: Corpus
    train_label: I64
    test: Corpus
    label: I64
    label_names: tuple[str, ...]
    unknown_tokens: int
    split: str


def score(request: Request, options: NeighboursOptions) -> TaskResult:
    """Return ``accuracy`` by majority vote of k neighbours and ``accuracy_1`` of the nearest.

    Raises UsageError for more neighbours than training documents.
    """
    sides = _read(request, options)
    n_train = sides.train.n_docs
    if not 1 <= options.k <= n_train:
        raise UsageError(f"--k must be from 1 to {n_train} training documents, got {options.k}")
    test = replace(sides.test, labels=None)
    theta = newdocs.infer_theta(request.run, test, engine=request.engine).theta
    predicted = _predict(request, options, sides, theta.sqrt(), request.run.theta.sqrt())
    return TaskResult(
        metrics=_accuracy(predicted, sides.label),
        sizes={
            "n_docs": test.n_docs,
            "n_empty": test.n_empty,
            "unknown_tokens": sides.unknown_tokens,
        },
        split=sides.split,
        baselines=_baselines(request, options, sides),
        arrays={
            **archives.pack_csr("theta", theta),
            "label": sides.label,
            "train_label": sides.train_label,
            **pack_short_names("label_names", sides.label_names),
            "predicted": predicted.by_vote,
            "predicted_1": predicted.by_nearest,
        },
    )


def _read(request: Request, options: NeighboursOptions) -> _Sides:
    found = read_documents(request, options.corpus, "labels")
    train, test = found.original.train, found.test
    for corpus, source in zip((found.original.whole, test), found.sources, strict=True):
        _refuse_other_labels(corpus, source)
    names = tuple(sorted({*_tags(train).names, *_tags(test).names}))
    train_label, label = (_label_ids(_tags(side), names) for side in (train, test))
    return _Sides(train, train_label, test, label, names, found.unknown_tokens, found.split)


def _refuse_other_labels(corpus: Corpus, source: str) -> None:
    """Refuse a corpus unless each of its documents has exactly one label."""
    if corpus.labels is None:
        raise UsageError(f"{source} has no labels; --labels FILE gives them, one per document")
    n_labels = np.diff(corpus.labels.members.indptr)
    others = np.flatnonzero(n_labels != 1)
    if len(others):
        doc = int(others[0])
        name = "" if corpus.doc_ids is None else f" ({corpus.doc_ids[doc]})"
        raise UsageError(
            f"{source}: document {doc + 1} of {corpus.n_docs}{name} has {n_labels[doc]} labels; "
            "task neighbours needs exactly one for each document"
        )


def _tags(corpus: Corpus) -> Tags:
    assert corpus.labels is not None
    return corpus.labels


def _label_ids(tags: Tags, names: Sequence[str]) -> I64:
    """Return the place in ``names`` of the one label of each document."""
    place = {name: index for index, name in enumerate(names)}
    own = np.array([place[name] for name in tags.names], dtype=np.int64)
    ids: I64 = own[tags.members.indices]
    return ids


def _predict(
    request: Request,
    options: NeighboursOptions,
    sides: _Sides,
    test: sparse.csr_array,
    train: sparse.csr_array,
) -> PredictedLabels:
    ties = seeds.derive(request.run.split.seed, "neighbours-ties")
    return predict(test, train, sides.train_label, options.k, ties)


def _accuracy(predicted: PredictedLabels, label: I64) -> Metrics:
    return {
        "accuracy": float(np.mean(predicted.by_vote == label)),
        "accuracy_1": float(np.mean(predicted.by_nearest == label)),
    }


def _baselines(request: Request, options: NeighboursOptions, sides: _Sides) -> dict[str, Metrics]:
    idf = inverse_document_frequency(sides.train.counts)
    found = {}
    for name, sublinear in (("tfidf_cosine", False), ("tfidf_cosine_sublinear", True)):
        vectors = partial(unit_vectors, idf=idf, sublinear=sublinear)
        test, train = vectors(sides.test.counts), vectors(sides.train.counts)
        found[name] = _accuracy(_predict(request, options, sides, test, train), sides.label)
    commonest = np.full(len(sides.label), np.bincount(sides.train_label).argmax())
    found["majority_label"] = _accuracy(PredictedLabels(commonest, commonest), sides.label)
    return found


class PredictedLabels(NamedTuple):
    """Label ids of the test rows, int64 [n_test]: by majority vote, and of the nearest alone."""

    by_vote: I64
    by_nearest: I64


def predict(
    test: sparse.csr_array, train: sparse.csr_array, labels: I64, k: int, rng: np.random.Generator
) -> PredictedLabels:
    """Label each row of ``test`` by the ``k`` rows of ``train`` with the largest inner product.

    test: CSR [n_test, n_columns]. train: CSR [n_train, n_columns]. labels: int64 [n_train]. Rows
    are unit vectors (or zero), so that this is a ranking by distance too. Equal votes go to the
    label with the larger summed similarity; rows at equal distance stand in an order drawn by
    ``rng``, never in that of the corpus.
    """
    order = rng.permutation(train.shape[0])
    shuffled = labels[order]
    votes, nearest = [], []
    for similarity in _similarities(test, sparse.csr_array(train[order])):
        near = _nearest(similarity, k)
        found = shuffled[near]
        votes.append(_vote(found, np.take_along_axis(similarity, near, axis=1)))
        nearest.append(found[:, 0])
    return PredictedLabels(np.concatenate(votes), np.concatenate(nearest))


def _similarities(test: sparse.csr_array, train: sparse.csr_array) -> Iterator[F64]:
    """Yield inner products block by block, float64 [n_rows, n_train]."""
    dense = train.nnz > FULL * train.shape[0] * train.shape[1]
    columns = np.ascontiguousarray(train.toarray().T) if dense else sparse.csr_array(train.T)
    n_rows = max(1, CELLS // train.shape[0])
    for first in range(0, test.shape[0], n_rows):
        block = test[first : first + n_rows]
        yield block.toarray() @ columns if dense else (block @ columns).toarray()


def _nearest(similarity: F64, k: int) -> I64:
    """Return the columns of the ``k`` largest of each row, largest first, ties by column."""
    n_rows, n_columns = similarity.shape
    least = np.partition(similarity, n_columns - k, axis=1)[:, n_columns - k]
    rows, columns = np.nonzero(similarity >= least[:, None])
    ranked = np.lexsort((columns, -similarity[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(n_rows))
    near: I64 = columns[ranked[starts[:, None] + np.arange(k)]]
    return near


def _vote(found: I64, similarity: F64) -> I64:
    """Return the label of most neighbours of each row; found: label ids [n_rows, k]."""
    n_labels = int(found.max()) + 1
    place = np.arange(len(found))[:, None] * n_labels + found
    n_votes = np.bincount(place.ravel())[place]
    summed = np.bincount(place.ravel(), similarity.ravel())[place]
    # The sort is stable: a label that ties in both wins by its nearest neighbour.
    best = np.lexsort((-summed, -n_votes), axis=1)[:, :1]
    winner: I64 = np.take_along_axis(found, best, axis=1)[:, 0]
    return winner


task = Scorer(NeighboursOptions, score)
