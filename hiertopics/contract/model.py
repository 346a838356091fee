"""The contract of a backend: one record of two config types, State, Info and eight functions.

A backend is a value, a ``Backend``, that its module makes of plain functions; there is no base
class and no decorator. Reading the module from top to bottom gives the algorithm: ``prepare``
lays the corpus out for the kernels, ``init`` makes the first state, ``step`` is one sweep or
outer iteration of the paper's algorithm box, ``summarise`` turns the state into what users look
at, ``infer`` folds in new documents with the globals frozen. ``objective`` and ``simulate`` make
the backend testable by strangers: the log joint, bound or score recomputed from scratch, and the
generative story run forwards.

Everything else (progress, checkpoints, resume, seeds, stopping, evaluation, files, commands) is
written once around these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I32, I64, Ints
from hiertopics.base.axes import Lengths
from hiertopics.base.made import MadeRows
from hiertopics.contract.engine import Engine, Pieces
from hiertopics.corpus.data import Regrouping, Tree
from hiertopics.settings.config import InferenceConfig

Item = TypeVar("Item")
Result = TypeVar("Result")
Part = TypeVar("Part")
Piece = TypeVar("Piece")
Local = TypeVar("Local")
SeenT = TypeVar("SeenT")
DataT = TypeVar("DataT")
StateT = TypeVar("StateT")
if TYPE_CHECKING:
    from typing_extensions import TypeVar as Defaulting

    ModelT = Defaulting("ModelT", default=Any, covariant=True)
    InferenceT = Defaulting("InferenceT", default=Any, covariant=True)
    SettingsT = Defaulting("SettingsT", default="Settings[Any, Any]")
else:
    ModelT, InferenceT, SettingsT = map(TypeVar, ("ModelT", "InferenceT", "SettingsT"))

Hyperparameters = Mapping[str, F64]
Migration = Callable[[dict[str, NDArray[Any]], "Settings"], dict[str, NDArray[Any]]]
NONE_DRAWN: Hyperparameters = MappingProxyType({})


@dataclass(frozen=True)
class Settings(Generic[ModelT, InferenceT]):
    """A backend's own half of the config: its ``Model`` and its ``Inference`` record."""

    model: ModelT
    inference: InferenceT


def unreported(done: int, total: int) -> None:
    """Take a report for nobody."""


@dataclass(frozen=True)
class Context:
    """Resources of a backend's function besides its arguments: random numbers and workers.

    iteration: 0 for ``init``, then 1, 2, ... for ``step``. report: to be told by a long ``init``
    how many of how many parts of it are done, by ``infer`` how many documents. chain: what stands
    before every key, so that chains side by side draw numbers of their own.
    """

    seed: int
    iteration: int
    workers: Engine
    report: Callable[[int, int], None] = field(default=unreported, compare=False)
    chain: tuple[int, ...] = ()

    def rng(self, purpose: str, *key: int) -> np.random.Generator:
        """Return the generator of this iteration for ``purpose`` and, say, a shard number."""
        return seeds.derive(self.seed, purpose, self.iteration, *self.chain, *key)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply ``function`` to shards, maybe on several threads; results in order of items."""
        return self.workers.map(function, items)

    def deal(self, task: Callable[[Item], Result], messages: Sequence[Item]) -> list[Result]:
        """Let whoever works answer messages by a function of a module; answers in their order."""
        return self.workers.deal(task, messages)

    def place(
        self,
        build: Callable[[Part], Piece],
        parts: Sequence[Part],
        begin: Callable[[Piece, Any], Local],
        message: Any,
    ) -> Pieces[Piece, Local]:
        """Create the piece of each part where it will live; ``begin`` gives its first state."""
        return self.workers.place(build, parts, begin, message)


class Paths(NamedTuple):
    """The best path of each document: node int32 [D, L] padded with -1; log_prob float64 [D]."""

    node: I32
    log_prob: F64


class PathMixture(NamedTuple):
    """The paths that each document may have taken, and its level weights on each of them.

    Entries ``indptr[d] .. indptr[d + 1]`` are those of document d. indptr: int64 [D + 1]. node:
    int32 [n, L], padded with -1 for levels outside the tree, where every word has chance 1 / V.
    log_prob: float64 [n], log q(path), a document's sum to 1. level_weights: float64 [n, L], rows
    sum to 1.
    """

    indptr: I64
    node: I32
    log_prob: F64
    level_weights: F64

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a file: path_indptr, path_node, path_log_prob, ..."""
        return {f"path_{name}": array for name, array in self._asdict().items()}


