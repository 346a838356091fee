"""The exact sampler with explicit group weights: everything but the topics (theory/chdp 4).

Given all topics, tables make the likelihood of the bases a product; superposition then splits
them over parents and is conjugate, maximization updates the weights by slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp import maximum_kernels as maximum
from hiertopics.families.chdp import table_kernels as kernels
from hiertopics.families.chdp import weight_kernels as logs
from hiertopics.families.chdp.concentrations import Sampled
from hiertopics.families.chdp.config import Model
from hiertopics.families.chdp.gibbs_state import Draw, weights_of
from hiertopics.families.chdp.layout import Data
from hiertopics.families.flat.concentrations import (
    PRIOR_RATE,
    PRIOR_SHAPE,
    draw_by_sticks,
    draw_concentration,
)
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sticks import log_remainders, redraw_order
from hiertopics.families.flat.token_kernels import relabel

Array = NDArray[Any]


@dataclass(kw_only=True)
class State(Draw):
    """A draw with the sticks of the corpus: logits, float64 [T - 1]."""

    sticks: NDArray[np.float64]


def draw_weights(
    state: State,
    data: Data,
    model: Model,
    sampled: Sampled,
    rng: np.random.Generator,
    *,
    reorder: bool = False,
) -> None:
    """Draw tables, the weights of corpus and groups, and the concentrations above the words.

    reorder: topics change their sticks, too.
    """
    m_dk = np.zeros_like(state.n_dk)
    totals = np.empty(data.n_docs)
    weights = weights_of(state, data, model)
    kernels.seat_tokens(state.n_dk, state.alpha_doc, data.parents, weights, m_dk, totals, rng)
    state.n_tables = m_dk.sum(axis=0, dtype=np.int64)
    orphans = m_dk[data.parents.orphaned].sum(axis=0, dtype=np.int64)
    if sampled.alpha_doc:
        n_tables = int(state.n_tables.sum())
        state.alpha_doc = draw_concentration(state.alpha_doc, n_tables, data.doc_lengths, rng)
    if model.maximization:
        _draw_by_slices(state, data, m_dk, totals, orphans, sampled, rng)
    else:
        _draw_by_splits(state, data, model, m_dk, orphans, sampled, rng)
    if reorder:
        _reorder(state, data.cells, None if sampled.gamma else state.gamma, rng)
    if sampled.gamma:
        state.gamma = draw_by_sticks(-np.logaddexp(0.0, state.sticks), rng)


def _draw_by_splits(
    state: State,
    data: Data,
    model: Model,
    m_dk: Array,
    orphans: Array,
    sampled: Sampled,
    rng: np.random.Generator,
) -> None:
    """Superposition: tables to parents, options, sticks, alpha_group, groups, shares (4.2)."""
    state.n_group_tables = np.zeros_like(state.n_group_tables)
    by_link = np.zeros(len(data.parents.group), dtype=np.int64)
    weights = weights_of(state, data, model)
    kernels.split_tables(m_dk, data.parents, weights, state.n_group_tables, by_link, rng)
    options = np.zeros(len(state.log_pi_0), dtype=np.int64)
    kernels.draw_options(state.n_group_tables, _prior_of_groups(state), options, rng)
    logs.draw_sticks(options + orphans, state.gamma, state.sticks, rng)
    state.log_pi_0 = logs.log_weights(state.sticks)
    if sampled.alpha_group:
        sizes = state.n_group_tables.sum(axis=1)
        n_options = int(options.sum())
        state.alpha_group = draw_concentration(state.alpha_group, n_options, sizes, rng)
    logs.draw_group_weights(state.n_group_tables, _prior_of_groups(state), state.log_pi, rng)
    if len(state.share):
        state.share = data.parents.shares_of(rng.standard_gamma(1.0 + by_link))


def _draw_by_slices(
    state: State,
    data: Data,
    m_dk: Array,
    totals: Array,
    orphans: Array,
    sampled: Sampled,
    rng: np.random.Generator,
) -> None:
    """Maximization: groups by pairwise slices, sticks and alpha_group by slices (4.3)."""
    rates = maximum.draw_rates(m_dk, totals, rng)
    prior = _prior_of_groups(state)
    maximum.slice_groups(state.log_pi, prior, m_dk, rates, data.parents, rng)
    sums, n_groups = state.log_pi.sum(axis=0), len(state.log_pi)
    maximum.slice_sticks(state.sticks, state.gamma, state.alpha_group, sums, n_groups, orphans, rng)
    state.log_pi_0 = logs.log_weights(state.sticks)
    if sampled.alpha_group:
        state.alpha_group = maximum.slice_alpha(
            state.alpha_group, state.log_pi_0, sums, n_groups, PRIOR_SHAPE, PRIOR_RATE, rng
        )


def _reorder(state: State, cells: Cells, gamma: float | None, rng: np.random.Generator) -> None:
    """Redraw which topic has which stick; its tokens, tables and weights go with it (4.4)."""
    order = redraw_order(state.log_pi_0, gamma, rng)
    if (order == np.arange(len(order))).all():
        return
    relabel(order, cells, state.tables)
    state.n_group_tables = state.n_group_tables.take(order, axis=1)
    state.n_tables = state.n_tables[order]
    state.log_pi = state.log_pi.take(order, axis=1)
    state.log_pi_0 = state.log_pi_0[order]
    state.sticks = state.log_pi_0[:-1] - log_remainders(state.log_pi_0)[1:]


def _prior_of_groups(state: State) -> Array:
    """Return the parameter of the groups' Dirichlet prior, floored [T]."""
    return np.maximum(state.alpha_group * np.exp(state.log_pi_0), logs.SMALLEST)
