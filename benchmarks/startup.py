"""Start-up: ``hiertopics --help``, and what imports and compilation cost a second fit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks import options, process
from benchmarks.benchmark import benchmark
from benchmarks.fits import OUR_BACKENDS
from benchmarks.records import Record
from benchmarks.table import Table

TABLE = Table(
    ("kind", "backend"),
    {
        "command": lambda record: (
            "--help" if record["kind"] == "help" else f"second fit, {record['backend']}"
        ),
        "median, s": "{median_seconds:.3f}",
        "heavy packages imported": lambda record: ", ".join(record.get("heavy", [])),
    },
)
HEAVY = ("numpy", "scipy", "numba", "sklearn")
N_HELP = 11
N_FITS = 3


@benchmark("startup", TABLE)
@options.backends(*OUR_BACKENDS)
def measure(backend: tuple[str, ...]) -> Iterator[Record]:
    """Time of ``hiertopics --help`` and of a second, tiny fit."""
    for record in chain([_measure_help()], _measure_fits(backend)):
        yield {"clock": "wall", **record}


def _measure_help() -> Record:
    """Time ``hiertopics --help`` and list the heavy packages that it imports."""
    seconds = [process.run(process.hiertopics("--help")).seconds for _ in range(N_HELP)]
    python, *rest = process.hiertopics("--help")
    modules = set(_imported(process.run([python, "-X", "importtime", *rest]).stderr))
    return {
        "kind": "help",
        "seconds": seconds,
        "median_seconds": median(seconds),
        "n_modules": len(modules),
        "heavy": sorted(name for name in HEAVY if name in modules),
    }


def _measure_fits(backends: Sequence[str]) -> Iterator[Record]:
    """Time tiny fits of each backend after a first one: imports, compilation, next to no work."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "tiny.ldac"
        corpus.write_text(_tiny_corpus())
        for backend in backends:
            runs = [Path(folder) / f"{backend}-{number}" for number in range(1 + N_FITS)]
            first, *later = [
                process.run(
                    process.hiertopics(
                        "fit", corpus, "-b", backend, "--iterations", 20, "-o", run, "-q"
                    )
                ).seconds
                for run in runs
            ]
            yield {
                "kind": "fit",
                "backend": backend,
                "first_seconds": first,
                "seconds": later,
                "median_seconds": median(later),
            }


def _tiny_corpus() -> str:
    """Return 30 documents of 10 words in LDA-C."""
    lines = (" ".join(f"{(7 * doc + word) % 40}:1" for word in range(10)) for doc in range(30))
    return "".join(f"10 {line}\n" for line in lines)


def _imported(import_times: str) -> Iterator[str]:
    """Yield the names in the output of ``python -X importtime``."""
    for line in import_times.splitlines():
        if line.startswith("import time:"):
            yield line.rpartition("|")[2].strip()
