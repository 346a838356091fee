"""Per-document state: own nodes, counts and responsibilities there (theory/nhdp 3.2).

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.base.arrays import F64, Floats, Ints
from hiertopics.base.room import Room, beside
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.contract import Arrays, Context, Each, Settings, Workers
from hiertopics.corpus.data.shelf import Bags
from hiertopics.families.flat import bursts, variational
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.layout import Data, Piece, build_piece, pairs_of, parts_of, spans
from hiertopics.families.hdp.bursts import planned
from hiertopics.families.nhdp import document_kernels as kernels, mixing
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal, BurstyLocal, Local, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import fold_in
from hiertopics.families.nhdp.state import State, counted
from hiertopics.numeric.pitman_yor_kernels import seat

DOCS_AT_ONCE = 1024

USUAL = 80
"""Own nodes of a document, of corpora that were looked at, by pair."""

PairShares = Callable[[int, int], Floats]
"""From a range of documents to q(z) of their pairs at all nodes, [n_pairs, K]."""


def prepare(corpus: Bags, settings: Settings[Any, Any]) -> Data:
    """Lay the corpus out in pairs; with the plan of its bursts, by iterations of flat topics."""
    data = variational.prepare(corpus, settings)
    if not bursts.are_wanted(settings):
        return data
    return planned(data, settings, settings.inference.start_iterations)


def at_concentration(data: Data, concentration: float) -> Data:
    """Return data of bursty documents whose concentration begins there."""
    assert data.bursts is not None
    return data._replace(bursts=data.bursts._replace(concentration=concentration))


def begin(
    piece: Piece,
    rows: PairShares,
    ancestry: Ancestry,
    least: float,
    room: Room,
    tables: Floats | None = None,
) -> AnyLocal:
    """Return the documents of a piece with their part of q(z); their counts are still 0.

    least: expected tokens that make a node a document's own. tables: of each pair [n_pairs], where
    documents are bursty; those of documents are read after ``rows`` was called for these.
    """
    cuts = piece.cells.cuts
    cells = piece.cells if tables is None else piece.cells._replace(tokens=tables)
    found, lengths = room.growing(np.int32), np.zeros(piece.n_docs, np.int64)
    kind, resps = np.dtype(np.float32), None
    for first, last in spans(cuts):
        dense = rows(first, last)
        nodes = kernels.choose(cells, first, last, dense, ancestry, least, lengths)
        found.append(nodes)
        kind = dense.dtype
        stored = np.uint16 if kind == np.float32 else kind
        if resps is None:
            resps = room.growing(stored)
        n_pairs = cuts[first:last, -1] - cuts[first:last, 0]
        resp = np.empty(int(lengths[first:last] @ n_pairs), stored)
        kernels.keep(cells, first, last, dense, nodes, lengths, resp)
        resps.append(resp)
    first_node = ends_of(lengths)
    first_resp = ends_of(lengths * (cuts[:, -1] - cuts[:, 0]))
    node = found.done()
    n = room.empty(len(node), kind)
    n[:] = 0
    all_resps = np.empty(0, np.uint16) if resps is None else resps.done()
    local = Local(first_node, node, n, first_resp, all_resps)
    return local if tables is None else BurstyLocal(*local, tables)


def counts_of(local: AnyLocal, n_nodes: int) -> Iterator[Floats]:
    """Yield the counts of a piece's documents by node, [n, K], some documents at a time."""
    for first in range(0, len(local.first_node) - 1, DOCS_AT_ONCE):
        ends = local.first_node[first : first + DOCS_AT_ONCE + 1]
        counts = np.zeros((len(ends) - 1, n_nodes), local.n.dtype)
        entries = slice(ends[0], ends[-1])
        doc = rows_of(ends)
        counts[doc, local.node[entries]] = local.n[entries]
        yield counts


class MixtureInput(NamedTuple):
    """theta CSR [n_docs, K] of a piece's documents, phi [n_words, K]; the rest as of ``begin``.

    tables: of its pairs; None: seated at the mixtures, or none where there is no seating.
    """

    theta: sparse.csr_array
    phi: Floats
    ancestry: Ancestry
    least: float
    seating: TableRule | None
    tables: Floats | None


def begin_known(
    parent: Ints,
    phi: F64,
    theta: sparse.csr_array,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
    stop: F64 | None = None,
    tables: Floats | None = None,
) -> State:
    """Return the state with q(z) proportional to theta, CSR [n_docs, K], and phi [K, n_words].

    The nodes stand breadth first, siblings together. Shares are even. stop: float64 [K, 2], weights
    of stopping and of going on at inner nodes; None: those of the settings at each. tables: of
    pairs [n_pairs], where documents are bursty; None: those that these mixtures suggest.
    """
    model, shape = settings.model, shape_of(parent)
    stop_a, stop_b = model.stop_prior if stop is None else stop.T
    by_word = np.ascontiguousarray(phi.T, dtype)
    rest = (by_word, shape.ancestry, settings.inference.least, seating_at(data))
    theta = theta.astype(dtype)
    bounds = pairwise(data.cells.doc_bounds.tolist())
    messages = [
        MixtureInput(theta[first:last], *rest, own)
        for (first, last), own in zip(bounds, tables_of_pieces(tables, data), strict=True)
    ]
    begun = mixing.even(shape, model.concentration, stop_a, stop_b)
    local = context.place(build_piece, parts_of(data), _divided, Each(messages))
    return counted(local, begun, data, dtype)


