"""The tokens of each document that are observed, and those that are scored."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.holdouts.partition import OBSERVED, partition
from hiertopics.corpus.holdouts.split import Split, split_hash
from hiertopics.runs import unseen
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.request import Request


class ScoringJob(NamedTuple):
    """Counts over the run's vocabulary, CSR [n_docs, n_words].

    observed: what is known of a document; None: it was trained on. scored: the tokens to score.
    unknown_tokens: how many the vocabulary does not have. split: hash of the split.
    groups, labels: those of the documents, where they are known.
    """

    observed: sparse.csr_array | None
    scored: sparse.csr_array
    unknown_tokens: int
    split: str
    groups: Tags | None = None
    labels: Tags | None = None


class CutOptions(NamedTuple):
    """corpus: score this file. observed: share that is seen. seed: of the partition of a file.

    average: score the mean over a sampler's kept draws. hide_groups: the documents' groups and
    labels are not known either.
    """

    corpus: Path | str | None = None
    observed: float = OBSERVED
    seed: int = 0
    average: bool = False
    hide_groups: bool = False


def cut_job(request: Request, options: CutOptions, protocol: str) -> ScoringJob:
    """Return documents with a share of their tokens observed and the rest scored.

    Raises UsageError or DataError.
    """
    if not 0 <= options.observed < 1:
        raise UsageError(f"--observed must be from 0 to below 1, got {options.observed}")
    if options.seed < 0:
        raise UsageError(f"--seed must be >= 0, got {options.seed}")
    job = _cut_file(request, options) if options.corpus else _cut_aside(request, options, protocol)
    return job._replace(groups=None, labels=None) if options.hide_groups else job


def _cut_aside(request: Request, options: CutOptions, protocol: str) -> ScoringJob:
    if options.seed:
        raise UsageError("--seed has no meaning without --corpus; the split has its own")
    split = documents_aside(request.run, protocol)
    seen, scored, code = split.observed, split.scored, split.hash
    if options.observed == 0:
        seen = _nothing(scored)
    elif options.observed != OBSERVED:
        seen, scored = partition(split.heldout, split.heldout_docs, split.seed, options.observed)
        code = split_hash(split.train_docs, split.heldout_docs, seen, scored, request.run.vocab)
    return ScoringJob(seen, scored, split.unknown_tokens, code, split.groups, split.labels)


def whole_job(request: Request, corpus: Path | str | None, protocol: str) -> ScoringJob:
    """Return documents all of whose tokens are seen, and then scored."""
    run = request.run
    if corpus is None:
        split = documents_aside(run, protocol)
        counts, unknown = split.heldout, split.unknown_tokens
        return ScoringJob(counts, counts, unknown, split.hash, split.groups, split.labels)
    matched = unseen.read_unseen(run, corpus, request.data)
    counts = matched.corpus.counts
    code = _file_hash(run, counts, counts)
    tags = (matched.corpus.groups, matched.corpus.labels)
    return ScoringJob(counts, counts, matched.unknown_tokens, code, *tags)


def documents_aside(run: RunDir, protocol: str) -> Split:
    """Return the split of a run that put documents aside; UsageError for any other."""
    _refuse_no_holdout(run)
    if run.split.within_documents:
        raise UsageError(f"protocol {protocol} does not fit a holdout of kind {run.split.kind}")
    return run.split


def tokens_aside(run: RunDir, protocol: str) -> Split:
    """Return the split of a run that put tokens of every document aside.

    Raises UsageError for a run with another holdout, or without one.
    """
    _refuse_no_holdout(run)
    if not run.split.within_documents:
        raise UsageError(f"protocol {protocol} does not fit a holdout of kind {run.split.kind}")
    return run.split


def _refuse_no_holdout(run: RunDir) -> None:
    if run.split.kind == "none":
        raise UsageError(f"{run.path} put nothing aside (holdout none); give --corpus FILE")


def _cut_file(request: Request, options: CutOptions) -> ScoringJob:
    assert options.corpus is not None
    matched = unseen.read_unseen(request.run, options.corpus, request.data)
    counts = matched.corpus.counts
    docs = np.arange(counts.shape[0])
    if options.observed == 0:
        _, scored = partition(counts, docs, options.seed)
        seen = _nothing(scored)
    else:
        seen, scored = partition(counts, docs, options.seed, options.observed)
    code = _file_hash(request.run, seen, scored)
    corpus = matched.corpus
    return ScoringJob(seen, scored, matched.unknown_tokens, code, corpus.groups, corpus.labels)


def _file_hash(run: RunDir, seen: sparse.csr_array, scored: sparse.csr_array) -> str:
    docs = np.arange(scored.shape[0])
    return split_hash(np.empty(0, dtype=np.int64), docs, seen, scored, run.vocab)


def _nothing(like: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(like.shape, dtype=like.dtype)
