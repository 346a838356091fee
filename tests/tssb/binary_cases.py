"""The binary sampler over tiny tables as one compiled loop, and plain twins of its kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb import binary_kernels, diffusion_kernels, stick_kernels, urn_kernels
from hiertopics.families.tssb.assign_kernels import assign
from hiertopics.families.tssb.binary_kernels import Diffusion
from hiertopics.families.tssb.diffusion_kernels import Family
from hiertopics.families.tssb.find_kernels import find, lay_out, reveal
from hiertopics.families.tssb.layout import (
    NONE,
    Nodes,
    Places,
    Process,
    make_nodes,
    make_places,
)

CAPACITY = 256
N_ROWS, N_COLUMNS = 3, 2
PROCESS = Process(1.5, 0.6, 1.2, 3)
VARIANCE = (0.3, 3.0)
PERSISTENCE = 0.9
STATISTICS = (
    "variance",
    "variance^2",
    "theta_root",
    "theta_root^2",
    "theta_1^2",
    "theta_1 theta_root",
    "1 and 2 at one node",
    "depth of 1",
    "x_11 = x_21",
    "x_11 = x_21 at one node",
    "x_11 theta_1",
    "nodes in use",
)
NO_MISTAKE, ROWS_TWICE, WIDE_BIRTHS, NO_CHILDREN, NO_OFFSET = range(5)


class Table(NamedTuple):
    """Rows, their nodes and the tree."""

    x: NDArray[np.uint8]
    home: NDArray[np.int32]
    nodes: Nodes
    places: Places


def empty_table() -> Table:
    nodes = make_nodes(CAPACITY, N_COLUMNS, np.float32)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    x = np.zeros((N_ROWS, N_COLUMNS), np.uint8)
    return Table(x, np.zeros(N_ROWS, np.int32), nodes, make_places(CAPACITY))


@numba.njit
def draw_rows(table: Table, rng: Any) -> None:
    """Draw all rows given their nodes."""
    for row in range(N_ROWS):
        for column in range(N_COLUMNS):
            theta = table.nodes.value[table.home[row], column]
            table.x[row, column] = rng.random() < 1.0 / (1.0 + math.exp(-theta))


@numba.njit
def draw_all(table: Table, variance: Any, rng: Any) -> None:
    """Draw variances, tree and rows from the model."""
    nodes = table.nodes
    for column in range(N_COLUMNS):
        variance[column] = VARIANCE[0] + (VARIANCE[1] - VARIANCE[0]) * rng.random()
        nodes.value[0, column] = math.sqrt(variance[column]) * rng.standard_normal()
    nodes.offset[0] = binary_kernels.offset_of(nodes.value[0])
    nodes.size[0] = 1
    nodes.n_at[0] = nodes.n_sub[0] = 0
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    lay_out(nodes, table.places)
    law = Diffusion(PERSISTENCE, np.sqrt(variance))
    for row in range(N_ROWS):
        node = find(rng.random(), 1, nodes, table.places, PROCESS, rng)
        assert node >= 0
        reveal(node, nodes, law, rng)
        table.home[row] = node
    draw_rows(table, rng)
    stick_kernels.count(table.home, nodes)


@numba.njit
def family_at(table: Table, variance: Any, mistake: int) -> Any:
    """Return the used nodes' ids and their family."""
    nodes = table.nodes
    place, used = np.full(nodes.size[0], -1, np.int32), np.empty(nodes.size[0], np.int64)
    n = 0
    for node in range(nodes.size[0]):
        if node == 0 or nodes.n_sub[node] > 0:
            place[node], used[n] = n, node
            n += 1
    up, n_at, sums = np.full(n, -1, np.int32), np.zeros(n), np.zeros((n, N_COLUMNS))
    for node in range(1, n):
        up[node] = place[nodes.parent[used[node]]]
    for row in range(N_ROWS):
        times = 2 if mistake == ROWS_TWICE else 1
        n_at[place[table.home[row]]] += times
        sums[place[table.home[row]]] += table.x[row] * times
    keep = 0.0 if mistake == NO_CHILDREN else PERSISTENCE
    return used[:n], Family(up, n_at, sums, keep, 1.0 / variance, 1.0 / variance)


