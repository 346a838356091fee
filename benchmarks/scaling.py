"""How the cost of a sweep grows with documents and topics, and what a second worker brings."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import corpora
from benchmarks.machine import pinned
from benchmarks.ours import PERIOD, our_backend
from benchmarks.records import Record
from benchmarks.splits import load_split
from benchmarks.timing import Timed, alternate, paired
from hiertopics.data.corpus import Corpus

SHARES = (0.25, 0.5, 1.0)
TRUNCATIONS = (50, 100, 200, 400)
TRUNCATION = 100


def measure_size(
    data: Path, corpus_name: str, split_spec: str, backend: str, n_rounds: int
) -> list[Record]:
    """Time sweeps over parts of the documents and over truncations, in turn, on one core."""
    corpus, _ = load_split(corpora.load(data, corpus_name), split_spec)
    sizes = [(share, TRUNCATION) for share in SHARES]
    sizes += [(1.0, truncation) for truncation in TRUNCATIONS if truncation != TRUNCATION]
    parts = {share: part_of(corpus, share) for share in SHARES}
    with pinned():
        systems = {
            f"{share} {truncation}": Timed(our_backend(backend, parts[share], truncation), PERIOD)
            for share, truncation in sizes
        }
        seconds, core_share = alternate(systems, n_rounds)
    whole = seconds[f"1.0 {TRUNCATION}"]
    return [
        {
            "kind": "size",
            "corpus": corpus_name,
            "split": split_spec,
            "backend": backend,
            "share": share,
            "truncation": truncation,
            "core_share": core_share,
            "n_tokens": parts[share].n_tokens,
            "n_pairs": parts[share].n_pairs,
            "seconds_per_sweep": seconds[f"{share} {truncation}"],
            "relative_cost": paired(seconds[f"{share} {truncation}"], whole)
            / (parts[share].n_pairs / corpus.n_pairs * truncation / TRUNCATION),
        }
        for share, truncation in sizes
    ]


def measure_workers(
    data: Path, corpus_name: str, split_spec: str, backend: str, n_rounds: int
) -> Record:
    """Time one worker against two, unpinned: two on two shards, one on one shard and on two."""
    corpus, _ = load_split(corpora.load(data, corpus_name), split_spec)
    plans = {"one": (1, 1), "one_on_two_shards": (2, 1), "two": (2, 2)}
    systems = {
        name: Timed(
            our_backend(backend, corpus, TRUNCATION, shards=shards, workers=workers),
            PERIOD,
        )
        for name, (shards, workers) in plans.items()
    }
    seconds, core_share = alternate(systems, n_rounds)
    return {
        "kind": "workers",
        "corpus": corpus_name,
        "split": split_spec,
        "backend": backend,
        "truncation": TRUNCATION,
        "core_share": core_share,
        "milliseconds": {name: 1000 * median(values) for name, values in seconds.items()},
        "seconds_per_sweep": seconds,
        "speed_up": paired(seconds["one"], seconds["two"]),
        "speed_up_equal_shards": paired(seconds["one_on_two_shards"], seconds["two"]),
    }


def part_of(corpus: Corpus, share: float) -> Corpus:
    """Return a random ``share`` of the documents, in their order."""
    order = np.random.default_rng(0).permutation(corpus.n_docs)
    return corpus.select(np.sort(order[: round(share * corpus.n_docs)]))
