"""Interrupted and continued, in whatever way, a run ends in the bytes of an uninterrupted one."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nights import daily
from replacing import put_in_place
from run_files import artefacts, newest_checkpoint, stop_at, wait_for_checkpoint

from hiertopics.base.errors import Interrupted, NumericalError, RunError
from hiertopics.contract import registry
from hiertopics.contract.states import to_arrays
from hiertopics.fitting import loop
from hiertopics.fitting.loop import Event, Stop
from hiertopics.runs import artifacts, rundir

Fit = Callable[..., Any]
EACH_ITERATION = ["output.checkpoint_seconds=0"]
OF_EACH_KIND = ("hdp-pcvb0", "nhdp-variational", "hlda-gibbs")
"""A flat backend, a tree and a sampler; tests in one process stop all backends each day."""


@pytest.fixture
def whole(fit_tiny: Fit, backend: str, tmp_path: Path) -> dict[str, bytes]:
    """Return the artefacts of nine iterations in one go."""
    fit_tiny(tmp_path / "whole", backend, 9)
    return artefacts(tmp_path / "whole")


def rows(run: Path) -> list[dict[str, Any]]:
    """Return the recorded iterations without their times."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in row.items() if k != "seconds"} for row in lines]


@pytest.mark.slow
def test_stopped_by_a_callback(
    fit_tiny: Fit, backend: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for iteration in (1, 3, 4, 8):
        result = fit_tiny(run, backend, 9, callbacks=[stop_at(iteration)])
        assert (result.status, result.iterations) == ("stopped", iteration)
    assert fit_tiny(run, backend, 9).status == "done"
    assert artefacts(run) == whole


def test_stopped_and_continued_metrics_are_those_of_one_go(fit_tiny: Fit, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "whole", iterations=8)
    fit_tiny(tmp_path / "run", iterations=8, callbacks=[stop_at(4)])
    fit_tiny(tmp_path / "run", iterations=8)
    assert rows(tmp_path / "run") == rows(tmp_path / "whole")


@pytest.mark.slow
def test_a_larger_number_of_iterations_extends(
    fit_tiny: Fit, backend: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for iterations in (0, 2, 5, 9):
        result = fit_tiny(run, backend, iterations)
        assert (result.status, result.iterations) == ("done", iterations)
    assert artefacts(run) == whole


@pytest.mark.slow
@pytest.mark.parametrize("backend", daily(registry.BACKENDS, *OF_EACH_KIND))
def test_killed_at_two_moments(fit_tiny: Fit, start: Fit, backend: str, tmp_path: Path) -> None:
    run, seen = tmp_path / "run", 0
    for _ in range(2):
        process = start(run, backend)
        wait_for_checkpoint(run, seen + 5)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        seen = newest_checkpoint(run)
    fit_tiny(run, backend, seen + 7)
    fit_tiny(tmp_path / "whole", backend, seen + 7)
    assert artefacts(run) == artefacts(tmp_path / "whole")
    assert rows(run)[: seen // 2] == rows(tmp_path / "whole")[: seen // 2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_signal_ends_a_fit_resumable(
    fit_tiny: Fit, start: Fit, name: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start(run)
    wait_for_checkpoint(run, 3)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate()
    assert (process.returncode, out, err) == (75, f"{run}\n", "")
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "stopped"
    assert manifest["iterations"] == newest_checkpoint(run)
    assert name in (run / "log.txt").read_text()
    assert artefacts(run)
    iterations = manifest["iterations"] + 3
    assert fit_tiny(run, iterations=iterations).status == "done"
    fit_tiny(tmp_path / "whole", iterations=iterations)
    assert artefacts(run) == artefacts(tmp_path / "whole")


def interrupting(monkeypatch: pytest.MonkeyPatch, iteration: int, times: int) -> None:
    """Let Ctrl-C arrive ``times`` times while ``iteration`` runs."""
    module = registry.load("hdp-pcvb0")
    step = module.step

    def interrupted(state: Any, data: Any, settings: Any, context: Any) -> Any:
        if context.iteration == iteration:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return step(state, data, settings, context)

    put_in_place(monkeypatch, "hdp-pcvb0", step=interrupted)


def test_the_first_interrupt_finishes_the_iteration(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupting(monkeypatch, 3, 1)
    result = fit_tiny(tmp_path / "run")
    assert (result.status, result.iterations) == ("stopped", 3)
    assert newest_checkpoint(tmp_path / "run") == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_a_fit_starts_ends_it_resumable(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = registry.load("hdp-pcvb0")
    init = module.init

    def interrupted(data: Any, settings: Any, context: Any) -> Any:
        context.report(1, 3)
        signal.raise_signal(signal.SIGINT)
        context.report(2, 3)
        raise AssertionError("the start went on")

    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-pcvb0", init=interrupted)
        result = fit_tiny(tmp_path / "run")
    assert (result.status, result.iterations) == ("stopped", 0)
    assert result.run.manifest["status"] == "stopped" and module.init is init
    with pytest.raises(RunError, match="has no model yet"):
        _ = result.run.tree
    assert fit_tiny(tmp_path / "run").status == "done"
    fit_tiny(tmp_path / "whole")
    assert artefacts(tmp_path / "run") == artefacts(tmp_path / "whole")


def test_the_second_interrupt_leaves_at_once_and_the_checkpoint_is_sound(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        interrupting(patch, 5, 2)
        with pytest.raises(Interrupted):
            fit_tiny(run, overrides=EACH_ITERATION)
    assert Interrupted.exit_code == 130
    assert newest_checkpoint(run) == 4
    fit_tiny(run)
    fit_tiny(tmp_path / "whole")
    assert artefacts(run) == artefacts(tmp_path / "whole")


def test_the_time_limit_stops_resumable(fit_tiny: Fit, tmp_path: Path) -> None:
    result = fit_tiny(tmp_path / "run", time_limit=0)
    assert (result.status, result.iterations) == ("stopped", 1)
    assert fit_tiny(tmp_path / "run", time_limit=1e9).status == "done"


@pytest.mark.slow
def test_workers_change_no_byte(fit_tiny: Fit, backend: str, tmp_path: Path) -> None:
    for workers in (1, 2):
        run, shards = tmp_path / str(workers), ["inference.shards=3"]
        fit_tiny(run, backend, overrides=shards, workers=workers)
    assert artefacts(tmp_path / "1") == artefacts(tmp_path / "2")


@pytest.mark.slow
def test_workers_and_stops_change_no_byte_where_topics_are_drawn(
    fit_tiny: Fit, tmp_path: Path
) -> None:
    """The partially collapsed sampler is no backend of its own, but sweeps in shards."""
    overrides = ["inference.collapse=partial", "inference.shards=3", "inference.chains=2"]

    def fit(run: str, workers: int, **others: Any) -> None:
        fit_tiny(tmp_path / run, "hlda-gibbs", 9, overrides, workers=workers, **others)

    fit("whole", 1)
    for iteration, workers in ((3, 2), (4, 1), (8, 2)):
        fit("run", workers, callbacks=[stop_at(iteration)])
    fit("run", 2)
    assert artefacts(tmp_path / "run") == artefacts(tmp_path / "whole")
    fit_tiny(tmp_path / "full", "hlda-gibbs", 9, overrides[1:])
    assert artefacts(tmp_path / "full") != artefacts(tmp_path / "whole")


@pytest.mark.slow
def test_the_checkpoint_interval_changes_no_byte(
    fit_tiny: Fit, backend: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "run", backend, 9, EACH_ITERATION)
    assert artefacts(tmp_path / "run") == whole


def converging(fit_tiny: Fit, run: Path, **others: Any) -> Any:
    """Fit with a tolerance that is reached long before the iterations are done."""
    return fit_tiny(run, iterations=500, overrides=["inference.tolerance=0.005"], **others)


@pytest.mark.slow
def test_a_tolerance_stops_at_the_same_place_when_resumed(fit_tiny: Fit, tmp_path: Path) -> None:
    result = converging(fit_tiny, tmp_path / "whole")
    assert result.status == "done" and 4 < result.iterations < 500
    objectives = [row["objective"] for row in rows(tmp_path / "whole")]
    changes = [abs(b - a) / abs(a) for a, b in zip(objectives, objectives[1:], strict=False)]
    assert changes[-1] < 0.005 <= min(changes[:-1])
    for iteration in range(1, result.iterations):
        run = tmp_path / f"stopped-{iteration}"
        converging(fit_tiny, run, callbacks=[stop_at(iteration)])
        assert converging(fit_tiny, run).iterations == result.iterations
        assert artefacts(run) == artefacts(tmp_path / "whole")


def test_a_run_finished_by_its_tolerance_stays_finished(fit_tiny: Fit, tmp_path: Path) -> None:
    first = converging(fit_tiny, tmp_path / "run")
    before = artefacts(tmp_path / "run")
    again = converging(fit_tiny, tmp_path / "run")
    assert (again.status, again.iterations) == ("done", first.iterations)
    assert artefacts(tmp_path / "run") == before


def test_a_tolerance_reached_just_before_a_crash_is_not_forgotten(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last checkpoint is written, then the process dies before model.npz is."""
    expected = converging(fit_tiny, tmp_path / "whole").iterations

    def crash(*_: Any) -> Any:
        raise RuntimeError("the process dies")

    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "write_summary", crash)
        with pytest.raises(RuntimeError, match="the process dies"):
            converging(fit_tiny, tmp_path / "run")
    assert newest_checkpoint(tmp_path / "run") == expected
    assert converging(fit_tiny, tmp_path / "run").iterations == expected
    assert artefacts(tmp_path / "run") == artefacts(tmp_path / "whole")


def test_a_callback_may_end_a_run_for_good(fit_tiny: Fit, tmp_path: Path) -> None:
    def enough(event: Event) -> Stop | None:
        return Stop("enough", True) if event.iteration == 3 else None

    result = fit_tiny(tmp_path / "run", callbacks=[enough])
    assert (result.status, result.iterations, result.reason) == ("done", 3, "enough")


@pytest.mark.slow
@pytest.mark.usefixtures("files_are_closed")
@pytest.mark.parametrize("backend", daily(registry.BACKENDS, *OF_EACH_KIND))
@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and then nothing", None], ids=str)
def test_a_damaged_checkpoint_is_passed_over(
    fit_tiny: Fit, backend: str, whole: dict[str, bytes], damage: bytes | None, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, backend, 9, EACH_ITERATION, callbacks=[stop_at(6)])
    newest = run / "checkpoints" / "00000006.npz"
    newest.write_bytes(newest.read_bytes()[:-900] if damage is None else damage)
    seen: list[int] = []
    fit_tiny(run, backend, 9, callbacks=[lambda event: seen.append(event.iteration)])
    assert seen == [6, 7, 8, 9]
    assert artefacts(run) == whole


def test_metrics_past_the_checkpoint_are_cut(fit_tiny: Fit, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit_tiny(run, iterations=8, callbacks=[stop_at(4)])
    with open(run / "metrics.jsonl", "a") as stream:
        stream.write('{"iteration": 6, "objective": 0.0}\n{"iteration": 8, "obj')
    fit_tiny(run, iterations=8)
    lines = (run / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [2, 4, 6, 8]
    assert json.loads(lines[2])["objective"] != 0.0


def test_what_a_killed_writer_left_is_swept_up(fit_tiny: Fit, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit_tiny(run, "hdp-gibbs", 8, callbacks=[stop_at(4)])
    for name in ("model.npz", "checkpoints/00000005.npz", "draws/00000006.npz"):
        path = run / name
        path.with_name(f".{path.name}.1a2b.partial").write_bytes(b"half")
    fit_tiny(run, "hdp-gibbs", 8)
    assert list(run.rglob("*.partial")) == []


def test_trouble_with_numbers_fails_the_run_and_names_the_iteration(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, module = tmp_path / "run", registry.load("hdp-pcvb0")
    step = module.step

    def broken(state: Any, data: Any, settings: Any, context: Any) -> Any:
        if context.iteration == 5:
            raise NumericalError("document 3 went astray")
        return step(state, data, settings, context)

    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-pcvb0", step=broken)
        with pytest.raises(NumericalError, match="iteration 5.*document 3 went astray"):
            fit_tiny(run, overrides=EACH_ITERATION)
    assert json.loads((run / "manifest.json").read_text())["status"] == "failed"
    assert newest_checkpoint(run) == 4
    assert fit_tiny(run).status == "done"


def test_a_state_that_is_not_finite_is_never_checkpointed(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A backend that loses its numbers says so instead of going on with NaN."""
    module = registry.load("hdp-pcvb0")
    step = module.step

    def poisoned(state: Any, data: Any, settings: Any, context: Any) -> Any:
        if context.iteration == 5:
            state.n_wk[:] = float("nan")
        return step(state, data, settings, context)

    put_in_place(monkeypatch, "hdp-pcvb0", step=poisoned)
    with pytest.raises(NumericalError, match="iteration 5"):
        fit_tiny(tmp_path / "run", overrides=EACH_ITERATION)
    assert newest_checkpoint(tmp_path / "run") == 4


@pytest.mark.slow
def test_iterate_can_be_replayed_from_any_checkpoint(
    fit_tiny: Fit, backend: str, tmp_path: Path
) -> None:
    """The loop's own generator, started in the middle, gives the state of the whole run."""
    states: dict[int, bytes] = {}

    def note(event: Event) -> None:
        parts = to_arrays(event.state).values()
        states[event.iteration] = b"".join(part.tobytes() for part in parts)

    fit_tiny(tmp_path / "run", backend, 3)
    fit_tiny(tmp_path / "run", backend, 7, callbacks=[note])
    alone = dict(states)
    states.clear()
    fit_tiny(tmp_path / "whole", backend, 7, callbacks=[note])
    assert sorted(alone) == [4, 5, 6, 7]
    assert all(states[iteration] == data for iteration, data in alone.items())


def test_up_to_is_done_and_a_limit_is_not() -> None:
    event = Event(5, None, None, None, 1.0)
    done, limited = loop.up_to(5)(event), loop.time_limit(0.5)(event)
    assert done is not None and done.done
    assert limited is not None and not limited.done
    assert loop.up_to(6)(event) is None and loop.time_limit(1e9)(event) is None


def test_no_checkpoint_of_a_missing_run() -> None:
    with pytest.raises(RunError, match="fit"):
        rundir.RunDir.open("nowhere")
