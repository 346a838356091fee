"""Fits as users run them: the same bytes on threads, stopped, killed and resumed; bad input."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.testing.bench import Bench
from hiertopics.testing.corpora import two_themes

RESULTS = ("model.npz", "theta.npz", "tree.json")
ENDLESS = 10_000_000
PATIENCE = 300.0
"""Seconds that a process has for its first checkpoints, kernels compiled among them."""


pytestmark = pytest.mark.as_users_do
"""Only one of hiertopics' own backends is fitted here: tests/runs covers all of them."""


@pytest.fixture
def corpus_file(bench: Bench, tmp_path: Path) -> Path:
    """Return a corpus that the backend can read."""
    corpus = two_themes()
    if bench.of_vectors:
        path = tmp_path / "tiny.npy"
        table = corpus.counts.toarray()
        np.save(path, table > 0 if bench.module.observes == "bits" else table)
        return path
    write_corpus(corpus, tmp_path / "tiny.ldac")
    return tmp_path / "tiny.ldac"


def command(bench: Bench, *words: object) -> list[str]:
    """Return the words of a command, the settings of the case among them."""
    settings = [word for setting in bench.small for word in ("-s", setting)]
    return [sys.executable, "-m", "hiertopics", *map(str, words), *settings]


def fit(bench: Bench, corpus: Path, run: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Fit a corpus in a separate process."""
    asked = ("fit", corpus, "-b", bench.name, "-o", run, "-q", *words)
    return subprocess.run(command(bench, *asked), capture_output=True, text=True)


def results(run: Path) -> dict[str, bytes]:
    """Return the bytes of the results of a fit."""
    return {name: (run / name).read_bytes() for name in RESULTS}


def iterations_of(run: Path) -> int:
    """Return the iteration of the newest checkpoint, 0 without one."""
    found = [int(path.stem) for path in (run / "checkpoints").glob("*.npz")]
    return max(found, default=0)


@pytest.mark.slow
def test_workers_and_a_stop_change_no_byte(bench: Bench, corpus_file: Path, tmp_path: Path) -> None:
    plain = fit(bench, corpus_file, tmp_path / "plain", "--iterations", 6)
    assert (plain.returncode, plain.stderr) == (0, "")
    fit(bench, corpus_file, tmp_path / "part", "--iterations", 2, "--workers", 2)
    fit(bench, corpus_file, tmp_path / "part", "--iterations", 6)
    assert results(tmp_path / "part") == results(tmp_path / "plain")


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_bytes(
    bench: Bench, corpus_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "killed"
    words = ("fit", corpus_file, "-b", bench.name, "-o", run, "-q", "--iterations", ENDLESS)
    each = ("-s", "output.checkpoint_seconds=0")
    with subprocess.Popen(command(bench, *words, *each)) as process:
        began = time.monotonic()
        while iterations_of(run) < 3 and process.poll() is None:
            assert time.monotonic() - began < PATIENCE, "no checkpoint"
            time.sleep(0.02)
        process.kill()
    end = iterations_of(run) + 3
    assert fit(bench, corpus_file, run, "--iterations", end).returncode == 0
    fit(bench, corpus_file, tmp_path / "whole", "--iterations", end)
    assert results(run) == results(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_is_scored_and_shown(bench: Bench, corpus_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit(bench, corpus_file, run, "--iterations", 3)
    for words in (("eval", run, "--heldout"), ("show-tree", run), ("topics", run)):
        asked = [sys.executable, "-m", "hiertopics", *map(str, words)]
        done = subprocess.run(asked, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("text", ["", "not a corpus", "-1 0:3", "1 0:0", "1 4294967296:1"])
def test_a_bad_corpus_ends_in_one_line(bench: Bench, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.ldac").write_text(text)
    done = fit(bench, tmp_path / "bad.ldac", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "bad.ldac" in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_unknown_key_ends_in_one_line(bench: Bench, corpus_file: Path, tmp_path: Path) -> None:
    done = fit(bench, corpus_file, tmp_path / "run", "-s", "model.no_such_key=1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no_such_key" in done.stderr and "Traceback" not in done.stderr
