"""One fit on a locked run directory: started or continued, iterated, and written to files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hiertopics.base import files
from hiertopics.base.errors import DataError, NumericalError, RunError, UsageError
from hiertopics.base.progress import Progress, said
from hiertopics.base.units import format_bytes
from hiertopics.base.visible import steady
from hiertopics.contract import (
    Context,
    Engine,
    Settings,
    Summary,
    WorkersLost,
    observed_by,
    registry,
)
from hiertopics.corpus.corpora.checking import script_warnings
from hiertopics.corpus.data import Bins, Vectors, pruning, seedwords
from hiertopics.corpus.data.shape import in_words, shape_of
from hiertopics.corpus.holdouts.split import Split
from hiertopics.fitting import loop
from hiertopics.fitting.branches import quick_support
from hiertopics.fitting.loop import Callback, Event, Stop
from hiertopics.fitting.memory import besides, code, estimated, in_megabytes
from hiertopics.fitting.sampling import Sampling
from hiertopics.runs import artifacts, soundness
from hiertopics.runs.checkpoints import (
    ResumedState,
    StateOrigin,
    load_checkpoint,
    newest_checkpoint,
    resume,
    save_checkpoint,
)
from hiertopics.runs.labels import name_nodes
from hiertopics.runs.manifest import FILES, MADE_BY, MANIFEST, PARENTS, SEALED_FROM
from hiertopics.runs.origin import Origin, peak_memory, refuse_begun_elsewhere
from hiertopics.runs.rundir import DRAWS, SUPPORT, RunDir
from hiertopics.runs.soundness import ARITHMETIC, blamed, check_objective


@dataclass(frozen=True)
class FitResult:
    """The run and the outcome of its fit; status is running, stopped, done or failed."""

    run: RunDir
    status: str
    iterations: int
    objective: float | None
    reason: str


FINISHED = "finished already; a larger --iterations extends it"
"""The reason of a result that took no iteration, as the run was done before."""

LONG_START = 30.0
"""Seconds of a start after which a checkpoint is written, of iteration 0."""

Begin = Callable[[Any, Settings, Context], Any]
"""Makes the first state of a fit; the backend's ``init`` is one."""


