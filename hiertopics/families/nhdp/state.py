"""The state of nhdp-variational, and its sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hiertopics.errors import NumericalError
from hiertopics.families.flat.kernels import Tables
from hiertopics.families.flat.layout import Data, rounds
from hiertopics.families.flat.variational import Responsibilities
from hiertopics.families.nhdp import sweep_kernels
from hiertopics.families.nhdp.layout import Columns, columns_of, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.model import Context


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


def sweep(
    state: State, data: Data, mixing: Mixing, columns: Columns, eta: float, context: Context
) -> None:
    """Visit every pair once, block by block. Raises NumericalError naming the document."""
    rates = mixing.rates(columns, eta, data.n_words, state.n_dk.dtype)
    nothing = np.zeros((0, 0), state.n_dk.dtype)
    tables = Tables(state.resp, state.n_dk, state.n_wk, nothing, nothing)

    def visit(block: tuple[int, int]) -> NDArray[np.float64]:
        n_k = state.n_k.copy()
        bad_doc = sweep_kernels.sweep_block(data.cells, *block, tables, n_k, columns, rates)
        if bad_doc >= 0:
            raise NumericalError(f"the topic weights of document {bad_doc} are not finite")
        return n_k - state.n_k

    for blocks in rounds(data.cells.n_shards):
        for moved in context.map(visit, blocks):
            state.n_k += moved


def columns_for(state: State) -> Columns:
    """Return where the state's nodes stand in its tables."""
    return columns_of(shape_of(state.parent))
