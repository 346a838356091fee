"""Starts of the variational tree (theory/ncrp 4, T12) and what they lead to (T10)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from stepping import at, corpus_of
from variational_cases import (
    MODES,
    adjusted_rand,
    best_leaves,
    bound,
    fitted,
    planted,
    seated,
    settings_of,
    slot_chances,
)

from hiertopics.base.arrays import I64
from hiertopics.families.ncrp import clustering
from hiertopics.families.ncrp.variational import backend as variational, starts
from hiertopics.families.ncrp.variational.state import Data, State
from hiertopics.families.nested.tree_state import MeanField

CORPUS, BRANCH, BY_LEVEL = planted(0, 150)
FLAT = {"eta": 0.1, "level_prior": [5.0, 5.0, 5.0]}


def from_truth(mode: str = "structured") -> tuple[State, Data]:
    """Return the state of the planted assignment."""
    settings = settings_of(mode=mode, moves="none", **FLAT)
    data = variational.prepare(CORPUS, settings)
    return seated(BRANCH, BY_LEVEL, data, settings), data


@pytest.mark.parametrize("mode", MODES)
def test_an_assignment_gives_its_counts_up_to_the_smoothing(mode: str) -> None:
    """T12."""
    state, data = from_truth(mode)
    assert (state.nodes.bounds == [0, 1, 4, 10]).all()
    found = np.sort((state.lam - state.eta).sum(axis=0)[4:])
    truth = np.sort([BY_LEVEL[BRANCH[:, 1] == leaf, :, 2].sum() for leaf in range(6)])
    assert found == pytest.approx(truth, rel=0.25)
    root = state.lam[:, 0] - state.eta
    assert np.corrcoef(root, BY_LEVEL[:, :, 0].sum(axis=0))[0, 1] > 0.98
    assert (state.lam - state.eta).sum() == pytest.approx(data.doc_lengths.sum(), rel=3e-3)
    assert state.tau.sum(axis=1) == pytest.approx(15.0 + data.doc_lengths)
    if mode == "meanfield":
        assert isinstance(state, MeanField)
        assert np.sort(state.chances, axis=1)[:, -1] == pytest.approx(1 - starts.UNSURE)
        assert state.chances.sum(axis=1) == pytest.approx(1)
    assert adjusted_rand(best_leaves(state, data), BRANCH[:, 1]) == 1.0


@pytest.mark.parametrize("mode", MODES)
def test_from_the_truth_a_fit_stays_there(mode: str) -> None:
    """T10 (i)."""
    state, data = from_truth(mode)
    settings = settings_of(mode=mode, moves="none", **FLAT)
    before = bound(state, data)
    for iteration in range(1, 31):
        state, _ = variational.step(state, data, settings, at(iteration))
    assert bound(state, data) > before
    assert adjusted_rand(best_leaves(state, data), BRANCH[:, 1]) == 1.0


@pytest.mark.parametrize("start", ["clusters", "sequential", "separate", "overcomplete"])
@pytest.mark.parametrize("mode", MODES)
def test_every_start_leads_beyond_the_root_alone(start: str, mode: str) -> None:
    """T10: the paper's starts are asked for no more."""
    corpus, _, _ = planted(1, 60)
    keys = {"mode": mode, "moves": "none", "max_nodes": 200, **FLAT}
    root, data = fitted(corpus, settings_of(start="root", **keys), 0, 8)
    state, _ = fitted(corpus, settings_of(start=start, **keys), 0, 8)
    assert root.n_nodes == 1 and state.n_nodes > 1
    assert bound(state, data) > bound(root, data)
    tokens = (state.lam - state.lam.dtype.type(state.eta)).sum() + state.n_outside
    assert tokens == pytest.approx(corpus.n_tokens, rel=1e-4)


def test_the_start_with_a_path_per_document_opens_that_many() -> None:
    corpus, _, _ = planted(2, 20)
    state, _ = fitted(corpus, settings_of(start="separate"), 0, 0)
    assert len(state.nodes.leaves) == 20
    capped, _ = fitted(corpus, settings_of(start="separate", max_nodes=15), 0, 0)
    assert len(capped.nodes.leaves) == 5
    fewer, _ = fitted(corpus, settings_of(start="sequential"), 0, 0)
    assert 1 <= len(fewer.nodes.leaves) < 20


