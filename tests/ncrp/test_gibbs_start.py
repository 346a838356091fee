"""The variational start from a short Gibbs run (theory/ncrp 4, initialisation 2; T12)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from stepping import at
from variational_cases import (
    MODES,
    adjusted_rand,
    best_leaves,
    bound,
    family,
    fitted,
    planted,
    settings_of,
    varied,
)

from hiertopics.contract.model import Settings
from hiertopics.families.flat import token_layout
from hiertopics.families.ncrp import clustering
from hiertopics.families.ncrp.sampler import chain_kernels, chains
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.variational import backend as variational, starts
from hiertopics.families.ncrp.variational.state import Data, State

CORPUS, _, _ = planted(0, 60)
FLAT = {"start": "gibbs", "eta": 0.1, "level_prior": [5.0, 5.0, 5.0]}


start_of = variational.backend.init


def prepared(**keys: object) -> tuple[Data, Settings]:
    settings = settings_of(**{**FLAT, **keys})
    return variational.prepare(CORPUS, settings), settings


def best_draw(data: Data, settings: Settings) -> Chain:
    """Return the draw that the start "gibbs" takes."""
    words, prior = token_layout.lay_out(CORPUS), Hyperparameters(np.full(3, 5.0), 1.0, 0.1)
    chain = chains.sequential(words, prior, at(0).rng("start"))
    return starts.most_probable(chain, data, settings, at(0))


def counts_of(chain: Chain) -> dict[tuple[int, int], np.ndarray]:
    """Return n_iw of each occupied node, by level and column, counted token by token."""
    counts: dict[tuple[int, int], np.ndarray] = {}
    rows = CORPUS.counts.toarray()
    tokens = [(doc, word) for doc, row in enumerate(rows) for word in np.repeat(range(60), row)]
    for nodes in chain.path:
        for level, node in enumerate(nodes):
            counts.setdefault((level, int(node)), np.zeros(60))
    for (doc, word), level in zip(tokens, chain.level, strict=True):
        counts[int(level), int(chain.path[doc, level])][word] += 1
    return counts


@pytest.mark.parametrize("mode", MODES)
def test_topics_are_the_gibbs_counts_up_to_the_smoothing(mode: str) -> None:
    """T12: each token adds count / (count + 1) of itself where it is, the rest by the prior."""
    data, settings = prepared(mode=mode, start_sweeps=5)
    chain = best_draw(data, settings)
    state: Any = family(settings).init(data, settings, at(0))
    counts = counts_of(chain)
    assert state.n_nodes == len(counts)
    branch = chain.path[:, 1:]
    path = starts._tree_of(branch)[1]
    n_dw = CORPUS.counts.toarray()
    for level in range(3):
        for node in np.unique(path[:, level]):
            docs = np.flatnonzero(path[:, level] == node)
            column = int(chain.path[docs[0], level])
            assert (chain.path[docs, level] == column).all()
            # What smoothing may move: of a word that a document has n times, n / (n + 1) tokens.
            slack = (n_dw[docs] / (n_dw[docs] + 1)).sum(axis=0)
            gap = state.lam[:, node] - state.eta - counts[level, column]
            assert (np.abs(gap) <= slack + 0.01 * n_dw.sum(axis=0) + 1e-4).all()
    assert (state.lam - state.eta).sum() == pytest.approx(CORPUS.n_tokens, rel=3e-3)
    assert state.tau.sum(axis=1) == pytest.approx(15.0 + data.doc_lengths)
    if mode == "meanfield":
        own = state.chances[np.arange(60), path[:, -1]]
        assert own == pytest.approx(1 - starts.UNSURE)
        assert state.chances.sum(axis=1) == pytest.approx(1)


def test_the_best_of_the_draws_is_taken() -> None:
    """More sweeps never make it worse, and its log joint is what its paths and levels give."""
    data, settings = prepared()
    prior, found = Hyperparameters(np.full(3, 5.0), 1.0, 0.1), []
    words = token_layout.lay_out(CORPUS)
    for sweeps in (0, 1, 2, 5, 12):
        _, settings = prepared(start_sweeps=sweeps)
        chain = best_draw(data, settings)
        slot = chain.path - chain.first[:-1].astype(np.int32)
        again = chains.recounted(words, slot, chain.level)
        found.append(chain_kernels.log_joint(again, prior))
    assert found == sorted(found) and found[-1] > found[0] + 100


def test_documents_start_on_their_gibbs_paths_and_a_fit_improves_on_that() -> None:
    data, settings = prepared(start_sweeps=40, moves="none")
    start = start_of(data, settings, at(0))
    chain = best_draw(data, settings)
    assert adjusted_rand(best_leaves(start, data), chain.path[:, -1] - chain.first[2]) > 0.9
    state, _ = fitted(CORPUS, settings, 0, 8)
    _, short = prepared(start_sweeps=0)
    assert bound(state, data) > bound(start, data) > bound(start_of(data, short, at(0)), data)


def test_the_start_derives_from_the_seed() -> None:
    data, settings = prepared(start_sweeps=2)
    first, again, other = (start_of(data, settings, at(0, seed=seed)) for seed in (0, 0, 1))
    assert first.lam.tobytes() == again.lam.tobytes()
    assert first.lam.shape != other.lam.shape or not np.array_equal(first.lam, other.lam)


def test_sweeps_improve_on_clusters_of_documents() -> None:
    data, plain = prepared(start="clusters", start_sweeps=0, moves="none")
    _, refined = prepared(start="clusters", start_sweeps=20, moves="none")
    branch = starts.cluster_branches(data, plain, at(0))
    found = start_of(data, plain, at(0))
    tree = starts.from_paths(branch, data, plain)
    assert np.array_equal(found.lam, starts.state_of(State, tree, data, plain, at(0)).lam)
    ends = [bound(*fitted(CORPUS, settings, 0, 8)) for settings in (plain, refined)]
    assert ends[1] > ends[0] + 50


def test_a_chain_of_clusters_has_their_paths_and_levels_of_the_prior() -> None:
    data, settings = prepared(start="clusters", level_prior=[6.0, 3.0, 1.0])
    branch = starts.cluster_branches(data, settings, at(0))
    prior = Hyperparameters(np.array([6.0, 3.0, 1.0]), 1.0, 0.1)
    chain = chains.on_branches(token_layout.lay_out(CORPUS), branch, prior, at(0).rng("levels"))
    for column in (0, 1):
        names = np.unique(branch[:, column], return_inverse=True)[1]
        assert np.array_equal(names, chain.path[:, column + 1] - chain.first[column + 1])
    shares = np.bincount(chain.level, minlength=3) / len(chain.level)
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.03)  # 3,600 tokens: sd below 0.009


def test_of_a_large_corpus_a_part_is_clustered_and_the_others_join_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a planted tree is found by suffers little."""
    corpus, path, _ = planted(0, 300)
    words = token_layout.lay_out(corpus).words
    doc_pairs, seen = np.diff(words.pair_ptr), []

    def counts(docs: np.ndarray) -> Any:
        seen.append(docs)
        return token_layout.counts_of(token_layout.words_of(words, docs), corpus.n_words)

    def found(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return clustering.branches_of(counts, doc_pairs, 3, 12, rng)

    whole = found(0)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(whole, clustering.nested_clusters(corpus.counts, 3, 12, rng))
    monkeypatch.setattr(clustering, "MOST_PAIRS", int(doc_pairs.sum()) // 3)
    monkeypatch.setattr(clustering, "CELLS", 500)
    seen.clear()
    branch = found(0)
    assert doc_pairs[seen[0]].sum() <= clustering.MOST_PAIRS and len(seen) > 5
    np.testing.assert_array_equal(np.concatenate(seen[1:]), np.arange(300))
    assert len(np.unique(branch[:, 1])) == len(np.unique(branch, axis=0))
    scores = [adjusted_rand(path[:, 1], own[:, 1]) for own in (whole, branch)]
    assert scores[1] > scores[0] - 0.1, scores


@pytest.mark.parametrize("depth", [2, 5])
def test_any_depth_and_empty_documents_go(depth: int) -> None:
    corpus = varied()
    state, data = fitted(corpus, settings_of(start="gibbs", start_sweeps=3, depth=depth), 0, 3)
    assert state.nodes.depth == depth and np.isfinite(state.lam).all()
    tokens = (state.lam - state.lam.dtype.type(state.eta)).sum() + state.n_outside
    assert tokens == pytest.approx(corpus.n_tokens, rel=1e-3)


def test_the_smallest_leaves_fold_into_the_nearest_large_one() -> None:
    path = np.array([[0, 1, 4]] * 5 + [[0, 1, 5]] + [[0, 2, 6]] * 3 + [[0, 3, 7]] * 2)
    assert (starts.folded(path, 8) == path).all()
    small = starts.folded(path, 7)  # leaf 5 goes to its sibling
    assert (
        small[5].tolist() == [0, 1, 4] and (np.delete(small, 5, 0) == np.delete(path, 5, 0)).all()
    )
    smaller = starts.folded(path, 5)
    assert np.unique(smaller[:, -1]).tolist() == [4, 6]
    assert smaller[-1].tolist() == [0, 1, 4]  # nothing but the root in common: the largest
    assert (starts.folded(path, 1) == [0, 1, 4]).all()


def test_max_nodes_bounds_the_start() -> None:
    data, settings = prepared(start_sweeps=1)
    free = start_of(data, settings, at(0)).n_nodes
    _, settings = prepared(start_sweeps=1, max_nodes=free - 3)
    assert start_of(data, settings, at(0)).n_nodes <= free - 3


@pytest.mark.parametrize("start", ["clusters", "gibbs"])
def test_a_start_reports_each_of_its_sweeps(start: str) -> None:
    data, settings = prepared(start=start, start_sweeps=3)
    reported: list[tuple[int, int]] = []
    watched = replace(at(0), report=lambda done, total: reported.append((done, total)))
    start_of(data, settings, watched)
    assert reported == [(1, 3), (2, 3), (3, 3)]
