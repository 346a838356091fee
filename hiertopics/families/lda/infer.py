"""Inference on new documents under a draw of the sampler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.lda import infer_kernels as kernels
from hiertopics.families.lda.config import Settings
from hiertopics.model import Context, Posterior
from hiertopics.numeric.mixtures import all_entries

SWEEPS = 100
TOLERANCE = 1e-4


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta of new documents, the topics held fixed, by zero-order collapsed variational
    Bayes (A. Asuncion et al., UAI 2009); it draws nothing.
    """
    prior = tree.extra["doc_prior"]
    phi = np.ascontiguousarray(tree.phi.T)
    counts = corpus.counts

    def weigh(doc: int) -> NDArray[np.float64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells]
        weights = kernels.expected_counts(words, times, phi, prior, SWEEPS, TOLERANCE) + prior
        return np.asarray(weights / weights.sum())

    rows = context.map(weigh, range(corpus.n_docs))
    return Posterior(all_entries(np.array(rows).reshape(corpus.n_docs, tree.n_nodes)))
