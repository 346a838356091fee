"""What collapsed variational Bayes estimates besides q(z), and the step that refits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import joined, stacked
from hiertopics.families.chdp import ascent_kernels as ascent
from hiertopics.families.chdp import share_kernels as kernels
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import Model
from hiertopics.families.chdp.config import VariationalSettings as Settings
from hiertopics.families.chdp.layout import Data, Piece
from hiertopics.families.flat import variational
from hiertopics.families.flat.concentrations import step_concentration
from hiertopics.families.flat.moments import expected_tables
from hiertopics.families.flat.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.families.flat.summary import topic_counts

Array = NDArray[np.float64]
Table = NDArray[np.floating]

EVEN_ITERATIONS = 3
"""Iterations after the hold in which parents serve alike, before groups have their own topics."""


class Local(NamedTuple):
    """``variational.Local``, with the mixing weights of a piece's links where they are learned.

    share: float64 [n_links], else [0]. Within an iteration also doc_prior [n_docs, T], what the
    sweep takes for documents.
    """

    resp: Table
    n_dk: Table
    share: Array
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

    n_tables: Array
    n_group_tables: Array
    pi: Array
    alpha_doc: float
    alpha_group: float
    gamma: float
    word_mass: float
    kappa: Array

    @property
    def share(self) -> Array:
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


def weights_of(state: State, data: Data, model: Model) -> Weights:
    """Return the mean weights of groups and of the corpus, and the shares of all links."""
    return group_weights(state, model).with_shares(data.parents, state.share)


def group_weights(state: State, model: Model) -> Weights:
    """Return the mean weights of groups, (s_ak + alpha_a pi_k) / (s_a + alpha_a) or those of
    kappa, and of the corpus; the shares are with the pieces.
    """
    group = state.kappa.copy()
    if not len(state.kappa):
        group = state.n_group_tables + state.alpha_group * state.pi
    group /= group.sum(axis=1, keepdims=True)
    return Weights(group, state.pi, np.empty(0), model.maximization)


class Asked(NamedTuple):
    """What tables are split by. evenly: parents serve alike. kappa: as in ``State``."""

    weights: Weights
    kappa: Array
    evenly: bool


class Served(NamedTuple):
    """What the documents of a piece add up to, but for doc_tables float64 [n_docs].

    n_tables, orphans: float64 [T], tables of all documents and of those without parents.
    group_tables, variance: float64 [n_groups, T], tables that groups serve; seen: the chance
    that they serve any.
    """

    n_tables: Array
    orphans: Array
    group_tables: Array
    variance: Array
    seen: Array
    doc_tables: Array


def serve(piece: Piece, local: Local, asked: Asked) -> tuple[Local, Served]:
    """Split a piece's expected tables over parents; refit mixing weights (theory/chdp 5.3)."""
    parents = piece.parents
    weights = asked.weights.with_shares(parents, local.share)
    seen_dk, prior = local.seen_dk, local.doc_prior
    assert seen_dk is not None and prior is not None
    m_dk = seen_dk.copy()
    kernels.document_tables(local.n_dk, prior, m_dk)
    link_tables = np.empty((len(parents.group), m_dk.shape[1]), m_dk.dtype)
    if len(asked.kappa):
        ascent.serve_by_best(parents, asked.kappa, asked.evenly, m_dk, link_tables)
    else:
        kernels.split_tables(parents, weights, m_dk, asked.evenly, link_tables)
    group_tables, variance, seen = (np.zeros_like(weights.group) for _ in range(3))
    kernels.gather_tables(parents, link_tables, group_tables)
    share = local.share
    if len(share):
        # The mean mixing weights, Dir(1) beforehand, given tables by parent.
        share = parents.shares_of(1.0 + link_tables.sum(axis=1, dtype=np.float64))
    kernels.group_moments(parents, link_tables, m_dk, seen_dk, variance, seen)
    served = Served(
        m_dk.sum(axis=0, dtype=np.float64),
        m_dk[parents.orphaned].sum(axis=0, dtype=np.float64),
        group_tables,
        variance,
        seen,
        m_dk.sum(axis=1, dtype=np.float64),
    )
    return variational.settled(local._replace(share=share)), served


def global_step(
    state: State, data: Data, settings: Settings, iteration: int, seen_wk: NDArray[np.floating]
) -> None:
    """Refit tables, their split over parents, sticks and concentrations (theory/chdp 5.3).

    seen_wk: the sweep's indicators of words.
    """
    model, inference = settings.model, settings.inference
    evenly = iteration <= inference.hyper_start + EVEN_ITERATIONS
    asked = Asked(group_weights(state, model), state.kappa, evenly)
    parts = state.local.step(serve, asked)
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
    if inference.fit_alpha_group:
        totals = state.n_group_tables.sum(axis=1)
        state.alpha_group = step_concentration(state.alpha_group, by_group.sum(), totals)
    if state.n_topics > 1:
        state.gamma = best_gamma(sticks)
    if len(state.kappa):
        prior_of_groups = np.maximum(state.alpha_group * state.pi, ascent.SMALLEST)
        doc_tables = stacked([part.doc_tables for part in parts])
        ascent.ascend(data.parents, state.n_group_tables, prior_of_groups, doc_tables, state.kappa)


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


def _options(state: State, parts: list[Served]) -> tuple[Array, Array]:
    """Return the expected options of groups, by group [n_groups] and by topic [T]."""
    tables, n_groups = state.n_group_tables, len(state.n_group_tables)
    variance, seen = np.sum([part.variance for part in parts], axis=0), parts[0].seen
    for part in parts[1:]:
        seen = seen + (1.0 - seen) * part.seen
    by_group, by_topic = np.zeros(n_groups), np.zeros(state.n_topics)
    alphas = np.full(n_groups, state.alpha_group)
    expected_tables(0, n_groups, tables, variance, seen, alphas, state.pi, by_group, by_topic)
    return by_group, by_topic
