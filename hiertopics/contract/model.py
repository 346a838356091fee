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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import Lengths
from hiertopics.contract.engine import Engine, Pieces
from hiertopics.corpus.data.regrouping import Regrouping
from hiertopics.corpus.data.tree import Tree
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
Renewed = Callable[[dict[str, NDArray[Any]], "Settings"], dict[str, NDArray[Any]]]
NONE_DRAWN: Hyperparameters = MappingProxyType({})


@dataclass(frozen=True)
class Settings(Generic[ModelT, InferenceT]):
    """A backend's own half of the config: its ``Model`` and its ``Inference`` record."""

    model: ModelT
    inference: InferenceT


@dataclass(frozen=True)
class Context:
    """What a function of a backend may use besides its arguments: randomness and workers.

    iteration: 0 for ``init``, then 1, 2, ... for ``step``. report: to be told by a long ``init``
    how many of how many parts of it are done. chain: what stands before every key, so that chains
    side by side draw numbers of their own.
    """

    seed: int
    iteration: int
    workers: Engine
    report: Callable[[int, int], None] = field(default=lambda done, total: None, compare=False)
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
        """Make a piece of each part where it will live; its first state is what ``begin`` says."""
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
    """A state as users see it: the tree and where the training documents sit in it.

    theta: float64 CSR [n_docs, n_nodes], rows sum to 1, columns in the tree's node order.
    paths: only for backends with paths. notes: what the user should know of a poor fit. names:
    of nodes that have one from the beginning.
    """

    tree: Tree
    theta: sparse.csr_array
    paths: Paths | None = None
    notes: tuple[str, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)

    def noting(self, *notes: str) -> Summary:
        """Return it with further notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Posterior:
    """What inference says of new documents; the fields of ``Summary`` without the tree.

    mixture: only for backends whose documents take one path each; theta is its mean over paths.
    tables: only of models with bursts, float64 CSR [n_docs, n_words], expected tables of each word
    that a document has.
    """

    theta: sparse.csr_array
    paths: Paths | None = None
    mixture: PathMixture | None = None
    tables: sparse.csr_array | None = None


class PerChain(NamedTuple):
    """What the chains of a sampler are compared by.

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
    """Return the drawn value of a hyperparameter that is one number, else the config's."""
    return float(drawn.get(name, getattr(model, name)))


def as_saved(arrays: dict[str, NDArray[Any]], settings: Settings) -> dict[str, NDArray[Any]]:
    """Take the arrays of a checkpoint as they are."""
    return arrays


