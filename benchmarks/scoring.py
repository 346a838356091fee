"""What runs in the processes that ``quality`` starts: train a peer, or read a run, and score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.ours import read_run
from benchmarks.peers import PEERS, train
from benchmarks.records import Record
from benchmarks.scorer import score
from benchmarks.splits import load_split
from benchmarks.timing import Cost
from benchmarks.tree_models import read_tree
from benchmarks.tree_scorer import score as tree_score


def train_peer(
    data: Path, corpus_name: str, split_spec: str, name: str, seed: int, iterations: int | None
) -> Record:
    """Train a peer and score it; the times are those of the training loop alone."""
    corpus, split = load_split(corpora.load(data, corpus_name), split_spec)
    sweeps = PEERS[name].n_sweeps if iterations is None else iterations
    with Cost() as cost:
        peer = train(name, corpus.counts, seed, sweeps)
    return {
        "sweeps": sweeps,
        **cost.record,
        "topics": peer.live_topics(),
        "split_hash": split.hash,
        **score(peer.model(), split)._asdict(),
    }


def score_run(
    data: Path, corpus_name: str, split_spec: str, run_dir: Path, *, by_paths: bool = False
) -> Record:
    """Score a run; raises ValueError if it was fitted on another split than the peers are.

    by_paths: as the trees of ``benchmarks trees`` are scored, and not as flat topics.
    """
    run = read_run(run_dir)
    _, expected = load_split(corpora.load(data, corpus_name), split_spec)
    if run.split.hash != expected.hash:
        raise ValueError(f"{run_dir} has split {run.split.hash}, the peers {expected.hash}")
    manifest = json.loads((run_dir / "manifest.json").read_text(encoding="utf-8"))
    scored: Any = tree_score(*read_tree(run_dir)) if by_paths else score(run.model, run.split)
    return {
        "sweeps": manifest["iterations"],
        "train_seconds": manifest["wall_seconds"],
        "topics": run.n_topics,
        "split_hash": run.split.hash,
        **scored._asdict(),
    }
