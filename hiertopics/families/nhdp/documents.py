"""What belongs to documents: their own nodes, counts and responsibilities there (theory/nhdp 3.2).

A document's own nodes are those at which it has enough expected tokens when the sweeps begin, and
all above them. Its pairs have q(z) at these alone, so that neither memory nor time grows with the
nodes of the tree, but with those that a document uses.

Documents begin under topics that are known, on a tree that is known; or under the tree of an
earlier state, its topics and shares, where a fit goes on with further documents: all are placed
anew (theory/nhdp 7), and words that the earlier state had not have the chance that the prior gives
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, Floats, Ints
from hiertopics.base.room import Room, beside
from hiertopics.contract.engine import Each, Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.contract.states import Arrays
from hiertopics.families.flat.layout import Data, Piece, build_piece, pairs_of, parts_of, spans
from hiertopics.families.nhdp import document_kernels as kernels
from hiertopics.families.nhdp import mixing
from hiertopics.families.nhdp.layout import Ancestry, Local, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import fold_in
from hiertopics.families.nhdp.state import State, counted

DOCS_AT_ONCE = 1024

USUAL = 80
"""Own nodes of a document, of corpora that were looked at, by pair."""

Rows = Callable[[int, int], Floats]
"""From a range of documents to q(z) of their pairs at all nodes, [n_pairs, K]."""


def begin(piece: Piece, rows: Rows, ancestry: Ancestry, least: float, room: Room) -> Local:
    """Return the documents of a piece with their part of q(z); their counts are still 0.

    least: expected tokens that make a node a document's own.
    """
    cuts = piece.cells.cuts
    found, lengths = room.growing(np.int32), np.zeros(piece.n_docs, np.int64)
    kind = np.dtype(np.float32)
    for first, last in spans(cuts):
        dense = rows(first, last)
        kind = dense.dtype
        nodes = kernels.choose(piece.cells, first, last, dense, ancestry, least, lengths)
        found.append(nodes)
    first_node = np.concatenate([[0], np.cumsum(lengths)])
    first_resp = np.concatenate([[0], np.cumsum(lengths * (cuts[:, -1] - cuts[:, 0]))])
    node = found.done()
    resp = room.empty(int(first_resp[-1]), np.uint16 if kind == np.float32 else kind)
    n = room.empty(len(node), kind)
    n[:] = 0
    local = Local(first_node, node, n, first_resp, resp)
    for first, last in spans(cuts):
        kernels.keep(piece.cells, first, last, rows(first, last), local)
    return local


def counts_of(local: Local, n_nodes: int) -> Iterator[Floats]:
    """Yield the counts of a piece's documents by node, [n, K], some documents at a time."""
    for first in range(0, len(local.first_node) - 1, DOCS_AT_ONCE):
        ends = local.first_node[first : first + DOCS_AT_ONCE + 1]
        counts = np.zeros((len(ends) - 1, n_nodes), local.n.dtype)
        entries = slice(ends[0], ends[-1])
        doc = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        counts[doc, local.node[entries]] = local.n[entries]
        yield counts


class Known(NamedTuple):
    """theta CSR [n_docs, K] of a piece's documents, phi [n_words, K]; the rest as of ``begin``."""

    theta: sparse.csr_array
    phi: Floats
    ancestry: Ancestry
    least: float


def begin_known(
    parent: Ints,
    phi: F64,
    theta: sparse.csr_array,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
    stop: F64 | None = None,
) -> State:
    """Return the state with q(z) proportional to theta, CSR [n_docs, K], and phi [K, n_words].

    The nodes stand breadth first, siblings together. Shares are even. stop: float64 [K, 2], weights
    of stopping and of going on at inner nodes; None: those of the settings at each.
    """
    model, shape = settings.model, shape_of(parent)
    stop_a, stop_b = (model.stop_weight, model.go_weight) if stop is None else stop.T
    by_word = np.ascontiguousarray(phi.T, dtype)
    rest = (by_word, shape.ancestry, settings.inference.least)
    theta = theta.astype(dtype)
    messages = [
        Known(theta[first:last], *rest) for first, last in pairwise(data.cells.doc_bounds.tolist())
    ]
    begun = mixing.even(shape, model.concentration, stop_a, stop_b)
    local = context.place(build_piece, parts_of(data), _divided, Each(messages))
    return counted(local, begun, data, dtype)


def _divided(piece: Piece, known: Known) -> Local:
    """Return the first state of a piece; not yet counted."""
    theta, phi, ancestry, least = known

    def rows(first: int, last: int) -> Floats:
        doc, word = pairs_of(piece.cells, first, last)
        found = theta[first:last].toarray()[doc - first] * phi[word]
        return found / found.sum(axis=1, keepdims=True)

    return begin(piece, rows, ancestry, least, beside(piece.cells.word))


class Under(NamedTuple):
    """What documents are placed under; phi: float64 [n_words, K]. dtype: of q(z)."""

    mixing: Mixing
    phi: F64
    least: float
    dtype: DTypeLike


def continued(before: Arrays, data: Data, settings: Settings, context: Context) -> State:
    """Return the state of all documents under the tree of an earlier one."""
    counts = np.maximum(before["n_wk"], 0, dtype=np.float64)
    further = data.n_words - len(counts)
    phi = np.pad(counts, ((0, further), (0, 0))) + settings.model.eta
    phi /= phi.sum(axis=0)
    own = (before[name] for name in ("share", "concentration", "stop_a", "stop_b"))
    mixing, dtype = Mixing(shape_of(before["parent"]), *own), before["n_wk"].dtype
    under = Under(mixing, phi, settings.inference.least, dtype)
    local = context.place(build_piece, parts_of(data), _placed, under)
    return counted(local, mixing, data, dtype)


def _placed(piece: Piece, under: Under) -> Local:
    """Return the first state of a piece, its documents folded in some at a time."""
    cells, cuts = piece.cells, piece.cells.cuts
    phi = under.phi.astype(under.dtype)
    alone = Context(0, 0, Workers())

    def rows(first: int, last: int) -> Floats:
        ends = np.append(cuts[first:last, 0], cuts[last - 1, -1])
        pairs, lengths = slice(ends[0], ends[-1]), np.diff(ends)
        parts = (cells.tokens[pairs].astype(np.float64), cells.word[pairs], ends - ends[0])
        counts = sparse.csr_array(parts, shape=(last - first, len(phi)))
        theta = fold_in(under.mixing, under.phi, counts, alone).astype(under.dtype)
        found = np.repeat(theta, lengths, axis=0) * phi[cells.word[pairs]]
        return found / found.sum(axis=1, keepdims=True)

    ancestry = under.mixing.shape.ancestry
    return begin(piece, rows, ancestry, under.least, beside(cells.word))
