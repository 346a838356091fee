"""What cannot be fitted or scored says so in one line, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base.errors import ConfigError, DataError, UsageError
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.tasks import evaluate_task

Fit = Callable[..., Any]
HCA = "hca-variational"


@pytest.mark.parametrize("depth", [1, 0, -2])
def test_a_tree_has_two_levels_at_least(
    fit_tiny: Fit, table: np.ndarray, tmp_path: Path, depth: int
) -> None:
    np.save(tmp_path / "rows.npy", table)
    with pytest.raises(ConfigError, match=f"model.depth must be .*>= 2.*got {depth}"):
        fit_tiny(
            tmp_path / "run", HCA, corpus=tmp_path / "rows.npy", overrides=[f"model.depth={depth}"]
        )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("cell", "line"), [("nan", 3), ("inf", 3), ("word", 3), ("", 3)])
def test_a_cell_that_is_no_number_is_named_by_its_line(
    fit_tiny: Fit, tmp_path: Path, cell: str, line: int
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"1,2.5\n-3,4\n5,{cell}\n7,8\n")
    with pytest.raises(DataError, match=rf"rows\.csv:{line}: "):
        fit_tiny(tmp_path / "run", HCA, corpus=path, overrides=["data.from=vectors"])
    assert not (tmp_path / "run").exists()


def test_a_nan_in_an_array_is_named_by_its_place(fit_tiny: Fit, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", [[1.0, 2.0], [3.0, np.nan]])
    with pytest.raises(DataError, match="got nan in row 1, column 1"):
        fit_tiny(tmp_path / "run", HCA, corpus=tmp_path / "rows.npy")


def test_negative_rows_are_rows_like_others(
    fit_tiny: Fit, table: np.ndarray, tmp_path: Path
) -> None:
    np.save(tmp_path / "rows.npy", -table)
    assert fit_tiny(tmp_path / "run", HCA, corpus=tmp_path / "rows.npy").status == "done"


ROWS = {
    "one row": np.arange(4.0)[None],
    "one column": np.arange(12.0)[:, None],
    "equal rows": np.ones((12, 3)),
    "rows of zeros": np.zeros((12, 3)),
    "a constant column": np.column_stack([np.arange(12.0), np.full(12, 7.0)]),
    "huge numbers": 1e9 + 1e6 * np.random.default_rng(0).normal(size=(30, 3)),
    "tiny numbers": 1e-9 * np.random.default_rng(0).normal(size=(30, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["structured", "meanfield"])
@pytest.mark.parametrize("rows", ROWS)
def test_odd_tables_give_finite_files(fit_tiny: Fit, tmp_path: Path, rows: str, mode: str) -> None:
    np.save(tmp_path / "rows.npy", ROWS[rows])
    settings = [f"inference.mode={mode}", "model.max_nodes=5"]
    run = tmp_path / "run"
    fit_tiny(run, HCA, 4, settings, tmp_path / "rows.npy", holdout="none")
    for name, array in RunDir.open(run).tree.to_arrays().items():
        assert np.isfinite(array).all(), name
    record = evaluate_task(run, "reconstruction")
    assert 0 <= record["mean_squared_error"] < np.inf


def test_a_corpus_of_words_is_no_table(fit_tiny: Fit, tiny_file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tiny\.ldac: holds counts of words, but the backend"):
        fit_tiny(tmp_path / "run", HCA, corpus=tiny_file)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("setting", ["data.min_df=2", "data.discretise.bins=3"])
def test_rows_of_numbers_have_no_words_to_choose(
    fit_tiny: Fit, tmp_path: Path, setting: str, table: np.ndarray
) -> None:
    np.save(tmp_path / "rows.npy", table)
    with pytest.raises(UsageError, match="choose words, but the backend observes rows of numbers"):
        fit_tiny(tmp_path / "run", HCA, corpus=tmp_path / "rows.npy", overrides=[setting])


@pytest.mark.parametrize("holdout", ["tokens:0.2@0", "links:0.2@0"])
def test_rows_are_put_aside_whole(
    fit_tiny: Fit, tmp_path: Path, table: np.ndarray, holdout: str
) -> None:
    np.save(tmp_path / "rows.npy", table)
    with pytest.raises(UsageError, match="rows of numbers go whole"):
        fit_tiny(tmp_path / "run", HCA, corpus=tmp_path / "rows.npy", holdout=holdout)


def test_scores_of_words_are_refused_for_vectors_and_the_reverse(
    digits: RunDir, finished: Callable[..., Path]
) -> None:
    scores: tuple[Callable[[], Any], ...] = (
        lambda: evaluate(digits, protocol="completion"),
        lambda: evaluate_task(digits, "links"),
    )
    for score in scores:
        with pytest.raises(UsageError, match="counts of words, but hca-variational observes rows"):
            score()
    with pytest.raises(UsageError, match="rows of numbers.*, but .* observes counts of words"):
        evaluate_task(finished("multinomial"), "reconstruction")
    with pytest.raises(UsageError, match="protocol density is for rows of numbers.*, but"):
        evaluate(finished("multinomial"), protocol="density")


def test_new_rows_have_the_columns_of_the_run(
    digits: RunDir, table: np.ndarray, tmp_path: Path
) -> None:
    np.save(tmp_path / "narrow.npy", table[:, :4])
    with pytest.raises(DataError, match=r"narrow\.npy: 4 columns where 5 were fitted: no 'x4'"):
        evaluate(digits, corpus=tmp_path / "narrow.npy")
    with pytest.raises(UsageError, match="trained on; scoring it would flatter"):
        evaluate(digits, corpus=digits.path.parent / "rows.npy")


def test_another_table_is_another_run(digits: RunDir, table: np.ndarray, tmp_path: Path) -> None:
    """The split's hash holds every bit of the held-out rows."""
    from hiertopics.corpus.data.vectors import Vectors, default_columns
    from hiertopics.corpus.holdouts.spec import parse_holdout
    from hiertopics.corpus.holdouts.split import split_rows

    holdout = parse_holdout("train:60@0")
    _, split = split_rows(Vectors(table, default_columns(5)), holdout)
    assert split.hash == digits.split.hash
    changed = table.copy()
    changed[split.heldout_docs[0], 0] = np.nextafter(changed[split.heldout_docs[0], 0], np.inf)
    _, other = split_rows(Vectors(changed, default_columns(5)), holdout)
    assert other.hash != split.hash
    assert (other.heldout.toarray() == changed[other.heldout_docs]).all()
