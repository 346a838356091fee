"""Protocol ``empirical``: whole documents under a mixture of documents drawn from the model.

    log p(d) = log sum_m p_m(d) - log M,        p_m(d) = prod_w p_m(w)^n_dw

with M word distributions p_m drawn from the fitted model, evenly from all kept draws. Nothing is
learned from a document before it is scored. R. Adams, Z. Ghahramani, M. Jordan: Tree-structured
stick breaking for hierarchical data, NIPS 2010 (theory/tssb 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.base import archives, seeds
from hiertopics.base.arrays import F32, F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.contract import Components, Settings, registry
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import check_fitted
from hiertopics.scoring.protocols.job import ScoringJob, whole_job
from hiertopics.scoring.request import HeldoutResult, Request
from hiertopics.scoring.scores import pool

N_BLOCKS = 10
CHUNK = 128
"""Drawn documents whose word chances are tabulated at a time."""

Draw = Callable[[Tree, int, np.random.Generator], Iterator[Components]]


class EmpiricalOptions(NamedTuple):
    """corpus: score this file. samples: documents drawn, in all. seed: of these draws."""

    corpus: Path | str | None = None
    samples: int = 100_000
    seed: int = 0


def score(request: Request, options: EmpiricalOptions) -> HeldoutResult:
    """Return the score of all tokens of each document.

    Raises UsageError for options out of range, a run that the protocol does not fit, and a corpus
    without tokens.
    """
    if options.samples < N_BLOCKS:
        raise UsageError(f"--samples must be >= {N_BLOCKS}, got {options.samples}")
    if options.seed < 0:
        raise UsageError(f"--seed must be >= 0, got {options.seed}")
    draw = _draw_of(request.run)
    job = whole_job(request, options.corpus, "empirical")
    if job.scored.nnz == 0:
        raise UsageError("there is no token to score")
    by_block = log_likelihoods(request.run, draw, job.scored, options.samples, options.seed)
    return _result(request, job, options, by_block)


def log_likelihoods(
    run: RunDir, draw: Draw, scored: sparse.csr_array, n_samples: int, seed: int
) -> F64:
    """Return log p(d) by each of the disjoint blocks of drawn documents, float64 [10, n_docs].

    Part p of the samples (``parts``) is drawn by the generator of (seed, "empirical", p). A run
    without kept draws gives its summarised tree.
    """
    documents = ScoredDocuments(scored, _reference(run.tree))
    sums = [LogSums(len(documents)) for _ in range(N_BLOCKS)]
    plan = parts(n_samples, max(run.n_draws, 1), N_BLOCKS)
    trees = (tree for tree, _ in run.draws()) if run.n_draws else iter([run.tree])
    for draw_number, tree in enumerate(trees):
        for number, part in enumerate(plan):
            if part.draw == draw_number:
                drawn = draw(tree, part.n_samples, seeds.derive(seed, "empirical", number))
                for weights, logs in documents.log_ratios(tree, drawn):
                    sums[part.block].add(weights, logs)
    log_sums = np.array([each.value for each in sums])
    log_sizes = np.log(_block_sizes(n_samples))[:, None]
    return np.asarray(log_sums - log_sizes + documents.base)


def _draw_of(run: RunDir) -> Draw:
    """Return how the run's backend draws documents from a tree of the run."""
    experiment = run.experiment
    backend = registry.load_for(experiment)
    predictive = backend.predictive
    if predictive is None:
        name = experiment.backend
        raise UsageError(
            f"protocol empirical draws documents from a fitted model, which {name} does not offer"
        )
    settings = Settings(experiment.model, experiment.inference)

    def draw(tree: Tree, n_samples: int, rng: np.random.Generator) -> Iterator[Components]:
        check_fitted(tree, backend, settings)
        yield from predictive(tree, n_samples, settings, rng)

    return draw


def _reference(tree: Tree) -> F64:
    """Return the mean distribution over words; flat where a word has no chance."""
    mean = tree.weight @ tree.phi
    return np.asarray(np.where(mean > 0, mean, 1.0 / len(mean)))


def _block_sizes(n_samples: int) -> I64:
    sizes = np.zeros(N_BLOCKS, dtype=np.int64)
    for part in parts(n_samples, 1, N_BLOCKS):
        sizes[part.block] += part.n_samples
    return sizes


