"""``data.repeat_cap``: no count above the cap, in the fit and in whatever is read after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import counts_in

from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.fitting.refitting import refit
from hiertopics.fitting.updating import update
from hiertopics.runs.newdocs import infer
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.unseen import read_matched

Fit = Callable[..., Any]
CAP = "data.repeat_cap=3"
N_DOCS, N_WORDS = 30, 12
HDP = ["model.truncation=6", CAP]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a corpus whose counts go up to 9; the last word is in few documents."""
    return write(tmp_path / "a.ldac", seed=0)


def write(target: Path, seed: int) -> Path:
    rows = np.random.default_rng(seed).integers(0, 10, (N_DOCS, N_WORDS))
    rows[3:, -1] = 0
    lines = [[f"{word}:{n}" for word, n in enumerate(row) if n] for row in rows]
    target.write_text("".join(f"{' '.join([str(len(row)), *row])}\n" for row in lines))
    vocabulary = "".join(f"word{word}\n" for word in range(N_WORDS))
    target.with_suffix(".vocab").write_text(vocabulary)
    return target


def counts_of(run: Path) -> np.ndarray:
    """Return the counts that a run was fitted and is scored on, in the order of the corpus."""
    original = read_original(RunDir(run))
    return np.asarray(original.whole.counts.toarray())


def test_training_and_held_out_counts_are_capped(fit_tiny: Fit, path: Path, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run", "hdp-cvb0", 3, HDP, path)
    run, whole = RunDir(tmp_path / "run"), counts_in(path).counts.toarray()
    expected = np.minimum(whole, 3)
    np.testing.assert_array_equal(counts_of(tmp_path / "run"), expected)
    np.testing.assert_array_equal(run.split.heldout.toarray(), expected[run.split.heldout_docs])


def test_a_note_says_how_many_tokens_are_left_out(
    fit_tiny: Fit, path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = counts_in(path).counts.toarray()
    fit_tiny(tmp_path / "run", "hdp-cvb0", 3, HDP, path, quiet=False)
    n_left_out = int((whole - np.minimum(whole, 3)).sum())
    assert f"data.repeat_cap=3 leaves out {n_left_out} of {whole.sum()} tokens" in (
        capfd.readouterr().err
    )


def test_shards_give_the_bytes_of_the_corpus_in_memory(
    fit_tiny: Fit, path: Path, tmp_path: Path
) -> None:
    convert(path, tmp_path / "a.shards")
    few = [*HDP, "data.min_df=5"]
    for name, corpus in (("memory", path), ("files", tmp_path / "a.shards")):
        fit_tiny(tmp_path / name, "hdp-cvb0", 3, few, corpus)
    assert RunDir(tmp_path / "memory").vocab == tuple(f"word{word}" for word in range(11))
    for file in ("model.npz", "theta.npz", "split.npz"):
        first, second = (tmp_path / name / file for name in ("memory", "files"))
        assert first.read_bytes() == second.read_bytes(), file


def test_new_documents_are_capped_as_the_run_was(fit_tiny: Fit, path: Path, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run", "hdp-cvb0", 3, HDP, path)
    run, new = RunDir(tmp_path / "run"), write(tmp_path / "new.ldac", seed=1)
    expected = np.minimum(counts_in(new).counts.toarray(), 3)
    np.testing.assert_array_equal(read_matched(run, new, {}).corpus.counts.toarray(), expected)
    np.testing.assert_array_equal(infer(run, new).lengths, expected.sum(axis=1))


def test_update_and_refit_keep_the_cap(fit_tiny: Fit, path: Path, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run", "hdp-cvb0", 3, HDP, path)
    second, third = (write(tmp_path / f"new{seed}.ldac", seed) for seed in (1, 2))
    update(tmp_path / "run", second, tmp_path / "later")
    update(tmp_path / "later", third, tmp_path / "last")
    parts = [np.minimum(counts_in(file).counts.toarray(), 3) for file in (path, second, third)]
    np.testing.assert_array_equal(counts_of(tmp_path / "last"), np.concatenate(parts))
    largest = int(RunDir(tmp_path / "run").theta.sum(axis=0).argmax())
    refit(tmp_path / "run", largest, tmp_path / "part", backend="hdp-pcvb0", iterations=2)
    assert RunDir(tmp_path / "part").experiment.data.repeat_cap == 3


def test_convert_writes_capped_counts(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    convert(path, tmp_path / "other" / "b.ldac", overrides=[CAP])
    written = counts_in(tmp_path / "other" / "b.ldac").counts.toarray()
    np.testing.assert_array_equal(written, np.minimum(counts_in(path).counts.toarray(), 3))


def test_shards_keep_all_counts(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="shards keep all counts"):
        convert(path, tmp_path / "b.shards", overrides=[CAP])
    assert not (tmp_path / "b.shards").exists()


def test_a_cap_of_nothing_is_refused(fit_tiny: Fit, path: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="repeat_cap"):
        fit_tiny(tmp_path / "run", "hdp-cvb0", 1, ["data.repeat_cap=0"], path)
