"""The folder of a record: a file for each cell, all of one version and of one way of measuring.

``cells/CORPUS/SYSTEM/SEED.json`` appears whole or not at all. This module stays free of numpy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks.process import ROOT
from benchmarks.records import Record

MEASURING = (
    "foreign/*.py",
    "foldin.py",
    "peers.py",
    "process.py",
    "record_scores.py",
    "scorer.py",
    "splits.py",
    "systems.py",
    "tomotopy_tree.py",
    "tree_makers.py",
)
"""Modules of the benchmarks that decide what a figure is."""

NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""What names of corpora and systems are: they are names of folders, too."""

LENGTH = 9


class Shared(NamedTuple):
    """What all rows of a record have in common.

    commit: the last one that changed the program, with ``+`` and a hash of changes that were not
    committed. measured_by: a hash of the modules that measure. split, resamples: the settings.
    """

    commit: str
    measured_by: str
    split: str
    resamples: int


def shared(split: str, resamples: int) -> Shared:
    """Return what rows have that are measured now."""
    commit = _git("log", "-1", f"--abbrev={LENGTH}", "--format=%h", "--", "hiertopics")
    changed = _git("diff", "HEAD", "--", "hiertopics")
    if changed:
        commit += f"+{hashlib.sha256(changed.encode()).hexdigest()[:LENGTH]}"
    return Shared(commit, measured_by(), split, resamples)


def measured_by() -> str:
    """Return a hash of the modules that measure."""
    found = hashlib.sha256()
    for pattern in MEASURING:
        for path in sorted((ROOT / "benchmarks").glob(pattern)):
            found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:LENGTH]


def _git(*words: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"the record needs a git checkout: {done.stderr.strip()}")
    return done.stdout.strip()


class Store:
    """The cells of a record on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; ClickException if another process does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise click.ClickException(f"{self.folder} is being written already") from error
            yield

    def read(self) -> list[Record]:
        """Return all cells, in the order of their names."""
        files = sorted((self.folder / "cells").glob("*/*/*.json"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def write(self, cell: Record) -> None:
        """Write a cell, or replace it: a reader finds the old one, the new one, nothing else."""
        file = self.folder / "cells" / cell["corpus"] / cell["system"] / f"{cell['seed']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        with open(partial, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(cell) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)


def strangers(cells: Sequence[Record], now: Shared) -> list[Record]:
    """Return the cells that cannot stand in one table with those of now."""
    return [cell for cell in cells if Shared(*(cell[name] for name in Shared._fields)) != now]
