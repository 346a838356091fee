"""The files that belong to a corpus because of their names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hiertopics.formats.source import unpacked


def stem(path: Path) -> str:
    """Return X of corpus X: no compression suffix, no suffix; the middle of ``docword.X.txt``."""
    if path.is_dir():
        return path.name
    name = unpacked(path.name)
    return name.removeprefix("docword.").rpartition(".")[0] or name


def beside(path: Path, ending: str) -> Path:
    """Return the path of ``X<ending>`` beside corpus X."""
    return path.with_name(stem(path) + ending)


def find_vocabulary(path: Path) -> Path | None:
    """Return the vocabulary of corpus X; the file that is named most like X wins.

    ``vocab.txt`` names no corpus at all, so it is the last resort.
    """
    full = stem(path)
    cut = full[: max(full.rfind("-"), full.rfind("."), 0)]
    names = [
        name
        for x in (full, cut)
        if x
        for name in (f"{x}.vocab", f"{x}.tokens", f"vocab.{x}.txt", f"{x}.vocab.gz")
    ]
    return _first(path, [*names, "vocab.txt"])


def find_groups(path: Path) -> Path | None:
    """Return ``X.authors`` if it exists. Names are not cut here: a line belongs to a document."""
    return _first(path, [stem(path) + ".authors"])


def find_labels(path: Path) -> Path | None:
    """Return ``X.labels`` or ``X.labels.gz`` if one exists."""
    return _first(path, [stem(path) + ".labels", stem(path) + ".labels.gz"])


def _first(path: Path, names: Iterable[str]) -> Path | None:
    candidates = (path.with_name(name) for name in names)
    return next((candidate for candidate in candidates if candidate.is_file()), None)
