"""The E-step of the variational tree in units of one sparse-dense product of the same shape.

The unit is scipy's product of the documents [n_docs, n_words] with a table [n_words, n_nodes],
both float32: what merely weighing all nodes linearly for all documents would cost. The E-step
makes its tables from the topics, weighs every path slot, refits levels and paths, and adds up
the expected words.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.records import Record
from benchmarks.splits import SHARES, part_of
from benchmarks.table import Table, milliseconds
from benchmarks.timing import Timed, alternate, paired
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.ncrp import clustering
from hiertopics.families.ncrp.config import HldaVariationalInference
from hiertopics.families.ncrp.variational import backend as variational, starts
from hiertopics.families.ncrp.variational.state import (
    LOCAL_ROUNDS,
    PassSums,
    State,
    local_pass,
    refit,
)

LEAVES_PER_BRANCH = 7
BURN_IN = 8
SWEEPS = 3
TABLE = Table(
    ("corpus", "split", "share", "size"),
    {
        "corpus": "{corpus}",
        "documents": "{share:g}",
        "nodes": "{nodes}",
        "E-step, ms": lambda record: milliseconds(record["seconds"]),
        "product, ms": lambda record: milliseconds(record["product_seconds"]),
        "E-step / product": "{ratio:.2f}x",
        "cost per pair and node, first size = 1": "{relative_cost:.2f}",
    },
)


class EStep:
    """Local passes over a tree of about ``n_nodes`` nodes; levels and paths move, topics do not."""

    def __init__(self, corpus: Corpus, n_nodes: int) -> None:
        """Start from clusters of documents and sweep until paths are settled."""
        self._settings = Settings(variational.Model(), HldaVariationalInference(moves="none"))
        self._context = Context(0, 0, Workers())
        self._data = variational.prepare(corpus, self._settings)
        rows, rng = clustering.weighted_rows(corpus.counts), self._context.rng("start")
        leaf = clustering.cluster(rows, n_nodes * LEAVES_PER_BRANCH // (LEAVES_PER_BRANCH + 1), rng)
        branch = np.column_stack([leaf // LEAVES_PER_BRANCH, leaf])
        tree = starts.from_paths(branch, self._data, self._settings)
        self._state = starts.state_of(State, tree, self._data, self._settings, self._context)
        for _ in range(BURN_IN):
            refit(self._state, self._pass())

    @property
    def n_nodes(self) -> int:
        """Nodes of the tree."""
        return self._state.n_nodes

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` E-steps."""
        for _ in range(n_sweeps):
            self._pass()

    def _pass(self) -> PassSums:
        return local_pass(self._state, LOCAL_ROUNDS)


class Product:
    """scipy's product of the documents with a dense table, float32."""

    def __init__(self, corpus: Corpus, n_nodes: int) -> None:
        """Allocate the table."""
        self._counts = corpus.counts.astype(np.float32)
        self._table = np.ones((corpus.n_words, n_nodes), dtype=np.float32)
        self.sweep()

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` products."""
        for _ in range(n_sweeps):
            self._counts @ self._table


@benchmark("estep", TABLE)
@options.source("kos")
@options.rounds
@click.option("--nodes", type=int, multiple=True, default=(384, 192, 768), show_default=True)
def measure(source: Source, rounds: int, nodes: tuple[int, ...]) -> Iterator[Record]:
    """The variational tree's E-step in units of one sparse-dense product; parts and sizes."""
    corpus, _ = source.load()
    parts = {share: part_of(corpus, share) for share in SHARES}
    sizes = [(share, nodes[0]) for share in SHARES] + [(1.0, size) for size in nodes[1:]]
    steps = {(share, size): EStep(parts[share], size) for share, size in sizes}
    with pinned():
        systems: dict[tuple[str, float, int], Timed] = {}
        for (share, size), step in steps.items():
            product = Product(parts[share], step.n_nodes)
            systems["step", share, size] = Timed(step, SWEEPS)
            systems["product", share, size] = Timed(product, SWEEPS)
        timed = alternate(systems, rounds)
    whole, whole_nodes = timed.seconds["step", 1.0, nodes[0]], steps[1.0, nodes[0]].n_nodes
    for (share, size), step in steps.items():
        seconds, product_seconds = (timed.seconds[of, share, size] for of in ("step", "product"))
        yield {
            **source.about,
            "share": share,
            "size": size,
            "nodes": step.n_nodes,
            **timed.about,
            "n_pairs": parts[share].n_pairs,
            "seconds": seconds,
            "product_seconds": product_seconds,
            "ratio": paired(seconds, product_seconds),
            "relative_cost": paired(seconds, whole)
            / (parts[share].n_pairs / corpus.n_pairs * step.n_nodes / whole_nodes),
        }
