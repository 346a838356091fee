"""The corpus in cells, the state of a variational fit, and a pass of local steps over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from hiertopics.arrays import F64, I32, I64, Floats
from hiertopics.data.corpus import Corpus
from hiertopics.engine import Each, Pieces, as_given, cut, joined, stacked
from hiertopics.errors import NumericalError
from hiertopics.families.ncrp.variational import bound, expectations
from hiertopics.families.ncrp.variational import slot_kernels as kernels
from hiertopics.families.ncrp.variational.slot_kernels import Cells
from hiertopics.families.ncrp.variational.structured_kernels import (
    log_normaliser,
    structured_step,
    weigh_documents,
)
from hiertopics.families.nested.slots import Nodes, fit_sticks, log_masses, nodes_of, sticks_term
from hiertopics.families.nested.tree_state import TreeState
from hiertopics.model import Context

RARE = 1e-5


class Data(NamedTuple):
    """A corpus laid out: its cells, and the bounds of the shards of documents [n_shards + 1]."""

    cells: Cells
    shard_bounds: I64
    doc_lengths: I64
    n_words: int

    @property
    def n_docs(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.doc_lengths)


def parts_of(data: Data) -> list[Cells]:
    """Return the cells of each shard, which count from the corpus's first."""
    ptr, word, tokens = data.cells
    docs = [slice(first, last + 1) for first, last in pairwise(data.shard_bounds)]
    cells = [slice(ptr[part][0], ptr[part][-1]) for part in docs]
    return [Cells(ptr[d], word[c], tokens[c]) for d, c in zip(docs, cells, strict=True)]


def build_piece(part: Cells) -> Cells:
    """Return the cells of a shard by themselves."""
    return part._replace(ptr=part.ptr - part.ptr[0])


def lay_out(corpus: Corpus, n_shards: int) -> Data:
    """Lay ``corpus`` out, documents in contiguous shards of about equal work."""
    cells = _cells_of(corpus.counts)
    targets = np.arange(1, n_shards) * (corpus.n_pairs / n_shards)
    inner = np.searchsorted(cells.ptr[1:], targets)
    bounds = np.concatenate([[0], inner, [corpus.n_docs]]).astype(np.int64)
    return Data(cells, bounds, corpus.doc_lengths, corpus.n_words)


def selected(cells: Cells, n_words: int, docs: I64) -> Cells:
    """Return the cells of some documents."""
    return _cells_of(_counts(cells, n_words)[docs])


def csr_of(data: Data) -> sparse.csr_array:
    """Return the corpus as counts again, float64 CSR [n_docs, n_words]."""
    return _counts(data.cells, data.n_words)


def _cells_of(counts: sparse.csr_array) -> Cells:
    return Cells(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.int32),
    )


def _counts(cells: Cells, n_words: int) -> sparse.csr_array:
    index = np.int32 if len(cells.word) < np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (cells.tokens.astype(np.float64), cells.word, cells.ptr.astype(index)),
        shape=(len(cells.ptr) - 1, n_words),
    )


class Local(NamedTuple):
    """What belongs to the documents of a piece: tau float64 [n_docs, depth]."""

    tau: F64


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters and the priors in force, levels depending on the path.

    lam: [n_words, n_nodes]. n_outside: expected tokens outside the tree. Local: what pieces have.
    """

    Local: ClassVar[Callable[..., Any]] = Local

    lam: Floats
    level_prior: F64
    gamma: float
    eta: float
    n_outside: float

    @property
    def tau(self) -> F64:
        """The level weights of all documents [n_docs, depth]; of a single piece not a copy."""
        return joined(self.local, "tau")

    @property
    def nodes(self) -> Nodes:
        """The tree's shape."""
        return nodes_of(self.parent, len(self.level_prior))

    @property
    def log_mass(self) -> F64:
        """LM of each slot."""
        return log_masses(self.nodes, self.sticks, self.gamma)

    def by_node(self, order: I64) -> dict[str, NDArray[Any]]:
        """Return the topics of nodes in another order."""
        return {"lam": np.ascontiguousarray(self.lam[:, order])}

    @staticmethod
    def begun(tau: F64, slot_mass: F64) -> dict[str, F64]:
        """Return what pieces begin with; tau [n_docs, depth], documents in slots [n_nodes]."""
        return {"tau": tau}

    def given(self, rounds: int, columns: I32, dtype: DTypeLike | None = None) -> Given:
        """Return what a pass takes to the documents; see ``Given``, dtype as in ``local_pass``."""
        return by_path(self, rounds, columns, dtype)

    def slot_chances(self) -> F64:
        """Return q of slots for the training documents, float64 [n_docs, n_nodes]."""
        return stacked(self.local.ask(_slot_chances, tables_of(self, by_slot=True)))

    def log_normaliser(self) -> float:
        """Return the documents' share of the bound but for E_theta. Raises NumericalError."""
        given = tables_of(self, np.float64, by_slot=True)
        return finite(sum(self.local.ask(_log_normaliser, given)))


class Sums(NamedTuple):
    """What a pass over the documents adds up.

    words: [n_words, n_columns] expected tokens. slot: float64 [n_nodes] documents. n_outside:
    tokens outside the tree. log_normaliser: the documents' share of the bound before the pass,
    but for E_theta.
    """

    words: Floats
    slot: F64
    n_outside: float
    log_normaliser: float


