"""The corpus in cells, the state of a variational fit, and a pass of local steps over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.base.errors import NumericalError
from hiertopics.base.stretches import ends_of, entries_of, even_bounds
from hiertopics.contract import Context, Each, Pieces, as_given, cut, joined, stacked
from hiertopics.corpus.data.shelf import Bags, Shelf
from hiertopics.families.flat.token_layout import spans
from hiertopics.families.ncrp.variational import bound, expectations, slot_kernels as kernels
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.structured_kernels import (
    log_normaliser,
    structured_step,
    weigh_documents,
)
from hiertopics.families.nested.slots import (
    SlotNodes,
    fit_sticks,
    log_masses,
    nodes_of,
    sticks_term,
)
from hiertopics.families.nested.tree_state import TreeState

RARE = 1e-5

CELLS = 1 << 20
"""Chances of documents in slots that are in memory at a time."""
LOCAL_ROUNDS = 8
"""Updates of levels and path of a document in an iteration."""


class Data(NamedTuple):
    """A corpus laid out: its cells, and the bounds of the shards of documents [n_shards + 1].

    n_with, word_counts: int64 [n_words], the documents and the tokens of each word. shelf: the
    corpus, where it is in files; so are its cells then, in its room.
    """

    cells: DocumentPairs
    shard_bounds: I64
    doc_lengths: I64
    n_with: I64
    word_counts: I64
    shelf: Shelf | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.doc_lengths)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return len(self.n_with)


class PieceData(NamedTuple):
    """The cells of a shard, which count from the corpus's first; shelf: its documents, in files.

    Who unpickles it reads them there.
    """

    cells: DocumentPairs
    shelf: Shelf | None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.shelf is None:
            return PieceData, tuple(self)
        return _read, (self.shelf,)


def _read(shelf: Shelf) -> PieceData:
    return PieceData(lay_out(shelf, 1).cells, shelf)


def parts_of(data: Data) -> list[PieceData]:
    """Return the parts that shards are made of."""
    (ptr, word, tokens), parts = data.cells, []
    for first, last in pairwise(data.shard_bounds.tolist()):
        cells = slice(ptr[first], ptr[last])
        shelf = None if data.shelf is None else data.shelf.bare(first, last)
        parts.append(
            PieceData(DocumentPairs(ptr[first : last + 1], word[cells], tokens[cells]), shelf)
        )
    return parts


def build_piece(part: PieceData) -> DocumentPairs:
    """Return the cells of a shard by themselves."""
    cells = part.cells
    return cells._replace(ptr=cells.ptr - cells.ptr[0])


def lay_out(corpus: Bags, n_shards: int) -> Data:
    """Lay ``corpus`` out, documents in contiguous shards of about equal work."""
    word, tokens = corpus.room.growing(np.int32), corpus.room.growing(np.int32)
    n_with, word_counts = np.zeros((2, corpus.n_words), np.int64)
    for block in corpus.blocks():
        word.append(block.indices)
        tokens.append(block.data)
        n_with += np.bincount(block.indices, minlength=corpus.n_words)
        word_counts += np.bincount(block.indices, block.data, corpus.n_words).astype(np.int64)
    cells = DocumentPairs(ends_of(corpus.doc_pairs), word.done(), tokens.done())
    bounds = even_bounds(corpus.doc_pairs, n_shards)
    shelf = corpus.bare(0, corpus.n_docs) if isinstance(corpus, Shelf) else None
    return Data(cells, bounds, corpus.doc_lengths, n_with, word_counts, shelf)


def by_piece(data: Data, docs: I64) -> list[I64]:
    """Return ascending documents piece by piece, each counted from its piece's first.

    docs: int64 [n], and so is each part.
    """
    first = data.shard_bounds
    parts = np.split(docs, np.searchsorted(docs, first[1:-1]))
    return [part - start for part, start in zip(parts, first[:-1], strict=True)]


def selected(cells: DocumentPairs, docs: I64) -> DocumentPairs:
    """Return the cells of some documents, int64 [n]."""
    chosen, ptr = entries_of(cells.ptr, docs)
    return DocumentPairs(ptr, cells.word[chosen], cells.tokens[chosen])


def some_of(data: Data, docs: I64) -> Data:
    """Return some documents, int64 [n], ascending, laid out in memory in one shard."""
    cells = selected(data.cells, docs)
    counts = counts_of(cells, data.n_words)
    n_with = np.bincount(cells.word, minlength=data.n_words)
    lengths, word_counts = (np.asarray(counts.sum(axis=axis), np.int64) for axis in (1, 0))
    return Data(cells, np.array([0, len(docs)]), lengths, n_with, word_counts)


def counts_of(cells: DocumentPairs, n_words: int) -> sparse.csr_array:
    """Return cells as counts again, float64 CSR [n_docs, n_words]."""
    index = np.int32 if len(cells.word) < np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (cells.tokens.astype(np.float64), cells.word, cells.ptr.astype(index)),
        shape=(len(cells.ptr) - 1, n_words),
    )


class Local(NamedTuple):
    """Per-document state of a piece: tau float64 [n_docs, depth]."""

    tau: Annotated[F64, Axes("n_docs", "depth", least=0)]


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters and the priors in force, levels depending on the path.

    lam: [n_words, n_nodes]. n_outside: expected tokens outside the tree. Local: what pieces have.
    """

    Local: ClassVar[Callable[..., Any]] = Local

    lam: Annotated[Floats, Axes("n_words", "n_nodes", least=0)]
    level_prior: Annotated[F64, Axes("depth", least=0)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    eta: Annotated[float, Axes(least=POSITIVE)]
    n_outside: Annotated[float, Axes()]

    @property
    def tau(self) -> F64:
        """The level weights of all documents [n_docs, depth]; of a single piece not a copy."""
        return joined(self.local, "tau")

    @property
    def n_levels(self) -> int:
        """Number of levels of the tree."""
        return len(self.level_prior)

    @property
    def nodes(self) -> SlotNodes:
        """The tree's shape."""
        return nodes_of(self.parent, len(self.level_prior))

    @property
    def log_mass(self) -> F64:
        """LM of each slot, float64 [n_nodes]."""
        return log_masses(self.nodes, self.sticks, self.gamma)

    def by_node(self, order: I64) -> dict[str, NDArray[Any]]:
        """Return the topics of nodes in another order, int64 [n_nodes]."""
        return {"lam": np.ascontiguousarray(self.lam[:, order])}

    @staticmethod
    def begun(tau: F64, slot_mass: F64) -> dict[str, F64]:
        """Return the first state of pieces; tau [n_docs, depth], documents in slots [n_nodes]."""
        return {"tau": tau}

    def given(
        self, rounds: int, columns: I32, dtype: DTypeLike | None = None
    ) -> DocumentPassMessage:
        """Return the message of a pass to the documents; dtype as in ``local_pass``."""
        return by_path(self, rounds, columns, dtype)

    def weighing(self) -> SlotProbabilities:
        """Return the input for the weights of slots."""
        return SlotProbabilities(self.n_nodes, tables_of(self, by_slot=True), _weigh)

    def best_slots(self) -> I64:
        """Return the most probable slot of each training document, int64 [n_docs]."""
        return stacked(self.local.ask(_best_slots, self.weighing()))

    def log_normaliser(self) -> float:
        """Return the documents' share of the bound without E_theta. Raises NumericalError."""
        given = tables_of(self, np.float64, by_slot=True)
        return finite(sum(self.local.ask(_log_normaliser, given)))


class PassSums(NamedTuple):
    """Sums of a pass over the documents.

    words: [n_words, n_columns] expected tokens. slot: float64 [n_nodes] documents. n_outside:
    tokens outside the tree. log_normaliser: the documents' share of the bound before the pass,
    but for E_theta.
    """

    words: Floats
    slot: F64
    n_outside: float
    log_normaliser: float


class DocumentPassMessage(NamedTuple):
    """Message of a pass to the documents.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up. visit: does
    the local step of some documents in place.
    """

    tables: kernels.SlotGlobals
    schedule: kernels.Schedule
    columns: I32
    visit: Callable[[DocumentPairs, Any, DocumentPassMessage, kernels.Statistics], float]


class SlotProbabilities(NamedTuple):
    """How q of slots is known of documents ``first .. last`` of a piece, [n, n_nodes].

    given: tables; None where pieces have it.
    """

    n_nodes: int
    given: kernels.SlotGlobals | None
    weigh: Callable[[DocumentPairs, Any, Any, int, int], F64]

    def blocks(self, piece: DocumentPairs, local: Any) -> Iterator[F64]:
        """Yield q of slots of a piece's documents, float64 [some, n_nodes] after the other."""
        n_docs, step = len(local.tau), max(1, CELLS // self.n_nodes)
        for first in range(0, n_docs, step):
            yield self.weigh(piece, local, self.given, first, min(n_docs, first + step))


def place(
    kind: type[State], data: Data, context: Context, tau: F64, slot_mass: F64
) -> Pieces[DocumentPairs, Any]:
    """Place the corpus in pieces; tau [n_docs, depth], slot_mass [n_nodes]: see ``begun``."""
    states = cut(kind.Local, kind.begun(tau, slot_mass), bounds(data))
    return context.place(build_piece, parts_of(data), as_given, Each(states))


def bounds(data: Data) -> dict[str, I64]:
    """Return the bounds of pieces in arrays by document, int64 [n_pieces + 1]."""
    return {"tau": data.shard_bounds, "chances": data.shard_bounds}


def local_pass(state: State, rounds: int, *, dtype: DTypeLike | None = None) -> PassSums:
    """Do every document's local step; the per-document state changes in place.

    rounds: local rounds; 0 moves nothing. dtype: of the tables; None: what eta allows. Raises
    NumericalError.
    """
    given = state.given(rounds, state.nodes.path, dtype)
    local = state.local
    return added(local.step(_local_step, given) if rounds else local.ask(visit, given))


def by_path(
    state: State, rounds: int, columns: I32, dtype: DTypeLike | None = None
) -> DocumentPassMessage:
    """Return the message of a pass to the documents, if levels depend on the path."""
    tables = tables_of(state, dtype, by_slot=True)
    return DocumentPassMessage(tables, kernels.Schedule(rounds, RARE), columns, _visit)


def tables_of(
    state: State, dtype: DTypeLike | None = None, *, by_slot: bool = False, logs: bool = False
) -> kernels.SlotGlobals:
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


def added(parts: list[PassSums]) -> PassSums:
    """Return the sums of all pieces. Raises NumericalError."""
    words = parts[0].words
    for part in parts[1:]:
        words += part.words
    total = finite(sum(part.log_normaliser for part in parts))
    slot = np.sum([part.slot for part in parts], axis=0)
    return PassSums(words, slot, float(sum(part.n_outside for part in parts)), total)


def _local_step(
    piece: DocumentPairs, local: Any, message: DocumentPassMessage
) -> tuple[Any, PassSums]:
    return local, visit(piece, local, message)


def visit(piece: DocumentPairs, local: Any, message: DocumentPassMessage) -> PassSums:
    """Do the local step of a piece's documents in place, if there are rounds."""
    sums = _nothing(message)
    value = message.visit(piece, local, message, sums)
    return PassSums(sums.words, sums.slot, float(sums.outside[0]), value)


def visit_some(
    piece: DocumentPairs, local: Any, message: DocumentPassMessage, docs: I64
) -> PassSums:
    """Do the local step of some of a piece's documents in place; their cells are copied.

    docs: int64 [n], ascending.
    """
    sums, value = _nothing(message), 0.0
    for first, last in spans(piece.ptr[docs + 1] - piece.ptr[docs]):
        here = docs[first:last]
        part = local._replace(**{name: rows[here] for name, rows in local._asdict().items()})
        value += message.visit(selected(piece, here), part, message, sums)
        for rows, moved in zip(local, part, strict=True):
            rows[here] = moved
    return PassSums(sums.words, sums.slot, float(sums.outside[0]), value)


def _nothing(message: DocumentPassMessage) -> kernels.Statistics:
    n_words, n_nodes = message.tables.e_table.shape
    n_columns = int(message.columns.max(initial=-1)) + 1 if message.schedule.rounds else 0
    words = np.zeros((n_words, n_columns), message.tables.e_table.dtype)
    return kernels.Statistics(words, np.zeros(n_nodes), np.zeros(1), message.columns)


def _visit(
    piece: DocumentPairs, local: Local, message: DocumentPassMessage, sums: kernels.Statistics
) -> float:
    scratch = expectations.scratch_for(len(sums.slot), sums.words.dtype)
    docs = (0, len(local.tau))
    value = structured_step(
        piece, *docs, local.tau, message.tables, message.schedule, scratch, sums
    )
    return float(value)


def words_by_level(state: State, columns: I32) -> PassSums:
    """Return the sums of a one-round pass with levels that depend on the path; undo the pass.

    columns: int32 [n_nodes, depth], where the words of a slot's levels are added up.
    """
    return added(state.local.ask(_look, by_path(state, 1, columns)))


def _look(piece: DocumentPairs, local: Any, message: DocumentPassMessage) -> PassSums:
    return visit(piece, Local(local.tau.copy()), message)


def refit(state: State, sums: PassSums) -> None:
    """Set sticks and topics to their best values for the sums of a pass (theory/ncrp 3.4, 3.5)."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, state.gamma)
    state.lam = sums.words + sums.words.dtype.type(state.eta)
    state.n_outside = sums.n_outside


def elbo(state: State) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return (
        sticks_term(state.sticks, state.gamma)
        + float(bound.topic_terms(state.lam, state.eta).sum())
        + sum(state.local.ask(_levels_term, state.level_prior))
        + state.log_normaliser()
    )


def _levels_term(piece: DocumentPairs, local: Local, level_prior: F64) -> float:
    return bound.levels_term(local.tau, level_prior)


def _log_normaliser(piece: DocumentPairs, local: Local, given: kernels.SlotGlobals) -> float:
    scratch = expectations.scratch_for(given.e_table.shape[1], np.float64)
    return float(log_normaliser(piece, 0, len(local.tau), local.tau, given, scratch))


def _weigh(
    piece: DocumentPairs, local: Local, given: kernels.SlotGlobals, first: int, last: int
) -> F64:
    n_nodes = given.e_table.shape[1]
    scratch = expectations.scratch_for(n_nodes, given.e_table.dtype)
    chances = np.empty((last - first, n_nodes))
    weigh_documents(piece, first, last, local.tau, given, scratch, chances)
    return chances


def _best_slots(piece: DocumentPairs, local: Any, weighing: SlotProbabilities) -> I64:
    rows = [np.argmax(chances, axis=1) for chances in weighing.blocks(piece, local)]
    return np.concatenate([np.empty(0, np.int64), *rows])


def finite(log_normaliser: float) -> float:
    """Return a bound of documents; raises NumericalError where it is not finite."""
    if not np.isfinite(log_normaliser):
        raise NumericalError("the bound of the documents is not finite")
    return float(log_normaliser)