class Job:
    """One fit on a locked run directory."""

    def __init__(
        self,
        run: RunDir,
        origin: Origin,
        split: Split,
        bins: Bins | None,
        pool: Engine,
        display: Progress,
        begin: Begin | None = None,
        memory: int | None = None,
    ) -> None:
        self.memory = memory
        self.run, self.origin, self.split, self.bins = run, origin, split, bins
        self.pool, self.display, self.begin = pool, display, begin
        self.experiment, self.train = origin.experiment, origin.train
        self.settings = Settings(self.experiment.model, self.experiment.inference)
        self.backend = registry.load_suited(self.experiment, self.train, self.settings)
        self.stamp = f"{origin.whole.fingerprint} {split.hash}"
        self.fitted = StateOrigin(self.backend, self.settings, self.stamp, self.train)
        self.room = getattr(self.train, "room", None)  # rows of numbers have none
        self.sealed_from = 0
        self.seals: dict[str, str] = {}
        self.restored: int | None = None
        self.begins_at = self.reached = 0
        self.version: int | None = None
        self.earlier_seconds = 0.0
        self.began = time.perf_counter()

    def run_to_end(self, time_limit: float | None, callbacks: Sequence[Callback]) -> FitResult:
        """Fit from the present state of the run to the end; signals stop it, and it can go on."""
        with loop.signals() as interruption:
            try:
                return self._run(time_limit, callbacks, interruption)
            except loop.StoppedAtStart as early:
                return self._end_at_start(early.stop)
            except WorkersLost:
                stop = interruption()
                if stop is None:
                    raise
                return self.end_without_workers(stop.reason)

    def _run(
        self,
        time_limit: float | None,
        callbacks: Sequence[Callback],
        interruption: Callable[[], Stop | None],
    ) -> FitResult:
        if self.run.exists:
            self.origin.refuse_other(self.run)
            finished = self._finished()
            if finished is not None:
                return finished
        found = load_checkpoint(self.run, self.fitted, self.room)
        if found is not None and not self.run.exists:
            what = f"{self.run.path} has checkpoints, but its manifest.json is missing"
            raise RunError(f"{what}; choose another -o, or delete it to begin anew")
        anew = self.run.exists and found is None
        if anew and self.begin is None:
            refuse_begun_elsewhere(self.run)
        watchers = [*callbacks, lambda _: interruption()]
        earlier = self.run.manifest if self.run.exists else None
        self.begins_at = 0 if found is None else found[0]
        if earlier is not None:  # whatever ends the fit from now on, the manifest says so
            self._take_over(earlier)
        try:
            data, resumed = None, None
            if found is not None:  # a checkpoint with a flaw is refused before anything is written
                data = self.backend.prepare(self.train, self.settings)
                context = self._context(found[0])
                resumed = resume(self.run, self.fitted, found, data, context, self.room)
                self.begins_at = resumed.iteration
            if earlier is not None:
                self._take_over(earlier)
                # Once config.yaml asks for more, done would mean that it was done.
                self._write_manifest("running", self.begins_at, None)
            self._begin()
            if anew:
                self.say("note: the run came to no checkpoint yet; it begins anew")
            with self._withdrawn_if_refused(new=earlier is None):
                if data is None:
                    data = self.backend.prepare(self.train, self.settings)
                start, state = self._first_state(resumed, data, interruption)
            event, stop = self._iterate(start, state, data, time_limit, watchers)
            with self.display.phase("writing"):
                return self._end(event, stop, data)
        except (NumericalError, *ARITHMETIC) as error:
            raise self._failed(error) from error
        except MemoryError as error:
            if self.memory is None:
                raise
            what = f"memory ran out after iteration {self.reached}"
            raise self._outgrown(what, newest_checkpoint(self.run)) from error

    @contextmanager
    def _withdrawn_if_refused(self, new: bool) -> Iterator[None]:
        """Take the manifest of a new run away where its start is refused: it is no run then."""
        try:
            yield
        except (DataError, RunError, UsageError):
            if new:
                self.run.file(MANIFEST).unlink()
            raise

    def _failed(self, error: Exception) -> NumericalError:
        """Say in manifest and log that the fit failed; return the error that says where and why."""
        is_placed = isinstance(error, NumericalError) and error.iteration is not None
        place = "" if is_placed else f"iteration {self.reached}: "
        problem = f"{place}{error}{blamed(self.experiment, self.train)}"
        self._write_manifest("failed", 0, None)
        self.run.log(f"failed: {problem}")
        return NumericalError(problem)

    def _take_over(self, manifest: Mapping[str, Any]) -> None:
        """Take seconds and seals from the manifest of a run that continues after ``begins_at``."""
        self.earlier_seconds = float(manifest["wall_seconds"])
        self.sealed_from = int(manifest.get(SEALED_FROM, self.begins_at + 1))
        sealed = manifest.get(FILES)
        self.seals = artifacts.present_seals(self.run) if sealed is None else dict(sealed)
        # What config.yaml leaves out means what it did until the file is complete again.
        self.version = self.run.settings_version

    def _finished(self) -> FitResult | None:
        """Return the result of a run that was done and is not asked for more iterations.

        Where one of its files is damaged, the run is brought back to where it was done.
        """
        manifest = self.run.manifest
        asked_before = int(self.run.experiment.inference.iterations)
        if manifest["status"] != "done" or self._target() > asked_before:
            return None
        broken = self.run.broken_seal()
        if broken is not None:
            self.say(f"{self.run.path / broken} is damaged and is written anew")
            self.restored = int(manifest["iterations"])
            return None
        self.say(f"{self.run.path}: {FINISHED}")
        return FitResult(self.run, "done", manifest["iterations"], manifest["objective"], FINISHED)

    def _target(self) -> int:
        asked = int(self.experiment.inference.iterations)
        return asked if self.restored is None else self.restored

    def _begin(self) -> None:
        """Write inputs and manifest before the first iteration, and print the sizes."""
        self.seals |= artifacts.write_inputs(self.run, self.experiment, self.train, self.split)
        self.version = None
        self._write_manifest("running", self.begins_at, None)
        for line in _announced(self.origin, self.split, self.pool):
            self.say(line)

    def _first_state(
        self,
        resumed: ResumedState | None,
        data: object,
        interruption: Callable[[], Stop | None],
    ) -> tuple[int, object]:
        if resumed is not None:
            self.say(f"continuing from iteration {resumed.iteration}")
            self.run.cut_metrics(resumed.iteration)
            return resumed.iteration, resumed.state
        self.run.cut_metrics(-1)
        began = time.perf_counter()
        with self.display.phase("starting", waits_at_end=True) as show:

            def report(done: int, total: int) -> None:
                show(done, total)
                stop = interruption()
                if stop is not None:
                    raise loop.StoppedAtStart(stop)

            context = replace(self._context(0), report=report)
            begin = self.begin or self.backend.init
            state = begin(data, self.settings, context)
            every = self.experiment.output.checkpoint_seconds
            if time.perf_counter() - began >= min(every, LONG_START):
                save_checkpoint(self.run, 0, state, self.stamp)
            return 0, state

    def _context(self, iteration: int) -> Context:
        return Context(self.experiment.seed, iteration, self.pool)

    def _iterate(
        self,
        start: int,
        state: object,
        data: object,
        limit: float | None,
        callbacks: Sequence[Callback],
    ) -> tuple[Event, Stop]:
        first = Event(start, state, None, None, 0.0)
        self.reached = start
        if start >= self._target():
            return first, Stop("all iterations done", True)
        output, tolerance = self.experiment.output, self.experiment.inference.tolerance
        recorded = self._recorded()
        stopped = loop.had_converged(tolerance, recorded)
        if stopped is not None and start % output.record_every == 0:
            return first, stopped
        sampling = self._sampling(data)
        with self.display.phase("sweeping") as report:
            report(start, self._target())
            show = loop.progress(self.display, report, self._target())
            watchers = [
                loop.metrics(self.run, sampling.per_chain),
                show,
                *([sampling.draws(self._with_bins)] if self.backend.sampler else []),
                *callbacks,
                loop.up_to(self._target()),
                loop.converged(tolerance, recorded[-1] if recorded else None),
                *([loop.time_limit(limit)] if limit is not None else []),
            ]
            keep = loop.checkpoints(self.run, output.checkpoint_seconds, self.stamp)
            events = loop.iterate(
                self.backend,
                state,
                data,
                self.settings,
                seed=self.experiment.seed,
                start=start,
                record_every=output.record_every,
                workers=self.pool,
            )
            self._require_room(start, state)
            for event in events:
                self.reached = event.iteration
                stops = [stop for watcher in watchers if (stop := watcher(event)) is not None]
                if stops:
                    if event.objective is None:  # the bar, which stays, shows the last figures
                        event = event._replace(objective=self._objective(event, data))
                        loop.metrics(self.run, sampling.per_chain)(event)
                        show(event)
                    return event, max(stops, key=lambda stop: stop.done)
                keep(event)  # of the last iteration the end does, after its line of metrics
                self._require_room(event.iteration, event.state)
        raise AssertionError("the loop ends only with a stop")

    def _require_room(self, iteration: int, state: object) -> None:
        """Raise UsageError where a state has become too large for ``--memory``; it is kept."""
        needs = self.backend.memory_from
        if self.memory is None or needs is None:
            return
        needed = besides(self.origin.whole, self.train, self.split)
        needed += needs(state, self.train, self.settings)
        if needed > self.memory:
            save_checkpoint(self.run, iteration, state, self.stamp)
            what = f"to go on after iteration {iteration} takes {in_megabytes(needed)}"
            raise self._outgrown(what, iteration)

    def _outgrown(self, what: str, iteration: int) -> UsageError:
        """Say in manifest and log that the fit stopped; return the error that says why."""
        self._write_manifest("stopped", iteration, None)
        problem = (
            f"--memory {format_bytes(self.memory or 0)} is too little: {what}, as the model has "
            f"grown; with more the same command goes on from iteration {iteration}"
        )
        self.run.log(f"stopped: {problem}")
        return UsageError(problem)

    def _recorded(self) -> list[float]:
        """Return the objectives recorded up to the checkpoint, so that a resumed run stops
        where an uninterrupted one does.
        """
        every = self.experiment.output.record_every
        rows = self.run.metrics()
        found = (row["objective"] for row in rows if row["iteration"] % every == 0)
        return [math.nan if objective is None else objective for objective in found]

    def _end_at_start(self, stop: Stop) -> FitResult:
        """Say that nothing was made; the same command begins anew."""
        self._write_manifest("stopped", 0, None)
        self.say(f"stopped in the start: {stop.reason}; the same command begins it anew")
        return FitResult(self.run, "stopped", 0, None, stop.reason)

    def note_progress(self) -> None:
        """Write the elapsed time and the checkpoint to return to, for a command that takes over;
        the status stays "running".
        """
        if self.run.exists:
            self._write_manifest("running", newest_checkpoint(self.run), None)

    def end_without_workers(self, why: str) -> FitResult:
        """Say that nobody is there to work; the same command goes on from the last checkpoint."""
        found = load_checkpoint(self.run, self.fitted)
        iteration = 0 if found is None else found[0]
        self._write_manifest("stopped", iteration, None)
        self.say(f"stopped: {why}; the same command goes on from iteration {iteration}")
        return FitResult(self.run, "stopped", iteration, None, why)

    def _end(self, event: Event, stop: Stop, data: object) -> FitResult:
        """Write the checkpoint, the artifacts and the manifest: in this order.

        The last line of the metrics is there before, but for what goes on from a checkpoint: that
        has no columns to write a line from.
        """
        sampling, context = self._sampling(data), self._context(event.iteration)
        objective = event.objective
        if objective is None:
            objective = self._objective(event, data)
        save_checkpoint(self.run, event.iteration, event.state, self.stamp)
        summary = self.backend.summarise(event.state, data, self.settings, context)
        summary = self._with_bins(summary)
        summary = sampling.with_splits(summary, event, self.train.doc_lengths)
        for note in (*summary.notes, *soundness.notes(summary)):
            self.say(f"note: {note}")
        diagnoses = sampling.diagnoses(self.say) if self.backend.sampler else None
        status = "done" if stop.done else "stopped"
        words = self.train.vocab
        self.seals |= artifacts.write_summary(self.run, summary, words, self.experiment)
        self.seals |= self._quick_support(summary)
        draws = (f"{DRAWS}{path.name}" for path in self.run.numbered("draws"))
        self.seals = {**self.run.seals(draws), **self.seals}
        for problem in name_nodes(self.run, summary.tree, self.train.vocab, summary.names):
            self.say(f"warning: {problem}")
        self._write_manifest(status, event.iteration, objective, diagnoses)
        told = f"{status} at iteration {event.iteration}: {stop.reason}"
        self.run.log(told)
        if not stop.done:
            self.display.say(told)
        return FitResult(self.run, status, event.iteration, objective, stop.reason)

    def _objective(self, event: Event, data: object) -> float:
        """Compute the objective of an iteration whose objective was not recorded."""
        context = self._context(event.iteration)
        objective = self.backend.objective(event.state, data, self.settings, context)
        check_objective(objective, self.backend.objective_name)
        return objective

    def _quick_support(self, summary: Summary) -> dict[str, str]:
        """Write which branches come back, where that costs little; return the seal of it.

        What ``support`` has said of the same model stays.
        """
        model, path = self.seals["model.npz"], self.run.file(SUPPORT)
        if artifacts.has_support_of(self.run, self.seals, model):
            return {}
        found = quick_support(
            self.backend, self.settings, self.train, summary, self.experiment.seed, model
        )
        if found is None:
            return {}
        self.run.log(found["note"])
        contents = files.to_json(found, indent=1) + "\n"
        files.write_text(path, contents)
        return {SUPPORT: files.seal_of(contents.encode())}

    def _sampling(self, data: object) -> Sampling:
        return Sampling(self.run, self.backend, self.settings, data, self._context)

    def _with_bins(self, summary: Summary) -> Summary:
        """Return the summary with the bins of dense columns, which belong to the model."""
        if self.bins is None:
            return summary
        extra = {**summary.tree.extra, **self.bins.to_arrays()}
        return replace(summary, tree=replace(summary.tree, extra=extra))

    def _write_manifest(
        self,
        status: str,
        iterations: int,
        objective: float | None,
        diagnoses: list[dict[str, Any]] | None = None,
        **others: Any,
    ) -> None:
        seconds = self.earlier_seconds + time.perf_counter() - self.began
        before = self.run.manifest if self.run.exists else {}
        self.run.write_manifest(
            {
                **{key: before[key] for key in (PARENTS, MADE_BY) if key in before},
                **self.origin.described(),
                "status": status,
                "iterations": iterations,
                "objective": objective,
                "objective_name": self.backend.objective_name,
                "wall_seconds": seconds,
                "peak_memory_bytes": peak_memory(),
                SEALED_FROM: self.sealed_from,
                FILES: self.seals,
                **({} if self.version is None else {"settings": self.version}),
                **({} if diagnoses is None else {"diagnostics": diagnoses}),
                **others,
            }
        )

    def say(self, message: str) -> None:
        """Write a line to the log and, unless quiet, to stderr."""
        message = steady(message)
        self.run.log(message)
        self.display.say(message)

    def warn(self, message: str) -> None:
        """Write a line to the log and, though quiet, to stderr."""
        message = steady(message)
        self.run.log(message)
        said(message)


