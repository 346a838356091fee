"""Shared code of the protocols and tasks of ``eval``: request, options, results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

from hiertopics.base.errors import NumericalError, UsageError
from hiertopics.contract.engine import Engine
from hiertopics.contract.observed import refuse_other_kind
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import ARITHMETIC, blamed

ResultT = TypeVar("ResultT")

Metrics = Mapping[str, Any]
"""Numbers by name, None where there is none; or ``levels``, a record of numbers for each."""


class Request(NamedTuple):
    """A request for scores. data: entries of the ``data`` section that describe a corpus file."""

    run: RunDir
    data: Mapping[str, Any]
    engine: Engine


class HeldoutResult(NamedTuple):
    """The fields of a protocol's record, and the arrays that it can be recomputed from.

    split: hash of the split scored on. of_words: whether topic quality belongs into the record.
    """

    metrics: Mapping[str, Any]
    split: str
    arrays: Mapping[str, NDArray[Any]]
    of_words: bool = True


class TaskResult(NamedTuple):
    """The run's metrics, the same metrics of each baseline, and the arrays behind them.

    sizes: what was scored (``n_docs`` and the like). split: hash of the split scored on.
    """

    metrics: Metrics
    sizes: Mapping[str, Any]
    split: str
    baselines: Mapping[str, Metrics]
    arrays: Mapping[str, NDArray[Any]]


class Scorer(NamedTuple, Generic[ResultT]):
    """A protocol or a task.

    options: a NamedTuple of what the user may choose, every field with its default. score: takes
    the request and the options. observes: the kinds of data that it is for.
    """

    options: Any
    score: Callable[[Request, Any], ResultT]
    observes: tuple[str, ...] = ("counts",)


def answer(
    request: Request,
    kind: str,
    name: str,
    scorers: Mapping[str, Scorer[ResultT]],
    given: Mapping[str, Any],
) -> tuple[Any, ResultT]:
    """Have a protocol or a task score the run; return its options and its result.

    kind: "protocol" or "task", all of which are ``scorers``. given: options; None and False are
    defaults. Raises UsageError for an unknown name, for a run of other data, and for what has no
    meaning there; NumericalError where numbers leave their domain.
    """
    if name not in scorers:
        raise UsageError(f"unknown {kind} {name!r}; there are {', '.join(scorers)}")
    scorer, owner = scorers[name], f"{kind} {name}"
    refuse_other_kind(request.run.experiment, scorer.observes, owner)
    options = choose_options(scorer.options, given, request.data, owner)
    try:
        return options, scorer.score(request, options)
    except ARITHMETIC as error:
        raise NumericalError(f"{error}{blamed(request.run.experiment)}") from error


def choose_options(
    options: Any, given: Mapping[str, Any], data: Mapping[str, Any], owner: str
) -> Any:
    """Return the NamedTuple ``options`` with the given values; None and False are defaults.

    owner: the task or protocol, for messages. Raises UsageError for what has no meaning there, and
    for a value of another type than the default's.
    """
    chosen = {n: value for n, value in given.items() if value is not None and value is not False}
    for name, value in chosen.items():
        if name not in options._fields:
            raise UsageError(f"{_flag(name)} has no meaning for {owner}")
        default = options._field_defaults[name]
        kinds = (int, float) if isinstance(default, float) else type(default)
        if isinstance(default, int | float | str) and not isinstance(value, kinds):
            what = type(default).__name__
            raise UsageError(f"{_flag(name)} of {owner} takes a value of type {what}: {value!r}")
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
    if name in ("corpus", "paths"):
        return Path(value).name
    if isinstance(value, str):
        return value.replace("/", "%2F")  # a file's name has none
    return f"{value:g}" if isinstance(value, float) else value
