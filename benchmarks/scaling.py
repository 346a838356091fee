"""How the cost of a sweep grows with documents and topics, and what a second worker brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import click

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import PERIOD, SPEED_BACKENDS, our_backend
from benchmarks.records import Record
from benchmarks.splits import SHARES, part_of
from benchmarks.table import Table, sweep_milliseconds
from benchmarks.timing import Timed, alternate, paired
from hiertopics.corpus.data.corpus import Corpus

TRUNCATIONS = (50, 100, 200, 400)
TRUNCATION = 100
SIZES = Table(
    ("corpus", "split", "backend", "share", "truncation"),
    {
        "backend": "{backend}",
        "documents": "{share:g}",
        "T": "{truncation}",
        "tokens": "{n_tokens:,}",
        "ms per sweep": sweep_milliseconds,
        "cost per pair and topic, all at T=100 = 1": "{relative_cost:.2f}",
    },
)
WORKERS = Table(
    ("corpus", "split", "backend"),
    {
        "backend": "{backend}",
        "1 worker, ms": "{milliseconds[one]:.1f}",
        "1 worker, 2 shards, ms": "{milliseconds[one_on_two_shards]:.1f}",
        "2 workers, 2 shards, ms": "{milliseconds[two]:.1f}",
        "speed-up": "{speed_up:.2f}x",
        "at equal shards": "{speed_up_equal_shards:.2f}x",
    },
)
TABLES = {"size": SIZES, "workers": WORKERS}


def table(results: Sequence[Record]) -> str:
    """Return the tables of the two halves, where they were measured."""
    halves = {kind: [one for one in results if one["kind"] == kind] for kind in TABLES}
    return "\n\n".join(TABLES[kind](half) for kind, half in halves.items() if half)


@benchmark("scaling", table)
@options.source("kos")
@options.rounds
@options.backends(*SPEED_BACKENDS)
@click.option("--only", type=click.Choice(list(TABLES)), help="One half of it.")
def measure(
    source: Source, rounds: int, backend: tuple[str, ...], only: str | None
) -> Iterator[Record]:
    """Cost against documents and topics; one worker against two."""
    corpus, _ = source.load()
    for name in backend:
        about = {**source.about, "backend": name}
        if only != "workers":
            for record in _measure_size(corpus, name, rounds):
                yield {"kind": "size", **about, **record}
        if only != "size":
            yield {"kind": "workers", **about, **_measure_workers(corpus, name, rounds)}


def _measure_size(corpus: Corpus, backend: str, n_rounds: int) -> Iterator[Record]:
    """Time sweeps over parts of the documents and over truncations, in turn, on one core."""
    sizes = [(share, TRUNCATION) for share in SHARES]
    sizes += [(1.0, truncation) for truncation in TRUNCATIONS if truncation != TRUNCATION]
    parts = {share: part_of(corpus, share) for share in SHARES}
    with pinned():
        systems = {
            (share, truncation): Timed(our_backend(backend, parts[share], truncation), PERIOD)
            for share, truncation in sizes
        }
        rounds = alternate(systems, n_rounds)
    whole = rounds.seconds[1.0, TRUNCATION]
    for (share, truncation), seconds in rounds.seconds.items():
        yield {
            "share": share,
            "truncation": truncation,
            **rounds.about,
            "n_tokens": parts[share].n_tokens,
            "n_pairs": parts[share].n_pairs,
            "seconds_per_sweep": seconds,
            "relative_cost": paired(seconds, whole)
            / (parts[share].n_pairs / corpus.n_pairs * truncation / TRUNCATION),
        }


def _measure_workers(corpus: Corpus, backend: str, n_rounds: int) -> Record:
    """Time one worker against two, unpinned: two on two shards, one on one shard and on two."""
    plans = {"one": (1, 1), "one_on_two_shards": (2, 1), "two": (2, 2)}
    systems = {
        name: our_backend(backend, corpus, TRUNCATION, shards=shards, workers=workers)
        for name, (shards, workers) in plans.items()
    }
    rounds = alternate({name: Timed(one, PERIOD) for name, one in systems.items()}, n_rounds)
    seconds = rounds.seconds
    return {
        "truncation": TRUNCATION,
        **rounds.about,
        "milliseconds": {name: 1000 * median(values) for name, values in seconds.items()},
        "seconds_per_sweep": seconds,
        "speed_up": paired(seconds["one"], seconds["two"]),
        "speed_up_equal_shards": paired(seconds["one_on_two_shards"], seconds["two"]),
    }
