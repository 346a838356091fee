"""What the protocols and the tasks of ``eval`` have in common: the request and the options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hiertopics.errors import UsageError
from hiertopics.runs.rundir import RunDir


class Request(NamedTuple):
    """What is scored. data: entries of the ``data`` section that describe a corpus file."""

    run: RunDir
    data: Mapping[str, Any]
    workers: int


def choose_options(
    options: Any, given: Mapping[str, Any], data: Mapping[str, Any] | None, owner: str
) -> Any:
    """Return the NamedTuple ``options`` with what was given; None and False are defaults.

    owner: the task or protocol, for messages. Raises UsageError for what has no meaning there.
    """
    chosen = {n: value for n, value in given.items() if value is not None and value is not False}
    for name in chosen:
        if name not in options._fields:
            raise UsageError(f"{_flag(name)} has no meaning for {owner}")
    if data and "corpus" not in chosen:
        raise UsageError(f"{_flag(next(iter(data)))} describes a file; name it with --corpus")
    return options(**chosen)


def not_default(options: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults, as file names show them."""
    defaults = options._field_defaults
    chosen = {n: value for n, value in options._asdict().items() if value != defaults[n]}
    return {name: _shown(name, value) for name, value in chosen.items()}


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _shown(name: str, value: Any) -> Any:
    if name == "corpus":
        return Path(value).name
    return f"{value:g}" if isinstance(value, float) else value
