"""How long our whole command takes to reach the score of tomotopy's LDA after 500 sweeps.

Held against us: of the peer only the training loop is timed, of ours the whole command with
reading, start-up and writing. The cache of compiled kernels is warm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import click

from benchmarks import fits, options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.fits import OUR_MODELS, Task
from benchmarks.machine import pinned
from benchmarks.records import Record
from benchmarks.table import Table

PEER = "tomotopy-lda-100"
STEP = 10
MOST = 300
REPEATS = 3
TABLE = Table(
    ("corpus", "split", "model", "seed"),
    {
        "model": "{model}",
        "corpus": "{corpus}",
        "LDA's perplexity": "{peer[perplexity]:.0f}",
        "LDA's training, s": "{peer[train_seconds]:.1f}",
        "perplexity": lambda record: f"{record['tried'][-1]['perplexity']:.0f}",
        "iterations": lambda record: record["tried"][-1]["iterations"],
        "whole command, s": lambda record: (
            "never" if record["seconds"] is None else f"{record['seconds']:.2f}"
        ),
        "ratio": lambda record: "" if record["ratio"] is None else f"{record['ratio']:.3f}",
    },
)


@benchmark("time-to-quality", TABLE)
@options.source("kos")
@click.option("--model", type=click.Choice(OUR_MODELS), multiple=True, default=("hdp-pcvb0-100",))
@options.seed
@click.option("--peer-sweeps", default=500, show_default=True)
def measure(
    source: Source, model: tuple[str, ...], seed: int, peer_sweeps: int
) -> Iterator[Record]:
    """Wall time of our whole command until it scores like tomotopy's LDA."""
    for name in model:
        yield _measure(source, name, seed, peer_sweeps)


def _measure(source: Source, model: str, seed: int, peer_sweeps: int) -> Record:
    """Train the peer; then fit with 10, 20, 30, ... iterations until the score is as good."""
    untrained = Task(source.corpus, source.split, model, seed, None)
    with pinned():
        peer = fits.train_peer(source, PEER, seed, peer_sweeps)
        _fit(source.data, untrained._replace(iterations=1))  # compiles
        tried = []
        for iterations in range(STEP, MOST + 1, STEP):
            task = untrained._replace(iterations=iterations)
            seconds, score = _fit(source.data, task)
            tried.append({"iterations": iterations, "seconds": seconds, **score})
            if score["perplexity"] <= peer["perplexity"]:
                again = [_fit(source.data, task)[0] for _ in range(REPEATS - 1)]
                return _result(task, peer, tried, median([seconds, *again]))
    return _result(untrained, peer, tried, None)


def _fit(data: Path, task: Task) -> tuple[float, Record]:
    """Return the wall seconds of a whole fresh fit, and its score."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        return fits.fit_task(data, task, run).seconds, fits.score_run(task.source(data), run)


def _result(task: Task, peer: Record, tried: list[Record], seconds: float | None) -> Record:
    return {
        **task._asdict(),
        "peer": {"name": PEER, **peer},
        "tried": tried,
        "clock": "wall",
        "seconds": seconds,
        "ratio": None if seconds is None else seconds / peer["train_seconds"],
    }
