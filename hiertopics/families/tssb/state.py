"""The sampler's state, and the interface of a likelihood, the sampler's model of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64, I32, I64, Numbers
from hiertopics.base.axes import Axes
from hiertopics.contract import Arrays, Chains
from hiertopics.contract.model import (
    Components,
    Context,
    Hyperparameters,
    Migration,
    Sizes,
    as_saved,
)
from hiertopics.corpus.data import Corpus, Tree, Vectors
from hiertopics.families.tssb.config import Model, Settings, process_bounds
from hiertopics.families.tssb.layout import Process, StickNodes, make_nodes
from hiertopics.families.tssb.stick_kernels import count

STICKS = ("log_nu", "log_rest", "log_psi", "log_psi_rest")

ROUNDING = 1e-9
"""By how much of itself a drawn number may be beyond the end of its range."""

Rng = Callable[[str], np.random.Generator]


@dataclass
class State:
    """One draw: node of each datum int32 [n], tree, process, law [L].

    law: float64, what the parameters of nodes are drawn from (text: kappa).
    """

    node: Annotated[I32, Axes("n_docs", below="n_places")]
    nodes: StickNodes
    process: Process
    law: Annotated[F64, Axes("n_law")]


SeenT = TypeVar("SeenT", bound=Corpus | Vectors)
DataT = TypeVar("DataT")
StateT = TypeVar("StateT", bound=State)


class NodeRows(NamedTuple):
    """The nodes of a draw as users see them: phi [n, n_words], tokens at each node, extras.

    by_node: arrays with a row for each node. whole: arrays of another kind.
    """

    phi: F64
    n_tokens: F64
    by_node: dict[str, NDArray[Any]]
    whole: dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Likelihood(Generic[SeenT, DataT, StateT]):
    """A likelihood: the form of data and the parameters of nodes.

    observes, State, migrate_state, predictive, log_density: as of the backend. prepare: lay data
    out. start: the state of all data at the root of a tree without sticks. features: the log
    likelihood of a datum is linear in them, [n, P]. law: the law of a node's parameters, of the
    values [L]; closeness: how closely nodes follow their parents under it. update: redraw the
    parameters of nodes and the law, and what else the state has. log_likelihood: of all data at
    their nodes; log_extra: the log probability of what is besides data and nodes. rows: of the
    nodes [n] of the second argument. scorer: a function, the log likelihood of a new datum at each
    row of the tree. story(model, sizes, process, rng, drawn): data from the model, and the truth.
    flaw, extra: as of the backend. ranges: the parameter of the law that has a range, and the shape
    of its draw. memory: bytes of a chain's data, and of a node.
    """

    observes: str
    State: type[StateT]
    prepare: Callable[[SeenT, Settings], DataT]
    start: Callable[[DataT, Settings, Rng], StateT]
    features: Callable[[StateT, DataT], Numbers]
    law: Callable[[F64, Model], Any]
    closeness: Callable[[F64], float]
    update: Callable[[StateT, DataT, Settings, Context], StateT]
    log_likelihood: Callable[[StateT, DataT], float]
    log_extra: Callable[[StateT, DataT, Settings], float]
    rows: Callable[[StateT, I64, DataT, Settings], NodeRows]
    scorer: Callable[[Tree, SeenT], Callable[[int], F64]]
    story: Callable[
        [Model, Sizes, Process, np.random.Generator, Hyperparameters],
        tuple[SeenT, Mapping[str, NDArray[Any]]],
    ]
    ranges: Callable[[Sizes], dict[str, tuple[int, ...]]]
    memory: Callable[[SeenT, Model], tuple[int, int]]
    predictive: (
        Callable[[Tree, int, Settings, np.random.Generator], Iterable[Components]] | None
    ) = None
    log_density: Callable[[Tree, SeenT, Settings], F64] | None = None
    migrate_state: Migration = as_saved
    flaw: Callable[[StateT, DataT, Settings], str | None]
    extra: Mapping[str, Any]


def misplaced(state: State, n_values: int, n_law: int, model: Model) -> str | None:
    """Return an error about a saved tree whose nodes have the given number of parameters.

    n_law: values of the law. model: its process must lie in the ranges that are set.
    """
    for name, (least, most) in process_bounds(model)._asdict().items():
        value = getattr(state.process, name)
        if not least * (1 - ROUNDING) <= value <= most * (1 + ROUNDING):
            return f"{name} is {value:g}, which is outside {least:g} .. {most:g}"
    nodes, n = state.nodes, int(state.nodes.size[0])
    if nodes.value.shape[1] != n_values or len(state.law) != n_law:
        return f"nodes or their law do not have {n_values} and {n_law} values"
    if len(state.node) and int(state.node.max()) >= n:
        return f"node names a node beyond the {n} of the tree"
    if int(nodes.depth[:n].max()) > state.process.max_depth:
        return f"the tree is deeper than {state.process.max_depth} levels"
    again = nodes._replace(n_at=np.zeros_like(nodes.n_at), n_sub=np.zeros_like(nodes.n_sub))
    count(state.node, again)
    own, counted = (np.stack([each.n_at[:n], each.n_sub[:n]]) for each in (nodes, again))
    if not np.array_equal(own, counted):
        return "n_at and n_sub do not count the data at nodes"
    if not nodes.known[0] or not nodes.known[:n][counted[1] > 0].all():
        return "the parameters of a node with data are not known"
    return None


def as_kept(kept: StateT, data: object) -> StateT:
    """Return the state of a draw that was kept whole."""
    return kept


def before(arrays: Arrays, settings: Settings) -> Chains[State]:
    """Return the chains of a checkpoint that held them packed, trees in rows of equal length."""
    n_chains, max_depth = len(arrays["size"]), settings.model.max_depth
    now, best = (
        [_unpacked(arrays, prefix, chain, max_depth) for chain in range(n_chains)]
        for prefix in ("", "best_")
    )
    scores = np.array(arrays["best_score"])
    return Chains(now, best if np.isfinite(scores).all() else [], scores)


def _unpacked(arrays: Arrays, prefix: str, chain: int, max_depth: int) -> State:
    """Return the state of a draw; depths and counts of its tree follow from the arrays."""

    def row(name: str) -> NDArray[Any]:
        found: NDArray[Any] = arrays[prefix + name][chain]
        return found

    node = np.split(arrays[f"{prefix}node"], len(arrays["size"]))[chain]
    parent, size = row("parent"), int(row("size"))
    nodes = make_nodes(len(parent), 0)._replace(
        parent=parent,
        value=row("value"),
        offset=row("offset"),
        **dict(zip(STICKS, row("sticks"), strict=True)),
    )
    nodes.size[0] = size
    for child in range(1, size):
        nodes.depth[child] = nodes.depth[parent[child]] + 1
    count(node, nodes)
    nodes.known[:size] = nodes.n_sub[:size] > 0
    nodes.known[0] = True
    alpha0, decay, gamma = row("process").tolist()
    return State(node, nodes, Process(alpha0, decay, gamma, max_depth), row("law"))
