"""The ways of hdp-gibbs to redraw tokens, side by side: tokens per second of whole iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import click

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import BURN_IN, OurBackend
from benchmarks.records import Record
from benchmarks.table import Columns, Table, sweep_milliseconds
from benchmarks.timing import Timed, alternate, paired
from hiertopics.data.corpus import Corpus
from hiertopics.families.hdp.gibbs import Inference
from hiertopics.families.hdp.gibbs import Model as Hdp
from hiertopics.model import Settings

WAYS: dict[str, dict[str, Any]] = {
    "dense": {"sweep": "dense"},
    "sparse": {"sweep": "sparse"},
    "partial": {"collapse": "partial", "start": "uniform"},
}
PER_ROUND = {"dense": 2, "sparse": 5, "partial": 5}
BASE = "dense"
KEYS = ("corpus", "split", "way", "truncation")
COLUMNS: Columns = {
    "corpus": "{corpus}",
    "way": "{way}",
    "T": "{truncation}",
    "topics": "{live_topics}",
    "ms per iteration": sweep_milliseconds,
    "tokens/s": "{tokens_per_second:,.0f}",
    "against dense": lambda record: f"{record['speed_ratio']:.2f}x",
}


def table(results: Sequence[Record]) -> str:
    """Return a row for each way and truncation."""
    return Table(KEYS, COLUMNS)(results)


@benchmark("sparse", table)
@options.source("nips")
@options.rounds
@click.option("--burn-in", default=BURN_IN, show_default=True, help="Iterations before.")
@options.truncations(500, 1000)
def measure(
    source: Source, rounds: int, burn_in: int, truncation: tuple[int, ...]
) -> Iterator[Record]:
    """Whole iterations of hdp-gibbs, tokens redrawn in three ways: one core, in turn.

    Topics integrated out, all of them weighed (dense) or those of a token's word (sparse); topics
    drawn (partial). The dense way runs at the first truncation alone. Processor time.
    """
    corpus, _ = source.load()
    ways = [(BASE, truncation[0])]
    ways += [(way, size) for size in truncation for way in WAYS if way != BASE]
    with pinned():
        systems = {way: _begun(corpus, *way, burn_in) for way in ways}
        timed = {way: Timed(systems[way], PER_ROUND[way[0]]) for way in ways}
        found = alternate(timed, rounds, clock="processor")
    for way in ways:
        seconds = found.seconds[way]
        yield {
            **source.about,
            **found.about,
            "way": way[0],
            "truncation": way[1],
            "burn_in": burn_in,
            "live_topics": systems[way].live_topics(),
            "n_tokens": corpus.n_tokens,
            "seconds_per_sweep": seconds,
            "tokens_per_second": corpus.n_tokens / median(seconds),
            "speed_ratio": paired(found.seconds[ways[0]], seconds),
        }


def _begun(corpus: Corpus, way: str, truncation: int, burn_in: int) -> OurBackend:
    """Return a way that is compiled, its concentrations learned, past its burn-in."""
    settings = Settings(Hdp(truncation=truncation), Inference(**WAYS[way]))
    system = OurBackend("hdp-gibbs", corpus, settings)
    system.sweep(burn_in)
    return system
