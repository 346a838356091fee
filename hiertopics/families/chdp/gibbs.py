"""chdp-gibbs: Gibbs sampling of the cooperative hierarchical Dirichlet process.

A document follows its parents (authors, labels) and these follow the corpus; where there are
several parents they are mixed (superposition) or the strongest one counts for each topic
(maximization). Topics and document weights are integrated out. Given all topics, tables make the
likelihood of the bases a product; superposition then splits them over parents and is conjugate,
maximization updates the weights of groups by slices (theory/chdp 4).

J. Xuan, J. Lu, G. Zhang, R. Y. D. Xu: Cooperative Hierarchical Dirichlet Processes: Superposition
vs. Maximization, arXiv 1707.05420 (theory/chdp).

    theory/chdp                  here
    alpha_d, alpha_a, alpha_0    alpha_doc, alpha_group, gamma
    lambda_da                    share [n_links]
    pi_0, pi_a, b_d              log_pi_0 [T], log_pi [n_groups, T], the base of a document
    m_dk, s_ak, o_ak             m_dk, n_group_tables, options

``inference.sampler: irp`` is the paper's own sampler instead, a backend of its own in
``paper.irp``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.contract.engine import Each, Pieces, as_given, cut, joined, stacked
from hiertopics.contract.model import Context, Sharded, without
from hiertopics.families.chdp import gibbs_kernels as kernels, maximum_kernels as maximum
from hiertopics.families.chdp.base_kernels import DocumentBases, Weights
from hiertopics.families.chdp.config import (
    ConcentrationFlags,
    GibbsSettings as Settings,
    Model as Model,
)
from hiertopics.families.chdp.gibbs_state import (
    ChdpDraw,
    DocumentState,
    Info,
    begin,
    even_sticks,
    group_weights,
    info_of,
    log_chances_of,
    sampler,
)
from hiertopics.families.chdp.layout import (
    Data,
    Piece,
    bounds,
    build_piece,
    of_other_groups,
    parts_of,
)
from hiertopics.families.flat.concentrations import (
    CONCENTRATION_PRIOR,
    draw_by_sticks,
    draw_concentration,
)
from hiertopics.families.flat.layout import BlockInput
from hiertopics.families.flat.sticks import log_remainders, redraw_order
from hiertopics.families.flat.tokens import (
    PieceTopics,
    Swept,
    TokenSweepInput,
    draw_eta,
    miscounted,
    renumber,
    sweep,
    sweep_block,
)
from hiertopics.numeric.priors import GammaPrior

Array = NDArray[Any]
Result = TypeVar("Result")


class Local(NamedTuple):
    """Per-document state of a piece: ``DocumentState``.

    Within an iteration also m_dk int32 [n_docs, T], tables, and by_link int64 [n_links], those
    that each parent serves.
    """

    z: Annotated[I32, Axes("n_tokens", below="truncation")]
    n_dk: Annotated[I32, Axes("n_docs", "truncation", least=0)]
    share: Annotated[F64, Axes("n_links", least=0, maybe_empty=True)]
    m_dk: I32 | None = None
    by_link: I64 | None = None


@dataclass(kw_only=True)
class State(PieceTopics, ChdpDraw):
    """A draw, its documents in pieces, with the sticks of the corpus: logits, float64 [T - 1]."""

    local: Pieces[Piece, Local]
    sticks: Annotated[F64, Axes("truncation-1", finite=False)]

    @property
    def share(self) -> F64:
        """The learned mixing weights of all links [n_links], or [0]."""
        return joined(self.local, "share")

    @property
    def documents(self) -> DocumentState:
        """The per-document state of all documents."""
        return DocumentState(self.z, self.n_dk, self.share)

    def log_chances(self, data: Data, weights: Weights) -> float:
        """Return ``log_chances_of`` all documents."""
        return sum(self.local.ask(_log_chances, (weights, self.alpha_doc)))


def _log_chances(piece: Piece, local: Local, given: tuple[Weights, float]) -> float:
    return log_chances_of(DocumentState(*local[:3]), piece.parents, *given)


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, even weights and the start values of the config."""
    documents, begun = begin(data, settings.model, context.rng("init"))
    states = Each(cut(Local, documents._asdict(), bounds(data)))
    local = context.place(build_piece, parts_of(data), as_given, states)
    return State(**begun, local=local, sticks=even_sticks(settings.model.truncation))


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    wrong = of_other_groups(len(state.log_pi), data)
    return wrong or miscounted(state, data.n_words)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold redraw tables, weights and concentrations too."""
    model, inference = settings.model, settings.inference
    weights = group_weights(state, model)
    prior = (weights, state.alpha_doc, state.eta, state.eta * data.n_words)

    def given(*block: int) -> TokenSweepInput:
        rng = context.rng("sweep", *block)
        return TokenSweepInput(state.n_k, prior, inference.sweep == "dense", rng)

    moved = sweep(state, data.laid.word_bounds, _sweep_block, given)
    if context.iteration > inference.hyper_start:
        others = range(1, state.local.n_pieces)
        rngs = [context.rng("weights"), *(context.rng("weights", piece) for piece in others)]
        draw_weights(
            state, data, weights, inference.sampled, rngs, reorder=inference.reorder_sticks
        )
        if inference.sampled.eta:
            state.eta = draw_eta(state.n_wk, state.n_k, state.eta, context.rng("words"))
    return state, info_of(state, moved)


def _sweep_block(piece: Piece, local: Local, block: BlockInput) -> Swept:
    """Sweep a block under the bases of the piece's documents."""
    weights, alpha_doc, eta, word_total = block.given.prior
    own, word = weights.with_shares(piece, local.share), np.full(len(block.rows[0]), eta)
    bases = DocumentBases(piece.parents, own, alpha_doc, word, word_total)
    return sweep_block(piece, local, block, bases)


