"""Our sweep in units of the memory floor: what merely touching its tables costs.

The floor is a loop that reads and writes the responsibilities [P, T] alone, plus a loop that
reads and writes, for each (document, word) pair, the word's row of the count table alone; with
the indicator table beside it for backends that keep one.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from benchmarks import options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.machine import pinned
from benchmarks.ours import PERIOD, SPEED_BACKENDS, our_backend
from benchmarks.records import Record
from benchmarks.table import Table, milliseconds
from benchmarks.timing import Sweeper, Timed, alternate
from hiertopics.base.arrays import F32, I32
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.numeric.jit import kernel

WITH_INDICATORS = ("hdp-pcvb0",)
TABLE = Table(
    ("corpus", "split", "backend", "truncation"),
    {
        "backend": "{backend}",
        "T": "{truncation}",
        "sweep, ms": lambda record: milliseconds(record["seconds"]["sweep"]),
        "responsibilities, ms": lambda record: milliseconds(record["seconds"]["responsibilities"]),
        "word rows, ms": lambda record: milliseconds(record["seconds"]["word_rows"]),
        "sweep / floor": "{ratio:.2f}",
        "responsibilities, GB/s": "{responsibilities_gb_per_second:.0f}",
        "word rows, GB/s": "{word_rows_gb_per_second:.0f}",
    },
)


@kernel()
def touch_all(table: F32) -> None:
    """Read and write each entry of a table once; values stay near 1."""
    flat = table.reshape(-1)
    for entry in range(flat.shape[0]):
        flat[entry] = flat[entry] * np.float32(0.5) + np.float32(0.5)


@kernel()
def touch_rows(rows: I32, table: F32) -> None:
    """Read and write row after row of a table; values stay near 1."""
    for row in rows:
        for column in range(table.shape[1]):
            table[row, column] = table[row, column] * np.float32(0.5) + np.float32(0.5)


@kernel()
def touch_two_rows(rows: I32, table: F32, other: F32) -> None:
    """Read and write the same row of two tables, row after row; values stay near 1."""
    for row in rows:
        for column in range(table.shape[1]):
            table[row, column] = table[row, column] * np.float32(0.5) + np.float32(0.5)
            other[row, column] = other[row, column] * np.float32(0.5) + np.float32(0.5)


class Responsibilities:
    """Passes over the responsibilities alone."""

    def __init__(self, n_pairs: int, n_topics: int) -> None:
        """Allocate the table and compile the loop."""
        self._table = np.ones((n_pairs, n_topics), dtype=np.float32)
        self.sweep()

    def sweep(self, n_sweeps: int = 1) -> None:
        """Touch every entry ``n_sweeps`` times."""
        for _ in range(n_sweeps):
            touch_all(self._table)


class WordRows:
    """Passes over the word-count rows alone, in the order of the corpus' pairs."""

    def __init__(self, corpus: Corpus, n_topics: int, indicators: bool) -> None:
        """Allocate one table, or two with ``indicators``, and compile the loop."""
        self._words = corpus.counts.indices.astype(np.int32)
        shape = (corpus.n_words, n_topics)
        self._tables = [np.ones(shape, dtype=np.float32) for _ in range(1 + indicators)]
        self.sweep()

    def sweep(self, n_sweeps: int = 1) -> None:
        """Touch the row (or two) of each pair ``n_sweeps`` times."""
        for _ in range(n_sweeps):
            if len(self._tables) == 1:
                touch_rows(self._words, *self._tables)
            else:
                touch_two_rows(self._words, *self._tables)


@benchmark("floor", TABLE)
@options.source("kos")
@options.rounds
@options.backends(*SPEED_BACKENDS)
@options.truncations(100, 300)
def measure(
    source: Source, rounds: int, backend: tuple[str, ...], truncation: tuple[int, ...]
) -> Iterator[Record]:
    """Our sweep in units of the memory floor."""
    corpus, _ = source.load()
    for name in backend:
        for size in truncation:
            yield {**source.about, **_measure(corpus, name, size, rounds)}


def _measure(corpus: Corpus, backend: str, truncation: int, n_rounds: int) -> Record:
    """Time a backend's sweep and the two loops of its floor, in turn, on one core."""
    indicators = backend in WITH_INDICATORS
    with pinned():
        loops: dict[str, Sweeper] = {
            "sweep": our_backend(backend, corpus, truncation),
            "responsibilities": Responsibilities(corpus.n_pairs, truncation),
            "word_rows": WordRows(corpus, truncation, indicators),
        }
        timed = {name: Timed(loop, PERIOD) for name, loop in loops.items()}
        rounds = alternate(timed, n_rounds, clock="processor")
    seconds = rounds.seconds
    cells = corpus.n_pairs * truncation * 8  # bytes of float32 read and written
    return {
        "backend": backend,
        "truncation": truncation,
        "indicator_rows": indicators,
        **rounds.about,
        "seconds": seconds,
        "ratio": median(
            sweep / (first + second) for sweep, first, second in zip(*seconds.values(), strict=True)
        ),
        "responsibilities_gb_per_second": cells / median(seconds["responsibilities"]) / 1e9,
        "word_rows_gb_per_second": cells * (1 + indicators) / median(seconds["word_rows"]) / 1e9,
    }
