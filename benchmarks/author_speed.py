"""Processor time of a sweep at a quarter, a half and all of the documents, backends in turn.

Processor time, not wall time: other processes on the machine then cost caches only.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import click

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.ours import our_backend
from benchmarks.records import Record
from benchmarks.splits import SHARES, part_of
from benchmarks.table import Table
from benchmarks.timing import Timed, alternate

TABLE = Table(
    ("corpus", "split", "backend", "share", "truncation"),
    {
        "backend": "{backend}",
        "T": "{truncation}",
        "documents": "{share:g}",
        "tokens": "{n_tokens:,}",
        "ms per sweep": lambda record: f"{1000 * median(record['seconds_per_sweep']):.0f}",
        "million tokens/s": lambda record: f"{record['tokens_per_second'] / 1e6:.2f}",
    },
)


@benchmark("author-speed", TABLE)
@options.source("nips")
@options.backends("chdp-gibbs", "hdp-gibbs", "chdp-variational")
@click.option("--truncation", default=100, show_default=True)
@options.rounds
def measure(
    source: Source, backend: tuple[str, ...], truncation: int, rounds: int
) -> Iterator[Record]:
    """Processor time of a sweep at a quarter, a half and all of the documents."""
    corpus, _ = source.load()
    parts = {share: part_of(corpus, share) for share in SHARES}
    systems = {
        (name, share): Timed(our_backend(name, part, truncation), 1)
        for name in backend
        for share, part in parts.items()
    }
    timed = alternate(systems, rounds, clock="processor")
    for (name, share), seconds in timed.seconds.items():
        yield {
            **source.about,
            "backend": name,
            "share": share,
            "truncation": truncation,
            "n_tokens": parts[share].n_tokens,
            **timed.about,
            "seconds_per_sweep": seconds,
            "tokens_per_second": parts[share].n_tokens / median(seconds),
        }
