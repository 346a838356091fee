"""The surrogate objective of the variational cooperative HDP."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.entropy_kernels import entropy
from hiertopics.families.flat import layout
from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.variational import Responsibilities
from hiertopics.model import Context
from hiertopics.numeric.evidence import log_rising

SMALLEST = 1e-300
ROWS = 4096


def log_joint(
    state: Responsibilities, prior: Prior, alpha_doc: float, laid: layout.Data, context: Context
) -> float:
    """Return log p(w, z) at expected counts, given the priors, plus the entropy of q(z).

    Zero-order updates ascend this and not the bound; it may fall when priors move.
    """
    docs = _in_blocks(state.n_dk, prior.doc, context)
    docs -= float(log_rising(alpha_doc, laid.doc_lengths).sum())
    by_word = np.broadcast_to(prior.word[:, None], state.n_wk.shape)
    words = _in_blocks(state.n_wk, by_word, context)
    totals = np.maximum(state.n_k, 0.0)
    words -= float(log_rising(prior.word_total, totals).sum())
    return docs + words + entropy(state.resp, laid.cells.tokens)


def _in_blocks(
    counts: NDArray[np.floating], prior: NDArray[np.floating], context: Context
) -> float:
    """Return the sum of ``log_rising``, block by block; counts below 0 are drift."""

    def of_block(first: int) -> float:
        block = slice(first, first + ROWS)
        x = np.maximum(prior[block].astype(np.float64), SMALLEST)
        n = np.maximum(counts[block], 0.0)
        return float(log_rising(x, n).sum())

    return sum(context.map(of_block, range(0, len(counts), ROWS)), 0.0)
