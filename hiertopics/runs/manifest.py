"""manifest.json: what it must hold, and what of it says what the run was made from."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hiertopics import files
from hiertopics.data.shelf import Bags
from hiertopics.data.vectors import Vectors
from hiertopics.errors import ConfigError, RunError, UsageError
from hiertopics.formats.source import FORMATS
from hiertopics.formats.words import tokenizer_hash
from hiertopics.registry import BACKENDS
from hiertopics.settings import history
from hiertopics.settings.config import Experiment
from hiertopics.settings.identity import config_hash, differing_keys

if TYPE_CHECKING:
    from hiertopics.runs.rundir import RunDir

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
"""Commands that fit what they make, so that ``fit`` can go on with it."""

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
    prints = ("fingerprint", "text_fingerprint")
    return isinstance(value, dict) and all(_is_text(value.get(name)) for name in prints)


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
    SEALED_FROM: lambda value: type(value) is int and value >= 0,
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
    """Return the number of the defaults that a run was made under (``settings.history``)."""
    first = history.FIRST
    number = manifest.get("settings", first)
    if not isinstance(number, int) or number < first:
        path = folder / MANIFEST
        raise RunError(f"{path} is damaged: settings is {number!r}, no number from {first}")
    return number


def parent_record(run: RunDir) -> dict[str, Any]:
    """Return what a run that is made of ``run`` says of it: its name, how it was fitted, its seal.

    Keys: run (the name of its folder), backend, seed, config (the hash), model (the seal of
    model.npz).
    """
    manifest = run.manifest
    kept = {key: manifest.get(key) for key in ("backend", "seed", "config")}
    name = run.path.name or run.path.absolute().name
    return {"run": name, **kept, "model": run.seals(["model.npz"])["model.npz"]}


def lineage(parents: Sequence[RunDir], made_by: str) -> dict[str, Any]:
    """Return the entries of a run that was made of others by a command."""
    return {PARENTS: [parent_record(run) for run in parents], MADE_BY: made_by}


def refuse_unfitted(run: RunDir) -> None:
    """Raise UsageError where a run was made of others without a fit that could go on."""
    command = str(run.manifest.get(MADE_BY, FITTED[0])).partition(" ")[0]
    if command not in FITTED:
        names = ", ".join(str(parent.get("run")) for parent in run.manifest.get(PARENTS, ()))
        names = names or "files"
        raise UsageError(
            f"{run.path} was made by {command} of {names}: there is no fit to go on with; "
            "choose another -o"
        )


def refuse_begun_elsewhere(run: RunDir) -> None:
    """Raise UsageError where a run that has no checkpoint began where another one ended."""
    made_by = str(run.manifest.get(MADE_BY, ""))
    if made_by.partition(" ")[0] == CONTINUED:
        raise UsageError(
            f"{run.path} came to no checkpoint yet; give the command {CONTINUED} again, which "
            "knows where it begins"
        )


class Origin(NamedTuple):
    """What a run was made from. whole: before the split, train: after it; split: its hash.

    lineage: entries on the runs that it was made of, if there are any.
    """

    experiment: Experiment
    whole: Bags | Vectors
    train: Bags | Vectors
    split: str
    argv: Sequence[str]
    lineage: Mapping[str, Any] = MappingProxyType({})

    def described(self) -> dict[str, Any]:
        """Return the entries that stay as they are until the fit ends."""
        return {
            "schema": SCHEMA,
            "backend": self.experiment.backend,
            "argv": list(self.argv),
            "seed": self.experiment.seed,
            "versions": _versions(self.experiment),
            "corpus": {
                "fingerprint": self.whole.fingerprint,
                "text_fingerprint": self.whole.text_fingerprint,
                "n_docs": self.train.n_docs,
                "n_empty": self.train.n_empty,
                "n_words": self.train.n_words,
                "n_tokens": self.train.n_tokens,
                **_tokenizer(self.experiment),
            },
            "split": self.split,
            "config": config_hash(self.experiment),
            "settings": history.version(),
            **self.lineage,
        }

    def refuse_other(self, run: RunDir) -> None:
        """Raise ConfigError where a run was made under another config or from another corpus.

        Raises UsageError where no fit made it.
        """
        refuse_unfitted(run)
        name = run.manifest["backend"]
        if name != self.experiment.backend:
            problems = [f"backend: {name} in the run, {self.experiment.backend} now"]
        else:
            problems = differing_keys(run.experiment, self.experiment)
        fitted = run.manifest["corpus"]["fingerprint"]
        if not problems and fitted != self.whole.fingerprint:
            problems = ["data.corpus: the run was fitted to a corpus with other contents"]
        if problems:
            raise ConfigError(
                [f"{run.path} is a run with another config; choose another -o", *problems]
            )


def _tokenizer(experiment: Experiment) -> dict[str, Any]:
    """Return what cut the texts, where that was code of the user's: its name and its hash."""
    name = experiment.data.tokenizer
    return {} if name is None else {"tokenizer": name, "tokenizer_hash": tokenizer_hash(name)}


def peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def added_packages(manifest: Mapping[str, Any]) -> list[str]:
    """Return the packages, with versions, that added the backend or the format of a run."""
    versions = manifest.get("versions")
    named = versions.items() if isinstance(versions, Mapping) else ()
    return [f"{name} {number}" for name, number in named if name not in ("python", *VERSIONED)]


def _versions(experiment: Experiment) -> dict[str, str]:
    """Return versions by package; packages that add the backend or the format are among them."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    used = ((BACKENDS, experiment.backend), (FORMATS, str(experiment.data.from_)))
    for table, name in used:
        if name in table and table.package_of(name):
            found[table.package_of(name)] = table.version_of(name)
    return found


def refuse_unlike(runs: Sequence[RunDir], command: str) -> None:
    """Raise UsageError where runs are not of one tree backend, corpus and split, or too few."""
    if len(runs) < 2:
        raise UsageError(f"{command} takes two runs or more: a tree, and others of the same split")
    for run in runs:
        if run.tree.vectors is not None or run.tree.is_flat:
            raise UsageError(f"{run.path} has no tree of words: {command} compares nodes by depth")
    same = {
        "backend": [str(run.manifest["backend"]) for run in runs],
        "corpus": [str(run.manifest["corpus"]["fingerprint"]) for run in runs],
        "split": [run.split.hash for run in runs],
    }
    for what, values in same.items():
        if len(set(values)) > 1:
            pairs = zip(runs, values, strict=True)
            listed = ", ".join(f"{run.path} has {value}" for run, value in pairs)
            raise UsageError(f"these runs are not of the same {what}: {listed}")
