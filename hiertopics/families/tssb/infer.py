"""Inference on new documents under a draw: a posterior over its nodes, all of it held fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.tssb.likelihoods import LIKELIHOODS
from hiertopics.families.tssb.summary import lineage
from hiertopics.model import Context, Paths, Posterior, Settings

NEGLIGIBLE = 1e-12


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta, the chance of each node given a document, and the most probable node's path.

    Topics are integrated out. All nodes outside the tree count as one, with the words that are
    expected there; a new document founds no node of its own.
    """
    score = LIKELIHOODS[settings.model.likelihood].scorer(tree, corpus)

    def weigh(doc: int) -> NDArray[np.float64]:
        log_weight = tree.extra["log_mass"] + score(doc)
        weight = np.exp(log_weight - logsumexp(log_weight))
        weight[weight < NEGLIGIBLE] = 0.0
        return np.asarray(weight / weight.sum())

    rows = context.map(weigh, range(corpus.n_docs))
    theta = np.array(rows).reshape(corpus.n_docs, tree.n_nodes)
    best = theta[:, tree.shown].argmax(axis=1)
    chance = np.maximum(theta[np.arange(corpus.n_docs), best], NEGLIGIBLE)
    return Posterior(sparse.csr_array(theta), Paths(lineage(tree)[best], np.log(chance)))
