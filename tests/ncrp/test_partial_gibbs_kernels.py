"""What the partially collapsed sweep draws: topics, branch weights, paths, levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gibbs_cases import copy_of, random_chain, varied_corpus
from partial_cases import one_generator
from scipy import stats
from stepping import corpus_of, docs_of
from test_tree_gibbs_kernels import assert_counts_are_recounts

from hiertopics.base.arrays import I64
from hiertopics.families.ncrp.sampler import partial, partial_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Hyperparameters
from hiertopics.families.ncrp.sampler.partial_kernels import DrawMemory, PathTopics
from hiertopics.numeric.streams import random_bits

CORPUS = varied_corpus()
KEY = np.uint64(20_181_001)
N_DRAWS = 4_000


def table_of(n_paths: int, share: Any) -> DrawMemory:
    """Return memory for a document whose shares of levels are known."""
    return DrawMemory(
        np.empty(n_paths, np.float32),
        np.empty(n_paths),
        np.empty(n_paths, np.int64),
        np.empty(n_paths),
        np.array(share, dtype=float),
    )


def drawn_topics(depth: int, seed: int = 3) -> tuple[Any, Any, Hyperparameters, PathTopics, I64]:
    """Return a chain, topics drawn given it, and the order they belong to."""
    data, chain, prior = random_chain(CORPUS, depth, seed=seed, n_sweeps=5)
    place = np.random.default_rng(seed).permutation(data.n_docs)
    return data, chain, prior, partial.draw_topics(chain, prior, place, one_generator(seed)), place


def test_random_bits_are_those_of_splitmix64() -> None:
    """Reference values: the published generator from seed 0."""
    found = [int(random_bits(np.uint64(0), k)) for k in range(3)]
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("shape", [0.02, 0.1, 0.5, 0.97, 1.0, 2.5])
def test_absent_words_draw_gamma_variables(shape: float) -> None:
    """Kolmogorov and Smirnov's test, above the place where draws end."""
    mass = np.empty((300, 200), np.float32)
    n_wk, node = np.zeros((300, 200), np.int32), np.arange(200)
    rng = np.random.default_rng(5)
    total = partial_kernels.draw_masses(0, 300, n_wk, node, shape, KEY, mass, rng)
    np.testing.assert_allclose(total, mass.sum(axis=0), rtol=1e-5)
    end = math.exp(partial_kernels.SMALLEST)
    missing = stats.gamma.cdf(1.01 * end, shape)
    inside = mass[mass > 1.01 * end].astype(float)
    assert 1 - inside.size / mass.size == pytest.approx(missing, abs=0.006)
    found = stats.kstest(inside, lambda x: (stats.gamma.cdf(x, shape) - missing) / (1 - missing))
    assert found.pvalue > 1e-3


def test_draws_of_words_do_not_depend_on_each_other() -> None:
    """Neither of neighbours in a row nor of those in a column."""
    mass = np.empty((400, 300), np.float32)
    n_wk = np.zeros(mass.shape, np.int32)
    rng = np.random.default_rng(5)
    partial_kernels.draw_masses(0, 400, n_wk, np.arange(300), 0.5, KEY, mass, rng)
    rank = stats.rankdata(mass).reshape(mass.shape)
    for one, other in ((rank[:, 1:], rank[:, :-1]), (rank[1:], rank[:-1])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.012


def test_topics_are_draws_of_their_dirichlet_posteriors() -> None:
    """Means and variances of every word at every node of every path."""
    data, chain, prior = random_chain(CORPUS, 3, n_sweeps=5)
    place, shards = np.arange(data.n_docs), one_generator(1)
    draws = []
    for _ in range(N_DRAWS):
        topics = partial.draw_topics(chain, prior, place, shards)
        draws.append(np.concatenate([topics.root[:, None], topics.below[:, 0]], axis=1))
        last = topics.below[:, 1]
        np.testing.assert_allclose(last.sum(axis=0), 1.0, rtol=1e-5)
    found = np.array(draws)
    columns = np.concatenate([[0], topics.path[:, 1]])
    alpha = chain.n_wk[:, columns] + prior.eta
    total = alpha.sum(axis=0)
    mean = alpha / total
    variance = mean * (1 - mean) / (total + 1)
    error = np.sqrt(variance / N_DRAWS)
    assert abs((found.mean(axis=0) - mean) / error).max() < 4.5
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.35)
    assert found.var(axis=0).sum() == pytest.approx(variance.sum(), rel=0.03)


