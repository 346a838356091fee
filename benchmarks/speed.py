"""Tokens per second of our sweeps beside those of the peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click

from benchmarks import options, speed_record
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import BURN_IN, PERIOD, SPEED_BACKENDS, OurBackend, our_backend
from benchmarks.peers import Peer, train
from benchmarks.records import Record, latest
from benchmarks.table import Columns, Table, sweep_milliseconds
from benchmarks.timing import Clock, Timed, alternate, paired
from hiertopics.corpus.data.corpus import Corpus


class Plan(NamedTuple):
    """Sweeps of a system before it is timed, and in each round."""

    burn_in: int
    per_round: int


PLANS = {
    "tomotopy-hdp": Plan(20, 5),
    "tomotopy-lda-20": Plan(20, 10),
    "tomotopy-lda-100": Plan(20, 10),
    "gensim-hdp": Plan(1, 1),
    "sklearn-lda-100": Plan(2, 1),
}
OUR_PLAN = Plan(BURN_IN, PERIOD)

LEAST_SHARE = 0.95
"""The share of the wall time in which the process had a core; with less its rows are ``loaded``."""

KEYS = ("corpus", "split", "system", "truncation")
COLUMNS: Columns = {
    "system": "{system}",
    "T": lambda record: record["truncation"] or "",
    "topics": "{live_topics}",
    "ms per sweep": sweep_milliseconds,
    "tokens/s": "{tokens_per_second:,.0f}",
}


def table(results: Sequence[Record]) -> str:
    """Return a row for each system, with a column for each peer."""
    kept = latest(results, *KEYS)
    peers = [record["system"] for record in kept if record["truncation"] is None]
    against = {f"against {peer}": partial(_against, peer) for peer in peers}
    return Table(KEYS, {**COLUMNS, **against})(kept)


def _against(peer: str, record: Record) -> str:
    ratio = record["speed_ratio"].get(peer)
    return "" if ratio is None else f"{ratio:.2f}x"


@benchmark("speed", table)
@options.source("kos")
@options.rounds
@options.backends(*SPEED_BACKENDS)
@options.peers("tomotopy-hdp", "tomotopy-lda-100", "gensim-hdp", "sklearn-lda-100")
@options.truncations(100)
@click.option(
    "--record",
    type=options.FILE,
    help="Append the ratios of this commit, of processor times, to this file.",
)
@click.option("--compare", is_flag=True, help="Also say what moved since an earlier commit in it.")
def measure(
    source: Source,
    rounds: int,
    backend: tuple[str, ...],
    peer: tuple[str, ...],
    truncation: tuple[int, ...],
    record: Path | None,
    compare: bool,
) -> Iterator[Record]:
    """Tokens per second per sweep: one core, all systems in turn."""
    if compare and record is None:
        raise click.UsageError("--compare needs --record FILE, the file with earlier ratios")
    corpus, _ = source.load()
    found = []
    for size in truncation:
        clock: Clock = "wall" if record is None else "processor"
        for result in _measure(corpus, backend, peer, size, rounds, clock):
            found.append({**source.about, **result})
            yield found[-1]
    if record is not None:
        _keep(record, found, compare=compare)


def _keep(file: Path, found: Sequence[Record], *, compare: bool) -> None:
    """Append the ratios of some records to a file; say what moved."""
    share = min((record["core_share"] for record in found), default=1.0)
    loaded = share < LEAST_SHARE
    if loaded:
        click.echo(f"other work left this process {share:.0%} of its core: loaded", err=True)
    known, new = speed_record.read(file), list(speed_record.rows(found, loaded=loaded))
    speed_record.append(file, new)
    if compare:
        click.echo(speed_record.table(list(speed_record.compare(known, new)), len(new)) + "\n")


def _measure(
    corpus: Corpus,
    backends: Sequence[str],
    peers: Sequence[str],
    truncation: int,
    n_rounds: int,
    clock: Clock,
) -> Iterator[Record]:
    """Time every system on the training documents, in turn, on one core."""
    plans = {name: OUR_PLAN for name in backends} | {name: PLANS[name] for name in peers}
    with pinned():
        systems: dict[str, OurBackend | Peer] = {
            name: our_backend(name, corpus, truncation) for name in backends
        }
        systems |= {name: train(name, corpus.counts, 0, PLANS[name].burn_in) for name in peers}
        rounds = alternate(
            {name: Timed(system, plans[name].per_round) for name, system in systems.items()},
            n_rounds,
            clock=clock,
        )
    for name, system in systems.items():
        yield {
            "system": name,
            "truncation": truncation if name in backends else None,
            "live_topics": system.live_topics(),
            "plan": plans[name]._asdict(),
            **rounds.about,
            **_summary(corpus, name, rounds.seconds, peers if name in backends else ()),
        }


def _summary(
    corpus: Corpus, name: str, seconds: Mapping[str, list[float]], peers: Sequence[str]
) -> Record:
    """Return a system's speed, and in how many of its times each peer does a sweep."""
    return {
        "n_tokens": corpus.n_tokens,
        "seconds_per_sweep": seconds[name],
        "tokens_per_second": corpus.n_tokens / median(seconds[name]),
        "speed_ratio": {peer: paired(seconds[peer], seconds[name]) for peer in peers},
        "round_ratios": {peer: _ratios(seconds[peer], seconds[name]) for peer in peers},
    }


def _ratios(of_peer: Sequence[float], own: Sequence[float]) -> list[float]:
    return [theirs / ours for theirs, ours in zip(of_peer, own, strict=True)]
