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

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, Floats
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract.engine import Each, joined, stacked
from hiertopics.contract.model import Backend, Context, Sharded, Summary, without
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import summary as common, variational_kernels as kernels
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import (
    ChdpVariationalInference as Inference,
    Model,
    VariationalSettings as Settings,
    refuse_misfits,
)
from hiertopics.families.chdp.layout import (
    Data,
    Piece,
    bounds,
    build_piece,
    lay_out,
    of_other_groups,
    parent_tags,
    parts_of,
)
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.chdp.summary import infer as infer
from hiertopics.families.flat import variational
from hiertopics.families.flat.concentrations import step_concentration
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import BlockInput
from hiertopics.families.flat.moments import expected_tables
from hiertopics.families.flat.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.families.flat.summary import merge_extra, topic_counts
from hiertopics.numeric.mixtures import log_rising

Table = Floats

EVEN_ITERATIONS = 3
"""Iterations after the hold in which parents serve alike, before groups have their own topics."""

SMALLEST = 1e-300
ROWS = 4096


class Local(NamedTuple):
    """``variational.Local``, with the mixing weights of a piece's links where they are learned.

    share: float64 [n_links], else [0]. Within an iteration also doc_prior [n_docs, T], what the
    sweep takes for documents.
    """

    resp: Annotated[Table, Axes("n_pairs", "truncation", least=0)]
    n_dk: Annotated[Table, Axes("n_docs", "truncation")]
    share: Annotated[F64, Axes("n_links", least=0, maybe_empty=True)]
    seen_dk: Table | None = None
    doc_prior: Table | None = None


