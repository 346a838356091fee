"""Task ``neighbours``: the label of a document from those of the training documents nearest to it.

Nearest by squared Hellinger distance on theta, 2 - 2 <sqrt a, sqrt b>. Held-out documents are
placed under the run's tree with all their tokens. I. Sato, K. Kurihara, H. Nakagawa: Practical
collapsed variational Bayes inference for hierarchical Dirichlet process, KDD 2012, equation 38;
theory/hdp 7.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import files, seeds
from hiertopics.data.corpus import Corpus, Tags
from hiertopics.errors import UsageError
from hiertopics.runs import newdocs
from hiertopics.scoring.request import Request
from hiertopics.scoring.tasks.nearest import Predicted, predict
from hiertopics.scoring.tasks.result import Metrics, Result
from hiertopics.scoring.tasks.sides import read_documents
from hiertopics.scoring.tasks.tfidf import inverse_document_frequency, unit_vectors


class Options(NamedTuple):
    """k: neighbours that vote. corpus: classify this file, not the held-out documents."""

    k: int = 7
    corpus: Path | str | None = None


class _Sides(NamedTuple):
    """Training and test documents, with the label id of each."""

    train: Corpus
    train_label: NDArray[np.int64]
    test: Corpus
    label: NDArray[np.int64]
    label_names: tuple[str, ...]
    unknown_tokens: int
    split: str


def score(request: Request, options: Options) -> Result:
    """Return ``accuracy`` by majority vote of k neighbours and ``accuracy_1`` of the nearest."""
    sides = _read(request, options)
    n_train = sides.train.n_docs
    if not 1 <= options.k <= n_train:
        raise UsageError(f"--k must be from 1 to {n_train} training documents, got {options.k}")
    test = replace(sides.test, labels=None)
    theta = newdocs.infer_theta(request.run, test, workers=request.workers).theta
    predicted = _predict(request, options, sides, theta.sqrt(), request.run.theta.sqrt())
    return Result(
        metrics=_accuracy(predicted, sides.label),
        sizes={
            "n_docs": test.n_docs,
            "n_empty": test.n_empty,
            "unknown_tokens": sides.unknown_tokens,
        },
        split=sides.split,
        baselines=_baselines(request, options, sides),
        arrays={
            **files.pack_csr("theta", theta),
            "label": sides.label,
            "train_label": sides.train_label,
            "label_names": np.asarray(sides.label_names),
            "predicted": predicted.by_vote,
            "predicted_1": predicted.by_nearest,
        },
    )


def _read(request: Request, options: Options) -> _Sides:
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


def _label_ids(tags: Tags, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the place in ``names`` of the one label of each document."""
    place = {name: index for index, name in enumerate(names)}
    own = np.array([place[name] for name in tags.names], dtype=np.int64)
    ids: NDArray[np.int64] = own[tags.members.indices]
    return ids


def _predict(
    request: Request,
    options: Options,
    sides: _Sides,
    test: sparse.csr_array,
    train: sparse.csr_array,
) -> Predicted:
    ties = seeds.derive(request.run.split.seed, "neighbours-ties")
    return predict(test, train, sides.train_label, options.k, ties)


def _accuracy(predicted: Predicted, label: NDArray[np.int64]) -> Metrics:
    return {
        "accuracy": float(np.mean(predicted.by_vote == label)),
        "accuracy_1": float(np.mean(predicted.by_nearest == label)),
    }


def _baselines(request: Request, options: Options, sides: _Sides) -> dict[str, Metrics]:
    idf = inverse_document_frequency(sides.train.counts)
    found = {}
    for name, sublinear in (("tfidf_cosine", False), ("tfidf_cosine_sublinear", True)):
        vectors = partial(unit_vectors, idf=idf, sublinear=sublinear)
        test, train = vectors(sides.test.counts), vectors(sides.train.counts)
        found[name] = _accuracy(_predict(request, options, sides, test, train), sides.label)
    commonest = np.full(len(sides.label), np.bincount(sides.train_label).argmax())
    found["majority_label"] = _accuracy(Predicted(commonest, commonest), sides.label)
    return found
