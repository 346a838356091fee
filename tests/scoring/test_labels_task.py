"""Task labels: labels told by words, baselines against scikit-learn, choices on training data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tag_files import NAMES, fit_tagged, tagged, truth_of, write_tagged

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.papers import task_tagging as tagging
from hiertopics.papers.task_tagging import Tagger, tag_scores
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks import evaluate_task

Fit = Callable[..., Any]
METRICS = [
    "hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision", "micro_f1",
    "macro_f1",
]  # fmt: skip


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus whose words tell its labels."""
    path = tmp_path_factory.mktemp("labelled") / "notes.ldac"
    return write_tagged(path, ".labels")


@pytest.fixture(scope="module")
def run(fit_tiny: Fit, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Return a run whose parents are labels; do not write to it but its scores."""
    path = tmp_path_factory.mktemp("run") / "run"
    return fit_tagged(fit_tiny, labelled, path, "model.parents=labels")


def test_labels_told_by_words_are_found_and_can_be_recomputed(run: RunDir) -> None:
    record = evaluate_task(run, "labels")
    arrays = archives.read_npz(run.path / "eval" / "labels.npz")
    _, truth = truth_of(run)
    assert (arrays["labels"] == truth).all() and arrays["label_names"].tolist() == list(NAMES)
    scores = arrays["scores"]
    expected = tagging.metrics(truth, scores, scores > record["threshold"])
    assert {name: record[name] for name in METRICS} == expected
    frequency = record["baselines"]["label_frequency"]
    assert record["average_precision"] > frequency["average_precision"] + 0.15
    assert record["ranking_loss"] < frequency["ranking_loss"] - 0.1
    assert record["micro_f1"] > frequency["micro_f1"] + 0.2
    assert (record["n_docs"], record["n_labels"]) == (18, 5)


def test_rule_strength_and_threshold_are_the_best_on_training_documents(run: RunDir) -> None:
    record = evaluate_task(run, "labels")
    train, _ = truth_of(run)
    counts = tagged()[0][run.split.train_docs]
    from scipy import sparse

    prior = train.sum(axis=0) / train.sum()
    tagger = Tagger(run.tree.extra["group_theta"], run.tree.phi, prior)
    found = {}
    for rule in ("mixture", "single"):
        for strength in (1.0, 3.0, 10.0, 30.0, 100.0):
            (scores,) = tag_scores(tagger, sparse.csr_array(counts), [(rule, strength)])
            found[rule, strength] = (tagging.average_precisions(train, scores).mean(), scores)
    best, scores = found[record["rule"], record["strength"]]
    assert best == max(value for value, _ in found.values())
    assert record["threshold"] == tagging.threshold(train, scores)


def test_baselines_are_frequencies_and_scikit_learns_regressions(run: RunDir) -> None:
    baselines = evaluate_task(run, "labels")["baselines"]
    train, truth = truth_of(run)
    rows = tagged()[0]
    known, new = rows[run.split.train_docs], rows[run.split.heldout_docs]
    shares = np.tile(train.mean(axis=0), (len(truth), 1))
    level = tagging.threshold(train, np.tile(train.mean(axis=0), (len(train), 1)))
    assert baselines["label_frequency"] == tagging.metrics(truth, shares, shares > level)
    sides: list[Any] = [[], []]
    for label in range(5):
        model = LogisticRegression(solver="liblinear", max_iter=1000).fit(known, train[:, label])
        for side, counts in zip(sides, (known, new), strict=True):
            side.append(model.predict_proba(counts)[:, 1])
    fitted, scores = (np.array(side).T for side in sides)
    level = tagging.threshold(train, fitted)
    expected = tagging.metrics(truth, scores, scores > level)
    assert baselines["logistic_regression"] == pytest.approx(expected, abs=1e-3)


def test_other_backends_label_by_the_mean_of_theta(
    fit_tiny: Fit, labelled: Path, tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "hdp", "hdp-pcvb0", 40, corpus=labelled, holdout="docs:0.3@1")
    record = evaluate_task(tmp_path / "hdp", "labels")
    frequency = record["baselines"]["label_frequency"]
    assert record["average_precision"] > frequency["average_precision"]


def test_a_file_is_labelled_by_name_and_new_labels_come_last(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "new.ldac").write_text("2 12:5 13:4\n1 0:9\n0\n")
    (tmp_path / "new.labels").write_text("eve\nnever ann\n\n")
    record = evaluate_task(run, "labels", corpus=tmp_path / "new.ldac")
    arrays = archives.read_npz(run.path / "eval" / "labels-corpus=new.ldac.npz")
    names = arrays["label_names"].tolist()
    assert names == [*NAMES, "never"] and record["n_labels"] == 6
    assert (arrays["scores"][:, 5] == -1).all()
    assert names[arrays["scores"][0].argmax()] == "eve"
    assert arrays["labels"][1].nonzero()[0].tolist() == [names.index("ann"), 5]
    assert arrays["labels"][2].sum() == 0


def test_documents_without_labels_are_refused_as_a_whole(copied: Any, run: RunDir) -> None:
    with pytest.raises(UsageError, match=r"tiny\.ldac has no labels; --labels FILE"):
        evaluate_task(copied(), "labels")
    with pytest.raises(UsageError, match="--score has no meaning for task labels"):
        evaluate_task(run, "labels", score="single")
