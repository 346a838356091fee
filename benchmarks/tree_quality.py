"""Trees of all systems on all corpora: truth, support, perplexity, shape and cost, cell by cell.

A cell is a corpus, a system and a seed. All of its work is done in child processes within a limit
of wall time; a cell that was stopped is a row like any other, with what it had by then. This module
starts processes and so stays free of numpy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import click

from benchmarks import golden, options, process, records
from benchmarks.benchmark import benchmark
from benchmarks.corpora import FILES
from benchmarks.process import ROOT
from benchmarks.records import Record, latest
from benchmarks.table import MIB, tabulate
from benchmarks.tree_systems import SYSTEMS, Cell, Limits, compile_kernels

HALVES = ("news", "rest")
"""Corpora that are made of 20 Newsgroups."""

CORPORA = ("news", "debian", "psychreview", "kos", "ap", "nips", "rest")
LABELLED = ("news", "rest", "debian")
CHOSEN_ON = {"news": "yes", "psychreview": "yes", "debian": "some", "kos": "some", "ap": "some"}
"""Corpora on which settings of ``nhdp-*`` were chosen: docs/nhdp-evidence.md."""

CHOSEN = ("nhdp-variational", "nhdp-gibbs")
KEYS = ("corpus", "system", "seed")
SAMPLE = ROOT / "data-samples" / "planted.ldac"


def table(results: Sequence[Record]) -> str:
    """Return a row for each corpus, system and seed; truth and support first, levels by ``/``."""
    rows = sorted(latest(results, *KEYS), key=_place)
    return tabulate(
        {
            "corpus": lambda row: row["corpus"],
            "system": lambda row: row["system"],
            "seed": lambda row: row["seed"],
            "chosen on": lambda row: row["chosen_on"],
            "triplets": lambda row: _levels(row, "triplets", _error),
            "kin": lambda row: _levels(row, "kin", _error),
            "purity (chance)": lambda row: _levels(row, "purity", _chance),
            "covered .5 / .7": _covered,
            "bits": lambda row: _supported(row, "bits", "{:z.2f}"),
            "resamples": lambda row: _supported(row, "resamples", "{}"),
            "perplexity": lambda row: _or_empty(row, "perplexity", "{:.0f}"),
            "nodes": lambda row: _or_empty(row, "nodes", "{}"),
            "children of the root": lambda row: _or_empty(row, "branches", "{}"),
            "largest family": lambda row: _or_empty(row, "largest_family", "{}"),
            "processor s": lambda row: _or_empty(row, "command_cpu_seconds", "{:.0f}"),
            "MiB": lambda row: f"{row['peak_bytes'] / MIB:.0f}" if "peak_bytes" in row else "",
            "commit": lambda row: row["commit"],
            "not reached": _missing,
        },
        rows,
    )


def _place(row: Record) -> tuple[int, int, int]:
    return CORPORA.index(row["corpus"]), SYSTEMS.index(row["system"]), row["seed"]


def _or_empty(row: Record, name: str, template: str) -> str:
    return "" if row.get(name) is None else template.format(row[name])


def _supported(row: Record, name: str, template: str) -> str:
    return _or_empty(row.get("support", {}), name, template)


def _covered(row: Record) -> str:
    shares = [_supported(row, f"covered_{least}", "{:.0%}") for least in (50, 70)]
    return " / ".join(filter(None, shares))


def _levels(row: Record, name: str, beside: Callable[[Record, str], str]) -> str:
    levels = [level for level in row.get("levels", []) if level.get(name) is not None]
    return " / ".join(f"{level[name]:.3f} {beside(level, name)}" for level in levels)


def _error(level: Record, name: str) -> str:
    return f"± {level[f'{name}_error']:.3f}"


def _chance(level: Record, name: str) -> str:
    return f"({level[f'{name}_chance']:.3f})"


def _missing(row: Record) -> str:
    """Return at what a cell was stopped, and why stages of it failed or it has none."""
    if "does_not_apply" in row:
        return f"does not apply: {row['does_not_apply']}"
    told = [f"{stage}: {why}" for stage, why in row["failed"].items()]
    if row["stopped_at"] is not None:
        told.append(f"stopped at {row['stopped_at']} ({row['cell_minutes']:g} min)")
    return "; ".join(told).replace("|", "/")


@benchmark("tree-quality", table)
@options.data
@click.option(
    "--only",
    multiple=True,
    metavar="CORPUS:SYSTEM",
    default=("*:*",),
    help="Cells by pattern, as news:* or *:nhdp-*; repeatable. [default: all]",
)
@click.option("--seed", type=int, multiple=True, default=(0,), show_default=True)
@options.split
@click.option("--cell-minutes", type=float, default=30.0, show_default=True, help="Wall time.")
@click.option("--resamples", type=click.IntRange(min=2), default=2, show_default=True)
@click.option(
    "--graph-tool",
    type=click.Path(exists=True, dir_okay=False),
    help="A python that has graph-tool, for hsbm.",
)
@click.pass_obj
def measure(
    output: Path | None,
    data: Path,
    only: tuple[str, ...],
    seed: tuple[int, ...],
    split: str,
    cell_minutes: float,
    resamples: int,
    graph_tool: str | None,
) -> Iterator[Record]:
    """Truth, support, perplexity, shape and cost of trees; cells in the output file are done.

    A cell that was stopped is done again where the limit is longer now.
    """
    known = [] if output is None else records.read([output], "tree-quality")
    tasks = pending(known, cells(only, seed), cell_minutes)
    click.echo(f"{len(tasks)} cells to measure", err=True)
    limits = Limits(cell_minutes, resamples, graph_tool)
    compiled: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        for corpus, system, number in tasks:
            path = place(data, corpus, Path(scratch))
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                if system not in compiled:
                    compile_kernels(system, SAMPLE, Path(folder) / "compiled")
                    compiled.add(system)
                work = Path(folder) / "cell"
                work.mkdir()
                cell = Cell(path, split, system, number, limits, work)
                found = cell.measured(labelled=corpus in LABELLED)
            yield {
                "corpus": corpus,
                "system": system,
                "seed": number,
                "split": split,
                "chosen_on": CHOSEN_ON.get(corpus, "") if system in CHOSEN else "",
                "cell_minutes": cell_minutes,
                "commit": _commit(),
                **found,
            }


Task = tuple[str, str, int]


def cells(only: Sequence[str], seeds: Sequence[int]) -> list[Task]:
    """Return the cells that patterns of ``CORPUS:SYSTEM`` name; UsageError where one names none."""
    names = [f"{corpus}:{system}" for corpus, system in product(CORPORA, SYSTEMS)]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            told = f"corpora are {', '.join(CORPORA)}; systems are {', '.join(SYSTEMS)}"
            raise click.UsageError(f"--only {pattern} names no CORPUS:SYSTEM; {told}")
    return [
        (corpus, system, seed)
        for seed, system, corpus in product(seeds, SYSTEMS, CORPORA)
        if any(fnmatchcase(f"{corpus}:{system}", pattern) for pattern in only)
    ]


def pending(known: Sequence[Record], wanted: Sequence[Task], minutes: float) -> list[Task]:
    """Return the cells that are not in ``known``, or were stopped at a shorter limit."""
    done = {
        tuple(row[key] for key in KEYS)
        for row in latest(known, *KEYS)
        if row["stopped_at"] is None or row["cell_minutes"] >= minutes
    }
    return [task for task in wanted if task not in done]


def place(data: Path, corpus: str, scratch: Path) -> Path:
    """Return the file of a corpus; one that is made of another is written to ``scratch``."""
    if corpus not in HALVES:
        return data / FILES[corpus]
    path = scratch / f"{corpus}.ldac"
    if not path.exists():
        process.run(process.benchmarks("tree-corpus", data, corpus, path))
    return path


def _commit() -> str:
    state = golden.state_of_checkout()
    return f"{state['commit'][:9]}{'+' if state['changed'] else ''}"
