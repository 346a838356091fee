"""Starts and moves of the tree: whole drafts, the cap, and that only gains are kept."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from stepping import at

from hiertopics.contract import registry
from hiertopics.contract.model import Context, Settings
from hiertopics.corpus.data.tree import ROOT
from hiertopics.families.hca import moves, starts
from hiertopics.families.hca.config import Inference, Model
from hiertopics.families.hca.draft import OUT, VectorTreeDraft, draft_of, state_of_draft
from hiertopics.families.hca.state import Data, State, elbo, lay_out, slot_chances, slot_scores

STARTS = ("clusters", "residuals", "axes")


def settings_for(
    depth: int = 3, max_nodes: int = 12, *, start: str = "clusters", mode: str = "structured"
) -> Settings:
    model = Model(depth=depth, max_nodes=max_nodes, vector_variance=10.0)
    return Settings(model, Inference(start=start, mode=mode, trial_sweeps=10))  # type: ignore[arg-type]


def first_state(data: Data, settings: Settings, context: Context) -> State:
    kind = registry.load("hca-variational", inference=settings.inference).State
    return starts.first_state(kind, data, settings, context)  # type: ignore[arg-type]


def blobs(n_docs: int = 150, n_columns: int = 6) -> Data:
    """Return rows along three directions, with a direction that all of them share."""
    rng = np.random.default_rng(0)
    own = 3 * np.eye(n_columns)[1 + np.arange(n_docs) % 3]
    rows = 4 * np.outer(rng.standard_normal(n_docs), np.eye(n_columns)[0])
    rows += own * rng.standard_normal((n_docs, 1)) + 0.2 * rng.standard_normal(rows.shape)
    return lay_out(rows + 1.0, 1)


def assert_whole(draft: VectorTreeDraft, max_nodes: int | None = None) -> None:
    """Assert that a draft is a tree with every row on one of its slots."""
    live = draft.live
    assert live[0] == 0 and draft.parent[0] == ROOT
    for node in live[1:]:
        assert draft.parent[draft.parent[node]] != OUT
        assert 2 <= len(draft.path(node)) <= draft.depth
    assert set(draft.slot.tolist()) <= set(live)
    assert np.isfinite(np.array([draft.axes[node] for node in live])).all()
    assert max_nodes is None or len(live) <= max_nodes


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("max_nodes", [1, 4, 9, 30])
def test_no_start_makes_too_large_a_tree(start: str, depth: int, max_nodes: int) -> None:
    state = first_state(blobs(), settings_for(depth, max_nodes, start=start), at(0))
    assert 1 <= state.n_nodes <= max_nodes
    assert state.n_nodes == max_nodes or start == "axes" or max_nodes == 30
    assert state.parent[0] == ROOT and (np.diff(state.nodes.level) >= 0).all()
    assert np.isfinite(elbo(state, settings_for(depth).model))


def test_widths_grow_by_one_factor_and_spend_all_nodes() -> None:
    wanted = {
        (2, 9): [1, 8],
        (3, 14): [1, 3, 10],
        (4, 18): [1, 2, 5, 10],
        (5, 22): [1, 2, 3, 6, 10],
    }
    for (depth, max_nodes), widths in wanted.items():
        model = Model(depth=depth, max_nodes=max_nodes)
        assert starts.widths(model, 3000) == widths
    assert starts.widths(Model(depth=3, max_nodes=30), 25) == [1, 2, 2]
    assert starts.widths(Model(depth=3, max_nodes=30), 0) == [1, 1, 1]


@pytest.mark.parametrize("start", STARTS)
def test_a_start_lays_the_root_along_the_first_principal_axis(start: str) -> None:
    data = blobs()
    state = first_state(data, settings_for(start=start), at(0))
    _, _, axes = np.linalg.svd(data.rows - data.rows.mean(axis=0))
    root = state.mean[0] / np.linalg.norm(state.mean[0])
    assert abs(root @ axes[0]) == pytest.approx(1, abs=1e-9)
    assert state.mu == pytest.approx(data.rows.mean(axis=0))


def test_one_path_of_axes_is_principal_component_analysis() -> None:
    data = blobs()
    state = first_state(data, settings_for(start="axes"), at(0))
    _, strength, axes = np.linalg.svd(data.rows - data.rows.mean(axis=0))
    for level in range(3):
        length = np.linalg.norm(state.mean[level])
        assert abs(state.mean[level] @ axes[level]) / length == pytest.approx(1, abs=1e-9)
        assert length == pytest.approx(strength[level] / np.sqrt(data.n_docs))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_changes_at_random_leave_a_whole_tree_within_the_cap(depth: int) -> None:
    data, settings = blobs(), settings_for(depth, 12)
    rng = np.random.default_rng(depth)
    state = first_state(data, settings, at(0))
    kinds = {kind.__name__: 0 for kind in moves.kinds(depth)}
    for _ in range(60):
        scores = slot_scores(state, settings.model)
        draft = draft_of(state, data.rows, scores.argmax(axis=1))
        for kind in moves.kinds(depth):
            alone = copy.deepcopy(draft)
            kinds[kind.__name__] += kind(alone, rng)
            assert_whole(alone)
        if moves._changed(draft, scores, 12, rng):
            assert_whole(draft, 12)
            state = state_of_draft(draft, state, 1.0)
            assert state.n_nodes == len(draft.live)
    assert min(kinds.values()) > 0, kinds


def good_state(settings: Settings) -> tuple[Data, State]:
    data = blobs()
    state = first_state(data, settings, at(0))
    for _ in range(30):
        moves.sweep(state, data, settings)
    return data, state


@pytest.mark.parametrize("mode", ["structured", "meanfield"])
def test_a_move_that_lowers_the_bound_is_undone(mode: str) -> None:
    settings = settings_for(2, 4, mode=mode)
    data, state = good_state(settings)
    before = elbo(state, settings.model)
    scores = slot_scores(state, settings.model)
    draft = draft_of(state, data.rows, scores.argmax(axis=1))
    assert moves.drop(draft, scores, np.random.default_rng(0))
    after, kept = moves._better(state, draft, data, settings)
    assert not kept and after.n_nodes == state.n_nodes
    assert elbo(after, settings.model) >= before


def test_a_trial_is_swept_no_more_than_the_tree_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps alone raise the bound: more of them would flatter every trial."""
    settings, n_sweeps = settings_for(2, 4), []
    data, state = good_state(settings)
    draft = draft_of(state, data.rows, slot_scores(state, settings.model).argmax(axis=1))
    sweep = moves.sweep

    def counted(each: State, *others: Any) -> Any:
        n_sweeps.append(id(each))
        return sweep(each, *others)

    monkeypatch.setattr(moves, "sweep", counted)
    moves._better(state, draft, data, settings)
    each = settings.inference.trial_sweeps
    assert [n_sweeps.count(tree) for tree in dict.fromkeys(n_sweeps)] == [each, each]


