"""Shared state of all variational trees of fixed depth, order of siblings, config keys.

A state is of one of two families. Under ``MeanField`` q of a document's path is a parameter,
``chances`` of slots, with the documents. In the structured family, which ``TreeState`` is by
itself, what a document has at each level depends on its path; q of the path then follows from
everything else, and nothing is kept of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import betaln

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import Axes, require_parents
from hiertopics.contract.engine import Each, Pieces, joined
from hiertopics.families.nested.slots import (
    NodeSticks,
    SlotNodes,
    fit_sticks,
    in_order,
    nodes_of,
    renumbered,
    subtree_sums,
)

MaxNodes = Annotated[
    int, Meta(ge=1, description="Largest number of nodes that starts and moves may create.")
]
MovesEvery = Annotated[int, Meta(ge=1, description="Iterations between two rounds of moves.")]


State = TypeVar("State", bound="TreeState")
Reseat = Callable[[Any, Any, Any], tuple[Any, None]]


@dataclass(kw_only=True)
class TreeState(ABC):
    """The tree, its sticks and, in pieces, the per-document state.

    parent: int32 [n_nodes], nodes in the order of ``slots``. stick_a, stick_b: float64 [n_nodes].
    """

    local: Pieces[Any, Any]
    parent: Annotated[I32, Axes("n_nodes")]
    stick_a: Annotated[F64, Axes("n_nodes", least=0)]
    stick_b: Annotated[F64, Axes("n_nodes", least=0)]

    def require_sound(self) -> None:
        """Raise ValueError unless the nodes are those of a tree with the given number of levels."""
        require_parents("parent", self.parent)
        level = np.zeros(len(self.parent), np.int64)
        for node in range(1, len(level)):
            level[node] = level[self.parent[node]] + 1
        if level.max() >= self.n_levels:
            raise ValueError(f"parent has more than {self.n_levels} levels")

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """Number of levels of the tree, whether all of them have nodes or not."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the truncated tree."""
        return len(self.parent)

    @property
    @abstractmethod
    def nodes(self) -> SlotNodes:
        """The tree's shape."""

    @property
    def sticks(self) -> NodeSticks:
        """The tree's sticks."""
        return NodeSticks(self.stick_a, self.stick_b)

    @abstractmethod
    def by_node(self, order: I64) -> dict[str, NDArray[Any]]:
        """Return the state's further arrays by node, in another order of nodes, int64 [n_nodes]."""

    def reseated(self, task: Reseat, message: Any) -> Pieces[Any, Any]:
        """Return pieces whose q of slots a task has changed: as they are, where none is kept."""
        return self.local

    def in_slots(self, chances: F64) -> Pieces[Any, Any]:
        """Return pieces of this q of slots [n_docs, n_nodes]: as they are, where none is kept."""
        return self.local


@dataclass(kw_only=True)
class MeanField(TreeState):
    """A state whose pieces have ``chances``, float64 [n_docs, n_nodes], q of slots."""

    @property
    def chances(self) -> F64:
        """The chances of all documents, float64 [n_docs, n_nodes]; of a single piece not a copy."""
        return joined(self.local, "chances")

    def reseated(self, task: Reseat, message: Any) -> Pieces[Any, Any]:
        """Return pieces of their own whose chances a task has changed."""
        found = self.local.copy()
        found.step(task, message)
        return found

    def in_slots(self, chances: F64) -> Pieces[Any, Any]:
        """Return pieces of their own, with these chances, float64 [n_docs, n_nodes]."""
        return having(self.local, chances=chances)


def without_chances(arrays: dict[str, NDArray[Any]], settings: object) -> dict[str, NDArray[Any]]:
    """Leave out old arrays that distinguished the families when they shared one state."""
    gone = ("structured", "chances")
    return {name: array for name, array in arrays.items() if name.split(".")[-1] not in gone}


def having(local: Pieces[Any, Any], **arrays: NDArray[Any]) -> Pieces[Any, Any]:
    """Return pieces of their own, whose states have their rows of these arrays."""
    found = local.copy()
    found.step(_replaced, each(local, **arrays))
    return found


def each(local: Pieces[Any, Any], **arrays: NDArray[Any]) -> Each:
    """Return messages with the rows of each piece's documents, by their names."""
    ends = np.cumsum(local.ask(_n_docs, None))[:-1]
    rows = {name: np.split(array, ends) for name, array in arrays.items()}
    return Each(
        [{name: part[number] for name, part in rows.items()} for number in range(len(ends) + 1)]
    )


def _n_docs(piece: Any, state: Any, _: None) -> int:
    return len(state[0])


def _replaced(piece: Any, state: Any, arrays: dict[str, NDArray[Any]]) -> tuple[Any, None]:
    return state._replace(**arrays), None


def _columns_taken(piece: Any, state: Any, order: I64) -> tuple[Any, None]:
    return state._replace(chances=np.ascontiguousarray(state.chances[:, order])), None


def heavier_first(state: State, slot_mass: F64, gamma: float) -> State:
    """Return the state with heavier siblings first, where that does not lower the bound.

    slot_mass: float64 [n_nodes], documents in each slot, to which the sticks are refitted; E_v +
    E_c is then a sum of log Beta functions.
    """
    nodes = state.nodes
    order = in_order(state.parent, -subtree_sums(nodes, slot_mass))
    if (order == np.arange(len(order))).all():
        return state
    parent = renumbered(state.parent, order)
    sticks = fit_sticks(nodes_of(parent, nodes.depth), slot_mass[order], gamma)
    if betaln(*sticks).sum() < betaln(*fit_sticks(nodes, slot_mass, gamma)).sum():
        return state
    return replace(
        state,
        local=state.reseated(_columns_taken, order),
        parent=parent,
        stick_a=sticks.a,
        stick_b=sticks.b,
        **state.by_node(order),
    )
