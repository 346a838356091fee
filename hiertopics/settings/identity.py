"""The settings that identify a fit: their hash, and the differences of two experiments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from hiertopics.settings.config import Experiment
from hiertopics.settings.fields import show


def config_hash(experiment: Experiment) -> str:
    """Return a SHA-256 of everything here that changes the numbers of a fit.

    ``inference.iterations``, ``output.checkpoint_seconds`` and the paths under ``data`` do not
    count: more iterations extend a run, and what the files hold is in the corpus fingerprint.
    """
    text = json.dumps(_identity(experiment), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def differing_keys(run: Experiment, now: Experiment) -> list[str]:
    """Return a line for each key that makes the two hashes differ, with both values."""
    old, new = _identity(run), _identity(now)
    return [
        f"{key}: {_told(old[key]) if key in old else 'absent'} in the run, "
        f"{_told(new[key]) if key in new else 'absent'} now"
        for key in {**old, **new}
        if key not in old or key not in new or repr(old[key]) != repr(new[key])
    ]


def _told(value: object) -> str:
    """Return a value as it would be typed; of a mapping every key, of a list every entry."""
    if not isinstance(value, Mapping):
        return _listed(value)
    parts = (f"{key}: {_listed(part)}" for key, part in value.items())
    return f"{{{', '.join(parts)}}}"


def _listed(value: object) -> str:
    """Return a value as it would be typed; of a list every entry."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else show(value)


_NO_IDENTITY = {
    "inference.iterations",
    "output.checkpoint_seconds",
    *(f"data.{name}" for name in ("corpus", "vocab", "groups", "labels", "snippets", "metadata")),
}


def _identity(experiment: Experiment) -> dict[str, object]:
    """Return the keys that count, dotted, as plain values."""
    keys: dict[str, object] = {"backend": experiment.backend, "seed": experiment.seed}
    for name in ("data", "model", "inference", "output"):
        section = getattr(experiment, name)
        # Read once more, because a struct made by hand may hold 1 where 1.0 is meant.
        plain = msgspec.convert(msgspec.to_builtins(section), type(section))
        keys |= {f"{name}.{key}": value for key, value in msgspec.to_builtins(plain).items()}
    return {key: value for key, value in keys.items() if key not in _NO_IDENTITY}
