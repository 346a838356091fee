"""The corpus as the kernels want it: cells in blocks for threads, and the parents of documents.

A cell is a token for the samplers and a (document, word) pair for the variational methods.
Documents and words are both cut into S contiguous ranges of about equal work. Round r visits the
S blocks (document range s, word range (s + r) mod S): they share neither a document's nor a
word's row of the count tables, so S threads may work at once and the result depends on S, never
on the number of threads. Only the topic totals are seen as they were when the round began.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.corpus import Corpus, Tags


class Cells(NamedTuple):
    """Cells in document order, by word id within a document.

    cuts: int64 [n_docs, S + 1]; cells ``cuts[d, s] .. cuts[d, s + 1]`` are those of document d
    in word range s. word: int32 [n_cells]. tokens: float [n_cells], tokens of the cell.
    doc_bounds: int64 [S + 1], the document ranges.
    """

    cuts: NDArray[np.int64]
    word: NDArray[np.int32]
    tokens: NDArray[np.floating]
    doc_bounds: NDArray[np.int64]

    @property
    def n_shards(self) -> int:
        """Number S of document ranges and of word ranges."""
        return len(self.doc_bounds) - 1


class Parents(NamedTuple):
    """Links between documents and the groups that have at least one of them (spec chdp 0).

    ptr: int64 [n_docs + 1]; the links of document d are ``ptr[d] .. ptr[d + 1]``. group: int32
    [n_links], the parent at the other end, ascending within a document. The transpose:
    group_ptr int64 [n_groups + 1]; for the links of group a, ascending by document, doc: int32
    [n_links] their documents and link: int64 [n_links] their places in ``group``.
    """

    ptr: NDArray[np.int64]
    group: NDArray[np.int32]
    group_ptr: NDArray[np.int64]
    doc: NDArray[np.int32]
    link: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups with at least one document."""
        return len(self.group_ptr) - 1

    def uniform(self) -> NDArray[np.float64]:
        """Return the share of each link where a document's parents weigh alike [n_links]."""
        n_parents = np.diff(self.ptr)
        return np.repeat(1.0 / np.maximum(n_parents, 1), n_parents)


class Linked(Protocol):
    """Documents with their parents, however their words are laid out; fields as in ``Data``."""

    @property
    def parents(self) -> Parents:
        """The links."""

    @property
    def columns(self) -> NDArray[np.int64]:
        """The column of ``tags`` that each group is."""

    @property
    def tags(self) -> Tags | None:
        """The groups or labels of the corpus."""


class Data(NamedTuple):
    """A corpus laid out.

    parents: its links; ``columns`` int64 [n_groups]: the column of ``tags`` that each group is.
    doc_lengths: int64 [n_docs]. n_words: size of the vocabulary.
    """

    cells: Cells
    parents: Parents
    columns: NDArray[np.int64]
    tags: Tags | None
    doc_lengths: NDArray[np.int64]
    n_words: int

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.doc_lengths)


def lay_out(
    corpus: Corpus,
    parents: str,
    n_shards: int,
    dtype: DTypeLike = np.float64,
    *,
    tokens: bool = False,
) -> Data:
    """Lay ``corpus`` out; ``parents``: groups or labels.

    tokens: one cell per token instead of one per pair.
    """
    counts = corpus.counts
    repeats = counts.data if tokens else np.ones(corpus.n_pairs, dtype=np.int64)
    word = np.repeat(counts.indices, repeats).astype(np.int32)
    weights = np.ones(len(word), dtype) if tokens else counts.data.astype(dtype)
    ends = np.concatenate([[0], np.cumsum(repeats, dtype=np.int64)])
    doc_ptr = ends[counts.indptr]
    word_bounds = _even_bounds(np.bincount(word, minlength=corpus.n_words), n_shards)
    cuts = np.empty((corpus.n_docs, n_shards + 1), dtype=np.int64)
    for doc in range(corpus.n_docs):
        start, stop = doc_ptr[doc], doc_ptr[doc + 1]
        cuts[doc] = start + np.searchsorted(word[start:stop], word_bounds)
    cells = Cells(cuts, word, weights, _even_bounds(np.diff(doc_ptr), n_shards))
    tags = parent_tags(corpus, parents)
    links, columns = link_parents(tags, corpus.n_docs)
    return Data(cells, links, columns, tags, corpus.doc_lengths, corpus.n_words)


def parent_tags(corpus: Corpus, parents: str) -> Tags | None:
    """Return the corpus's groups or its labels, as ``model.parents`` says."""
    return corpus.groups if parents == "groups" else corpus.labels


def link_parents(tags: Tags | None, n_docs: int) -> tuple[Parents, NDArray[np.int64]]:
    """Return the links of documents, and the tag column of each group that has one of them.

    Without tags no document has a parent.
    """
    if tags is None:
        none, empty = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
        ptr = np.zeros(n_docs + 1, dtype=np.int64)
        return Parents(ptr, empty, none, empty, none[:0]), none[:0]
    members = tags.members.sorted_indices()
    columns, group = np.unique(members.indices[members.data != 0], return_inverse=True)
    doc = np.repeat(np.arange(n_docs), np.diff(members.indptr))[members.data != 0]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(doc, minlength=n_docs))])
    by_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=len(columns))
    parents = Parents(
        ptr.astype(np.int64),
        group.astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        doc[by_group].astype(np.int32),
        by_group.astype(np.int64),
    )
    return parents, columns.astype(np.int64)


def rounds(n_shards: int) -> list[list[tuple[int, int]]]:
    """Return the schedule: S rounds of S (document range, word range) blocks."""
    shards = range(n_shards)
    return [[(shard, (shard + turn) % n_shards) for shard in shards] for turn in shards]


def _even_bounds(work: NDArray[np.integer], n_parts: int) -> NDArray[np.int64]:
    """Cut items into contiguous parts of about equal work: int64 [n_parts + 1] bounds."""
    total = np.cumsum(work, dtype=np.int64)
    targets = np.arange(1, n_parts) * (total[-1] / n_parts if len(total) else 0.0)
    inner = np.searchsorted(total, targets)
    return np.concatenate([[0], inner, [len(work)]]).astype(np.int64)
