"""Held-out perplexity of our backends and of the peers: one split, one scorer.

Each model is trained in a process of its own: ours by the whole ``fit`` command, a peer by
``benchmarks train-peer``. This module starts them and so stays free of numpy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import mean, stdev

import click

from benchmarks import fits, options, records
from benchmarks.benchmark import benchmark
from benchmarks.corpora import DOCS, TOKENS
from benchmarks.fits import OUR_MODELS, Task
from benchmarks.records import Record, latest
from benchmarks.table import MIB, alternatives, grouped, split_kind, tabulate

PEER_MODELS = (
    "unigram",
    "tomotopy-lda-100",
    "tomotopy-lda-300",
    "tomotopy-hdp",
    "gensim-hdp",
    "sklearn-lda-100",
)
MODELS = (*PEER_MODELS, *OUR_MODELS)
ON_REQUEST = ("tomotopy-lda-500",)
"""With as many topics as our backends keep by default; not trained unless named."""


def table(results: Sequence[Record]) -> str:
    """Return a row for each corpus, split and model, over its seeds."""
    kept = sorted(latest(results, *Task._fields), key=itemgetter("corpus", "split"))
    return tabulate(
        {
            "corpus": lambda group: group[0]["corpus"],
            "split": lambda group: split_kind(group[0]["split"]),
            "model": lambda group: group[0]["model"],
            "sweeps": lambda group: alternatives(record["sweeps"] for record in group),
            "topics": lambda group: alternatives(record["topics"] for record in group),
            "perplexity": lambda group: f"{mean(_perplexities(group)):.0f}",
            "with cache": _with_cache,
            "sd": lambda group: f"{stdev(_perplexities(group)):.0f}" if len(group) > 1 else "",
            "seeds": len,
            "prior strength": lambda group: alternatives(
                f"{record['prior_strength']:.3g}" for record in group
            ),
            "training, s": lambda group: f"{mean(r['train_seconds'] for r in group):.1f}",
            "whole command, s": _command_seconds,
            "peak, MiB": lambda group: f"{max(r['peak_bytes'] for r in group) / MIB:.0f}",
        },
        grouped(kept, "corpus", "split", "model"),
    )


def _perplexities(group: Sequence[Record]) -> list[float]:
    return [record["perplexity"] for record in group]


def _with_cache(group: Sequence[Record]) -> str:
    cached = [record.get("cached_perplexity") for record in group]
    return "" if None in cached else f"{mean(filter(None, cached)):.0f}"


def _command_seconds(group: Sequence[Record]) -> str:
    seconds = [record["command_seconds"] for record in group if "command_seconds" in record]
    return f"{mean(seconds):.1f}" if seconds else ""


@benchmark("quality", table)
@options.data
@options.corpora
@click.option("--split", multiple=True, default=(DOCS, TOKENS), show_default=True)
@click.option("--model", type=click.Choice((*MODELS, *ON_REQUEST)), multiple=True, default=MODELS)
@options.seeds
@options.iterations
@click.pass_obj
def measure(
    output: Path | None,
    data: Path,
    corpus: tuple[str, ...],
    split: tuple[str, ...],
    model: tuple[str, ...],
    seed: tuple[int, ...],
    iterations: int | None,
) -> Iterator[Record]:
    """Held-out perplexity; what the output file already holds is not done again."""
    known = [] if output is None else records.read([output], "quality")
    done = {tuple(record[key] for key in Task._fields) for record in known}
    wanted = (  # seed by seed, so that an early stop leaves whole sets
        Task(*names, number, iterations)
        for number, names in product(seed, product(corpus, split, model))
    )
    tasks = [task for task in wanted if task not in done]
    click.echo(f"{len(tasks)} models to train", err=True)
    for task in tasks:
        score = _ours if task.model in OUR_MODELS else _peer
        yield {**task._asdict(), **score(data, task)}


def _ours(data: Path, task: Task) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        fit = fits.fit_task(data, task, run)
        return {**fit.record, **fits.score_run(task.source(data), run)}


def _peer(data: Path, task: Task) -> Record:
    return fits.train_peer(task.source(data), task.model, task.seed, task.iterations)
