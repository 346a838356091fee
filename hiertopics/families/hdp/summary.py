"""From counts of any HDP method to the flat tree and theta, some documents at a time.

Where theta would be large, only topics that a document has tokens of are stored. What a document
gets from its prior is the same mixture of topics for all, up to its mass: with the row outside
standing for that mixture, theta @ phi is what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Numbers
from hiertopics.base.room import Room, beside
from hiertopics.contract import Pieces, Summary
from hiertopics.families.flat.summary import (
    EntriesWriter,
    RowEntries,
    TopicsBySize,
    by_size,
    document_weights,
    flat_tree,
    notes_on_truncation,
    stacked_rows,
)

MOST_ENTRIES = 1 << 25
"""Entries of theta up to which all of them are stored: 400 MB."""

LEAST_TOKENS = 1e-3
"""Expected tokens of a topic in a document below which they go to the row outside."""

CELLS = 1 << 18
"""Entries of theta that are made at a time."""


class ThetaPlan(NamedTuple):
    """How theta is made. topics: in the order of its columns. doc_prior: float64 [T].

    entire: whether every entry is stored; else there is a column outside, the last one.
    """

    topics: TopicsBySize
    doc_prior: F64
    entire: bool

    @property
    def outside(self) -> bool:
        """Whether there is a column outside the live topics."""
        return len(self.topics.dropped) > 0 or not self.entire

    @property
    def n_columns(self) -> int:
        """Number of columns of theta."""
        return len(self.topics.live) + self.outside


class TopicTheta(NamedTuple):
    """Theta of some documents.

    n_docs: int64 [n_columns], in how many documents each column has at least a token's share.
    dropped: float64 [n_dropped], what they give each dropped topic.
    """

    theta: RowEntries
    n_docs: I64
    dropped: F64


def planned(topics: TopicsBySize, doc_prior: F64, n_docs: int) -> ThetaPlan:
    """Return the plan for n documents; doc_prior: float64 [n_topics]."""
    n_columns = len(topics.live) + (len(topics.dropped) > 0)
    return ThetaPlan(topics, doc_prior, n_docs * n_columns <= MOST_ENTRIES)


def weigh_rows(n_dk: Numbers, plan: ThetaPlan, room: Room) -> TopicTheta:
    """Return theta of documents with these (expected) counts [n, T]."""
    step = max(1, CELLS // n_dk.shape[1])
    return weigh((n_dk[first : first + step] for first in range(0, len(n_dk), step)), plan, room)


def weigh(blocks: Iterable[Numbers], plan: ThetaPlan, room: Room) -> TopicTheta:
    """Return theta of documents whose (expected) counts come in blocks [n, T]."""
    writer, n_docs = EntriesWriter(room), np.zeros(plan.n_columns, np.int64)
    dropped = np.zeros(len(plan.topics.dropped))
    for n_dk in blocks:
        weights = document_weights(n_dk, plan.doc_prior)
        # Sums of contiguous rows: those of others depend on how many rows a block has.
        others = np.ascontiguousarray(weights[:, plan.topics.dropped])
        dropped += others.sum(axis=0)
        rest = others.sum(axis=1, keepdims=True)
        theta = np.concatenate([weights[:, plan.topics.live], rest], axis=1)[:, : plan.n_columns]
        n_tokens = n_dk.sum(axis=1, dtype=np.float64)
        n_docs += (theta >= 1.0 / np.maximum(n_tokens, 1.0)[:, None]).sum(axis=0)
        if not plan.entire:
            theta = _without_prior(n_dk, n_tokens, plan)
        stored = theta > 0 if not plan.entire else np.ones(theta.shape, np.bool_)
        writer.add_stored(theta, stored)
    return TopicTheta(writer.done(), n_docs, dropped)


def _without_prior(n_dk: Numbers, n_tokens: F64, plan: ThetaPlan) -> F64:
    """Return shares of tokens; in the last column those of the prior, and of parts of a token."""
    whole = n_tokens + plan.doc_prior.sum()
    shares = np.empty((len(n_dk), plan.n_columns))
    counts = n_dk[:, plan.topics.live]
    np.divide(np.where(counts >= LEAST_TOKENS, counts, 0), whole[:, None], out=shares[:, :-1])
    shares[:, -1] = np.maximum(1.0 - shares[:, :-1].sum(axis=1), 0.0)
    return shares


NO_MASS = 1e-290
"""Below it products with word probabilities underflow: dropped topics then count alike."""


def word_probabilities(n_wk: Numbers, word_prior: F64) -> F64:
    """Return phi word-major, float64 [n_words, T]: (n_wk + prior) / (n_k + prior total)."""
    phi = np.add(n_wk, word_prior[:, None], dtype=np.float64)
    np.maximum(phi, word_prior[:, None], out=phi)
    phi /= phi.sum(axis=0)
    return phi


class HdpSummaryInput(NamedTuple):
    """The result of every HDP method in pieces, on its truncation T.

    local: with n_dk [n_docs, T]. n_wk [n_words, T], n_k [T]: (expected) counts. doc_prior [T]:
    alpha E[pi]. word_prior [n_words]: eta V tau. names: of topics that have one beforehand.
    """

    local: Pieces[Any, Any]
    n_wk: Numbers
    n_k: Numbers
    doc_prior: F64
    word_prior: F64
    names: Mapping[int, str] = MappingProxyType({})


def summarise(fitted: HdpSummaryInput, n_docs: int) -> Summary:
    """Return the summary; each piece makes theta of its documents in blocks."""
    plan = planned(by_size(fitted.n_k), fitted.doc_prior, n_docs)
    parts = fitted.local.ask(_weigh, plan)
    summary = summarise_counts(parts, plan, fitted.n_wk, fitted.word_prior)
    return named(summary, plan, fitted.names)


def named(summary: Summary, plan: ThetaPlan, names: Mapping[int, str]) -> Summary:
    """Return the summary with names of topics at their nodes; it notes those without a token."""
    row = {topic: number for number, topic in enumerate(plan.topics.live.tolist())}
    empty = [name for topic, name in names.items() if topic not in row]
    notes = [f"the topic of the seed words {name!r} has no token" for name in empty]
    found = {row[topic]: name for topic, name in names.items() if topic in row}
    return replace(summary, names=found).noting(*notes)


def _weigh(piece: Any, local: Any, plan: ThetaPlan) -> TopicTheta:
    return weigh_rows(local.n_dk, plan, beside(local.n_dk))


def summarise_counts(
    parts: Sequence[TopicTheta], plan: ThetaPlan, n_wk: Numbers, word_prior: F64
) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    n_wk: expected counts [n_words, n_topics]. word_prior: float64 [n_words]. The row outside is the
    mean of the dropped topics, weighted by their mass in theta, so that theta @ phi keeps every
    document's whole predictive distribution. Where only a part of theta is stored, it is the mean
    of all topics under the documents' prior.
    """
    topics, doc_prior = plan.topics, plan.doc_prior
    phi = word_probabilities(n_wk, word_prior).T
    rows, prior = phi[topics.live], topics.gather(doc_prior)
    if plan.outside:
        mass = sum(part.dropped for part in parts) + doc_prior[topics.dropped]
        outside = _mean(mass, phi[topics.dropped]) if plan.entire else _mean(doc_prior, phi)
        rows = np.vstack([rows, outside / outside.sum()])
        if not len(topics.dropped):
            prior = np.append(prior, 0.0)
    n_tokens = topics.gather(topics.n_k.astype(np.float64))
    return _with_theta(parts, plan, rows, n_tokens, prior, beside(parts[0].theta.values))


