"""manifest.json: its required entries, and those that describe the run's origin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hiertopics.base import files
from hiertopics.base.errors import RunError
from hiertopics.settings import history

MANIFEST = "manifest.json"
SCHEMA = "hiertopics.run/1"
VERSIONED = ("hiertopics", "numpy", "scipy", "numba")

FILES = "files"
"""The entry of the manifest that holds the seals of the run's files."""

PARENTS = "parents"
"""The entry of a run that was made of others: a record of each (``parent_record``)."""

MADE_BY = "made_by"
"""Beside it, what made the run: the command's words without the runs, such as "merge 3 7"."""

SEALED_FROM = "sealed_from"
"""The iteration from which on checkpoints have a seal: 0, but of a run that a program of before
there were seals began the first one that was done since. That program's runs have no such entry."""

FITTED = ("refit", "update")
"""Commands that fit their new runs, so that ``fit`` can continue these."""

CONTINUED = "update"
"""The one of them whose fits begin where another run ended."""

Entry = Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _names_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _describes_corpus(value: Any) -> bool:
    prints, sizes = (
        ("fingerprint", "text_fingerprint"),
        ("n_docs", "n_empty", "n_words", "n_tokens"),
    )
    return (
        isinstance(value, dict)
        and all(_is_text(value.get(name)) for name in prints)
        and all(value.get(name) is None or _is_size(value[name]) for name in sizes)
    )


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


ENTRIES: Mapping[str, Entry] = {
    "backend": _is_text,
    "status": lambda value: value in ("running", "stopped", "done", "failed"),
    "corpus": _describes_corpus,
    "split": _is_text,
    "iterations": lambda value: isinstance(value, int) and value >= 0,
    "objective": lambda value: value is None or is_number(value),
    "wall_seconds": is_number,
    "peak_memory_bytes": is_number,
}
"""Entries that every manifest has, and what tells that one is sound."""


SOMETIMES: Mapping[str, Entry] = {
    FILES: _names_texts,
    PARENTS: lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    MADE_BY: _is_text,
    SEALED_FROM: _is_size,
}
"""Entries that only some manifests have, likewise."""


def has_manifest(folder: Path) -> bool:
    """Tell whether a fit has begun in a folder."""
    return os.path.isfile(folder / MANIFEST)  # False, too, for a name that is too long


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run; RunError where it is missing or damaged."""
    path = files.inside(folder, MANIFEST)
    with files.readable(path, OSError, ValueError, RecursionError):
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        found = manifest.get("schema") if isinstance(manifest, dict) else None
        raise RunError(f"{path} is damaged: its schema is {found!r}, not {SCHEMA!r}")
    missing = [key for key in ENTRIES if key not in manifest]
    if missing:
        raise RunError(f"{path} is damaged: it has no {', '.join(missing)}")
    wanted = {**ENTRIES, **{key: sound for key, sound in SOMETIMES.items() if key in manifest}}
    for key, is_sound in wanted.items():
        if not is_sound(manifest[key]):
            shown = files.to_json(manifest[key])
            raise RunError(f"{path} is damaged: its entry {key} cannot be {shown:.40}")
    return manifest


def settings_version(folder: Path, manifest: Mapping[str, Any]) -> int:
    """Return the number of the defaults that a run was made under (``settings.history``).

    Raises RunError where the manifest has none that can be.
    """
    first = history.FIRST
    number = manifest.get("settings", first)
    if not isinstance(number, int) or number < first:
        path = folder / MANIFEST
        raise RunError(f"{path} is damaged: settings is {number!r}, no number from {first}")
    return number


def added_packages(manifest: Mapping[str, Any]) -> list[str]:
    """Return the packages, with versions, that added the backend or the format of a run."""
    versions = manifest.get("versions")
    named = versions.items() if isinstance(versions, Mapping) else ()
    return [f"{name} {number}" for name, number in named if name not in ("python", *VERSIONED)]
