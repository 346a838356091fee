"""What runs in the processes that ``fits`` starts: train a peer, or read a run, and score."""

from __future__ import annotations

from pathlib import Path

from benchmarks import scorer, tree_scorer
from benchmarks.corpora import Source
from benchmarks.ours import open_run, topic_model, tree_model
from benchmarks.peers import PEERS, train
from benchmarks.records import Record
from benchmarks.timing import Cost


def train_peer(source: Source, name: str, seed: int, iterations: int | None) -> Record:
    """Train a peer and score it; the times are those of the training loop alone."""
    corpus, split = source.load()
    sweeps = PEERS[name].n_sweeps if iterations is None else iterations
    with Cost() as cost:
        peer = train(name, corpus.counts, seed, sweeps)
    return {
        "sweeps": sweeps,
        **cost.record,
        "topics": peer.live_topics(),
        "split_hash": split.hash,
        **scorer.score(peer.model(), split)._asdict(),
    }


def score_run(source: Source, path: Path, *, by_paths: bool = False) -> Record:
    """Score a run; raises ValueError if it was fitted on another split than the peers are.

    by_paths: as the trees of ``benchmarks trees`` are scored, and not as flat topics.
    """
    _, split = source.load()
    run = open_run(path, split)
    scored: scorer.Score | tree_scorer.TreeScore
    if by_paths:
        scored = tree_scorer.score(tree_model(run), split)
    else:
        scored = scorer.score(topic_model(run), split)
    return {
        "sweeps": run.manifest["iterations"],
        "train_seconds": run.manifest["wall_seconds"],
        "topics": len(run.tree.shown),
        "split_hash": split.hash,
        **scored._asdict(),
    }