class Given(NamedTuple):
    """What a pass takes to the documents.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up. visit: does
    the local step of some documents in place.
    """

    tables: kernels.Globals
    schedule: kernels.Schedule
    columns: I32
    visit: Callable[[Cells, Any, Given, kernels.Statistics], float]


def place(
    kind: type[State], data: Data, context: Context, tau: F64, slot_mass: F64
) -> Pieces[Cells, Any]:
    """Place the corpus in pieces; tau [n_docs, depth], slot_mass [n_nodes]: see ``begun``."""
    states = cut(kind.Local, kind.begun(tau, slot_mass), bounds(data))
    return context.place(build_piece, parts_of(data), as_given, Each(states))


def bounds(data: Data) -> dict[str, I64]:
    """Return where pieces cut what has a row for each document, int64 [n_pieces + 1]."""
    return {"tau": data.shard_bounds, "chances": data.shard_bounds}


def local_pass(state: State, rounds: int, *, dtype: DTypeLike | None = None) -> Sums:
    """Do every document's local step; what belongs to documents moves.

    rounds: local rounds; 0 moves nothing. dtype: of the tables; None: what eta allows. Raises
    NumericalError.
    """
    given = state.given(rounds, state.nodes.path, dtype)
    local = state.local
    return added(local.step(_local_step, given) if rounds else local.ask(visit, given))


def by_path(state: State, rounds: int, columns: I32, dtype: DTypeLike | None = None) -> Given:
    """Return what a pass takes to the documents where levels depend on the path."""
    tables = tables_of(state, dtype, by_slot=True)
    return Given(tables, kernels.Schedule(rounds, RARE), columns, _visit)


def tables_of(
    state: State, dtype: DTypeLike | None = None, *, by_slot: bool = False, logs: bool = False
) -> kernels.Globals:
    """Return the state's ``expectations.given_tables``."""
    return expectations.given_tables(
        state.lam,
        state.nodes,
        state.log_mass,
        state.eta,
        state.level_prior,
        dtype,
        by_slot=by_slot,
        logs=logs,
    )


def added(parts: list[Sums]) -> Sums:
    """Return the sums of all pieces. Raises NumericalError."""
    words = parts[0].words
    for part in parts[1:]:
        words += part.words
    total = finite(sum(part.log_normaliser for part in parts))
    slot = np.sum([part.slot for part in parts], axis=0)
    return Sums(words, slot, float(sum(part.n_outside for part in parts)), total)


def _local_step(piece: Cells, local: Any, given: Given) -> tuple[Any, Sums]:
    return local, visit(piece, local, given)


def visit(piece: Cells, local: Any, given: Given) -> Sums:
    """Do the local step of a piece's documents in place, if there are rounds."""
    n_words, n_nodes = given.tables.e_table.shape
    n_columns = int(given.columns.max(initial=-1)) + 1 if given.schedule.rounds else 0
    words = np.zeros((n_words, n_columns), given.tables.e_table.dtype)
    sums = kernels.Statistics(words, np.zeros(n_nodes), np.zeros(1), given.columns)
    value = given.visit(piece, local, given, sums)
    return Sums(words, sums.slot, float(sums.outside[0]), value)


def _visit(piece: Cells, local: Local, given: Given, sums: kernels.Statistics) -> float:
    scratch = expectations.scratch_for(len(sums.slot), sums.words.dtype)
    docs = (0, len(local.tau))
    value = structured_step(piece, *docs, local.tau, given.tables, given.schedule, scratch, sums)
    return float(value)


def words_by_level(state: State, columns: I32) -> Sums:
    """Return the sums of a pass of one round with levels that depend on the path, and undo it.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up.
    """
    return added(state.local.ask(_look, by_path(state, 1, columns)))


def _look(piece: Cells, local: Any, given: Given) -> Sums:
    return visit(piece, Local(local.tau.copy()), given)


def refit(state: State, sums: Sums) -> None:
    """Set sticks and topics to their best for what a pass has added up (theory/ncrp 3.4, 3.5)."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, state.gamma)
    state.lam = sums.words + sums.words.dtype.type(state.eta)
    state.n_outside = sums.n_outside


def elbo(state: State) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return (
        sticks_term(state.sticks, state.gamma)
        + bound.words_term(state.lam, state.eta)
        + sum(state.local.ask(_levels_term, state.level_prior))
        + state.log_normaliser()
    )


def _levels_term(piece: Cells, local: Local, level_prior: F64) -> float:
    return bound.levels_term(local.tau, level_prior)


def _log_normaliser(piece: Cells, local: Local, given: kernels.Globals) -> float:
    scratch = expectations.scratch_for(given.e_table.shape[1], np.float64)
    return float(log_normaliser(piece, 0, len(local.tau), local.tau, given, scratch))


def _slot_chances(piece: Cells, local: Local, given: kernels.Globals) -> F64:
    n_docs, n_nodes = len(local.tau), given.e_table.shape[1]
    scratch = expectations.scratch_for(n_nodes, given.e_table.dtype)
    chances = np.empty((n_docs, n_nodes))
    weigh_documents(piece, 0, n_docs, local.tau, given, scratch, chances)
    return chances


def finite(log_normaliser: float) -> float:
    """Return a bound of documents; raises NumericalError where it is not finite."""
    if not np.isfinite(log_normaliser):
        raise NumericalError("the bound of the documents is not finite")
    return float(log_normaliser)
