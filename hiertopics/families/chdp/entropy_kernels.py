"""The entropy of responsibilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import log

SMALLEST = 1e-300


@kernel(fastmath=REASSOCIATE)
def entropy(resp: NDArray[np.floating], tokens: NDArray[np.floating]) -> float:
    """Return the sum over pairs of -tokens sum_k q log q; resp [n_pairs, T], tokens [n_pairs]."""
    total = 0.0
    for pair in range(len(resp)):
        part = 0.0
        for topic in range(resp.shape[1]):
            share = float(resp[pair, topic])
            part -= share * log(max(share, SMALLEST))
        total += tokens[pair] * part
    return total
