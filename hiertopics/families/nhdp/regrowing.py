"""Topics that are known, on a tree that is known: the state from which sweeps go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.arrays import F64, Floats, Ints
from hiertopics.engine import Each
from hiertopics.families.flat.layout import Data, Piece, build_piece, pairs_of, parts_of
from hiertopics.families.nhdp import documents, mixing
from hiertopics.families.nhdp.layout import Ancestry, Local, shape_of
from hiertopics.families.nhdp.state import State, counted
from hiertopics.model import Context, Settings
from hiertopics.room import beside


class Known(NamedTuple):
    """theta [n_docs, K] of a piece's documents, phi [n_words, K]; the rest as of ``documents``."""

    theta: Floats
    phi: Floats
    ancestry: Ancestry
    least: float


def begin(
    parent: Ints,
    phi: F64,
    theta: F64,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
) -> State:
    """Return the state with q(z) proportional to theta [n_docs, K] and phi [K, n_words].

    The nodes stand breadth first, siblings together. Shares are even.
    """
    model, shape = settings.model, shape_of(parent)
    by_word = np.ascontiguousarray(phi.T, dtype)
    rest = (by_word, shape.ancestry, settings.inference.least)
    messages = [
        Known(part, *rest) for part in np.split(theta.astype(dtype), data.cells.doc_bounds[1:-1])
    ]
    begun = mixing.even(shape, model.concentration, model.stop_weight, model.go_weight)
    local = context.place(build_piece, parts_of(data), _divided, Each(messages))
    return counted(local, begun, data, dtype)


def _divided(piece: Piece, known: Known) -> Local:
    """Return the first state of a piece; not yet counted."""
    theta, phi, ancestry, least = known

    def rows(first: int, last: int) -> Floats:
        doc, word = pairs_of(piece.cells, first, last)
        found = theta[doc] * phi[word]
        return found / found.sum(axis=1, keepdims=True)

    return documents.begin(piece, rows, ancestry, least, beside(piece.cells.word))