def draw_weights(
    state: State,
    data: Data,
    weights: Weights,
    sampled: ConcentrationFlags,
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
        state.alpha_doc = draw_concentration(
            state.alpha_doc, n_tables, data.doc_lengths, CONCENTRATION_PRIOR, rngs[0]
        )
    if weights.maximization:
        _draw_by_slices(state, data, seated, orphans, sampled, rngs[0])
    else:
        _draw_by_splits(state, weights, orphans, sampled, rngs)
    rng = rngs[0]
    if reorder:
        _reorder(state, CONCENTRATION_PRIOR if sampled.gamma else state.gamma, rng)
    if sampled.gamma:
        state.gamma = draw_by_sticks(-np.logaddexp(0.0, state.sticks), CONCENTRATION_PRIOR, rng)


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


class PieceTables(NamedTuple):
    """The tables of a piece: n_tables, of those orphans of documents without parents, int64 [T].

    m_dk int32 [n_docs, T], totals float64 [n_docs]: tables and Z of its documents under
    maximization, where groups are drawn from them; else without rows.
    """

    n_tables: I64
    orphans: I64
    m_dk: I32
    totals: F64


def _seat(
    piece: Piece, local: Local, told: tuple[tuple[Weights, float], np.random.Generator]
) -> tuple[Local, tuple[PieceTables, np.random.Generator]]:
    """Draw the tables of a piece."""
    (weights, alpha_doc), rng = told
    parents = piece.parents
    own = weights.with_shares(piece, local.share)
    m_dk, totals = np.zeros_like(local.n_dk), np.empty(piece.n_docs)
    kernels.seat_tokens(local.n_dk, alpha_doc, parents, own, m_dk, totals, rng)
    by_topic = m_dk.sum(axis=0, dtype=np.int64)
    orphans = m_dk[parents.orphaned].sum(axis=0, dtype=np.int64)
    if weights.maximization:
        return local, (PieceTables(by_topic, orphans, m_dk, totals), rng)
    tables = PieceTables(by_topic, orphans, m_dk[:0], totals[:0])
    return local._replace(m_dk=m_dk), (tables, rng)


def _split(
    piece: Piece, local: Local, told: tuple[Weights, np.random.Generator]
) -> tuple[Local, tuple[I32, np.random.Generator]]:
    """Split tables of a piece over parents; answer with those of each group [n_groups, T]."""
    weights, rng = told
    assert local.m_dk is not None
    own = weights.with_shares(piece, local.share)
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
    sampled: ConcentrationFlags,
    rngs: list[np.random.Generator],
) -> None:
    """Superposition: tables to parents, options, sticks, alpha_group, groups, shares (4.2)."""
    state.n_group_tables, *others = _told(state, _split, weights, rngs)
    for tables in others:
        state.n_group_tables += tables
    rng = rngs[0]
    options = np.zeros(len(state.log_pi_0), dtype=np.int64)
    kernels.draw_options(state.n_group_tables, _prior_of_groups(state), options, rng)
    kernels.draw_sticks(options + orphans, state.gamma, state.sticks, rng)
    state.log_pi_0 = kernels.log_weights(state.sticks)
    if sampled.alpha_group:
        sizes = state.n_group_tables.sum(axis=1)
        n_options = int(options.sum())
        state.alpha_group = draw_concentration(
            state.alpha_group, n_options, sizes, CONCENTRATION_PRIOR, rng
        )
    kernels.draw_group_weights(state.n_group_tables, _prior_of_groups(state), state.log_pi, rng)
    _told(state, _mix, None, rngs)


