"""A fit that goes on with further documents: the tree of an earlier state, its topics and shares.

All documents are placed under them anew (theory/nhdp 7); words that the earlier state had not have
the chance that the prior gives them.
"""

from __future__ import annotations

import numpy as np

from hiertopics.engine import Each
from hiertopics.families.flat.layout import Data, build_piece, counts_of, parts_of
from hiertopics.families.nhdp import regrowing
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import fold_in
from hiertopics.families.nhdp.state import State, counted
from hiertopics.model import Context, Settings
from hiertopics.states import Arrays


def continued(before: Arrays, data: Data, settings: Settings, context: Context) -> State:
    """Return the state of all documents under the tree of an earlier one."""
    counts = np.maximum(before["n_wk"], 0, dtype=np.float64)
    further = data.n_words - len(counts)
    phi = np.pad(counts, ((0, further), (0, 0))) + settings.model.eta
    phi /= phi.sum(axis=0)
    own = (before[name] for name in ("share", "concentration", "stop_a", "stop_b"))
    mixing = Mixing(shape_of(before["parent"]), *own)
    theta = fold_in(mixing, phi, counts_of(data), context)
    dtype = before["n_wk"].dtype
    rest = (phi.astype(dtype), mixing.shape.ancestry, settings.inference.least)
    messages = [
        regrowing.Known(part, *rest)
        for part in np.split(theta.astype(dtype), data.cells.doc_bounds[1:-1])
    ]
    local = context.place(build_piece, parts_of(data), regrowing.divided, Each(messages))
    return counted(local, mixing, data, dtype)
