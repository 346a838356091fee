"""Moves of the tree: their gains, what they keep, and the guard (theory/ncrp 4)."""

from __future__ import annotations

import copy
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, xlogy
from stepping import at, corpus_of
from variational_cases import (
    MODES,
    adjusted_rand,
    best_leaves,
    bound,
    family,
    fitted,
    planted,
    seated,
    settings_of,
    slot_chances,
)

from hiertopics.base.arrays import F64
from hiertopics.contract.engine import Each, Workers, as_given
from hiertopics.contract.states import to_arrays
from hiertopics.families.ncrp.variational import (
    backend as variational,
    draft_moves,
    moves,
    splits,
    state as states,
)
from hiertopics.families.ncrp.variational.draft import (
    GONE,
    PathTreeDraft,
    SlotPosterior,
    draft_of,
    state_of_draft,
)
from hiertopics.families.ncrp.variational.draft_moves import FRESH
from hiertopics.families.ncrp.variational.state import Data, SlotProbabilities, State
from hiertopics.families.nested.tree_state import MeanField
from hiertopics.papers import ncrp_meanfield as meanfield, ncrp_moves as paper_moves

GAMMA, ETA = 1.4, 0.3
CORPUS, BRANCH, _ = planted(3, 60)


@pytest.fixture(params=MODES)
def fit(request: pytest.FixtureRequest) -> tuple[State, Data]:
    """Return a state after some sweeps without moves, its tree too large and partly wrong."""
    settings = settings_of(mode=request.param, moves="none", start_leaves=12, gamma=GAMMA, eta=ETA)
    return fitted(CORPUS, settings, 1, 4)


def hard_draft(seed: int = 0, n_docs: int = 14, n_topics: int = 2) -> PathTreeDraft:
    """Return a draft of whole documents on paths of a tree of depth 4, levels at random."""
    rng = np.random.default_rng(seed)
    parent = np.array([-1, 0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7], dtype=np.int32)
    level = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3], dtype=np.int32)
    leaf = np.append(np.arange(8, 15), rng.integers(8, 15, n_docs - 7))
    chances = np.zeros((n_docs, 15))
    chances[np.arange(n_docs), leaf] = 1.0
    words = np.zeros((15, 4, 9))
    topics = rng.dirichlet(np.full(9, 0.3), n_topics)[
        rng.integers(n_topics, size=15)
    ]  # some are the same
    for doc in leaf:
        node = int(doc)
        for depth in (3, 2, 1, 0):
            words[doc, depth] += rng.multinomial(5, topics[node])
            node = int(parent[node])
    one = Each([meanfield.Local(np.empty((n_docs, 4)), chances)])
    local: Any = Workers().place(tuple, [()], as_given, one)
    documents = SlotPosterior(local, SlotProbabilities(15, None, meanfield._weigh))
    return PathTreeDraft(parent, level, words, chances.sum(axis=0), documents)


def chances_of(found: PathTreeDraft) -> F64:
    """Return q of slots of the documents of ``hard_draft``, to be written to."""
    rows: F64 = found.documents.local.state_of(0).chances
    return rows


def worth(found: PathTreeDraft) -> float:
    """Return the log joint of topics and paths under the nested CRP, node by node."""
    value = 0.0
    for level in range(found.depth):
        counts = found.counts(level)
        mass = np.maximum(found.passing(level), draft_moves.LEAST_MASS)
        for row, docs in zip(counts, mass, strict=True):
            value += (gammaln(row + ETA) - gammaln(ETA)).sum()
            value += gammaln(len(row) * ETA) - gammaln(row.sum() + len(row) * ETA)
            if level > 0:
                value += math.log(GAMMA) + gammaln(docs)
            if level < found.depth - 1:
                value += gammaln(GAMMA) - gammaln(GAMMA + docs)
    return value


def all_moves(found: PathTreeDraft) -> list[draft_moves.Move]:
    return draft_moves.proposals(found, GAMMA, ETA)


