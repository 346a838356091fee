"""Log likelihoods of documents as mixtures over paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.model import PathMixture


def log_likelihoods(
    mixture: PathMixture, phi: NDArray[np.float64], scored: sparse.csr_array
) -> NDArray[np.float64]:
    """Return log sum over paths of q(path) p(scored tokens | path) per document, float64 [n_docs].

    phi: [n_nodes, n_words]. Levels outside the tree have the flat topic 1 / n_words.
    """
    n_words = phi.shape[1]
    # Words first, for rows that lie together; node -1 is the last column.
    by_word = np.vstack([phi, np.full(n_words, 1.0 / n_words)]).T.copy()
    found = np.zeros(scored.shape[0])
    for doc in range(scored.shape[0]):
        cells = slice(scored.indptr[doc], scored.indptr[doc + 1])
        paths = slice(mixture.indptr[doc], mixture.indptr[doc + 1])
        rows = by_word[scored.indices[cells]]
        chances = np.einsum(
            "wpl,pl->pw", rows[:, mixture.node[paths]], mixture.level_weights[paths]
        )
        found[doc] = logsumexp(mixture.log_prob[paths] + np.log(chances) @ scored.data[cells])
    return found
