"""The state of a variational fit, and one pass of local steps over the corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.engine import Each, Pieces, as_given, cut, joined
from hiertopics.errors import NumericalError
from hiertopics.families.ncrp.paper.meanfield_kernels import meanfield_step
from hiertopics.families.ncrp.variational import bound, expectations
from hiertopics.families.ncrp.variational import slot_kernels as kernels
from hiertopics.families.ncrp.variational.cells import Data, build_piece, parts_of
from hiertopics.families.ncrp.variational.slot_kernels import Cells
from hiertopics.families.ncrp.variational.structured_kernels import log_normaliser, structured_step
from hiertopics.families.nested.slots import Nodes, fit_sticks, log_masses, nodes_of, sticks_term
from hiertopics.families.nested.tree_state import TreeState, heavier_first
from hiertopics.model import Context

RARE = {"structured": 1e-5, "meanfield": 1e-8}


class Local(NamedTuple):
    """What belongs to the documents of a piece: tau float64 [n_docs, depth], and chances."""

    tau: NDArray[np.float64]
    chances: NDArray[np.float64]


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters and the priors in force.

    local: with tau besides. lam: [n_words, n_nodes]. n_outside: expected tokens outside the tree.
    """

    lam: NDArray[np.floating]
    level_prior: NDArray[np.float64]
    gamma: float
    eta: float
    n_outside: float

    @property
    def tau(self) -> NDArray[np.float64]:
        """The level weights of all documents [n_docs, depth]; of a single piece not a copy."""
        return joined(self.local, "tau")

    @property
    def nodes(self) -> Nodes:
        """The tree's shape."""
        return nodes_of(self.parent, len(self.level_prior))

    @property
    def log_mass(self) -> NDArray[np.float64]:
        """LM of each slot."""
        return log_masses(self.nodes, self.sticks, self.gamma)


class Sums(NamedTuple):
    """What a pass over the documents adds up.

    words: [n_words, n_columns] expected tokens. slot: float64 [n_nodes] documents. n_outside:
    tokens outside the tree. log_normaliser: the documents' share of the bound before the pass,
    but for E_theta.
    """

    words: NDArray[np.floating]
    slot: NDArray[np.float64]
    n_outside: float
    log_normaliser: float


class Given(NamedTuple):
    """What a pass takes to the documents.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up; n_columns:
    their number.
    """

    tables: kernels.Globals
    schedule: kernels.Schedule
    columns: NDArray[np.int32]
    n_columns: int
    structured: bool


def place(
    data: Data, context: Context, tau: NDArray[np.float64], chances: NDArray[np.float64]
) -> Pieces[Cells, Local]:
    """Place the corpus in pieces; tau [n_docs, depth], chances [n_docs, n_nodes]."""
    states = cut(Local, {"tau": tau, "chances": chances}, bounds(data))
    return context.place(build_piece, parts_of(data), as_given, Each(states))


def bounds(data: Data) -> dict[str, NDArray[np.int64]]:
    """Return where pieces cut what has a row for each document, int64 [n_pieces + 1]."""
    return {"tau": data.shard_bounds, "chances": data.shard_bounds}


def local_pass(state: State, rounds: int, *, dtype: DTypeLike | None = None) -> Sums:
    """Do every document's local step; tau and, under mean field, chances move.

    rounds: local rounds; 0 moves nothing. dtype: of the tables; None: what eta allows. Raises
    NumericalError.
    """
    given = what_is_given(state, rounds, state.nodes.path, dtype)
    local = state.local
    return added(local.step(_local_step, given) if rounds else local.ask(visit, given))


def what_is_given(
    state: State, rounds: int, columns: NDArray[np.int32], dtype: DTypeLike | None = None
) -> Given:
    """Return what a pass takes to the documents."""
    tables = expectations.given_tables(
        state.lam,
        state.nodes,
        state.log_mass,
        state.eta,
        state.level_prior,
        dtype,
        by_slot=state.structured,
        logs=not state.structured,
    )
    n_columns = int(columns.max(initial=-1)) + 1 if rounds else 0
    schedule = kernels.Schedule(rounds, RARE["structured" if state.structured else "meanfield"])
    return Given(tables, schedule, columns, n_columns, state.structured)


