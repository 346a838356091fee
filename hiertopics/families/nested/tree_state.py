"""What every variational state on a truncated tree has, and the order of its siblings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from hiertopics.families.nested.slots import (
    Nodes,
    Sticks,
    fit_sticks,
    in_order,
    nodes_of,
    renumbered,
    subtree_sums,
)

State = TypeVar("State", bound="TreeState")


@dataclass(kw_only=True)
class TreeState(ABC):
    """The tree, its sticks and, under mean field, where the documents are.

    parent: int32 [n_nodes], nodes in the order of ``slots``. stick_a, stick_b: float64 [n_nodes].
    chances: float64 [n_docs, n_nodes], q of slots, under mean field; without columns in the
    structured family, where the other parameters say what it is.
    """

    parent: NDArray[np.int32]
    stick_a: NDArray[np.float64]
    stick_b: NDArray[np.float64]
    chances: NDArray[np.float64]

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the truncated tree."""
        return len(self.parent)

    @property
    def structured(self) -> bool:
        """Tell whether what a document has at each level depends on its path in q."""
        return self.chances.shape[1] == 0

    @property
    @abstractmethod
    def nodes(self) -> Nodes:
        """The tree's shape."""

    @property
    def sticks(self) -> Sticks:
        """The tree's sticks."""
        return Sticks(self.stick_a, self.stick_b)


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
    chances = state.chances if state.structured else np.ascontiguousarray(state.chances[:, order])
    state = replace(state, parent=parent, stick_a=sticks.a, stick_b=sticks.b, chances=chances)
    return state, order
