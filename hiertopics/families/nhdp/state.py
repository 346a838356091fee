"""The state of nhdp-variational, and its sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.kernels import Tables
from hiertopics.families.flat.layout import Block, Data, Piece, take_turns
from hiertopics.families.flat.variational import Local, Responsibilities, require_sound
from hiertopics.families.nhdp import sweep_kernels
from hiertopics.families.nhdp.layout import Columns, columns_of, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.sweep_kernels import Rates


@dataclass
class State(Responsibilities):
    """Responsibilities and counts in the columns of ``layout``, and what documents share.

    parent: int32 [K], nodes breadth first. share, concentration, stop_a, stop_b: float64 [K], as in
    ``Mixing``.
    """

    parent: NDArray[np.int32]
    share: NDArray[np.float64]
    concentration: NDArray[np.float64]
    stop_a: NDArray[np.float64]
    stop_b: NDArray[np.float64]

    @property
    def mixing(self) -> Mixing:
        """What documents share."""
        return Mixing(
            shape_of(self.parent), self.share, self.concentration, self.stop_a, self.stop_b
        )

    def mix(self, mixing: Mixing) -> None:
        """Take over what documents share."""
        _, self.share, self.concentration, self.stop_a, self.stop_b = mixing


class Given(NamedTuple):
    """What a block is swept with, besides rows of words."""

    n_k: NDArray[np.float64]
    columns: Columns
    rates: Rates


def sweep(state: State, data: Data, mixing: Mixing, columns: Columns, eta: float) -> None:
    """Visit every pair once, block by block. Raises NumericalError naming the document."""
    rates = mixing.rates(columns, eta, data.n_words, state.n_wk.dtype)
    for turn in range(state.local.n_pieces):
        moves = take_turns(
            state.local,
            _sweep,
            turn,
            (state.n_wk,),
            data.word_bounds,
            lambda *block: Given(state.n_k, columns, rates),
        )
        for moved in moves:
            state.n_k += moved


def _sweep(
    piece: Piece, local: Local, block: Block
) -> tuple[Local, tuple[tuple[NDArray[np.floating], ...], NDArray[np.float64]]]:
    """Sweep a block; answer with the move of the totals."""
    before, columns, rates = block.given
    (n_wk,) = block.rows
    n_k, nothing = before.copy(), np.zeros((0, 0), n_wk.dtype)
    tables = Tables(local.resp, local.n_dk, n_wk, nothing, nothing)
    bad_doc = sweep_kernels.sweep_block(piece.blocks, 0, block.number, tables, n_k, columns, rates)
    require_sound(piece, bad_doc)
    return local, (block.rows, n_k - before)


def columns_for(state: State) -> Columns:
    """Return where the state's nodes stand in its tables."""
    return columns_of(shape_of(state.parent))
