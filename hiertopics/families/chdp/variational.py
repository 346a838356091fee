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

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.engine import Each
from hiertopics.families.chdp import share_kernels as kernels
from hiertopics.families.chdp import summary as common
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import Model as Model
from hiertopics.families.chdp.config import VariationalInference as Inference
from hiertopics.families.chdp.config import VariationalSettings as Settings
from hiertopics.families.chdp.config import refuse_misfits
from hiertopics.families.chdp.estimates import (
    Info,
    Local,
    State,
    global_step,
    group_weights,
    info_of,
    weights_of,
)
from hiertopics.families.chdp.layout import (
    Data,
    Piece,
    bounds,
    build_piece,
    lay_out,
    parent_tags,
    parts_of,
)
from hiertopics.families.chdp.prediction import infer as infer
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.chdp.surrogate import OfDocuments, log_joint, of_documents
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import Prior
from hiertopics.families.flat.layout import Block
from hiertopics.families.flat.summary import regrouped
from hiertopics.model import Backend, Context, Sharded, Summary, without


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
    drawings = variational.drawings(data.laid, n_topics, context, dtype)
    learned = model.weights == "learned"
    local = context.place(
        build_piece, parts_of(data), _begun, Each([(d, learned) for d in drawings])
    )
    state = State(
        local,
        np.zeros((data.n_words, n_topics), dtype),
        np.zeros(n_topics),
        n_tables=np.zeros(n_topics),
        n_group_tables=np.zeros((n_groups, n_topics)),
        pi=np.full(n_topics, 1.0 / n_topics),
        alpha_doc=model.alpha_doc,
        alpha_group=model.alpha_group,
        gamma=model.gamma,
        word_mass=model.eta * data.n_words,
        kappa=even if settings.inference.fit_normaliser else np.empty(0),
    )
    variational.recount(state, data.laid)
    return state


def _begun(piece: Piece, message: tuple[variational.Drawing, bool]) -> Local:
    """Draw q(z) of a piece; its parents weigh alike, where that is learned."""
    drawing, learned = message
    drawn = variational.draw(piece, drawing)
    return Local(drawn.resp, drawn.n_dk, piece.parents.uniform() if learned else np.empty(0))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair; after the hold, the weights and concentrations too."""
    learn = context.iteration > settings.inference.hyper_start
    state.local.step(_lay_prior, (group_weights(state, settings.model), state.alpha_doc))
    prior = Prior(np.empty(0, state.n_wk.dtype), word_prior(state), state.word_mass)
    seen_wk = variational.sweep(state, data.laid, prior, indicators=learn, visit=_sweep_block)
    drift = variational.recount_now_and_then(state, data.laid, context)
    if learn:
        global_step(state, data, settings, context.iteration, seen_wk)
    else:
        state.local.step(_settle, None)
    return state, info_of(state, data, drift)


def _lay_prior(piece: Piece, local: Local, given: tuple[Weights, float]) -> tuple[Local, None]:
    return local._replace(doc_prior=prior_rows(piece, local, given)), None


def _sweep_block(piece: Piece, local: Local, block: Block) -> tuple[Local, Any]:
    """Sweep a block under the prior that the piece has laid."""
    assert local.doc_prior is not None
    given = block.given._replace(prior=block.given.prior._replace(doc=local.doc_prior))
    found: tuple[Local, Any] = variational.sweep_block(piece, local, block._replace(given=given))
    return found


def _settle(piece: Piece, local: Local, _: None) -> tuple[Local, None]:
    return variational.settled(local), None


def prior_rows(piece: Piece, local: Local, given: tuple[Weights, float]) -> NDArray[np.floating]:
    """Return the pseudo-counts of a piece's documents, a row for each: weights and alpha_doc."""
    weights, alpha_doc = given
    rows = np.empty_like(local.n_dk)
    own = weights.with_shares(piece.parents, local.share)
    kernels.prior_rows(piece.parents, own, alpha_doc, rows)
    return rows


def word_prior(state: State) -> NDArray[np.floating]:
    """Return the pseudo-count of each word [n_words]."""
    n_words, dtype = len(state.n_wk), state.n_wk.dtype
    return np.full(n_words, state.word_mass / n_words, dtype)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the live topics as roots, theta of the documents, and the groups' mean weights."""
    weights = weights_of(state, data, settings.model)
    eta = state.word_mass / data.n_words
    counts = (state.n_dk, state.n_wk, state.n_k)
    return common.summarise(common.Fitted(*counts, weights, state.alpha_doc, eta), data)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return log p(w, z | weights) at the expected counts, plus the entropy of q(z): no bound."""
    given = (group_weights(state, settings.model), state.alpha_doc)
    docs = state.local.ask(_of_documents, given)
    return log_joint(docs, state, word_prior(state), state.alpha_doc, data.laid)


def _of_documents(piece: Piece, local: Local, given: tuple[Weights, float]) -> OfDocuments:
    rows = prior_rows(piece, local, given)
    return of_documents(local.n_dk, rows, local.resp, piece.cells.tokens)


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
    regrouped=regrouped,
    renewed=without("option", "dish", "orphan"),
    pieces=Sharded(Local=Local, parts=parts_of, build=build_piece, bounds=bounds),
)
