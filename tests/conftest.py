"""What several folders of tests share: tiny corpora, fitted runs, and the command line."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from tiny import hand_made, small_settings
from xdist.scheduler import LoadScopeScheduling

from hiertopics.cli import main
from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.fitting.driver import fit
from hiertopics.fitting.job import FitResult

# The same examples each time, and no verdict by the clock: a busy machine is no defect.
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("project")

# Processes that tests begin find the modules compiled: that takes a fifth off a small command. What
# is kept of them stands in __pycache__, where the compiled kernels stand.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests ran in a browser: where chromium is missing they are skipped."""
    counts = {
        kind: sum("browser" in report.keywords for report in terminalreporter.stats.get(kind, ()))
        for kind in ("passed", "failed", "skipped")
    }
    if any(counts.values()):
        told = ", ".join(f"{n} {kind}" for kind, n in counts.items())
        terminalreporter.write_line(f"browser tests: {told}")


class ByFolder(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole folders: what tests of a folder share is compiled and fitted by one process.

    Handed out file by file, two processes stand in the same folder most of the time and compile
    the same kernels at once.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """Return the folder in tests/ that a test stands in, or its file where it stands in none."""
    return "/".join(nodeid.partition("::")[0].split("/")[:2])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFolder | None:
    """Hand out folders, in the order in which they are collected; files where some were named."""
    if config.option.file_or_dir:
        return None
    config.option.loadscopereorder = False
    return ByFolder(config, log)


BEFORE_ALL = ("tests/runs", "tests/formats")
"""The folder that compiles kernels of every backend, and one that meanwhile needs hardly any."""


@pytest.hookimpl(trylast=True)  # after tests of the night have been left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put folders with many slow tests first, so that no process is left with one at the end."""
    n_slow = Counter(scope_of(i.nodeid) for i in items if i.get_closest_marker("slow"))

    def place(item: pytest.Item) -> tuple[bool, int]:
        folder = scope_of(item.nodeid)
        return folder not in BEFORE_ALL, -n_slow[folder]

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Let tests not wait until the disk has their files: only after a power cut could one tell.

    A small fit waits for the disk longer than it computes. Processes that tests begin do wait. A
    test that looks at ``os.fsync`` puts a function of its own there.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


class Outcome(NamedTuple):
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def tiny_corpus() -> Corpus:
    """Return 30 short documents."""
    return hand_made()


@pytest.fixture(scope="session")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of ``tiny_corpus`` as tiny.ldac, its vocabulary beside it."""
    path = tmp_path_factory.mktemp("corpus") / "tiny.ldac"
    write_corpus(hand_made(), path)
    return path


@pytest.fixture(scope="session")
def file_for(tiny_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function: what a backend can be fitted to, tiny.ldac or its table tiny.npy."""
    table = tmp_path_factory.mktemp("table") / "tiny.npy"
    np.save(table, hand_made().counts.toarray())
    files = {"counts": tiny_file, "vectors": table}
    return lambda backend: files[kind_of(backend, registry.load(backend).Model())]


@pytest.fixture(scope="session")
def small() -> Callable[[str], tuple[str, ...]]:
    """Return a function: the ``key=value`` settings that make a fit of a backend small."""
    return small_settings


@pytest.fixture(scope="session")
def fit_tiny(file_for: Callable[[str], Path]) -> Callable[..., FitResult]:
    """Return a function that fits the tiny corpus: ``fit_tiny(run, backend, iterations, ...)``."""

    def run_fit(
        run: Path,
        backend: str = "hdp-pcvb0",
        iterations: int = 8,
        overrides: Sequence[str] = (),
        corpus: Path | None = None,
        **others: Any,
    ) -> FitResult:
        settings = (*small_settings(backend), "output.record_every=2", *overrides)
        asked = {"backend": backend, "iterations": iterations, "holdout": "docs:0.2@0", **others}
        return fit(corpus or file_for(backend), run=run, overrides=settings, **asked)

    return run_fit


@pytest.fixture(scope="session")
def finished(
    fit_tiny: Callable[..., FitResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Path]]:
    """Return a function that gives a finished run of a backend, fitted once; do not write to it."""
    folder = tmp_path_factory.mktemp("finished")
    made: dict[Path, bytes] = {}

    @cache
    def make(backend: str = "hdp-pcvb0", holdout: str = "docs:0.2@0") -> Path:
        run = folder / f"{backend}-{holdout.partition(':')[0]}"
        fitted = fit_tiny(run, backend, holdout=holdout)
        # A signal to the tests' process stops a fit as it would a user's, without an error.
        assert fitted.status == "done", f"{run} is {fitted.status}: {fitted.reason}"
        made.update((path, path.read_bytes()) for path in run.rglob("*") if path.is_file())
        return run

    yield make
    now = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert now == made, "a test has written to a run that others share; let it take a copy"


@pytest.fixture
def copied(finished: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that gives a copy of a finished run, to be changed at will."""

    def copy(backend: str = "hdp-pcvb0", holdout: str = "docs:0.2@0") -> Path:
        source = finished(backend, holdout)
        return Path(shutil.copytree(source, tmp_path / source.name))

    return copy


@pytest.fixture
def files_are_closed() -> Iterator[None]:
    """Have a file that the test left open told at its end, not in some later test."""
    gc.freeze()  # what stood before is not searched, which would take most of a second
    yield
    gc.collect()
    gc.unfreeze()


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Return a function that runs a command in this process, in the test's own folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        assert isinstance(stop.value.code, int)
        return Outcome(stop.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that runs a command in a process of its own, in the test's own folder."""

    def run(*words: object) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "hiertopics", *map(str, words)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run