def test_branch_weights_are_draws_of_their_dirichlet_posteriors() -> None:
    """Means and variances; what is outside a node's branches has gamma."""
    _, chain, prior = random_chain(CORPUS, 3, n_sweeps=5)
    rng = np.random.default_rng(0)
    draws = [partial.draw_log_weights(chain, prior.gamma, rng) for _ in range(N_DRAWS)]
    below = np.flatnonzero(chain.visits > 0)[1:]
    found = np.exp(np.array(draws)[:, below])
    total = chain.visits[chain.parent[below]] + prior.gamma
    mean = chain.visits[below] / total
    variance = mean * (1 - mean) / (total + 1)
    assert abs((found.mean(axis=0) - mean) / np.sqrt(variance / N_DRAWS)).max() < 4.5
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.15)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_weights_of_paths_are_products_over_tokens(depth: int) -> None:
    """With branch weights; paths that came after the document are out."""
    data, chain, _, topics, place = drawn_topics(depth)
    share = np.random.default_rng(1).dirichlet(np.ones(depth))
    table = table_of(len(topics.path), share)
    n_closed = 0
    for doc, tokens in enumerate(docs_of(CORPUS)):
        partial_kernels.weigh_paths(doc, place[doc], data.words, topics, table)
        for k, path in enumerate(topics.path):
            docs = np.flatnonzero((chain.path == path).all(axis=1))
            if place[docs].min() >= place[doc]:
                assert table.weight[k] == -np.inf
                n_closed += 1
                continue
            expected = topics.log_weight[k]
            for word in tokens:
                chance = share[0] * topics.root[word]
                chance += share[1:] @ topics.below[word, :, k]
                expected += math.log(chance)
            assert table.weight[k] == pytest.approx(expected, rel=1e-5)
    assert 0 < n_closed < len(place) * len(topics.path)


def test_topics_of_a_path_are_those_of_its_nodes() -> None:
    """Paths through one node share its topic; log weights are sums over a path's nodes."""
    _, chain, _, topics, _ = drawn_topics(4)
    assert sorted(map(tuple, topics.path)) == sorted(set(map(tuple, chain.path)))
    shared = 0
    for one in range(len(topics.path)):
        for other in range(one):
            same = topics.path[one] == topics.path[other]
            equal = (topics.below[:, :, one] == topics.below[:, :, other]).all(axis=0)
            np.testing.assert_array_equal(equal, same[1:])
            shared += same[1:].sum()
    assert shared > 0


def test_chances_that_no_number_holds_are_weighed() -> None:
    """A thousand tokens of chances down to 1e-30: their product is far outside a float64."""
    corpus = corpus_of([[500, 500]])
    data, _, _ = random_chain(corpus, 2)
    below = np.array([[[1e-30, 0.3]], [[1e-20, 0.01]]], np.float32)
    topics = PathTopics(
        np.zeros((2, 2), np.int32),
        np.array([-1, -1]),
        np.zeros(2),
        np.array([1e-30, 1e-28], np.float32),
        below,
    )
    table = table_of(2, [0.5, 0.5])
    partial_kernels.weigh_paths(0, 0, data.words, topics, table)
    expected = 500 * np.log(0.5 * (topics.root[:, None].astype(float) + below[:, 0])).sum(axis=0)
    np.testing.assert_allclose(table.weight, expected, rtol=1e-6)