@numba.njit
def sweep(table: Table, variance: Any, number: int, mistake: int, rng: Any) -> Nodes:
    """Do an iteration; every third one takes slices, every other one the urn."""
    x, home, nodes, places = table
    law = Diffusion(PERSISTENCE, np.sqrt(variance) * (2.0 if mistake == WIDE_BIRTHS else 1.0))
    lay_out(nodes, places)
    pending, lazy = np.full(4, np.nan), np.empty((N_ROWS, 0))
    done = assign(x, lazy, home, 0, pending, nodes.size[0], nodes, places, PROCESS, law, rng)
    assert done == N_ROWS
    stick_kernels.count(home, nodes)
    begin, children = stick_kernels.hull(nodes)
    nodes = stick_kernels.repack(nodes, home, begin, children, CAPACITY)
    if number % 2 == 0:
        urn_kernels.resettle(x, home, nodes, PROCESS, law, rng)
        begin, children = stick_kernels.partition(nodes)
        nodes = stick_kernels.repack(nodes, home, begin, children, CAPACITY)
        stick_kernels.draw_sticks(nodes, PROCESS, rng, False)
        begin, children = stick_kernels.reorder(nodes, PROCESS, rng)
        nodes = stick_kernels.repack(nodes, home, begin, children, CAPACITY)
    used, family = family_at(Table(x, home, nodes, places), variance, mistake)
    theta = np.empty((len(used), N_COLUMNS))
    for place in range(len(used)):
        theta[place] = nodes.value[used[place]]
    if number % 3 == 0:
        diffusion_kernels.slice_sweep(theta, family, rng)
    else:
        diffusion_kernels.hamiltonian_step(theta, family, 0.3, 8, rng)
    squares = binary_kernels.squared_steps(theta, family.up, PERSISTENCE)
    squares += theta[0] ** 2
    binary_kernels.draw_variances(variance, squares, len(theta), VARIANCE[0], VARIANCE[1], rng)
    for place in range(len(used)):
        nodes.value[used[place]] = theta[place]
        if mistake != NO_OFFSET:
            nodes.offset[used[place]] = binary_kernels.offset_of(nodes.value[used[place]])
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    begin, children = stick_kernels.reorder(nodes, PROCESS, rng)
    nodes = stick_kernels.repack(nodes, home, begin, children, CAPACITY)
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    return nodes


@numba.njit
def measure(table: Table, variance: Any, out: Any) -> None:
    x, home, nodes = table.x, table.home, table.nodes
    root, first = nodes.value[0, 0], nodes.value[home[0], 0]
    out[0], out[1] = variance[0], variance[0] ** 2
    out[2], out[3], out[4], out[5] = root, root * root, first * first, first * root
    out[6], out[7] = home[0] == home[1], nodes.depth[home[0]]
    out[8] = x[0, 0] == x[1, 0]
    out[9], out[10] = out[8] * out[6], x[0, 0] * first
    out[11] = len(set(home))


@numba.njit
def forwards(table: Table, n_draws: int, rng: Any) -> NDArray[np.float64]:
    found, variance = np.empty((n_draws, 12)), np.empty(N_COLUMNS)
    for place in range(n_draws):
        draw_all(table, variance, rng)
        measure(table, variance, found[place])
    return found


@numba.njit
def chained(table: Table, n_sweeps: int, mistake: int, rng: Any) -> NDArray[np.float64]:
    found, variance = np.empty((n_sweeps, 12)), np.empty(N_COLUMNS)
    draw_all(table, variance, rng)
    nodes = table.nodes
    for place in range(n_sweeps):
        now = Table(table.x, table.home, nodes, table.places)
        nodes = sweep(now, variance, place, mistake, rng)
        now = Table(table.x, table.home, nodes, table.places)
        draw_rows(now, rng)
        measure(now, variance, found[place])
    return found


def log_joint(theta: NDArray[np.float64], family: Family) -> NDArray[np.float64]:
    """Return the log density of parameters and rows, column by column, as the spec writes it."""
    total = np.zeros(theta.shape[1])
    for node, up in enumerate(family.up):
        centre = 0.0 if up < 0 else family.persistence * theta[up]
        precision = family.root_precision if up < 0 else family.precision
        total += -0.5 * precision * (theta[node] - centre) ** 2
        total += family.sums[node] * theta[node]
        total -= family.n_at[node] * np.log1p(np.exp(theta[node]))
    return total


def some_family(n_columns: int = 3, persistence: float = 0.9, n_at: object = None) -> Family:
    """Return five nodes with rows at some of them."""
    rng = np.random.default_rng(4)
    up = np.array([-1, 0, 1, 1, 0], np.int32)
    counts = np.array([4.0, 0.0, 7.0, 1.0, 30.0]) if n_at is None else np.asarray(n_at)
    sums = np.floor(counts[:, None] * rng.random((5, n_columns)))
    variance = rng.uniform(0.2, 1.0, n_columns)
    return Family(up, counts, sums, persistence, 1.0 / variance, 1.0 / variance)
