"""A fit that goes on with further documents: the tree of an earlier state, its topics and shares.

All documents are placed under them anew (theory/nhdp 7); words that the earlier state had not have
the chance that the prior gives them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from hiertopics.arrays import F64, Floats
from hiertopics.engine import Workers
from hiertopics.families.flat.layout import Data, Piece, build_piece, parts_of
from hiertopics.families.nhdp import documents
from hiertopics.families.nhdp.layout import Local, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import fold_in
from hiertopics.families.nhdp.state import State, counted
from hiertopics.model import Context, Settings
from hiertopics.room import beside
from hiertopics.states import Arrays


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
    return documents.begin(piece, rows, ancestry, under.least, beside(cells.word))
