"""What the system refuses: memory, a file system's letters, stdout, a disk's last bytes."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from faults import failing, refusals
from nights import by_night, daily

from hiertopics.base.visible import in_letters
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their paths there."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def limited(kind: int, kilobytes: int) -> Callable[[], None]:
    """Return what limits a process before it begins."""
    return lambda: resource.setrlimit(kind, (kilobytes * 1024, kilobytes * 1024))


@pytest.mark.parametrize(
    ("kind", "option"), [(resource.RLIMIT_AS, "-v"), (resource.RLIMIT_DATA, "-d")]
)
@pytest.mark.parametrize("kilobytes", [100_000, 200_000, 250_000])
@pytest.mark.parametrize("threads", [{}, {"OPENBLAS_NUM_THREADS": "1"}], ids=["", "one thread"])
def test_too_little_memory_for_the_libraries_is_called_so(
    tmp_path: Path, kind: int, option: str, kilobytes: int, threads: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hiertopics", "show-tree", "none"],
        cwd=tmp_path,
        env=os.environ | threads,
        preexec_fn=limited(kind, kilobytes),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and f"ulimit {option}" in done.stderr
    assert "memory" in done.stderr


def test_help_needs_no_memory_to_speak_of(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hiertopics", "fit", "--help"],
        preexec_fn=limited(resource.RLIMIT_DATA, 100_000),
        capture_output=True,
    )
    assert done.returncode == 0


def test_a_name_beyond_ascii_is_written_out_in_a_report(
    call: Call, tmp_path: Path, tiny_corpus: Corpus
) -> None:
    write_corpus(tiny_corpus, tmp_path / "cörpus ☃.ldac")
    assert call("fit", "cörpus ☃.ldac", "-b", "multinomial", "-o", "run", "-q").code == 0
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "hiertopics", "report", "run", "-o", "page.html"],
        cwd=tmp_path,
        env=os.environ | plain,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "<title>cörpus ☃" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_bytes_of_a_name_are_written_out() -> None:
    assert in_letters("a\udcff") == "a\\xff"
    assert in_letters("ö☃\udcff") == "ö☃\\xff"
    assert in_letters("\ud800") == "\\ud800"


@pytest.mark.parametrize("command", ["export", "merge", "infer"])
def test_a_full_stdout_says_that_files_are_written(
    call: Call, copied: Any, tmp_path: Path, tiny_corpus: Corpus, command: str
) -> None:
    write_corpus(tiny_corpus, tmp_path / "a.ldac")
    run, made = copied(), tmp_path / "made"
    words = {
        "export": ["export", run, "-o", f"{made}.json"],
        "merge": ["merge", run, "1", "2", "-o", made],
        "infer": ["infer", run, "a.ldac", "-o", f"{made}.npz"],
    }[command]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hiertopics", *map(str, words)],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "stdout: No space left on device" in last and "are written" in last
    assert list(tmp_path.glob("made*"))


COMMANDS = ("fit", "merge", "drop", "shape", "refit", "update", "consensus")


@pytest.mark.slow
@pytest.mark.parametrize("command", daily(COMMANDS, "fit", "merge", "update"))
@pytest.mark.parametrize(
    "there", [*by_night(False), True], ids=["no folder", "a folder with a note"]
)
def test_a_full_disk_leaves_no_half_of_a_run(
    fit_tiny: Callable[..., Any],
    call: Call,
    tmp_path: Path,
    tiny_corpus: Corpus,
    command: str,
    there: bool,
) -> None:
    """Either the run is there, so that the same command goes on, or nothing of it is."""
    write_corpus(tiny_corpus, tmp_path / "a.ldac")
    write_corpus(tiny_corpus.select(range(0, 30, 2)), tmp_path / "more.ldac")
    run, made = tmp_path / "run", tmp_path / "made"
    fit_tiny(run, "nhdp-variational", 2, corpus=tmp_path / "a.ldac")
    parent = RunDir(run).tree.parent
    a, b = next(two for two in combinations(range(len(parent)), 2) if len({*parent[[*two]]}) == 1)
    shutil.copytree(run, tmp_path / "again")
    words: list[object] = {
        "fit": ["fit", "a.ldac", "-b", "multinomial", "-o", made],
        "merge": ["merge", run, a, b, "-o", made],
        "drop": ["drop", run, b, "-o", made],
        "shape": ["shape", run, "--branches", 2, "-o", made],
        "refit": ["refit", run, "0", "-o", made, "--holdout", "none"],
        "update": ["update", run, "more.ldac", "-o", made],
        "consensus": ["consensus", run, "again", "-o", made],
    }[command]

    def prepare(_: int) -> None:
        shutil.rmtree(made, ignore_errors=True)
        if there:
            made.mkdir()
            (made / "note").write_text("mine")

    def act(_: None) -> Any:
        outcome = call(*words)
        return outcome if outcome.code else None

    n_refused = 0
    for kind in ("open", "rename", "write"):
        for _, outcome in refusals(kind, tmp_path, prepare, act, 3 if kind == "write" else 1):
            assert outcome.code == 1 and outcome.out == "", outcome
            if not (made / "manifest.json").exists():
                left = contents(made) if made.exists() else {}
                assert left == ({"note": b"mine"} if there else {}), (kind, outcome.err)
                assert made.exists() == there
                n_refused += 1
    assert n_refused > 2


def test_a_run_without_a_manifest_yet_asks_for_its_command(
    call: Call, tmp_path: Path, tiny_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill in the first second leaves it."""
    write_corpus(tiny_corpus, tmp_path / "a.ldac")
    words = ("fit", "a.ldac", "-b", "multinomial", "-o", "run", "-q")
    with failing("rename", 3, tmp_path), monkeypatch.context() as patch:
        patch.setattr("hiertopics.runs.rundir.RunDir._withdraw", lambda *_: None)
        assert call(*words).code == 1
    refused = call("show-tree", "run")
    assert refused.code == 1 and "give the command again" in refused.err
    assert call(*words).code == 0
