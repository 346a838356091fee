"""Task links: average precision, its ties, the scores beside it, and the whole task by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from task_corpora import communities, graph_of, write_graph

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.base.seeds import derive
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split
from hiertopics.papers import task_baselines as baselines
from hiertopics.papers.task_baselines import BASELINES
from hiertopics.papers.task_links import (
    Candidates,
    average_precisions,
    candidates,
    mean_with_error,
)
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.comparison import compare
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.tasks import evaluate_task

Fit = Callable[..., Any]
SPECS = ("links:0.2@4", "links:0.2@4,drop")


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a graph of two communities as a file."""
    return write_graph(tmp_path_factory.mktemp("graph") / "graph.npz")


@pytest.fixture(params=SPECS, ids=["keep", "drop"])
def run(request: pytest.FixtureRequest, fit_tiny: Fit, graph_file: Path, tmp_path: Path) -> RunDir:
    """Return a run that withheld links."""
    fit_tiny(tmp_path / "run", corpus=graph_file, holdout=request.param, iterations=20)
    return RunDir(tmp_path / "run")


@pytest.fixture
def sampled(fit_tiny: Fit, graph_file: Path, tmp_path: Path) -> RunDir:
    """Return a run of a sampler that kept draws."""
    fit_tiny(tmp_path / "sampled", "hdp-gibbs", corpus=graph_file, holdout=SPECS[0])
    return RunDir(tmp_path / "sampled")


