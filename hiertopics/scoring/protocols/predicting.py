"""Protocols ``completion``, ``tokens``, ``full`` and ``path``: documents under a run's tree.

Where they lie there (theta, paths) predicts what is scored. All but ``path``, and ``full`` for
backends with paths, score each token by itself under theta @ phi. With one path for all scored
tokens of a document,

    log p(scored | observed) = log sum_c q(c | observed) prod_w (sum_l theta_l(c) phi(c, l, w))^n_w,

with 1 / V for the levels of a path that lie outside the tree. Protocol ``density``: the log
density of held-out rows of numbers before they are seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.base import archives
from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.contract import PathMixture, Posterior, Settings, registry
from hiertopics.corpus.data import Corpus, Tree, Vectors
from hiertopics.corpus.holdouts.partition import OBSERVED
from hiertopics.corpus.holdouts.split import hash_of_file
from hiertopics.numeric.pitman_yor import PitmanYor
from hiertopics.runs import newdocs, unseen
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import check_fitted
from hiertopics.runs.trained import is_partial, whole_blocks
from hiertopics.scoring.cache import SEEN, Trial, bursty_chances, seen_before
from hiertopics.scoring.protocols.caching import (
    WITH_CACHE,
    CacheInput,
    ScoringTopics,
    cache_fields,
    learning,
    scored_with_cache,
)
from hiertopics.scoring.protocols.job import (
    CutOptions,
    ScoringJob,
    cut_job,
    documents_aside,
    tokens_aside,
    whole_job,
)
from hiertopics.scoring.request import HeldoutResult, Request
from hiertopics.scoring.scores import log_likelihoods, perplexity_of, pool, word_chances


class TokensOptions(NamedTuple):
    """average: score the mean over a sampler's kept draws."""

    average: bool = False


class CompletionOptions(NamedTuple):
    """The fields of ``CutOptions``, and the cache.

    cache: score with a cache, too. cache_from: what its numbers are learned from, "seen" parts of
    the documents or "training" documents.
    """

    corpus: Path | str | None = None
    observed: float = OBSERVED
    seed: int = 0
    average: bool = False
    hide_groups: bool = False
    cache: bool = False
    cache_from: str = SEEN


class FullOptions(NamedTuple):
    """corpus: score this file. average: score the mean over a sampler's kept draws."""

    corpus: Path | str | None = None
    average: bool = False


def completion(request: Request, options: CompletionOptions) -> HeldoutResult:
    """Return the score of the unobserved tokens of documents given their observed share.

    With a cache: the scores of the mixture and of the cache around it, side by side. Raises
    UsageError for options or a run that the protocol does not fit.
    """
    if options.cache_from != SEEN and not options.cache:
        raise UsageError("--cache-from has no meaning without --cache")
    cut = CutOptions(**{name: getattr(options, name) for name in CutOptions._fields})
    job = cut_job(request, cut, "completion")
    placed = place(request, job)
    if not options.cache:
        return score_words(request, job, placed, average=options.average)
    seed = request.run.split.seed if options.corpus is None else options.seed
    given = learning(request, job, options.cache_from, seed)
    return score_with_cache(request, job, placed, given, average=options.average)


def tokens(request: Request, options: TokensOptions) -> HeldoutResult:
    """Return the score of each document's withheld tokens under its training theta.

    Raises UsageError for a run that put no tokens aside, or that has bursts.
    """
    split = tokens_aside(request.run, "tokens")
    if "bursts" in request.run.tree.extra:
        raise UsageError(
            "protocol tokens does not know what bursts there are in training documents; score a "
            "run whose holdout is of documents by completion"
        )
    job = ScoringJob(None, split.scored, 0, split.hash)
    return score_words(request, job, place(request, job), average=options.average)


def full(request: Request, options: FullOptions) -> HeldoutResult:
    """Return the score of all tokens, which are all seen before: optimistic.

    For backends with paths it is the protocol of C. Wang, D. Blei: Variational inference for the
    nested Chinese restaurant process, NIPS 2009, Table 1 (theory/ncrp 6): paths and level
    weights come from the words that are scored, and the path is averaged over the whole document.
    Of models with bursts the mixture alone is scored.
    """
    job = whole_job(request, options.corpus, "full")
    placed = place(request, job)
    rule = score_words if placed.mixture is None else score_paths
    return rule(request, job, placed, average=options.average)


def path(request: Request, options: CutOptions) -> HeldoutResult:
    """Return the score of unobserved tokens, with one path for all tokens of a document.

    Raises UsageError for a backend without paths.
    """
    job = cut_job(request, options, "path")
    placed = place(request, job)
    if placed.mixture is None:
        backend = request.run.manifest["backend"]
        raise UsageError(f"protocol path needs a backend whose documents take paths, not {backend}")
    return score_paths(request, job, placed, average=options.average)


def place(
    request: Request, job: ScoringJob, tree: Tree | None = None, draw: int | None = None
) -> Posterior:
    """Return the places of documents, by their observed tokens, under the run's tree or a draw."""
    if job.observed is None:
        return Posterior(request.run.theta)
    corpus = Corpus(job.observed, request.run.vocab, groups=job.groups, labels=job.labels)
    return newdocs.infer_theta(request.run, corpus, tree=tree, draw=draw, engine=request.engine)


