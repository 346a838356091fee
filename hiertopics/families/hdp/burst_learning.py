"""How the concentration b of bursts is learned during a fit (theory/bursts 7).

Topics of a training document contain its own repeated words, so that its mixture explains them
without bursts, and b found from training documents is too large. So some documents are put aside
for part of the fit: 80% of their tokens place them under the topics of the others, and b predicts
the other 20% best. Then they join the sweeps, and b is held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import digamma

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.base.stretches import ends_of
from hiertopics.contract.model import Context
from hiertopics.families.flat import burst_kernels
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.bursts import BURST_PRIOR, BurstPlan, Repeats
from hiertopics.families.flat.layout import Data
from hiertopics.families.flat.summary import document_weights
from hiertopics.numeric.pitman_yor import PitmanYor, predictive, search
from hiertopics.numeric.pitman_yor_kernels import MeanTables, seat

LOWEST, HIGHEST = 1e-3, 1e6
"""Bounds of b."""

SHORTEST = 10
"""Tokens of a document that may be put aside, at least."""

FOLD = (30, 1e-3, burst_kernels.HELD_SWEEPS)
"""Sweeps of a fold-in during a fit at most, its tolerance, and sweeps that hold tables."""

PREDICTED = 0.2
"""Share of its tokens that b is to predict."""


class HasDocuments(Protocol):
    """A corpus that is laid out in some way."""

    @property
    def doc_lengths(self) -> I64:
        """Tokens of each document, int64 [n_docs]."""


class AsideDocument(NamedTuple):
    """A document that is put aside. words, seen, kept_back: int [n_pairs], tokens of each word."""

    words: I32
    seen: I64
    kept_back: I64


Place = Callable[[AsideDocument], F64]
"""Returns p_w of each word of a document, float64 [n_pairs], placed by its seen tokens."""


def is_due(iteration: int, plan: BurstPlan | Repeats) -> bool:
    """Tell whether an iteration ends with an update of b: at times, once tables are refitted."""
    since = iteration - plan.start - 1
    return plan.every is not None and since >= 0 and since % plan.every == 0


def choose_aside(data: HasDocuments, n_docs: int, context: Context) -> I64:
    """Return at most ``n_docs`` documents to be put aside, drawn by the seed.

    int64 [n], ascending.
    """
    able = np.flatnonzero(data.doc_lengths >= SHORTEST)
    rng = replace(context, iteration=0).rng("bursts aside")
    return np.sort(rng.permutation(able)[:n_docs])


def parted(words: I32, counts: I64, doc: int, context: Context) -> AsideDocument:
    """Return document ``doc`` in two parts, the same throughout a fit.

    words: int32 [n_words of it]. counts: int64, tokens of each of these.
    """
    rng = replace(context, iteration=0).rng("bursts parted", doc)
    tokens = np.repeat(np.arange(len(counts)), counts)
    chosen = rng.permutation(tokens)[: round(PREDICTED * len(tokens))]
    kept_back = np.bincount(chosen, minlength=len(counts))
    return AsideDocument(words, counts - kept_back, kept_back)


def place(part: AsideDocument, phi: Floats, doc_prior: Floats, seating: TableRule) -> F64:
    """Return p_w of each word of a document, placed by its seen tokens with topics held.

    phi: p(w | topic) of its words [n_pairs, T]. doc_prior: pseudo-counts [T].
    """
    there = np.flatnonzero(part.seen)
    resp, found = burst_kernels.fold_in(
        there.astype(np.int32), part.seen[there].astype(np.float64), phi, doc_prior, seating, *FOLD
    )
    # A product by BLAS rounds as memory is aligned and by the number of its threads.
    theta = document_weights((found[:, None] * resp).sum(axis=0)[None, :], doc_prior)[0]
    return np.asarray((phi * theta).sum(axis=1))


def from_aside(docs: I64, data: Data, means: MeanTables, place: Place, context: Context) -> float:
    """Return the b that best predicts the tokens kept back of documents that are put aside.

    docs: int64 [n].
    """
    parts = [parted(*_pairs(data, doc), doc, context) for doc in docs.tolist()]
    value_under = likelihood(parts, context.map(place, parts))
    return search(lambda _: value_under(means), (means.discount,)).process.concentration


def _pairs(data: Data, doc: int) -> tuple[I32, I64]:
    """Return the words of a document and the tokens of each."""
    own = slice(int(data.cells.cuts[doc, 0]), int(data.cells.cuts[doc, -1]))
    return data.cells.word[own], data.cells.tokens[own].astype(np.int64)


def likelihood(
    parts: Sequence[AsideDocument], chances: Sequence[F64]
) -> Callable[[MeanTables], Callable[[float], float]]:
    """Return the log chance of all tokens kept back: of the means of a discount, then of b.

    In nats. chances: float64 [n_words of it] for each document, p_w of its words.
    """
    seen = [part.seen > 0 for part in parts]
    starts = ends_of([int(each.sum()) for each in seen])
    counts = np.concatenate([part.seen[each] for part, each in zip(parts, seen, strict=True)])
    of_seen = np.concatenate([p[each] for p, each in zip(chances, seen, strict=True)])
    doc_of = np.repeat(np.arange(len(parts)), [len(part.words) for part in parts])
    all_seen = np.concatenate([part.seen for part in parts])
    lengths = np.bincount(doc_of, all_seen, len(parts))
    mixture = np.concatenate(chances)
    kept_back = np.concatenate([part.kept_back for part in parts])
    scored, is_seen = kept_back > 0, np.concatenate(seen)

    def value(means: MeanTables, concentration: float) -> float:
        tables = np.zeros(len(mixture))
        tables[is_seen] = seat(starts, counts.astype(np.int32), of_seen, means, concentration)
        totals = np.bincount(doc_of, tables, len(parts))
        chance = predictive(
            PitmanYor(means.discount, concentration),
            mixture,
            all_seen,
            tables,
            totals[doc_of],
            lengths[doc_of],
        )
        return float((kept_back[scored] * np.log(chance[scored])).sum())

    return lambda means: partial(value, means)


def mode_of_concentration(tables: F64, lengths: F64, discount: float) -> float:
    """Return the mode of ln b given tables and tokens of documents, within its bounds.

    The zero of dl/db + shape/b - rate (theory/bursts 7) in ln b, of ``BURST_PRIOR``. tables,
    lengths: float64 [n_docs], of documents that have tokens.
    """
    from scipy.optimize import brentq  # slow to import

    def slope(log_b: float) -> float:
        slope_of_b = slope_of(math.exp(log_b), tables, lengths, discount) - BURST_PRIOR.rate
        return math.exp(log_b) * slope_of_b + BURST_PRIOR.shape

    low, high = math.log(LOWEST), math.log(HIGHEST)
    if slope(low) <= 0.0:
        return LOWEST
    if slope(high) >= 0.0:
        return HIGHEST
    return math.exp(float(brentq(slope, low, high, xtol=1e-10)))


def slope_of(b: float, tables: F64, lengths: F64, discount: float) -> float:
    """Return dl/db of equation (4): sums over tables and tokens but the first of each document.

    tables, lengths: float64 [n_docs], of documents with tokens.
    """
    if discount == 0.0:
        opened = (tables - 1.0) / b
    else:
        start = b / discount
        opened = (digamma(start + tables) - digamma(start)) / discount - 1.0 / b
    closed = digamma(b + lengths) - digamma(b) - 1.0 / b
    return float((opened - closed).sum())


def from_fit(tables: F64, data: Data, discount: float) -> float:
    """Return b learned from the training documents themselves. tables: float64 [n_docs]."""
    there = (data.doc_lengths > 0) & (tables > 0)
    lengths = data.doc_lengths[there].astype(np.float64)
    return mode_of_concentration(tables[there], lengths, discount)
