"""Peak memory of whole fit commands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks import fits, options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import DOCS
from benchmarks.fits import OUR_BACKENDS, Task
from benchmarks.records import Record
from benchmarks.table import MIB, Table

TABLE = Table(
    ("corpus", "split", "model"),
    {
        "corpus": "{corpus}",
        "model": "{model}",
        "peak of the whole fit, MiB": lambda record: f"{record['peak_bytes'] / MIB:.0f}",
    },
)


@benchmark("memory", TABLE)
@options.data
@click.option("--large/--no-large", default=True, help="With 20newsgroups at T=300.")
@options.iterations
def measure(data: Path, large: bool, iterations: int | None) -> Iterator[Record]:
    """Peak memory of whole fits: KOS at T=100 and 20newsgroups at T=300."""
    tasks = [Task("kos", DOCS, f"{name}-100", 0, iterations) for name in OUR_BACKENDS]
    if large:  # 20 iterations reach the peak: all tables exist from the first on
        tasks.append(Task("20newsgroups", DOCS, "hdp-pcvb0-300", 0, iterations or 20))
    for task in tasks:
        with tempfile.TemporaryDirectory() as folder:
            yield {**task._asdict(), **fits.fit_task(data, task, Path(folder) / "run").record}