@pytest.mark.parametrize("seed", range(6))
def test_gains_are_what_the_log_joint_gains(seed: int) -> None:
    """For whole documents on paths nothing is lost in entropy, so that gains are exact."""
    found = hard_draft(seed)
    before = worth(found)
    moved = all_moves(found)
    assert moved
    for move in moved:
        after = copy.deepcopy(found)
        draft_moves._make(after, move)
        assert worth(after) - before == pytest.approx(move.gain, abs=1e-6)


def test_every_kind_of_move_is_proposed() -> None:
    kinds = set()
    drafts = [hard_draft(seed, *sizes) for seed in range(8) for sizes in ((14, 2), (8, 3))]
    for found in drafts:
        for move in all_moves(found):
            inner = found.level[move.node] < found.depth - 1
            if move.parent == FRESH:
                kinds.add("a branch of its own")
            elif move.parent != found.parent[move.node]:
                kinds.add("elsewhere, joined" if move.other >= 0 else "elsewhere")
            else:
                kinds.add("inner siblings" if inner else "leaves")
    assert kinds == {
        "a branch of its own", "elsewhere, joined", "elsewhere", "inner siblings", "leaves"
    }  # fmt: skip


def test_reshaping_ends_where_no_move_gains_and_loses_no_word() -> None:
    found = hard_draft(2)
    words, docs, before = found.words.sum(), found.mass.sum(), worth(found)
    assert draft_moves.reshape(found, GAMMA, ETA) > 0
    while draft_moves.reshape(found, GAMMA, ETA):
        pass
    assert all_moves(found) == []
    assert worth(found) > before
    assert found.words.sum() == pytest.approx(words)
    assert found.mass.sum() == docs and found.seating.now(chances_of(found)).sum() == pytest.approx(
        docs
    )
    for node in np.flatnonzero(found.parent != GONE)[1:]:
        assert found.level[found.parent[node]] == found.level[node] - 1


def test_chosen_moves_do_not_touch_each_other() -> None:
    found = hard_draft(4)
    chosen = draft_moves._compatible(found, all_moves(found))
    nodes = [node for move in chosen for node in {move.node, move.other} - {-1}]
    assert len(nodes) == len(set(nodes))
    assert chosen == sorted(chosen, key=lambda move: -move.gain)


def test_a_draft_that_is_not_changed_gives_the_state_back(fit: tuple[State, Data]) -> None:
    state, data = fit
    before = copy.deepcopy(state)
    again = state_of_draft(draft_of(state), state)
    assert_equal(state, before)
    assert again.n_nodes == state.n_nodes
    assert again.lam.sum() == pytest.approx(state.lam.sum(), rel=1e-5)
    assert bound(again, data) >= bound(state, data) - 2.0


