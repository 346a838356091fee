"""A start for the partially collapsed sampler: the topics of a short run of hdp-cvb0.

From uniform topics exact draws of topics mix slowly: an empty cell is next to 0 in most draws, so
that a word enters a topic in bursts. So hdp-cvb0 is fitted to some documents, and its topics are
held for the first iterations, in which z alone is drawn (theory/hdp 6.5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hiertopics.arrays import F32, F64, I64
from hiertopics.data.corpus import Corpus
from hiertopics.engine import Workers
from hiertopics.families.flat.config import ModelSettings, PosteriorInference
from hiertopics.families.hdp.block_layout import Blocks
from hiertopics.families.hdp.summary import word_probabilities
from hiertopics.families.hdp.variational import cvb0
from hiertopics.model import Context, Settings

SWEEPS = 20
HELD = 5
"""Iterations that hold the start's topics."""

ROOM = 125_000_000
"""Responsibilities of the start, pairs times topics: it sees as many documents as this allows."""

LEAST_REST = 1e-12


class Begun(NamedTuple):
    """What a start says, in fields of the state."""

    order: I64
    n_tables: I64
    log_rest: F64
    pi: F64
    tau: F64
    alpha: float
    gamma: float
    word_mass: float
    topics: F32


def from_topics(data: Blocks, settings: ModelSettings, context: Context) -> Begun:
    """Return what a short run comes to, sticks to the largest topics first.

    Topics are numbered along the sticks; with seed words, whose topics have numbers, as in the run.
    """
    corpus = _sample(data, ROOM // settings.model.truncation, context.rng("sample"))
    schedule = Settings(settings.model, PosteriorInference())
    laid_out = cvb0.prepare(corpus, schedule)
    # One piece, whose tables would only travel to another process and back.
    here = context.workers if isinstance(context.workers, Workers) else Workers()
    found = cvb0.init(laid_out, schedule, replace(context, workers=here))
    for sweep in range(1, SWEEPS + 1):
        at = Context(context.seed, sweep, here)
        found, _ = cvb0.step(found, laid_out, schedule, at)
        context.report(sweep, SWEEPS)
    along = np.argsort(-found.pi, kind="stable")
    by_number = np.arange(len(along))
    number, order = (by_number, along) if data.seeds.names else (along, by_number)
    pi = found.pi[along] / found.pi.sum()
    rest = np.concatenate([[1.0], np.maximum(1.0 - np.cumsum(pi[:-1]), LEAST_REST)])
    topics = word_probabilities(found.n_wk, found.word_mass * found.tau)
    return Begun(
        order,
        np.rint(found.n_tables[number]).astype(np.int64),
        np.minimum(np.diff(np.log(rest)), 0.0),
        found.pi[number] / found.pi.sum(),
        found.tau,
        found.alpha,
        found.gamma,
        found.word_mass,
        topics[:, number].astype(np.float32),
    )


def _sample(data: Blocks, n_pairs: int, rng: np.random.Generator) -> Corpus:
    """Return random documents of at most so many pairs, at least one, in order."""
    order = rng.permutation(data.n_docs)
    sizes = np.cumsum(data.corpus.doc_pairs[order])
    chosen = np.sort(order[: max(1, int(np.searchsorted(sizes, n_pairs, side="right")))])
    return Corpus(data.corpus.counts_of(chosen), data.corpus.vocab)