@pytest.mark.parametrize("mode", ["structured", "meanfield"])
def test_a_split_that_raises_the_bound_is_kept(mode: str) -> None:
    settings = settings_for(2, 3, mode=mode)
    data, state = good_state(settings)
    before = elbo(state, settings.model)
    n_kept = 0
    for seed in range(6):
        best = slot_scores(state, settings.model).argmax(axis=1)
        draft = draft_of(state, data.rows, best)
        assert moves.split(draft, np.random.default_rng(seed))
        after, kept = moves._better(state, draft, data, settings)
        gain = elbo(after, settings.model) - before
        assert after.n_nodes == state.n_nodes + kept
        assert gain > 10 if kept else gain >= 0
        n_kept += kept
    assert n_kept > 0


def test_rounds_of_moves_never_lower_the_bound_and_grow_the_tree_to_its_cap() -> None:
    settings = settings_for(3, 8, start="axes")
    data, state = good_state(settings)
    before, n_nodes, n_kept = elbo(state, settings.model), state.n_nodes, 0
    for iteration in range(1, 9):
        state, _, kept = moves.round_of_moves(state, data, settings, at(iteration))
        now = elbo(state, settings.model)
        assert now >= before - 1e-9 * abs(now)
        before, n_kept = now, n_kept + kept
    assert n_nodes < state.n_nodes <= 8 and n_kept > 0


