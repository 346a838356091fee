"""The loops of the sampler: their Python source, conserved counts, columns that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gibbs_cases import blank, copy_of, hyper_of, levels_of, paths_of, random_chain, varied_corpus
from naive_gibbs import log_joint
from numpy.typing import NDArray
from scipy.special import gammaln
from stepping import docs_of

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import (
    chain_kernels,
    chains,
    infer_kernels as gibbs_infer_kernels,
    sweep_kernels,
)
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters

CORPUS = varied_corpus()


def assert_counts_are_recounts(data: Data, chain: Chain) -> None:
    """Assert that every table of a chain follows from its paths and levels."""
    slot = chain.path - chain.first[:-1].astype(np.int32)
    again = chains.moved(chains.recounted(data, slot, chain.level), chain.first)
    used = again.visits > 0
    for name in ("path", "level", "n_dl", "n_wk", "n_k", "visits"):
        np.testing.assert_array_equal(getattr(chain, name), getattr(again, name), name)
    np.testing.assert_array_equal(chain.parent[used], again.parent[used])
    assert chain.n_wk.min() >= 0


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_counts_are_recounts_after_every_sweep(depth: int) -> None:
    data, chain, prior = random_chain(CORPUS, depth, n_sweeps=0)
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert_counts_are_recounts(data, chain)
        chain = chains.sweep(data, chain, prior, rng)


def test_a_column_has_one_parent_and_a_level_of_its_own() -> None:
    data, chain, prior = random_chain(CORPUS, 4, n_sweeps=10)
    level = np.repeat(np.arange(4), np.diff(chain.first))
    assert (level[chain.path] == np.arange(4)).all()
    for path in chain.path:
        assert chain.parent[path[1:]].tolist() == path[:-1].tolist()
    assert (chain.path[:, 0] == 0).all()


def test_levels_get_wider_when_columns_run_out_and_nothing_else_changes() -> None:
    """With a huge gamma every document opens branches, far more than the first columns hold."""
    corpus = varied_corpus(n_docs=90)
    prior = Hyperparameters(np.ones(3), 1e4, 0.4)
    data, chain, _ = random_chain(corpus, prior=prior)
    assert (np.diff(chain.first)[1:] > chains.LINE).all()
    assert_counts_are_recounts(data, chain)


def test_widening_keeps_the_log_joint_and_the_tree() -> None:
    data, chain, prior = random_chain(CORPUS)
    wider = chains.moved(chain, chain.first + np.array([0, 0, 16, 48]))
    assert_counts_are_recounts(data, wider)
    assert chain_kernels.log_joint(wider, prior) == pytest.approx(
        chain_kernels.log_joint(chain, prior), rel=1e-13
    )


def test_a_full_level_stops_the_sweep_before_it_breaks_anything() -> None:
    data, chain, prior = random_chain(CORPUS, prior=Hyperparameters(np.ones(3), 1e4, 0.4))
    slot = chain.path - chain.first[:-1].astype(np.int32)
    n_leaves = int(slot[:, 2].max()) + 1
    narrow = Chain(
        chain.path,
        chain.level,
        chain.n_dl,
        np.ascontiguousarray(chain.n_wk[:, : chain.first[2] + n_leaves]),
        chain.n_k[: chain.first[2] + n_leaves],
        chain.parent[: chain.first[2] + n_leaves],
        chain.visits[: chain.first[2] + n_leaves],
        np.append(chain.first[:3], chain.first[2] + n_leaves),
    )
    assert (narrow.visits[narrow.first[2] :] > 0).all()
    order, rng = np.arange(data.n_docs), np.random.default_rng(0)
    before = copy_of(narrow)
    assert sweep_kernels.sweep(data.words, narrow, prior, order, 0, False, rng) == 0
    for one, other in zip(narrow, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_what_a_sweep_keeps_at_hand_is_what_it_would_find_afresh() -> None:
    """Logarithms, last used and first free columns, document by document from an empty tree."""
    data, other, prior = random_chain(CORPUS, n_sweeps=0)
    chain = blank(other)
    chain.level[:] = -1
    rng = np.random.default_rng(3)
    kept = chain_kernels.make_scratch(data.words, chain, prior, sweep_kernels.FACTORS)

    def assert_kept() -> None:
        fresh = chain_kernels.make_scratch(data.words, chain, prior, sweep_kernels.FACTORS)
        for name in ("log_docs", "log_room", "used"):
            np.testing.assert_array_equal(getattr(kept, name), getattr(fresh, name), name)
        np.testing.assert_array_equal(kept.free[1:], fresh.free[1:])
        np.testing.assert_allclose(kept.log_total[1:], fresh.log_total[1:], rtol=1e-13)

    def seat(doc: int) -> None:
        sweep_kernels.weigh_paths(chain, prior, kept)
        node = sweep_kernels.draw_node(chain, kept, rng)
        sweep_kernels.seat(doc, node, chain, prior, kept)

    for doc in [*range(data.n_docs), *range(data.n_docs)]:
        if chain.visits[0] < data.n_docs:
            kept.score[:] = 0.0
            kept.new_score[:] = 0.0
            seat(doc)
            sweep_kernels.draw_levels(doc, data.words, chain, prior, rng)
        sweep_kernels.lift(doc, data.words, chain, prior, kept)
        assert_kept()
        sweep_kernels.score_nodes(doc, data.words, chain, prior, kept)
        seat(doc)
        sweep_kernels.lower(doc, data.words, chain, kept)
        sweep_kernels.draw_levels(doc, data.words, chain, prior, rng)
        chain_kernels.note_totals(doc, chain, prior, kept)
        assert_kept()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_sweep_carries_nothing_from_document_to_document(fresh: bool) -> None:
    """In one go it draws what sweeps of one document each draw, which work all logarithms out."""
    ends = []
    for at_once in (True, False):
        data, chain, prior = random_chain(CORPUS, 4, seed=2)
        if fresh:
            chain = blank(chain)
            chain.level[:] = -1
        rng = np.random.default_rng(7)
        for turn in range(1 if fresh else 10):
            order = np.random.default_rng(turn).permutation(data.n_docs)
            for some in [order] if at_once else order[:, None]:
                assert sweep_kernels.sweep(data.words, chain, prior, some, 0, fresh, rng) == len(
                    some
                )
        ends.append([*chain, rng.bit_generator.state])
    for one, other in zip(*ends, strict=True):
        np.testing.assert_equal(one, other)


def test_the_first_documents_may_branch_off_at_the_root() -> None:
    """With a huge gamma every document of the sequential start opens a branch of its own."""
    _, chain, _ = random_chain(CORPUS, n_sweeps=0, prior=Hyperparameters(np.ones(3), 1e9, 0.4))
    assert len(set(chain.path[:, 1].tolist())) == CORPUS.n_docs


def python_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the loops call each other's Python source."""
    modules = (chain_kernels, sweep_kernels, gibbs_infer_kernels)
    for module in modules:
        for name, value in vars(module).copy().items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


