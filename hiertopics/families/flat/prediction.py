"""Inference on new documents by fold-in, the topics held fixed (theory/hdp 7.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.flat import kernels
from hiertopics.families.flat.summary import document_weights
from hiertopics.model import Context, Posterior
from hiertopics.numeric.mixtures import all_entries

SWEEPS = 50
TOLERANCE = 1e-4


def fold_in(
    tree: Tree,
    corpus: Corpus,
    prior: NDArray[np.float64],
    expected: NDArray[np.float64],
    context: Context,
) -> Posterior:
    """Return theta of new documents, topics held fixed.

    prior [n_docs, n_nodes]: pseudo-counts under which words are explained. expected [n_docs,
    n_nodes]: those that are added to the counts thus found.
    """
    phi = np.ascontiguousarray(tree.phi.T)
    counts = corpus.counts

    def weigh(doc: int) -> NDArray[np.float64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells].astype(np.float64)
        n_dk = kernels.fold_in(words, times, phi, prior[doc], SWEEPS, TOLERANCE)
        return document_weights(n_dk[None, :], expected[doc])[0]

    rows = context.map(weigh, range(corpus.n_docs))
    return Posterior(all_entries(np.array(rows).reshape(corpus.n_docs, tree.n_nodes)))
