"""``fit``: from a config to a run directory, for every backend."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import structs

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.progress import Progress, said
from hiertopics.base.room import Room
from hiertopics.base.units import parse_bytes, parse_duration
from hiertopics.base.visible import steady
from hiertopics.contract import Cluster, Engine, WorkersLost, engine_of, observed_by, registry
from hiertopics.corpus.corpora import dataset, inmemory
from hiertopics.corpus.corpora.checking import advised, with_unread
from hiertopics.corpus.data import Shelf, seeds_in
from hiertopics.corpus.formats.shards import MANIFEST
from hiertopics.corpus.formats.trust import require_trusted
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.fitting.job import Begin, FitResult, Job
from hiertopics.fitting.loop import Callback, signals
from hiertopics.fitting.memory import estimated, require_memory
from hiertopics.runs.experiment import flags_of, read_experiment
from hiertopics.runs.origin import Origin
from hiertopics.runs.rundir import LOCK, RUNS, RunDir
from hiertopics.settings.config import Experiment
from hiertopics.settings.layers import Overrides, merge, parse_set

LOSSES = 5
"""Times that workers of a cluster are lost in one iteration before the fit stops."""


def fit(
    corpus: Path | str | None = None,
    *,
    run: Path | str | None = None,
    config: Path | str | None = None,
    overrides: Overrides = (),
    backend: str | None = None,
    seed: int | None = None,
    iterations: int | None = None,
    holdout: str | None = None,
    data: Mapping[str, Any] | None = None,
    time_limit: float | str | None = None,
    workers: int = 1,
    memory: int | str | None = None,
    cluster: str | None = None,
    quiet: bool = True,
    argv: Sequence[str] = (),
    callbacks: Sequence[Callback] = (),
    lineage: Mapping[str, Any] | None = None,
    begin: Begin | None = None,
    auto: bool = False,
) -> FitResult:
    """Fit a backend and write a run; on an existing run, continue it.

    run: None takes ``default_run``. backend, seed, iterations, holdout and data (entries of that
    section) win over ``overrides`` (``key=value`` strings, or a mapping), which win over
    ``config``, a YAML file. time_limit: seconds, or a text like "3h50m". memory: bytes, or a text
    like "4GB", which the fit may take; no result depends on it. cluster: where else to
    work (see ``hiertopics.contract.cluster.joining.cluster``). argv: for the manifest.
    lineage: its entries on the runs that this one is made of (``runs.manifest.lineage``). begin:
    what makes the first state; None: the backend. auto: take the advice of ``check`` on the corpus
    for entries of ``data`` that are left out.
    Raises UsageError, ConfigError, DataError, RunError or NumericalError.
    """
    if run == "":
        raise UsageError("the name of the run's folder is empty; the current folder is called .")
    limit = parse_duration(time_limit) if isinstance(time_limit, str) else time_limit
    room = parse_bytes(memory) if isinstance(memory, str) else memory
    named = {"corpus": None if corpus is None else str(corpus), "holdout": holdout}
    section = dict(data or {}) | {name: value for name, value in named.items() if value is not None}
    flags = flags_of(backend, seed, iterations, section)
    experiment = read_experiment(flags, config, overrides)
    require_trusted(experiment.data.tokenizer)
    if auto:
        flags = _with_advice(flags, experiment, parse_set(overrides), quiet)
        experiment = read_experiment(flags, config, overrides)
    target = RunDir(run if run is not None else default_run(experiment))
    if target.exists:
        experiment = read_experiment(flags, config, overrides, target.path)
    registry.refuse_unfitted(experiment.backend)
    aside = parse_holdout(experiment.data.holdout)
    observed = observed_by(experiment)
    about = registry.entry(experiment.backend).compiling
    display = Progress(shown=not quiet, compiling=about)
    with display.phase("reading"):
        whole, located, bins, unknown = observed.load(experiment.data, None)
    experiment = structs.replace(experiment, data=located)
    _refuse_bursts(experiment)
    if whole.n_words == 0:
        raise DataError(str(experiment.data.corpus), "holds no word; every document is empty")
    if isinstance(whole, Shelf):
        registry.refuse_shelf(experiment)
    if getattr(experiment.model, "seeds", None):
        seeds_in(experiment.model, whole.vocab)  # refuses names without a word
    try:
        train, split = observed.split(whole, aside)
    except DataError as error:
        raise with_unread(error, located) from error
    if unknown is not None:
        split = replace(split, unknown=unknown[split.heldout_docs])
    if cluster is not None:
        check_spreads(experiment)
    if room is not None:
        require_memory(room, estimated(experiment, whole, train, split, workers))
    with engine_of(cluster, workers, said) as engine:
        if isinstance(train, Shelf) and isinstance(engine, Cluster):
            engine.require_seen(train.stored.folder / MANIFEST)
        with target.made():
            if isinstance(train, Shelf):
                train = replace(train, room=Room(target.path.resolve() / "checkpoints"))
                if isinstance(engine, Cluster):
                    engine.require_seen(target.file(LOCK))
            origin = Origin(experiment, whole, train, split.hash, tuple(argv), lineage or {})

            def job() -> Job:
                own = RunDir(target.path)
                return Job(own, origin, split, bins, engine, display, begin, room)

            return _run_to_end(job, engine, limit, callbacks)


def _with_advice(
    flags: Mapping[str, Any], experiment: Experiment, given: Mapping[str, Any], quiet: bool
) -> dict[str, Any]:
    """Return the flags and what advice on the corpus adds to them.

    stderr tells it, and the advice that no setting follows.
    """
    dataset.require_corpus(experiment.data)
    own = {**given.get("data", {}), **flags.get("data", {})}
    left: list[object] = []
    found = advised(experiment.data, left.append)
    taken = {key: value for key, value in found.items() if key not in own}
    if not quiet:
        told = ", ".join(f"data.{key}={quote(str(value))}" for key, value in taken.items())
        print(f"auto: {steady(told) or 'there is no advice to take'}", file=sys.stderr)
        for one in left:
            print(f"advice: {steady(str(one))}", file=sys.stderr)
    return merge(flags, {"data": taken})


def _refuse_bursts(experiment: Experiment) -> None:
    """Raise UsageError where documents are to be bursty that are no texts, or by half a model."""
    data = experiment.data
    if getattr(experiment.model, "bursts", "none") == "none":
        return
    what = "data.discretise: bins of rows" if data.discretise is not None else ""
    if data.from_ == "edges" or data.holdout.startswith("links"):
        what = "a graph: links"
    if what:
        raise UsageError(f"model.bursts: document is for words that repeat, not for {what}")
    if getattr(experiment.inference, "denominator", "E") == "G":
        raise UsageError(
            "model.bursts: document needs inference.denominator: E; under G the chances of all "
            "words do not sum to 1"
        )


def fit_stdin(
    *,
    run: Path | str | None = None,
    config: Path | str | None = None,
    overrides: Overrides = (),
    backend: str | None = None,
    seed: int | None = None,
    data: Mapping[str, Any] | None = None,
    **others: Any,
) -> FitResult:
    """Fit to the corpus that standard input brings; the run keeps it in its folder ``corpus``.

    Arguments are those of ``fit``; data or overrides name the format (``from``). An existing run
    is continued with the same input alone. Raises as ``fit`` does.
    """
    experiment = read_experiment(flags_of(backend, seed, None, data), config, overrides)
    require_trusted(experiment.data.tokenizer)
    inmemory.require_format(experiment.data.from_)
    target = Path(run) if run else _run_of(inmemory.NAME, experiment)
    with inmemory.kept_in(target, inmemory.spooled) as path:
        return fit(
            path,
            run=target,
            config=config,
            overrides=overrides,
            backend=backend,
            seed=seed,
            data=data,
            **others,
        )


def _run_to_end(
    begin: Callable[[], Job], engine: Engine, limit: float | None, callbacks: Sequence[Callback]
) -> FitResult:
    """Fit; where a worker of a cluster is lost, go on from the last checkpoint."""
    began, furthest, in_vain = time.monotonic(), -1, 0
    while True:
        job = begin()
        if isinstance(engine, Cluster):
            engine.tell = job.warn
        left = None if limit is None else max(0.0, limit - (time.monotonic() - began))
        try:
            return job.run_to_end(left, callbacks)
        except WorkersLost as lost:
            assert isinstance(engine, Cluster)
            in_vain = in_vain + 1 if job.reached <= furthest else 1
            furthest = max(furthest, job.reached)
            if in_vain == LOSSES:  # as where the kernel or Dask kills who takes too much memory
                return job.end_without_workers(
                    f"{lost}, {LOSSES} times before the end of iteration {furthest + 1} (do the "
                    "workers have enough memory?)"
                )
            job.say(f"{lost}; going back to the last checkpoint")
            job.note_progress()
            with signals() as wish:
                if not engine.recovered(wish):
                    return job.end_without_workers(str(lost))
            job.note_progress()


def check_spreads(experiment: Experiment) -> None:
    """Raise UsageError where a cluster would have nothing to share out under these settings."""
    inference = experiment.inference
    backend = registry.load_for(experiment)
    if backend.pieces is None and not backend.remote_tasks:
        raise UsageError(
            f"{experiment.backend} keeps all documents in one process with these settings and "
            "does not run on a cluster (docs/cluster.md lists those that do)"
        )
    if inference.shards == 1:
        raise UsageError(
            "inference.shards is 1: one worker would do all the work; give as many as the "
            "cluster has threads, or two to four times as many, as -s inference.shards=8"
        )
    chains = getattr(inference, "chains", 1)
    if chains >= inference.shards:
        raise UsageError(
            f"inference.chains ({chains}) must be fewer than inference.shards "
            f"({inference.shards}) on a cluster: chains take turns there"
        )


def default_run(experiment: Experiment) -> Path:
    """Return ``runs/<corpus>-<backend>-s<seed>``."""
    return _run_of(dataset.corpus_name(str(experiment.data.corpus)), experiment)


def _run_of(name: str, experiment: Experiment) -> Path:
    return RUNS / f"{name}-{experiment.backend}-s{experiment.seed}"
