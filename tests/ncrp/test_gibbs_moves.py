"""Leaps and grafts: their chances, their Python source, and what they leave alone."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from gibbs_cases import copy_of, hyper_of, levels_of, paths_of, random_chain, varied_corpus
from naive_gibbs import log_joint, normalised
from stepping import docs_of
from test_tree_gibbs_kernels import assert_counts_are_recounts, python_twins

from hiertopics.families.ncrp.sampler import chains, move_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import (
    Chain,
    Hyperparameters,
    make_scratch,
    trace,
    vacate,
)
from hiertopics.families.ncrp.sampler.sweep_kernels import FACTORS

CORPUS = varied_corpus()


def branches(chain: Chain, level: int) -> list[list[int]]:
    """Return the documents of each node of a level."""
    nodes = sorted(set(chain.path[:, level].tolist()))
    return [np.flatnonzero(chain.path[:, level] == node).tolist() for node in nodes]


def chances_of_parents(
    data: Any, chain: Chain, prior: Hyperparameters, level: int, docs: Any
) -> Any:
    """Return what the kernels say of every path down to a branch's parent; -1: a new node."""
    moved = copy_of(chain)
    scratch = make_scratch(data.words, moved, prior, 8)
    block = np.zeros((data.n_words, level), np.int32)
    path = moved.path[docs[0], :level]
    move_kernels.gather(np.array(docs), data.words, moved, block)
    move_kernels.move_words(-1, path, block, moved)
    vacate(path, len(docs), moved, prior, scratch)
    move_kernels.score_block(level, moved, prior, scratch, block)
    move_kernels.weigh_parents(level, len(docs), moved, prior, scratch)
    scores = {}
    for node in np.flatnonzero(scratch.log_weight > -np.inf):
        trace(path, int(node), moved, scratch)
        above = np.where(moved.visits[path[1:]] > 0, path[1:], -1)
        scores[tuple(above.tolist())] = float(scratch.log_weight[node])
    return normalised(scores)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "level"), [(3, 2), (4, 2), (4, 3), (5, 3)])
def test_chances_of_parents_are_ratios_of_the_joint(depth: int, level: int) -> None:
    """Every branch under every parent, and under new nodes from each level down."""
    data, chain, prior = random_chain(CORPUS, depth, seed=depth)
    hyper = hyper_of(prior, data.n_words)
    levels = levels_of(CORPUS, chain.level)
    assert len(branches(chain, level)) > 2
    for docs in branches(chain, level):
        found = chances_of_parents(data, chain, prior, level, docs)
        scores = {}
        for above in found:
            new = tuple(-9 if node < 0 else node for node in above)
            paths = [
                (*new, *path[level - 1 :]) if doc in docs else path
                for doc, path in enumerate(paths_of(chain.path))
            ]
            scores[above] = log_joint(docs_of(CORPUS), paths, levels, hyper)
        others = [path for doc, path in enumerate(paths_of(chain.path)) if doc not in docs]
        parents = {path[: level - 1] for path in others}
        assert {above for above in found if -1 not in above} == parents
        expected = normalised(scores)
        for above, chance in expected.items():
            assert found[above] == pytest.approx(chance, rel=1e-8, abs=1e-12)


def test_a_graft_keeps_branches_levels_and_words() -> None:
    """Who shares a leaf stays together; only what is above the leaves changes."""
    data, chain, prior = random_chain(CORPUS, 4, n_sweeps=5)
    rng, changed = np.random.default_rng(0), 0
    for _ in range(20):
        before = copy_of(chain)
        chain = chains.graft(data, chain, prior, rng)
        assert branches(chain, 3) == branches(before, 3)
        np.testing.assert_array_equal(chain.level, before.level)
        assert_counts_are_recounts(data, chain)
        changed += (chain.path != before.path).any()
        chain = chains.sweep(data, chain, prior, rng)
    assert changed > 3


