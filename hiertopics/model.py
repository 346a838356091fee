"""The contract of a backend: one module with two config records, State, Info and nine functions.

A backend is a module; there is no base class, no decorator and no instance. Reading it from top
to bottom gives the algorithm: ``prepare`` lays the corpus out for the kernels, ``init`` makes the
first state, ``step`` is one sweep or outer iteration of the paper's algorithm box, ``summarise``
turns the state into what users look at, ``infer`` folds in new documents with the globals frozen.
``objective`` and ``simulate`` make the backend testable by strangers: the log joint, bound or
score recomputed from scratch, and the generative story run forwards.

Everything else (progress, checkpoints, resume, seeds, stopping, evaluation, files, commands) is
written once around these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics import seeds
from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.engine import Workers

Item = TypeVar("Item")
Result = TypeVar("Result")

Hyperparameters = Mapping[str, NDArray[np.float64]]
NONE_DRAWN: Hyperparameters = MappingProxyType({})


@dataclass(frozen=True)
class Settings:
    """A backend's own half of the config: its ``Model`` and its ``Inference`` record."""

    model: Any
    inference: Any


@dataclass(frozen=True)
class Context:
    """What a function of a backend may use besides its arguments: randomness and workers.

    iteration: 0 for ``init``, then 1, 2, ... for ``step``. report: to be told by a long ``init``
    how many of how many parts of it are done.
    """

    seed: int
    iteration: int
    workers: Workers
    report: Callable[[int, int], None] = field(default=lambda done, total: None, compare=False)

    def rng(self, purpose: str, *key: int) -> np.random.Generator:
        """Return the generator of this iteration for ``purpose`` and, say, a shard number."""
        return seeds.derive(self.seed, purpose, self.iteration, *key)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply ``function`` to shards, maybe on several threads; results in order of items."""
        return self.workers.map(function, items)


class Paths(NamedTuple):
    """The best path of each document: node int32 [D, L] padded with -1; log_prob float64 [D]."""

    node: NDArray[np.int32]
    log_prob: NDArray[np.float64]


class PathMixture(NamedTuple):
    """The paths that each document may have taken, and its level weights on each of them.

    Entries ``indptr[d] .. indptr[d + 1]`` are those of document d. indptr: int64 [D + 1]. node:
    int32 [n, L], padded with -1 for levels outside the tree, where every word has chance 1 / V.
    log_prob: float64 [n], log q(path), a document's sum to 1. level_weights: float64 [n, L], rows
    sum to 1.
    """

    indptr: NDArray[np.int64]
    node: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    level_weights: NDArray[np.float64]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a file: path_indptr, path_node, path_log_prob, ..."""
        return {f"path_{name}": array for name, array in self._asdict().items()}


@dataclass(frozen=True)
class Summary:
    """A state as users see it: the tree and where the training documents sit in it.

    theta: float64 CSR [n_docs, n_nodes], rows sum to 1, columns in the tree's node order.
    paths: only for backends with paths. notes: what the user should know of a poor fit.
    """

    tree: Tree
    theta: sparse.csr_array
    paths: Paths | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Posterior:
    """What inference says of new documents; the fields of ``Summary`` without the tree.

    mixture: only for backends whose documents take one path each; theta is its mean over paths.
    """

    theta: sparse.csr_array
    paths: Paths | None = None
    mixture: PathMixture | None = None


class PerChain(NamedTuple):
    """What the chains of a sampler are compared by.

    traces: a number per chain under each name, "objective" and the size of the model among them.
    paths: int32 [n_chains, n_docs, L], the nodes on each document's path, padded with -1, numbered
    as each chain likes; None where there are no paths.
    """

    traces: Mapping[str, Sequence[float]]
    paths: NDArray[np.int32] | None = None


class Components(NamedTuple):
    """Some documents drawn from a fitted model, as mixtures over the rows of its tree.

    weights: float64 [m], how many drawn documents each stands for. mixtures: float64 [m, n_rows],
    rows sum to 1, so that mixtures @ rows are their word distributions. rows: float64
    [n_rows, n_words]; None: the phi of the tree.
    """

    weights: NDArray[np.float64]
    mixtures: NDArray[np.float64]
    rows: NDArray[np.float64] | None = None


class Sizes(NamedTuple):
    """Size of a corpus to simulate."""

    n_docs: int
    n_words: int
    doc_length: int


def value_of(name: str, model: Any, drawn: Hyperparameters) -> float:
    """Return the drawn value of a hyperparameter that is one number, else the config's."""
    return float(drawn.get(name, getattr(model, name)))


class Backend(Protocol):
    """The names that a backend's module must define (see the module docstring).

    Model, Inference: msgspec Structs, the keys under ``model`` and ``inference`` of the config.
    State: a dataclass that holds only arrays, numbers and strings, so that a checkpoint needs no
    pickle. Info: a NamedTuple of numbers whose fields are columns of metrics.jsonl.
    objective_name: what ``objective`` returns, in words. monotone: the objective is promised
    never to fall between structural moves. sampler: successive states are draws of a posterior,
    thinned ones are kept; one whose ``summarise`` may return another draw than the current one
    defines ``draw(state, data, settings)`` beside it; one which can run several chains side by
    side defines ``per_chain(state, data, settings)``, which returns a ``PerChain``. A backend from
    which the protocol ``empirical`` may draw documents defines
    ``predictive(tree, n_samples, settings, rng)``, which yields ``Components`` in blocks of at
    most about a thousand, their weights ``n_samples`` in all. One whose fit draws hyperparameters
    defines ``draw_hyperparameters(settings, sizes, context)``: those that a fit with these
    settings would draw, drawn from their priors, arrays by name; its ``simulate`` takes them as a
    fourth argument ``drawn`` and in place of the config's values.
    observes: "counts" (so without the attribute), "vectors" or "bits", or a function of the Model
    that returns one of them. Vectors and bits: a corpus is ``Vectors`` everywhere below, and
    ``log_density(tree, corpus, settings)`` returns the log density of each new row before it is
    seen, float64 [n_docs].
    """

    Model: type
    Inference: type
    State: type
    Info: type
    objective_name: str
    monotone: bool
    sampler: bool

    def prepare(self, corpus: Corpus, settings: Settings) -> Any:
        """Lay the corpus out for the kernels; derived data, never saved."""

    def init(self, data: Any, settings: Settings, context: Context) -> Any:
        """Return the state before the first iteration."""

    def step(self, state: Any, data: Any, settings: Settings, context: Context) -> tuple[Any, Any]:
        """Do one iteration, in place where that is cheaper; return the state and its Info."""

    def summarise(self, state: Any, data: Any, settings: Settings) -> Summary:
        """Return the state as a tree of live nodes and theta of the training documents."""

    def infer(self, tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
        """Return theta of new documents over the tree's vocabulary, the tree held fixed.

        The answer for a document depends on its counts alone, not on its neighbours or place.
        """

    def objective(self, state: Any, data: Any, settings: Settings) -> float:
        """Return the objective recomputed from scratch: slow and trusted."""

    def simulate(
        self, settings: Settings, sizes: Sizes, context: Context
    ) -> tuple[Corpus, Mapping[str, NDArray[Any]]]:
        """Draw a corpus from the model's own generative story, with the truth beside it."""

    def memory(self, corpus: Corpus, settings: Settings) -> int:
        """Return the bytes of the largest arrays of a fit, for the estimate printed before it."""
