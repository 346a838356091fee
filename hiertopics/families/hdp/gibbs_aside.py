"""Documents that hdp-gibbs puts aside to learn its bursts (theory/bursts 9.1).

Topics of a training document contain its own repeated words, so that its mixture explains them
without bursts: with many topics the discount is drawn near 1. So some documents have no table for
a part of the burn-in. The topics of the others place them, and discount and concentration are
those that predict 20% of their tokens best. Then these documents join the sweeps, and both are
held.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.contract import Context, Each
from hiertopics.families.flat import burst_kernels
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.bursts import Repeats
from hiertopics.families.flat.layout import Data, Piece
from hiertopics.families.flat.seat_kernels import EMPTY
from hiertopics.families.hdp import burst_learning
from hiertopics.families.hdp.burst_learning import FOLD, AsideDocument
from hiertopics.numeric.pitman_yor import PitmanYor, mean_tables, search
from hiertopics.numeric.pitman_yor_kernels import LARGEST

DRAWN, LEARNING, HELD = range(3)
"""Stages of a fit: a and b are drawn; learned from documents that are put aside; held."""


class HeldTopics(NamedTuple):
    """Topics of a draw, held while documents are placed under them.

    n_wk: int32 [n_words, T], tables by word and topic, with seed words. n_k: float [T], tables of
    topics, including seed words and the words' prior. word, doc: pseudo-counts of words [n_words]
    and of topics [T]. process: a and b.
    """

    n_wk: I32
    n_k: Floats
    word: F64
    doc: F64
    process: PitmanYor

    def topics_of(self, words: I32) -> F64:
        """Return p(w | topic) of some words, float64 [n, T]."""
        return np.asarray((self.n_wk[words] + self.word[words, None]) / self.n_k)


def put_aside(data: Data, z: I32, repeats: Repeats, context: Context) -> int:
    """Empty the slots z [n_tokens] of the documents that are put aside; return the stage."""
    cuts = data.cells.cuts
    docs = burst_learning.choose_aside(data, repeats.n_aside, context)
    for doc in docs.tolist():
        z[cuts[doc, 0] : cuts[doc, -1]] = EMPTY
    # Where all documents are too short to be parted, a and b are drawn.
    return LEARNING if len(docs) else DRAWN


def pairs_of(data: Data, doc: int) -> tuple[I32, I64]:
    """Return the words of a document, int32 [n], ascending, and the tokens of each, int64 [n]."""
    own = data.cells.word[data.cells.cuts[doc, 0] : data.cells.cuts[doc, -1]]
    words, counts = np.unique(own, return_counts=True)
    return words, counts.astype(np.int64)


def learn(
    held: HeldTopics, docs: I64, pairs: Sequence[tuple[I32, I64]], context: Context
) -> PitmanYor:
    """Return the a and b that best predict the kept-back tokens of documents that are put aside.

    docs: int64 [n]. pairs: words and tokens of each document.
    """
    parts = [
        burst_learning.parted(*pair, doc, context)
        for pair, doc in zip(pairs, docs.tolist(), strict=True)
    ]
    counts = np.unique(np.concatenate([part.seen[part.seen > 0] for part in parts]))
    seating = TableRule(mean_tables(counts, held.process.discount), held.process.concentration)
    chances = context.map(partial(_place, held, seating), parts)
    value_under = burst_learning.likelihood(parts, chances)
    return search(lambda discount: value_under(mean_tables(counts, discount))).process


def _place(held: HeldTopics, seating: TableRule, part: AsideDocument) -> F64:
    return burst_learning.place(part, held.topics_of(part.words), held.doc, seating)


class JoiningDocument(NamedTuple):
    """A document that joins. doc: its number. words, topics: int32 [n], of its tokens in order.

    A topic is EMPTY where a pair has more tokens than it may have tables.
    """

    doc: int
    words: I32
    topics: I32


def seats_for(
    held: HeldTopics, docs: I64, pairs: Sequence[tuple[I32, I64]], context: Context
) -> list[JoiningDocument]:
    """Return documents with a table for each token, whose topics are drawn where these place it.

    docs: int64 [n]. pairs: words and tokens of each document.
    """
    counts = np.unique(np.concatenate([counts for _, counts in pairs]))
    seating = TableRule(mean_tables(counts, held.process.discount), held.process.concentration)
    messages = [(doc, *pair) for doc, pair in zip(docs.tolist(), pairs, strict=True)]
    return list(context.map(partial(_seat, held, seating, context), messages))


def _seat(
    held: HeldTopics, seating: TableRule, context: Context, message: tuple[int, I32, I64]
) -> JoiningDocument:
    doc, words, counts = message
    here = np.arange(len(words), dtype=np.int32)
    of_tokens = counts.astype(np.float64)
    resp, _ = burst_kernels.fold_in(
        here, of_tokens, held.topics_of(words), held.doc, seating, *FOLD
    )
    pair_of = np.repeat(here, counts)
    sums = np.cumsum(resp, axis=1)[pair_of]
    chosen = context.rng("bursts join", doc).random(len(pair_of)) * sums[:, -1]
    topics = (sums <= chosen[:, None]).sum(axis=1).astype(np.int32)
    place = np.arange(len(pair_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    topics[place >= LARGEST] = EMPTY
    return JoiningDocument(doc, words[pair_of], topics)


def place(state: Any, data: Data, joining: list[JoiningDocument]) -> None:
    """Write the tables of documents into the pieces of a state of ``bursty_gibbs``."""
    bounds = data.cells.doc_bounds
    piece_of = np.searchsorted(bounds, [each.doc for each in joining], side="right") - 1
    messages: list[list[tuple[int, I32]]] = [[] for _ in bounds[:-1]]
    for each, piece in zip(joining, piece_of.tolist(), strict=True):
        messages[piece].append((each.doc - int(bounds[piece]), each.topics))
    state.local.step(_join, Each(messages))


def _join(piece: Piece, local: Any, joining: list[tuple[int, I32]]) -> tuple[Any, None]:
    for doc, topics in joining:
        cuts = piece.cells.cuts[doc]
        local.z[cuts[0] : cuts[-1]] = topics
        local.n_dk[doc] = np.bincount(topics[topics >= 0], minlength=local.n_dk.shape[1])
    return local, None


def documents_aside(tables: I64, data: Any) -> I64:
    """Return the documents that are put aside, int64. tables: of each document [n_docs]."""
    return np.flatnonzero((tables == 0) & (data.doc_lengths > 0))