def test_levels_are_drawn_by_share_times_topic() -> None:
    data, chain, _, topics, _ = drawn_topics(3)
    share, rng = np.array([0.2, 0.5, 0.3]), np.random.default_rng(2)
    doc, chosen = 3, 1
    begin = int(CORPUS.doc_lengths[:doc].sum())
    tokens = docs_of(CORPUS)[doc]
    times = np.zeros((len(tokens), 3))
    for _ in range(N_DRAWS):
        partial_kernels.draw_levels(doc, chosen, data.words, chain, topics, share, rng)
        levels = chain.level[begin : begin + len(tokens)]
        times[np.arange(len(tokens)), levels] += 1
    for word in set(tokens):
        mass = share * [topics.root[word], *topics.below[word, :, chosen]]
        found = times[np.array(tokens) == word].mean(axis=0) / N_DRAWS
        np.testing.assert_allclose(found, mass / mass.sum(), atol=0.03)


@pytest.mark.slow
def test_shares_are_draws_of_their_dirichlet_posterior() -> None:
    prior, counts = np.array([0.5, 2.0, 1.0]), np.array([4, 0, 1], np.int32)
    share, rng = np.zeros(3), np.random.default_rng(3)
    draws = []
    for _ in range(N_DRAWS):
        partial_kernels.draw_shares(counts, prior, share, rng)
        draws.append(share.copy())
    expected = stats.dirichlet(prior + counts)
    np.testing.assert_allclose(np.mean(draws, axis=0), expected.mean(), atol=0.012)
    np.testing.assert_allclose(np.var(draws, axis=0), expected.var(), rtol=0.1)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_counts_are_recounts_after_partial_sweeps(depth: int) -> None:
    data, chain, prior = random_chain(CORPUS, depth, n_sweeps=0)
    shards = one_generator(2)
    for _ in range(30):
        chain = partial.sweep(data, chain, prior, shards)
        assert_counts_are_recounts(data, chain)


def test_first_documents_stay_and_others_take_earlier_paths() -> None:
    """And who moves leaves no path empty, whatever topics are drawn."""
    moved = 0
    for seed in range(40):
        data, chain, prior, topics, place = drawn_topics(3, seed)
        before = copy_of(chain)
        partial.redraw(
            data, chain, prior, topics, np.arange(data.n_docs), place, one_generator(seed)
        )
        for path in topics.path:
            old, new = (np.flatnonzero((c.path == path).all(axis=1)) for c in (before, chain))
            assert old[place[old].argmin()] == new[place[new].argmin()]
        moved += (chain.path != before.path).any(axis=1).sum()
    assert moved > 20


def test_redraw_equals_its_python_source(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[Any] = []
    for twin in (False, True):
        data, chain, prior, topics, place = drawn_topics(3)
        if twin:
            for name, value in vars(partial_kernels).copy().items():
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(partial_kernels, name, value.py_func)
        shards = one_generator(6)
        partial.redraw(data, chain, prior, topics, np.arange(data.n_docs), place, shards)
        results.append([chain.path, chain.level, shards.generator.bit_generator.state])
    for one, other in zip(*results, strict=True):
        np.testing.assert_equal(one, other)


def test_masses_equal_their_python_source(monkeypatch: pytest.MonkeyPatch) -> None:
    n_wk = np.random.default_rng(0).poisson(0.3, (30, 12)).astype(np.int32)
    results: list[Any] = []
    for twin in (False, True):
        if twin:
            for name, value in vars(partial_kernels).copy().items():
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(partial_kernels, name, value.py_func)
        mass, rng = np.zeros((30, 12), np.float32), np.random.default_rng(1)
        node = np.array([0, 3, 4, 11])
        with np.errstate(over="ignore"):
            total = partial_kernels.draw_masses(
                5, 30, n_wk, node, 0.4, KEY, mass[:, : len(node)], rng
            )
        results.append([mass, total])
    assert (results[0][0][5:, :4] > 0).all() and (results[0][0][:5] == 0).all()
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