def test_slots_of_some_documents_at_a_time_are_those_of_all(
    fit: tuple[State, Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, _ = fit
    table = slot_chances(state)
    monkeypatch.setattr(states, "CELLS", 7 * state.n_nodes)
    assert np.array_equal(slot_chances(state), table)
    assert np.array_equal(state.best_slots(), np.argmax(table, axis=1))


def test_documents_say_of_a_changed_draft_what_a_table_of_all_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are asked some at a time, whatever has become of the slots that they know."""
    monkeypatch.setattr(states, "CELLS", 4 * 15)
    found, rng = hard_draft(), np.random.default_rng(1)
    table = chances_of(found)
    table[:] = rng.dirichlet(np.full(15, 0.3), len(table))
    table = np.column_stack([table, np.zeros(len(table))])
    found.entropy_lost(list(combinations(range(8, 15), 2)))
    found.join(8, 9)
    found.join(14, 11)
    found.hang(10, found.add_node(2))
    assert found.parent[5] == GONE
    for gone, to in ((9, 8), (11, 14), (5, 1)):
        table[:, to] += table[:, gone]
        table[:, gone] = 0.0
    np.testing.assert_allclose(found.seating.now(chances_of(found)), table)
    left = list(combinations(found.alive(3).tolist(), 2))
    alone, both = table[:, left], table[:, left].sum(axis=2)
    expected = xlogy(both, both).sum(axis=0) - xlogy(alone, alone).sum(axis=(0, 2))
    assert expected.min() > 0.1
    assert found.entropy_lost(left) == pytest.approx(expected)
    passing = found.over_subtrees(table.T, 1).T
    products = found.products(1)
    assert products[:-1, :-1] == pytest.approx(passing.T @ passing)
    assert products[-1, :-1] == pytest.approx(passing.sum(axis=0))


def test_pruning_hands_documents_to_the_slot_above(fit: tuple[State, Data]) -> None:
    state, data = fit
    found = draft_of(state)
    order = np.argsort(found.mass[found.alive(2)])
    least = float(found.mass[found.alive(2)][order[2]])
    assert found.prune(least) == 2
    assert len(found.alive(2)) == len(order) - 2
    assert found.mass.sum() == pytest.approx(data.n_docs)
    for node in found.alive(1):
        assert len(found.children(int(node))) or found.mass[node] >= least


def test_paths_with_the_same_documents_are_merged_and_others_are_not() -> None:
    found = hard_draft(1)
    chances = chances_of(found)
    chances[:, 9] = 0.9 * chances[:, 8]
    chances[:, 12] = chances[:, 14]
    assert paper_moves.merge_alike(found) == 2
    assert (found.parent[[8, 9]] == GONE).sum() == 1
    assert (found.parent[[12, 14]] == GONE).sum() == 1
    assert paper_moves.merge_alike(hard_draft(1)) == 0


def test_inner_siblings_with_the_same_documents_are_merged_with_their_children() -> None:
    found = hard_draft(1)
    chances = chances_of(found)
    chances[:, [8, 9, 13]] += 0.1  # paths of 1 are alike enough, but not those of 2
    chances[:, 10:13] = 0.0
    chances[:, 13] = chances[:, [8, 9]].sum(axis=1)
    chances[:, 14] = 0.0
    children = len(found.children(1)) + len(found.children(2))
    assert paper_moves._merge_level(found, 1) == 1
    assert (found.parent[[1, 2]] == GONE).sum() == 1
    left = 1 if found.parent[1] != GONE else 2
    assert len(found.children(left)) == children


def test_a_branch_that_mixes_themes_is_split_and_the_bound_rises() -> None:
    """All documents on one path: births at the level below the root find the branches."""
    settings = settings_of(moves="none", start_leaves=1, start_sweeps=0, eta=ETA)
    state, data = fitted(CORPUS, settings, 0, 3)
    assert state.n_nodes == 3
    before = bound(state, data)
    made, n_made = splits.split_level(state, data, 1, 100, at(5))
    assert (made.n_nodes, n_made) == (5, 1)
    assert bound(made, data) > before + 10
    same, none_made = splits.split_level(state, data, 1, 4, at(5))
    assert same is state and none_made == 0


def test_documents_of_a_branch_are_told_apart_by_their_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which documents a node's clustering is given, by value: those of the node alone."""
    settings = settings_of(moves="none", start_leaves=1, start_sweeps=0, eta=ETA)
    state, data = fitted(CORPUS, settings, 0, 1)
    at_node = np.where(np.arange(data.n_docs) % 3 == 2, 1, 0).astype(np.int32)
    docs, given = np.flatnonzero(at_node == 1), []

    def in_two(counts: Any, doc_pairs: Any, *others: Any) -> Any:
        given.append((counts(np.array([0, 2, 5])), doc_pairs))
        return np.zeros(len(doc_pairs), np.int64)

    monkeypatch.setattr(splits, "in_two", in_two)
    assert splits._second_clusters(data, at_node, [1], at(1)) == []
    ((counts, doc_pairs),) = given
    wanted = CORPUS.counts[docs]
    np.testing.assert_array_equal(counts.toarray(), wanted[[0, 2, 5]].toarray())
    np.testing.assert_array_equal(doc_pairs, np.diff(wanted.indptr))


def test_leaves_of_one_theme_are_not_split() -> None:
    """A birth must pay for the topics that it adds."""
    rng = np.random.default_rng(0)
    corpus = corpus_of(rng.multinomial(40, np.full(12, 1 / 12), 30))
    state, data = fitted(corpus, settings_of(moves="none", start_leaves=1, start_sweeps=0), 0, 3)
    for level in (1, 2):
        assert splits.split_level(state, data, level, 100, at(5))[1] == 0


def test_branches_that_are_one_are_joined_and_others_are_not() -> None:
    """A planted branch cut in two by hand comes together; then nothing is left to join."""
    corpus, branch, by_level = planted(3, 120)
    settings = settings_of(moves="none", eta=ETA)
    data = variational.prepare(corpus, settings)
    cut = branch.copy()
    cut[branch[:, 1] == 0, 0] = 7
    state = seated(cut, by_level, data, settings)
    for iteration in range(1, 4):
        state, _ = variational.step(state, data, settings, at(iteration))
    assert state.nodes.bounds[2] == 5
    before = bound(state, data)
    made, n_made = splits.join_level(state, data, 1)
    assert n_made == 1 and made.nodes.bounds[2] == 4
    assert bound(made, data) > before
    assert adjusted_rand(made.nodes.path[best_leaves(made, data), 1], branch[:, 0]) == 1.0
    assert splits.join_level(made, data, 1)[1] == 0


def test_trials_keep_every_token(fit: tuple[State, Data]) -> None:
    state, data = fit
    before = copy.deepcopy(state)
    tried = [splits.split_level(state, data, level, 100, at(5)) for level in (1, 2)]
    tried.append(splits.join_level(state, data, 1))
    assert_equal(state, before)
    assert sum(n_made for _, n_made in tried) > 0
    for made, _ in tried:
        tokens = (made.lam - made.lam.dtype.type(made.eta)).sum()
        assert tokens == pytest.approx(data.doc_lengths.sum(), rel=1e-3)
        if isinstance(state, MeanField):
            assert isinstance(made, MeanField)
            assert made.chances.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["all", "paper"])
def test_a_guarded_round_never_lowers_the_bound_and_else_changes_nothing(
    fit: tuple[State, Data], kind: str
) -> None:
    state, data = fit
    mode = "meanfield" if isinstance(state, MeanField) else "structured"
    settings = settings_of(mode=mode, moves=kind, gamma=GAMMA, eta=ETA)
    before = bound(state, data)
    kept = set()
    for iteration in (5, 10, 15, 20, 25, 30):
        copied = copy.deepcopy(state)
        after, made = moves.round_of_moves(state, data, settings, at(iteration))
        kept.add(made.kept)
        if made.kept:
            assert bound(after, data) >= before
        else:
            assert after is state
        assert_equal(state, copied)
    assert 1 in kept or kind == "paper"


def assert_equal(state: State, other: State) -> None:
    expected = to_arrays(other)
    for name, value in to_arrays(state).items():
        assert np.array_equal(value, expected[name]), name


def test_the_guard_rejects_what_an_unguarded_round_keeps(
    fit: tuple[State, Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, data = fit

    def spoil(state: State, *others: Any) -> tuple[State, int]:
        state.lam = np.full_like(state.lam, 50.0)
        state.tau[:] = 9.0
        return state, 1

    monkeypatch.setattr(moves, "all_moves", spoil)
    monkeypatch.setattr(moves, "TRIAL_SWEEPS", 0)
    guarded, unguarded = settings_of(), settings_of(guard_moves=False)
    assert moves.round_of_moves(state, data, guarded, at(5))[1] == (0, 1)
    assert moves.round_of_moves(state, data, unguarded, at(5))[1] == (1, 1)


def test_heavier_siblings_come_first_and_the_bound_does_not_fall() -> None:
    state, data = fitted(CORPUS, settings_of(moves="none", start_leaves=8), 2, 5)
    docs = np.bincount(best_leaves(state, data), minlength=state.n_nodes)
    nodes = state.nodes
    for parent in range(nodes.bounds[2]):
        sizes = docs[np.flatnonzero(state.parent == parent)]
        if nodes.level[parent] == 1:
            assert (np.diff(sizes) <= 1).all()


def test_moves_come_at_iterations_known_beforehand() -> None:
    """No schedule depends on the total number of iterations."""
    settings = settings_of(moves_every=3, start_leaves=12)
    data = variational.prepare(CORPUS, settings)
    state: Any = family(settings).init(data, settings, at(0))
    tried = []
    for iteration in range(1, 10):
        state, info = variational.step(state, data, settings, at(iteration))
        tried += [iteration] if info.n_moves else []
    assert tried and set(tried) <= {3, 6, 9}
