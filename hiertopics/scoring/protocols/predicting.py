"""Where documents lie under a run's tree, and how well that predicts what is scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hiertopics import files
from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.errors import UsageError
from hiertopics.model import PathMixture, Posterior
from hiertopics.runs import newdocs
from hiertopics.scoring.protocols.job import Job
from hiertopics.scoring.protocols.mixtures import log_likelihoods
from hiertopics.scoring.protocols.result import Result
from hiertopics.scoring.request import Request
from hiertopics.scoring.scores import log_likelihoods as word_by_word
from hiertopics.scoring.scores import pool, word_chances


def place(request: Request, job: Job, tree: Tree | None = None) -> Posterior:
    """Return where the documents lie, by what is known of them, under the run's tree or a draw."""
    if job.observed is None:
        return Posterior(request.run.theta)
    corpus = Corpus(job.observed, request.run.vocab, groups=job.groups, labels=job.labels)
    return newdocs.infer_theta(request.run, corpus, tree=tree, workers=request.workers)


def score_words(request: Request, job: Job, placed: Posterior, *, average: bool) -> Result:
    """Score each token by itself under theta @ phi; ``average``: under its mean over draws."""
    phi = request.run.tree.phi
    if average:
        chances = np.mean(
            [word_chances(at.theta, tree.phi, job.scored) for tree, at in _draws(request, job)],
            axis=0,
        )
    else:
        chances = word_chances(placed.theta, phi, job.scored)
    return _result(request, job, placed, word_by_word(chances, job.scored))


def score_paths(request: Request, job: Job, placed: Posterior, *, average: bool) -> Result:
    """Score each document's tokens by one path; ``average``: by the mean of that over draws."""
    if average:
        logs = np.array([_by_paths(tree, at, job) for tree, at in _draws(request, job)])
        per_doc = np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))
    else:
        per_doc = _by_paths(request.run.tree, placed, job)
    return _result(request, job, placed, per_doc, _paths_of(placed).to_arrays())


def _by_paths(tree: Tree, placed: Posterior, job: Job) -> NDArray[np.float64]:
    return log_likelihoods(_paths_of(placed), tree.phi, job.scored)


def _paths_of(placed: Posterior) -> PathMixture:
    assert placed.mixture is not None
    return placed.mixture


def _draws(request: Request, job: Job) -> Iterator[tuple[Tree, Posterior]]:
    """Yield the kept draws, each with where the documents lie under it; UsageError without any."""
    tree = None
    for tree, theta in request.run.draws():
        yield tree, Posterior(theta) if job.observed is None else place(request, job, tree)
    if tree is None:
        raise UsageError(f"{request.run.path} kept no draws to average over")


def _result(
    request: Request,
    job: Job,
    placed: Posterior,
    per_doc: NDArray[np.float64],
    more: dict[str, NDArray[Any]] | None = None,
) -> Result:
    found = pool(per_doc, job.scored)
    if found.n_tokens == 0:
        raise UsageError("there is no token to score")
    unseen = request.run.split.word_counts[job.scored.indices] == 0
    metrics = {
        **found._asdict(),
        "unknown_tokens": job.unknown_tokens,
        "unseen_tokens": int(job.scored.data[unseen].sum()),
    }
    arrays = files.pack_csr("theta", placed.theta) | files.pack_csr("scored", job.scored)
    return Result(metrics, job.split, arrays | {"log_likelihood": per_doc} | (more or {}))
