"""Protocol ``empirical``: chances that sum to 1, the formula written out, the score's own files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.contract.model import Components, Settings
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.protocols import empirical
from hiertopics.scoring.protocols.empirical import (
    N_BLOCKS,
    LogSums,
    ScoredDocuments,
    log_likelihoods,
    parts,
)

Finished = Callable[..., Path]
Copied = Callable[..., Path]
BACKENDS = [name for name in registry.BACKENDS if registry.load(name).predictive is not None]
RNG = np.random.default_rng(2)
PHI = RNG.dirichlet(np.full(3, 0.4), 4)
SEQUENCES = list(itertools.product(range(3), repeat=4))


def tree_of(phi: F64) -> Tree:
    """Return a flat tree with these rows."""
    n = len(phi)
    return Tree(
        phi=phi,
        parent=np.full(n, -1, dtype=np.int32),
        kind=np.zeros(n, dtype=np.int8),
        weight=np.full(n, 1 / n),
        n_docs=np.ones(n, dtype=np.int64),
        n_tokens=np.ones(n),
    )


def blocks(weights: list[float]) -> Iterator[Components]:
    """Yield mixtures over four rows in two blocks."""
    mixtures = np.random.default_rng(5).dirichlet(np.full(4, 0.3), len(weights))
    half = len(weights) // 2
    for part in (slice(None, half), slice(half, None)):
        yield Components(np.array(weights[part]), mixtures[part])


def log_chances(counts: Any, weights: list[float]) -> F64:
    """Return log p(d) as the protocol computes it."""
    documents = ScoredDocuments(sparse.csr_array(counts), np.array([0.5, 0.3, 0.2]))
    sums = LogSums(len(documents))
    for of_block, logs in documents.log_ratios(tree_of(PHI), blocks(weights)):
        sums.add(of_block, logs)
    return sums.value - math.log(sum(weights)) + documents.base


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 7, [3.0, 1.0, 0.5, 9.0]])
def test_chances_of_all_sequences_sum_to_one(weights: list[float]) -> None:
    """T11: 81 sequences of four tokens over three words, whatever the drawn documents."""
    counts = [np.bincount(sequence, minlength=3) for sequence in SEQUENCES]
    assert np.exp(log_chances(counts, weights)).sum() == pytest.approx(1, abs=1e-6)


def test_a_document_has_the_mean_chance_over_what_was_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Component by component, token by token; weights are numbers of equal components."""
    monkeypatch.setattr(empirical, "CHUNK", 2)
    weights = [3.0, 1.0, 0.5, 9.0, 2.0]
    counts = np.array([[2, 0, 1], [0, 40, 0], [0, 0, 0], [300, 100, 200]])
    drawn = list(blocks(weights))
    rows = np.concatenate([each.mixtures @ PHI for each in drawn])
    for row, found in zip(counts, log_chances(counts, weights), strict=True):
        logs = [
            math.log(weight) + sum(n * math.log(p) for n, p in zip(row, chances, strict=True))
            for weight, chances in zip(weights, rows.tolist(), strict=True)
        ]
        peak = max(logs)
        expected = peak + math.log(sum(math.exp(x - peak) for x in logs) / sum(weights))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_components_may_bring_rows_of_their_own() -> None:
    """In one pass with others that mix the rows of the tree."""
    documents = ScoredDocuments(sparse.csr_array([[2, 0, 1]]), np.full(3, 1 / 3))
    own, mixtures = PHI[::-1, [1, 0, 2]].copy(), RNG.dirichlet(np.ones(4), 2)
    mixed = [Components(np.ones(2), mixtures), Components(np.ones(2), mixtures, own)] * 2
    found = [logs for _, logs in documents.log_ratios(tree_of(PHI), mixed)]
    for logs, rows in zip(found, [PHI, own] * 2, strict=True):
        expected = np.log(mixtures @ rows) @ [2, 0, 1]
        assert logs[0] + documents.base[0] == pytest.approx(expected, rel=1e-6)


def test_an_impossible_word_makes_a_document_impossible_only_where_it_is_everywhere() -> None:
    phi = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    documents = ScoredDocuments(sparse.csr_array(np.eye(3, dtype=int)), np.full(3, 1 / 3))
    sums = LogSums(3)
    for one in (0, 1, 0):
        drawn = [Components(np.ones(1), np.eye(2)[[one]])]
        for weights, logs in documents.log_ratios(tree_of(phi), iter(drawn)):
            sums.add(weights, logs)
    found = np.exp(sums.value + documents.base) / 3
    assert found == pytest.approx([2.5 / 3, 0.5 / 3, 0.0], abs=1e-7)


@pytest.mark.parametrize(("n_samples", "n_draws"), [(100, 1), (100, 4), (23, 7), (10, 25), (11, 3)])
def test_samples_are_spread_evenly_over_draws_and_blocks(n_samples: int, n_draws: int) -> None:
    plan = parts(n_samples, n_draws, N_BLOCKS)
    for place, n_parts in ((0, n_draws), (1, N_BLOCKS)):
        sizes = np.zeros(n_parts)
        for part in plan:
            sizes[part[place]] += part.n_samples
        assert sizes.sum() == n_samples
        assert sizes.max() - sizes.min() <= 1
    assert min(part.n_samples for part in plan) > 0


