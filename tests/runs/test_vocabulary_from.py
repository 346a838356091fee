"""``data.vocabulary_from: training``: nothing of what is put aside decides about the words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import artefacts, stop_at
from tiny import counts_in

from hiertopics.base.errors import UsageError
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate

Fit = Callable[..., Any]
TRAINING = "data.vocabulary_from=training"
N_DOCS, WORDS = 40, tuple(f"word{n}" for n in range(30))


def write(folder: Path, heldout: np.ndarray | None = None, extra: int = 0) -> Path:
    """Write a corpus of rare and common words; the documents ``heldout`` hold other ones.

    extra: changes what they hold.
    """
    rng = np.random.default_rng(2)
    rows = rng.poisson(4.0 / np.arange(1, 31) ** 1.5, (N_DOCS, 30))
    rows[:, 0] += 1
    if heldout is not None:
        rows[heldout] = np.random.default_rng(extra).poisson(0.7, (len(heldout), 30))
        rows[heldout, 0] += 1
    folder.mkdir(exist_ok=True)
    lines = [[f"{word}:{n}" for word, n in enumerate(row) if n] for row in rows]
    text = "".join(f"{' '.join([str(len(row)), *row])}\n" for row in lines)
    (folder / "corpus.ldac").write_text(text)
    (folder / "corpus.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    return folder / "corpus.ldac"


def model_of(run: Path) -> dict[str, bytes]:
    names = ("model.npz", "theta.npz", "tree.json", "vocab.txt")
    return {name: (run / name).read_bytes() for name in names}


@pytest.mark.parametrize("holdout", ["docs:0.2@0", "fold:2/5@1", "train:30@0"])
@pytest.mark.parametrize("limits", [(2, 0.5), (0.1, 1.0), (1, 1.0)], ids=str)
def test_the_words_are_those_of_the_training_documents(
    fit_tiny: Fit, holdout: str, limits: tuple[float, float], tmp_path: Path
) -> None:
    """Against counting documents one by one."""
    path = write(tmp_path / "data")
    overrides = [TRAINING, f"data.min_df={limits[0]}", f"data.max_df={limits[1]}"]
    fit_tiny(tmp_path / "run", "multinomial", 1, overrides, path, holdout=holdout)
    run = RunDir(tmp_path / "run")
    counts = counts_in(path).counts.toarray()
    train = counts[run.split.train_docs]
    scale = [limit if isinstance(limit, int) else limit * len(train) for limit in limits]
    n_docs = (train > 0).sum(axis=0)
    kept = (n_docs >= max(1, scale[0])) & (n_docs <= scale[1])
    assert run.vocab == tuple(word for word, keep in zip(WORDS, kept, strict=True) if keep)
    assert kept.sum() < 30
    np.testing.assert_array_equal(
        run.split.heldout.toarray(), counts[run.split.heldout_docs][:, kept]
    )
    unknown = int(counts[run.split.heldout_docs][:, ~kept].sum())
    assert unknown > 0
    assert evaluate(run)["unknown_tokens"] == unknown
    assert evaluate(run, protocol="empirical", samples=10)["unknown_tokens"] == unknown
    other = tmp_path / "other"
    other.mkdir()
    lines = path.read_text().splitlines(keepends=True)
    (other / "new.ldac").write_text("".join(lines[doc] for doc in run.split.heldout_docs))
    (other / "new.vocab").write_text(path.with_suffix(".vocab").read_text())
    assert infer(run, other / "new.ldac").unknown_tokens == unknown


def test_documents_that_are_put_aside_change_nothing_of_the_model(
    fit_tiny: Fit, tmp_path: Path
) -> None:
    """Where the words are those of all documents, they do."""
    fit_tiny(tmp_path / "first", corpus=write(tmp_path / "data"))
    aside = RunDir(tmp_path / "first").split.heldout_docs
    found: dict[str, list[dict[str, bytes]]] = {"all": [], "training": []}
    for words, models in found.items():
        for extra in (1, 2):
            path, run = write(tmp_path / f"data{extra}", aside, extra), tmp_path / f"{words}{extra}"
            overrides = [f"data.vocabulary_from={words}", "data.min_df=3", "data.max_df=0.9"]
            fit_tiny(run, overrides=overrides, corpus=path)
            models.append(model_of(run))
    assert found["training"][0] == found["training"][1]
    assert found["all"][0] != found["all"][1]


def test_rows_that_are_put_aside_change_no_bin(fit_tiny: Fit, tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(N_DOCS, 3))
    edges = {}
    for words in ("training", "all"):
        for scale in (1.0, 10.0):
            run, path = tmp_path / f"{words}{scale}", tmp_path / f"table{scale}.npy"
            if scale > 1.0:
                aside = RunDir(tmp_path / f"{words}1.0").split.heldout_docs
                np.save(path, np.where(np.isin(np.arange(N_DOCS), aside)[:, None], 10 * rows, rows))
            else:
                np.save(path, rows)
            overrides = ["data.discretise.bins=4", f"data.vocabulary_from={words}"]
            fit_tiny(run, "multinomial", 1, overrides, path)
            edges[words, scale] = np.load(run / "model.npz")["bin_edges"]
    np.testing.assert_array_equal(edges["training", 1.0], edges["training", 10.0])
    assert (edges["all", 1.0] != edges["all", 10.0]).any()


def test_a_stopped_run_goes_on_and_its_topics_are_judged(fit_tiny: Fit, tmp_path: Path) -> None:
    path, overrides = write(tmp_path / "data"), [TRAINING, "data.min_df=2"]
    fit_tiny(tmp_path / "whole", overrides=overrides, corpus=path)
    fit_tiny(tmp_path / "run", overrides=overrides, corpus=path, callbacks=[stop_at(3)])
    fit_tiny(tmp_path / "run", overrides=overrides, corpus=path)
    assert artefacts(tmp_path / "run") == artefacts(tmp_path / "whole")
    assert np.isfinite(evaluate(tmp_path / "run")["coherence_npmi"])


def test_labels_are_told_on_the_documents_put_aside(
    fit_tiny: Fit, call: Callable[..., Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "data")
    path.with_suffix(".labels").write_text("a\nb\n" * (N_DOCS // 2))
    fit_tiny(tmp_path / "run", overrides=[TRAINING, "data.min_df=2"], corpus=path)
    run = RunDir(tmp_path / "run")
    assert run.split.unknown is not None and run.split.unknown.sum() > 0
    score = evaluate(run, task="neighbours", k=1)
    assert score["unknown_tokens"] == run.split.unknown.sum()


@pytest.mark.parametrize("holdout", ["tokens:0.2@0", "links:0.2@0"])
def test_parts_of_documents_have_no_training_documents(
    fit_tiny: Fit, holdout: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "data")
    with pytest.raises(UsageError, match="data.vocabulary_from: training.*whole documents"):
        fit_tiny(tmp_path / "run", overrides=[TRAINING], corpus=path, holdout=holdout)
    assert not (tmp_path / "run").exists()


def test_rows_of_numbers_have_no_words(fit_tiny: Fit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="data.vocabulary_from"):
        fit_tiny(tmp_path / "run", "hca-variational", overrides=[TRAINING])


def test_convert_puts_nothing_aside(call: Callable[..., Any], tmp_path: Path) -> None:
    path = write(tmp_path / "data")
    code, _, err = call("convert", path, "other.mtx", "-s", TRAINING)
    assert code == 2 and "data.vocabulary_from has no meaning for convert" in err


def test_the_default_is_as_it_was(fit_tiny: Fit, tmp_path: Path) -> None:
    path = write(tmp_path / "data")
    for name, overrides in (("left out", []), ("all", ["data.vocabulary_from=all"])):
        fit_tiny(tmp_path / name, "multinomial", 1, overrides, path)
    assert artefacts(tmp_path / "left out") == artefacts(tmp_path / "all")
    assert RunDir(tmp_path / "all").split.unknown is None
    assert RunDir(tmp_path / "all").vocab == WORDS
