"""The files of a run belong together: those of another fit, or of another state, are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed import killed_fits
from run_files import artefacts, contents, stop_at
from tiny import small_settings
from unsealed import unsealed

Fit = Callable[..., Any]
Call = Callable[..., Any]
AGAIN = "give the fit's command again"


def views(run: Path, corpus: Path) -> list[tuple[object, ...]]:
    """Return commands that read a run."""
    return [
        ("show-tree", run, "--docs", 2),
        ("topics", run),
        ("eval", run, "--heldout", "--json"),
        ("infer", run, corpus, "-o", "theta.npz", "--json"),
        ("export", run, "-o", "tree.json"),
        ("compare", run, "--format", "csv"),
    ]


@pytest.fixture(scope="module")
def stages(fit_tiny: Fit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a finished run of two iterations, and of four."""
    folder = tmp_path_factory.mktemp("stages")
    for name, iterations in (("short", 2), ("long", 4)):
        fit_tiny(folder / name, "hdp-gibbs", iterations)
    return folder / "short", folder / "long"


@pytest.fixture(scope="module")
def mixed(stages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the longer run with the theta of the shorter one."""
    short, long = stages
    run = tmp_path_factory.mktemp("mixed") / "run"
    shutil.copytree(long, run)
    shutil.copy(short / "theta.npz", run / "theta.npz")
    return run


KINDS = ("begun", "extended", "repaired")


@pytest.fixture(scope="module", params=KINDS)
def killed(
    request: pytest.FixtureRequest,
    stages: tuple[Path, Path],
    mixed: Path,
    tiny_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Path]:
    """Return the runs of fits to iteration 4, each killed after one rename more."""
    template = dict(zip(KINDS, (None, stages[0], mixed), strict=True))[request.param]
    return killed_fits(
        tmp_path_factory.mktemp(request.param),
        template,
        corpus=str(tiny_file),
        backend="hdp-gibbs",
        iterations=4,
        holdout="docs:0.2@0",
        overrides=[*small_settings("hdp-gibbs"), "output.record_every=2"],
    )


def answers(call: Call, run: Path, place: Path, corpus: Path) -> list[Any]:
    """Return what each view answers of a run that is moved to ``place``."""
    shutil.copytree(run, place)
    told = []
    for words in views(place, corpus):
        outcome = call(*words)
        told.append((outcome.code, outcome.out if outcome.code == 0 else outcome.err))
    shutil.rmtree(place)
    return told


def without_times(text: str) -> str:
    """Return a table of ``compare`` without what the fit took."""
    rows = [line.split(",") for line in text.splitlines()]
    if "peak_memory_bytes" not in rows[0]:
        return text
    timed = {rows[0].index(name) for name in ("seconds", "peak_memory_bytes", "status")}
    timed.add(rows[0].index("iterations"))
    return "\n".join(
        ",".join("" if place in timed else cell for place, cell in enumerate(row)) for row in rows
    )


@pytest.mark.slow
def test_killed_between_two_renames_no_view_mixes_old_and_new(
    call: Call, killed: list[Path], stages: tuple[Path, Path], tiny_file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    whole = [answers(call, run, place, tiny_file) for run in stages]
    assert all(code == 0 for told in whole for code, _ in told)
    assert len(killed) >= 9
    refused = 0
    for run in killed:
        for view, (code, text) in enumerate(answers(call, run, place, tiny_file)):
            if code:
                refused += AGAIN in text
                assert code == 2 if "is not a run" in text else code == 1, text
                assert text.count("\n") == 1, text
                refusals = (AGAIN, "is not a run", "is no run yet")
                assert any(words in text for words in refusals), text
            else:
                sound = [without_times(told[view][1]) for told in whole]
                assert without_times(text) in sound, (run.name, view)
    assert refused > 0


@pytest.mark.slow
def test_killed_between_two_renames_the_fit_given_again_repairs(
    fit_tiny: Fit, killed: list[Path], stages: tuple[Path, Path], tmp_path: Path
) -> None:
    for run in killed:
        copy = tmp_path / run.name
        shutil.copytree(run, copy)
        result = fit_tiny(copy, "hdp-gibbs", 4)
        assert (result.status, result.iterations) == ("done", 4)
        assert artefacts(copy) == artefacts(stages[1]), run.name


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["model.npz", "theta.npz", "tree.json", "topics.csv", "paths.npz", "split.npz", "vocab.txt"],
)
def test_a_file_of_another_run_is_refused_and_the_fit_given_again_repairs_it(
    fit_tiny: Fit, call: Call, tiny_file: Path, tmp_path: Path, name: str
) -> None:
    """The other run has the same words, documents and settings but for its seed."""
    runs, others = {}, {"own": (0, "docs:0.2@0"), "other": (1, "docs:0.2@1")}
    for who, (seed, holdout) in others.items():
        runs[who] = tmp_path / who
        fit_tiny(runs[who], "hlda-gibbs", 4, seed=seed, holdout=holdout)
    run, before = runs["own"], artefacts(runs["own"])
    if name == "vocab.txt":
        words = (run / name).read_text().split()
        (run / name).write_text("".join(f"{word}\n" for word in reversed(words)))
    else:
        assert (run / name).read_bytes() != (runs["other"] / name).read_bytes()
        shutil.copy(runs["other"] / name, run / name)
    told = [call(*words) for words in views(run, tiny_file)]
    refusals = [outcome for outcome in told if outcome.code]
    assert refusals or name in ("topics.csv", "paths.npz")
    for outcome in refusals:
        assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
        assert f"{name} is damaged" in outcome.err and AGAIN in outcome.err
    assert fit_tiny(run, "hlda-gibbs", 4).status == "done"
    assert {n: data for n, data in artefacts(run).items() if n in before} == before
    assert all(call(*words).code == 0 for words in views(run, tiny_file))


def test_the_paths_of_another_run_are_not_believed(
    fit_tiny: Fit, tmp_path: Path, call: Call
) -> None:
    import hiertopics

    for seed in (0, 1):
        fit_tiny(tmp_path / str(seed), "hlda-gibbs", 4, seed=seed)
    shutil.copy(tmp_path / "1" / "paths.npz", tmp_path / "0" / "paths.npz")
    run = hiertopics.Run.open(tmp_path / "0")
    with pytest.raises(hiertopics.HiertopicsError, match=r"paths\.npz is damaged"):
        _ = run.paths


def test_a_run_from_before_files_were_sealed_opens_and_is_sealed_when_it_is_continued(
    fit_tiny: Fit, call: Call, stages: tuple[Path, Path], tiny_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    unsealed(Path(shutil.copytree(stages[0], run)))
    assert all(call(*words).code == 0 for words in views(run, tiny_file))
    shutil.rmtree(run / "eval")
    kept = contents(run)
    fit_tiny(run, "hdp-gibbs", 2)
    assert json.loads(kept["manifest.json"]) == json.loads((run / "manifest.json").read_text())
    fit_tiny(run, "hdp-gibbs", 4, callbacks=[stop_at(3)])
    assert "model.npz" in json.loads((run / "manifest.json").read_text())["files"]
    fit_tiny(run, "hdp-gibbs", 4)
    assert artefacts(run) == artefacts(stages[1])


def test_while_a_finished_run_is_being_extended_its_views_answer_as_before(
    fit_tiny: Fit, call: Call, stages: tuple[Path, Path], tiny_file: Path, tmp_path: Path
) -> None:
    run, seen = tmp_path / "run", []
    shutil.copytree(stages[0], run)
    before = call("topics", run).out

    def look(event: Any) -> None:
        seen.append(call("topics", run))

    fit_tiny(run, "hdp-gibbs", 4, callbacks=[look])
    assert [(outcome.code, outcome.out) for outcome in seen] == [(0, before)] * 2
    assert call("topics", run).out != before
