"""Held-out perplexity of our backends and of the peers: one split, one scorer.

Each model is trained in a process of its own: ours by the whole ``fit`` command, a peer by
``benchmarks train-peer``. This module starts them and so stays free of numpy.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpora, process
from benchmarks.records import Record

OUR_BACKENDS = ("hdp-pcvb0", "hdp-cvb0", "hdp-gibbs")
OUR_TRUNCATIONS = (100, 300)
OUR_MODELS = tuple(f"{name}-{size}" for name, size in product(OUR_BACKENDS, OUR_TRUNCATIONS))
PEER_MODELS = (
    "unigram",
    "tomotopy-lda-100",
    "tomotopy-lda-300",
    "tomotopy-hdp",
    "gensim-hdp",
    "sklearn-lda-100",
)
KEYS = ("corpus", "split", "model", "seed", "iterations")


class Task(NamedTuple):
    """One model to train and score; iterations None: its default (PEERS, or our config's)."""

    corpus: str
    split: str
    model: str
    seed: int
    iterations: int | None


def remaining(
    corpus_names: Sequence[str],
    splits: Sequence[str],
    models: Sequence[str],
    seeds: Sequence[int],
    iterations: int | None,
    records: Sequence[Record],
) -> list[Task]:
    """Return the tasks without a record, seed by seed, so that an early stop leaves whole sets."""
    done = {tuple(record[key] for key in KEYS) for record in records}
    tasks = (
        Task(corpus, split, model, seed, iterations)
        for seed, corpus, split, model in product(seeds, corpus_names, splits, models)
    )
    return [task for task in tasks if tuple(task) not in done]


def run(data: Path, tasks: Sequence[Task]) -> Iterator[Record]:
    """Train and score each task in turn."""
    for task in tasks:
        own = task.model in OUR_MODELS
        yield {**task._asdict(), **(_ours(data, task) if own else _peer(data, task))}


def fit_arguments(data: Path, task: Task, run_dir: Path) -> list[str]:
    """Return the arguments of the ``hiertopics`` command that trains one of our models."""
    backend, _, truncation = task.model.rpartition("-")
    arguments: dict[str, object] = {
        "--backend": backend,
        "--set": f"model.truncation={truncation}",
        "--holdout": task.split,
        "--seed": task.seed,
        "--run": run_dir,
    }
    if task.iterations is not None:
        arguments["--iterations"] = task.iterations
    flat = [str(part) for pair in arguments.items() for part in pair]
    words = corpora.settings(task.corpus)
    return ["fit", str(corpora.path(data, task.corpus)), *words, *flat, "-q"]


def score_run(data: Path, task: Task, run_dir: Path) -> Record:
    """Score a run directory in a process of its own."""
    command = process.benchmarks("score-run", data, task.corpus, task.split, run_dir)
    score: Record = json.loads(process.run(command).stdout)
    return score


def _ours(data: Path, task: Task) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        fit = process.run(process.hiertopics(*fit_arguments(data, task, run_dir)))
        return {
            "command_seconds": fit.seconds,
            "peak_bytes": fit.peak_bytes,
            **score_run(data, task, run_dir),
        }


def _peer(data: Path, task: Task) -> Record:
    arguments = [data, task.corpus, task.split, task.model, "--seed", task.seed]
    if task.iterations is not None:
        arguments += ["--iterations", task.iterations]
    result: Record = json.loads(process.run(process.benchmarks("train-peer", *arguments)).stdout)
    return result
