"""Small trees in other shapes: the chance of a tree, its moves, merges, and whether they stay."""

from __future__ import annotations

import numpy as np
import pytest
from nhdp_cases import random_mixing, random_parent, random_resp, resp_of, state_of
from stepping import corpus_of
from test_nhdp_planted import fitted, found, planted

from hiertopics.base.arrays import F64, I64
from hiertopics.families.flat.layout import Data, lay_out
from hiertopics.families.nhdp import shape_trials
from hiertopics.families.nhdp.hanging import MASS, ScoredTree
from hiertopics.families.nhdp.layout import Shape, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import draw_mixtures
from hiertopics.families.nhdp.shape_trials import (
    CorpusCells,
    TrialCounts,
    counted,
    log_words,
    merge,
    pairs_of,
)
from hiertopics.families.nhdp.state import State

PARENT = [-1, *[0] * 4, *[1] * 3, *[2] * 5, *[3] * 2]
DEEP = [-1, *[0] * 3, *[1] * 3, *[2] * 4, 3, 3]
ETA = 0.015


def mixing_of(shape: Shape, stop: float = 1.0, go: float = 1.0) -> Mixing:
    """Return even shares, with the same mass for each child."""
    inner = shape.n_children > 0
    share = np.ones(shape.n_nodes)
    share[1:] = 1 / shape.n_children[shape.parent[1:]]
    stops = np.where(inner, stop, 1.0), np.where(inner, go, 0.0)
    return Mixing(shape, share, np.where(inner, MASS * shape.n_children, 0.0), *stops)


def counts_below(seed: int, parent: list[int]) -> F64:
    """Draw the counts of 400 documents of 60 tokens."""
    rng = np.random.default_rng(seed)
    theta = draw_mixtures(mixing_of(shape_of(np.array(parent)), 2.0, 3.0), 400, rng)
    return np.array([rng.multinomial(60, row) for row in theta], float)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_move_gains_is_the_difference_of_two_trees(seed: int) -> None:
    """Of whole counts each total is the log chance of theory/nhdp 2.1."""
    rng = np.random.default_rng(seed)
    parent, n = random_parent(rng, 9), rng.poisson(0.7, (15, 9)).astype(float)
    tree = ScoredTree(n, parent, 0.8, 1.3)
    assert tree.total == pytest.approx(mixing_of(shape_of(parent), 0.8, 1.3).log_chance(n))
    for node in range(1, 9):
        gains = tree.gains(node)
        assert np.isneginf(gains[list(tree.below(node))]).all()
        for under in np.flatnonzero(np.isfinite(gains)).tolist():
            other = parent.copy()
            other[node] = under
            total = ScoredTree(n, other, 0.8, 1.3).total
            assert gains[under] - gains[parent[node]] == pytest.approx(total - tree.total)
            changed = {*tree.above(node), *tree.above(under)}
            assert tree.chance(other, changed) == pytest.approx(total)


def test_every_change_of_a_tree_gains() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = rng.poisson(0.5, (30, 12)).astype(float)
        tree = ScoredTree(n, random_parent(rng, 12), 1.0, 1.0)
        for change in (tree.climb, tree.adopt, tree.swap, tree.improve):
            before, last = tree.parent.tolist(), tree.total
            change()
            assert tree.total > last or tree.parent.tolist() == before


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_counts_of_its_nodes_tell_a_tree(seed: int) -> None:
    """All nodes begin below the root."""
    n = counts_below(seed, PARENT)
    tree = ScoredTree(n, shape_trials.one_level(len(PARENT)), 1.0, 1.0)
    tree.improve()
    assert tree.parent.tolist() == PARENT


def test_the_topic_of_all_documents_is_the_roots() -> None:
    n = counts_below(4, PARENT)
    order = np.random.default_rng(0).permutation(len(PARENT))
    begun = shape_trials.rooted(TrialCounts(n[:, order], np.eye(len(PARENT))[order], n), 1.0, 1.0)
    assert begun.words[0].argmax() == 0