@dataclass(frozen=True)
class Summary:
    """A state as users see it: the tree and the places of the training documents in it.

    rows: theta, float64 [n_docs, n_nodes], rows sum to 1, columns in the tree's node order: CSR, or
    made some at a time where the whole of it would be the largest array of a fit.
    paths: only for backends with paths. notes: what the user should know of a poor fit. names:
    of nodes that have one from the beginning.
    """

    tree: Tree
    rows: sparse.csr_array | MadeRows
    paths: Paths | None = None
    notes: tuple[str, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def theta(self) -> sparse.csr_array:
        """All rows, float64 CSR [n_docs, n_nodes]."""
        return self.rows.tocsr() if isinstance(self.rows, MadeRows) else self.rows

    def noting(self, *notes: str) -> Summary:
        """Return it with further notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Posterior:
    """The inferred places of new documents; the fields of ``Summary`` without the tree.

    mixture: only for backends whose documents take one path each; theta is its mean over paths.
    tables: only of models with bursts, float64 CSR [n_docs, n_words], expected tables of each word
    that a document has.
    """

    theta: sparse.csr_array
    paths: Paths | None = None
    mixture: PathMixture | None = None
    tables: sparse.csr_array | None = None


class PerChain(NamedTuple):
    """The numbers by which the chains of a sampler are compared.

    traces: a number per chain under each name, "objective" and the size of the model among them.
    paths: int32 [n_chains, n_docs, L], the nodes on each document's path, padded with -1, numbered
    as each chain likes; None where there are no paths.
    """

    traces: Mapping[str, Sequence[float]]
    paths: I32 | None = None


class Components(NamedTuple):
    """Some documents drawn from a fitted model, as mixtures over the rows of its tree.

    weights: float64 [m], how many drawn documents each stands for. mixtures: float64 [m, n_rows],
    rows sum to 1, so that mixtures @ rows are their word distributions. rows: float64
    [n_rows, n_words]; None: the phi of the tree.
    """

    weights: F64
    mixtures: F64
    rows: F64 | None = None


class Columns(Protocol):
    """An Info: a NamedTuple of numbers."""

    def _asdict(self) -> dict[str, Any]: ...


class Sizes(NamedTuple):
    """Size of a corpus to simulate."""

    n_docs: int
    n_words: int
    doc_length: int


def value_of(name: str, model: Any, drawn: Hyperparameters) -> float:
    """Return the drawn value of a scalar hyperparameter, otherwise the config's."""
    return float(drawn.get(name, getattr(model, name)))


def as_saved(arrays: dict[str, NDArray[Any]], settings: Settings) -> dict[str, NDArray[Any]]:
    """Take the arrays of a checkpoint as they are, of any shapes."""
    return arrays


def without(*gone: str) -> Migration:
    """Leave out arrays that states of earlier versions had, if they are there."""

    def migrate_state(
        arrays: dict[str, NDArray[Any]], settings: Settings
    ) -> dict[str, NDArray[Any]]:
        return {name: array for name, array in arrays.items() if name not in gone}

    return migrate_state


def never(settings: object) -> bool:
    """Promise nothing."""
    return False


def always(settings: object) -> bool:
    """Promise it under all settings."""
    return True


@dataclass(frozen=True, kw_only=True)
class Sharded(Generic[DataT]):
    """How a state that is ``local`` and global is placed: ``State.local`` is ``Pieces``.

    Local: what a piece has for a state, a NamedTuple of arrays, whose rows are documents or
    parts of them; fields with a default are of an iteration and not kept. parts: of the data, as
    many as pieces; build: makes a piece of a part where it will live. bounds: int64 [n_pieces + 1]
    under the name of each array of Local, where the rows of all documents are cut.
    """

    Local: Callable[..., Any]
    parts: Callable[[DataT], Sequence[Any]]
    build: Callable[[Any], Any]
    bounds: Callable[[DataT], Mapping[str, I64]]


@dataclass(frozen=True, kw_only=True)
class Backend(Generic[SeenT, DataT, StateT, SettingsT]):
    """A backend: its records, its functions, and optional functions of some backends.

    Its types: what it observes (a ``Corpus`` or ``Vectors``), that laid out, its state, a dataclass
    that holds only arrays, numbers and strings, and ``local`` where it has ``pieces``, and its
    settings.

    Model, Inference: the keys under ``model`` and ``inference`` of the config. State: what an
    iteration moves; a checkpoint needs no pickle. Info: a NamedTuple of numbers whose fields are
    columns of metrics.jsonl. objective_name: what ``objective`` returns, in words.

    prepare: lay the corpus out for the kernels; derived data, never saved. init: the state before
    the first iteration. step: one iteration, in place where that is cheaper. summarise: the state
    as a tree of live nodes and theta of the training documents. infer: theta of new documents over
    the tree's vocabulary, the tree held fixed; the answer for a document depends on its counts
    alone, not on its neighbours or place. objective: recomputed from scratch, slow and trusted.
    What reads a state has a context for its workers; it draws nothing and changes nothing.
    simulate(settings, sizes, context): a corpus from the model's own generative story, with the
    truth beside it. memory: the bytes of a fit's largest arrays, for the estimate printed before.
    memory_of_worker: those that each worker but the first adds; None: none. memory_from: those of a
    fit that goes on from a state, where that may have become larger than ``memory`` expected.

    Flags. observes: "counts", "vectors" or "bits". With vectors and bits, a corpus is ``Vectors``.
    sampler: successive states are draws from a posterior; thinned draws are kept.
    monotone: under these settings the objective never falls between structural moves.
    out_of_core: ``prepare`` and ``memory`` also take a ``Shelf``, a corpus in files. Arrays that
    grow with its documents are made in the ``room`` of the shelf.
    remote_tasks: tasks of shards go through ``Context.deal``, so that other processes can run them.
    No piece of the state lives in those processes.
    from_counts: topics are (n_wk + eta) / (n_k + V eta). The counts of a document can be taken out
    of the tree's ``phi``, and ``infer`` needs nothing else of the topics.

    The remaining fields are optional.

    pieces: where the arrays of documents are placed. by_token: for a state without pieces, suffixes
    of the names of arrays with one entry a token; a checkpoint reads them into the corpus's room.
    draw: the current draw of a sampler whose ``summarise`` may return another one. per_chain: the
    numbers by which the chains of a sampler are compared.
    predictive: yields documents drawn from the model as ``Components``, in blocks of at most about
    a thousand; their weights sum to ``n_samples``. The protocol ``empirical`` uses it.
    log_density: for vectors and bits, the log predictive density of each new row, float64 [n_docs].
    refit_on_tree: fits topics anew on a tree whose shape is held. It takes the tree (phi, parent
    and the arrays that ``extra`` names, nodes breadth first), the first theta, CSR [n_docs,
    n_nodes], and the corpus.
    recut: a tree with the given numbers of nodes at each level above its leaves and with the same
    leaves, and theta of the training documents, float64 CSR [n_docs, n_nodes]. It takes a tree, its
    theta, the corpus and the numbers. The result holds all that ``infer`` needs except ``n_docs``.
    outline: the first levels of the tree of a corpus in memory, with words and the documents'
    shares, without a fit. outline_cost: its cost as a part of a fit, from counts of operations;
    infinity where there is no outline. A backend has both or neither.
    short: settings of a fit of few iterations whose nodes come back in resamples nearly as often as
    those of a whole fit.
    draw_hyperparameters: draws the hyperparameters that a fit with these settings samples from
    their priors, arrays by name. ``simulate`` takes them as a fourth argument, ``drawn``, in place
    of the config's values.
    extend_state: the first state of ``update``: ``extend_state(before, data, settings, context)``.
    before: the arrays of the last checkpoint of a fit to fewer documents, by name. Its documents
    and words are the first ones of ``data``, in the same order. Without it, ``update`` refuses the
    backend.
    choose_variant: the backend that fits a corpus, where settings leave a choice to its size. The
    states of the fit are states of that backend.
    whole_theta: theta of training documents at every node, float64 [n_docs, n_nodes], where
    ``summarise`` may store a part of it. It takes the tree, some rows of the stored theta, CSR, and
    the documents' tokens. Scores read it where entries of the stored theta are missing.
    merge_extra: ``Tree.extra`` after rows of a tree were merged or dropped. Without it, topics of
    the backend cannot be merged or dropped.
    migrate_state: the arrays of an earlier version's state as the arrays of ``State``. Arrays of
    this version pass unchanged. Raises KeyError for a missing array.
    check, restore: for a state that functions other than those of ``states`` take from its arrays.
    ``check`` raises ValueError for an array that is missing, superfluous or not one of such a
    state.
    flaw: the flaw of a saved state in words, or None: counts that are not the corpus's, ids out of
    range. Types, axes and ranges were compared before with the declared fields of the state
    (``hiertopics.base.axes``).
    extra: types and axes of the arrays that functions need in ``Tree.extra``, by name, declared
    like the fields of a state. breadth_first: the nodes of a tree stand level by level, siblings
    next to each other.
    """

    Model: type[Struct]
    Inference: type[InferenceConfig]
    State: type[StateT]
    Info: type[tuple[float, ...]]
    objective_name: str

    prepare: Callable[[SeenT, SettingsT], DataT]
    init: Callable[[DataT, SettingsT, Context], StateT]
    step: Callable[[StateT, DataT, SettingsT, Context], tuple[StateT, Columns]]
    summarise: Callable[[StateT, DataT, SettingsT, Context], Summary]
    infer: Callable[[Tree, SeenT, SettingsT, Context], Posterior]
    objective: Callable[[StateT, DataT, SettingsT, Context], float]
    simulate: Callable[..., tuple[SeenT, Mapping[str, NDArray[Any]]]]
    memory: Callable[[SeenT, SettingsT], int]

    observes: str = "counts"
    sampler: bool = False
    monotone: Callable[[SettingsT], bool] = never
    out_of_core: bool = False
    remote_tasks: bool = False
    from_counts: bool = False

    pieces: Sharded[DataT] | None = None
    by_token: tuple[str, ...] = ()
    draw: Callable[[StateT, DataT, SettingsT, Context], Summary] | None = None
    per_chain: Callable[[StateT, DataT, SettingsT, Context], PerChain] | None = None
    predictive: (
        Callable[[Tree, int, SettingsT, np.random.Generator], Iterable[Components]] | None
    ) = None
    log_density: Callable[[Tree, SeenT, SettingsT], F64] | None = None
    refit_on_tree: Callable[[Tree, sparse.csr_array, SeenT, SettingsT, Context], Summary] | None = (
        None
    )
    recut: (
        Callable[
            [Tree, sparse.csr_array, SeenT, Sequence[int], SettingsT, Context],
            tuple[Tree, sparse.csr_array],
        ]
        | None
    ) = None
    outline: Callable[[SeenT, SettingsT, Context], Summary] | None = None
    outline_cost: Callable[[Any, SettingsT], float] | None = None
    short: Callable[[SettingsT], SettingsT] | None = None
    draw_hyperparameters: Callable[[SettingsT, Sizes, Context], Hyperparameters] | None = None
    extend_state: Callable[[dict[str, NDArray[Any]], DataT, SettingsT, Context], StateT] | None = (
        None
    )
    choose_variant: Callable[[SeenT, SettingsT], Backend[Any, Any, Any, Any]] | None = None
    memory_of_worker: Callable[[SeenT, SettingsT], int] | None = None
    memory_from: Callable[[StateT, SeenT, SettingsT], int] | None = None
    whole_theta: Callable[[Tree, sparse.csr_array, Ints], F64] | None = None
    merge_extra: Callable[[Tree, Regrouping], Mapping[str, NDArray[Any]]] | None = None
    migrate_state: Migration = as_saved
    check: Callable[[dict[str, NDArray[Any]], Lengths], None] | None = None
    restore: Callable[[dict[str, NDArray[Any]], DataT, Settings, Context], StateT] | None = None
    flaw: Callable[[StateT, DataT, SettingsT], str | None] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    breadth_first: bool = False


AnySettings = Settings[Struct, InferenceConfig]
AnyBackend = Backend[Any, object, object, AnySettings]
"""A backend whose types of data and states are not known."""