@pytest.mark.parametrize("mode", MODES)
def test_a_tree_of_some_documents_counts_for_all_of_them(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it was not made of find their places in sweeps, and nodes are split by some."""
    settings = settings_of(mode=mode, start_leaves=6, start_sweeps=20, **FLAT)
    monkeypatch.setattr(clustering, "MOST_PAIRS", CORPUS.n_pairs // 2)
    monkeypatch.setattr(clustering, "CELLS", 100)
    state, data = fitted(CORPUS, settings, 0, 0)
    assert (state.lam - state.eta).sum() == pytest.approx(CORPUS.n_tokens, rel=1e-3)
    below = slice(*state.nodes.bounds[1:3])
    assert (state.stick_a[below] - 1).sum() == pytest.approx(150, rel=0.01)
    seen = starts.sampled(data, at(0))
    assert 60 < seen.n_docs < 80 and len(seen.cells.word) <= CORPUS.n_pairs // 2
    assert np.array_equal(seen.n_with <= data.n_with, np.ones(60, bool))
    assert seen.word_counts.sum() == seen.doc_lengths.sum() == seen.cells.tokens.sum()
    state, data = fitted(CORPUS, settings, 0, 12)
    assert adjusted_rand(best_leaves(state, data), BRANCH[:, 1]) > (
        0.9 if mode != MODES[0] else 0.7
    )


def test_two_clusters_of_some_documents_are_joined_by_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    truth = np.arange(80) % 2
    dense = np.random.default_rng(3).poisson(2.0, (80, 20)) * (np.arange(20) % 2 == truth[:, None])
    counts = corpus_of(dense).counts
    pairs, asked = np.diff(counts.indptr).astype(np.int64), []

    def counts_of(docs: I64) -> sparse.csr_array:
        asked.append(len(docs))
        return counts[docs]

    def found() -> I64:
        asked.clear()
        return clustering.in_two(counts_of, pairs, np.ones(20), np.random.default_rng(0))

    assert adjusted_rand(found(), truth) == 1.0 and asked == [80]
    monkeypatch.setattr(clustering, "MOST_PAIRS", int(pairs.sum()) // 3)
    monkeypatch.setattr(clustering, "CELLS", 50)
    assert adjusted_rand(found(), truth) == 1.0
    assert 20 < asked[0] < 30 and sum(asked[1:]) == 80 and max(asked[1:]) < 10


def test_the_start_decides_the_seed_s_part() -> None:
    first, _ = fitted(CORPUS, settings_of(start="sequential"), 0, 0)
    second, _ = fitted(CORPUS, settings_of(start="sequential"), 1, 0)
    assert first.lam.shape != second.lam.shape or not np.array_equal(first.lam, second.lam)


@pytest.mark.parametrize("depth", [2, 4, 5])
@pytest.mark.parametrize("start", ["clusters", "sequential", "overcomplete", "root"])
def test_any_depth_goes(depth: int, start: str) -> None:
    corpus, _, _ = planted(1, 30)
    settings = settings_of(start=start, depth=depth, moves_every=2, start_leaves=6)
    state, data = fitted(corpus, settings, 0, 6)
    assert state.nodes.depth == depth == state.tau.shape[1]
    assert slot_chances(state).sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
def test_overcomplete_best_of_five_is_near_the_truth() -> None:
    """T10 (ii): with the third start of theory/ncrp 4 and merges and prunes, five seeds."""
    reference, data = from_truth()
    settings = settings_of(moves="none", **FLAT)
    for iteration in range(1, 31):
        reference, _ = variational.step(reference, data, settings, at(iteration))
    fits = [
        fitted(CORPUS, settings_of(start="overcomplete", **FLAT), seed, 40) for seed in range(5)
    ]
    best = max(fits, key=lambda fit: bound(*fit))
    assert bound(*best) > 1.015 * bound(reference, data)
    assert adjusted_rand(best_leaves(*best), BRANCH[:, 1]) > 0.8


def test_clusters_of_clear_themes_are_those_themes() -> None:
    rng = np.random.default_rng(0)
    rows = clustering.weighted_rows(CORPUS.counts)
    labels = clustering.cluster(rows, 3, rng)
    assert adjusted_rand(labels, BRANCH[:, 0]) > 0.9


def test_clusters_are_numbered_without_gaps_and_empty_rows_have_one() -> None:
    rows = clustering.weighted_rows(CORPUS.counts)
    rows = rows.tolil()
    rows[[3, 7]] = 0
    labels = clustering.cluster(rows.tocsr(), 40, np.random.default_rng(1))
    assert set(labels) == set(range(labels.max() + 1))
    assert len(labels) == 150


@pytest.mark.slow
def test_the_default_fit_finds_the_planted_tree() -> None:
    """300 documents, a flat level prior, five seeds: leaves as planted, the bound near theirs."""
    corpus, branch, by_level = planted(7, 300)
    settings = settings_of(**FLAT)
    data = variational.prepare(corpus, settings)
    truth = seated(branch, by_level, data, settings)
    for iteration in range(1, 21):
        truth, _ = variational.step(truth, data, settings_of(moves="none", **FLAT), at(iteration))
    fits = [fitted(corpus, settings, seed, 30) for seed in range(5)]
    best = max(fits, key=lambda fit: bound(*fit))
    assert adjusted_rand(best_leaves(*best), branch[:, 1]) > 0.9
    assert bound(*best) > 1.01 * bound(truth, data)
