"""``--cache``: completion with the bursty predictive around a run's own p(w | d) (theory/bursts 5).

The mixture comes from the run's inference as ever; discount and concentration are learned here,
from what is seen of the held-out documents or from training documents.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.corpus.data import Corpus, Tags, Tree, in_memory
from hiertopics.corpus.formats.table import format_of
from hiertopics.runs import newdocs
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.trained import whole_rows
from hiertopics.scoring.cache import (
    SEEN,
    TRAINING,
    AtCells,
    Cache,
    Trial,
    cached_chances,
    documents_of,
    learn,
    learn_from_seen,
    split_again,
    trial_of,
)
from hiertopics.scoring.protocols.job import ScoringJob
from hiertopics.scoring.request import Request
from hiertopics.scoring.scores import Score, word_chances

MOST_TRAINING_DOCS = 500
WITH_CACHE = "_with_cache"
"""The ending of the names of scores with a cache."""

SOURCES = (SEEN, TRAINING)
GRAPHS = ("edges",)
"""Formats whose documents are rows of a graph."""


class ScoringTopics(NamedTuple):
    """Topics that documents are scored by, and theta of the training documents under them.

    trained: that theta, float64 CSR [n_docs, n_nodes]. number: which of the kept draws it is, None
    for the run's own tree.
    """

    tree: Tree
    trained: sparse.csr_array
    number: int | None


class CacheInput(NamedTuple):
    """Input of the learning of caches. train: the training documents, None if not needed."""

    source: str
    seed: int
    train: Any


def learning(request: Request, job: ScoringJob, source: str, seed: int) -> CacheInput | None:
    """Return the input for the caches of this job; None, with a note, if there is none.

    Raises UsageError for a source that does not exist, for documents that are no text, and for
    topics that documents cannot be taken out of.
    """
    if source not in SOURCES:
        raise UsageError(f"--cache-from takes {' or '.join(SOURCES)}, not {source!r}")
    assert job.observed is not None
    _refuse_no_text(request.run, job.observed, job.scored)
    run, train = request.run, None
    if source == TRAINING:
        if not registry.load_for(run.experiment).from_counts:
            name = run.experiment.backend
            raise UsageError(f"--cache-from training needs topics that are counts; {name} has none")
        train = read_original(run).train
    if not (job.observed.data > 1).any():
        _note("no document repeats a word in its seen part: the scores with cache are the plain")
        return None
    return CacheInput(source, seed, train)


def scored_with_cache(
    request: Request,
    job: ScoringJob,
    given: CacheInput,
    topics: ScoringTopics,
    theta: sparse.csr_array,
) -> tuple[Cache | None, F64]:
    """Return a cache, and p(w | d) under it for each stored entry of ``job.scored``.

    theta: of the documents by all that is seen of them, CSR [n_docs, n_nodes]. The chances are
    float64 [nnz]. No cache, and the mixture alone, where no
    document is long enough to learn from.
    """
    seen = job.observed
    assert seen is not None
    phi = topics.tree.phi
    if given.source == TRAINING:
        cache = learn(_trial_of_training(request.run, given, topics), TRAINING)
    else:
        cache = learn_from_seen(_TokenInference(request, job, topics), seen, given.seed)
    trial = trial_of(seen, job.scored, lambda counts: word_chances(theta, phi, counts))
    if cache is None:
        _note("no document is long enough to learn a cache from: the scores with it are the plain")
        return None, trial.scored_chances
    return cache, cached_chances(cache.process, trial)


def cache_fields(caches: list[Cache | None], score: Score) -> dict[str, Any]:
    """Return the fields of a record with a cache; numbers of several draws as lists.

    Warns where a concentration lies at a limit. Nothing learned: the numbers are None.
    """
    found = [cache for cache in caches if cache is not None]
    at_limit = any(cache.at_limit for cache in found)
    if at_limit:
        _note("the cache's concentration lies at a limit: these documents hardly tell it")
    processes = [cache.process for cache in found]
    return {
        f"perplexity{WITH_CACHE}": score.perplexity,
        f"log_likelihood_per_word{WITH_CACHE}": score.log_likelihood_per_word,
        f"standard_error{WITH_CACHE}": score.standard_error,
        "cache_from": found[0].source if found else None,
        "cache_discount": _one_or_all([each.discount for each in processes]),
        "cache_concentration": _one_or_all([each.concentration for each in processes]),
        "cache_docs": found[0].n_docs if found else 0,
        "cache_tokens": found[0].n_tokens if found else 0,
        "cache_at_limit": at_limit,
    }


def _one_or_all(values: list[float]) -> float | list[float] | None:
    return None if not values else values[0] if len(values) == 1 else values


def _note(what: str) -> None:
    print(f"warning: {what}", file=sys.stderr)


def _refuse_no_text(run: RunDir, seen: sparse.csr_array, scored: sparse.csr_array) -> None:
    data = run.experiment.data
    what = None
    if data.discretise is not None:
        what = "its words are bins of numbers"
    elif run.split.kind == "links" or _is_graph(run):
        what = "its documents are rows of a graph"
    elif seen.nnz and not ((seen + scored).data > 1).any():
        what = "no held-out document has a word twice"
    if what is not None:
        raise UsageError(f"--cache is for words that come again in a text, but {what}")


def _is_graph(run: RunDir) -> bool:
    """Tell whether a run's corpus is a graph; a name that tells no format is none."""
    data = run.experiment.data
    with suppress(UsageError):
        return format_of(Path(str(data.corpus)), data.from_) in GRAPHS
    return False


