"""The figures that the project aims at, found in result records and compared with their limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import NamedTuple

from benchmarks.fits import OUR_MODELS
from benchmarks.records import Record, latest
from benchmarks.table import MIB, split_kind

SPEED_LIMITS = {
    ("hdp-cvb0", "tomotopy-hdp"): 5.0,
    ("hdp-pcvb0", "tomotopy-hdp"): 4.0,
    ("hdp-cvb0", "tomotopy-lda-100"): 1.5,
    ("hdp-pcvb0", "tomotopy-lda-100"): 1.5,
    ("hdp-cvb0", "gensim-hdp"): 100.0,
    ("hdp-pcvb0", "gensim-hdp"): 100.0,
}
SPEED_TRUNCATION = 100
FLOOR_LIMITS = {100: 1.5, 300: 1.7}
WORKERS_LIMIT = 1.3
QUALITY_LIMITS = {100: 1.0, 300: 0.92}
LARGE_PEER = "tomotopy-lda-300"
TIME_LIMIT = 0.1
MEMORY_LIMITS = {"kos": 400 * MIB, "20newsgroups": 4096 * MIB}
HELP_LIMIT, FIT_LIMIT = 0.15, 2.0


class Figure(NamedTuple):
    """A measured figure and its limit, an upper one unless ``at_least``."""

    name: str
    measured: float
    limit: float
    at_least: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the limit is kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    @property
    def shown(self) -> str:
        """The measured value with its unit."""
        return f"{self.measured:.4g}{self.unit}"

    @property
    def limit_shown(self) -> str:
        """The limit with its direction and unit."""
        return f"{'>=' if self.at_least else '<='} {self.limit:g}{self.unit}"


def figures(records: Sequence[Record]) -> list[Figure]:
    """Return every figure aimed at that ``records`` hold."""
    by_command: dict[str, list[Record]] = {}
    for record in records:
        by_command.setdefault(record["command"], []).append(record)
    return [
        figure for command, find in FINDERS.items() for figure in find(by_command.get(command, []))
    ]


def _speed(records: Sequence[Record]) -> Iterator[Figure]:
    for record in latest(records, "corpus", "split", "system", "truncation"):
        for peer, ratio in record["speed_ratio"].items():
            limit = SPEED_LIMITS.get((record["system"], peer))
            if limit is not None and record["truncation"] == SPEED_TRUNCATION:
                yield Figure(f"speed, {record['system']} against {peer}", ratio, limit, True, "x")


def _floor(records: Sequence[Record]) -> Iterator[Figure]:
    for record in latest(records, "corpus", "split", "backend", "truncation"):
        limit = FLOOR_LIMITS.get(record["truncation"])
        if limit is not None:
            name = f"sweep / memory floor, {record['backend']}, T={record['truncation']}"
            yield Figure(name, record["ratio"], limit, unit="x")


def _scaling(records: Sequence[Record]) -> Iterator[Figure]:
    workers = [record for record in records if record["kind"] == "workers"]
    for record in latest(workers, "corpus", "split", "backend"):
        name = f"two workers against one, {record['backend']}"
        yield Figure(name, record["speed_up"], WORKERS_LIMIT, True, "x")


def _quality(records: Sequence[Record]) -> Iterator[Figure]:
    """Compare means over seeds, on the very same split only.

    At T=100 twice: with the peers of about as many topics, and with all of them.
    """
    scores: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for record in latest(records, "corpus", "split", "model", "seed", "iterations"):
        key = (record["corpus"], record["split"], record["split_hash"])
        scores.setdefault(key, {}).setdefault(record["model"], []).append(record["perplexity"])
    for (corpus, split, _), by_model in scores.items():
        means = {model: mean(values) for model, values in by_model.items()}
        peers = {model: value for model, value in means.items() if model not in OUR_MODELS}
        smaller = {model: value for model, value in peers.items() if model != LARGE_PEER}
        for model in [model for model in means if model in OUR_MODELS]:
            truncation = int(model.rpartition("-")[2])
            rivals = [peers] if truncation > SPEED_TRUNCATION else [smaller, peers]
            bests = dict.fromkeys(min(group, key=group.__getitem__) for group in rivals if group)
            for best in bests:
                name = f"{model} / {best}, perplexity, {corpus}, {split_kind(split)}"
                yield Figure(name, means[model] / peers[best], QUALITY_LIMITS[truncation])


def _time_to_quality(records: Sequence[Record]) -> Iterator[Figure]:
    for record in latest(records, "corpus", "split", "model", "seed"):
        ratio = float("inf") if record["ratio"] is None else record["ratio"]
        yield Figure(f"time to the score of LDA, {record['model']}", ratio, TIME_LIMIT)


def _memory(records: Sequence[Record]) -> Iterator[Figure]:
    for record in latest(records, "corpus", "split", "model"):
        limit = MEMORY_LIMITS.get(record["corpus"])
        if limit is not None:
            name = f"peak memory, {record['corpus']}, {record['model']}"
            yield Figure(name, record["peak_bytes"] / MIB, limit / MIB, unit=" MiB")


def _startup(records: Sequence[Record]) -> Iterator[Figure]:
    for record in latest(records, "kind", "backend"):
        if record["kind"] == "help":
            yield Figure("hiertopics --help", record["median_seconds"], HELP_LIMIT, unit=" s")
            yield Figure("heavy packages imported by --help", len(record["heavy"]), 0)
        else:
            name = f"second tiny fit, whole command, {record['backend']}"
            yield Figure(name, record["median_seconds"], FIT_LIMIT, unit=" s")


FINDERS = {
    "speed": _speed,
    "floor": _floor,
    "scaling": _scaling,
    "quality": _quality,
    "time-to-quality": _time_to_quality,
    "memory": _memory,
    "startup": _startup,
}
