"""From counts by topic to the flat tree and theta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools, Floats, Numbers
from hiertopics.base.made import all_entries
from hiertopics.base.room import Room
from hiertopics.base.stretches import ends_of
from hiertopics.contract.model import Summary
from hiertopics.corpus.data import NODE, OUTSIDE, ROOT, Bags, Regrouping, Shelf, Tree

LIVE_TOKENS = 1.0
NEARLY_ALL = 0.95
WEIGHTS = ("doc_prior", "corpus_theta", "corpus_mean", "group_theta", "group_mean")
"""Arrays of ``extra`` whose last axis is topics."""


class TopicCounts(NamedTuple):
    """Effective numbers of topics (theory/hdp 3.6); the truncation is never one of them.

    n_topics: topics with at least one expected token. n_topics_tables: with at least one
    expected table. n_topics_99: fewest topics that hold 99% of the tokens. n_topics_entropy:
    exp of the entropy of the topics' token shares.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float


def topic_counts(n_k: Numbers, n_tables: Numbers) -> TopicCounts:
    """Count topics by each rule, from (expected) tokens and tables per topic [T]."""
    share = np.sort(n_k / max(n_k.sum(), 1e-300))[::-1]
    positive = share[share > 0]
    return TopicCounts(
        int((n_k >= LIVE_TOKENS).sum()),
        int((n_tables >= LIVE_TOKENS).sum()),
        int(np.searchsorted(np.cumsum(share), 0.99) + 1) if len(positive) else 0,
        float(np.exp(-(positive * np.log(positive)).sum())),
    )


def document_weights(n_dk: Numbers, doc_prior: Floats) -> F64:
    """Return theta, float64 [n_docs, T]: n_dk + doc_prior, rows scaled to sum to 1."""
    theta = np.add(n_dk, doc_prior, dtype=np.float64)
    # Counts that were moved back and forth may end a rounding error below zero.
    np.maximum(theta, doc_prior, out=theta)
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


class RowEntries(NamedTuple):
    """Some sparse rows: values float64 and columns of their entries, and int64 lengths of rows."""

    values: F64
    columns: NDArray[np.signedinteger]
    lengths: I64


class EntriesWriter:
    """Collects sparse rows, some at a time. room: where their arrays grow."""

    def __init__(self, room: Room) -> None:
        self._values, self._columns = room.growing(np.float64), room.growing(np.int32)
        self._lengths = [np.empty(0, np.int64)]

    def add(self, values: F64, columns: NDArray[np.signedinteger], lengths: I64) -> None:
        """Add rows, as ``RowEntries`` holds them: values, columns [n_entries], lengths [n_rows]."""
        self._values.append(values)
        self._columns.append(columns)
        self._lengths.append(lengths)

    def add_stored(self, rows: F64, stored: Bools) -> None:
        """Add those entries of rows [n, n_columns] that are ``stored``, bool of the same shape."""
        self.add(rows[stored], np.nonzero(stored)[1], stored.sum(axis=1))

    def done(self) -> RowEntries:
        """Return all rows that were added."""
        return RowEntries(self._values.done(), self._columns.done(), np.concatenate(self._lengths))


def stacked_rows(parts: Sequence[RowEntries], n_columns: int, room: Room) -> sparse.csr_array:
    """Return the rows of all parts in order, float64 CSR [n_rows, n_columns].

    A single part is not copied.

    room: where several are put together.
    """
    lengths = np.concatenate([part.lengths for part in parts])
    indptr = ends_of(lengths)
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
    shape = (len(lengths), n_columns)
    return sparse.csr_array((values, columns, indptr.astype(kind)), shape=shape)


class TopicsBySize(NamedTuple):
    """Topics by size. n_k [T]: their (expected) tokens. live: ids of those with at least one,
    largest first; dropped: of the others. Both int64.
    """

    n_k: Numbers
    live: I64
    dropped: I64

    def gather(self, values: F64) -> F64:
        """Return ``values`` [..., T] of the live topics and, if any are dropped, these' sum."""
        kept = values[..., self.live]
        if not len(self.dropped):
            return kept
        rest = values[..., self.dropped].sum(axis=-1, keepdims=True)
        return np.concatenate([kept, rest], axis=-1)