def _announced(origin: Origin, split: Split, pool: Engine) -> Iterator[str]:
    """Yield lines: sizes, the held-out part and the memory needed, then the notes."""
    experiment, train, n_workers = origin.experiment, origin.train, pool.n_workers
    needed = estimated(experiment, origin.whole, train, split, pool.here.n_workers) + code()
    yield (
        f"{experiment.backend} on {experiment.data.corpus}: "
        f"{in_words(shape_of(train))}; "
        f"{observed_by(experiment).aside(split)} held out "
        f"({experiment.data.holdout}); about "
        f"{format_bytes(needed)} of memory"
    )
    for line in script_warnings(origin.whole.vocab, experiment.data):
        yield f"warning: {line}"
    about_words = (
        () if isinstance(train, Vectors) else pruning.notes(train, experiment.data.stop_words)
    )
    for note in (*origin.whole.notes, *about_words):
        yield f"note: {note}"
    if getattr(experiment.model, "seeds", None):
        for name, missing in seedwords.unknown(experiment.model, train.vocab):
            yield f"warning: the corpus lacks seed words of {name!r}: {', '.join(missing)}"
    shards = experiment.inference.shards
    n_parts = max(shards, getattr(experiment.inference, "chains", 1))
    if n_workers > n_parts:
        yield (
            f"note: {n_workers} workers share {shards} shards, so that "
            f"{n_workers - n_parts} have nothing to do in the fit; "
            "-s inference.shards=N makes N parts"
        )
