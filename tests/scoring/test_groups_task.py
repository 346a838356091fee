"""Task groups: rankings by hand, baselines, other backends, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tag_files import NAMES, fit_tagged, tagged, truth_of, write_tagged

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.contract.engine import Workers
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.papers import task_groups as groups
from hiertopics.papers.task_groups import rank_metrics
from hiertopics.papers.task_sides import read_sides
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.request import Request
from hiertopics.scoring.tasks import evaluate_task

Fit = Callable[..., Any]
METRICS = ["precision_at_1", "precision_at_5", "precision_at_10", "mean_reciprocal_rank"]


@pytest.fixture(scope="module")
def authored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus whose words tell its authors; one document is empty, one has no author."""
    path = tmp_path_factory.mktemp("authored") / "papers.ldac"
    return write_tagged(path, ".authors")


@pytest.fixture(scope="module")
def run(fit_tiny: Fit, authored: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Return a run of the cooperative HDP; do not write to it but its scores."""
    return fit_tagged(fit_tiny, authored, tmp_path_factory.mktemp("run") / "run")


def by_hand(truth: Any, scores: Any) -> dict[str, float]:
    """Return the metrics of rows without ties."""
    found: dict[str, float] = {}
    ranks = [sorted(range(len(row)), key=lambda place: -row[place]) for row in scores]
    for n in (1, 5, 10):
        hits = [sum(own[g] for g in order[:n]) / n for own, order in zip(truth, ranks, strict=True)]
        found[f"precision_at_{n}"] = sum(hits) / len(hits)
    first = [
        1 / (1 + next(place for place, g in enumerate(order) if own[g]))
        for own, order in zip(truth, ranks, strict=True)
    ]
    return found | {"mean_reciprocal_rank": sum(first) / len(first)}


def test_rankings_are_scored_as_by_hand() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((20, 12)) < 0.2
    truth[:, 3] |= ~truth.any(axis=1)
    scores = rng.random(truth.shape)
    found = rank_metrics(truth, scores, np.arange(12))
    assert found == pytest.approx(by_hand(truth, scores))


def test_equal_scores_are_ranked_by_lot() -> None:
    truth = np.eye(6, dtype=bool)[[2]]
    ranks: list[Any] = [
        rank_metrics(truth, np.zeros((1, 6)), np.random.default_rng(seed).permutation(6))
        for seed in range(60)
    ]
    assert {round(1 / metrics["mean_reciprocal_rank"]) for metrics in ranks} == set(range(1, 7))


@pytest.mark.parametrize("rule", ["mixture", "single", "documents"])
def test_authors_told_by_words_are_found_and_can_be_recomputed(run: RunDir, rule: str) -> None:
    record = evaluate_task(run, "groups", score=rule)
    arrays = archives.read_npz(
        run.path / "eval" / ("groups.npz" if rule == "documents" else f"groups-score={rule}.npz")
    )
    _, truth = truth_of(run)
    assert (arrays["groups"] == truth[arrays["docs"]]).all()
    assert arrays["group_names"].tolist() == list(NAMES)
    assert {name: record[name] for name in METRICS} == pytest.approx(
        by_hand(arrays["groups"], arrays["scores"])
    )
    assert record["mean_reciprocal_rank"] > record["baselines"]["popularity"][METRICS[3]] + 0.2
    assert record["n_docs"] + record["n_without_known_group"] == 18


def test_training_documents_vote_by_the_affinity_of_their_theta(run: RunDir) -> None:
    """A vote is exp(20 sum of sqrt(theta theta')), over that of the nearest document."""
    evaluate_task(run, "groups")
    arrays = archives.read_npz(run.path / "eval" / "groups.npz")
    train, _ = truth_of(run)
    new = infer_theta(run, Corpus(run.split.heldout, run.vocab)).theta.toarray()[arrays["docs"]]
    roots = np.sqrt(new), np.sqrt(run.theta.toarray())
    affinity = np.array([[one @ other for other in roots[1]] for one in roots[0]])
    votes = np.exp(20 * (affinity - affinity.max(axis=1, keepdims=True)))
    np.testing.assert_allclose(arrays["scores"], votes @ train, rtol=1e-9)


def test_baselines_are_those_of_a_search_by_hand(run: RunDir) -> None:
    record = evaluate_task(run, "groups")
    train, truth = truth_of(run)
    counts = tagged()[0]
    known, new = counts[run.split.train_docs], counts[run.split.heldout_docs]
    holders = (known > 0).sum(axis=0)
    idf = [math.log((1 + len(known)) / (1 + n)) + 1 for n in holders]

    def unit(row: Any) -> Any:
        weights = np.where(row > 0, 1 + np.log(np.maximum(row, 1)), 0) * np.array(idf)
        return weights / max(np.linalg.norm(weights), 1e-300)

    able = np.flatnonzero(truth.any(axis=1))
    assert (new[able].sum(axis=1) > 0).all()  # a document without words would be ranked by lot
    cosine = np.array([[unit(new[d]) @ unit(row) for row in known] for d in able])
    scores = np.array([[row[train[:, g]].max() for g in range(5)] for row in cosine])
    sides = read_sides(Request(run, {}, Workers()), None, "groups")
    np.testing.assert_allclose(groups._by_tfidf(sides, able), scores, atol=1e-12)
    assert record["baselines"]["tfidf_nearest"] == pytest.approx(by_hand(truth[able], scores))
    assert list(record["baselines"]["popularity"]) == METRICS
    assert record["baselines"]["tfidf_nearest"]["precision_at_1"] > 0.6


def test_other_backends_score_groups_by_the_mean_of_theta(
    fit_tiny: Fit, authored: Path, tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "hdp", "hdp-pcvb0", 40, corpus=authored, holdout="docs:0.3@1")
    plain = RunDir(tmp_path / "hdp")
    record = evaluate_task(plain, "groups", score="single")
    arrays = archives.read_npz(plain.path / "eval" / "groups-score=single.npz")
    train, _ = truth_of(plain)
    theta = plain.theta.toarray()
    mean = np.array([theta[train[:, g]].mean(axis=0) for g in range(5)])
    counts = tagged()[0][plain.split.heldout_docs][arrays["docs"]]
    logs = counts @ np.log(mean @ plain.tree.phi).T
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(arrays["scores"], expected, atol=1e-9)
    assert record["mean_reciprocal_rank"] > record["baselines"]["popularity"][METRICS[3]]


def test_authors_of_a_file_are_matched_by_name_and_strangers_counted(
    run: RunDir, tmp_path: Path
) -> None:
    (tmp_path / "new.ldac").write_text("2 12:5 13:4\n1 0:9\n1 3:2\n")
    (tmp_path / "new.authors").write_text("eve\nstranger\nzoe bob\n")
    record = evaluate_task(run, "groups", corpus=tmp_path / "new.ldac")
    assert (record["n_docs"], record["n_without_known_group"]) == (2, 1)
    assert record["mean_reciprocal_rank"] == 1.0
    assert record["n_groups"] == 5


def test_inference_does_not_see_the_authors(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    from hiertopics.runs import newdocs

    seen = []
    original = newdocs.infer_theta

    def spy(target: RunDir, corpus: Any, **others: Any) -> Any:
        seen.append(corpus)
        return original(target, corpus, **others)

    monkeypatch.setattr(newdocs, "infer_theta", spy)
    evaluate_task(run, "groups")
    assert [corpus.groups for corpus in seen] == [None]


def test_what_cannot_be_scored_is_refused(run: RunDir, copied: Any, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="unknown --score 'best'; there are documents, mixture, single"
    ):
        evaluate_task(run, "groups", score="best")
    with pytest.raises(UsageError, match=r"tiny\.ldac has no groups; --groups FILE"):
        evaluate_task(copied(), "groups")
    (tmp_path / "new.ldac").write_text("1 0:1\n")
    (tmp_path / "new.authors").write_text("stranger\n")
    with pytest.raises(UsageError, match="no document to be scored has a group"):
        evaluate_task(run, "groups", corpus=tmp_path / "new.ldac")
