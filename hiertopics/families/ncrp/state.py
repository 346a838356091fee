"""The state of a variational fit, and one pass of local steps over the corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from scipy.special import betaln

from hiertopics.data.corpus import Corpus
from hiertopics.errors import NumericalError
from hiertopics.families.ncrp import bound, tables
from hiertopics.families.ncrp import slot_kernels as kernels
from hiertopics.families.ncrp.meanfield_kernels import meanfield_step
from hiertopics.families.ncrp.slots import (
    Nodes,
    Sticks,
    fit_sticks,
    in_order,
    log_masses,
    nodes_of,
    renumbered,
    subtree_sums,
)
from hiertopics.families.ncrp.structured_kernels import log_normaliser, structured_step
from hiertopics.model import Context

RARE = {"structured": 1e-5, "meanfield": 1e-8}


class Data(NamedTuple):
    """A corpus laid out: its cells, and the bounds of the shards of documents [n_shards + 1]."""

    cells: kernels.Cells
    shard_bounds: NDArray[np.int64]
    doc_lengths: NDArray[np.int64]
    n_words: int

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.doc_lengths)


@dataclass
class State:
    """The variational parameters and the priors in force.

    parent: int32 [n_nodes], nodes in the order of ``slots``. lam: [n_words, n_nodes].
    stick_a, stick_b: float64 [n_nodes]. tau: float64 [n_docs, depth]. chances: float64
    [n_docs, n_nodes], q of slots, under mean field; without columns in the structured family,
    where the other parameters say what it is. n_outside: expected tokens outside the tree.
    """

    parent: NDArray[np.int32]
    lam: NDArray[np.floating]
    stick_a: NDArray[np.float64]
    stick_b: NDArray[np.float64]
    tau: NDArray[np.float64]
    chances: NDArray[np.float64]
    level_prior: NDArray[np.float64]
    gamma: float
    eta: float
    n_outside: float

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the truncated tree."""
        return len(self.parent)

    @property
    def structured(self) -> bool:
        """Tell whether levels depend on the path in q."""
        return self.chances.shape[1] == 0

    @property
    def nodes(self) -> Nodes:
        """The tree's shape."""
        return nodes_of(self.parent, len(self.level_prior))

    @property
    def sticks(self) -> Sticks:
        """The tree's sticks."""
        return Sticks(self.stick_a, self.stick_b)

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


def lay_out(corpus: Corpus, n_shards: int) -> Data:
    """Lay ``corpus`` out, documents in contiguous shards of about equal work."""
    return _in_shards(corpus.counts, n_shards)


def selected(data: Data, docs: NDArray[np.int64]) -> Data:
    """Return some documents, in as many shards."""
    return _in_shards(csr_of(data)[docs], len(data.shard_bounds) - 1)


def _in_shards(counts: sparse.csr_array, n_shards: int) -> Data:
    cells = kernels.Cells(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.int32),
    )
    targets = np.arange(1, n_shards) * (counts.nnz / n_shards)
    inner = np.searchsorted(cells.ptr[1:], targets)
    bounds = np.concatenate([[0], inner, [counts.shape[0]]]).astype(np.int64)
    lengths = np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)
    return Data(cells, bounds, lengths, counts.shape[1])


def csr_of(data: Data) -> sparse.csr_array:
    """Return the corpus as counts again, float64 CSR [n_docs, n_words]."""
    cells = data.cells
    index = np.int32 if len(cells.word) < np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (cells.tokens.astype(np.float64), cells.word, cells.ptr.astype(index)),
        shape=(data.n_docs, data.n_words),
    )


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
    given = tables.given_tables(
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
            scratch = tables.scratch_for(nodes.n_nodes, given.e_table.dtype)
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
    """Set sticks and topics to their best for what a pass has added up (spec 3.4, 3.5)."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, state.gamma)
    state.lam = sums.words + sums.words.dtype.type(state.eta)
    state.n_outside = sums.n_outside


def reordered(state: State, sums: Sums) -> State:
    """Return the state with heavier siblings first, where that does not lower the bound.

    Sticks are refitted to the new order; E_v + E_c is then a sum of log Beta functions.
    """
    nodes = state.nodes
    order = in_order(state.parent, -subtree_sums(nodes, sums.slot))
    if (order == np.arange(len(order))).all():
        return state
    parent = renumbered(state.parent, order)
    sticks = fit_sticks(nodes_of(parent, nodes.depth), sums.slot[order], state.gamma)
    if betaln(*sticks).sum() < betaln(*fit_sticks(nodes, sums.slot, state.gamma)).sum():
        return state
    chances = state.chances if state.structured else state.chances[:, order]
    return replace(
        state,
        parent=parent,
        lam=np.ascontiguousarray(state.lam[:, order]),
        stick_a=sticks.a,
        stick_b=sticks.b,
        chances=np.ascontiguousarray(chances),
    )


def elbo(state: State, data: Data, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return (
        bound.sticks_term(state.sticks, state.gamma)
        + bound.words_term(state.lam, state.eta)
        + bound.levels_term(state.tau, state.level_prior)
        + _documents_term(state, data, context)
    )


def _documents_term(state: State, data: Data, context: Context) -> float:
    """Return the sum of the documents' log normalisers, in float64. Raises NumericalError."""
    if not state.structured:
        return local_pass(state, data, context, 0, dtype=np.float64).log_normaliser
    nodes = state.nodes
    given = tables.given_tables(
        state.lam, nodes, state.log_mass, state.eta, state.level_prior, np.float64, by_slot=True
    )

    def of_shard(shard: int) -> float:
        docs = int(data.shard_bounds[shard]), int(data.shard_bounds[shard + 1])
        scratch = tables.scratch_for(nodes.n_nodes, np.float64)
        return log_normaliser(data.cells, *docs, state.tau, given, scratch)

    return _finite(sum(context.map(of_shard, range(len(data.shard_bounds) - 1))))


def _finite(log_normaliser: float) -> float:
    if not np.isfinite(log_normaliser):
        raise NumericalError("the bound of the documents is not finite")
    return float(log_normaliser)
