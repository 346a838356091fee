"""The corpus of the cooperative HDP: the cells of ``flat.layout``, and the parents of documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, I32, I64, Bools, Ints
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.families.flat import layout
from hiertopics.families.flat.layout import Cells


class Parents(NamedTuple):
    """Links between documents and the groups that have a training document (theory/chdp 0).

    ptr: int64 [n_docs + 1]; the links of document d are ``ptr[d] .. ptr[d + 1]``. group: int32
    [n_links], the parent at the other end, ascending within a document. The transpose:
    group_ptr int64 [n_groups + 1]; for the links of group a, ascending by document, doc: int32
    [n_links] their documents and link: int64 [n_links] their places in ``group``.
    """

    ptr: I64
    group: I32
    group_ptr: I64
    doc: I32
    link: I64

    @property
    def n_groups(self) -> int:
        """Number of groups with at least one document."""
        return len(self.group_ptr) - 1

    @property
    def orphaned(self) -> Bools:
        """Whether each document has no parents [n_docs]."""
        return np.asarray(np.diff(self.ptr) == 0)

    def uniform(self) -> F64:
        """Return the share of each link where a document's parents weigh alike [n_links]."""
        n_parents = np.diff(self.ptr)
        return np.repeat(1.0 / np.maximum(n_parents, 1), n_parents)

    def shares_of(self, weights: F64) -> F64:
        """Return weights of links, scaled to sum to 1 over the parents of a document [n_links]."""
        n_docs = len(self.ptr) - 1
        owner = rows_of(self.ptr)
        return np.asarray(weights / np.bincount(owner, weights, minlength=n_docs)[owner])

    def shares(self, learned: F64) -> F64:
        """Return ``learned``, or the uniform shares where none are learned: [0]."""
        return learned if len(learned) else self.uniform()


class PieceData(NamedTuple):
    """Data of a piece: its cells, and its documents' parents as numbers of groups.

    ptr: int64 [n_docs + 1], which counts from the corpus's first link. group: int32 [n_links].
    """

    cells: layout.PieceData
    ptr: I64
    group: I32
    n_groups: int


class Piece(NamedTuple):
    """A piece as of ``flat.layout``, and the links of its documents.

    even: float64 [n_links], shares of links where a document's parents weigh alike.
    """

    cells: Cells
    blocks: Cells
    first_doc: int
    parents: Parents
    even: F64

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.cells.cuts)

    def shares(self, learned: F64) -> F64:
        """Return ``learned``, or the uniform shares where none are learned: [0]."""
        return learned if len(learned) else self.even


class Data(NamedTuple):
    """A corpus laid out as without groups, and the links of its documents.

    columns: int64 [n_groups], the column of ``tags`` that each group is. tags: the groups or
    labels of the corpus.
    """

    laid: layout.Data
    parents: Parents
    columns: I64
    tags: Tags | None

    @property
    def cells(self) -> Cells:
        """The cells."""
        return self.laid.cells

    @property
    def doc_lengths(self) -> I64:
        """Tokens of each document [n_docs]."""
        return self.laid.doc_lengths

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return self.laid.n_docs

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.laid.n_words


def parts_of(data: Data) -> list[PieceData]:
    """Return the data of the pieces."""
    parents, at = data.parents, data.cells.doc_bounds
    parts = []
    for cells, first, last in zip(layout.parts_of(data.laid), at, at[1:], strict=False):
        ptr = parents.ptr[first : last + 1]
        parts.append(PieceData(cells, ptr, parents.group[ptr[0] : ptr[-1]], parents.n_groups))
    return parts


def build_piece(part: PieceData) -> Piece:
    """Return a piece by itself."""
    flat = layout.build_piece(part.cells)
    ptr = part.ptr - part.ptr[0]
    doc = rows_of(ptr)
    parents = linked(ptr, part.group, doc, part.n_groups)
    return Piece(*flat, parents, parents.uniform())


def bounds(data: Data) -> dict[str, I64]:
    """Return the bounds of pieces in arrays by cell, document or link, int64 [S + 1]."""
    return {**layout.bounds(data.laid), "share": data.parents.ptr[data.cells.doc_bounds]}


def lay_out(
    corpus: Corpus,
    parents: str,
    n_shards: int,
    dtype: DTypeLike = np.float32,
    *,
    tokens: bool = False,
) -> Data:
    """Lay ``corpus`` out as ``flat.layout`` does; ``parents``: groups or labels."""
    tags = parent_tags(corpus, parents)
    laid = layout.lay_out(corpus, n_shards, dtype, tokens=tokens)
    return Data(laid, *link_parents(tags, corpus.n_docs), tags)


def of_other_groups(n_groups: int, data: Data) -> str | None:
    """Return an error if a saved state and the corpus differ in their number of groups."""
    if n_groups == data.parents.n_groups:
        return None
    return f"weights of {n_groups} groups, but the corpus has {data.parents.n_groups}"


def parent_tags(corpus: Corpus, parents: str) -> Tags | None:
    """Return the corpus's groups or its labels, as ``model.parents`` says."""
    return corpus.groups if parents == "groups" else corpus.labels


def link_parents(tags: Tags | None, n_docs: int) -> tuple[Parents, I64]:
    """Return the links of documents, and the tag column of each linked group.

    The columns: int64 [n_groups], ascending. Without tags no document has a parent.
    """
    if tags is None:
        none, empty = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
        ptr = np.zeros(n_docs + 1, dtype=np.int64)
        return Parents(ptr, empty, none, empty, none[:0]), none[:0]
    members = tags.members.sorted_indices()
    columns, group = np.unique(members.indices[members.data != 0], return_inverse=True)
    doc = rows_of(members.indptr)[members.data != 0]
    ptr = ends_of(np.bincount(doc, minlength=n_docs))
    return linked(ptr, group, doc, len(columns)), columns.astype(np.int64)


def linked(ptr: Ints, group: Ints, doc: Ints, n_groups: int) -> Parents:
    """Return links with the given groups and documents, and their transpose.

    ptr: [n_docs + 1]. group, doc: [n_links], those of each document side by side.
    """
    by_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=n_groups)
    return Parents(
        ptr.astype(np.int64),
        group.astype(np.int32),
        ends_of(sizes),
        doc[by_group].astype(np.int32),
        by_group.astype(np.int64),
    )
