"""New documents under a fitted cooperative HDP: their groups matched by name, theta by fold-in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.backends.chdp.base_kernels import Weights, base_rows
from hiertopics.backends.chdp.layout import link_parents, parent_tags
from hiertopics.backends.chdp.summary import all_entries, document_weights
from hiertopics.backends.hdp.kernels import fold_in
from hiertopics.corpus import Corpus, Tags
from hiertopics.model import Context, Posterior, Settings
from hiertopics.tree import Tree

FOLD_IN_SWEEPS = 50
FOLD_IN_TOLERANCE = 1e-4


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta of new documents, topics and the weights of groups held fixed.

    A parent that the run does not know has the weights of the corpus, and so has a document
    without parents. A document's parents weigh alike. An empty document has its base as theta.
    """
    prior = tree.extra["alpha_doc"][0] * new_bases(tree, corpus, settings)
    phi = np.ascontiguousarray(tree.phi.T)
    counts = corpus.counts

    def weigh(doc: int) -> NDArray[np.float64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells].astype(np.float64)
        n_dk = fold_in(words, times, phi, prior[doc], FOLD_IN_SWEEPS, FOLD_IN_TOLERANCE)
        return document_weights(n_dk[None, :], prior[doc])[0]

    rows = context.map(weigh, range(corpus.n_docs))
    return Posterior(all_entries(np.array(rows).reshape(corpus.n_docs, tree.n_nodes)))


def new_bases(tree: Tree, corpus: Corpus, settings: Settings) -> NDArray[np.float64]:
    """Return the base weights of new documents [n_docs, n_nodes] from their groups alone."""
    model = settings.model
    tags = parent_tags(corpus, model.parents)
    parents, columns = link_parents(tags, corpus.n_docs)
    known = _weights_of(tree, tags)[columns]
    weights = Weights(known, tree.extra["corpus_theta"], parents.uniform(), model.maximization)
    return np.asarray(base_rows(parents, weights))


def _weights_of(tree: Tree, tags: Tags | None) -> NDArray[np.float64]:
    """Return the topic weights of each tag [n_tags, n_nodes], matched by name."""
    row = {name: place for place, name in enumerate(tree.extra["group_names"].tolist())}
    corpus, groups = tree.extra["corpus_theta"], tree.extra["group_theta"]
    names = () if tags is None else tags.names
    known = [groups[row[name]] if name in row else corpus for name in names]
    return np.array(known).reshape(len(names), tree.n_nodes)
