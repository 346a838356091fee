"""The chance of counts whose Dirichlet distribution has been integrated out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln


def log_rising(prior: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Return log Gamma(prior + counts) / Gamma(prior) of each entry, prior and counts broadcast.

    Draws with these counts, in their order, under Dir(a) have log chance log_rising(a, counts)
    summed, less log_rising(a.sum(), counts.sum()).
    """
    return np.asarray(gammaln(np.add(prior, counts)) - gammaln(prior))