def settings_of(run: RunDir) -> Settings:
    """Return the settings of a run's backend."""
    experiment = run.experiment
    return Settings(experiment.model, experiment.inference)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_score_can_be_recomputed_from_draws_and_seed(backend: str, copied: Copied) -> None:
    """Without the protocol's code but the backend's draw: pooled, per document, and the error.

    Ten does not divide the samples, so that three blocks have one more than the others.
    """
    run = RunDir.open(copied(backend))
    record = evaluate(run, protocol="empirical", samples=63, seed=4)
    assert (record["n_samples"], record["seed"]) == (63, 4)
    module: Any = registry.load(backend)
    settings = settings_of(run)
    trees = [tree for tree, _ in run.draws()] or [run.tree]
    assert record["n_draws"] == (len(trees) if (run.path / "draws").exists() else 0)
    chances = []
    for number, part in enumerate(parts(63, len(trees), N_BLOCKS)):
        tree, rng = trees[part.draw], seeds.derive(4, "empirical", number)
        for weights, mixtures, own in module.predictive(tree, part.n_samples, settings, rng):
            rows = mixtures @ (tree.phi if own is None else own)
            for weight, row in zip(weights, rows, strict=True):
                chances.append((math.log(weight / 63), np.log(row)))
    counts = run.split.heldout.toarray()
    per_doc = [np.logaddexp.reduce([w + row @ logs for w, logs in chances]) for row in counts]
    lengths = counts.sum(axis=1)
    rate = sum(per_doc) / lengths.sum()
    assert record["log_likelihood_per_word"] == pytest.approx(rate, rel=1e-6)
    assert record["perplexity"] == pytest.approx(math.exp(-rate), rel=1e-6)
    each = [math.exp(-x / n) for x, n in zip(per_doc, lengths, strict=True) if n]
    assert record["mean_document_perplexity"] == pytest.approx(np.mean(each), rel=1e-6)
    left = np.sqrt(((np.array(per_doc) - rate * lengths) ** 2).sum()) / lengths.sum()
    assert record["standard_error"] == pytest.approx(left, rel=1e-4)
    with np.load(run.path / "eval" / "empirical-samples=63-seed=4.npz") as arrays:
        assert arrays["log_likelihood"] == pytest.approx(per_doc, rel=1e-6)


def test_the_deviation_of_blocks_is_that_of_ten_small_scores(copied: Copied) -> None:
    run = RunDir.open(copied("lda-gibbs"))
    record = evaluate(run, protocol="empirical", samples=200)
    with np.load(run.path / "eval" / "empirical-samples=200.npz") as arrays:
        by_block = arrays["log_likelihood_by_block"]
    rates = by_block.sum(axis=1) / record["n_tokens"]
    assert len(rates) == N_BLOCKS and len(set(rates)) == N_BLOCKS
    assert record["block_deviation"] == pytest.approx(np.std(rates, ddof=1), rel=1e-9)
    pooled = np.logaddexp.reduce(by_block) - math.log(N_BLOCKS)
    assert record["log_likelihood_per_word"] == pytest.approx(pooled.sum() / record["n_tokens"])


OF_N_TOPICS = [
    name for name in BACKENDS if "n_topics" in registry.load(name).Model.__struct_fields__
]


@pytest.mark.parametrize("backend", OF_N_TOPICS)
def test_one_topic_scores_as_the_smoothed_multinomial(
    backend: str, fit_tiny: Callable[..., Any], tmp_path: Path
) -> None:
    """T11: with K = 1 and eta in the place of the smoothing, to rounding."""
    may_hold = "hold" in registry.load(backend).Inference.__struct_fields__
    held = ["inference.hold=[eta]"] if may_hold else []
    overrides = ["model.n_topics=1", "model.eta=0.3", *held]
    one = fit_tiny(tmp_path / "one", backend, overrides=overrides)
    flat = fit_tiny(tmp_path / "flat", "multinomial", overrides=["model.smoothing=0.3"])
    scores = [
        evaluate(fitted.run, protocol="empirical", samples=50)["perplexity"]
        for fitted in (one, flat)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)
    phi, counts = flat.run.tree.phi[0], flat.run.split.heldout
    direct = np.exp(-(counts @ np.log(phi)).sum() / counts.sum())
    assert scores[1] == pytest.approx(direct, rel=1e-6)


def test_every_kept_draw_is_drawn_from(finished: Finished) -> None:
    run = RunDir.open(finished("lda-gibbs"))
    module: Any = registry.load("lda-gibbs")
    settings = settings_of(run)
    seen: list[tuple[bytes, int]] = []

    def draw(tree: Tree, n_samples: int, rng: np.random.Generator) -> Iterator[Components]:
        seen.append((tree.phi.tobytes(), n_samples))
        yield from module.predictive(tree, n_samples, settings, rng)

    log_likelihoods(run, draw, run.split.heldout, 60, 0)
    kept = [tree.phi.tobytes() for tree, _ in run.draws()]
    assert len(set(kept)) == len(kept) == 3
    for phi in kept:
        assert sum(n for other, n in seen if other == phi) == 20


def test_what_has_no_meaning_is_refused(finished: Finished) -> None:
    run = finished("lda-gibbs")
    with pytest.raises(UsageError, match="--samples must be >= 10"):
        evaluate(run, protocol="empirical", samples=9)
    with pytest.raises(UsageError, match="--average has no meaning"):
        evaluate(run, protocol="empirical", average=True)
    with pytest.raises(UsageError, match="which hdp-cvb0 does not offer"):
        evaluate(finished("hdp-cvb0"), protocol="empirical")
    with pytest.raises(UsageError, match="does not fit a holdout of kind tokens"):
        evaluate(finished("lda-gibbs", "tokens:0.2@0"), protocol="empirical")
