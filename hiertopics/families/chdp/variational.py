"""chdp-variational: collapsed variational Bayes for the cooperative hierarchical Dirichlet process.

The sweep over (document, word) pairs is that of hdp-pcvb0 with a prior of its own for each
document: the weights of its parents together. A document's expected tables are split over its
parents, and what a group got makes its weights; bases are taken at the mean weights.

J. Xuan, J. Lu, G. Zhang, R. Y. D. Xu: Cooperative Hierarchical Dirichlet Processes: Superposition
vs. Maximization, arXiv 1707.05420; theory/chdp 5.3 and 5.4, but for two things. Tables are not held
at one for each document and topic: their expectation is taken (Teh, Kurihara and Welling;
theory/hdp 5.2), without which the weights of groups are far too even. Under maximization a parent
is given a topic's tables in proportion to its weight over the largest one, not all or none.

    theory/chdp                  here
    alpha_d, alpha_a, alpha_0    alpha_doc, alpha_group, gamma
    eta V                        word_mass
    M_dk, M_dk r_dka, s_ak       m_dk, link_tables, n_group_tables
    E[pi_0k]                     pi
    lambda_da                    share [n_links]

``inference.method: sticks`` is the paper's own mean field instead, a backend of its own in
``paper.sticks``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.data.corpus import Corpus
from hiertopics.families.chdp import share_kernels as kernels
from hiertopics.families.chdp import summary as common
from hiertopics.families.chdp.config import Model as Model
from hiertopics.families.chdp.config import VariationalInference as Inference
from hiertopics.families.chdp.config import VariationalSettings as Settings
from hiertopics.families.chdp.config import refuse_misfits
from hiertopics.families.chdp.estimates import (
    Info,
    State,
    global_step,
    info_of,
    weights_of,
)
from hiertopics.families.chdp.layout import Data, lay_out, parent_tags
from hiertopics.families.chdp.prediction import infer as infer
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.chdp.surrogate import log_joint
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.layout import sharded
from hiertopics.model import Backend, Context, Summary, without


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs, its documents linked to their parents.

    Raises ConfigError where method and cooperation do not fit.
    """
    refuse_misfits(settings.model, settings.inference)
    return lay_out(corpus, settings.model.parents, settings.inference.shards)


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities, even weights and the start values of the config."""
    model = settings.model
    n_topics, n_groups = model.truncation, data.parents.n_groups
    even = np.full((n_groups, n_topics), model.alpha_group / n_topics)
    begun = variational.start(data.laid, n_topics, context, dtype)
    return State(
        **vars(begun),
        n_tables=np.zeros(n_topics),
        n_group_tables=np.zeros((n_groups, n_topics)),
        share=data.parents.uniform() if model.weights == "learned" else np.empty(0),
        pi=np.full(n_topics, 1.0 / n_topics),
        alpha_doc=model.alpha_doc,
        alpha_group=model.alpha_group,
        gamma=model.gamma,
        word_mass=model.eta * data.n_words,
        kappa=even if settings.inference.fit_normaliser else np.empty(0),
    )


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair; after the hold, the weights and concentrations too."""
    learn = context.iteration > settings.inference.hyper_start
    prior = prior_of(state, data, settings.model)
    seen_wk = variational.sweep(state, data.laid, prior, indicators=learn)
    drift = variational.recount_now_and_then(state, data.laid, context)
    if learn:
        global_step(state, data, settings, context.iteration, prior.doc, seen_wk)
    return state, info_of(state, data, drift)


def prior_of(state: State, data: Data, model: Model) -> Prior:
    """Return the pseudo-counts of q(z)'s update; of documents, a row for each."""
    rows = np.empty_like(state.n_dk)
    weights = weights_of(state, data, model)
    kernels.prior_rows(data.parents, weights, state.alpha_doc, rows)
    words = np.full(data.n_words, state.word_mass / data.n_words, rows.dtype)
    return Prior(rows, words, state.word_mass)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the live topics as roots, theta of the documents, and the groups' mean weights."""
    weights = weights_of(state, data, settings.model)
    eta = state.word_mass / data.n_words
    counts = (state.n_dk, state.n_wk, state.n_k)
    return common.summarise(common.Fitted(*counts, weights, state.alpha_doc, eta), data)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return log p(w, z | weights) at the expected counts, plus the entropy of q(z): no bound."""
    prior = prior_of(state, data, settings.model)
    return log_joint(state, prior, state.alpha_doc, data.laid, context)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of responsibilities, counts, priors and tables."""
    n_topics = int(settings.model.truncation)
    tags = parent_tags(corpus, settings.model.parents)
    n_groups, n_links = (0, 0) if tags is None else (len(tags.names), int(tags.members.nnz))
    counts = corpus.n_pairs + 4 * corpus.n_docs + 2 * corpus.n_words + n_links + 6 * n_groups
    return 4 * n_topics * counts


backend: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="surrogate: log probability of words and expected topics given groups' weights",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    renewed=without("option", "dish", "orphan"),
    pieces=sharded(variational.Local, lambda data: data.laid),
)