@pytest.mark.parametrize("fresh", [False, True])
def test_sweep_equals_its_python_source(fresh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal paths, levels and counts, and the generator in the same state afterwards."""
    results: list[Any] = []
    for twin in (False, True):
        data, chain, prior = random_chain(CORPUS, n_sweeps=2)
        if fresh:
            chain = blank(chain)
            chain.level[:] = -1
        if twin:
            python_twins(monkeypatch)
        rng = np.random.default_rng(6)
        order = np.array([4, 0, 8, 3, 2, 1, 5, 7, 6])
        done = sweep_kernels.sweep(data.words, chain, prior, order, 0, fresh, rng)
        results.append([done, *chain, rng.bit_generator.state])
    for one, other in zip(*results, strict=True):
        np.testing.assert_equal(one, other)


def test_inference_equals_its_python_source(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    topics = gibbs_infer_kernels.FittedTree(
        phi=np.ascontiguousarray(rng.dirichlet(np.ones(7), 5).T),
        parent=np.array([-1, 0, 1, 0, 3], dtype=np.int32),
        depth=np.array([0, 1, 2, 1, 2], dtype=np.int32),
        log_mass=np.log(rng.dirichlet(np.ones(5))),
        level_prior=np.array([1.0, 2.0, 0.5]),
    )
    words, counts = np.array([0, 2, 5], dtype=np.int32), np.array([3, 40, 1], dtype=np.int32)
    results: list[Any] = []
    for twin in (False, True):
        if twin:
            python_twins(monkeypatch)
        rng = np.random.default_rng(6)
        found = gibbs_infer_kernels.sample_document(words, counts, topics, 2, 3, rng)
        results.append([found, rng.bit_generator.state])
    assert np.isfinite(results[0][0]).all()
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize("x", [1e-9, 1e-3, 0.5, 1.0, 2.0, 7.3, 19.0, 1e3, 1e6, 1e9])
def test_log_gamma_is_that_of_scipy(x: float) -> None:
    assert chain_kernels.log_gamma(x) == pytest.approx(gammaln(x), rel=1e-13, abs=1e-11)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_log_joint_is_the_joint_token_by_token(depth: int) -> None:
    """theory/ncrp 5, score; counts beyond the table of log gammas too."""
    corpus = varied_corpus(seed=9)
    corpus.counts.data[corpus.counts.data > 30] += 2 * chain_kernels.TABLE
    data, chain, prior = random_chain(corpus, depth)
    expected = log_joint(
        docs_of(corpus),
        paths_of(chain.path),
        levels_of(corpus, chain.level),
        hyper_of(prior, data.n_words),
    )
    assert chain.n_wk.max() > chain_kernels.TABLE
    assert chain_kernels.log_joint(chain, prior) == pytest.approx(expected, rel=1e-11)


def test_counts_of_counts_are_those_of_numpy() -> None:
    _, chain, _ = random_chain(CORPUS)
    positive: NDArray[Any] = chain.n_wk[chain.n_wk > 0]
    expected = np.bincount(positive)
    np.testing.assert_array_equal(chain_kernels.count_counts(chain.n_wk), expected)