def score_words(
    request: Request, job: ScoringJob, placed: Posterior, *, average: bool
) -> HeldoutResult:
    """Score each token by itself under theta @ phi; ``average``: under its mean over draws.

    Of a model with bursts under the document's own distribution, given what is seen of it.
    """
    if average:
        drawn = [(each.tree, at) for each, at in _draws(request, job)]
    else:
        drawn = [(request.run.tree, placed)]
    chances = np.mean([_chances(request.run, tree, at, job) for tree, at in drawn], axis=0)
    result = _result(request, job, placed, log_likelihoods(chances, job.scored))
    if job.observed is None and is_partial(request.run, placed.theta):
        result = _by_chances(result, chances)
    if placed.tables is None:
        return result
    by_topics = [word_chances(at.theta, tree.phi, job.scored) for tree, at in drawn]
    return _with_parts(result, _parts(job, chances), _topics_alone(job, by_topics))


def _topics_alone(job: ScoringJob, by_topics: list[F64]) -> dict[str, float | int | None]:
    """Return the perplexity of new words under topics, without bursts; by_topics: of each draw."""
    return _parts(job, np.mean(by_topics, axis=0), BY_TOPICS, NEW_WORDS)


BY_TOPICS = "_by_topics"
SEEN_WORDS, NEW_WORDS = "perplexity_of_seen_words", "perplexity_of_new_words"


def _parts(
    job: ScoringJob, chances: F64, suffix: str = "", *only: str
) -> dict[str, float | int | None]:
    """Return the perplexities of scored tokens: of seen words, and of new words.

    A word is seen where the seen part of its document has it. suffix: of the names of the fields.
    only: the fields to return; without any, also the number of tokens of seen words.
    """
    if job.observed is None or job.observed is job.scored:
        return {}
    seen, times = seen_before(job.observed, job.scored), job.scored.data
    found: dict[str, float | int | None] = {
        f"{name}{suffix}": perplexity_of(chances[which], times[which])
        for name, which in ((SEEN_WORDS, seen), (NEW_WORDS, ~seen))
        if not only or name in only
    }
    return found if only or suffix else found | {"seen_word_tokens": int(times[seen].sum())}


def _with_parts(result: HeldoutResult, *parts: dict[str, float | int | None]) -> HeldoutResult:
    metrics = dict(result.metrics)
    for part in parts:
        metrics |= part
    return result._replace(metrics=metrics)


def _by_chances(result: HeldoutResult, chances: F64) -> HeldoutResult:
    """Return a result with p(w | d) of each scored entry in place of an incomplete theta."""
    kept = {name: a for name, a in result.arrays.items() if not name.startswith("theta_")}
    return result._replace(arrays=kept | {"chances": chances})


def _chances(run: RunDir, tree: Tree, placed: Posterior, job: ScoringJob) -> F64:
    """Return p(w | d) of each scored entry."""
    if job.observed is None:
        return _trained_chances(run, tree, placed.theta, job.scored)
    chances = word_chances(placed.theta, tree.phi, job.scored)
    if placed.tables is None or job.observed is job.scored:
        return chances  # what is seen does not predict itself
    process = PitmanYor(*tree.extra["bursts"].tolist())
    trial = Trial(job.observed, np.empty(0), job.scored, chances)
    return bursty_chances(process, trial, placed.tables.data)


def _trained_chances(
    run: RunDir, tree: Tree, theta: sparse.csr_array, scored: sparse.csr_array
) -> F64:
    """Return p(w | d) of each entry of training documents, under every entry of their theta."""
    if not is_partial(run, theta):
        return word_chances(theta, tree.phi, scored)
    parts = [np.empty(0)]
    for docs, rows in whole_blocks(run, tree, theta):
        parts.append(word_chances(rows, tree.phi, sparse.csr_array(scored[docs])))
    return np.concatenate(parts)


def score_with_cache(
    request: Request, job: ScoringJob, placed: Posterior, given: CacheInput | None, *, average: bool
) -> HeldoutResult:
    """Score as ``score_words`` does, and with a cache; ``average``: by the mean of each over draws.

    Every draw has a cache of its own. given: what caches are learned from; None: there is nothing,
    and both scores are those of the mixture.
    """
    run = request.run
    drawn = (
        _draws(request, job)
        if average
        else iter([(ScoringTopics(run.tree, run.theta, None), placed)])
    )
    own, by_topics, cached, caches = [], [], [], []
    for topics, at in drawn:
        own.append(_chances(run, topics.tree, at, job))
        if placed.tables is not None:
            by_topics.append(word_chances(at.theta, topics.tree.phi, job.scored))
        if given is not None:
            cache, chances = scored_with_cache(request, job, given, topics, at.theta)
            caches.append(cache)
            cached.append(chances)
    plain = log_likelihoods(np.mean(own, axis=0), job.scored)
    per_doc = log_likelihoods(np.mean(cached, axis=0), job.scored) if cached else plain
    result = _result(request, job, placed, plain, {f"log_likelihood{WITH_CACHE}": per_doc})
    fields = cache_fields(caches, pool(per_doc, job.scored))
    chances = np.mean(own, axis=0)
    of_cache = np.mean(cached, axis=0) if cached else chances
    alone = _topics_alone(job, by_topics) if by_topics else {}
    parts = (_parts(job, chances), _parts(job, of_cache, WITH_CACHE), alone)
    return _with_parts(result, fields, *parts)


