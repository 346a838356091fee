"""The state of nhdp-variational, its sweep and its recount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, I32, Floats
from hiertopics.base.axes import POSITIVE, Axes, require_parents
from hiertopics.contract import Context, Pieces, Settings
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.layout import BlockInput, Data, Piece, take_turns
from hiertopics.families.flat.variational import drift_undone, recount_is_due, require_sound
from hiertopics.families.nhdp import document_kernels, sweep_kernels
from hiertopics.families.nhdp.lane_kernels import most_columns, room_for_places
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal, BurstyLocal, Local, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.sweep_kernels import Rates
from hiertopics.numeric.simd import rows_on_lines


@dataclass
class State:
    """q(z), the expected counts that follow from it, and the parameters that documents share.

    local: q(z) and the counts of documents, in pieces. n_wk: [n_words, K], float32 in use, seed
    words among them. n_k: float64 [K], without these. parent: int32 [K], nodes breadth
    first. share, concentration, stop_a, stop_b: float64 [K], as in ``Mixing``.
    """

    local: Pieces[Piece, Any]
    n_wk: Annotated[Floats, Axes("n_words", "n_nodes")]
    n_k: Annotated[F64, Axes("n_nodes")]
    parent: Annotated[I32, Axes("n_nodes")]
    share: Annotated[F64, Axes("n_nodes", least=0)]
    concentration: Annotated[F64, Axes("n_nodes", least=0)]
    stop_a: Annotated[F64, Axes("n_nodes", least=0)]
    stop_b: Annotated[F64, Axes("n_nodes", least=0)]

    def require_sound(self) -> None:
        """Raise ValueError where the nodes are not those of a tree, breadth first."""
        require_parents("parent", self.parent)

    @property
    def mixing(self) -> Mixing:
        """Parameters that all documents share."""
        return Mixing(
            shape_of(self.parent), self.share, self.concentration, self.stop_a, self.stop_b
        )

    def mix(self, mixing: Mixing) -> None:
        """Set the parameters that all documents share."""
        _, self.share, self.concentration, self.stop_a, self.stop_b = mixing


@dataclass
class BurstyState(State):
    """The same where documents are bursty: counts are of tables. burst_concentration: b of them."""

    burst_concentration: Annotated[float, Axes(least=POSITIVE)]


def seating_of(state: State, data: Data) -> TableRule | None:
    """Return how tables are found; None where documents are not bursty."""
    if data.bursts is None or not isinstance(state, BurstyState):
        return None
    return TableRule(data.bursts.means, float(state.burst_concentration))


def by_tables(piece: Piece, local: AnyLocal) -> tuple[Piece, Local]:
    """Return the piece and state for kernels; with bursty documents, tables replace tokens."""
    if not isinstance(local, BurstyLocal):
        return piece, local
    cells, blocks = (part._replace(tokens=local.pair_tables) for part in piece[:2])
    return Piece(cells, blocks, piece.first_doc), local.plain


def misplaced(parent: I32, seeds: Seeds) -> str | None:
    """Return an error about the nodes of names in a tree, None if there is none.

    parent: int32 [n_nodes].
    """
    branches = seeds.branches
    if len(branches) and (branches[-1] >= len(parent) or parent[branches].any()):
        return f"the tree has no branch for each of {len(branches)} names"
    return None


def flaw(state: State, data: Data, settings: Settings[Any, Any]) -> str | None:
    """Return how a saved state disagrees with the corpus; see ``Backend``."""
    found = [misplaced(state.parent, data.seeds), *state.local.ask(_flaw, state.parent)]
    return next((one for one in found if one is not None), None)


def _flaw(piece: Piece, local: AnyLocal, parent: I32) -> str | None:
    return local.flaw(np.diff(piece.cells.cuts[:, [0, -1]], axis=1).ravel(), parent)


def counted(
    local: Pieces[Piece, Any], mixing: Mixing, data: Data, dtype: DTypeLike = np.float32
) -> State:
    """Return the state of documents that have just begun, counted."""
    n_nodes = mixing.shape.n_nodes
    n_wk = np.zeros((data.n_words, n_nodes), dtype)
    parts = [part.copy() for part in mixing[1:]]
    state = State(local, n_wk, np.zeros(n_nodes), mixing.shape.parent, *parts)
    if data.bursts is not None:
        state = BurstyState(**vars(state), burst_concentration=data.bursts.concentration)
    recount(state, data)
    return state


class TreeSweepInput(NamedTuple):
    """Input of a block's sweep besides rows of words. n_k: [n_nodes], tokens of each node."""

    n_k: F64
    ancestry: Ancestry
    rates: Rates
    seating: TableRule | None


