"""The sweep of nhdp-gibbs by lists of nodes: its sums, and its twin that counts everything anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive_nhdp import T5, families, sweep_by_lists
from nhdp_cases import mixing_of, naive_of, random_mixing
from stepping import at, corpus_of, docs_of

from hiertopics.base.arrays import I32
from hiertopics.families.flat.layout import Data, lay_out
from hiertopics.families.flat.token_kernels import TokenTopics, count_tokens
from hiertopics.families.nhdp import gibbs, list_kernels, sampler_kernels
from hiertopics.families.nhdp.gibbs_kernels import NodeParameters
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing


def prior_of(mixing: Mixing, eta: float, n_words: int) -> NodeParameters:
    shape, words = mixing.shape, (eta, eta * n_words)
    return NodeParameters(shape.parent, shape.first, shape.inner, mixing.mass, *mixing[2:], *words)


def counts_of(data: Data, z: I32, n_nodes: int) -> tuple[Any, Any, Any]:
    """Return n_dk, n_wk and n_k of these nodes."""
    n_dk = np.zeros((data.n_docs, n_nodes), np.int32)
    n_wk = np.zeros((data.n_words, n_nodes), np.int32)
    count_tokens(data.cells, z, n_dk, n_wk)
    return n_dk, n_wk, n_dk.sum(axis=0, dtype=np.int64)


@pytest.mark.parametrize("eta", [0.02, 2.0])
@pytest.mark.parametrize(("seed", "n_nodes"), [(0, 5), (1, 9), (2, 40), (3, 40), (4, 120)])
def test_a_sweep_draws_what_its_plain_twin_draws(seed: int, n_nodes: int, eta: float) -> None:
    """5.1: 40 nodes need more than one vector; with a large eta many draws are among all nodes."""
    rng = np.random.default_rng(seed)
    mixing = mixing_of(T5) if n_nodes == 5 else random_mixing(rng, n_nodes)
    corpus = corpus_of(rng.poisson(1.2, (6, 5)) + np.eye(6, 5, dtype=int))
    data = lay_out(corpus, 1, np.float64, tokens=True)
    first = rng.integers(0, n_nodes, corpus.n_tokens).astype(np.int32)
    n_dk, n_wk, n_k = counts_of(data, first, n_nodes)
    tables = TokenTopics(first.copy(), n_dk, n_wk, n_k)
    cuts = np.cumsum(corpus.doc_lengths)[:-1]
    z = [part.tolist() for part in np.split(first, cuts)]
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    prior, tree = prior_of(mixing, eta, corpus.n_words), naive_of(mixing)
    for _ in range(3):
        sampler_kernels.sweep_block_by_lists(data.cells, 0, 0, tables, prior, ours)
        sweep_by_lists(tree, docs_of(corpus), z, eta, corpus.n_words, same)
        assert [part.tolist() for part in np.split(tables.z, cuts)] == z
    for found, right in zip(tables[1:], counts_of(data, tables.z, n_nodes), strict=True):
        assert (found == right).all()


def test_families_below_a_node_stand_behind_its_own() -> None:
    rng = np.random.default_rng(5)
    for n_nodes in (1, 2, 9, 40):
        mixing = random_mixing(rng, n_nodes) if n_nodes > 2 else None
        shape = shape_of(np.arange(-1, n_nodes - 1)) if mixing is None else mixing.shape
        tree = naive_of(mixing or Mixing(shape, *np.ones((4, n_nodes))))
        found = list_kernels.families_of(shape.parent, shape.first)
        right = families(tree)
        spans = zip(found.begin, found.end, strict=True)
        assert [list(range(begin, end)) for begin, end in spans] == right
        for number, family in enumerate(right):
            assert (found.member[family] == number).all()
        for node in range(n_nodes):
            below = [
                f for f, family in enumerate(right) if tree.parent[family[-1]] in tree.subtree(node)
            ]
            if node > 0:
                assert list(range(*found.links[node, list_kernels.OWN :])) == below


def test_a_tree_of_the_root_alone_keeps_all_tokens() -> None:
    data = lay_out(corpus_of([[2, 1], [1, 0]]), 1, np.float64, tokens=True)
    alone = Mixing(shape_of(np.array([-1])), *(np.array([x]) for x in (1.0, 0.0, 1.0, 0.0)))
    state = gibbs.with_nodes(np.zeros(4, np.int32), alone, 0.1, data, at(0))
    assert gibbs.sweep(state, data, at(1)) == 0
    assert state.n_wk.tolist() == [[3], [1]]


def test_nodes_whose_shares_have_vanished_take_no_token() -> None:
    """A child's share of 1e-100 is 0 in float32."""
    data = lay_out(corpus_of([[9, 9, 9]]), 1, np.float64, tokens=True)
    mixing = mixing_of(T5)
    mixing.share[1], mixing.share[2] = 1e-100, 1.0
    state = gibbs.with_nodes(np.full(27, 2, np.int32), mixing, 0.5, data, at(0))
    for iteration in range(50):
        gibbs.sweep(state, data, at(iteration + 1))
        assert not state.n_k[[1, 3, 4]].any()
        assert state.n_k.sum() == 27
