"""What belongs to documents: their own nodes, counts and responsibilities there (theory/nhdp 3.2).

A document's own nodes are those at which it has enough expected tokens when the sweeps begin, and
all above them. Its pairs have q(z) at these alone, so that neither memory nor time grows with the
nodes of the tree, but with those that a document uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hiertopics.arrays import Floats
from hiertopics.families.flat.layout import Piece, spans
from hiertopics.families.nhdp import document_kernels as kernels
from hiertopics.families.nhdp.layout import Ancestry, Local
from hiertopics.room import Room

DOCS_AT_ONCE = 1024

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
