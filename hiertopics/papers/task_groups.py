"""Task ``groups``: the groups (authors) of held-out documents, by their words (theory/chdp 6.3)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.names import pack_short_names
from hiertopics.papers.task_sides import Sides, profiles, read_sides
from hiertopics.papers.task_tagging import RULES, Tagger, tag_scores
from hiertopics.runs import newdocs
from hiertopics.scoring.request import Metrics, Request, Scorer, TaskResult
from hiertopics.scoring.tfidf import inverse_document_frequency, unit_vectors

RANKS = (1, 5, 10)
STRENGTH = 1.0
SHARPNESS = 20.0
"""A training document's vote is exp(SHARPNESS * affinity of theta)."""


class GroupsOptions(NamedTuple):
    """score: documents, mixture or single, the rule that ranks groups. corpus: score this file."""

    score: str = "documents"
    corpus: Path | str | None = None


def score(request: Request, options: GroupsOptions) -> TaskResult:
    """Return precision at 1, 5 and 10 and the mean reciprocal rank of the first right group.

    Over documents with a group that a training document has; the others are counted. Raises
    UsageError for an unknown rule, and where there is no such document.
    """
    rules = ("documents", *RULES)
    if options.score not in rules:
        raise UsageError(f"unknown --score {options.score!r}; there are {', '.join(rules)}")
    sides = read_sides(request, options.corpus, "groups")
    known = sides.train_tags[:, : sides.n_known]
    truth = sides.test_tags[:, : sides.n_known]
    able = np.flatnonzero(truth.any(axis=1))
    if not len(able):
        raise UsageError("no document to be scored has a group that a training document has")
    ties = seeds.derive(request.run.split.seed, "groups-ties").permutation(sides.n_known)
    if options.score == "documents":
        scores = _by_documents(request, sides, able)
    else:
        even = np.full(sides.n_known, 1.0 / sides.n_known)
        tagger = Tagger(profiles(request, sides, "groups"), request.run.tree.phi, even)
        choice = [(options.score, STRENGTH)]
        (scores,) = tag_scores(tagger, sides.test.counts[able], choice)
    ranked = {
        "popularity": np.tile(known.sum(axis=0).astype(np.float64), (len(able), 1)),
        "tfidf_nearest": _by_tfidf(sides, able),
    }
    return TaskResult(
        metrics=rank_metrics(truth[able], scores, ties),
        sizes={
            "n_docs": len(able),
            "n_without_known_group": sides.test.n_docs - len(able),
            "n_groups": sides.n_known,
            "unknown_tokens": sides.unknown_tokens,
        },
        split=sides.split,
        baselines={name: rank_metrics(truth[able], found, ties) for name, found in ranked.items()},
        arrays={
            "scores": scores,
            "groups": truth[able],
            "docs": able.astype(np.int64),
            **pack_short_names("group_names", sides.names[: sides.n_known]),
        },
    )


def rank_metrics(truth: Bools, scores: F64, ties: I64) -> Metrics:
    """Return the metrics of rows of scores, large ones first; ``ties`` [n_groups] ranks ties."""
    order = np.lexsort((np.broadcast_to(ties, scores.shape), -scores), axis=1)
    hits = np.take_along_axis(truth, order, axis=1)
    precision = {
        f"precision_at_{rank}": float(np.mean(hits[:, :rank].sum(axis=1) / rank)) for rank in RANKS
    }
    return {**precision, "mean_reciprocal_rank": float(np.mean(1.0 / (1 + hits.argmax(axis=1))))}


def _by_documents(request: Request, sides: Sides, docs: I64) -> F64:
    """Let training documents vote for their groups, by Hellinger affinity of theta."""
    test = sides.test.select(docs)
    theta = newdocs.infer_theta(request.run, test, engine=request.engine).theta
    affinity = (theta.sqrt() @ request.run.theta.sqrt().T).toarray()
    votes = np.exp(SHARPNESS * (affinity - affinity.max(axis=1, keepdims=True)))
    return np.asarray(votes @ sides.train_tags[:, : sides.n_known])


def _by_tfidf(sides: Sides, docs: I64) -> F64:
    """Return the largest sublinear TF-IDF cosine of a document and those of each group."""
    idf = inverse_document_frequency(sides.train.counts)
    train = unit_vectors(sides.train.counts, idf, sublinear=True)
    test = unit_vectors(sparse.csr_array(sides.test.counts[docs]), idf, sublinear=True)
    cosine = np.asarray((test @ train.T).todense())
    found = np.zeros((len(docs), sides.n_known))
    for group in range(sides.n_known):
        found[:, group] = cosine[:, sides.train_tags[:, group]].max(axis=1)
    return found


task = Scorer(GroupsOptions, score)
