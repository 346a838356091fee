"""The record: every system on every corpus, by one version and one way of measuring.

A cell is a corpus, a system and a seed. All of its work is done in child processes within a limit
of wall time; what was stopped, failed or is not installed is a cell like any other. This module
starts processes and so stays free of numpy until all is measured.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click

from benchmarks import machine, options, process
from benchmarks.corpora import FILES
from benchmarks.process import ROOT
from benchmarks.record_store import NAME, Shared, Store, shared, strangers
from benchmarks.records import Record, latest
from benchmarks.systems import (
    NULL,
    STANDARD,
    STEADY,
    Cell,
    Limits,
    Place,
    Programs,
    compile_kernels,
    digest,
)

HALVES = ("news", "rest")
"""Corpora that are made of 20 Newsgroups."""

CORPORA = ("debian", "psychreview", "reuters-395", "news", "kos", "ap", "nips", "rest")
CHOSEN_ON = {"news": "yes", "psychreview": "yes", "debian": "some", "kos": "some", "ap": "some"}
"""Corpora on which settings of ``nhdp-*`` were chosen: docs/nhdp-evidence.md."""

CHOSEN = ("nhdp-variational", "nhdp-gibbs")
KEYS = ("corpus", "system", "seed")
SAMPLE = ROOT / "data-samples" / "planted.ldac"
MISSING = "not installed: "


class Task(NamedTuple):
    """A cell to measure."""

    corpus: str
    system: str
    seed: int


class Plan(NamedTuple):
    """How cells are measured."""

    shared: Shared
    limits: Limits
    programs: Programs


@click.command("record")
@click.argument("data", type=options.FOLDER, required=False)
@click.option("-o", "--output", type=options.NEW_FOLDER, required=True, help="Folder of the cells.")
@click.option(
    "--only",
    multiple=True,
    metavar="CORPUS:SYSTEM",
    default=("*:*",),
    help="Cells by pattern, as news:* or *:nhdp-*; repeatable. [default: all]",
)
@click.option(
    "--corpora", type=options.FOLDER, help="Also each NAME.ldac or NAME.ldac.gz of this folder."
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME=COMMAND",
    help="Also a system: COMMAND is given CORPUS.ldac FOLDER SEED; repeatable.",
)
@click.option("--seeds", default=1, show_default=True, help="Seeds of systems that draw: 0, 1, ...")
@options.split
@click.option("--cell-minutes", type=float, default=30.0, show_default=True, help="Wall time.")
@click.option("--resamples", type=click.IntRange(min=2), default=2, show_default=True)
@click.option("--graph-tool", type=options.FILE, help="A python that has graph-tool, for hsbm.")
@click.option("--bertopic", type=options.FILE, help="A python that has bertopic.")
@click.option("--topmost", type=options.FILE, help="A python that has topmost, for traco.")
@click.option("--embeddings", type=options.FOLDER, help="Folder of CORPUS.npy, for bertopic.")
@click.option("--hca", type=options.FILE, help="Buntine's program hca.")
@click.option("--anew", is_flag=True, help="Replace cells of another commit or way of measuring.")
def measure(
    data: Path | None,
    output: Path,
    only: tuple[str, ...],
    corpora: Path | None,
    systems: tuple[str, ...],
    seeds: int,
    split: str,
    cell_minutes: float,
    resamples: int,
    anew: bool,
    **programs: Any,
) -> None:
    """Measure every system on every corpus; cells that the folder holds are done.

    A cell that was stopped is measured again under a longer limit, one of a program that was not
    installed each time. The folder's record.csv and record.html are written at the end.
    """
    commands = dict(stranger(word) for word in systems)
    given = {name: str(path) for name, path in programs.items() if path is not None}
    plan = Plan(
        shared(split, resamples),
        Limits(cell_minutes, resamples),
        Programs(commands=commands, **given),
    )
    files = places(data, corpora)
    store = Store(output)
    with store.locked():
        tasks = cells(only, tuple(files), (*commands, *STANDARD), seeds)
        tasks = pending(agreed(store, plan.shared, tasks, anew=anew), tasks, cell_minutes)
        click.echo(f"{len(tasks)} cells to measure", err=True)
        _measure_all(store, plan, data, files, tasks)
        write_tables(store)


def stranger(word: str) -> tuple[str, list[str]]:
    """Return name and command of NAME=COMMAND; UsageError for what is none."""
    name, equals, command = word.partition("=")
    words = shlex.split(command)
    if not equals or not words or not NAME.fullmatch(name) or name.endswith(NULL):
        raise click.UsageError(f"--system {word} is no NAME=COMMAND; a name is like my-trees")
    if name in STANDARD:
        raise click.UsageError(f"--system {name}: there is a system of this name already")
    return name, words


def places(data: Path | None, corpora: Path | None) -> dict[str, Path | None]:
    """Return the files of all corpora that are there; None for one that is made of another."""
    found: dict[str, Path | None] = {}
    if data is not None:
        files = {name: data / FILES["20newsgroups" if name in HALVES else name] for name in CORPORA}
        there = [name for name, file in files.items() if file.exists()]
        found = {name: None if name in HALVES else files[name] for name in there}
    if corpora is not None:
        own = [*corpora.glob("*.ldac"), *corpora.glob("*.ldac.gz")]
        for file in sorted(own):
            name = file.name.removesuffix(".gz").removesuffix(".ldac")
            if name in found or not NAME.fullmatch(name):
                raise click.UsageError(f"{file}: call it otherwise; {name} is no new name")
            found[name] = file
    if not found:
        raise click.UsageError("there is no corpus: name DATA, or --corpora with NAME.ldac files")
    return found


def cells(
    only: Sequence[str], corpora: Sequence[str], systems: Sequence[str], seeds: int
) -> list[Task]:
    """Return the cells that patterns of ``CORPUS:SYSTEM`` name; UsageError where one names none.

    A system may stand in a pattern with ``-null`` behind its whole name. Systems that draw nothing
    have the first seed alone.
    """
    nulls = [name for name in (f"{system}{NULL}" for system in systems) if name not in systems]
    for pattern in only:
        every = product(corpora, (*systems, *nulls))
        if not any(fnmatchcase(f"{corpus}:{system}", pattern) for corpus, system in every):
            told = f"corpora are {', '.join(corpora)}; systems are {', '.join(systems)}"
            raise click.UsageError(f"--only {pattern} names no CORPUS:SYSTEM; {told}")
    asked = [name for name in nulls if any(one.endswith(f":{name}") for one in only)]
    return [
        Task(corpus, system, seed)
        for seed, system, corpus in product(range(seeds), (*systems, *asked), corpora)
        if (seed == 0 or system.removesuffix(NULL) not in STEADY)
        and any(fnmatchcase(f"{corpus}:{system}", pattern) for pattern in only)
    ]


def agreed(store: Store, now: Shared, tasks: Sequence[Task], *, anew: bool) -> list[Record]:
    """Return the cells of the folder that stand; ClickException where others would be mixed in.

    anew: cells of another commit are not looked at, where all of them are to be measured again.
    """
    known = store.read()
    others = strangers(known, now)
    kept = [cell for cell in others if not anew or Task(*(cell[key] for key in KEYS)) not in tasks]
    if kept:
        told = dict.fromkeys(Shared(*(cell[name] for name in Shared._fields)) for cell in kept)
        text = "; ".join(" ".join(map(str, one)) for one in told)
        way = "they are outside --only" if anew else "take another folder, or give --anew"
        held = f"{store.folder} holds {len(kept)} cells of {text}"
        raise click.ClickException(f"{held}, now {' '.join(map(str, now))}: {way}")
    return [cell for cell in known if cell not in others]


def pending(known: Sequence[Record], wanted: Sequence[Task], minutes: float) -> list[Task]:
    """Return the cells that are not in ``known``, were stopped earlier, or lacked a program."""
    done = {
        Task(*(row[key] for key in KEYS))
        for row in latest(known, *KEYS)
        if (row["stopped_at"] is None or row["cell_minutes"] >= minutes)
        and not row["failed"].get("fit", "").startswith(MISSING)
    }
    return [task for task in wanted if task not in done]


def _measure_all(
    store: Store,
    plan: Plan,
    data: Path | None,
    files: Mapping[str, Path | None],
    tasks: Sequence[Task],
) -> None:
    scratch = store.folder / "work"
    shutil.rmtree(scratch, ignore_errors=True)  # of a call that was killed
    scratch.mkdir()
    compiled: set[str] = set()
    for number, task in enumerate(tasks):
        click.echo(f"{number + 1}/{len(tasks)} {':'.join(map(str, task))}", err=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            if task.system not in compiled:
                compile_kernels(task.system, SAMPLE, Path(folder) / "compiled")
                compiled.add(task.system)
            path = prepared(data, task, files[task.corpus], scratch)
            store.write(_measured(plan, Place(task.corpus, path), task, Path(folder)))
    shutil.rmtree(scratch)


def _measured(plan: Plan, place: Place, task: Task, folder: Path) -> Record:
    work = folder / "cell"
    work.mkdir()
    before = os.getloadavg()[0]
    cell = Cell(place, plan.shared.split, task.system, task.seed, plan.limits, plan.programs, work)
    found = cell.measured()
    return {
        **task._asdict(),
        **plan.shared._asdict(),
        "chosen_on": CHOSEN_ON.get(task.corpus, "") if task.system in CHOSEN else "",
        "cell_minutes": plan.limits.minutes,
        "load": round(max(before, os.getloadavg()[0]), 2),
        "corpus_sha256": digest(place.path),
        **found,
        "machine": machine.describe(),
    }


def prepared(data: Path | None, task: Task, file: Path | None, scratch: Path) -> Path:
    """Return the file of a cell's corpus; what is made of another is written to ``scratch``."""
    if file is None:
        file = scratch / f"{task.corpus}.ldac"
        if not file.exists():
            process.run(process.benchmarks("tree-corpus", str(data), task.corpus, file))
    if not task.system.endswith(NULL):
        return file
    dealt = scratch / f"{task.corpus}{NULL}.ldac"
    if not dealt.exists():
        process.run(process.benchmarks("tree-shuffled", file, dealt))
    return dealt


def write_tables(store: Store) -> None:
    """Write record.csv and record.html of all cells into the folder."""
    from benchmarks import record_page, record_table  # import numpy

    cells = store.read()
    rows = record_table.rows(cells)
    record_table.write_csv(rows, store.folder / "record.csv")
    record_page.write(rows, store.folder / "record.html")
    click.echo(f"{store.folder / 'record.csv'}\n{store.folder / 'record.html'}")