def _result(
    request: Request, job: ScoringJob, options: EmpiricalOptions, by_block: F64
) -> HeldoutResult:
    sizes = _block_sizes(options.samples)
    per_doc = logsumexp(by_block, axis=0, b=(sizes / sizes.sum())[:, None])
    found = pool(per_doc, job.scored)
    lengths = np.asarray(job.scored.sum(axis=1)).ravel()
    filled = lengths > 0
    rates = [pool(logs, job.scored).log_likelihood_per_word for logs in by_block]
    unseen = request.run.split.word_counts[job.scored.indices] == 0
    metrics = {
        **found._asdict(),
        "mean_document_perplexity": float(np.exp(-per_doc[filled] / lengths[filled]).mean()),
        "block_deviation": float(np.std(rates, ddof=1)),
        "unknown_tokens": job.unknown_tokens,
        "unseen_tokens": int(job.scored.data[unseen].sum()),
        "n_samples": options.samples,
        "n_draws": request.run.n_draws,
        "seed": options.seed,
    }
    arrays = {**archives.pack_csr("scored", job.scored), "log_likelihood": per_doc}
    return HeldoutResult(metrics, job.split, arrays | {"log_likelihood_by_block": by_block})


class SampleBlock(NamedTuple):
    """Some of the documents to draw: how many, from which tree, for which block of them."""

    draw: int
    block: int
    n_samples: int


def parts(n_samples: int, n_draws: int, n_blocks: int) -> list[SampleBlock]:
    """Spread samples evenly over draws and, in the same order, over disjoint blocks."""
    by_draw = [n_samples * draw // n_draws for draw in range(n_draws + 1)]
    by_block = [n_samples * block // n_blocks for block in range(n_blocks + 1)]
    cuts = sorted({*by_draw, *by_block})
    ends = np.array(cuts[1:])
    draws = np.searchsorted(by_draw, ends) - 1
    blocks = np.searchsorted(by_block, ends) - 1
    sizes = np.diff(cuts)
    return [SampleBlock(*map(int, part)) for part in zip(draws, blocks, sizes, strict=True)]


class ScoredDocuments:
    """Documents to be scored, relative to a distribution over words that is about theirs.

    Sums of float32 logarithms of p(w) / reference(w) stay small, and so do their errors.
    """

    def __init__(self, scored: sparse.csr_array, reference: F64) -> None:
        """Keep the words that occur; ``reference`` [n_words] is positive."""
        self.words = np.unique(scored.indices)
        self.counts = sparse.csr_array(scored[:, self.words], dtype=np.float32)
        self.reference = reference[self.words]
        self.base = self.counts.astype(np.float64) @ np.log(self.reference)

    def __len__(self) -> int:
        """Return how many documents there are."""
        return int(self.counts.shape[0])

    def log_ratios(self, tree: Tree, blocks: Iterable[Components]) -> Iterator[tuple[F64, F32]]:
        """Yield (weights [m], log p(d | component) - log reference(d) [n_docs, m])."""
        before, by_word = None, np.empty((0, 0), np.float32)
        for weights, mixtures, own in blocks:
            rows = tree.phi if own is None else own
            if rows is not before:
                before = rows
                by_word = (rows[:, self.words] / self.reference).T.astype(np.float32)
            for start in range(0, len(weights), CHUNK):
                chunk = slice(start, start + CHUNK)
                table = by_word @ mixtures[chunk].T.astype(np.float32)
                with np.errstate(divide="ignore"):
                    np.log(table, out=table)
                yield weights[chunk], self.counts @ table


class LogSums:
    """Running log sums of exponentials, one per document: float64 [n_docs]."""

    def __init__(self, n_docs: int) -> None:
        """Begin with empty sums."""
        self.peak = np.full(n_docs, -np.inf)
        self.total = np.zeros(n_docs)

    def add(self, weights: F64, logs: F32) -> None:
        """Add weights [m] times the exponentials of logs [n_docs, m]."""
        peak = np.maximum(self.peak, logs.max(axis=1))
        # A document that is impossible so far has nothing to be scaled by.
        shift = np.where(np.isfinite(peak), peak, 0.0)
        self.total *= np.exp(self.peak - shift)
        self.total += np.exp(logs - shift[:, None]) @ weights
        self.peak = peak

    @property
    def value(self) -> F64:
        """The natural logarithms of the sums, float64 [n_docs]; -inf of an empty one."""
        with np.errstate(divide="ignore"):
            return np.where(np.isfinite(self.peak), self.peak, 0.0) + np.log(self.total)