def added(parts: list[Sums]) -> Sums:
    """Return the sums of all pieces. Raises NumericalError."""
    words = parts[0].words
    for part in parts[1:]:
        words += part.words
    total = _finite(sum(part.log_normaliser for part in parts))
    slot = np.sum([part.slot for part in parts], axis=0)
    return Sums(words, slot, float(sum(part.n_outside for part in parts)), total)


def _local_step(piece: Cells, local: Local, given: Given) -> tuple[Local, Sums]:
    return local, visit(piece, local, given)


def visit(piece: Cells, local: Local, given: Given) -> Sums:
    """Do the local step of a piece's documents in place, if there are rounds."""
    tables = given.tables
    n_words, n_nodes = tables.e_table.shape
    dtype, docs = tables.e_table.dtype, (0, len(local.tau))
    words, slot = np.zeros((n_words, given.n_columns), dtype), np.zeros(n_nodes)
    sums = kernels.Statistics(words, slot, np.zeros(1), given.columns)
    if given.structured:
        scratch = expectations.scratch_for(n_nodes, dtype)
        value = structured_step(piece, *docs, local.tau, tables, given.schedule, scratch, sums)
    else:
        value = meanfield_step(piece, *docs, local.tau, local.chances, tables, given.schedule, sums)
    return Sums(words, slot, float(sums.outside[0]), value)


def words_by_level(state: State, columns: NDArray[np.int32]) -> Sums:
    """Return the sums of a pass of one round with levels that depend on the path, and undo it.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up.
    """
    by_path = replace(state, structured=True)
    return added(state.local.ask(_look, what_is_given(by_path, 1, columns)))


def _look(piece: Cells, local: Local, given: Given) -> Sums:
    return visit(piece, Local(local.tau.copy(), local.chances[:, :0]), given)


def refit(state: State, sums: Sums) -> None:
    """Set sticks and topics to their best for what a pass has added up (theory/ncrp 3.4, 3.5)."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, state.gamma)
    state.lam = sums.words + sums.words.dtype.type(state.eta)
    state.n_outside = sums.n_outside


def reordered(state: State, sums: Sums) -> State:
    """Return the state with heavier siblings first, where that does not lower the bound."""
    found = heavier_first(state, sums.slot, state.gamma)
    if found is None:
        return state
    state, order = found
    return replace(state, lam=np.ascontiguousarray(state.lam[:, order]))


def elbo(state: State) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return (
        sticks_term(state.sticks, state.gamma)
        + bound.words_term(state.lam, state.eta)
        + sum(state.local.ask(_levels_term, state.level_prior))
        + _documents_term(state)
    )


def _levels_term(piece: Cells, local: Local, level_prior: NDArray[np.float64]) -> float:
    return bound.levels_term(local.tau, level_prior)


def _documents_term(state: State) -> float:
    """Return the sum of the documents' log normalisers, in float64. Raises NumericalError."""
    if not state.structured:
        return local_pass(state, 0, dtype=np.float64).log_normaliser
    given = expectations.given_tables(
        state.lam,
        state.nodes,
        state.log_mass,
        state.eta,
        state.level_prior,
        np.float64,
        by_slot=True,
    )
    return _finite(sum(state.local.ask(_log_normaliser, given)))


def _log_normaliser(piece: Cells, local: Local, given: kernels.Globals) -> float:
    scratch = expectations.scratch_for(given.e_table.shape[1], np.float64)
    return float(log_normaliser(piece, 0, len(local.tau), local.tau, given, scratch))


def _finite(log_normaliser: float) -> float:
    if not np.isfinite(log_normaliser):
        raise NumericalError("the bound of the documents is not finite")
    return float(log_normaliser)