class _TokenInference:
    """The run's own inference of some of a job's documents by another part of their tokens."""

    def __init__(self, request: Request, job: ScoringJob, topics: ScoringTopics) -> None:
        self._request, self._job, self._drawn = request, job, topics

    def __call__(self, docs: I64, counts: sparse.csr_array) -> AtCells:
        """Return p_w of entries of these documents, whose seen tokens are ``counts``."""
        run, job = self._request.run, self._job
        tags = (_select(job.groups, docs), _select(job.labels, docs))
        corpus = Corpus(counts, run.vocab, None, *tags)
        tree, number = self._drawn.tree, self._drawn.number
        own = None if number is None else tree
        placed = newdocs.infer_theta(
            run, corpus, tree=own, draw=number, engine=self._request.engine
        )
        return lambda cells: word_chances(placed.theta, tree.phi, cells)


def _select(tags: Tags | None, docs: I64) -> Tags | None:
    return None if tags is None else tags.select(docs)


def _trial_of_training(run: RunDir, given: CacheInput, topics: ScoringTopics) -> Trial:
    """Return training documents, each placed under topics without its own tokens."""
    lengths = given.train.doc_lengths
    docs = documents_of(sparse.csr_array(lengths[:, None]), given.seed, MOST_TRAINING_DOCS)
    corpus = in_memory(given.train.select(docs))
    seen, aside = split_again(corpus.counts, np.arange(len(docs)), given.seed)
    chances = list(_chances_without_own(run, corpus, (seen, aside), docs, topics))
    own = (np.concatenate([np.empty(0), *each]) for each in zip(*chances, strict=True))
    return Trial(seen, next(own), aside, next(own)) if chances else Trial(seen, _NONE, aside, _NONE)


_NONE = np.empty(0)


def _chances_without_own(
    run: RunDir,
    corpus: Corpus,
    parts: tuple[sparse.csr_array, sparse.csr_array],
    docs: I64,
    topics: ScoringTopics,
) -> Iterator[tuple[F64, F64]]:
    """Yield p_w at the entries of the seen part and of the rest, document by document."""
    seen, _ = parts
    eta = smoothing_of(topics.tree)
    lengths = corpus.doc_lengths
    for row in range(corpus.n_docs):
        at = np.array([row])
        stored = sparse.csr_array(topics.trained[docs[at]])
        theta = whole_rows(run, topics.tree, stored, lengths[at]).toarray()[0]
        words, counts = _row(corpus.counts, row)
        left = without_document(topics.tree, theta, words, counts, eta)
        tree = replace(topics.tree, phi=left)
        known = replace(corpus.select(at), counts=sparse.csr_array(seen[at]))
        placed = newdocs.place(run.experiment, tree, known)
        own = left[:, words]
        first, second = (
            word_chances(placed.theta, own, sparse.csr_array(p[at][:, words])) for p in parts
        )
        yield first, second


def _row(counts: sparse.csr_array, row: int) -> tuple[I64, F64]:
    cells = slice(counts.indptr[row], counts.indptr[row + 1])
    return counts.indices[cells].astype(np.int64), counts.data[cells].astype(np.float64)


def smoothing_of(tree: Tree) -> float:
    """Return eta of topics (n_wk + eta) / (n_k + V eta): that of a topic without a word's tokens.

    The smallest value that any topic's least chance tells.
    """
    n_words = tree.phi.shape[1]
    n_k, least = tree.n_tokens[tree.shown], tree.phi[tree.shown].min(axis=1)
    tells = (n_k > 0) & (n_words * least < 1)
    told = n_k[tells] * least[tells] / (1.0 - n_words * least[tells])
    return float(told.min()) if len(told) else 1.0


def without_document(tree: Tree, theta: F64, words: I64, counts: F64, eta: float) -> F64:
    """Return phi without the expected counts of one training document (theory/bursts 5.2).

    theta: [n_nodes], its theta; words, counts: its words and their tokens. Rows sum to 1.
    """
    own = theta[:, None] * tree.phi[:, words]
    own *= counts / own.sum(axis=0)
    total = tree.n_tokens + eta * tree.phi.shape[1]
    before = tree.phi[:, words] * total[:, None]
    after = np.maximum(before - own, eta)
    sums = total + (after - before).sum(axis=1)
    left = tree.phi * (total / sums)[:, None]
    left[:, words] = after / sums[:, None]
    return np.asarray(left)
