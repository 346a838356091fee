"""Long chains of the package's kernels on the five tokens of theory/chdp 8.4, all compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from chdp_cases import begin, settings_of, tiny
from stepping import at

from hiertopics.base.arrays import F64
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import gibbs
from hiertopics.families.chdp.base_kernels import DocumentBases, Weights
from hiertopics.families.chdp.gibbs_kernels import (
    SMALLEST,
    draw_group_weights,
    draw_options,
    draw_sticks,
    log_weights,
    seat_tokens,
    split_tables,
)
from hiertopics.families.chdp.maximum_kernels import draw_rates, slice_groups, slice_sticks
from hiertopics.families.flat.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.papers import chdp_irp as irp
from hiertopics.papers.chdp_irp_kernels import sweep_options, sweep_tables, sweep_tokens

ALPHA_DOC, ALPHA_GROUP, GAMMA, ETA = 2.0, 1.5, 1.2, 0.7
BATCHES = 40
PAIRS = np.array([[0, 1], [0, 2], [2, 3], [3, 4]])
"""Tokens whose chance of a common topic is asked for."""


class Chances(NamedTuple):
    """Chances of a common topic for each pair of tokens, and their standard errors."""

    mean: F64
    error: F64


def _chances(batches: F64) -> Chances:
    return Chances(batches.mean(axis=0), batches.std(axis=0) / np.sqrt(len(batches) - 1))


def _settings(**keys: Any) -> Any:
    fixed = {"alpha_doc": ALPHA_DOC, "alpha_group": ALPHA_GROUP, "gamma": GAMMA, "eta": ETA}
    return settings_of(**fixed | keys)


def exact_chances(
    cooperation: str,
    n_topics: int,
    n_sweeps: int,
    corpus: Corpus | None = None,
    *,
    alpha_group: float = ALPHA_GROUP,
    dense: bool = False,
    seed: int = 0,
) -> Chances:
    """Return what the exact sampler visits, concentrations fixed."""
    settings = _settings(cooperation=cooperation, truncation=n_topics)
    state, data = begin(corpus or tiny(), settings, seed=seed)
    weights = Weights(
        np.exp(state.log_pi), np.exp(state.log_pi_0), data.parents.uniform(),
        settings.model.maximization,
    )  # fmt: skip
    tables = TokenTopics(state.z, state.n_dk, state.n_wk, state.n_k)
    batches = np.zeros((BATCHES, len(PAIRS)))
    rng = np.random.default_rng(seed)
    _run_exact(
        sweep_block if dense else sweep_block_by_lists,
        data.cells, tables, data.parents, weights, state.log_pi, state.sticks, alpha_group,
        batches, n_sweeps // BATCHES, rng,
    )  # fmt: skip
    return _chances(batches)


@numba.njit
def _count(z: Any, batch: Any, share: float) -> None:
    for pair in range(len(PAIRS)):
        batch[pair] += share * (z[PAIRS[pair, 0]] == z[PAIRS[pair, 1]])


@numba.njit
def _run_exact(
    sweep: Any, cells: Any, tables: TokenTopics, parents: Any, weights: Weights, log_pi: Any,
    sticks: Any, alpha_group: float, batches: Any, n_sweeps: int, rng: Any,
) -> None:  # fmt: skip
    n_docs, n_topics = tables.n_dk.shape
    word = np.full(len(tables.n_wk), ETA)
    totals, by_link = np.empty(n_docs), np.zeros(len(parents.group), np.int64)
    for batch in range(-1, len(batches)):
        for _ in range(n_sweeps):
            bases = DocumentBases(parents, weights, ALPHA_DOC, word, word.sum())
            sweep(cells, 0, 0, tables, bases, rng)
            m_dk = np.zeros((n_docs, n_topics), np.int32)
            seat_tokens(tables.n_dk, ALPHA_DOC, parents, weights, m_dk, totals, rng)
            orphans = np.zeros(n_topics, np.int64)
            for doc in range(n_docs):
                if parents.ptr[doc] == parents.ptr[doc + 1]:
                    orphans += m_dk[doc]
            prior = np.maximum(alpha_group * weights.corpus, SMALLEST)
            if weights.maximization:
                rates = draw_rates(m_dk, totals, rng)
                slice_groups(log_pi, prior, m_dk, rates, parents, rng)
                sums = log_pi.sum(axis=0)
                slice_sticks(sticks, GAMMA, alpha_group, sums, len(log_pi), orphans, rng)
                weights.corpus[:] = np.exp(log_weights(sticks))
            else:
                s_ak = np.zeros(log_pi.shape, np.int32)
                split_tables(m_dk, parents, weights, s_ak, by_link, rng)
                options = np.zeros(n_topics, np.int64)
                draw_options(s_ak, prior, options, rng)
                draw_sticks(options + orphans, GAMMA, sticks, rng)
                weights.corpus[:] = np.exp(log_weights(sticks))
                prior = np.maximum(alpha_group * weights.corpus, SMALLEST)
                draw_group_weights(s_ak, prior, log_pi, rng)
            weights.group[:] = np.exp(log_pi)
            if batch >= 0:
                _count(tables.z, batches[batch], 1.0 / n_sweeps)


def irp_chances(cooperation: str, n_topics: int, n_sweeps: int, seed: int = 0) -> Chances:
    """Return what the international restaurant process visits, concentrations fixed."""
    settings = _settings(cooperation=cooperation, truncation=n_topics, sampler="irp")
    state, data = begin(tiny(), settings, seed=seed)
    seating = irp.unpack(state, data)
    urn = irp._urn(state, data, settings.model)
    owner = np.repeat(np.arange(data.n_docs, dtype=np.int32), data.doc_lengths)
    first = np.repeat(data.cells.cuts[:, 0], data.doc_lengths)
    batches = np.zeros((BATCHES, len(PAIRS)))
    rng = np.random.default_rng(seed)
    _run_irp(
        data.cells, state.tables, seating.seats, seating.options, urn, owner, first, batches,
        n_sweeps // BATCHES, rng,
    )  # fmt: skip
    assert (state.n_dk.sum(axis=1) == data.doc_lengths).all()
    return _chances(batches)


@numba.njit
def _run_irp(
    cells: Any, tables: TokenTopics, seats: Any, options: Any, urn: Any, owner: Any, first: Any,
    batches: Any, n_sweeps: int, rng: Any,
) -> None:  # fmt: skip
    for batch in range(-1, len(batches)):
        for _ in range(n_sweeps):
            sweep_tokens(cells, tables, seats, options, urn, ALPHA_DOC, ETA, rng)
            sweep_tables(cells, tables, seats, options, urn, ETA, rng)
            option_of = seats.table_option[first + seats.seat]
            sweep_options(owner, cells.word, option_of, tables, options, GAMMA, ETA, rng)
            if batch >= 0:
                _count(tables.z, batches[batch], 1.0 / n_sweeps)


def step_chances(n_steps: int, seed: int = 0, corpus: Corpus | None = None, **keys: Any) -> Chances:
    """Return what ``gibbs.step`` visits, concentrations fixed."""
    fixed = ("alpha_doc", "alpha_group", "eta", "gamma")
    settings = _settings(hyper_start=0, hold=fixed, **keys)
    state, data = begin(corpus or tiny(), settings, seed=seed)
    batches = np.zeros((BATCHES, len(PAIRS)))
    per_batch = n_steps // BATCHES
    for iteration in range(1, BATCHES * per_batch + 1):
        state, _ = gibbs.step(state, data, settings, at(iteration, seed=seed))
        together = state.z[PAIRS[:, 0]] == state.z[PAIRS[:, 1]]
        batches[(iteration - 1) // per_batch] += together / per_batch
    return _chances(batches)
