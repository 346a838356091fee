"""``sweep``: the ``fit`` commands of a grid of settings, to be run by a shell or a batch system."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import NamedTuple

from hiertopics.base.errors import ConfigError, HiertopicsError, UsageError
from hiertopics.contract import registry
from hiertopics.corpus.corpora import dataset
from hiertopics.corpus.formats.trust import FLAG, all_trusted, require_trusted, trusts
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.runs.experiment import flags_of, read_experiment
from hiertopics.runs.rundir import RUNS
from hiertopics.settings.config import Experiment

MOST_JOBS = 100_000
LONGEST_NAME = 255
"""Bytes that file systems allow for the name of a folder."""

FLAGS = {"backend": "-b", "data.holdout": "--holdout"}
"""Keys that have an option of their own; the others go by ``-s``."""

Setting = Mapping[str, str]


class SweepJob(NamedTuple):
    """One fit of a sweep: its command, word by word, and the run directory that it writes."""

    command: list[str]
    run: str


@trusts
def sweep(
    config: Path | str,
    corpus: Path | str | None = None,
    *,
    grid: Sequence[str] = (),
    seeds: str = "0",
    trust_tokenizer: bool = False,
) -> list[SweepJob]:
    """Return one job for each combination of settings and each seed.

    config: a YAML file. corpus: may be left out where the config names one. grid: ``key=a,b``
    strings; commas separate values, and a value that holds one stands in double quotes, as in a
    CSV file: ``data.holdout="links:0.2,drop",none``. seeds: ``0:10`` (0 to 9), ``3`` or
    ``1,5,9``. Every job has a run directory of its own under runs/.

    Raises ConfigError with the problems of all combinations. Raises UsageError for a grid or
    seeds that cannot be read, and where two jobs would share a directory.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    axes = _read_grid(grid)
    if "seed" in axes:
        raise UsageError("--grid cannot hold seed: seeds go by --seeds")
    if corpus is not None and "data.corpus" in axes:
        raise UsageError("--grid cannot hold data.corpus: a corpus is named already")
    numbers = _read_seeds(seeds)
    n_jobs = len(numbers) * prod(len(values) for values in axes.values())
    if n_jobs > MOST_JOBS:
        raise UsageError(f"these are {n_jobs} commands; a sweep has at most {MOST_JOBS}")
    settings = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    jobs = [
        _job(str(config), corpus, setting, experiment, seed)
        for setting, experiment in _checked(settings, str(config), corpus)
        for seed in numbers
    ]
    _refuse_bad_names(jobs)
    return jobs


def to_line(job: SweepJob) -> str:
    """Return a job's command as one line for a shell."""
    return shlex.join(job.command)


def _read_grid(items: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each key as they were written, in the order given."""
    axes: dict[str, list[str]] = {}
    for item in items:
        key, _, text = item.partition("=")
        key = key.strip()
        try:
            values = [value.strip() for value in next(csv.reader([text], strict=True), [])]
        except csv.Error as error:
            raise UsageError(f"--grid {item!r} cannot be read: {error}") from None
        if not key or not values or not all(values):
            raise UsageError(f"--grid takes key=value,value (null for nothing), got {item!r}")
        if key in axes:
            raise UsageError(f"--grid holds {key} twice; give all its values at once")
        axes[key] = values
    return axes


def _read_seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})(?::(\d{1,18}))?\s*", part, re.ASCII)
        first = int(match[1]) if match else 0
        end = (int(match[2]) if match[2] else first + 1) if match else 0
        if not 0 < end - first <= MOST_JOBS:
            raise UsageError(
                f"--seeds takes 0:10 (0 to 9), 3 or 1,5,9, at most {MOST_JOBS} of them; "
                f"got {text!r}"
            )
        seeds += range(first, end)
    return seeds


def _checked(
    settings: Sequence[Setting], config: str, corpus: Path | str | None
) -> list[tuple[Setting, Experiment]]:
    """Return each setting with its experiment; raise ConfigError with the problems of all."""
    checked = []
    problems: dict[str, list[Setting]] = {}
    for setting in settings:
        experiment, found = _read(setting, config, corpus)
        for problem in found:
            problems.setdefault(problem, []).append(setting)
        if experiment is not None:
            checked.append((setting, experiment))
    if problems:
        raise ConfigError([_blame(*item, len(settings)) for item in problems.items()])
    return checked


def _read(
    setting: Setting, config: str, corpus: Path | str | None
) -> tuple[Experiment | None, list[str]]:
    """Return what ``fit`` will make of a setting, and all that it would be refused for."""
    data: dict[str, str] = {} if corpus is None else {"corpus": str(corpus)}
    if "data.holdout" in setting:
        data["holdout"] = setting["data.holdout"]
    overrides = [f"{key}={value}" for key, value in setting.items() if key not in FLAGS]
    experiment = None
    problems: list[str] = []
    try:
        flags = flags_of(setting.get("backend"), data=data)
        experiment = read_experiment(flags, config, overrides)
        require_trusted(experiment.data.tokenizer)
        dataset.located(experiment.data)
    except HiertopicsError as error:
        problems += error.problems if isinstance(error, ConfigError) else [str(error)]
    try:
        parse_holdout(experiment.data.holdout if experiment else data.get("holdout", "none"))
    except ConfigError as error:
        problems += error.problems
    return experiment, problems


def _blame(problem: str, settings: Sequence[Setting], n_settings: int) -> str:
    """Return a problem with the first setting that has it, where not all of them do."""
    if len(settings) == n_settings:
        return problem
    return f"{problem}; with {' '.join(f'{key}={value}' for key, value in settings[0].items())}"


def _job(
    config: str, corpus: Path | str | None, setting: Setting, experiment: Experiment, seed: int
) -> SweepJob:
    command = ["hiertopics", "fit"]
    if corpus is not None:
        # A name that opens with a dash would be taken for an option.
        command.append(f"./{corpus}" if str(corpus).startswith("-") else str(corpus))
    command += ["-c", config, *([FLAG] if all_trusted() else [])]
    for key, value in setting.items():
        command += [FLAGS[key], value] if key in FLAGS else ["-s", f"{key}={value}"]
    parts = [
        dataset.corpus_name(str(experiment.data.corpus)),
        str(registry.asked(setting.get("backend", experiment.backend))),
        *(f"{key}={_plain(value)}" for key, value in setting.items() if key != "backend"),
        f"s{seed}",
    ]
    run = str(RUNS / "-".join(map(_plain, parts)))
    return SweepJob([*command, "--seed", str(seed), "-o", run], run)


def _plain(text: str) -> str:
    """Return ``text`` for use in a path: blanks, slashes, colons, commas, ... become ``_``."""
    return re.sub(r"[^\w.@+=-]+", "_", text).strip("_")


def _refuse_bad_names(jobs: Sequence[SweepJob]) -> None:
    """Raise UsageError where two jobs share a directory, or one cannot be made or typed."""
    owners: dict[str, SweepJob] = {}
    for job in jobs:
        if job.run in owners:
            raise UsageError(
                f"two commands would write {job.run}; choose values that differ in letters or "
                f"digits:\n{to_line(owners[job.run])}\n{to_line(job)}"
            )
        if len(Path(job.run).name.encode()) > LONGEST_NAME:
            raise UsageError(f"{job.run} is too long for a name; give fewer or shorter values")
        if "\n" in to_line(job):
            raise UsageError(f"a line break cannot stand in a command: {to_line(job)!r}")
        owners[job.run] = job