def of_nodes(z: I64, words: I64, n_nodes: int) -> tuple[Data, CorpusCells, F64]:
    """Return documents in which pairs have one node each; z [n_docs, V], -1 for no word."""
    data = lay_out(corpus_of(np.where(z >= 0, words, 0)), 1)
    pairs = pairs_of(data)
    return data, pairs, np.eye(n_nodes)[z[pairs.doc, pairs.word]]


def seeded(counts: TrialCounts) -> F64:
    """Return that no topic has seed words."""
    return np.zeros_like(counts.words)


def test_a_topic_that_was_found_twice_is_merged_and_no_other() -> None:
    """Two nodes share the words of one by a coin; the others have words of their own."""
    rng, n = np.random.default_rng(5), counts_below(5, PARENT).astype(int)
    n_nodes = len(PARENT)
    counts = np.zeros((len(n), 5 * n_nodes), np.int64)
    for node in range(n_nodes):
        rows = [rng.multinomial(tokens, np.full(5, 0.2)) for tokens in n[:, node]]
        counts[:, 5 * node : 5 * node + 5] = rows
    z = np.where(counts > 0, np.arange(5 * n_nodes) // 5, -1)
    data, pairs, q = of_nodes(z, counts, n_nodes)
    tree = ScoredTree(counted(q, pairs, data).n, np.array(PARENT), 1.0, 1.0)
    assert merge(tree, counted(q, pairs, data), pairs, data, ETA) is None
    twice = np.concatenate([q, np.zeros((len(q), 1))], axis=1)
    coin = (rng.random(len(q)) < 0.4) & (q[:, 2] > 0)
    twice[coin, 2], twice[coin, n_nodes] = 0, 1
    found_twice = counted(twice, pairs, data)
    tree = ScoredTree(found_twice.n, np.array([*PARENT, 0]), 1.0, 1.0)
    merged = merge(tree, found_twice, pairs, data, ETA)
    assert merged is not None and len(merged[0]) == n_nodes
    assert merged[1].n.sum() == pytest.approx(n.sum())
    assert sorted(merged[1].words.sum(axis=1)) == pytest.approx(sorted(n.sum(axis=0)))


def test_the_gain_of_a_merge_is_that_of_the_evidence() -> None:
    """E log p(w, z) + H(q) before and after, all from the start; a child joins its parent."""
    rng = np.random.default_rng(6)
    words = rng.integers(1, 3, (12, 6))
    data = lay_out(corpus_of(words), 1)
    pairs, parent = pairs_of(data), np.array([-1, 0, 0, 1, 1])
    q = rng.dirichlet(np.full(5, 0.4), len(pairs.doc)) + 0.05
    q /= q.sum(axis=1, keepdims=True)

    def evidence(q: F64, parent: I64) -> float:
        counts = counted(q, pairs, data)
        chance = (
            ScoredTree(counts.n, parent, 1.0, 1.0).total
            + log_words(counts.words, ETA, seeded(counts)).sum()
        )
        return float(chance - pairs.tokens @ (q * np.log(q)).sum(axis=1))

    counts = counted(q, pairs, data)
    tree = ScoredTree(counts.n, parent, 1.0, 1.0)
    found = shape_trials._gains(tree, counts, pairs, ETA, seeded(counts))
    gains = {(gone, into): gain for gain, gone, into in found}
    joined = np.delete(q, 3, axis=1)
    joined[:, 1] += q[:, 3]
    expected = evidence(joined, np.array([-1, 0, 0, 1])) - evidence(q, parent)
    assert gains[3, 1] == pytest.approx(expected)
    above = np.delete(q, 1, axis=1)
    above[:, 2] += q[:, 1]
    expected = evidence(above, np.array([-1, 0, 0, 2])) - evidence(q, parent)
    assert gains[1, 3] == pytest.approx(expected)


def test_q_is_that_of_the_state() -> None:
    """As sweeps keep it, at own nodes alone, in pieces."""
    rng = np.random.default_rng(8)
    data, mixing = lay_out(corpus_of(rng.poisson(0.8, (20, 12))), 3), random_mixing(rng, 9)
    q = random_resp(rng, len(data.cells.word), 9).astype(np.float32)
    state = state_of(mixing, data, q, least=0.5)
    expected = resp_of(state, data)
    expected = expected / expected.sum(axis=1, keepdims=True)
    assert shape_trials.q_of(state) == pytest.approx(expected, abs=1e-6)
    assert (expected == 0).any()


def test_documents_are_completed_by_the_half_that_places_them() -> None:
    """Beside loops over documents and pairs."""
    rng = np.random.default_rng(9)
    data, mixing = lay_out(corpus_of(rng.poisson(0.8, (20, 12))), 1), random_mixing(rng, 9)
    state = state_of(mixing, data, random_resp(rng, len(data.cells.word), 9).astype(np.float32))
    held = lay_out(corpus_of(1 + rng.poisson(0.5, (6, 12))), 1)
    phi = state.n_wk.astype(float) + ETA
    phi /= phi.sum(axis=0)
    pairs, total, asked = pairs_of(held), 0.0, 0.0
    for doc in range(held.n_docs):
        own = np.flatnonzero(pairs.doc == doc)
        known, new = own[own % 2 == 0], own[own % 2 == 1]
        n = np.zeros(9)
        for _ in range(shape_trials.FOLDS):
            rows = [mixing.weights(n[None])[0] * phi[word] for word in pairs.word[known]]
            n = sum(
                (
                    tokens * row / row.sum()
                    for tokens, row in zip(pairs.tokens[known], rows, strict=True)
                ),
                np.zeros(9),
            )
        theta = mixing.weights(n[None])[0]
        total += sum(pairs.tokens[pair] * np.log(theta @ phi[pairs.word[pair]]) for pair in new)
        asked += pairs.tokens[new].sum()
    assert shape_trials.completion(state, held, ETA) == pytest.approx(total / asked)


@pytest.mark.parametrize(("worth", "stays"), [([2.0, 1.0], False), ([1.0, 1.0], True)])
def test_a_tree_that_predicts_no_better_is_left_as_it_is(
    worth: list[float], stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree after the trial is judged first, on documents of which neither has seen a word."""
    judged: list[int] = []

    def judge(state: State, held: Data, eta: float) -> float:
        judged.append(held.n_docs)
        return worth[len(judged) - 1]

    monkeypatch.setattr(shape_trials, "completion", judge)
    text = planted(0, PARENT)
    plain, tree = (fitted(text, 0, 1, truncation=30, trials=n) for n in (0, 2))
    assert judged == [40, 40]
    assert (tree.parent.tolist() == plain.parent.tolist()) == stays


@pytest.mark.slow
def test_a_planted_tree_is_found_by_trials_where_gaps_fail() -> None:
    text = planted(15, DEEP)
    gaps, tried = (found(text, fitted(text, 0, truncation=40, trials=n))[0] for n in (0, 12))
    assert gaps < 0.8 * (len(DEEP) - 1) and tried >= 0.95 * (len(DEEP) - 1)


def test_flat_topics_of_a_sample_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """They know the documents of the sample alone."""
    counts = np.random.default_rng(7).poisson(0.5, (60, 30))
    text = planted(0, [-1, 0, 0])._replace(corpus=corpus_of(counts))
    monkeypatch.setattr("hiertopics.families.nhdp.starts.ROOM", 12 * 100)
    plain, tree = (fitted(text, 0, truncation=12, trials=n) for n in (0, 12))
    assert tree.parent.tolist() == plain.parent.tolist()
    assert (tree.phi == plain.phi).all()


@pytest.mark.parametrize("n_docs", [1, 2, 60])
def test_words_at_random_get_no_deeper_tree(n_docs: int) -> None:
    counts = np.random.default_rng(7).poisson(0.5, (n_docs, 30))
    text = planted(0, [-1, 0, 0])._replace(corpus=corpus_of(counts))
    plain, tree = (fitted(text, 0, truncation=12, trials=n) for n in (0, 12))
    assert shape_of(tree.parent).depth.max() <= shape_of(plain.parent).depth.max()
