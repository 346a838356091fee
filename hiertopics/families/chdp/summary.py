"""From counts and weights of any cooperative HDP method to topics, theta and groups.

Groups of new documents are matched by name, their theta is found by fold-in.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Numbers
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Posterior, Summary
from hiertopics.corpus.data import Corpus, Tree, pack_short_names, unpack_names
from hiertopics.families.chdp.base_kernels import Weights, base_rows
from hiertopics.families.chdp.config import ModelSettings
from hiertopics.families.chdp.layout import Data, link_parents, parent_tags
from hiertopics.families.flat.prediction import fold_in
from hiertopics.families.flat.summary import TopicsBySize, by_size, document_weights, summary_of

PRIOR_DOCS = 0.5
"""Documents like the corpus that the mean of a group's documents is taken with."""


class ChdpSummaryInput(NamedTuple):
    """The result of every method, on its truncation T.

    n_dk [n_docs, T], n_wk [n_words, T], n_k [T]: (expected) counts. weights: (expected) topic
    weights of the groups with documents and of the corpus. alpha_doc, eta: the concentrations.
    """

    n_dk: Numbers
    n_wk: Numbers
    n_k: Numbers
    weights: Weights
    alpha_doc: float
    eta: float


EXTRA = {
    "alpha_doc": Annotated[F64, Axes("1", least=0)],
    "group_docs": Annotated[I64, Axes("n_tags", least=0)],
    "corpus_theta": Annotated[F64, Axes("n_nodes", least=0)],
    "group_theta": Annotated[F64, Axes("n_tags", "n_nodes", least=0, maybe_empty=True)],
    "corpus_mean": Annotated[F64, Axes("n_nodes", least=0)],
    "group_mean": Annotated[F64, Axes("n_tags", "n_nodes", least=0, maybe_empty=True)],
}
"""Arrays of a tree that ``infer`` needs; see ``summarise``."""


def summarise(fitted: ChdpSummaryInput, data: Data) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    A topic lives with at least one expected token. The row outside is the mean of the dropped
    topics, weighted by their mass in theta and in the corpus, so that theta @ phi keeps every
    document's whole predictive distribution. ``extra`` has what ``infer`` needs: alpha_doc [1],
    corpus_theta [n_nodes] and, for each tag, also those without a training document:
    group_names, group_docs and group_theta [n_tags, n_nodes]; corpus_mean and group_mean
    likewise, the means of theta over tokens and over a group's documents.
    """
    topics = by_size(fitted.n_k)
    theta = document_weights(
        fitted.n_dk, fitted.alpha_doc * base_rows(data.parents, fitted.weights)
    )
    phi = np.add(fitted.n_wk, fitted.eta, dtype=np.float64)
    # Counts that were moved back and forth may end a rounding error below zero.
    np.maximum(phi, fitted.eta, out=phi)
    phi /= phi.sum(axis=0)
    rows = phi.T[topics.live]
    if len(topics.dropped):
        mass = theta[:, topics.dropped].sum(axis=0) + fitted.weights.corpus[topics.dropped] + 1e-300
        outside = phi.T[topics.dropped].T @ (mass / mass.sum())
        rows = np.vstack([rows, outside / outside.sum()])
    extra = {"alpha_doc": np.array([fitted.alpha_doc]), **_weights(fitted, data, theta, topics)}
    return summary_of(topics, rows, theta, fitted.n_dk, extra)


def _weights(
    fitted: ChdpSummaryInput, data: Data, theta: F64, topics: TopicsBySize
) -> dict[str, NDArray[Any]]:
    """Return the arrays of corpus and tags; a tag without a training document is as the corpus."""
    names = () if data.tags is None else data.tags.names
    n_docs = np.diff(data.parents.group_ptr)
    corpus_mean = fitted.n_k + fitted.weights.corpus
    corpus_mean = corpus_mean / corpus_mean.sum()
    links = (np.ones(len(data.parents.doc)), data.parents.doc, data.parents.group_ptr)
    members = sparse.csr_array(links, shape=(len(n_docs), len(theta)))
    group_mean = (members @ theta + PRIOR_DOCS * corpus_mean) / (n_docs + PRIOR_DOCS)[:, None]
    docs_of_tag = np.zeros(len(names), dtype=np.int64)
    docs_of_tag[data.columns] = n_docs
    arrays = {**pack_short_names("group_names", names), "group_docs": docs_of_tag}
    for name, corpus, groups in (
        ("theta", fitted.weights.corpus, fitted.weights.group),
        ("mean", corpus_mean, group_mean),
    ):
        rows = np.tile(corpus, (len(names), 1))
        rows[data.columns] = groups
        arrays[f"corpus_{name}"] = topics.gather(corpus / corpus.sum())
        arrays[f"group_{name}"] = topics.gather(rows / rows.sum(axis=1, keepdims=True))
    return arrays


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


def new_bases(tree: Tree, corpus: Corpus, settings: ModelSettings, kind: str = "theta") -> F64:
    """Return how the groups of new documents cooperate [n_docs, n_nodes].

    kind: ``theta`` for the weights of groups, ``mean`` for the means of their documents.
    """
    model = settings.model
    tags = parent_tags(corpus, model.parents)
    parents, columns = link_parents(tags, corpus.n_docs)
    whole, groups = tree.extra[f"corpus_{kind}"], tree.extra[f"group_{kind}"]
    row = {name: place for place, name in enumerate(unpack_names("group_names", tree.extra))}
    names = () if tags is None else tags.names
    known = np.array([groups[row[name]] if name in row else whole for name in names])
    known = known.reshape(len(names), tree.n_nodes)[columns]
    weights = Weights(known, whole, parents.uniform(), model.maximization)
    return np.asarray(base_rows(parents, weights))
