"""Ways to redraw topics of tokens, side by side: tokens per second of whole iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import click

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import BURN_IN, OurBackend, settings_at
from benchmarks.peers import Peer, start_tomotopy_lda
from benchmarks.records import Record
from benchmarks.table import Columns, Table, sweep_milliseconds
from benchmarks.timing import Timed, alternate, paired
from hiertopics.corpus.data.corpus import Corpus

PEER = "tomotopy-lda"
PARTIAL = {"collapse": "partial", "start": "random"}
WAYS: dict[str, dict[str, Any]] = {
    **{
        f"{backend} {sweep}": {"sweep": sweep}
        for backend in ("hdp-gibbs", "chdp-gibbs", "lda-gibbs")
        for sweep in ("dense", "sparse")
    },
    "hdp-gibbs partial": PARTIAL,
    PEER: {},
}
"""A backend, how it redraws tokens, and the settings that say so."""

KEYS = ("corpus", "split", "way", "truncation", "burn_in")
COLUMNS: Columns = {
    "corpus": "{corpus}",
    "way": "{way}",
    "T": "{truncation}",
    "iterations before": "{burn_in}",
    "topics": "{live_topics}",
    "ms per iteration": sweep_milliseconds,
    "tokens/s": "{tokens_per_second:,.0f}",
    "against the first": lambda record: f"{record['speed_ratio']:.2f}x",
}


def table(results: Sequence[Record]) -> str:
    """Return a row for each way and truncation."""
    return Table(KEYS, COLUMNS)(results)


@benchmark("sparse", table)
@options.source("nips")
@options.rounds
@click.option("--burn-in", default=BURN_IN, show_default=True, help="Iterations before.")
@click.option("--way", type=click.Choice(tuple(WAYS)), multiple=True, default=tuple(WAYS))
@options.truncations(500, 1000)
def measure(
    source: Source, rounds: int, burn_in: int, way: tuple[str, ...], truncation: tuple[int, ...]
) -> Iterator[Record]:
    """Whole iterations of samplers over tokens: one core, in turn.

    Topics integrated out, all of them weighed (dense) or those of a token's word (sparse); topics
    drawn (partial). Dense ways and the peer run at the first truncation alone. Processor time.
    """
    corpus, _ = source.load()
    ways = [
        (name, size)
        for size in truncation
        for name in way
        if size == truncation[0] or not name.endswith(("dense", PEER))
    ]
    with pinned():
        systems = {key: _begun(corpus, *key, burn_in) for key in ways}
        per_round = {key: 2 if key[0].endswith(("dense", PEER)) else 5 for key in ways}
        timed = {key: Timed(systems[key], per_round[key]) for key in ways}
        found = alternate(timed, rounds, clock="processor")
    for key in ways:
        seconds = found.seconds[key]
        yield {
            **source.about,
            **found.about,
            "way": key[0],
            "truncation": key[1],
            "burn_in": burn_in,
            "live_topics": systems[key].live_topics(),
            "n_tokens": corpus.n_tokens,
            "seconds_per_sweep": seconds,
            "tokens_per_second": corpus.n_tokens / median(seconds),
            "speed_ratio": paired(found.seconds[ways[0]], seconds),
        }


def _begun(corpus: Corpus, way: str, truncation: int, burn_in: int) -> OurBackend | Peer:
    """Return a way that is compiled, its concentrations learned, past its burn-in."""
    system = _started(corpus, way, truncation)
    system.sweep(burn_in)
    return system


def _started(corpus: Corpus, way: str, truncation: int) -> OurBackend | Peer:
    """Return a way at its first state."""
    if way == PEER:
        return start_tomotopy_lda(corpus.counts, 0, truncation)
    name = way.partition(" ")[0]
    return OurBackend(name, corpus, settings_at(name, truncation, **WAYS[way]))
