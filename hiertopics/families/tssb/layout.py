"""The tree of a chain in flat arrays, and where a model's own kernel plugs in.

At rest, nodes stand in pre-order without gaps: parents before children, siblings by position. A
pass over the data only appends; the next cull packs the arrays again, which makes a free list
superfluous.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Bools, Floats, Numbers
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.numeric.jit import by_type

NONE = -1
FULL = -2
LOT = 64
"""Rows are dealt out in lots."""


class StickNodes(NamedTuple):
    """The nodes 0 .. size[0] - 1 of a tree; the rows behind them are zero.

    parent: int32 [C], -1 for the root, which is node 0. depth: int32 [C]. n_at, n_sub: int64 [C],
    data at the node, and at or below it. log_nu, log_rest: float64 [C], logs of the stick nu and
    of 1 - nu; log_psi, log_psi_rest likewise. value: [C, P], the parameters, and offset [C]: a
    datum with features x has log likelihood x . value + offset. known: bool [C]; an empty node's
    parameters are drawn when a datum looks at them and dropped afterwards.
    """

    size: Annotated[I64, Axes("1")]
    parent: Annotated[I32, Axes("n_places")]
    depth: Annotated[I32, Axes("n_places", least=0)]
    n_at: Annotated[I64, Axes("n_places", least=0)]
    n_sub: Annotated[I64, Axes("n_places", least=0)]
    log_nu: Annotated[F64, Axes("n_places", finite=False)]
    log_rest: Annotated[F64, Axes("n_places", finite=False)]
    log_psi: Annotated[F64, Axes("n_places", finite=False)]
    log_psi_rest: Annotated[F64, Axes("n_places", finite=False)]
    value: Annotated[Floats, Axes("n_places", "n_values")]
    offset: Annotated[F64, Axes("n_places")]
    known: Annotated[Bools, Axes("n_places")]

    def require_sound(self) -> None:
        """Raise ValueError where the nodes are not those of a tree, parents before children."""
        n = int(self.size[0])
        if not 1 <= n <= len(self.parent):
            raise ValueError(f"size is {n}, not 1 to {len(self.parent)}")
        parent = self.parent[:n]
        if parent[0] != NONE or (parent[1:] < 0).any() or (parent >= np.arange(n)).any():
            raise ValueError("parent has a node whose parent is no node before it")
        if self.depth[0] != 0 or (self.depth[1:n] != self.depth[parent[1:]] + 1).any():
            raise ValueError("depth is not one more than that of the parent")
        for name in ("log_nu", "log_rest", "log_psi", "log_psi_rest"):
            if not (getattr(self, name)[:n] <= 0).all():
                raise ValueError(f"{name} has a value that is not the log of a share")


class Process(NamedTuple):
    """The stick-breaking process: nu ~ Beta(1, alpha0 decay^depth), psi ~ Beta(1, gamma).

    max_depth: at this depth nu = 1 (theory/tssb 1.3).
    """

    alpha0: Annotated[float, Axes(least=POSITIVE)]
    decay: Annotated[float, Axes(least=0)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    max_depth: Annotated[int, Axes(equals="max_depth")]


class StickPlaces(NamedTuple):
    """The places of nodes in (0, 1) during a pass, float64 [C] each, and the nodes born in it.

    A node's own piece is [left, mid), its subtree [left, right), and rest is what is left at the
    end of it for further children. first, last, next: int32 [C], the list of a node's children
    that were born in this pass.
    """

    left: F64
    mid: F64
    right: F64
    rest: F64
    first: I32
    last: I32
    next: I32


BEAR: dict[type, Callable[..., Any]] = {}
"""How a node gets its parameters from its parent's, by the type of the law."""


@by_type(BEAR)
def bear(law: Any, parent: Floats, value: Floats, rng: np.random.Generator) -> float:
    """Draw ``value`` [P] from the law's kernel given the parent's; return the offset.

    Raises TypeError for a law without a kernel.
    """
    raise TypeError(f"no kernel for {type(law).__name__}")


class Memo(NamedTuple):
    """Cached values for new children of each node, if the law is linear in features.

    slope: float64 [C, P] and offset [C], of the log likelihood of a datum at a new child whose
    parameters are summed out; ready: bool [C], of which nodes they have been worked out.
    """

    slope: F64
    offset: F64
    ready: Bools


MARGINAL: dict[type, Callable[..., Any]] = {}
FOUND: dict[type, Callable[..., Any]] = {}
"""The same for nodes that a datum founds."""


@by_type(MARGINAL)
def marginal(law: Any, features: Numbers, parent: int, nodes: StickNodes, memo: Memo) -> float:
    """Return the log likelihood of a datum at a new child, the child's parameters summed out.

    features: [P]. Raises TypeError for a law without one.
    """
    raise TypeError(f"no marginal likelihood for {type(law).__name__}")


@by_type(FOUND)
def found(
    law: Any,
    features: Numbers,
    parent: int,
    node: int,
    nodes: StickNodes,
    memo: Memo,
    rng: np.random.Generator,
) -> float:
    """Draw the value of ``node``, a new child, given the datum that founds it; return the offset.

    The caller then has to drop the memo's entries of the node's own children. features: [P].
    Raises TypeError for a law without a posterior.
    """
    raise TypeError(f"no posterior for {type(law).__name__}")


def room(n_nodes: float) -> int:
    """Return a capacity for ``n_nodes``."""
    return LOT * int(np.ceil(max(n_nodes, 1) / LOT))


def make_nodes(capacity: int, n_items: int, dtype: type[np.floating] = np.float64) -> StickNodes:
    """Return the arrays of a tree without nodes, of parameters [n_items]."""
    numbers = np.zeros((4, capacity))
    return StickNodes(
        size=np.zeros(1, np.int64),
        parent=np.zeros(capacity, np.int32),
        depth=np.zeros(capacity, np.int32),
        n_at=np.zeros(capacity, np.int64),
        n_sub=np.zeros(capacity, np.int64),
        log_nu=numbers[0],
        log_rest=numbers[1],
        log_psi=numbers[2],
        log_psi_rest=numbers[3],
        value=np.zeros((capacity, n_items), dtype),
        offset=np.zeros(capacity),
        known=np.zeros(capacity, np.bool_),
    )


def make_places(capacity: int) -> StickPlaces:
    """Return the arrays of places for ``capacity`` nodes."""
    lists = np.full((3, capacity), NONE, np.int32)
    return StickPlaces(*np.zeros((4, capacity)), *lists)


def with_room(nodes: StickNodes, capacity: int) -> StickNodes:
    """Return the tree in arrays for ``capacity`` nodes."""
    n = int(nodes.size[0])
    wider = make_nodes(capacity, nodes.value.shape[1], nodes.value.dtype.type)
    for name in StickNodes._fields[1:]:
        getattr(wider, name)[:n] = getattr(nodes, name)[:n]
    wider.size[0] = n
    return wider


def places_with_room(places: StickPlaces, capacity: int) -> StickPlaces:
    """Return the places in arrays for ``capacity`` nodes."""
    wider = make_places(capacity)
    for name in StickPlaces._fields:
        getattr(wider, name)[: len(places.left)] = getattr(places, name)
    return wider
