"""chdp-gibbs: Gibbs sampling of the cooperative hierarchical Dirichlet process.

A document follows its parents (authors, labels) and these follow the corpus; where there are
several parents they are mixed (superposition) or the strongest one counts for each topic
(maximization). Topics and document weights are integrated out.

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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import Each, as_given, cut
from hiertopics.families.chdp import gibbs_kernels as kernels
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.concentrations import draw_eta
from hiertopics.families.chdp.config import GibbsSettings as Settings
from hiertopics.families.chdp.config import Model as Model
from hiertopics.families.chdp.exact import Local, State, draw_weights
from hiertopics.families.chdp.gibbs_state import (
    Info,
    begin,
    even_sticks,
    group_weights,
    info_of,
    sampler,
)
from hiertopics.families.chdp.layout import Data, Piece, bounds, build_piece, parts_of
from hiertopics.families.flat.layout import Block
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.families.flat.tokens import sweep
from hiertopics.model import Context, Sharded, without


class Given(NamedTuple):
    """What a block is swept with: topic totals [T], what its documents follow, pseudo-counts.

    word_total: eta times the size of the vocabulary.
    """

    n_k: NDArray[np.int64]
    weights: Weights
    alpha_doc: float
    eta: float
    word_total: float
    rng: np.random.Generator


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, even weights and the start values of the config."""
    documents, begun = begin(data, settings.model, context.rng("init"))
    states = Each(cut(Local, documents._asdict(), bounds(data)))
    local = context.place(build_piece, parts_of(data), as_given, states)
    return State(**begun, local=local, sticks=even_sticks(settings.model.truncation))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold redraw tables, weights and concentrations too."""
    model, inference = settings.model, settings.inference
    weights, word_total = group_weights(state, model), state.eta * data.n_words

    def given(*block: int) -> Given:
        rng = context.rng("sweep", *block)
        return Given(state.n_k, weights, state.alpha_doc, state.eta, word_total, rng)

    moved = sweep(state, data.laid.word_bounds, _sweep_block, given)
    if context.iteration > inference.hyper_start:
        others = range(1, state.local.n_pieces)
        rngs = [context.rng("weights"), *(context.rng("weights", piece) for piece in others)]
        draw_weights(
            state, data, weights, inference.sampled, rngs, reorder=inference.reorder_sticks
        )
        if inference.sample_eta:
            state.eta = draw_eta(state.eta, state.n_wk, state.n_k, context.rng("words"))
    return state, info_of(state, moved)


def _sweep_block(
    piece: Piece, local: Local, block: Block
) -> tuple[Local, tuple[tuple[NDArray[np.int32], ...], tuple[int, NDArray[np.int64]]]]:
    """Sweep a block; answer with the tokens that moved and the change of the topic totals."""
    before, weights, alpha_doc, eta, word_total, rng = block.given
    own = weights.with_shares(piece.parents, local.share)
    (n_wk,) = block.rows
    n_k = before.copy()
    tables = Tables(local.z, local.n_dk, n_wk, n_k)
    moved = kernels.sweep_block(
        piece.blocks, 0, block.number, tables, piece.parents, own, alpha_doc, eta, word_total, rng
    )
    return local, (block.rows, (moved, n_k - before))


one, backend = sampler(
    State,
    init,
    step,
    renewed=without("seat", "table_option", "option_group", "option_topic"),
    pieces=Sharded(Local=Local, parts=parts_of, build=build_piece, bounds=bounds),
)
