"""Dense tables from file to run and back: bins belong to the model, tables of counts are counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import artefacts, stop_at
from scipy import sparse
from unsealed import unsealed

from hiertopics.base.archives import read_npz, write_npz
from hiertopics.base.errors import DataError, RunError, UsageError
from hiertopics.corpus.corpora import dataset
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.unseen import read_matched
from hiertopics.scoring.evaluation import evaluate
from hiertopics.settings.config import DataConfig, Discretise

Fit = Callable[..., Any]
BINS = ("data.discretise.bins=4",)
TABLE = np.random.default_rng(5).normal(size=(40, 3)) * [1, 10, 0] + [0, 5, 7]
NAMES = "a,b c,constant\n"


def text(rows: np.ndarray, head: str = NAMES) -> str:
    return head + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())


@pytest.fixture
def dense(fit_tiny: Fit, tmp_path: Path) -> RunDir:
    """Return a run on forty rows of three named columns, cut into four bins each."""
    (tmp_path / "rows.csv").write_text(text(TABLE))
    overrides = ("data.from=vectors", *BINS)
    fit_tiny(tmp_path / "run", corpus=tmp_path / "rows.csv", overrides=overrides)
    return RunDir.open(tmp_path / "run")


def new_file(tmp_path: Path, rows: object, head: str = NAMES) -> Path:
    path = tmp_path / "new.csv"
    path.write_text(text(np.asarray(rows, dtype=float), head))
    return path


def words_of(run: RunDir, path: Path, **data: Any) -> list[list[str]]:
    counts = read_matched(run, path, data).corpus.counts
    assert (counts.data == 1).all()
    return [[run.vocab[word] for word in row.indices] for row in counts]


def test_the_model_holds_the_edges_that_the_whole_file_gives(dense: RunDir) -> None:
    model = read_npz(dense.path / "model.npz")
    ordered = np.sort(TABLE, axis=0)
    np.testing.assert_array_equal(model["bin_edges"][:2], ordered[[10, 20, 30], :2].T)
    assert np.isposinf(model["bin_edges"][2]).all()
    assert model["bin_columns"].tolist() == ["a", "b c", "constant"]
    assert dense.vocab == (
        *(f"{name}={b}" for name in ("a", "b c") for b in range(4)),
        "constant=0",
    )


def test_new_rows_are_cut_at_the_edges_of_the_training_rows(dense: RunDir, tmp_path: Path) -> None:
    """Edges learned anew on these three rows would put each row into a bin of its own."""
    low, high = TABLE.min(axis=0), TABLE.max(axis=0)
    rows = [high + [1, 1, 0], high + [2, 2, 0], high + [3, 3, 0], low - [1, 1, 0]]
    words = words_of(dense, new_file(tmp_path, rows))
    assert words == [["a=3", "b c=3", "constant=0"]] * 3 + [["a=0", "b c=0", "constant=0"]]


def test_one_new_row_is_cut_as_it_was_among_the_others(dense: RunDir, tmp_path: Path) -> None:
    together = words_of(dense, new_file(tmp_path, TABLE))
    alone = [words_of(dense, new_file(tmp_path, [row]))[0] for row in TABLE[:5]]
    assert alone == together[:5]


def test_columns_of_new_rows_are_matched_by_name(dense: RunDir, tmp_path: Path) -> None:
    turned = new_file(tmp_path, TABLE[:, [2, 0, 1]], "constant,a,b c\n")
    assert words_of(dense, turned) == words_of(dense, new_file(tmp_path, TABLE))
    with pytest.raises(
        DataError, match=r"new\.csv: 3 columns where 3 were cut into bins: no 'b c'"
    ):
        read_matched(dense, new_file(tmp_path, TABLE, "a,b,constant\n"), {})
    with pytest.raises(DataError, match="2 columns where 3 were cut into bins"):
        read_matched(dense, new_file(tmp_path, TABLE[:, :2], ""), {})


def test_other_formats_of_new_rows(dense: RunDir, tmp_path: Path) -> None:
    expected = words_of(dense, new_file(tmp_path, TABLE))
    np.save(tmp_path / "new.npy", TABLE)
    assert words_of(dense, tmp_path / "new.npy") == expected
    (tmp_path / "new.ldac").write_text("1 0:1\n")
    with pytest.raises(UsageError, match=r"for dense tables, but .*new\.ldac holds counts"):
        read_matched(dense, tmp_path / "new.ldac", {})


def test_theta_of_new_rows_and_their_score(dense: RunDir, tmp_path: Path) -> None:
    path = new_file(tmp_path, TABLE[:7] * 1.01)
    assert infer(dense, path, tmp_path / "theta.npz").corpus.n_tokens == 21
    theta = sparse.load_npz(tmp_path / "theta.npz")
    assert theta.shape == (7, dense.tree.n_nodes)
    assert evaluate(dense, corpus=path)["unknown_tokens"] == 0
    assert evaluate(dense)["n_tokens"] > 0


def test_a_model_without_its_edges_is_damaged(dense: RunDir, tmp_path: Path) -> None:
    path = unsealed(dense.path) / "model.npz"
    write_npz(path, {name: a for name, a in read_npz(path).items() if name != "bin_edges"})
    with pytest.raises(RunError, match=r"model\.npz is damaged: it has no array 'bin_edges'"):
        read_matched(RunDir.open(dense.path), new_file(tmp_path, TABLE), {})


def test_kept_draws_have_the_arrays_of_the_model(fit_tiny: Fit, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text(TABLE))
    overrides = ("data.from=vectors", *BINS)
    fit_tiny(tmp_path / "run", "hdp-gibbs", corpus=tmp_path / "rows.csv", overrides=overrides)
    model = set(read_npz(tmp_path / "run" / "model.npz"))
    draws = sorted((tmp_path / "run" / "draws").glob("*.npz"))
    assert draws and {"bin_edges", "bin_columns"} <= model
    for path in draws:
        assert {name for name in read_npz(path) if not name.startswith("theta_")} == model


def test_stopped_and_continued_ends_in_the_same_bytes(fit_tiny: Fit, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text(TABLE))
    given = {"corpus": tmp_path / "rows.csv", "overrides": ("data.from=vectors", *BINS)}
    fit_tiny(tmp_path / "whole", **given)
    fit_tiny(tmp_path / "parts", **given, callbacks=[stop_at(3)])
    assert fit_tiny(tmp_path / "parts", **given).status == "done"
    assert artefacts(tmp_path / "parts") == artefacts(tmp_path / "whole")


def test_words_are_chosen_after_the_cut(tmp_path: Path) -> None:
    """Every row has the bin of a constant column; each other bin has a quarter of the rows."""
    np.save(tmp_path / "rows.npy", TABLE)
    cut = Discretise(bins=4)
    config = DataConfig(corpus=str(tmp_path / "rows.npy"), discretise=cut, max_df=0.9)
    assert dataset.load_corpus(config).vocab == tuple(f"x{c}={b}" for c in "01" for b in range(4))


def test_vectors_are_no_counts_for_a_backend_of_words(fit_tiny: Fit, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", TABLE)
    with pytest.raises(
        DataError, match=r"row 1 holds \S+ in column 'x0', which is no count; .*bins"
    ):
        fit_tiny(tmp_path / "run", corpus=tmp_path / "rows.npy")
    assert not (tmp_path / "run").exists()


def test_counts_have_no_bins(tiny_file: Path, fit_tiny: Fit, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="data.discretise is for dense tables, but .* holds counts"
    ):
        fit_tiny(tmp_path / "run", overrides=BINS)


def test_sparse_counts_of_a_dense_format_can_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute a numeric\n@data\n{0 5}\n{}\n{0 9}\n")
    config = DataConfig(corpus=str(path), discretise=Discretise(bins=3))
    assert dataset.load_corpus(config).counts.toarray().tolist() == [
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 1],
    ]


DIGITS = np.random.default_rng(3).integers(0, 5, size=(30, 6))


@pytest.fixture
def counted(fit_tiny: Fit, tmp_path: Path) -> RunDir:
    """Return a run on thirty rows of six counts, the last one a class."""
    (tmp_path / "digits.tra").write_text("".join(",".join(map(str, row)) + "\n" for row in DIGITS))
    overrides = ("data.from=vectors", "data.label_column=-1")
    fit_tiny(tmp_path / "run", corpus=tmp_path / "digits.tra", overrides=overrides)
    return RunDir.open(tmp_path / "run")


def test_a_table_of_counts_is_a_corpus(counted: RunDir) -> None:
    assert counted.vocab == ("w0", "w1", "w2", "w3", "w4")
    assert counted.manifest["corpus"]["n_docs"] + len(counted.split.heldout_docs) == 30
    assert counted.split.word_counts.sum() + counted.split.heldout.sum() == DIGITS[:, :5].sum()


def test_the_class_column_of_new_rows_is_that_of_the_run(counted: RunDir, tmp_path: Path) -> None:
    np.save(tmp_path / "new.npy", DIGITS[:3])
    new = read_matched(counted, tmp_path / "new.npy", {}).corpus
    assert new.counts.toarray().tolist() == DIGITS[:3, :5].tolist()
    assert new.labels is not None and new.labels.members.shape[0] == 3


def test_rows_without_a_class_column_are_told_from_others(
    counted: RunDir, tmp_path: Path, call: Callable[..., Any]
) -> None:
    """The last feature must not pass for the class in silence."""
    np.save(tmp_path / "new.npy", DIGITS[:3, :5])
    with pytest.raises(
        DataError, match=r"4 columns without names, but the run has 5; .*--label-column none"
    ):
        read_matched(counted, tmp_path / "new.npy", {})
    words = ("infer", counted.path, tmp_path / "new.npy", "-o", tmp_path / "theta.npz")
    assert call(*words).code == 2
    done = call(*words, "--label-column", "none", "--json")
    assert (done.code, f'"n_tokens": {DIGITS[:3, :5].sum()}' in done.out) == (0, True)


def test_the_class_column_may_be_named_on_the_command_line(
    tmp_path: Path, small: Callable[[str], tuple[str, ...]], call: Callable[..., Any]
) -> None:
    np.save(tmp_path / "new.npy", DIGITS)
    words = [
        "fit",
        "new.npy",
        "-b",
        "hdp-pcvb0",
        "--label-column",
        "-1",
        "--iterations",
        "1",
        "-q",
        "-o",
        "run",
    ]
    words += [word for setting in small("hdp-pcvb0") for word in ("-s", setting)]
    assert call(*words).code == 0
    run = RunDir.open(tmp_path / "run")
    assert len(run.vocab) == 5 and "label_column: '-1'" in (run.path / "config.yaml").read_text()
