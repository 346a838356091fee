"""The first state of a chain: a tree made by putting data into it (theory/tssb 4.7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb import start_kernels
from hiertopics.families.tssb import stick_kernels as kernels
from hiertopics.families.tssb.layout import NONE, Nodes, Process, make_nodes, room, with_room
from hiertopics.families.tssb.trees import GROWTH, cull, reordered


def plant(
    features: NDArray[np.number],
    root: NDArray[np.floating],
    offset: float,
    how: str,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> tuple[Nodes, NDArray[np.int32]]:
    """Return a tree at rest, its sticks drawn, and the node of each datum int32 [n].

    root, offset: the root's parameters. how: insertion, root or prior, as the config says.
    """
    if how == "prior":
        nodes, home = seated(len(features), root, offset, process, law, rng)
        kernels.draw_sticks(nodes, process, rng, False)
        nodes = reordered(nodes, home, process, rng)
    else:
        nodes, home = bare(root, offset), np.zeros(len(features), np.int32)
        if how == "insertion":
            order, done = rng.permutation(len(home)), 0
            while True:
                done = start_kernels.insert(features, order, done, home, nodes, process, law, rng)
                if done == len(home):
                    break
                nodes = with_room(nodes, GROWTH * len(nodes.parent))
        kernels.count(home, nodes)
        nodes = cull(nodes, home)
    kernels.draw_sticks(nodes, process, rng, True)
    return nodes, home


def seated(
    n_data: int,
    root: NDArray[np.floating],
    offset: float,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> tuple[Nodes, NDArray[np.int32]]:
    """Return a tree drawn from the prior, sticks integrated out, and the node of each datum.

    All nodes have data at or below them; they stand in pre-order. The node of each: int32 [n_data].
    """
    nodes, home, done = bare(root, offset), np.zeros(n_data, np.int32), 0
    while True:
        done = start_kernels.seat(home, done, nodes, process, law, rng)
        if done == n_data:
            return cull(nodes, home), home
        nodes = with_room(nodes, GROWTH * len(nodes.parent))


def bare(root: NDArray[np.floating], offset: float) -> Nodes:
    """Return a tree of a root alone, without data."""
    nodes = make_nodes(room(1), len(root), root.dtype.type)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    nodes.value[0], nodes.offset[0] = root, offset
    return nodes