def precision_by_hand(scores: list[float], positive: list[bool]) -> float:
    """Return the mean over positives of the precision at their rank; scores are distinct."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    found, total = 0, 0.0
    for rank, place in enumerate(order, 1):
        if positive[place]:
            found += 1
            total += found / rank
    return total / found


def made(rows: list[list[bool]], seed: int = 0) -> Candidates:
    """Return candidates whose query ``r`` has one column per entry of ``rows[r]``."""
    n_columns = max(map(len, rows))
    kinds = np.zeros((len(rows), n_columns), dtype=int)
    for row, positive in enumerate(rows):
        kinds[row, : len(positive)] = np.where(positive, 1, 2)
    ones, twos = (sparse.csr_array((kinds == kind).astype(np.int32)) for kind in (1, 2))
    return candidates(ones, twos, np.random.default_rng(seed))


positives = st.lists(st.booleans(), min_size=1, max_size=9).filter(any)


@settings(max_examples=50, deadline=None)
@given(st.lists(positives, min_size=1, max_size=6), st.integers(0, 10**6))
def test_average_precision_is_that_of_a_count_by_hand(rows: list[list[bool]], seed: int) -> None:
    from sklearn.metrics import average_precision_score

    among = made(rows)
    scores = np.random.default_rng(seed).permutation(among.pairs.nnz) / 7 - 1
    found = average_precisions(among, scores)
    for row, positive in enumerate(rows):
        own = scores[among.pairs.indptr[row] : among.pairs.indptr[row + 1]].tolist()
        assert found[row] == pytest.approx(precision_by_hand(own, positive), rel=1e-12)
        assert found[row] == pytest.approx(average_precision_score(positive, own), rel=1e-9)


def test_average_precision_of_an_example() -> None:
    """Positives at ranks 1, 3 and 4 of 5: (1 + 2/3 + 3/4) / 3."""
    among = made([[True, False, True, True, False]])
    found = average_precisions(among, np.array([9.0, 8.0, 7.0, 6.0, 5.0]))
    assert found.tolist() == [pytest.approx((1 + 2 / 3 + 3 / 4) / 3)]


@pytest.mark.parametrize("first", [True, False])
def test_equal_scores_are_ranked_by_lot_never_by_index(first: bool) -> None:
    """The mean over 4000 queries is that over all orders, wherever the positives stand."""
    row = [True, True, False, False, False, False]
    rows = [row if first else row[::-1]] * 4000
    found = average_precisions(made(rows), np.zeros(6 * 4000))
    orders = [(a, b) for a in range(1, 7) for b in range(a + 1, 7)]
    expected = np.mean([(1 / a + 2 / b) / 2 for a, b in orders])
    assert found.mean() == pytest.approx(expected, abs=4 * found.std() / math.sqrt(4000))


def test_ties_are_drawn_once_and_from_the_seed() -> None:
    rows = [[True, False, False, True, False]] * 30
    same = [average_precisions(made(rows, 5), np.zeros(150)).tolist() for _ in range(2)]
    other = average_precisions(made(rows, 6), np.zeros(150)).tolist()
    assert same[0] == same[1] != other


def test_the_error_is_that_of_a_mean_over_queries() -> None:
    values = np.array([0.2, 0.5, 0.9, 0.4])
    error = math.sqrt(sum((value - 0.5) ** 2 for value in values) / 3 / 4)
    assert mean_with_error(values) == {
        "mean_average_precision": pytest.approx(0.5), "standard_error": pytest.approx(error),
    }  # fmt: skip
    alone = mean_with_error(values[:1])
    assert alone == {"mean_average_precision": 0.2, "standard_error": None}


def split_of(spec: str) -> Split:
    return make_split(graph_of(communities()), parse_holdout(spec))[1]


def scores_by_hand(name: str, bags: list[set[int]], query: int, node: int) -> float:
    degree = [sum(other in bag for bag in bags) for other in range(len(bags))]
    shared = bags[query] & bags[node]
    return {
        "random": 0.0,
        "popularity": float(degree[node]),
        "mirror_lookup": float(query in bags[node]),
        "common_neighbours": float(len(shared)),
        "adamic_adar": sum(1 / math.log(degree[other]) for other in shared),
    }[name]


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=["keep", "drop"])
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: str(baseline.__name__))
def test_a_baseline_is_that_of_sets_of_training_links(
    baseline: Any, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "QUERIES", 7)
    split = split_of(spec)
    assert split.links is not None
    among = candidates(split.links.positives, split.links.negatives, np.random.default_rng(0))
    bags = [set(split.observed[[node]].indices.tolist()) for node in range(60)]
    found = baseline(split.observed, split.links.query, among.pairs)
    expected = [
        scores_by_hand(baseline.__name__, bags, int(split.links.query[row]), int(node))
        for row, node in zip(among.rows, among.pairs.indices, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert baseline.__name__ in ("random", "mirror_lookup") or len(set(found.tolist())) > 5


def test_counts_above_one_change_no_baseline() -> None:
    split = split_of(SPECS[0])
    assert split.links is not None
    among = candidates(split.links.positives, split.links.negatives, np.random.default_rng(0))
    for baseline in BASELINES:
        once = baseline(split.observed, split.links.query, among.pairs)
        thrice = baseline(split.observed * 3, split.links.query, among.pairs)
        assert once.tolist() == thrice.tolist()


def test_a_shared_node_of_degree_one_does_not_divide_by_zero() -> None:
    """Of a directed graph: node 2 is in the bag of 0 alone."""
    training = sparse.csr_array(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]]))
    pairs = sparse.csr_array(np.array([[1, 1, 1]]))
    with np.errstate(all="raise"):
        found = baselines.adamic_adar(training, np.array([0]), pairs)
    assert np.isfinite(found).all() and found[1] == 0


def precisions_by_hand(run: RunDir, chance: Any) -> list[float]:
    """Return the average precision of every query of a run by the chances [n_docs, n_words]."""
    links, found = run.split.links, []
    assert links is not None
    for row, node in enumerate(links.query):
        sides = [links.positives[[row]].indices, links.negatives[[row]].indices]
        scores = np.concatenate([chance[node, side] for side in sides]).tolist()
        positive = [True] * len(sides[0]) + [False] * len(sides[1])
        assert len(set(scores)) == len(scores)
        found.append(precision_by_hand(scores, positive))
    return found


def test_the_score_is_that_of_theta_and_phi_by_hand(run: RunDir) -> None:
    record = evaluate_task(run, "links")
    by_hand = precisions_by_hand(run, run.theta.toarray() @ run.tree.phi)
    assert record["mean_average_precision"] == pytest.approx(np.mean(by_hand), rel=1e-9)
    error = np.std(by_hand, ddof=1) / math.sqrt(len(by_hand))
    assert record["standard_error"] == pytest.approx(error, rel=1e-9)
    arrays = archives.read_npz(run.path / "eval" / "links.npz")
    assert arrays["average_precision"] == pytest.approx(by_hand, rel=1e-9)
    links = run.split.links
    assert links is not None and (arrays["query"] == links.query).all()


def test_a_model_that_finds_the_communities_ranks_better_than_chance(run: RunDir) -> None:
    record = evaluate_task(run, "links")
    chance = record["baselines"]["random"]["mean_average_precision"]
    assert 0.15 < chance < record["mean_average_precision"] - 0.2


def test_the_record_has_the_keys_of_the_interface_and_is_kept(run: RunDir) -> None:
    record = evaluate_task(run, "links")
    assert list(record) == [
        "run", "backend", "task", "average", "mean_average_precision", "standard_error",
        "n_queries", "n_positives", "mirror", "split", "baselines",
    ]  # fmt: skip
    links = run.split.links
    assert links is not None
    assert (record["task"], record["average"]) == ("links", False)
    assert (record["n_queries"], record["n_positives"]) == (len(links.query), links.positives.nnz)
    assert (record["mirror"], record["split"]) == (links.mirror, run.split.hash)
    assert list(record["baselines"]) == [
        "random", "popularity", "mirror_lookup", "common_neighbours", "adamic_adar",
    ]  # fmt: skip
    for metrics in record["baselines"].values():
        assert list(metrics) == ["mean_average_precision", "standard_error"]
    assert json.loads((run.path / "eval" / "links.json").read_text()) == record


def test_baselines_are_ranked_with_the_ties_of_the_split(run: RunDir) -> None:
    split = run.split
    assert split.links is not None
    among = candidates(
        split.links.positives, split.links.negatives, derive(split.seed, "links-ties")
    )
    found = evaluate_task(run, "links")["baselines"]
    for baseline in BASELINES:
        scores = baseline(split.observed, split.links.query, among.pairs)
        assert found[baseline.__name__] == mean_with_error(average_precisions(among, scores))


def test_looking_up_the_mirror_is_informative_only_where_it_is_kept(
    fit_tiny: Fit, graph_file: Path, tmp_path: Path
) -> None:
    found = []
    for place, spec in enumerate(SPECS):
        fit_tiny(tmp_path / f"{place}", corpus=graph_file, holdout=spec, iterations=1)
        found.append(evaluate_task(tmp_path / f"{place}", "links")["baselines"])
    kept, dropped = found
    assert kept["mirror_lookup"]["mean_average_precision"] > 0.8
    assert dropped["mirror_lookup"] == dropped["random"] == kept["random"]


def test_average_ranks_by_the_mean_chance_over_draws(sampled: RunDir) -> None:
    draws = [theta.toarray() @ tree.phi for tree, theta in sampled.draws()]
    assert len(draws) == 3
    record = evaluate_task(sampled, "links", average=True)
    expected = np.mean(precisions_by_hand(sampled, np.mean(draws, axis=0)))
    assert record["mean_average_precision"] == pytest.approx(expected, rel=1e-9)
    assert record["average"] is True
    assert evaluate_task(sampled, "links")["mean_average_precision"] != pytest.approx(expected)
    assert (sampled.path / "eval" / "links-average=True.json").exists()


def test_average_without_draws_is_refused(run: RunDir) -> None:
    with pytest.raises(UsageError, match="no draws"):
        evaluate_task(run, "links", average=True)
    assert not (run.path / "eval").exists()


def test_a_run_that_withheld_no_links_is_refused(copied: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match=r"withheld no links; fit with --holdout links:0\.2"):
        evaluate_task(copied(holdout="tokens:0.2@0"), "links")


def test_withheld_links_are_scored_as_withheld_tokens(run: RunDir) -> None:
    record = evaluate(run)
    links = run.split.links
    assert links is not None and record["protocol"] == "tokens"
    assert record["n_tokens"] == links.positives.nnz
    chance = run.theta.toarray() @ run.tree.phi
    cells = links.positives.tocoo()
    logs = np.log(chance[links.query[cells.coords[0]], cells.coords[1]])
    assert record["log_likelihood_per_word"] == pytest.approx(logs.mean(), rel=1e-9)
    with pytest.raises(UsageError, match="protocol completion does not fit .* links"):
        evaluate(run, protocol="completion")


def test_compare_takes_runs_on_one_links_split_and_refuses_keep_beside_drop(
    fit_tiny: Fit, graph_file: Path, tmp_path: Path
) -> None:
    for name, seed, spec in (("a", 0, SPECS[0]), ("b", 1, SPECS[0]), ("c", 0, SPECS[1])):
        overrides = (f"seed={seed}",)
        fit_tiny(tmp_path / name, corpus=graph_file, holdout=spec, overrides=overrides)
    rows = compare([tmp_path / "a", tmp_path / "b"])
    assert [row["protocol"] for row in rows] == ["tokens", "tokens"]
    with pytest.raises(UsageError, match="not scored on the same split"):
        compare([tmp_path / "a", tmp_path / "c"])
