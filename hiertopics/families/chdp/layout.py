"""The corpus of the cooperative HDP: the cells of ``hdp.layout``, and the parents of documents."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, Tags
from hiertopics.families.hdp import layout
from hiertopics.families.hdp.layout import Cells


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


def lay_out(corpus: Corpus, parents: str, n_shards: int) -> Data:
    """Lay ``corpus`` out, one cell per token; ``parents``: groups or labels."""
    laid = layout.lay_out(corpus, n_shards, np.float64, tokens=True)
    tags = parent_tags(corpus, parents)
    links, columns = link_parents(tags, corpus.n_docs)
    return Data(laid.cells, links, columns, tags, laid.doc_lengths, laid.n_words)


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