def seating_at(data: Data) -> TableRule | None:
    """Return how tables begin; None where documents are not bursty."""
    return None if data.bursts is None else TableRule(data.bursts.means, data.bursts.concentration)


def tables_of_pieces(tables: Floats | None, data: Data) -> list[Any]:
    """Return the tables of each piece's pairs, None for each where there are none.

    tables: [n_pairs], in the order of the cells.
    """
    if tables is None:
        return [None] * data.cells.n_shards
    return np.split(tables, data.cell_bounds[1:-1])


def room_for_tables(piece: Piece, given: Floats | None, dtype: DTypeLike) -> Floats:
    """Return tables of a piece's pairs [n_pairs]: given ones, or one for each token."""
    tables = beside(piece.cells.word).empty(len(piece.cells.word), np.dtype(dtype))
    tables[:] = piece.cells.tokens if given is None else given
    return tables


def _divided(piece: Piece, mixtures: MixtureInput) -> AnyLocal:
    """Return the first state of a piece; not yet counted."""
    theta, phi, ancestry, least, seating, given = mixtures
    tables = None if seating is None else room_for_tables(piece, given, theta.dtype)

    def rows(first: int, last: int) -> Floats:
        doc, word = pairs_of(piece.cells, first, last)
        found = theta[first:last].toarray()[doc - first] * phi[word]
        chances = found.sum(axis=1, keepdims=True)
        if tables is not None and given is None:
            seat_documents(piece, first, last, chances[:, 0].astype(np.float64), seating, tables)
        return found / chances

    return begin(piece, rows, ancestry, least, beside(piece.cells.word), tables)


def seat_documents(
    piece: Piece, first: int, last: int, chances: F64, seating: Any, tables: Floats
) -> None:
    """Write the tables of documents ``first`` to ``last`` at held mixtures (theory/bursts 2).

    chances: float64, p_w of their pairs. tables: [n_pairs] of the piece.
    """
    cuts = piece.cells.cuts
    starts = np.append(cuts[first:last, 0], cuts[last - 1, -1])
    pairs = slice(starts[0], starts[-1])
    counts = piece.cells.tokens[pairs].astype(np.int32)
    tables[pairs] = seat(starts - starts[0], counts, chances, seating.means, seating.concentration)


class PlacementInput(NamedTuple):
    """Input of the placement of documents; phi: float64 [n_words, K]. dtype: of q(z)."""

    mixing: Mixing
    phi: F64
    least: float
    dtype: DTypeLike
    seating: TableRule | None


def extend_state(before: Arrays, data: Data, settings: Settings, context: Context) -> State:
    """Return the state of all documents under the tree of an earlier one."""
    counts = np.maximum(before["n_wk"], 0, dtype=np.float64)
    further = data.n_words - len(counts)
    phi = np.pad(counts, ((0, further), (0, 0))) + settings.model.eta
    phi /= phi.sum(axis=0)
    own = (before[name] for name in ("share", "concentration", "stop_a", "stop_b"))
    mixing, dtype = Mixing(shape_of(before["parent"]), *own), before["n_wk"].dtype
    if data.bursts is not None:
        data = at_concentration(data, float(before["burst_concentration"]))
    placement = PlacementInput(mixing, phi, settings.inference.least, dtype, seating_at(data))
    local = context.place(build_piece, parts_of(data), _placed, placement)
    return counted(local, mixing, data, dtype)


def _placed(piece: Piece, placement: PlacementInput) -> AnyLocal:
    """Return the first state of a piece, its documents folded in some at a time."""
    cells, cuts = piece.cells, piece.cells.cuts
    phi = placement.phi.astype(placement.dtype)
    alone, seating = Context(0, 0, Workers()), placement.seating
    tables = None if seating is None else room_for_tables(piece, None, placement.dtype)

    def rows(first: int, last: int) -> Floats:
        ends = np.append(cuts[first:last, 0], cuts[last - 1, -1])
        pairs, lengths = slice(ends[0], ends[-1]), np.diff(ends)
        parts = (cells.tokens[pairs].astype(np.float64), cells.word[pairs], ends - ends[0])
        counts = sparse.csr_array(parts, shape=(last - first, len(phi)))
        folded, own = fold_in(placement.mixing, placement.phi, counts, alone, seating)
        theta = folded.astype(placement.dtype)
        if tables is not None:
            tables[pairs] = own
        found = np.repeat(theta, lengths, axis=0) * phi[cells.word[pairs]]
        return found / found.sum(axis=1, keepdims=True)

    ancestry = placement.mixing.shape.ancestry
    return begin(piece, rows, ancestry, placement.least, beside(cells.word), tables)
