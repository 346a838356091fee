"""What an existing run refuses, and what it takes: nothing is overwritten by mistake."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_files import artefacts, contents, newest_checkpoint, stop_at, wait_for_checkpoint

from hiertopics.base.errors import ConfigError, RunError
from hiertopics.runs.rundir import RunDir

Fit = Callable[..., Any]
Copied = Callable[..., Path]


def unchanged(run: Path, before: dict[str, bytes]) -> None:
    """Assert that only the lock and the end of the log may differ."""
    now = contents(run)
    assert now.pop("log.txt").startswith(before["log.txt"])
    assert now == {name: data for name, data in before.items() if name != "log.txt"}


def test_a_finished_run_says_so_and_stays_as_it_is(fit_tiny: Fit, copied: Copied) -> None:
    run = copied()
    before = contents(run)
    result = fit_tiny(run)
    assert (result.status, result.iterations) == ("done", 8)
    assert "finished" in result.reason and result.objective is not None
    unchanged(run, before)


def test_fewer_iterations_leave_a_finished_run_as_it_is(fit_tiny: Fit, copied: Copied) -> None:
    run = copied()
    before = contents(run)
    assert fit_tiny(run, iterations=3).iterations == 8
    unchanged(run, before)


@pytest.mark.parametrize(
    ("overrides", "keys"),
    [
        (["model.truncation=6"], ["model.truncation"]),
        (["seed=1"], ["seed"]),
        (["inference.shards=2", "model.alpha=2"], ["inference.shards", "model.alpha"]),
        (["output.record_every=3"], ["output.record_every"]),
        (["data.min_df=2"], ["data.min_df"]),
    ],
    ids=str,
)
def test_another_config_is_refused_naming_the_keys_and_both_values(
    fit_tiny: Fit, copied: Copied, overrides: list[str], keys: list[str]
) -> None:
    run = copied()
    before = contents(run)
    with pytest.raises(ConfigError) as refusal:
        fit_tiny(run, overrides=overrides)
    first, *differences = refusal.value.problems
    assert str(run) in first
    assert [line.partition(":")[0] for line in sorted(differences)] == sorted(keys)
    assert all(" in the run, " in line and line.endswith(" now") for line in differences)
    unchanged(run, before)


def test_another_holdout_is_refused(fit_tiny: Fit, copied: Copied) -> None:
    with pytest.raises(ConfigError, match="data.holdout"):
        fit_tiny(copied(), holdout="docs:0.2@1")


def test_another_backend_is_refused(fit_tiny: Fit, copied: Copied) -> None:
    with pytest.raises(ConfigError, match="hdp-pcvb0 in the run, hdp-gibbs now"):
        fit_tiny(copied(), "hdp-gibbs")


def test_other_contents_of_the_corpus_are_refused(
    fit_tiny: Fit, tiny_file: Path, tmp_path: Path
) -> None:
    corpus = tmp_path / "tiny.ldac"
    shutil.copy(tiny_file, corpus)
    shutil.copy(tiny_file.with_suffix(".vocab"), corpus.with_suffix(".vocab"))
    run = tmp_path / "run"
    fit_tiny(run, corpus=corpus)
    before = contents(run)
    with open(corpus, "a") as stream:
        stream.write("1 0:1\n")
    with pytest.raises(ConfigError, match="other contents"):
        fit_tiny(run, corpus=corpus, iterations=20)
    unchanged(run, before)


def test_the_same_corpus_elsewhere_is_taken(fit_tiny: Fit, tiny_file: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(tiny_file.parent, moved)
    run = tmp_path / "run"
    fit_tiny(run, callbacks=[stop_at(3)])
    assert fit_tiny(run, corpus=moved / tiny_file.name).status == "done"


def test_workers_time_limit_and_checkpoint_interval_may_change(
    fit_tiny: Fit, copied: Copied, tmp_path: Path
) -> None:
    run = copied()
    changed = {"overrides": ["output.checkpoint_seconds=1"], "workers": 2, "time_limit": 1e9}
    assert fit_tiny(run, iterations=12, **changed).iterations == 12
    fit_tiny(tmp_path / "whole", iterations=12)
    assert artefacts(run) == artefacts(tmp_path / "whole")


def test_a_run_that_is_being_written_is_refused(fit_tiny: Fit, copied: Copied) -> None:
    run = copied()
    before = contents(run)
    with RunDir(run).locked(), pytest.raises(RunError, match="another process"):
        fit_tiny(run, iterations=20)
    assert contents(run) == before
    assert fit_tiny(run, iterations=20).iterations == 20


@pytest.mark.slow
def test_a_process_that_is_writing_is_not_disturbed(
    fit_tiny: Fit, start: Callable[..., Any], tmp_path: Path
) -> None:
    """The lock is seen across processes, and falls when its holder is killed."""
    run = tmp_path / "run"
    process = start(run)
    wait_for_checkpoint(run, 2)
    with pytest.raises(RunError, match="another process"):
        fit_tiny(run)
    process.kill()
    process.wait()
    assert fit_tiny(run, iterations=newest_checkpoint(run) + 2).status == "done"


def test_a_manifest_of_another_schema_is_refused(fit_tiny: Fit, copied: Copied) -> None:
    run = copied()
    text = (run / "manifest.json").read_text()
    (run / "manifest.json").write_text(text.replace("hiertopics.run/1", "hiertopics.run/9"))
    with pytest.raises(RunError, match="hiertopics.run/9"):
        fit_tiny(run)


def test_the_newest_run_is_the_one_whose_manifest_changed_last(tmp_path: Path) -> None:
    for name, when in (("runs/a", 3), ("runs/b", 9), ("runs/c", 5)):
        path = tmp_path / name
        path.mkdir(parents=True)
        (path / "manifest.json").write_text("{}")
        os.utime(path / "manifest.json", (when, when))
    assert RunDir.newest(tmp_path / "runs").path.name == "b"
    with pytest.raises(RunError, match="hiertopics fit|'fit'"):
        RunDir.newest(tmp_path / "elsewhere")
