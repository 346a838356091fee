"""Theta of all documents, some at a time, from their counts by topic.

Where it would be large, only topics that a document has tokens of are stored. What a document gets
from its prior is the same mixture of topics for all, up to its mass: with the row outside standing
for that mixture, theta @ phi is what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.arrays import F64, I64, Numbers
from hiertopics.families.flat.summary import Topics, document_weights
from hiertopics.room import Room

MOST_ENTRIES = 1 << 25
"""Entries of theta up to which all of them are stored: 400 MB."""

LEAST_TOKENS = 1e-3
"""Expected tokens of a topic in a document below which they go to the row outside."""

CELLS = 1 << 18
"""Entries of theta that are made at a time."""


class Plan(NamedTuple):
    """How theta is made. topics: in the order of its columns. doc_prior: float64 [T].

    entire: whether every entry is stored; else there is a column outside, the last one.
    """

    topics: Topics
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


class Rows(NamedTuple):
    """Theta of some documents: values and columns of entries, int64 lengths of rows.

    n_docs: int64, in how many documents each column has at least a token's share. dropped: float64,
    what they give each dropped topic.
    """

    values: F64
    columns: NDArray[np.signedinteger]
    lengths: I64
    n_docs: I64
    dropped: F64


def planned(topics: Topics, doc_prior: F64, n_docs: int) -> Plan:
    """Return the plan for so many documents."""
    n_columns = len(topics.live) + (len(topics.dropped) > 0)
    return Plan(topics, doc_prior, n_docs * n_columns <= MOST_ENTRIES)


def weigh_rows(n_dk: Numbers, plan: Plan, room: Room) -> Rows:
    """Return theta of documents with these (expected) counts [n, T]."""
    step = max(1, CELLS // n_dk.shape[1])
    return weigh((n_dk[first : first + step] for first in range(0, len(n_dk), step)), plan, room)


def weigh(blocks: Iterable[Numbers], plan: Plan, room: Room) -> Rows:
    """Return theta of documents whose (expected) counts come in blocks [n, T]."""
    values, columns = room.growing(np.float64), room.growing(np.int32)
    lengths, n_docs = [np.empty(0, np.int64)], np.zeros(plan.n_columns, np.int64)
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
        values.append(theta[stored])
        columns.append(np.nonzero(stored)[1])
        lengths.append(stored.sum(axis=1))
    return Rows(values.done(), columns.done(), np.concatenate(lengths), n_docs, dropped)


def _without_prior(n_dk: Numbers, n_tokens: F64, plan: Plan) -> F64:
    """Return shares of tokens; in the last column those of the prior, and of parts of a token."""
    whole = n_tokens + plan.doc_prior.sum()
    shares = np.empty((len(n_dk), plan.n_columns))
    counts = n_dk[:, plan.topics.live]
    np.divide(np.where(counts >= LEAST_TOKENS, counts, 0), whole[:, None], out=shares[:, :-1])
    shares[:, -1] = np.maximum(1.0 - shares[:, :-1].sum(axis=1), 0.0)
    return shares


def theta_of(parts: Sequence[Rows], plan: Plan, room: Room) -> sparse.csr_array:
    """Return theta of all documents, float64 CSR [n_docs, n_columns]."""
    lengths = np.concatenate([part.lengths for part in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    kind = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
    values: F64 = parts[0].values
    columns: NDArray[np.signedinteger] = parts[0].columns.astype(kind, copy=False)
    if len(parts) > 1:
        values, columns = room.empty(int(indptr[-1]), np.float64), room.empty(int(indptr[-1]), kind)
        at = 0
        for part in parts:
            inside = slice(at, at + len(part.values))
            values[inside], columns[inside] = part.values, part.columns
            at = inside.stop
    shape = (len(lengths), plan.n_columns)
    return sparse.csr_array((values, columns, indptr.astype(kind)), shape=shape)
