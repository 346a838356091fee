"""What collapsed variational Bayes estimates besides q(z), and the step that refits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import joined
from hiertopics.families.chdp import ascent_kernels as ascent
from hiertopics.families.chdp import share_kernels as kernels
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import Model
from hiertopics.families.chdp.config import VariationalSettings as Settings
from hiertopics.families.chdp.layout import Data
from hiertopics.families.flat import variational
from hiertopics.families.flat.concentrations import step_concentration
from hiertopics.families.flat.moments import expected_tables
from hiertopics.families.flat.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.families.flat.summary import topic_counts

Array = NDArray[np.float64]

EVEN_ITERATIONS = 3
"""Iterations after the hold in which parents serve alike, before groups have their own topics."""


@dataclass
class State(variational.Responsibilities):
    """The responsibilities and the point estimates. T is the truncation.

    n_tables: float64 [T], expected tables. n_group_tables: float64 [n_groups, T], those that each
    group serves. share: float64 [n_links] where mixing weights are learned, else [0]. pi: float64
    [T]. word_mass: eta times the vocabulary's size.

    kappa: float64 [n_groups, T], the parameters of q(pi_a) where the normaliser of maximization is
    taken into account, else [0].
    """

    n_tables: Array
    n_group_tables: Array
    share: Array
    pi: Array
    alpha_doc: float
    alpha_group: float
    gamma: float
    word_mass: float
    kappa: Array


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
    """Return the mean weights of groups, (s_ak + alpha_a pi_k) / (s_a + alpha_a) or those of
    kappa, and of the corpus.
    """
    group = state.kappa.copy()
    if not len(state.kappa):
        group = state.n_group_tables + state.alpha_group * state.pi
    group /= group.sum(axis=1, keepdims=True)
    share = data.parents.shares(state.share)
    return Weights(group, state.pi, share, model.maximization)


def global_step(
    state: State,
    data: Data,
    settings: Settings,
    iteration: int,
    prior: NDArray[np.floating],
    seen_wk: NDArray[np.floating],
) -> None:
    """Refit tables, their split over parents, sticks and concentrations (theory/chdp 5.3).

    prior [n_docs, T]: what the sweep took for documents. seen_wk: its indicators of words.
    """
    model, inference = settings.model, settings.inference
    seen_dk = joined(state.local, "seen_dk")
    variational.seen_totals(state)
    m_dk = seen_dk.copy()
    kernels.document_tables(state.n_dk, prior, m_dk)
    state.n_tables = m_dk.sum(axis=0, dtype=np.float64)
    link_tables = np.empty((len(data.parents.group), state.n_topics), m_dk.dtype)
    weights = weights_of(state, data, model)
    evenly = iteration <= inference.hyper_start + EVEN_ITERATIONS
    if len(state.kappa):
        ascent.serve_by_best(data.parents, state.kappa, evenly, m_dk, link_tables)
    else:
        kernels.split_tables(data.parents, weights, m_dk, evenly, link_tables)
    kernels.gather_tables(data.parents, link_tables, state.n_group_tables)
    if len(state.share):
        # The mean mixing weights, Dir(1) beforehand, given tables by parent.
        served = 1.0 + link_tables.sum(axis=1, dtype=np.float64)
        state.share = data.parents.shares_of(served)
    by_group, options = _options(state, data, link_tables, m_dk, seen_dk)
    orphans = m_dk[data.parents.orphaned].sum(axis=0, dtype=np.float64)
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
        doc_tables = m_dk.sum(axis=1, dtype=np.float64)
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


def _options(
    state: State,
    data: Data,
    link_tables: NDArray[np.floating],
    m_dk: NDArray[np.floating],
    seen_dk: NDArray[np.floating],
) -> tuple[Array, Array]:
    """Return the expected options of groups, by group [n_groups] and by topic [T]."""
    tables, n_groups = state.n_group_tables, data.parents.n_groups
    variance, seen = np.zeros_like(tables), np.zeros_like(tables)
    kernels.group_moments(data.parents, link_tables, m_dk, seen_dk, variance, seen)
    by_group, by_topic = np.zeros(n_groups), np.zeros(state.n_topics)
    alphas = np.full(n_groups, state.alpha_group)
    expected_tables(0, n_groups, tables, variance, seen, alphas, state.pi, by_group, by_topic)
    return by_group, by_topic
