"""How long our whole command takes to reach the score of tomotopy's LDA after 500 sweeps.

Held against us: of the peer only the training loop is timed, of ours the whole command with
reading, start-up and writing. The cache of compiled kernels is warm.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import process, quality
from benchmarks.machine import pinned
from benchmarks.quality import Task
from benchmarks.records import Record

PEER = "tomotopy-lda-100"
STEP = 10
MOST = 300
REPEATS = 3


def measure(data: Path, corpus: str, split: str, model: str, seed: int, peer_sweeps: int) -> Record:
    """Train the peer; then fit with 10, 20, 30, ... iterations until the score is as good."""
    with pinned():
        command = process.benchmarks(
            "train-peer", data, corpus, split, PEER, "--seed", seed, "--iterations", peer_sweeps
        )
        peer = json.loads(process.run(command).stdout)
        _fit(data, Task(corpus, split, model, seed, 1))  # compiles
        tried = []
        for iterations in range(STEP, MOST + 1, STEP):
            seconds, score = _fit(data, Task(corpus, split, model, seed, iterations))
            tried.append({"iterations": iterations, "seconds": seconds, **score})
            if score["perplexity"] <= peer["perplexity"]:
                task = Task(corpus, split, model, seed, iterations)
                again = [_fit(data, task)[0] for _ in range(REPEATS - 1)]
                return _result(task, peer, tried, median([seconds, *again]))
    return _result(Task(corpus, split, model, seed, None), peer, tried, None)


def _fit(data: Path, task: Task) -> tuple[float, Record]:
    """Return the wall seconds of a whole fresh fit, and its score."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        fit = process.run(process.hiertopics(*quality.fit_arguments(data, task, run_dir)))
        return fit.seconds, quality.score_run(data, task, run_dir)


def _result(task: Task, peer: Record, tried: list[Record], seconds: float | None) -> Record:
    return {
        **task._asdict(),
        "peer": {"name": PEER, **peer},
        "tried": tried,
        "seconds": seconds,
        "ratio": None if seconds is None else seconds / peer["train_seconds"],
    }