def without(*gone: str) -> Renewed:
    """Leave out arrays that states of earlier versions had, if they are there."""

    def renewed(arrays: dict[str, NDArray[Any]], settings: Settings) -> dict[str, NDArray[Any]]:
        return {name: array for name, array in arrays.items() if name not in gone}

    return renewed


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
    """A backend: its records and functions, and what only some backends can do.

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

    observes: "counts", "vectors" or "bits"; vectors and bits are ``Vectors`` everywhere above.
    sampler: successive states are draws of a posterior, thinned ones are kept.
    monotone: whether the objective is promised never to fall between structural moves, under the
    settings at hand. shelves: ``prepare`` and ``memory`` take a ``Shelf`` as well, a corpus in
    files, and what grows with its documents is made in its ``room``. deals: what its shards do goes
    through ``Context.deal``, so that other processes can do it, though no piece of it lives there.
    from_counts: whether topics are (n_wk + eta) / (n_k + V eta), so that a document's own counts
    can be taken out of the tree's ``phi``, and ``infer`` knows topics by that alone.

    Optional. pieces: how what belongs to documents is placed. by_token: of a state without them,
    how the names of those arrays end that have an entry for each token; those of a checkpoint are
    read into the corpus's room. draw: the current draw of a sampler whose ``summarise`` may return
    another one. per_chain: what the chains of a sampler are compared by. predictive: yields
    documents drawn from the model as ``Components``, in blocks of at most about a thousand, their
    weights ``n_samples`` in all, for the protocol ``empirical``. log_density: of vectors and bits,
    the log density of each new row before it is seen, float64 [n_docs].
    regrown: topics fitted anew on the tree of those given, whose shape is held; takes a tree (phi,
    parent and what ``extra`` names, nodes breadth first), theta to begin with, CSR
    [n_docs, n_nodes], and the corpus.
    recut: a tree with so many nodes at each level above its leaves, whose topics stay, and theta of
    the training documents, float64 CSR [n_docs, n_nodes]; takes a tree, its theta, the corpus, and
    the numbers of nodes. It has all that ``infer`` needs, but for ``n_docs``.
    outline: the first levels of the tree of a corpus in memory, with words and the documents'
    shares, found without a fit; outline_cost: what that costs, as a part of a fit by counts of what
    is done, infinity where it cannot be; both or none. short: settings of a fit of few iterations,
    whose nodes come back in resamples as often as those of a whole one.
    draw_hyperparameters: those that a fit with these settings would draw, drawn from their priors,
    arrays by name; ``simulate`` then takes them as a fourth argument, ``drawn``, in place of the
    config's values.

    continued: for ``update``, the state that a fit begins with where an earlier one of fewer
    documents ended: ``continued(before, data, settings, context)``. before: the arrays of its last
    checkpoint by name; its training documents and its words are the first ones of ``data``, in the
    same order. Where there is none, the backend cannot be updated.

    suited: of a corpus, the backend that fits it, where settings leave a choice to its size; the
    states of a fit are those of that one.

    regrouped: the ``Tree.extra`` of a tree some of whose rows were put together or taken out; where
    there is none, the topics of this backend cannot be merged or dropped.

    renewed: the arrays of a state that an earlier version saved as those of this one's ``State``;
    those of this one as they are; raises KeyError for an array that is missing. check, restore:
    of a state that other functions than those of ``states`` take from its arrays; the first raises
    ValueError where an array is missing or too many, or is none of such a state.

    flaw: what is wrong with a state that was saved, in words, None where nothing is: where counts
    are not those of the corpus, or ids lead elsewhere. Types, axes and ranges have been compared
    before with what the fields of the state declare (``hiertopics.base.axes``).

    extra: what functions of a tree need of its ``extra``: types and axes by name, as fields of a
    state declare them. breadth_first: whether the nodes of its trees stand level by level, siblings
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
    shelves: bool = False
    deals: bool = False
    from_counts: bool = False

    pieces: Sharded[DataT] | None = None
    by_token: tuple[str, ...] = ()
    draw: Callable[[StateT, DataT, SettingsT, Context], Summary] | None = None
    per_chain: Callable[[StateT, DataT, SettingsT, Context], PerChain] | None = None
    predictive: (
        Callable[[Tree, int, SettingsT, np.random.Generator], Iterable[Components]] | None
    ) = None
    log_density: Callable[[Tree, SeenT, SettingsT], F64] | None = None
    regrown: Callable[[Tree, sparse.csr_array, SeenT, SettingsT, Context], Summary] | None = None
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
    continued: Callable[[dict[str, NDArray[Any]], DataT, SettingsT, Context], StateT] | None = None
    suited: Callable[[SeenT, SettingsT], Backend[Any, Any, Any, Any]] | None = None
    memory_of_worker: Callable[[SeenT, SettingsT], int] | None = None
    memory_from: Callable[[StateT, SeenT, SettingsT], int] | None = None
    regrouped: Callable[[Tree, Regrouping], Mapping[str, NDArray[Any]]] | None = None
    renewed: Renewed = as_saved
    check: Callable[[dict[str, NDArray[Any]], Lengths], None] | None = None
    restore: Callable[[dict[str, NDArray[Any]], DataT, Settings, Context], StateT] | None = None
    flaw: Callable[[StateT, DataT, SettingsT], str | None] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    breadth_first: bool = False


AnySettings = Settings[Struct, InferenceConfig]
AnyBackend = Backend[Any, object, object, AnySettings]
"""A backend of which no more is known than the contract: data and states are opaque."""
