"""Processor time of a sweep at a quarter, a half and all of the documents, backends in turn.

Processor time, not wall time: other processes on the machine then cost caches only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import corpora
from benchmarks.ours import OurBackend
from benchmarks.records import Record
from benchmarks.scaling import SHARES, part_of
from benchmarks.splits import load_split

BURN_IN = 16  # past the 15 sweeps for which concentrations and weights are held


def measure(
    data: Path, corpus_name: str, spec: str, backends: Sequence[str], truncation: int, rounds: int
) -> list[Record]:
    """Time single sweeps of each backend on each part, one after another in every round."""
    corpus, _ = load_split(corpora.load(data, corpus_name), spec)
    parts = {share: part_of(corpus, share) for share in SHARES}
    systems = {
        (name, share): OurBackend(name, part, truncation)
        for name in backends
        for share, part in parts.items()
    }
    seconds: dict[tuple[str, float], list[float]] = {key: [] for key in systems}
    for system in systems.values():
        system.sweep(BURN_IN)
    for _ in range(rounds):
        for key, system in systems.items():
            start = time.process_time()
            system.sweep()
            seconds[key].append(time.process_time() - start)
    return [
        {
            "corpus": corpus_name,
            "split": spec,
            "backend": name,
            "share": share,
            "truncation": truncation,
            "n_tokens": parts[share].n_tokens,
            "seconds_per_sweep": found,
            "tokens_per_second": parts[share].n_tokens / median(found),
        }
        for (name, share), found in seconds.items()
    ]
