"""Guesses of the run that was meant by a path at which there is none."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import count
from pathlib import Path

from hiertopics.base.errors import UsageError
from hiertopics.base.visible import typed
from hiertopics.corpus.formats.plaintexts import SUFFIXES
from hiertopics.corpus.formats.source import FOLDER
from hiertopics.corpus.formats.table import format_of
from hiertopics.runs.manifest import MANIFEST, has_manifest

ALIKE = 0.75
"""How much of a name a misspelt one must share."""


def meant_by(path: Path, root: Path) -> str:
    """Return what to do about a path that is no run, in words after "is not a run: ".

    root: where runs are by default.
    """
    above = next((one for one in path.absolute().parents[:2] if has_manifest(one)), None)
    if path.exists() and above is not None:
        return f"it is a part of the run {typed(_short(above))}"
    if path.is_dir() and (newest := _newest_in(path)) is not None:
        return f"it is a folder of runs, such as {typed(str(newest))}"
    if _is_corpus(path):
        return f"it is a corpus; hiertopics fit {typed(str(path))} makes a run of it first"
    if path.exists():
        return f"it has no {MANIFEST}; make one with 'fit'"
    folder = root if path.parent == Path() else path.parent
    names = [one.parent.name for one in folder.glob(f"*/{MANIFEST}")]
    if near := get_close_matches(path.name, names, n=1, cutoff=ALIKE):
        return f"there is nothing; did you mean {typed(str(folder / near[0]))}?"
    return f"it has no {MANIFEST}; make one with 'fit'"


def _newest_in(folder: Path) -> Path | None:
    """Return the run in a folder whose manifest changed last."""
    manifests = list(folder.glob(f"*/{MANIFEST}"))
    return max(manifests, key=lambda one: one.stat().st_mtime_ns).parent if manifests else None


def _is_corpus(path: Path) -> bool:
    """Tell whether a file or a folder goes by the name of a corpus; of a folder, by its texts."""
    if not path.exists():
        return False
    try:
        form = format_of(path, None)
    except UsageError:
        return False
    every = (suffix for suffixes in SUFFIXES for suffix in suffixes)
    return form != FOLDER or any(any(path.glob(f"*{suffix}")) for suffix in every)


def _short(path: Path) -> str:
    """Return a path from the current folder, where it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def another_output(path: Path | str) -> str:
    """Return advice to choose another ``-o`` than ``path``, with a folder that is free."""
    taken = Path(path)
    names = (taken.with_name(f"{taken.name}-{number}") for number in count(2))
    free = next(name for name in names if not name.exists())
    return f"choose another -o, such as -o {typed(str(free))}"
