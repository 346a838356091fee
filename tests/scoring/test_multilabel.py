"""Metrics of multi-label classification against scikit-learn's, and thresholds.

Source: theory/chdp 8.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics as theirs

from hiertopics.papers import task_tagging as tagging


def case(seed: int, n_docs: int, n_labels: int, levels: int) -> tuple[Any, Any, Any]:
    """Return truth, scores of a few levels (so with ties) and predictions; rows empty and full."""
    rng = np.random.default_rng(seed)
    truth, predicted = (rng.random((n_docs, n_labels)) < 0.4 for _ in range(2))
    truth[0], truth[-1] = False, True
    return truth, rng.integers(0, levels, (n_docs, n_labels)) / levels, predicted


def by_scikit_learn(truth: Any, scores: Any, predicted: Any) -> dict[str, float]:
    """Return the metrics that it has."""
    return {
        "hamming_loss": theirs.hamming_loss(truth, predicted),
        "ranking_loss": theirs.label_ranking_loss(truth, scores),
        "coverage": theirs.coverage_error(truth, scores) - 1,
        "average_precision": theirs.label_ranking_average_precision_score(truth, scores),
        "micro_f1": theirs.f1_score(truth, predicted, average="micro", zero_division=0),
        "macro_f1": theirs.f1_score(truth, predicted, average="macro", zero_division=0),
    }


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 7), st.integers(1, 50))
def test_metrics_are_those_of_scikit_learn(
    seed: int, n_docs: int, n_labels: int, levels: int
) -> None:
    """Few levels make ties; the first document has no label, the last one all."""
    truth, scores, predicted = case(seed, n_docs, n_labels, levels)
    found = dict(tagging.metrics(truth, scores, predicted))
    for name, value in by_scikit_learn(truth, scores, predicted).items():
        assert found.pop(name) == pytest.approx(value, abs=1e-12), name
    assert list(found) == ["one_error"]


def test_one_error_is_the_share_of_documents_whose_top_label_is_wrong() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], dtype=bool)
    scores = np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.2], [0.7, 0.7, 0.1], [0.1, 0.2, 0.3]])
    assert tagging.one_errors(truth, scores).tolist() == [0, 1, 0.5, 1]


def test_random_scores_without_ties_lose_half_of_the_pairs() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((2000, 10)) < 0.3
    truth = truth[truth.any(axis=1)]
    losses = tagging.ranking_losses(truth, rng.random(truth.shape))
    assert losses.mean() == pytest.approx(0.5, abs=0.02)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 6), st.integers(1, 40))
def test_no_threshold_comes_nearer_to_the_labels_per_document(
    seed: int, n_docs: int, n_labels: int, levels: int
) -> None:
    truth, scores, _ = case(seed, n_docs, n_labels, levels)
    wanted = truth.sum()
    found = abs(int((scores > tagging.threshold(truth, scores)).sum()) - wanted)
    tried = [*np.unique(scores), -1.0]
    assert found == min(abs(int((scores > level).sum()) - wanted) for level in tried)
