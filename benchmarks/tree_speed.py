"""Iterations of topic trees beside those of tomotopy's HLDAModel, timed in turn."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import OurBackend, our_tree
from benchmarks.records import Record
from benchmarks.table import Table, sweep_milliseconds
from benchmarks.timing import Timed, alternate, paired
from benchmarks.tomotopy_tree import PEER, TomotopyTree
from benchmarks.tree_scorer import Prior

BURN_IN = 60
SWEEPS = 5
TABLE = Table(
    ("corpus", "split", "system"),
    {
        "corpus": "{corpus}",
        "system": "{system}",
        "nodes": "{nodes}",
        "ms per sweep": sweep_milliseconds,
        "tokens/s": "{tokens_per_second:,.0f}",
        f"time against {PEER}": "{time_ratio:.2f}x",
    },
)


@benchmark("tree-speed", TABLE)
@options.source("kos")
@options.rounds
@options.backends("hlda-gibbs-plain", "hlda-gibbs", "hlda-variational")
@options.gamma
@options.eta
def measure(
    source: Source, rounds: int, backend: tuple[str, ...], gamma: float, eta: float
) -> Iterator[Record]:
    """Time of one iteration on a tree of depth 3 beside tomotopy's, in turn."""
    corpus, _ = source.load()
    prior = Prior(gamma, eta)
    with pinned():
        systems: dict[str, OurBackend | TomotopyTree] = {
            name: our_tree(name, corpus, prior) for name in backend
        }
        systems[PEER] = TomotopyTree(corpus.counts, 0, prior)
        for system in systems.values():
            system.sweep(BURN_IN)
        timed = alternate({name: Timed(one, SWEEPS) for name, one in systems.items()}, rounds)
    for name, seconds in timed.seconds.items():
        yield {
            **source.about,
            "system": name,
            "nodes": systems[name].live_topics(),
            **timed.about,
            "seconds_per_sweep": seconds,
            "tokens_per_second": corpus.n_tokens / median(seconds),
            "time_ratio": paired(seconds, timed.seconds[PEER]),
        }
