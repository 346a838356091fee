"""Tokens per second of our sweeps beside those of the peers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import corpora
from benchmarks.machine import pinned
from benchmarks.ours import BURN_IN, PERIOD, OurBackend, our_backend
from benchmarks.peers import Peer, train
from benchmarks.records import Record
from benchmarks.splits import load_split
from benchmarks.timing import Timed, alternate, paired
from hiertopics.data.corpus import Corpus


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


def measure(
    data: Path,
    corpus_name: str,
    split_spec: str,
    backends: Sequence[str],
    peers: Sequence[str],
    truncation: int,
    n_rounds: int,
) -> list[Record]:
    """Time every system on the training documents, in turn, on one core."""
    corpus, _ = load_split(corpora.load(data, corpus_name), split_spec)
    plans = {name: OUR_PLAN for name in backends} | {name: PLANS[name] for name in peers}
    with pinned():
        systems: dict[str, OurBackend | Peer] = {
            name: our_backend(name, corpus, truncation) for name in backends
        }
        systems |= {name: train(name, corpus.counts, 0, PLANS[name].burn_in) for name in peers}
        rounds = alternate(
            {name: Timed(system, plans[name].per_round) for name, system in systems.items()},
            n_rounds,
        )
    return [
        {
            "corpus": corpus_name,
            "split": split_spec,
            "system": name,
            "truncation": truncation if name in backends else None,
            "live_topics": systems[name].live_topics(),
            "plan": plans[name]._asdict(),
            "core_share": rounds.core_share,
            **_summary(corpus, name, rounds.seconds, peers if name in backends else ()),
        }
        for name in systems
    ]


def _summary(
    corpus: Corpus, name: str, seconds: dict[str, list[float]], peers: Sequence[str]
) -> Record:
    """Return a system's speed, and in how many of its times each peer does a sweep."""
    return {
        "n_tokens": corpus.n_tokens,
        "seconds_per_sweep": seconds[name],
        "tokens_per_second": corpus.n_tokens / median(seconds[name]),
        "speed_ratio": {peer: paired(seconds[peer], seconds[name]) for peer in peers},
    }
