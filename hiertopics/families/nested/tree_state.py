"""What every variational state on a truncated tree has, and the order of its siblings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from hiertopics.engine import Each, Pieces, joined
from hiertopics.families.nested.slots import (
    Nodes,
    Sticks,
    fit_sticks,
    in_order,
    nodes_of,
    renumbered,
    subtree_sums,
)
from hiertopics.model import Settings

State = TypeVar("State", bound="TreeState")


@dataclass(kw_only=True)
class TreeState(ABC):
    """The tree, its sticks and, in pieces, what belongs to documents.

    local: states with chances, float64 [n_docs, n_nodes], q of slots under mean field; without
    columns in the structured family, where the other parameters say what it is. parent: int32
    [n_nodes], nodes in the order of ``slots``. stick_a, stick_b: float64 [n_nodes]. structured:
    whether what a document has at each level depends on its path in q.
    """

    local: Pieces[Any, Any]
    parent: NDArray[np.int32]
    stick_a: NDArray[np.float64]
    stick_b: NDArray[np.float64]
    structured: bool

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the truncated tree."""
        return len(self.parent)

    @property
    def chances(self) -> NDArray[np.float64]:
        """The chances of all documents; of a single piece not a copy."""
        return joined(self.local, "chances")

    @property
    @abstractmethod
    def nodes(self) -> Nodes:
        """The tree's shape."""

    @property
    def sticks(self) -> Sticks:
        """The tree's sticks."""
        return Sticks(self.stick_a, self.stick_b)


def with_structure(arrays: dict[str, NDArray[Any]], settings: Settings) -> dict[str, NDArray[Any]]:
    """Return the arrays of a saved state with ``structured``, which was told by its chances."""
    if "chances" not in arrays:
        return arrays
    return {**arrays, "structured": np.asarray(arrays["chances"].shape[1] == 0)}


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
    return len(state.chances)


def _replaced(piece: Any, state: Any, arrays: dict[str, NDArray[Any]]) -> tuple[Any, None]:
    return state._replace(**arrays), None


def columns_taken(local: Pieces[Any, Any], order: NDArray[np.int64]) -> Pieces[Any, Any]:
    """Return pieces of their own, the columns of their chances in another order."""
    found = local.copy()
    found.step(_columns_taken, order)
    return found


def _columns_taken(piece: Any, state: Any, order: NDArray[np.int64]) -> tuple[Any, None]:
    return state._replace(chances=np.ascontiguousarray(state.chances[:, order])), None


def heavier_first(
    state: State, slot_mass: NDArray[np.float64], gamma: float
) -> tuple[State, NDArray[np.int64]] | None:
    """Return the state with heavier siblings first, and the old ids of its nodes.

    None where they are in order, or where that would lower the bound. slot_mass: float64
    [n_nodes], documents in each slot, to which the sticks are refitted; E_v + E_c is then a sum of
    log Beta functions. What else the state has by node is left to be put in order.
    """
    nodes = state.nodes
    order = in_order(state.parent, -subtree_sums(nodes, slot_mass))
    if (order == np.arange(len(order))).all():
        return None
    parent = renumbered(state.parent, order)
    sticks = fit_sticks(nodes_of(parent, nodes.depth), slot_mass[order], gamma)
    if betaln(*sticks).sum() < betaln(*fit_sticks(nodes, slot_mass, gamma)).sum():
        return None
    local = state.local if state.structured else columns_taken(state.local, order)
    state = replace(state, local=local, parent=parent, stick_a=sticks.a, stick_b=sticks.b)
    return state, order
