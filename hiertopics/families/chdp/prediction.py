"""New documents under a fitted cooperative HDP: their groups matched by name, theta by fold-in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.chdp.base_kernels import Weights, base_rows
from hiertopics.families.chdp.config import ModelSettings
from hiertopics.families.chdp.layout import link_parents, parent_tags
from hiertopics.families.flat.prediction import fold_in
from hiertopics.model import Context, Posterior


def infer(tree: Tree, corpus: Corpus, settings: ModelSettings, context: Context) -> Posterior:
    """Return theta of new documents, topics and the weights of groups held fixed.

    Words are explained under the prior alpha_doc b, b from the weights of the document's groups.
    What they leave open, alpha_doc of alpha_doc + n_d, is shared out as the training documents of
    its groups are on the average: b fits the logarithms of theta and is more even than their mean,
    which is what a word not yet seen is drawn from. A parent that the run does not know stands for
    the corpus, and so does the lack of parents. Parents weigh alike.
    """
    alpha_doc = tree.extra["alpha_doc"][0]
    prior = alpha_doc * new_bases(tree, corpus, settings)
    expected = alpha_doc * new_bases(tree, corpus, settings, "mean")
    return fold_in(tree, corpus, prior, expected, context)


def new_bases(
    tree: Tree, corpus: Corpus, settings: ModelSettings, kind: str = "theta"
) -> NDArray[np.float64]:
    """Return how the groups of new documents cooperate [n_docs, n_nodes].

    kind: ``theta`` for the weights of groups, ``mean`` for the means of their documents.
    """
    model = settings.model
    tags = parent_tags(corpus, model.parents)
    parents, columns = link_parents(tags, corpus.n_docs)
    whole, groups = tree.extra[f"corpus_{kind}"], tree.extra[f"group_{kind}"]
    row = {name: place for place, name in enumerate(tree.extra["group_names"].tolist())}
    names = () if tags is None else tags.names
    known = np.array([groups[row[name]] if name in row else whole for name in names])
    known = known.reshape(len(names), tree.n_nodes)[columns]
    weights = Weights(known, whole, parents.uniform(), model.maximization)
    return np.asarray(base_rows(parents, weights))
