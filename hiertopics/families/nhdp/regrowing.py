"""Topics that are known, on a tree that is known: the state from which sweeps go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.data.tree import Tree
from hiertopics.engine import Each
from hiertopics.families.flat import variational
from hiertopics.families.flat.layout import Data, Piece, build_piece, parts_of
from hiertopics.families.nhdp import mixing
from hiertopics.families.nhdp.layout import columns_of, shape_of
from hiertopics.families.nhdp.state import State
from hiertopics.model import Context, Settings


class Known(NamedTuple):
    """theta [n_docs, C] of a piece's documents and phi [n_words, C], in the tables' columns."""

    theta: NDArray[np.floating]
    phi: NDArray[np.floating]


def begin(
    tree: Tree,
    theta: NDArray[np.float64],
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike = np.float32,
) -> State:
    """Return the state with q(z) proportional to theta [n_docs, K] and the tree's phi.

    The nodes of the tree stand breadth first, siblings together. Shares are even.
    """
    model, shape = settings.model, shape_of(tree.parent)
    columns = columns_of(shape)
    phi = columns.spread(np.ascontiguousarray(tree.phi.T)).astype(dtype)
    by_column = columns.spread(theta).astype(dtype)
    messages = [Known(part, phi) for part in np.split(by_column, data.cells.doc_bounds[1:-1])]
    begun = mixing.even(shape, model.concentration, model.stop_weight, model.go_weight)
    state = State(
        context.place(build_piece, parts_of(data), _divided, Each(messages)),
        np.zeros((data.n_words, columns.n_columns), dtype),
        np.zeros(columns.n_columns),
        shape.parent,
        *begun[1:],
    )
    variational.recount(state, data)
    return state


def _divided(piece: Piece, known: Known) -> variational.Local:
    """Return the first state of a piece; not yet counted."""
    cells, theta = piece.cells, known.theta
    resp = np.empty((len(cells.word), theta.shape[1]), theta.dtype)
    for doc, cuts in enumerate(cells.cuts):
        pairs = slice(cuts[0], cuts[-1])
        rows = theta[doc] * known.phi[cells.word[pairs]]
        resp[pairs] = rows / rows.sum(axis=1, keepdims=True)
    return variational.Local(resp, np.zeros_like(theta))
