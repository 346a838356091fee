"""The start of a chain's tree (theory/tssb 4.7) and its moves: passes, culling, order, sticks."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.base.arrays import I32, Floats, Numbers
from hiertopics.families.tssb import assign_kernels, stick_kernels as kernels, urn_kernels
from hiertopics.families.tssb.layout import (
    NONE,
    Process,
    StickNodes,
    make_nodes,
    make_places,
    places_with_room,
    room,
    with_room,
)

GROWTH = 2
BLOCK = 4096
"""Data whose log likelihoods are tabled at once."""


def plant(
    features: Numbers,
    root: Floats,
    offset: float,
    how: str,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> tuple[StickNodes, I32]:
    """Return a tree at rest, its sticks drawn, and the node of each datum int32 [n].

    root, offset: the root's parameters. how: sequential, root or prior, as the config says.
    """
    if how == "prior":
        nodes, home = seated(len(features), root, offset, process, law, rng)
        kernels.draw_sticks(nodes, process, rng, False)
        nodes = reordered(nodes, home, process, rng)
    else:
        nodes, home = bare(root, offset), np.zeros(len(features), np.int32)
        if how == "sequential":
            order, done = rng.permutation(len(home)), 0
            while True:
                done = urn_kernels.insert(features, order, done, home, nodes, process, law, rng)
                if done == len(home):
                    break
                nodes = with_room(nodes, GROWTH * len(nodes.parent))
        kernels.count(home, nodes)
        nodes = cull(nodes, home)
    kernels.draw_sticks(nodes, process, rng, True)
    return nodes, home


def seated(
    n_data: int, root: Floats, offset: float, process: Process, law: Any, rng: np.random.Generator
) -> tuple[StickNodes, I32]:
    """Return a tree drawn from the prior, sticks integrated out, and the node of each datum.

    All nodes have data at or below them; they stand in pre-order. The node of each: int32 [n_data].
    """
    nodes, home, done = bare(root, offset), np.zeros(n_data, np.int32), 0
    while True:
        done = urn_kernels.seat(home, done, nodes, process, law, rng)
        if done == n_data:
            return cull(nodes, home), home
        nodes = with_room(nodes, GROWTH * len(nodes.parent))


def bare(root: Floats, offset: float) -> StickNodes:
    """Return a tree of a root alone, without data; root: its parameters [P]."""
    nodes = make_nodes(room(1), len(root), root.dtype.type)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    nodes.value[0], nodes.offset[0] = root, offset
    return nodes


def assign(
    features: Numbers,
    home: I32,
    nodes: StickNodes,
    process: Process,
    law: Any,
    rng: np.random.Generator,
    *,
    tabled: bool = False,
) -> tuple[StickNodes, int]:
    """Redraw ``home`` [n] in place; return the tree with those born, culled, and how many moved.

    tabled: work out all log likelihoods by one matrix product per block of data, instead of those
    that are asked for; the draws are the same.
    """
    n_rest, before = int(nodes.size[0]), home.copy()
    nodes = with_room(nodes, room(GROWTH * n_rest))
    places = make_places(len(nodes.parent))
    assign_kernels.lay_out(nodes, places)
    at_rest = nodes.known[:n_rest].copy()
    pending = np.full(4, np.nan)
    size = BLOCK if tabled else max(len(home), 1)
    for block in range(0, len(home), size):
        rows, homes = features[block : block + size], home[block : block + size]
        table = np.empty((len(rows), 0))
        if tabled:
            fits = rows.astype(nodes.value.dtype) @ nodes.value[:n_rest].T
            table = fits + nodes.offset[:n_rest]
            table[:, ~at_rest] = np.nan
        done = 0
        while True:
            done = assign_kernels.assign(
                rows, table, homes, done, pending, n_rest, nodes, places, process, law, rng
            )
            if done == len(homes):
                break
            capacity = GROWTH * len(nodes.parent)
            nodes = with_room(nodes, capacity)
            places = places_with_room(places, capacity)
    moved = int((home != before).sum())
    kernels.count(home, nodes)
    return cull(nodes, home), moved


def resettle(
    features: Numbers,
    home: I32,
    nodes: StickNodes,
    process: Process,
    law: Any,
    rng: np.random.Generator,
) -> tuple[StickNodes, int]:
    """Redraw ``home`` [n] in place by the urn; return the tree, and how many data moved.

    Sticks and positions of children are drawn anew given who sits with whom.
    """
    nodes = with_room(nodes, room(int(nodes.size[0]) + len(home)))
    moved = urn_kernels.resettle(features, home, nodes, process, law, rng)
    begin, children = kernels.partition(nodes)
    nodes = kernels.repack(nodes, home, begin, children, room(1 + len(children)))
    kernels.draw_sticks(nodes, process, rng, False)
    nodes = reordered(nodes, home, process, rng)
    kernels.draw_sticks(nodes, process, rng, True)
    return nodes, moved


def cull(nodes: StickNodes, home: I32) -> StickNodes:
    """Return the counted tree without nodes outside the hull of the data, packed anew.

    home: int32 [n_docs], the node of each datum; it follows.
    """
    begin, children = kernels.hull(nodes)
    return kernels.repack(nodes, home, begin, children, room(1 + len(children)))


def reordered(
    nodes: StickNodes, home: I32, process: Process, rng: np.random.Generator
) -> StickNodes:
    """Return the tree with its children in a new order; its psi sticks must be drawn next.

    home: int32 [n_docs], the node of each datum; it follows.
    """
    begin, children = kernels.reorder(nodes, process, rng)
    return kernels.repack(nodes, home, begin, children, room(1 + len(children)))
