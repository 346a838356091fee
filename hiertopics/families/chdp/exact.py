"""The exact sampler with explicit group weights: everything but the topics (theory/chdp 4).

Given all topics, tables make the likelihood of the bases a product; superposition then splits
them over parents and is conjugate, maximization updates the weights by slices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import Each, Pieces, joined, stacked
from hiertopics.families.chdp import maximum_kernels as maximum
from hiertopics.families.chdp import table_kernels as kernels
from hiertopics.families.chdp import weight_kernels as logs
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.concentrations import Sampled
from hiertopics.families.chdp.gibbs_state import Documents, Draw, log_chances_of
from hiertopics.families.chdp.layout import Data, Piece
from hiertopics.families.flat.concentrations import (
    PRIOR_RATE,
    PRIOR_SHAPE,
    draw_by_sticks,
    draw_concentration,
)
from hiertopics.families.flat.sticks import log_remainders, redraw_order
from hiertopics.families.flat.tokens import renumber

Array = NDArray[Any]
Result = TypeVar("Result")


class Local(NamedTuple):
    """What belongs to the documents of a piece: ``Documents``.

    Within an iteration also m_dk int32 [n_docs, T], tables, and by_link int64 [n_links], those
    that each parent serves.
    """

    z: NDArray[np.int32]
    n_dk: NDArray[np.int32]
    share: NDArray[np.float64]
    m_dk: NDArray[np.int32] | None = None
    by_link: NDArray[np.int64] | None = None


@dataclass(kw_only=True)
class State(Draw):
    """A draw, its documents in pieces, with the sticks of the corpus: logits, float64 [T - 1]."""

    local: Pieces[Piece, Local]
    sticks: NDArray[np.float64]

    @property
    def z(self) -> NDArray[np.int32]:
        """The topics of all tokens [n_tokens]; of a single piece not a copy."""
        return joined(self.local, "z")

    @property
    def n_dk(self) -> NDArray[np.int32]:
        """The counts of all documents [n_docs, T]; of a single piece not a copy."""
        return joined(self.local, "n_dk")

    @property
    def share(self) -> NDArray[np.float64]:
        """The learned mixing weights of all links [n_links], or [0]."""
        return joined(self.local, "share")

    @property
    def documents(self) -> Documents:
        """What belongs to all documents."""
        return Documents(self.z, self.n_dk, self.share)

    def log_chances(self, data: Data, weights: Weights) -> float:
        """Return ``log_chances_of`` all documents."""
        return sum(self.local.ask(_log_chances, (weights, self.alpha_doc)))


def _log_chances(piece: Piece, local: Local, given: tuple[Weights, float]) -> float:
    return log_chances_of(Documents(*local[:3]), piece.parents, *given)


def draw_weights(
    state: State,
    data: Data,
    weights: Weights,
    sampled: Sampled,
    rngs: list[np.random.Generator],
    *,
    reorder: bool = False,
) -> None:
    """Draw tables, the weights of corpus and groups, and the concentrations above the words.

    weights: those that are drawn now, of groups and corpus. rngs: one for each piece; what pieces
    share is drawn with the first. reorder: topics change their sticks, too.
    """
    seated = _told(state, _seat, (weights, state.alpha_doc), rngs)
    state.n_tables = np.sum([part.n_tables for part in seated], axis=0)
    orphans = np.sum([part.orphans for part in seated], axis=0)
    if sampled.alpha_doc:
        n_tables = int(state.n_tables.sum())
        state.alpha_doc = draw_concentration(state.alpha_doc, n_tables, data.doc_lengths, rngs[0])
    if weights.maximization:
        _draw_by_slices(state, data, seated, orphans, sampled, rngs[0])
    else:
        _draw_by_splits(state, weights, orphans, sampled, rngs)
    rng = rngs[0]
    if reorder:
        _reorder(state, data, None if sampled.gamma else state.gamma, rng)
    if sampled.gamma:
        state.gamma = draw_by_sticks(-np.logaddexp(0.0, state.sticks), rng)


def _told(
    state: State,
    task: Callable[[Piece, Local, Any], tuple[Local, tuple[Result, np.random.Generator]]],
    message: object,
    rngs: list[np.random.Generator],
) -> list[Result]:
    """Let pieces go on, each with its generator; these come back as the pieces leave them."""
    answers = state.local.step(task, Each([(message, rng) for rng in rngs]))
    rngs[:] = [rng for _, rng in answers]
    return [result for result, _ in answers]


class Seated(NamedTuple):
    """The tables of a piece: n_tables, of those orphans of documents without parents, int64 [T].

    m_dk int32 [n_docs, T], totals float64 [n_docs]: tables and Z of its documents under
    maximization, where groups are drawn from them; else without rows.
    """

    n_tables: NDArray[np.int64]
    orphans: NDArray[np.int64]
    m_dk: NDArray[np.int32]
    totals: NDArray[np.float64]


def _seat(
    piece: Piece, local: Local, told: tuple[tuple[Weights, float], np.random.Generator]
) -> tuple[Local, tuple[Seated, np.random.Generator]]:
    """Draw the tables of a piece."""
    (weights, alpha_doc), rng = told
    parents = piece.parents
    own = weights.with_shares(parents, local.share)
    m_dk, totals = np.zeros_like(local.n_dk), np.empty(piece.n_docs)
    kernels.seat_tokens(local.n_dk, alpha_doc, parents, own, m_dk, totals, rng)
    by_topic = m_dk.sum(axis=0, dtype=np.int64)
    orphans = m_dk[parents.orphaned].sum(axis=0, dtype=np.int64)
    if weights.maximization:
        return local, (Seated(by_topic, orphans, m_dk, totals), rng)
    seated = Seated(by_topic, orphans, m_dk[:0], totals[:0])
    return local._replace(m_dk=m_dk), (seated, rng)


def _split(
    piece: Piece, local: Local, told: tuple[Weights, np.random.Generator]
) -> tuple[Local, tuple[NDArray[np.int32], np.random.Generator]]:
    """Split tables of a piece over parents; answer with those of each group [n_groups, T]."""
    weights, rng = told
    assert local.m_dk is not None
    own = weights.with_shares(piece.parents, local.share)
    by_group = np.zeros(weights.group.shape, np.int32)
    by_link = np.zeros(len(piece.parents.group), dtype=np.int64)
    kernels.split_tables(local.m_dk, piece.parents, own, by_group, by_link, rng)
    return local._replace(m_dk=None, by_link=by_link), (by_group, rng)


def _mix(
    piece: Piece, local: Local, told: tuple[None, np.random.Generator]
) -> tuple[Local, tuple[None, np.random.Generator]]:
    """Draw the mixing weights of a piece, where they are learned."""
    rng, share = told[1], local.share
    if len(share):
        assert local.by_link is not None
        share = piece.parents.shares_of(rng.standard_gamma(1.0 + local.by_link))
    return local._replace(share=share, by_link=None), (None, rng)


def _draw_by_splits(
    state: State,
    weights: Weights,
    orphans: Array,
    sampled: Sampled,
    rngs: list[np.random.Generator],
) -> None:
    """Superposition: tables to parents, options, sticks, alpha_group, groups, shares (4.2)."""
    state.n_group_tables, *others = _told(state, _split, weights, rngs)
    for tables in others:
        state.n_group_tables += tables
    rng = rngs[0]
    options = np.zeros(len(state.log_pi_0), dtype=np.int64)
    kernels.draw_options(state.n_group_tables, _prior_of_groups(state), options, rng)
    logs.draw_sticks(options + orphans, state.gamma, state.sticks, rng)
    state.log_pi_0 = logs.log_weights(state.sticks)
    if sampled.alpha_group:
        sizes = state.n_group_tables.sum(axis=1)
        n_options = int(options.sum())
        state.alpha_group = draw_concentration(state.alpha_group, n_options, sizes, rng)
    logs.draw_group_weights(state.n_group_tables, _prior_of_groups(state), state.log_pi, rng)
    _told(state, _mix, None, rngs)


def _draw_by_slices(
    state: State,
    data: Data,
    seated: list[Seated],
    orphans: Array,
    sampled: Sampled,
    rng: np.random.Generator,
) -> None:
    """Maximization: groups by pairwise slices, sticks and alpha_group by slices (4.3)."""
    m_dk = stacked([part.m_dk for part in seated])
    totals = stacked([part.totals for part in seated])
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


def _reorder(state: State, data: Data, gamma: float | None, rng: np.random.Generator) -> None:
    """Redraw which topic has which stick; its tokens, tables and weights go with it (4.4)."""
    order = redraw_order(state.log_pi_0, gamma, rng)
    if (order == np.arange(len(order))).all():
        return
    renumber(state, order, data.laid.word_bounds)
    state.n_group_tables = state.n_group_tables.take(order, axis=1)
    state.n_tables = state.n_tables[order]
    state.log_pi = state.log_pi.take(order, axis=1)
    state.log_pi_0 = state.log_pi_0[order]
    state.sticks = state.log_pi_0[:-1] - log_remainders(state.log_pi_0)[1:]


def _prior_of_groups(state: State) -> Array:
    """Return the parameter of the groups' Dirichlet prior, floored [T]."""
    return np.maximum(state.alpha_group * np.exp(state.log_pi_0), logs.SMALLEST)
