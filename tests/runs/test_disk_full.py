"""A disk that refuses, at any moment of a fit: a clear error, and every old file whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from faults import KINDS, failing, refusals
from run_files import TIMED, artefacts, contents

from hiertopics.base.errors import RunError
from hiertopics.base.files import write_together

Fit = Callable[..., Any]
Files = dict[str, bytes]
APPENDED = ("log.txt", "metrics.jsonl")


def extend(fit_tiny: Fit, run: Path) -> None:
    """Do what is made to fail: take a finished run of two iterations two further."""
    fit_tiny(run, "hdp-gibbs", 4, ["output.checkpoint_seconds=0"])


@pytest.fixture(scope="module")
def short(fit_tiny: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run of two iterations."""
    run = tmp_path_factory.mktemp("short") / "run"
    fit_tiny(run, "hdp-gibbs", 2)
    return run


@pytest.fixture(scope="module")
def longer(fit_tiny: Fit, short: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same run extended to four iterations, on a sound disk."""
    run = tmp_path_factory.mktemp("longer") / "run"
    shutil.copytree(short, run)
    extend(fit_tiny, run)
    return run


def assert_whole(now: Files, before: Files, after: Files) -> None:
    """Assert that each file is as before or as after; only appended ones may end in between."""
    assert not [name for name in now if name.endswith(".partial")]
    assert set(before) - set(now) <= {name for name in before if name.startswith("checkpoints/")}
    for name, data in now.items():
        if name == "manifest.json":
            assert json.loads(data)["status"] in ("running", "done")
        elif name in APPENDED:
            assert data.startswith(before[name])
        elif name.startswith("checkpoints/"):
            assert data == before.get(name, data) and data[:2] == b"PK"
        else:
            assert data in (before.get(name), after[name]), name


def test_the_faults_reach_every_kind_of_call(
    fit_tiny: Fit, short: Path, longer: Path, tmp_path: Path
) -> None:
    for kind in KINDS:
        run = tmp_path / kind
        shutil.copytree(short, run)
        with failing(kind, 0, tmp_path) as faults:
            extend(fit_tiny, run)
        assert faults.calls >= 12, kind
        assert artefacts(run) == artefacts(longer)


def refused(fit_tiny: Fit, run: Path) -> str | None:
    """Return the fault that was met, if any: a RunError in one line and nothing else."""
    try:
        extend(fit_tiny, run)
    except RunError as error:
        assert "No space left" in str(error) and "\n" not in str(error)
        return str(error)
    return None


@pytest.fixture(scope="module")
def left(
    fit_tiny: Fit, short: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[Files]]:
    """Return a function: a kind of call to the files of a run after each moment of refusal.

    The first entry is the run after its first such call failed, the second after the second ...
    """

    @cache
    def collect(kind: str) -> list[Files]:
        found: list[Files] = []
        folder = tmp_path_factory.mktemp(kind)

        def prepare(n: int) -> Path:
            return Path(shutil.copytree(short, folder / str(n)))

        for run, _ in refusals(kind, folder, prepare, partial(refused, fit_tiny)):
            found.append(contents(run))
            shutil.rmtree(run)
        return found

    return collect


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_at_any_moment_leaves_every_file_whole(
    left: Callable[[str], list[Files]], short: Path, longer: Path, kind: str
) -> None:
    before, after = contents(short), contents(longer)
    assert len(left(kind)) >= 12
    for now in left(kind):
        assert_whole(now, before, after)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["open", "sync", "write"])
def test_model_theta_and_tree_never_tell_of_different_states(
    left: Callable[[str], list[Files]], short: Path, longer: Path, kind: str
) -> None:
    """A full disk is met before the first rename, so the ids of all files agree."""
    before, after = contents(short), contents(longer)
    names = {"model.npz", "theta.npz", "tree.json", "topics.csv"}
    assert all(before[name] != after[name] for name in names)
    for now in left(kind):
        new = {name for name in names if now[name] != before[name]}
        assert new in (set(), names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_once_there_is_room_again_the_fit_goes_on_as_if_nothing_had_happened(
    left: Callable[[str], list[Files]], fit_tiny: Fit, longer: Path, tmp_path: Path, kind: str
) -> None:
    seen = set()
    for number, now in enumerate(left(kind)):
        state = frozenset((name, data) for name, data in now.items() if name not in TIMED)
        if state in seen:
            continue
        seen.add(state)
        run = tmp_path / str(number)
        for name, data in now.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_bytes(data)
        extend(fit_tiny, run)
        assert artefacts(run) == artefacts(longer), number
    assert len(seen) > 3


def test_the_first_fit_on_a_full_disk_leaves_nothing_half_written(
    fit_tiny: Fit, tmp_path: Path
) -> None:
    for kind in KINDS:
        for n in (1, 2, 5, 9):
            run = tmp_path / f"{kind}-{n}"
            with failing(kind, n, tmp_path), pytest.raises(RunError):
                fit_tiny(run, iterations=2)
            assert not list(run.rglob("*.partial"))
            for path in run.rglob("*.npz"):
                assert path.read_bytes()[-22:-18] == b"PK\x05\x06", path  # a zip's end record
            assert fit_tiny(run, iterations=2).status == "done"


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_ends_in_one_line_and_exit_code_1(
    call: Callable[..., Any], tiny_file: Path, tmp_path: Path, kind: str
) -> None:
    run = tmp_path / "run"
    with failing(kind, 3, tmp_path):
        outcome = call(
            "fit",
            tiny_file,
            "-q",
            "-o",
            run,
            "--iterations",
            2,
            "-b",
            "hdp-pcvb0",
            "-s",
            "model.truncation=3",
        )
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("hiertopics: error: cannot")
    assert "No space left" in outcome.err


@pytest.mark.parametrize("target", ["file/run", "file"])
def test_a_run_directory_that_cannot_be(
    call: Callable[..., Any], tiny_file: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    outcome = call("fit", tiny_file, "-q", "-o", target, "--iterations", 1)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and "cannot create file" in outcome.err


def test_scores_and_theta_of_new_documents_are_whole_or_not_there(
    call: Callable[..., Any], copied: Callable[..., Path], tiny_file: Path, tmp_path: Path
) -> None:
    run = copied()
    for words, name in (
        (("eval", run, "--heldout"), run / "eval" / "completion.json"),
        (("infer", run, tiny_file, "-o", tmp_path / "theta.npz"), tmp_path / "theta.npz"),
    ):
        for kind in KINDS:
            with failing(kind, 1, tmp_path):
                assert call(*words).code == 1, kind
            assert kind == "sync" or not name.exists(), kind
        assert not list(tmp_path.rglob("*.partial"))


def test_of_several_files_none_is_replaced_if_one_cannot_be_written(tmp_path: Path) -> None:
    old = {tmp_path / name: name.encode() for name in ("a", "b", "c")}
    for path, data in old.items():
        path.write_bytes(data)
    writers = {path: lambda stream: stream.write(b"new" * 1000) for path in old}
    for kind, n in (("open", 3), ("write", 3), ("sync", 3)):
        with (
            failing(kind, n, tmp_path),
            pytest.raises(RunError, match=r"cannot write .*c: No space"),
        ):
            write_together(writers)
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old, kind
