"""The model card of a report: model, corpus, settings, scores, and a citation."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hiertopics.contract import registry
from hiertopics.corpus.corpora.dataset import corpus_name
from hiertopics.corpus.data.tree import Labels
from hiertopics.corpus.formats.source import unpacked
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.runs.manifest import MADE_BY, PARENTS
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.scorefiles import kept_scores
from hiertopics.settings.config import Experiment
from hiertopics.views.report.agreement import TASK

MOST_POINTS = 400
FILES = ("corpus", "vocab", "groups", "labels", "stop_words")
OF_CORPUS = ("n_docs", "n_empty", "n_words", "n_tokens", "fingerprint")
PRIVATE = ("run", "corpus")
"""Entries of a score that tell where files lie on somebody's machine."""


def card_of(run: RunDir) -> dict[str, Any]:
    """Return the card of a run; it has no path of the machine that made the run.

    Raises RunError where the run is damaged.
    """
    manifest, experiment = run.manifest, run.experiment
    split, name = run.split, corpus_name(str(experiment.data.corpus))
    settings = _settings(experiment)
    return {
        "title": name,
        "backend": manifest["backend"],
        "about": registry.entry(experiment.backend).summary,
        "paper": registry.entry(experiment.backend).paper,
        "status": manifest["status"],
        "seed": experiment.seed,
        "iterations": manifest["iterations"],
        "seconds": manifest["wall_seconds"],
        "memory": manifest["peak_memory_bytes"],
        "objective": {
            "name": manifest.get("objective_name", "objective"),
            "value": manifest["objective"],
        },
        "trace": _trace(run),
        "corpus": {key: manifest["corpus"].get(key) for key in OF_CORPUS},
        "split": {
            "spec": experiment.data.holdout,
            "hash": manifest["split"],
            "n_train": len(split.train_docs),
            "n_heldout": len(split.heldout_docs),
            "n_heldout_tokens": int(split.heldout.sum()) if len(split.heldout.data) else 0,
        },
        "scores": [
            {key: value for key, value in record.items() if key not in PRIVATE}
            for record in kept_scores(run)
            if record.get("task") != TASK  # which has a part of its own
        ],
        "diagnostics": manifest.get("diagnostics"),
        "settings": settings,
        "versions": manifest.get("versions", {}),
        "made_by": manifest.get(MADE_BY),
        "parents": [str(parent.get("run")) for parent in manifest.get(PARENTS, ())],
        "command": _command(experiment, settings, manifest),
    }


def key_of(run: RunDir, labels: Labels) -> str:
    """Return the key of a page: names given in it are stored under this key.

    A page made with other names, or of a run that was made of this one, has another key.
    """
    manifest = run.manifest
    parts = [str(manifest["corpus"]["fingerprint"])[:16], str(manifest.get("config"))[:16]]
    made_by = manifest.get(MADE_BY)
    if labels or made_by is not None:
        told = repr((made_by, sorted(labels.items())))
        parts.append(hashlib.blake2b(told.encode(), digest_size=8).hexdigest())
    return "-".join(parts)


def _settings(experiment: Experiment) -> list[list[Any]]:
    """Return [key, value, default] of each setting that is not the default; of files the name."""
    found: list[list[Any]] = []
    for section in ("data", "model", "inference", "output"):
        record = getattr(experiment, section)
        now, default = (msgspec.to_builtins(one) for one in (record, type(record)()))
        for key, value in now.items():
            if repr(value) == repr(default[key]) or (section == "data" and _is_found(now, key)):
                continue
            is_file = section == "data" and key in FILES and value is not None
            told = Path(value).name if is_file else value
            found.append([f"{section}.{key}", told, default[key]])
    return found


def _is_found(data: Mapping[str, Any], key: str) -> bool:
    """Tell whether an entry is the corpus, or a file that a fit finds by the corpus's name."""
    corpus, value = Path(str(data["corpus"])), data[key]
    if key == "from":
        patterns = FORMATS[value].patterns if value in FORMATS else ()
        return any(fnmatchcase(unpacked(corpus.name).lower(), pattern) for pattern in patterns)
    if key not in ("vocab", "groups", "labels") or value is None:
        return key == "corpus"
    beside = Path(str(value))
    return beside.parent == corpus.parent and beside.name.startswith(corpus_name(str(corpus)))


def _command(experiment: Experiment, settings: list[list[Any]], manifest: Mapping[str, Any]) -> str:
    """Return a command that makes this run again, its corpus or parents in the current folder."""
    if MADE_BY in manifest:
        command, *others = str(manifest[MADE_BY]).split()
        names = [shlex.quote(str(parent.get("run"))) for parent in manifest.get(PARENTS, ())]
        return " ".join(["hiertopics", command, *names, *others, "-o RUN"])
    words = ["hiertopics fit", shlex.quote(Path(str(experiment.data.corpus)).name)]
    words += ["-b", experiment.backend, "--seed", str(experiment.seed)]
    for key, value, _ in settings:
        words += ["-s", shlex.quote(f"{key}={_told(value)}")]
    return " ".join(words)


def _told(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _trace(run: RunDir) -> dict[str, list[float | None]]:
    """Return the columns of the recorded iterations that are one number each, thinned."""
    rows = run.metrics()
    if len(rows) > MOST_POINTS:
        chosen = np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))
        rows = [rows[place] for place in chosen]
    names = [
        name
        for name in (rows[-1] if rows else {})
        if all(isinstance(row.get(name), int | float | None) for row in rows)
    ]
    return {name: [row.get(name) for row in rows] for name in names if name != "seconds"}
