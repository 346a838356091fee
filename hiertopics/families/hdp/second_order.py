"""What the second-order methods add to ``flat.variational``: variances of counts, and their sweep.

theory/hdp 5.1: E[log(x + n)] is expanded to second order around E[n], so that q(z) sees
how certain a count is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.errors import NumericalError
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import Prior, Tables
from hiertopics.families.flat.layout import Data, rounds
from hiertopics.families.hdp import second_order_kernels as kernels
from hiertopics.families.hdp.second_order_kernels import Spreads
from hiertopics.model import Context, Settings


@dataclass
class Variances(variational.Responsibilities):
    """Responsibilities, counts, and the variances of these under q(z).

    var_dk [n_docs, T], var_wk [n_words, T]: in the counts' dtype. var_k: float64 [T].
    """

    var_dk: NDArray[np.floating]
    var_wk: NDArray[np.floating]
    var_k: NDArray[np.float64]


def variances(state: variational.Responsibilities, data: Data, context: Context) -> dict[str, Any]:
    """Return the fields that ``Variances`` adds, from q(z)."""
    var_dk, var_wk = variational.spread(state, data, context)
    return {"var_dk": var_dk, "var_wk": var_wk, "var_k": var_dk.sum(axis=0, dtype=np.float64)}


def sweep(
    state: Variances, data: Data, prior: Prior, context: Context, *, indicators: bool
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Visit every pair once; as ``variational.sweep``, which see, but to second order."""
    n_topics = state.n_topics if indicators else 0
    seen_dk = np.zeros((data.n_docs, n_topics), state.n_dk.dtype)
    seen_wk = np.zeros((data.n_words, n_topics), state.n_wk.dtype)
    tables = Tables(state.resp, state.n_dk, state.n_wk, seen_dk, seen_wk)
    spreads = Spreads(state.var_dk, state.var_wk)

    def visit(block: tuple[int, int]) -> NDArray[np.float64]:
        n_k, var_k = state.n_k.copy(), state.var_k.copy()
        bad_doc = kernels.sweep_block(data.cells, *block, tables, spreads, n_k, var_k, prior)
        if bad_doc >= 0:
            raise NumericalError(f"the topic weights of document {bad_doc} are not finite")
        return np.array([n_k - state.n_k, var_k - state.var_k])

    for blocks in rounds(data.cells.n_shards):
        for moved_n, moved_var in context.map(visit, blocks):
            state.n_k += moved_n
            state.var_k += moved_var
    return seen_dk, seen_wk


def recount_now_and_then(state: Variances, data: Data, context: Context) -> float:
    """Recount counts and variances at every tenth iteration; see ``variational``."""
    drift = variational.recount_now_and_then(state, data, context)
    if variational.recount_is_due(context):
        for name, table in variances(state, data, context).items():
            setattr(state, name, table)
    return drift


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of responsibilities, counts, variances and indicators in float32."""
    n_topics = int(settings.model.truncation)
    return variational.memory(corpus, settings) + 4 * n_topics * (corpus.n_docs + corpus.n_words)
