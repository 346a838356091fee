"""What the protocols and the tasks of ``eval`` have in common: the request and the options."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from hiertopics.corpora.observations import refuse_other_kind
from hiertopics.errors import UsageError
from hiertopics.runs.experiment import experiment_of
from hiertopics.runs.rundir import RunDir


class Request(NamedTuple):
    """What is scored. data: entries of the ``data`` section that describe a corpus file."""

    run: RunDir
    data: Mapping[str, Any]
    workers: int


def answer(
    request: Request, kind: str, name: str, homes: Mapping[str, str], given: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Have a protocol or a task score the run; return its options and its result.

    kind: "protocol" or "task", of which ``homes`` names the modules. given: options; None and
    False are defaults. Raises UsageError for an unknown name, for a run of other data, and for
    what has no meaning there.
    """
    if name not in homes:
        raise UsageError(f"unknown {kind} {name!r}; there are {', '.join(homes)}")
    module, owner = import_module(homes[name]), f"{kind} {name}"
    refuse_other_kind(experiment_of(request.run), module, owner)
    options = choose_options(module.Options, given, request.data, owner)
    return options, module.score(request, options)


def choose_options(
    options: Any, given: Mapping[str, Any], data: Mapping[str, Any], owner: str
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