def _mean(mass: F64, rows: F64) -> F64:
    if mass.sum() < NO_MASS:
        mass = np.ones(len(mass))
    return np.asarray(mass @ rows / mass.sum())


def _with_theta(
    parts: Sequence[TopicTheta], plan: ThetaPlan, rows: F64, n_tokens: F64, prior: F64, room: Room
) -> Summary:
    """Return the summary of these rows of words, and of theta that was made in parts."""
    n_docs = np.asarray(sum(part.n_docs for part in parts))
    n_tokens = np.maximum(np.pad(n_tokens, (0, len(rows) - len(n_tokens))), 0.0)
    tree = flat_tree(rows, len(plan.topics.live), n_tokens, n_docs, {"doc_prior": prior})
    notes = notes_on_truncation(tree, len(plan.doc_prior))
    return Summary(
        tree, stacked_rows([part.theta for part in parts], plan.n_columns, room), notes=notes
    )


def summarise_tokens(
    parts: Sequence[TopicTheta], plan: ThetaPlan, n_wk: I32, word_prior: F64, room: Room
) -> Summary:
    """Return the result of ``summarise_counts`` for whole counts, int32 [n_words, n_topics].

    Topics without tokens are all alike: the prior. Where only a part of theta is stored, the row
    outside is the mean of all topics under the documents' prior.
    """
    live, doc_prior = plan.topics.live, plan.doc_prior
    rows = np.empty((plan.n_columns, len(word_prior)))
    for row, topic in enumerate(live):
        np.add(n_wk[:, topic], word_prior, out=rows[row])
        rows[row] /= rows[row].sum()
    prior = doc_prior[live]
    if plan.outside:
        prior = np.append(prior, doc_prior[plan.topics.dropped].sum())
        outside = word_prior / word_prior.sum()
        if not plan.entire:
            outside = prior[:-1] @ rows[:-1] + prior[-1] * outside
        rows[-1] = outside / outside.sum()
    return _with_theta(parts, plan, rows, plan.topics.n_k[live].astype(np.float64), prior, room)
