"""Kernels of the tree over tiny trees, as one compiled loop, with mistakes on request.

They are held to enumerations here, kernel by kernel; what ``step`` makes of them is the matter of
the joint tests (``tssb_geweke``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

from hiertopics.base.arrays import F64, I32
from hiertopics.families.tssb import stick_kernels
from hiertopics.families.tssb.assign_kernels import (
    assign as cached_assign,
    lay_out,
    log_gamma_draw,
    log_sum,
)
from hiertopics.families.tssb.layout import (
    BEAR,
    NONE,
    Process,
    StickNodes,
    StickPlaces,
    make_nodes,
    make_places,
)

assign = numba.njit(cached_assign.py_func)  # type: ignore[attr-defined]
"""Compiled afresh: a cache must not know the law below, which no other program can import."""

CAPACITY = 512
PRIOR = Process(1.5, 0.4, 1.2, 4)
FEATURES = (
    "depth of 1",
    "1 at root",
    "1 and 2 at one node",
    "1 and 3 at one node",
    "1 and 2 in one branch",
    "1 and 3 in one branch",
    "all apart",
    "greatest depth",
)
NO_MISTAKE, LITERAL_PSI, REDRAWN_U, NO_REMAINDER, NO_REORDER = range(5)


class TwoStates(NamedTuple):
    """A node's parameter is one of two states; a child keeps its parent's with chance ``stay``.

    A datum 0 or 1 has features (x, 1 - x); a node's value is (log p, log(1 - p)).
    """

    stay: float


P_ONE = (0.2, 0.9)
STATES = np.log([[p, 1.0 - p] for p in P_ONE])


def bear_two_states(law: Any, parent: Any, value: Any, rng: Any) -> float:
    state = 1 if parent[0] > math.log(0.5) else 0
    if rng.random() >= law.stay:
        state = 1 - state
    value[0], value[1] = STATES[state, 0], STATES[state, 1]
    return 0.0


BEAR[TwoStates] = bear_two_states


class Chain(NamedTuple):
    """What the drivers move."""

    home: I32
    nodes: StickNodes
    places: StickPlaces


def at_root(n_data: int, capacity: int = CAPACITY, state: int = 0) -> Chain:
    """Return a chain whose data sit at a root in a state."""
    nodes = make_nodes(capacity, 2)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    nodes.n_at[0] = nodes.n_sub[0] = n_data
    nodes.value[0] = STATES[state]
    return Chain(np.zeros(n_data, np.int32), nodes, make_places(capacity))


@numba.njit
def draw_states(features: Any, home: Any, nodes: StickNodes, law: TwoStates, rng: Any) -> None:
    """Redraw the state of each node with data at or below it given its neighbours and data."""
    for node in range(nodes.size[0]):
        if nodes.n_sub[node] == 0:
            continue
        chance = np.zeros(2)
        for state in range(2):
            log_chance = 0.0
            for datum in range(len(home)):
                if home[datum] == node:
                    log_chance += (features[datum] * STATES[state]).sum()
            for other in range(nodes.size[0]):
                linked = nodes.parent[other] == node and nodes.n_sub[other] > 0
                if linked or (node > 0 and nodes.parent[node] == other):
                    same = (nodes.value[other, 0] > math.log(0.5)) == (state == 1)
                    log_chance += math.log(law.stay if same else 1.0 - law.stay)
            chance[state] = math.exp(log_chance)
        state = 1 if rng.random() * chance.sum() < chance[1] else 0
        nodes.value[node] = STATES[state]


@numba.njit
def literal_sticks(nodes: StickNodes, process: Process, rng: Any) -> None:
    """Draw sticks, psi by the printed rule: data at the child itself do not count."""
    stick_kernels.draw_sticks(nodes, process, rng, True)
    later = np.zeros(nodes.size[0])
    for node in range(nodes.size[0] - 1, 0, -1):
        parent, below = nodes.parent[node], nodes.n_sub[node] - nodes.n_at[node]
        x = log_gamma_draw(below + 1.0, rng)
        y = log_gamma_draw(process.gamma + later[parent], rng)
        total = log_sum(x, y)
        nodes.log_psi[node], nodes.log_psi_rest[node] = x - total, y - total
        later[parent] += below


@numba.njit
def right_sticks(nodes: StickNodes, process: Process, rng: Any) -> None:
    """Draw sticks as they are."""
    stick_kernels.draw_sticks(nodes, process, rng, True)


@numba.njit
def right_order(nodes: StickNodes, process: Process, rng: Any) -> Any:
    """Reorder children as it is done."""
    return stick_kernels.reorder(nodes, process, rng)


@numba.njit
def order_without_rest(nodes: StickNodes, process: Process, rng: Any) -> Any:
    """Reorder children without the rest."""
    return wrong_order(nodes, process, NO_REMAINDER, rng)


@numba.njit
def order_by_new_points(nodes: StickNodes, process: Process, rng: Any) -> Any:
    """Reorder children with a new point after each new stick."""
    return wrong_order(nodes, process, REDRAWN_U, rng)


def ways(mistake: int) -> tuple[Any, Any]:
    """Return how sticks are drawn and children reordered. Numba compiles these ways alone."""
    orders = {
        NO_REORDER: None,
        NO_REMAINDER: order_without_rest,
        REDRAWN_U: order_by_new_points,
    }
    sticks = literal_sticks if mistake == LITERAL_PSI else right_sticks
    return sticks, orders.get(mistake, right_order)


@numba.njit
def wrong_order(nodes: StickNodes, process: Process, mistake: int, rng: Any) -> Any:
    """Reorder children without the rest, or with a new point after each new stick."""
    begin, children = stick_kernels.list_children(nodes)
    picked_begin, picked = np.zeros(len(begin), np.int64), np.empty(CAPACITY, np.int32)
    size = 0
    for node in range(nodes.size[0]):
        part, share = np.empty(CAPACITY, np.int32), np.zeros(CAPACITY)
        n_parts, wanted, rest = 0, 0, 1.0
        for place in range(begin[node], begin[node + 1]):
            child = children[place]
            part[n_parts], share[n_parts] = child, rest * math.exp(nodes.log_psi[child])
            rest *= math.exp(nodes.log_psi_rest[child])
            wanted += nodes.n_sub[child] > 0
            n_parts += 1
        while wanted > 0:
            chosen = n_parts
            while chosen == n_parts:
                outside = 0.0 if mistake == NO_REMAINDER else rest
                u = rng.random() * (share[:n_parts].sum() + outside)
                chosen = 0
                while chosen < n_parts and u >= share[chosen]:
                    u -= share[chosen]
                    chosen += 1
                if chosen == n_parts:
                    left = math.exp(-rng.standard_exponential() / process.gamma)
                    part[n_parts], share[n_parts] = NONE, rest * (1.0 - left)
                    rest *= left
                    n_parts += 1
                    chosen = n_parts
            picked[size] = part[chosen]
            size += 1
            wanted -= part[chosen] != NONE and nodes.n_sub[part[chosen]] > 0
            n_parts -= 1
            for place in range(chosen, n_parts):
                part[place], share[place] = part[place + 1], share[place + 1]
        picked_begin[node + 1] = size
    return picked_begin, picked[:size]


@numba.njit
def features_of(home: Any, nodes: StickNodes, out: Any) -> None:
    """Fill ``out`` with the statistics named by FEATURES."""
    top = np.zeros(3, np.int64)
    deepest = 0
    for datum in range(3):
        node = home[datum]
        deepest = max(deepest, nodes.depth[node])
        while nodes.depth[node] > 1:
            node = nodes.parent[node]
        top[datum] = node
    out[0], out[1] = nodes.depth[home[0]], home[0] == 0
    out[2], out[3] = home[0] == home[1], home[0] == home[2]
    out[4] = top[0] == top[1] and top[0] != 0
    out[5] = top[0] == top[2] and top[0] != 0
    out[6] = home[0] != home[1] and home[0] != home[2] and home[1] != home[2]
    out[7] = deepest


@numba.njit
def sweep(
    features: Any, chain: Chain, process: Process, law: Any, sticks: Any, order: Any, rng: Any
) -> StickNodes:
    """Do an iteration but for the process: assignments, cull, states, sticks, order, sticks.

    sticks, order: see ``ways``; without an order the children stay as they are.
    """
    home, nodes, places = chain
    lay_out(nodes, places)
    pending, table = np.full(4, np.nan), np.empty((len(home), 0))
    n_rest = nodes.size[0]
    done = assign(features, table, home, 0, pending, n_rest, nodes, places, process, law, rng)
    assert done == len(home)
    stick_kernels.count(home, nodes)
    begin, children = stick_kernels.hull(nodes)
    nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
    draw_states(features, home, nodes, law, rng)
    sticks(nodes, process, rng)
    if order is None:
        return nodes
    begin, children = order(nodes, process, rng)
    nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
    sticks(nodes, process, rng)
    return nodes


@numba.njit
def run(
    features: Any,
    chain: Chain,
    process: Process,
    law: Any,
    n_sweeps: int,
    sticks: Any,
    order: Any,
    rng: Any,
) -> F64:
    """Return the statistics after each sweep, [n_sweeps, 8]."""
    found = np.empty((n_sweeps, 8))
    home, nodes, places = chain
    stick_kernels.draw_sticks(nodes, process, rng, True)
    for place in range(n_sweeps):
        nodes = sweep(features, Chain(home, nodes, places), process, law, sticks, order, rng)
        features_of(home, nodes, found[place])
    return found


def z_scores(found: F64, expected: F64, n_batches: int = 200) -> F64:
    """Return by how many standard errors (batch means) column means are off."""
    usable = len(found) // n_batches * n_batches
    batches = found[:usable].reshape(n_batches, -1, found.shape[1]).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(n_batches)
    return np.asarray((batches.mean(axis=0) - expected) / np.where(error > 0, error, np.inf))


State = tuple[tuple[int, ...], ...]


def urn(n_data: int, process: Process) -> Iterator[tuple[float, State]]:
    """Yield every way to seat data by the urn of theory/tssb 1.2, with its chance.

    A seat is a tuple of child numbers, children numbered as they are met.
    """

    def seats(seated: State) -> Iterator[tuple[float, tuple[int, ...]]]:
        def go(node: tuple[int, ...], chance: float) -> Iterator[tuple[float, tuple[int, ...]]]:
            at = sum(seat == node for seat in seated)
            below = [seat for seat in seated if seat[: len(node)] == node and seat != node]
            stay = 1.0
            if len(node) < process.max_depth:
                alpha = process.alpha0 * process.decay ** len(node)
                stay = (at + 1) / (at + len(below) + alpha + 1)
            yield chance * stay, node
            if stay == 1.0:
                return
            branches = sorted({seat[len(node)] for seat in below})
            for child in [*branches, len(branches)]:
                size = sum(seat[len(node)] == child for seat in below)
                share = (size or process.gamma) / (len(below) + process.gamma)
                yield from go((*node, child), chance * (1 - stay) * share)

        yield from go((), 1.0)

    states: list[tuple[float, State]] = [(1.0, ())]
    for _ in range(n_data):
        states = [
            (chance * more, (*seated, seat))
            for chance, seated in states
            for more, seat in seats(seated)
        ]
    yield from states


def seats(parent: I32, home: I32) -> State:
    """Return the path below the root of each datum."""

    def path(node: int) -> tuple[int, ...]:
        return () if node == 0 else (*path(int(parent[node])), node)

    return tuple(path(int(node)) for node in home)


def statistics(state: State) -> list[float]:
    """Return the statistics named by FEATURES of three seats."""
    first, second, third = state
    return [
        len(first),
        first == (),
        first == second,
        first == third,
        bool(first and second and first[0] == second[0]),
        bool(first and third and first[0] == third[0]),
        len(set(state)) == 3,
        max(map(len, state)),
    ]


def evidence(state: State, data: tuple[int, ...], stay: float) -> float:
    """Return the chance of binary data at their seats, states of all nodes summed out."""
    nodes = sorted({seat[:depth] for seat in state for depth in range(len(seat) + 1)})
    total = 0.0
    for states in itertools.product((0, 1), repeat=len(nodes)):
        own = dict(zip(nodes, states, strict=True))
        chance = 0.5
        for node in nodes[1:]:
            chance *= stay if own[node] == own[node[:-1]] else 1 - stay
        for seat, x in zip(state, data, strict=True):
            chance *= P_ONE[own[seat]] if x else 1 - P_ONE[own[seat]]
        total += chance
    return total