def test_paths_with_the_same_rows_are_merged_into_the_heavier_one() -> None:
    data = blobs()
    _, state = good_state(settings_for(2, 4))
    draft = draft_of(state, data.rows, np.arange(data.n_docs) % 3 + 1)
    chances = np.zeros((data.n_docs, 4))
    chances[:50, 1], chances[:50, 2], chances[50:, 3] = 0.4, 0.6, 1.0
    assert moves.merge_alike(draft, chances) == 1
    assert draft.live == [0, 2, 3] and set(draft.slot.tolist()) == {2, 3}
    chances[:50, 1:3] = np.eye(2)[np.arange(50) % 2]
    draft = draft_of(state, data.rows, np.arange(data.n_docs) % 3 + 1)
    assert moves.merge_alike(draft, chances) == 0 and len(draft.live) == 4


def test_a_path_without_rows_is_pruned_with_the_nodes_above_it() -> None:
    data = blobs()
    draft = VectorTreeDraft(
        [ROOT, 0, 0, 1, 2], [np.ones(6)] * 5, np.full(data.n_docs, 3), data.rows.copy(), 3
    )
    chances = np.zeros((data.n_docs, 5))
    chances[:, 3] = 1.0
    assert moves.prune(draft, chances) == 1
    assert draft.live == [0, 1, 3]


def test_a_leaf_that_is_dropped_is_one_that_is_missed_little() -> None:
    data, state = good_state(settings_for(2, 9))
    scores = slot_scores(state, settings_for(2, 9).model)
    chances = slot_chances(scores)
    best = scores.argmax(axis=1)
    for seed in range(10):
        draft = draft_of(state, data.rows, best.copy())
        moves.drop(draft, scores, np.random.default_rng(seed))
        (gone,) = set(range(state.n_nodes)) - set(draft.live)
        loss = [
            (scores.max(axis=1) - np.delete(scores, leaf, axis=1).max(axis=1)).sum()
            for leaf in range(1, state.n_nodes)
        ]
        assert sorted(loss).index(loss[gone - 1]) < moves.CHOICES
        moved = best == gone
        wanted = np.where(np.arange(state.n_nodes) == gone, -np.inf, scores)[moved].argmax(axis=1)
        assert draft.slot[moved].tolist() == wanted.tolist()
        assert (draft.slot[~moved] == best[~moved]).all()
    assert chances.sum(axis=1) == pytest.approx(1)


def test_at_its_cap_a_tree_trades_a_leaf_for_another() -> None:
    data, state = good_state(settings_for(2, 4))
    scores = slot_scores(state, settings_for(2, 4).model)
    n_made = 0
    for seed in range(10):
        draft = draft_of(state, data.rows, scores.argmax(axis=1))
        if moves._changed(draft, scores, 4, np.random.default_rng(seed)):
            assert len(draft.live) == 4 and set(draft.live) != {0, 1, 2, 3}
            n_made += 1
    assert n_made > 0


def test_a_node_that_holds_rows_of_its_own_stays_without_its_children() -> None:
    parent, slot = [ROOT, 0, 1], np.array([1, 2, 2])
    draft = VectorTreeDraft(parent, [np.ones(2)] * 3, slot, np.ones((3, 2)), 3)
    draft.take_out(2, np.array([0, 0, 0]))
    assert draft.live == [0, 1] and draft.slot.tolist() == [1, 0, 0]
