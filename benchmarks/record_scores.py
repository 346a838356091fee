"""What runs in the process that scores a run of the record by the one scorer of the benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import scorer
from benchmarks.ours import open_run, topic_model
from benchmarks.records import Record
from benchmarks.splits import split_corpus
from hiertopics.base import archives
from hiertopics.base.arrays import F64
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.settings.config import DataConfig

DIGITS = 4


def score(path: Path, corpus: Path, split_spec: str) -> Record:
    """Return the score of a run's topics, and the log-likelihoods of each document by both ways.

    ``log_likelihood`` and ``n_scored`` are those of the one ``eval --heldout`` of this run; a tree
    enters the one scorer as the topics of all its nodes.
    """
    _, split = split_corpus(load_corpus(DataConfig(corpus=str(corpus))), split_spec)
    found, by_doc = scorer.score_documents(topic_model(open_run(path, split)), split)
    return {
        "one_scorer": found._asdict(),
        "one_scorer_log_likelihood": _rounded(by_doc),
        **by_document(path, "log_likelihood"),
    }


def by_document(path: Path, *names: str) -> Record:
    """Return what the one ``eval --heldout`` of a run found for each document: ``n_scored``, too.

    names: arrays of that score, [documents], such as the sums of log p(w | d).
    """
    (file,) = (path / "eval").glob("completion*.npz")
    arrays = archives.read_npz(file)
    scored = archives.unpack_csr("scored", arrays)
    return {
        **{name: _rounded(arrays[name]) for name in names},
        "n_scored": np.asarray(scored.sum(axis=1)).ravel().tolist(),
    }


def _rounded(values: F64) -> list[float]:
    return [round(float(value), DIGITS) for value in values]
