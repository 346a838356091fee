"""The files that belong to a corpus because of their names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hiertopics.formats.source import unpacked


def stem(path: Path) -> str:
    """Return X of corpus X: no compression suffix, no suffix; the middle of ``docword.X.txt``."""
    if path.is_dir() and not path.name.endswith(".shards"):
        return path.name
    name = unpacked(path.name)
    return name.removeprefix("docword.").rpartition(".")[0] or name


def beside(path: Path, ending: str) -> Path:
    """Return the path of ``X<ending>`` beside corpus X."""
    return path.parent / (stem(path) + ending)


def find_vocabulary(path: Path, *, unnamed: bool = True) -> Path | None:
    """Return the vocabulary of corpus X; the file that is named most like X wins.

    unnamed: take ``vocab.txt`` too, which names no corpus at all, as the last resort.
    """
    names = vocabulary_names(path)
    return _first(path, [*names, "vocab.txt"] if unnamed else names)


def vocabulary_names(path: Path) -> list[str]:
    """Return the names that the vocabulary of corpus X may have, ``vocab.txt`` left out."""
    return [
        name
        for x in _stems(path)
        for name in (f"{x}.vocab", f"{x}.tokens", f"vocab.{x}.txt", f"{x}.vocab.gz")
    ]


def find_groups(path: Path) -> Path | None:
    """Return ``X.authors`` if it exists. Names are not cut here: a line belongs to a document."""
    return _first(path, [stem(path) + ".authors"])


def find_labels(path: Path, *, columns: bool = False) -> Path | None:
    """Return ``X.labels`` or ``X.labels.gz`` if one exists.

    columns: else ``X.xml``, which names the label columns of a table, X cut as for vocabularies.
    """
    names = [stem(path) + ".labels", stem(path) + ".labels.gz"]
    return _first(path, names + [f"{x}.xml" for x in _stems(path)] if columns else names)


def names_columns(path: Path) -> bool:
    """Tell whether a labels file names columns of a table: XML as MULAN writes it."""
    return unpacked(path.name).lower().endswith(".xml")


def _stems(path: Path) -> list[str]:
    """Return X, and X cut at its last ``-`` or ``.``."""
    full = stem(path)
    cut = full[: max(full.rfind("-"), full.rfind("."), 0)]
    return [full, cut] if cut else [full]


def _first(path: Path, names: Iterable[str]) -> Path | None:
    candidates = (path.parent / name for name in names)
    return next((candidate for candidate in candidates if candidate.is_file()), None)