def by_size(n_k: Numbers) -> TopicsBySize:
    """Return the topics of these (expected) tokens [T]."""
    order = np.argsort(-n_k, kind="stable")
    lives = n_k[order] >= LIVE_TOKENS
    return TopicsBySize(n_k, order[lives], order[~lives])


def summary_of(
    topics: TopicsBySize, rows: F64, theta: F64, n_dk: Numbers, extra: Mapping[str, NDArray[Any]]
) -> Summary:
    """Return ``summary_by_node`` of theta [n_docs, T]; it notes where topics ran out."""
    summary = summary_by_node(topics, rows, topics.gather(theta), n_dk, extra)
    return replace(summary, notes=notes_on_truncation(summary.tree, len(topics.n_k)))


def summary_by_node(
    topics: TopicsBySize, rows: F64, theta: F64, n_dk: Numbers, extra: Mapping[str, NDArray[Any]]
) -> Summary:
    """Return the flat tree of ``rows`` [n_nodes, n_words], with at most one row outside.

    theta [n_docs, n_nodes]; n_dk [n_docs, T]. extra: what the tree keeps for inference.
    """
    n_tokens = np.maximum(topics.gather(topics.n_k.astype(np.float64)), 0.0)
    doc_lengths = np.maximum(n_dk.sum(axis=1, dtype=np.float64), 1.0)
    n_docs = (theta >= 1.0 / doc_lengths[:, None]).sum(axis=0).astype(np.int64)
    tree = flat_tree(rows, len(topics.live), n_tokens, n_docs, extra)
    return Summary(tree, all_entries(theta))


def flat_tree(
    rows: F64, n_live: int, n_tokens: F64, n_docs: I64, extra: Mapping[str, NDArray[Any]]
) -> Tree:
    """Return the tree of ``rows`` [n_nodes, n_words], those from ``n_live`` on outside it.

    n_tokens, n_docs [n_nodes]. extra: what the tree keeps for inference.
    """
    kind = np.full(len(rows), NODE, dtype=np.int8)
    kind[n_live:] = OUTSIDE
    return Tree(
        phi=np.ascontiguousarray(rows),
        parent=np.full(len(rows), ROOT, dtype=np.int32),
        kind=kind,
        weight=n_tokens / max(n_tokens.sum(), 1.0),
        n_docs=n_docs,
        n_tokens=n_tokens,
        extra=extra,
    )


def merge_extra(tree: Tree, grouping: Regrouping) -> dict[str, NDArray[Any]]:
    """Return ``extra`` of flat topics after a merge of some of them.

    What is a weight of each topic, in documents, groups or the corpus, adds up; the rest stays.
    """
    return {
        name: grouping.sums(array) if name in WEIGHTS else array
        for name, array in tree.extra.items()
    }


def summary_bytes(corpus: Bags, n_topics: int) -> int:
    """Return the bytes of a summary in the making: topics by word and by topic, theta and a copy.

    A fit is at its largest there, where its state is small beside tables of float64. Theta of a
    corpus in files lies in files, too.
    """
    in_memory = 0 if isinstance(corpus, Shelf) else corpus.n_docs
    return n_topics * (16 * corpus.n_words + 20 * in_memory)


def notes_on_shards(n_shards: int) -> tuple[str, ...]:
    """Say where a sampler's draws are not those of the model."""
    if n_shards == 1:
        return ()
    return (f"{n_shards} shards: topic totals are seen late, so the draws are approximate",)


def notes_on_idle_shards(n_shards: int, what: str) -> tuple[str, ...]:
    """Warn if shards are set for a sampler that has none; what: tokens, documents."""
    if n_shards == 1:
        return ()
    return (f"inference.shards has no effect: {what} are visited one after the other",)


def notes_on_truncation(tree: Tree, truncation: int) -> tuple[str, ...]:
    """Say where the fit ran into its truncation, or into a single topic."""
    n_topics, notes = len(tree.shown), []
    if n_topics == truncation > 1:
        notes.append(
            f"all {truncation} topics of model.truncation are in use; a larger one may fit better"
        )
    if n_topics and truncation > 1 and tree.weight[tree.shown].max() > NEARLY_ALL:
        notes.append("one topic holds nearly every token; the corpus may be too small or uniform")
    return tuple(notes)
