"""``eval --heldout``: a run's score on what was put aside, or on another corpus.

The protocols are defined in interface section 4. ``completion`` and ``tokens`` can be recomputed
from the run's files alone: theta @ phi is each document's predictive word distribution.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import files, newdocs
from hiertopics.corpus import Corpus
from hiertopics.errors import HiertopicsError, UsageError
from hiertopics.original import read_original
from hiertopics.quality import topic_quality
from hiertopics.rundir import RunDir
from hiertopics.scorefiles import keep_score
from hiertopics.scores import score, word_chances
from hiertopics.split import OBSERVED, partition, split_hash
from hiertopics.tree import Tree

PROTOCOLS = ("completion", "tokens", "full")


class Job(NamedTuple):
    """What is scored: theta from ``observed`` (None: the training theta), then ``scored``."""

    observed: sparse.csr_array | None
    scored: sparse.csr_array
    unknown_tokens: int
    split: str


def evaluate(
    run: Path | str | RunDir,
    *,
    protocol: str | None = None,
    corpus: Path | str | None = None,
    data: Mapping[str, Any] | None = None,
    observed: float = OBSERVED,
    seed: int = 0,
    average: bool = False,
    workers: int = 1,
) -> dict[str, Any]:
    """Score a run on held-out text; the result is also written to its ``eval`` folder.

    protocol: None for the split's own default. corpus: score this file instead of what was put
    aside, with ``data`` entries that describe it and ``seed`` for its token partition. average:
    score the mean of p(w | d) over the kept draws. Raises UsageError, DataError or RunError.
    """
    target = run if isinstance(run, RunDir) else RunDir.open(run)
    name = protocol or _default_protocol(target, corpus)
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}; there are {', '.join(PROTOCOLS)}")
    if not 0 <= observed < 1:
        raise UsageError(f"--observed must be from 0 to below 1, got {observed}")
    if seed < 0:
        raise UsageError(f"--seed must be >= 0, got {seed}")
    job = (
        _stored_job(target, name, observed)
        if corpus is None
        else _file_job(
            target, name, newdocs.read_unseen(target, corpus, data or {}), observed, seed
        )
    )
    theta, chances = _predict(target, job, average, workers)
    result = score(chances, job.scored)
    if result.n_tokens == 0:
        raise UsageError("there is no token to score")
    unseen = int(job.scored.data[target.split.word_counts[job.scored.indices] == 0].sum())
    record: dict[str, Any] = {
        "run": str(target.path),
        "backend": target.manifest["backend"],
        "protocol": name,
        **result._asdict(),
        "unknown_tokens": job.unknown_tokens,
        "unseen_tokens": unseen,
        "split": job.split,
        **_quality(target),
    }
    options = {
        "corpus": None if corpus is None else Path(corpus).name,
        "observed": None if observed == OBSERVED else f"{observed:g}",
        "seed": None if corpus is None or seed == 0 else seed,
        "average": True if average else None,
    }
    arrays = files.pack_csr("theta", theta) | files.pack_csr("scored", job.scored)
    keep_score(target, name, options, record, arrays)
    return record


def _default_protocol(run: RunDir, corpus: Path | str | None) -> str:
    return "tokens" if corpus is None and run.split.within_documents else "completion"


def _stored_job(run: RunDir, protocol: str, observed: float) -> Job:
    """Return what the run's own split put aside."""
    split = run.split
    if split.kind == "none":
        raise UsageError(f"{run.path} put nothing aside (holdout none); give --corpus FILE")
    if (protocol == "tokens") != split.within_documents:
        raise UsageError(f"protocol {protocol} does not fit a holdout of kind {split.kind}")
    if protocol == "tokens":
        if observed != OBSERVED:
            raise UsageError("--observed has no meaning for protocol tokens")
        return Job(None, split.scored, 0, split.hash)
    if protocol == "full":
        return Job(split.heldout, split.heldout, 0, split.hash)
    if observed == OBSERVED:
        return Job(split.observed, split.scored, 0, split.hash)
    if observed == 0:
        return Job(_nothing(split.scored), split.scored, 0, split.hash)
    seen, scored = partition(split.heldout, split.heldout_docs, split.seed, observed)
    code = split_hash(split.train_docs, split.heldout_docs, seen, scored, run.vocab)
    return Job(seen, scored, 0, code)


def _file_job(
    run: RunDir, protocol: str, matched: newdocs.Matched, observed: float, seed: int
) -> Job:
    """Return the documents of a file, cut by ``seed``."""
    counts = matched.corpus.counts
    if protocol == "tokens":
        raise UsageError("protocol tokens scores the documents that were trained on; no --corpus")
    docs = np.arange(counts.shape[0])
    if protocol == "full":
        seen, scored = counts, counts
    elif observed == 0:
        _, scored = partition(counts, docs, seed)
        seen = _nothing(scored)
    else:
        seen, scored = partition(counts, docs, seed, observed)
    code = split_hash(np.empty(0, dtype=np.int64), docs, seen, scored, run.vocab)
    return Job(seen, scored, matched.unknown_tokens, code)


def _predict(
    run: RunDir, job: Job, average: bool, workers: int
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return theta of the summarised tree and p(w | d) of the scored entries."""
    theta = _theta(run, job, None, workers) if job.observed is not None else run.theta
    if not average:
        return theta, word_chances(theta, run.tree.phi, job.scored)
    chances = [
        word_chances(draw_theta, tree.phi, job.scored)
        for tree, draw_theta in _draws(run, job, workers)
    ]
    if not chances:
        raise UsageError(f"{run.path} kept no draws to average over")
    return theta, np.mean(chances, axis=0)


def _draws(run: RunDir, job: Job, workers: int) -> Iterator[tuple[Tree, sparse.csr_array]]:
    for tree, training_theta in run.draws():
        known = job.observed is None
        yield tree, training_theta if known else _theta(run, job, tree, workers)


def _theta(run: RunDir, job: Job, tree: Tree | None, workers: int) -> sparse.csr_array:
    if job.observed is None:
        return run.theta
    corpus = Corpus(job.observed, run.vocab)
    return newdocs.infer_theta(run, corpus, tree=tree, workers=workers).theta


def _quality(run: RunDir) -> dict[str, Any]:
    """Score the topics against the training corpus, where its file still stands unchanged."""
    try:
        train = read_original(run).train
    except HiertopicsError as error:
        print(f"warning: no topic quality: {error}", file=sys.stderr)
        return {"n_topics": len(run.tree.shown), "coherence_npmi": None, "diversity": None}
    return topic_quality(run.tree, train)._asdict()


def _nothing(like: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(like.shape, dtype=like.dtype)