def score_paths(
    request: Request, job: ScoringJob, placed: Posterior, *, average: bool
) -> HeldoutResult:
    """Score each document's tokens by one path; ``average``: by the mean over draws."""
    if average:
        logs = np.array([_by_paths(drawn.tree, at, job) for drawn, at in _draws(request, job)])
        per_doc = np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))
    else:
        per_doc = _by_paths(request.run.tree, placed, job)
    return _result(request, job, placed, per_doc, _paths_of(placed).to_arrays())


def path_log_likelihoods(mixture: PathMixture, phi: F64, scored: sparse.csr_array) -> F64:
    """Return log sum over paths of q(path) p(scored tokens | path) per document, float64 [n_docs].

    phi: [n_nodes, n_words]. Levels outside the tree have the flat topic 1 / n_words.
    """
    n_words = phi.shape[1]
    # Words first, for rows that lie together; node -1 is the last column.
    by_word = np.vstack([phi, np.full(n_words, 1.0 / n_words)]).T.copy()
    found = np.zeros(scored.shape[0])
    for doc in range(scored.shape[0]):
        cells = slice(scored.indptr[doc], scored.indptr[doc + 1])
        paths = slice(mixture.indptr[doc], mixture.indptr[doc + 1])
        rows = by_word[scored.indices[cells]]
        chances = np.einsum(
            "wpl,pl->pw", rows[:, mixture.node[paths]], mixture.level_weights[paths]
        )
        found[doc] = logsumexp(mixture.log_prob[paths] + np.log(chances) @ scored.data[cells])
    return found


def _by_paths(tree: Tree, placed: Posterior, job: ScoringJob) -> F64:
    return path_log_likelihoods(_paths_of(placed), tree.phi, job.scored)


def _paths_of(placed: Posterior) -> PathMixture:
    assert placed.mixture is not None
    return placed.mixture


def _draws(request: Request, job: ScoringJob) -> Iterator[tuple[ScoringTopics, Posterior]]:
    """Yield the kept draws, each with where the documents lie under it; UsageError without any."""
    topics = None
    for number, (tree, theta) in enumerate(request.run.draws()):
        topics = ScoringTopics(tree, theta, number)
        yield (
            topics,
            Posterior(theta) if job.observed is None else place(request, job, tree, number),
        )
    if topics is None:
        raise UsageError(f"{request.run.path} kept no draws to average over")


def _result(
    request: Request,
    job: ScoringJob,
    placed: Posterior,
    per_doc: F64,
    more: dict[str, NDArray[Any]] | None = None,
) -> HeldoutResult:
    found = pool(per_doc, job.scored)
    if found.n_tokens == 0:
        raise UsageError("there is no token to score")
    unseen = request.run.split.word_counts[job.scored.indices] == 0
    metrics = {
        **found._asdict(),
        "unknown_tokens": job.unknown_tokens,
        "unseen_tokens": int(job.scored.data[unseen].sum()),
    }
    arrays = archives.pack_csr("theta", placed.theta) | archives.pack_csr("scored", job.scored)
    return HeldoutResult(metrics, job.split, arrays | {"log_likelihood": per_doc} | (more or {}))


class DensityOptions(NamedTuple):
    """corpus: score the rows of this file."""

    corpus: Path | str | None = None


def density(request: Request, options: DensityOptions) -> HeldoutResult:
    """Return the mean log density per row (natural logs) and its standard error over rows.

    The backend's ``log_density`` gives that of each row. Perplexity has no meaning here. Raises
    UsageError where there is no row to score.
    """
    run = request.run
    if options.corpus is None:
        split = documents_aside(run, "density")
        rows, code = Vectors(split.heldout.toarray(), run.vocab), split.hash
    else:
        rows = unseen.read_unseen(run, options.corpus, request.data).corpus
        code = hash_of_file(rows)
    if rows.n_docs == 0:
        raise UsageError("there is no row to score")
    experiment = run.experiment
    settings = Settings(experiment.model, experiment.inference)
    backend = registry.load_for(experiment)
    density_of = backend.log_density
    assert density_of is not None, "the protocol is for backends that observe rows of numbers"
    check_fitted(run.tree, backend, settings)
    log_density = density_of(run.tree, rows, settings)
    spread = np.sqrt(((log_density - log_density.mean()) ** 2).sum())
    metrics = {
        "log_likelihood_per_row": float(log_density.mean()),
        "perplexity": None,
        "standard_error": float(spread / rows.n_docs),
        "n_docs": rows.n_docs,
    }
    arrays = archives.pack_csr("scored", sparse.csr_array(rows.rows))
    return HeldoutResult(metrics, code, arrays | {"log_density": log_density}, of_words=False)
