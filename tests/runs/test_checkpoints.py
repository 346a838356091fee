"""A run goes on from a checkpoint or is refused; nothing is begun anew in silence."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replacing import put_in_place
from run_files import artefacts, contents, stop_at

from hiertopics.base import archives
from hiertopics.base.errors import NumericalError, RunError
from hiertopics.contract import registry
from hiertopics.fitting import job

Fit = Callable[..., Any]
Change = Callable[[dict[str, Any]], Any]


def changed(path: Path, change: Change) -> None:
    """Change the arrays of a checkpoint, and seal them again."""
    arrays = archives.read_npz(path)
    del arrays[archives.SEAL]
    change(arrays)
    archives.write_npz(path, arrays, sealed=path.name)


def _of_other_data(arrays: dict[str, Any]) -> None:
    arrays["stamp_"] = np.asarray("another corpus and split")


OTHERS: dict[str, tuple[Change, str]] = {
    "another split": (_of_other_data, "another corpus or split"),
    "no stamp": (lambda arrays: arrays.pop("stamp_"), "damaged"),
    "a field less": (lambda arrays: arrays.pop("n_wk"), "no n_wk"),
    "a field more": (lambda arrays: arrays.update(n_new=np.zeros(3)), "n_new besides"),
}


@pytest.fixture
def stopped(fit_tiny: Fit, tmp_path: Path) -> Path:
    """Return a run that was stopped at iteration 4."""
    run = tmp_path / "run"
    fit_tiny(run, overrides=["output.checkpoint_seconds=0"], callbacks=[stop_at(4)])
    return run


def refused(fit_tiny: Fit, run: Path, iterations: int = 8) -> str:
    """Fit again; return the one line of the refusal. Nothing but the lock was written."""
    before = contents(run)
    with pytest.raises(RunError) as refusal:
        fit_tiny(run, iterations=iterations)
    after = contents(run)
    assert {name: after[name] for name in before} == before
    text = str(refusal.value)
    assert "\n" not in text and str(run) in text and "choose another -o" in text
    return text


@pytest.mark.parametrize("other", OTHERS)
def test_checkpoints_that_cannot_be_continued_refuse_the_run(
    fit_tiny: Fit, stopped: Path, other: str
) -> None:
    change, what = OTHERS[other]
    for path in (stopped / "checkpoints").iterdir():
        changed(path, change)
    assert what in refused(fit_tiny, stopped)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and then nothing"], ids=str)
def test_checkpoints_that_are_damaged_refuse_the_run(
    fit_tiny: Fit, stopped: Path, damage: bytes
) -> None:
    for path in (stopped / "checkpoints").iterdir():
        path.write_bytes(damage)
    assert "damaged" in refused(fit_tiny, stopped)


def test_a_state_of_another_program_is_passed_over_for_one_of_this(
    fit_tiny: Fit, stopped: Path, tmp_path: Path
) -> None:
    changed(stopped / "checkpoints" / "00000004.npz", OTHERS["a field more"][0])
    seen: list[int] = []
    fit_tiny(stopped, callbacks=[lambda event: seen.append(event.iteration)])
    assert seen == [4, 5, 6, 7, 8]
    fit_tiny(tmp_path / "whole")
    assert artefacts(stopped) == artefacts(tmp_path / "whole")


def test_a_file_that_is_no_checkpoint_is_not_taken_for_one(fit_tiny: Fit, stopped: Path) -> None:
    newest = stopped / "checkpoints" / "00000004.npz"
    shutil.copy(newest, newest.with_name("backup.npz"))
    assert fit_tiny(stopped).status == "done"


@pytest.mark.parametrize("name", ["stopped", "done"])
def test_a_run_whose_checkpoints_are_gone_is_refused(
    fit_tiny: Fit, stopped: Path, name: str
) -> None:
    if name == "done":
        fit_tiny(stopped)
    shutil.rmtree(stopped / "checkpoints")
    (stopped / "checkpoints").mkdir()
    assert "gone" in refused(fit_tiny, stopped, 12)


def test_checkpoints_without_a_manifest_are_refused(fit_tiny: Fit, stopped: Path) -> None:
    """Nothing tells what config they belong to."""
    (stopped / "manifest.json").unlink()
    assert "manifest.json" in refused(fit_tiny, stopped)


def test_a_run_that_came_to_no_checkpoint_begins_anew_and_says_so(
    fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr(job, "LONG_START", math.inf)

    def broken(*_: Any) -> Any:
        raise NumericalError("no start")

    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-pcvb0", step=broken)
        with pytest.raises(NumericalError):
            fit_tiny(run)
    assert fit_tiny(run).status == "done"
    assert "came to no checkpoint yet; it begins anew" in (run / "log.txt").read_text()
    fit_tiny(tmp_path / "whole")
    assert artefacts(run) == artefacts(tmp_path / "whole")
    assert "anew" not in (tmp_path / "whole" / "log.txt").read_text()


@pytest.mark.parametrize("longest", [0.0, math.inf])
def test_after_a_long_start_there_is_a_checkpoint(
    longest: float, fit_tiny: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A fit that dies in its first iteration does not repeat the start."""
    run, begun = tmp_path / "run", []
    init, step = (getattr(registry.load("hdp-pcvb0"), name) for name in ("init", "step"))
    monkeypatch.setattr(job, "LONG_START", longest)

    def beginning(*arguments: Any) -> Any:
        begun.append(True)
        return init(*arguments)

    def dying(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put_in_place(monkeypatch, "hdp-pcvb0", init=beginning, step=dying)
        fit_tiny(run)
    assert (run / "checkpoints" / "00000000.npz").exists() == (longest == 0)
    put_in_place(monkeypatch, "hdp-pcvb0", init=beginning, step=step)
    assert fit_tiny(run).status == "done"
    assert len(begun) == (1 if longest == 0 else 2)
    fit_tiny(tmp_path / "whole")
    assert artefacts(run) == artefacts(tmp_path / "whole")


def test_the_command_refuses_in_one_line(
    call: Callable[..., Any], tiny_file: Path, tmp_path: Path
) -> None:
    words = ["fit", tiny_file, "-b", "multinomial", "-o", "run", "-q", "--iterations"]
    assert call(*words, 1).code == 0
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        path.write_bytes(b"")
    code, out, err = call(*words, 2)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "no checkpoint of run can be continued" in err
