"""Fits of ours by the whole ``hiertopics fit`` command, each in a process of its own.

Free of numpy, as ``process`` asks of its callers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks import process
from benchmarks.corpora import Source
from benchmarks.process import Finished
from benchmarks.records import Record

OUR_BACKENDS = ("hdp-pcvb0", "hdp-cvb0", "hdp-gibbs")
OUR_TRUNCATIONS = (100, 300)
OUR_MODELS = tuple(f"{name}-{size}" for name, size in product(OUR_BACKENDS, OUR_TRUNCATIONS))


class Task(NamedTuple):
    """One model to train and score; iterations None: its default (PEERS, or our config's)."""

    corpus: str
    split: str
    model: str
    seed: int
    iterations: int | None

    def source(self, data: Path) -> Source:
        """Return what the model is trained and scored on."""
        return Source(data, self.corpus, self.split)


def fit(
    source: Source, backend: str, seed: int, settings: Mapping[str, object], run: Path
) -> Finished:
    """Fit ``backend`` into the directory ``run``; settings: by the dotted keys of a config."""
    changes = {**settings, **source.words}
    words = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    options = ("--backend", backend, "--holdout", source.split, "--seed", seed, "--run", run, "-q")
    return process.run(process.hiertopics("fit", source.path, *options, *words))


def fit_task(data: Path, task: Task, run: Path) -> Finished:
    """Fit one of OUR_MODELS into the directory ``run``."""
    backend, _, truncation = task.model.rpartition("-")
    settings = {"model.truncation": truncation}
    if task.iterations is not None:
        settings["inference.iterations"] = str(task.iterations)
    return fit(task.source(data), backend, task.seed, settings, run)


def score_run(source: Source, run: Path) -> Record:
    """Score a run directory in a process of its own."""
    score: Record = json.loads(process.run(process.benchmarks("score-run", *source, run)).stdout)
    return score


def train_peer(source: Source, name: str, seed: int, iterations: int | None) -> Record:
    """Train and score a peer in a process of its own."""
    arguments = [*source, name, "--seed", seed]
    if iterations is not None:
        arguments += ["--iterations", iterations]
    result: Record = json.loads(process.run(process.benchmarks("train-peer", *arguments)).stdout)
    return result