@dataclass
class State(variational.Responsibilities):
    """The responsibilities and the point estimates. T is the truncation.

    local: with mixing weights besides. n_tables: float64 [T], expected tables. n_group_tables:
    float64 [n_groups, T], those that each group serves. pi: float64 [T]. word_mass: eta times the
    vocabulary's size.

    kappa: float64 [n_groups, T], the parameters of q(pi_a) where the normaliser of maximization is
    taken into account, else [0].
    """

    n_tables: Annotated[F64, Axes("truncation")]
    n_group_tables: Annotated[F64, Axes("n_groups", "truncation")]
    pi: Annotated[F64, Axes("truncation", least=0)]
    alpha_doc: Annotated[float, Axes(least=POSITIVE)]
    alpha_group: Annotated[float, Axes(least=POSITIVE)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    word_mass: Annotated[float, Axes(least=POSITIVE)]
    kappa: Annotated[F64, Axes("n_groups", "truncation", maybe_empty=True)]

    @property
    def share(self) -> F64:
        """The learned mixing weights of all links [n_links], or [0]."""
        return joined(self.local, "share")


class Info(NamedTuple):
    """Columns of metrics.jsonl; the topic counts are explained in ``TopicCounts``."""

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    alpha_doc: float
    alpha_group: float
    gamma: float
    eta: float
    drift: float


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


def _begun(piece: Piece, message: tuple[variational.DrawInput, bool]) -> Local:
    """Draw q(z) of a piece; its parents weigh alike, where that is learned."""
    drawing, learned = message
    drawn = variational.draw(piece, drawing)
    return Local(drawn.resp, drawn.n_dk, piece.even if learned else np.empty(0))


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved state disagrees with the corpus; see ``Backend``."""
    return of_other_groups(len(state.n_group_tables), data)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair; after the hold, the weights and concentrations too."""
    learn = context.iteration > settings.inference.hyper_start
    state.local.step(_lay_prior, (group_weights(state, settings.model), state.alpha_doc))
    pseudo_counts = PseudoCounts(np.empty(0, state.n_wk.dtype), word_prior(state), state.word_mass)
    seen_wk = variational.sweep(
        state, data.laid, pseudo_counts, indicators=learn, visit=_sweep_block
    )
    drift = variational.recount_now_and_then(state, data.laid, context)
    if learn:
        global_step(state, data, settings, context.iteration, seen_wk)
    else:
        state.local.step(_settle, None)
    return state, info_of(state, data, drift)


def _lay_prior(piece: Piece, local: Local, given: tuple[Weights, float]) -> tuple[Local, None]:
    return local._replace(doc_prior=prior_rows(piece, local, given)), None


def _sweep_block(piece: Piece, local: Local, block: BlockInput) -> tuple[Local, Any]:
    """Sweep a block under the prior that the piece has laid."""
    assert local.doc_prior is not None
    given = block.given._replace(prior=block.given.prior._replace(doc=local.doc_prior))
    found: tuple[Local, Any] = variational.sweep_block(piece, local, block._replace(given=given))
    return found


def _settle(piece: Piece, local: Local, _: None) -> tuple[Local, None]:
    return variational.settled(local), None


def prior_rows(piece: Piece, local: Local, given: tuple[Weights, float]) -> Floats:
    """Return the pseudo-counts of a piece's documents: weights and alpha_doc.

    [n_docs, n_topics].
    """
    weights, alpha_doc = given
    rows = np.empty_like(local.n_dk)
    own = weights.with_shares(piece, local.share)
    kernels.prior_rows(piece.parents, own, alpha_doc, rows)
    return rows


def word_prior(state: State) -> Floats:
    """Return the pseudo-count of each word [n_words]."""
    n_words, dtype = len(state.n_wk), state.n_wk.dtype
    return np.full(n_words, state.word_mass / n_words, dtype)


def group_weights(state: State, model: Model) -> Weights:
    """Return the mean weights of groups, (s_ak + alpha_a pi_k) / (s_a + alpha_a) or those of
    kappa, and of the corpus; the shares are with the pieces.
    """
    group = state.kappa.copy()
    if not len(state.kappa):
        group = state.n_group_tables + state.alpha_group * state.pi
    group /= group.sum(axis=1, keepdims=True)
    return Weights(group, state.pi, np.empty(0), model.maximization)


def weights_of(state: State, data: Data, model: Model) -> Weights:
    """Return the mean weights of groups and of the corpus, and the shares of all links."""
    return group_weights(state, model).with_shares(data.parents, state.share)


class TableSplitInput(NamedTuple):
    """Input of the split of tables. evenly: parents serve alike. kappa: as in ``State``."""

    weights: Weights
    kappa: F64
    evenly: bool


class TableSums(NamedTuple):
    """Sums over the documents of a piece, and doc_tables float64 [n_docs].

    n_tables, orphans: float64 [T], tables of all documents and of those without parents.
    group_tables, variance: float64 [n_groups, T], tables that groups serve; seen: the chance
    that they serve any.
    """

    n_tables: F64
    orphans: F64
    group_tables: F64
    variance: F64
    seen: F64
    doc_tables: F64


def serve(piece: Piece, local: Local, split_input: TableSplitInput) -> tuple[Local, TableSums]:
    """Split a piece's expected tables over parents; refit mixing weights (theory/chdp 5.3)."""
    parents = piece.parents
    weights = split_input.weights.with_shares(piece, local.share)
    seen_dk, prior = local.seen_dk, local.doc_prior
    assert seen_dk is not None and prior is not None
    m_dk = seen_dk.copy()
    kernels.document_tables(local.n_dk, prior, m_dk)
    link_tables = np.empty((len(parents.group), m_dk.shape[1]), m_dk.dtype)
    if len(split_input.kappa):
        kernels.serve_by_best(parents, split_input.kappa, split_input.evenly, m_dk, link_tables)
    else:
        kernels.split_tables(parents, weights, m_dk, split_input.evenly, link_tables)
    group_tables, variance, seen = (np.zeros_like(weights.group) for _ in range(3))
    kernels.gather_tables(parents, link_tables, group_tables)
    share = local.share
    if len(share):
        # The mean mixing weights, Dir(1) beforehand, given tables by parent.
        share = parents.shares_of(1.0 + link_tables.sum(axis=1, dtype=np.float64))
    kernels.group_moments(parents, link_tables, m_dk, seen_dk, variance, seen)
    served = TableSums(
        m_dk.sum(axis=0, dtype=np.float64),
        m_dk[parents.orphaned].sum(axis=0, dtype=np.float64),
        group_tables,
        variance,
        seen,
        m_dk.sum(axis=1, dtype=np.float64),
    )
    return variational.settled(local._replace(share=share)), served


def global_step(
    state: State, data: Data, settings: Settings, iteration: int, seen_wk: Floats
) -> None:
    """Refit tables, their split over parents, sticks and concentrations (theory/chdp 5.3).

    seen_wk: the sweep's indicators of words, [n_words, n_topics].
    """
    model, inference = settings.model, settings.inference
    evenly = iteration <= inference.hyper_start + EVEN_ITERATIONS
    split_input = TableSplitInput(group_weights(state, model), state.kappa, evenly)
    parts = state.local.step(serve, split_input)
    state.n_tables = np.sum([part.n_tables for part in parts], axis=0)
    state.n_group_tables = np.sum([part.group_tables for part in parts], axis=0)
    by_group, options = _options(state, parts)
    orphans = np.sum([part.orphans for part in parts], axis=0)
    sticks = fit_sticks(options + orphans, state.gamma, reorder=True)
    state.pi = mean_weights(sticks)
    laid = data.laid
    state.alpha_doc = step_concentration(
        state.alpha_doc, state.n_tables.sum(), laid.lengths, laid.n_with
    )
    state.word_mass = step_concentration(
        state.word_mass, float(seen_wk.sum(dtype=np.float64)), state.n_k
    )
    if "alpha_group" not in inference.hold:
        totals = state.n_group_tables.sum(axis=1)
        state.alpha_group = step_concentration(state.alpha_group, by_group.sum(), totals)
    if state.n_topics > 1:
        state.gamma = best_gamma(sticks)
    if len(state.kappa):
        prior_of_groups = np.maximum(state.alpha_group * state.pi, kernels.SMALLEST)
        doc_tables = stacked([part.doc_tables for part in parts])
        kernels.ascend(data.parents, state.n_group_tables, prior_of_groups, doc_tables, state.kappa)


def _options(state: State, parts: list[TableSums]) -> tuple[F64, F64]:
    """Return the expected options of groups, by group [n_groups] and by topic [T]."""
    tables, n_groups = state.n_group_tables, len(state.n_group_tables)
    variance, seen = np.sum([part.variance for part in parts], axis=0), parts[0].seen
    for part in parts[1:]:
        seen = seen + (1.0 - seen) * part.seen
    by_group, by_topic = np.zeros(n_groups), np.zeros(state.n_topics)
    alphas = np.full(n_groups, state.alpha_group)
    expected_tables(0, n_groups, tables, variance, seen, alphas, state.pi, by_group, by_topic)
    return by_group, by_topic


def info_of(state: State, data: Data, drift: float) -> Info:
    """Return the columns of metrics.jsonl."""
    n_topics, n_topics_tables, n_topics_99, _ = topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    return Info(
        n_topics,
        n_topics_tables,
        n_topics_99,
        state.alpha_doc,
        state.alpha_group,
        state.gamma,
        eta,
        drift,
    )


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the live topics as roots, theta of the documents, and the groups' mean weights."""
    weights = weights_of(state, data, settings.model)
    eta = state.word_mass / data.n_words
    counts = (state.n_dk, state.n_wk, state.n_k)
    return common.summarise(common.ChdpSummaryInput(*counts, weights, state.alpha_doc, eta), data)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return log p(w, z | weights) at the expected counts, plus the entropy of q(z): no bound.

    Zero-order updates ascend this and not the bound; it may fall when priors move.
    """
    given = (group_weights(state, settings.model), state.alpha_doc)
    topics, entropies = zip(*state.local.ask(_of_documents, given), strict=True)
    docs = sum(topics, 0.0) - float(log_rising(state.alpha_doc, data.doc_lengths).sum())
    words = _in_blocks(state.n_wk, np.broadcast_to(word_prior(state)[:, None], state.n_wk.shape))
    words -= float(log_rising(state.word_mass, np.maximum(state.n_k, 0.0)).sum())
    return docs + words + sum(entropies, 0.0)


def _of_documents(piece: Piece, local: Local, given: tuple[Weights, float]) -> tuple[float, float]:
    """Answer with what topics of a piece's documents add to the objective, and q(z)'s entropy."""
    topics = _in_blocks(local.n_dk, prior_rows(piece, local, given))
    return topics, float(kernels.entropy(local.resp, piece.cells.tokens))


def _in_blocks(counts: Floats, prior: Floats) -> float:
    """Return the sum of ``log_rising``, block by block; counts below 0 are drift."""
    total = 0.0
    for first in range(0, len(counts), ROWS):
        block = slice(first, first + ROWS)
        x = np.maximum(prior[block].astype(np.float64), SMALLEST)
        n = np.maximum(counts[block], 0.0)
        total += float(log_rising(x, n).sum())
    return total


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
    extra=common.EXTRA,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    merge_extra=merge_extra,
    migrate_state=without("option", "dish", "orphan"),
    pieces=Sharded(Local=Local, parts=parts_of, build=build_piece, bounds=bounds),
    flaw=flaw,
)