def sweep(state: State, data: Data, eta: float) -> None:
    """Visit every pair once, block by block. Raises NumericalError naming the document."""
    mixing = state.mixing
    ancestry = mixing.shape.ancestry
    rates = mixing.rates(eta, data.n_words, state.n_wk.dtype)
    seeded = data.seeds.totals(len(state.n_k), data.seeds.branches)
    seating = seating_of(state, data)
    for turn in range(state.local.n_pieces):
        moves = take_turns(
            state.local,
            _sweep,
            turn,
            (state.n_wk,),
            data.word_bounds,
            lambda *block: TreeSweepInput(state.n_k + seeded, ancestry, rates, seating),
        )
        for moved in moves:
            state.n_k += moved


def _sweep(
    piece: Piece, local: AnyLocal, block: BlockInput
) -> tuple[AnyLocal, tuple[tuple[Floats, ...], F64]]:
    """Sweep a block; answer with the move of the totals."""
    before, ancestry, rates, seating = block.given
    (n_wk,) = block.rows
    n_k = before.copy()
    tables = local.pair_tables if isinstance(local, BurstyLocal) else np.zeros(0, n_wk.dtype)
    own = by_tables(piece, local)[1]
    places = room_for_places(len(n_k))
    like = np.empty((0, most_columns(len(n_k))), n_wk.dtype)
    bad_doc = sweep_kernels.sweep_block(
        *(piece.blocks, block.number, own, n_wk, n_k, ancestry, rates, tables, seating),
        *(places, rows_on_lines(sweep_kernels.N_ROWS, like)),
    )
    require_sound(piece, bad_doc)
    return local, (block.rows, n_k - before)


def recount_now_and_then(state: State, data: Data, context: Context) -> float:
    """Recount at the iterations at which the flat topics are recounted, too."""
    return recount(state, data) if recount_is_due(context) else 0.0


def recount(state: State, data: Data) -> float:
    """Rebuild the counts from q(z); return the largest relative drift of n_k that this undid.

    Raises NumericalError where it is too large (theory/hdp 9.3).
    """
    state.n_wk[:] = 0
    data.seeds.add_to(state.n_wk, data.seeds.branches)
    for turn in range(state.local.n_pieces):
        take_turns(state.local, _recount, turn, (state.n_wk,), data.word_bounds)
    before = state.n_k
    state.n_k = np.sum(state.local.ask(_totals, len(before)), axis=0)
    return drift_undone(before, state.n_k, data, state.n_wk.dtype)


def _recount(
    piece: Piece, local: AnyLocal, block: BlockInput
) -> tuple[AnyLocal, tuple[tuple[Floats, ...], None]]:
    counted, own = by_tables(piece, local)
    if block.turn == 0:
        document_kernels.count_documents(counted.cells, own)
    document_kernels.count_words(counted.blocks, block.number, own, *block.rows)
    return local, (block.rows, None)


def _totals(piece: Piece, local: AnyLocal, n_nodes: int) -> F64:
    totals = np.zeros(n_nodes)
    document_kernels.add_totals(by_tables(piece, local)[1], totals)
    return totals