def test_leaps_move_documents_and_keep_counts() -> None:
    data, chain, prior = random_chain(CORPUS, 4, n_sweeps=5)
    rng, moved = np.random.default_rng(0), 0
    for _ in range(30):
        before = copy_of(chain)
        chain = chains.leap(data, chain, prior, rng)
        assert_counts_are_recounts(data, chain)
        moved += (chain.path != before.path).any()
    assert moved > 10


@pytest.mark.parametrize("move", ["leap", "graft"])
def test_moves_equal_their_python_source(move: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for twin in (False, True):
        data, chain, prior = random_chain(CORPUS, n_sweeps=2)
        if twin:
            python_twins(monkeypatch)
            for name, value in vars(move_kernels).copy().items():
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(move_kernels, name, value.py_func)
        rng = np.random.default_rng(6)
        for _ in range(3):
            if move == "leap":
                move_kernels.leap_all(data.words, chain, prior, 0, rng)
            else:
                order = np.argsort(chain.path[:, 2], kind="stable")
                move_kernels.graft_level(data.words, chain, prior, 2, order, 0, rng)
        results.append([*chain, rng.bit_generator.state])
    for one, other in zip(*results, strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("doc", [0, 3, 7])
def test_scores_of_slots_are_products_of_mixtures(doc: int) -> None:
    """S of the module's docstring, slot by slot, the levels outside the tree flat."""
    data, chain, prior = random_chain(CORPUS, n_sweeps=3)
    scratch = make_scratch(data.words, chain, prior, FACTORS)
    move_kernels.take_off(doc, data.words, chain)
    vacate(chain.path[doc], 1, chain, prior, scratch)
    move_kernels.score_slots(doc, data.words, chain, prior, scratch)
    n_words, eta = data.n_words, prior.eta
    share = [
        prior.level[level] + chain.n_k[chain.first[level] : chain.first[level + 1]].sum()
        for level in range(3)
    ]
    share = np.array(share) / sum(share)
    for level in range(3):
        for column in range(chain.first[level], scratch.used[level]):
            if chain.visits[column] == 0:
                continue
            path, node = [], column
            for _ in range(level + 1):
                path.append(node)
                node = chain.parent[node]
            path.reverse()
            expected = 0.0
            for word in docs_of(CORPUS)[doc]:
                chance = share[level + 1 :].sum() / n_words
                for above, node in enumerate(path):
                    topic = (chain.n_wk[word, node] + eta) / (chain.n_k[node] + n_words * eta)
                    chance += share[above] * topic
                expected += math.log(chance)
            assert scratch.score[column] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_w_is_an_unbiased_estimate_of_the_chance_of_the_words() -> None:
    """Over draws of levels one by one, the mean of W is p(words | path), levels summed out."""
    data, chain, prior = random_chain(CORPUS, n_sweeps=3)
    doc = 5
    begin = int(CORPUS.doc_lengths[:doc].sum())
    end = begin + int(CORPUS.doc_lengths[doc])
    docs, paths = docs_of(CORPUS), paths_of(chain.path)
    hyper = hyper_of(prior, data.n_words)
    short = [[] if d == doc else words for d, words in enumerate(docs)]
    move_kernels.take_off(doc, data.words, chain)
    without = copy_of(chain)
    total = 0.0
    length = 4
    for levels in itertools.product(range(3), repeat=length):
        rows = levels_of(CORPUS, chain.level)
        rows[doc] = list(levels)
        short[doc] = docs[doc][:length]
        total += math.exp(log_joint(short, paths, rows, hyper))
    rows[doc] = []
    short[doc] = []
    evidence = total / math.exp(log_joint(short, paths, rows, hyper))
    found, rng = [], np.random.default_rng(0)
    cut = data.words._replace(token_ptr=np.minimum(data.words.token_ptr, begin + length))
    assert end - begin > length
    for _ in range(4000):
        fresh = copy_of(without)
        found.append(math.exp(move_kernels.put_on(doc, cut, fresh, prior, True, rng)))
    assert np.mean(found) == pytest.approx(evidence, rel=0.02)
