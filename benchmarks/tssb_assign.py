"""One pass of assignments over rows of bits, beside the matrix product of rows and nodes.

The product ``X @ theta.T`` in single precision is what it takes to know the likelihood of every
row at every node; a pass asks for those it looks at, and does all else a pass does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from statistics import median

import click
import numpy as np
from scipy.special import expit

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.machine import pinned
from benchmarks.records import Record
from benchmarks.table import Table, sweep_milliseconds
from benchmarks.timing import Timed, alternate, paired
from hiertopics.base.arrays import I32
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.families.tssb import binary, binary_kernels, trees
from hiertopics.families.tssb.layout import NONE, Process, make_nodes, room
from hiertopics.families.tssb.state import State
from hiertopics.families.tssb.stick_kernels import count, draw_sticks
from hiertopics.runs.experiment import read_experiment

PROCESS = Process(alpha0=20.0, decay=0.5, gamma=3.0, max_depth=64)
VARIANCE = 0.5
BURN_IN = 5
PRODUCT = "float32 X @ theta.T"
TABLE = Table(
    ("rows", "columns", "system"),
    {
        "rows x bits": "{rows:,} x {columns}",
        "nodes": "{nodes}",
        "system": "{system}",
        "ms": sweep_milliseconds,
        "rows/s": "{rows_per_second:,.0f}",
        "time against the product": "{time_ratio:.2f}x",
    },
)


@benchmark("tssb-assign", TABLE)
@options.rounds
@click.option("--rows", default=50_000, show_default=True)
@click.option("--columns", default=256, show_default=True, help="Bits per row.")
@click.option("--nodes", default=200, show_default=True)
def measure(rounds: int, rows: int, columns: int, nodes: int) -> Iterator[Record]:
    """Time of one pass of rows of bits through a tree beside a matrix product, in turn."""
    with pinned(), Workers() as pool:
        settings = _settings()
        data, state = _planted(rows, columns, nodes)
        for iteration in range(1, BURN_IN + 1):
            state, _ = binary.one.step(state, data, settings, Context(0, iteration, pool))
        chain = copy.deepcopy(state)
        systems = {
            "pass, likelihoods when asked for": Timed(_Pass(chain, data, settings, False), 3),
            "pass, likelihoods by a product": Timed(_Pass(chain, data, settings, True), 1),
            "whole iteration": Timed(_Iteration(state, data, settings, pool), 1),
            PRODUCT: Timed(_Product(chain, data), 3),
        }
        for system in systems.values():
            system.system.sweep()
        timed = alternate(systems, rounds)
    for name, seconds in timed.seconds.items():
        yield {
            "rows": rows,
            "columns": columns,
            "nodes": int((chain.nodes.n_sub > 0).sum()),
            "system": name,
            **timed.about,
            "seconds_per_sweep": seconds,
            "rows_per_second": rows / median(seconds),
            "time_ratio": paired(seconds, timed.seconds[PRODUCT]),
        }


class _Pass:
    """Passes of assignments, each from the same state."""

    def __init__(self, chain: State, data: binary.Data, settings: Settings, tabled: bool) -> None:
        """Keep the state."""
        self._chain, self._data, self._tabled = chain, data, tabled
        self._law = binary.law(chain.law, settings.model)

    def sweep(self, n_sweeps: int = 1) -> None:
        """Move every row ``n_sweeps`` times."""
        for _ in range(n_sweeps):
            node, nodes, process = self._chain.node.copy(), self._chain.nodes, self._chain.process
            rng = np.random.default_rng(0)
            trees.assign(self._data.rows, node, nodes, process, self._law, rng, tabled=self._tabled)


class _Iteration:
    """Whole iterations: assignments, parameters, sticks, order and process."""

    def __init__(self, state: State, data: binary.Data, settings: Settings, pool: Workers) -> None:
        """Keep the state."""
        self._state, self._data, self._settings, self._pool = state, data, settings, pool
        self._iteration = BURN_IN

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` iterations."""
        for _ in range(n_sweeps):
            self._iteration += 1
            context = Context(0, self._iteration, self._pool)
            self._state, _ = binary.one.step(self._state, self._data, self._settings, context)


class _Product:
    """The product of all rows and all nodes, in single precision."""

    def __init__(self, chain: State, data: binary.Data) -> None:
        """Lay both factors out."""
        self._rows = data.rows.astype(np.float32)
        self._nodes = chain.nodes.value[: chain.nodes.size[0]].astype(np.float32)

    def sweep(self, n_sweeps: int = 1) -> None:
        """Multiply ``n_sweeps`` times."""
        for _ in range(n_sweeps):
            self._rows @ self._nodes.T


def _settings() -> Settings:
    overrides = ("model.likelihood=binary", "inference.settle_every=0")
    experiment = read_experiment({"backend": "tssb-mcmc"}, None, overrides)
    return Settings(experiment.model, experiment.inference)


def _planted(n_rows: int, n_columns: int, n_nodes: int) -> tuple[binary.Data, State]:
    """Return rows drawn from a random tree of some nodes, and the state that knows it."""
    rng = np.random.default_rng(0)
    parent = _random_tree(n_nodes, rng)
    nodes = make_nodes(room(n_nodes), n_columns, np.float32)
    nodes.size[0], nodes.known[:n_nodes] = n_nodes, True
    nodes.parent[:n_nodes] = parent
    noise = np.sqrt(VARIANCE) * rng.standard_normal((n_nodes, n_columns))
    for node in range(n_nodes):
        above = parent[node]
        nodes.depth[node] = 0 if above == NONE else nodes.depth[above] + 1
        start = np.zeros(n_columns) if above == NONE else nodes.value[above]
        nodes.value[node] = binary.on_grid(start + noise[node])
        nodes.offset[node] = binary_kernels.offset_of(nodes.value[node])
    shares = rng.dirichlet(np.full(n_nodes, 0.7))
    home = rng.choice(n_nodes, n_rows, p=shares).astype(np.int32)
    chance = expit(nodes.value[:n_nodes]).astype(np.float32)
    rows = np.empty((n_rows, n_columns), np.uint8)
    for row in range(n_rows):
        rows[row] = rng.random(n_columns, np.float32) < chance[home[row]]
    count(home, nodes)
    draw_sticks(nodes, PROCESS, rng, True)
    law = np.append(np.full(n_columns, VARIANCE), binary.FIRST_STEP)
    return binary.Data(rows), State(home, nodes, PROCESS, law)


def _random_tree(n_nodes: int, rng: np.random.Generator) -> I32:
    """Return the parents of a tree in pre-order, most nodes near the root."""
    above = [NONE] + [int(rng.integers(0, min(node, n_nodes // 3))) for node in range(1, n_nodes)]
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in range(1, n_nodes):
        children[above[node]].append(node)
    order: list[int] = []
    number, waiting = [0] * n_nodes, [0]
    while waiting:
        node = waiting.pop()
        number[node] = len(order)
        order.append(node)
        waiting += children[node][::-1]
    return np.array([NONE] + [number[above[node]] for node in order[1:]], np.int32)
