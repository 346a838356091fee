"""The state of a variational fit, and one pass of local steps over the corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.errors import NumericalError
from hiertopics.families.ncrp import bound, expectations
from hiertopics.families.ncrp import slot_kernels as kernels
from hiertopics.families.ncrp.cells import Data
from hiertopics.families.ncrp.meanfield_kernels import meanfield_step
from hiertopics.families.ncrp.structured_kernels import log_normaliser, structured_step
from hiertopics.families.nested.slots import Nodes, fit_sticks, log_masses, nodes_of, sticks_term
from hiertopics.families.nested.tree_state import TreeState, heavier_first
from hiertopics.model import Context

RARE = {"structured": 1e-5, "meanfield": 1e-8}


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters and the priors in force.

    lam: [n_words, n_nodes]. tau: float64 [n_docs, depth]. n_outside: expected tokens outside the
    tree.
    """

    lam: NDArray[np.floating]
    tau: NDArray[np.float64]
    level_prior: NDArray[np.float64]
    gamma: float
    eta: float
    n_outside: float

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


def local_pass(
    state: State,
    data: Data,
    context: Context,
    rounds: int,
    *,
    columns: NDArray[np.int32] | None = None,
    dtype: DTypeLike | None = None,
) -> Sums:
    """Do every document's local step; tau and, under mean field, chances move in place.

    rounds: local rounds; 0 moves nothing. columns: int32 [n_nodes, depth], where the words of a
    slot's levels are added up, if not at their nodes (structured only). dtype: of the tables;
    None: what eta allows. Raises NumericalError.
    """
    nodes = state.nodes
    given = expectations.given_tables(
        state.lam,
        nodes,
        state.log_mass,
        state.eta,
        state.level_prior,
        dtype,
        by_slot=state.structured,
        logs=not state.structured,
    )
    wanted = nodes.path if columns is None else columns
    n_columns = int(wanted.max(initial=-1)) + 1 if rounds else 0
    rare = RARE["structured" if state.structured else "meanfield"]
    schedule = kernels.Schedule(rounds, rare)

    def of_shard(shard: int) -> Sums:
        sums = kernels.Statistics(
            np.zeros((data.n_words, n_columns), given.e_table.dtype),
            np.zeros(nodes.n_nodes),
            np.zeros(1),
            wanted,
        )
        docs = int(data.shard_bounds[shard]), int(data.shard_bounds[shard + 1])
        if state.structured:
            scratch = expectations.scratch_for(nodes.n_nodes, given.e_table.dtype)
            value = structured_step(data.cells, *docs, state.tau, given, schedule, scratch, sums)
        else:
            value = meanfield_step(
                data.cells, *docs, state.tau, state.chances, given, schedule, sums
            )
        return Sums(sums.words, sums.slot, float(sums.outside[0]), value)

    parts = context.map(of_shard, range(len(data.shard_bounds) - 1))
    words = parts[0].words
    for part in parts[1:]:
        words += part.words
    total = _finite(sum(part.log_normaliser for part in parts))
    slot = np.sum([part.slot for part in parts], axis=0)
    return Sums(words, slot, float(sum(part.n_outside for part in parts)), total)


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


def elbo(state: State, data: Data, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return (
        sticks_term(state.sticks, state.gamma)
        + bound.words_term(state.lam, state.eta)
        + bound.levels_term(state.tau, state.level_prior)
        + _documents_term(state, data, context)
    )


def _documents_term(state: State, data: Data, context: Context) -> float:
    """Return the sum of the documents' log normalisers, in float64. Raises NumericalError."""
    if not state.structured:
        return local_pass(state, data, context, 0, dtype=np.float64).log_normaliser
    nodes = state.nodes
    given = expectations.given_tables(
        state.lam, nodes, state.log_mass, state.eta, state.level_prior, np.float64, by_slot=True
    )

    def of_shard(shard: int) -> float:
        docs = int(data.shard_bounds[shard]), int(data.shard_bounds[shard + 1])
        scratch = expectations.scratch_for(nodes.n_nodes, np.float64)
        return log_normaliser(data.cells, *docs, state.tau, given, scratch)

    return _finite(sum(context.map(of_shard, range(len(data.shard_bounds) - 1))))


def _finite(log_normaliser: float) -> float:
    if not np.isfinite(log_normaliser):
        raise NumericalError("the bound of the documents is not finite")
    return float(log_normaliser)