def _draw_by_slices(
    state: State,
    data: Data,
    tables: list[PieceTables],
    orphans: Array,
    sampled: ConcentrationFlags,
    rng: np.random.Generator,
) -> None:
    """Maximization: groups by pairwise slices, sticks and alpha_group by slices (4.3)."""
    m_dk = stacked([part.m_dk for part in tables])
    totals = stacked([part.totals for part in tables])
    rates = maximum.draw_rates(m_dk, totals, rng)
    prior = _prior_of_groups(state)
    maximum.slice_groups(state.log_pi, prior, m_dk, rates, data.parents, rng)
    sums, n_groups = state.log_pi.sum(axis=0), len(state.log_pi)
    maximum.slice_sticks(state.sticks, state.gamma, state.alpha_group, sums, n_groups, orphans, rng)
    state.log_pi_0 = kernels.log_weights(state.sticks)
    if sampled.alpha_group:
        state.alpha_group = maximum.slice_alpha(
            state.alpha_group, state.log_pi_0, sums, n_groups, *CONCENTRATION_PRIOR, rng
        )


def _reorder(state: State, gamma: float | GammaPrior, rng: np.random.Generator) -> None:
    """Redraw which topic has which stick; its tokens, tables and weights go with it (4.4)."""
    order = redraw_order(state.log_pi_0, gamma, rng)
    if (order == np.arange(len(order))).all():
        return
    renumber(state, order)
    state.n_group_tables = state.n_group_tables.take(order, axis=1)
    state.n_tables = state.n_tables[order]
    state.log_pi = state.log_pi.take(order, axis=1)
    state.log_pi_0 = state.log_pi_0[order]
    state.sticks = state.log_pi_0[:-1] - log_remainders(state.log_pi_0)[1:]


def _prior_of_groups(state: State) -> Array:
    """Return the parameter of the groups' Dirichlet prior, floored [T]."""
    return np.maximum(state.alpha_group * np.exp(state.log_pi_0), kernels.SMALLEST)


one, backend = sampler(
    State,
    init,
    step,
    migrate_state=without("seat", "table_option", "option_group", "option_topic"),
    pieces=Sharded(Local=Local, parts=parts_of, build=build_piece, bounds=bounds),
    flaw=flaw,
)
