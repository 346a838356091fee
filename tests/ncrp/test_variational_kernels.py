"""Kernels of the variational tree against plain forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive_variational import dirichlet
from scipy.special import digamma
from stepping import corpus_of
from variational_cases import TREE

from hiertopics.families.ncrp.variational import bound, expectations, slot_kernels
from hiertopics.families.ncrp.variational.slot_simd import multiply_four
from hiertopics.families.ncrp.variational.state import lay_out
from hiertopics.families.nested.slots import nodes_of
from hiertopics.numeric.jit import kernel

Array = np.ndarray[Any, Any]


@kernel()
def compiled(prod: Array, rows: Array, numbers: Array) -> None:
    multiply_four(
        prod,
        *(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]),
        *(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_nodes", [1, 7, 16, 45])
def test_four_words_multiply_as_the_plain_form_does(n_nodes: int, dtype: type) -> None:
    rng = np.random.default_rng(n_nodes)
    rows: Array = rng.random((8, n_nodes)).astype(dtype)
    numbers: Array = rng.random(6).astype(dtype)
    found: Array = rng.random(n_nodes).astype(dtype)
    expected = found.copy()
    compiled(found, rows, numbers)
    multiply_four(expected, *rows, *numbers)
    assert found == pytest.approx(expected, rel=1e-6 if dtype is np.float32 else 1e-14)


@pytest.mark.parametrize("eta", [0.02, 0.1, 1.0])
def test_tables_in_single_precision_are_the_precise_ones(eta: float) -> None:
    rng = np.random.default_rng(0)
    lam = (eta + rng.gamma(0.02, 500.0, (300, len(TREE)))).astype(np.float32)
    lam[5] = 1e7
    nodes, mass, prior = nodes_of(np.array(TREE, np.int32), 3), np.zeros(len(TREE)), np.ones(3)
    fast = expectations.given_tables(lam, nodes, mass, eta, prior).e_table
    expected = np.exp(digamma(lam.astype(float)) - digamma(lam.sum(axis=0, dtype=float)))
    assert fast == pytest.approx(expected, rel=2e-5)
    assert np.median(np.abs(fast / expected - 1)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("rare", [1e-2, 1e-9, 1e-25])
def test_products_over_words_that_the_root_hardly_has_keep_their_digits(
    depth: int, rare: float
) -> None:
    """The root bounds a word's chance from below; the nearer to 0, the sooner exponents move."""
    rng = np.random.default_rng(1)
    parent = np.array([-1, 0, 0, *range(1, 2 * depth - 3)], dtype=np.int32)
    phi = rng.dirichlet(np.full(80, 0.05), len(parent)) + 1e-12
    phi[0] *= rare
    counts = rng.poisson(1.5, (1, 80))
    counts[0, 3] = 300
    nodes, cells = nodes_of(parent, depth), lay_out(corpus_of(counts), 1).cells
    exact = expectations.plug_in_tables(phi, nodes, np.zeros(len(parent)), np.ones(depth))
    table = exact.e_table.astype(np.float32)
    given = exact._replace(e_table=table, **expectations._by_slot(table, exact.slots)._asdict())
    e_theta = rng.dirichlet(np.ones(depth))
    scores = np.empty(len(parent))
    scratch = expectations.scratch_for(len(parent), np.float32)
    slot_kernels.slot_scores(cells, 0, e_theta.astype(np.float32), given, scratch, scores)
    chance = np.where(nodes.path >= 0, phi.T[:, nodes.path], 1 / 80)
    expected = counts[0] @ np.log(chance @ e_theta)
    assert scores == pytest.approx(expected, rel=1e-5)


def test_a_topic_s_share_of_the_bound_is_its_formula() -> None:
    rng = np.random.default_rng(2)
    lam = 0.3 + rng.gamma(0.1, 5.0, (40, 3)) * (rng.random((40, 3)) < 0.4)
    expected = [dirichlet(column, np.full(40, 0.3)) for column in lam.T]
    assert bound.topic_terms(lam, 0.3) == pytest.approx(expected, rel=1e-10)
