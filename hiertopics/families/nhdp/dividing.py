"""The first q(z) of a tree: that of flat topics, divided among nodes (theory/nhdp 6.2 and 6.3)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Floats
from hiertopics.base.room import beside
from hiertopics.contract import Context, Each, Settings
from hiertopics.families.flat.layout import Data, Piece, build_piece, parts_of
from hiertopics.families.nhdp import document_kernels, documents, mixing
from hiertopics.families.nhdp.config import NhdpVariationalInference
from hiertopics.families.nhdp.first_topics import WORDS_AT_ONCE, AnyTopics, turned
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal
from hiertopics.families.nhdp.patches import PatchedTable
from hiertopics.families.nhdp.shapes import GROUP, OTHER, ArrangedTopics
from hiertopics.families.nhdp.state import State, counted
from hiertopics.numeric.special import exp_of, log_of

ROUNDS = 10
"""Rounds that find theta of documents which the flat topics have not seen."""

PASSING = 0.1
"""The weight of stopping at branches and groups, relative to that at other inner nodes."""

FLOOR = 1e-7
"""The least chance of a word in the mean of logarithms."""


def begin(
    flat: AnyTopics,
    arranged_topics: ArrangedTopics,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
) -> State:
    """Return the state of these topics as the leaves of this tree (theory/nhdp 6.3)."""
    division = divide(flat, arranged_topics, data, settings.inference, dtype)
    return divided(division, arranged_topics, data, settings, context, dtype)


def divided(
    division: Division,
    arranged_topics: ArrangedTopics,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> State:
    """Return the state of topics that were divided among the nodes of a tree."""
    model = settings.model
    stop = model.stop_prior.stop * np.where(arranged_topics.kind != OTHER, PASSING, 1.0)
    begun = mixing.even(arranged_topics.shape, model.concentration, stop, model.stop_prior.go)
    bounds = pairwise(data.cells.doc_bounds.tolist())
    seats = documents.tables_of_pieces(division.tables, data)
    messages = [
        division._replace(theta=rows_between(division.theta, *ends), tables=own)
        for ends, own in zip(bounds, seats, strict=True)
    ]
    del division
    local = context.place(build_piece, parts_of(data), _divided, Each(messages))
    del messages  # their tables are as large as the counts by word
    return counted(local, begun, data, dtype)


class Division(NamedTuple):
    """Input of q(z); see ``document_kernels.divide``. least: as in ``documents.begin``.

    theta [n_docs, K], at nodes, or ``PatchedTable`` [n_docs, T], of topics; without columns it is
    found anew from the topics: phi [n_words, T], share [T] of all tokens. node: int64 [T], of each
    topic. bursty: whether documents are; tables: of pairs then, None: one for each token.
    """

    theta: Floats | PatchedTable
    leaf_part: Floats
    lent: Floats
    inner_phi: Floats
    ancestry: Ancestry
    least: float
    phi: Floats
    share: Floats
    node: I64
    bursty: bool
    tables: Floats | None


def rows_between(table: Floats | PatchedTable, first: int, last: int) -> Floats | PatchedTable:
    """Return a table of some rows, a view of the arrays of the table."""
    return table.between(first, last) if isinstance(table, PatchedTable) else table[first:last]


def _divided(piece: Piece, division: Division) -> AnyLocal:
    """Return the first state of a piece; not yet counted."""
    cells, ancestry = piece.cells, division.ancestry
    parts = (division.leaf_part, division.lent, division.inner_phi, ancestry)

    def theta_of(first: int, last: int) -> Floats:
        if isinstance(division.theta, PatchedTable):
            of_topics = division.theta[first:last]
            dtype = division.leaf_part.dtype
            return at_nodes(of_topics, division.node, len(ancestry.parent), dtype)
        if division.theta.shape[1]:
            return division.theta[first:last]
        by_topic = document_kernels.fold(cells, first, last, division.phi, division.share, ROUNDS)
        theta = np.zeros((last - first, len(ancestry.parent)), by_topic.dtype)
        np.add.at(theta.T, division.node, by_topic.T)
        return theta

    def rows(first: int, last: int) -> Floats:
        return document_kernels.divide(cells, first, last, theta_of(first, last), *parts)

    room, tables = beside(cells.word), None
    if division.bursty:
        tables = documents.room_for_tables(piece, division.tables, division.leaf_part.dtype)
    return documents.begin(piece, rows, ancestry, division.least, room, tables)


def divide(
    flat: AnyTopics,
    arranged_topics: ArrangedTopics,
    data: Data,
    inference: NhdpVariationalInference,
    dtype: DTypeLike,
) -> Division:
    """Return q(z) of leaves, part of it lent to the nodes above (theory/nhdp 6.3)."""
    shape, at = arranged_topics.shape, arranged_topics.node
    shared = shared_topics(flat, arranged_topics)
    tables = [np.empty((data.n_words, shape.n_nodes), dtype) for _ in range(3)]
    for first in range(0, data.n_words, WORDS_AT_ONCE):
        part = slice(first, first + WORDS_AT_ONCE)
        divided = _divided_words(
            flat, flat.phi[:, part], shared[:, part], arranged_topics, inference
        )
        for table, rows in zip(tables, divided, strict=True):
            table[part] = rows.T
    # theta is of a sample where it is not of all documents: then each piece makes its own.
    theta: Floats | PatchedTable
    phi, seats = np.empty((0, 0), dtype), flat.tables
    if len(flat.theta) != data.n_docs:
        theta, phi, seats = np.empty((data.n_docs, 0), dtype), turned(flat.phi, dtype), None
    elif isinstance(flat.theta, PatchedTable):
        theta = flat.theta
    else:
        theta = at_nodes(flat.theta, at, shape.n_nodes, dtype)
    share = (flat.n_k / flat.n_k.sum()).astype(dtype)
    leaf_part, lent, above = tables
    own = (leaf_part, lent, above, shape.ancestry, inference.least)
    return Division(theta, *own, phi, share, at, data.bursts is not None, seats)


def at_nodes(theta: F64, at: I64, n_nodes: int, dtype: DTypeLike) -> Floats:
    """Return theta of topics as theta of their nodes, [n_docs, n_nodes]; at: int64 [T].

    Some documents at a time: in float64 it would be larger than all that the start keeps.
    """
    found = np.empty((len(theta), n_nodes), dtype)
    for first in range(0, len(theta), documents.DOCS_AT_ONCE):
        docs = slice(first, first + documents.DOCS_AT_ONCE)
        rows = np.zeros((n_nodes, len(theta[docs])))
        np.add.at(rows, at, theta[docs].T)
        found[docs] = rows.T
    return found


def _divided_words(
    flat: AnyTopics,
    phi: F64,
    shared: F64,
    arranged_topics: ArrangedTopics,
    inference: NhdpVariationalInference,
) -> tuple[F64, F64, F64]:
    """Return leaf_part, lent and inner_phi of some words, [K, n_words].

    phi [T, n_words], shared [n_inner, n_words]: of these words.
    """
    shape, at = arranged_topics.shape, arranged_topics.node
    above = np.zeros((shape.n_nodes, phi.shape[1]))
    above[shape.inner] = shared
    above[arranged_topics.kind == GROUP] = 0
    # Sums along the path: what all nodes above a leaf would give to a word.
    along, lenders = above.copy(), (arranged_topics.kind != GROUP).astype(np.int64)
    for node in range(1, shape.n_nodes):
        along[node] += along[shape.parent[node]]
        lenders[node] += lenders[shape.parent[node]]
    lending = np.where(shape.n_children[at] == 0, inference.inner_share, 0.0)[:, None]
    depth = np.maximum(lenders[at] - 1, 1)[:, None]
    own = (1.0 - lending) * phi
    total = own + lending / depth * along[at]
    leaf_part, lent = np.zeros_like(above), np.zeros_like(above)
    # Several topics may be one inner node's own: there its words are theirs, by tokens.
    weight = flat.n_k / np.bincount(at, flat.n_k, shape.n_nodes)[at]
    np.add.at(leaf_part, at, weight[:, None] * phi * own / total)
    np.add.at(lent, at, phi * lending / (depth * total))
    return leaf_part, lent, above


def shared_topics(flat: AnyTopics, arranged_topics: ArrangedTopics) -> F64:
    """Return the common words of the topics below each inner node, float64 [n_inner, n_words].

    Their geometric mean, weighted by tokens, scaled to sum to 1 (theory/nhdp 6.2).
    """
    inner = arranged_topics.shape.inner
    weights = arranged_topics.members[inner] * flat.n_k
    weights /= weights.sum(axis=1, keepdims=True)
    by_topic, logs = sparse.csr_array(weights), np.empty((len(inner), flat.phi.shape[1]))
    for first in range(0, logs.shape[1], WORDS_AT_ONCE):
        words = slice(first, first + WORDS_AT_ONCE)
        phi = flat.phi[:, words] + FLOOR
        logs[:, words] = by_topic @ log_of(phi.ravel()).reshape(phi.shape)
    rows = logs - logs.max(axis=1, keepdims=True)
    rows = exp_of(rows.ravel()).reshape(rows.shape)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
