"""Singular vectors and non-negative factors that are the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.linalg import norm
from scipy import sparse
from sklearn.decomposition import NMF

from hiertopics.base.arrays import F64
from hiertopics.numeric import factor_kernels, factors


def matrix(n_rows: int = 60, n_columns: int = 45, seed: int = 0) -> sparse.csr_array:
    """Return a sparse matrix of five overlapping parts, and a little of all."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(5, 0.2), n_rows) @ rng.dirichlet(np.full(n_columns, 0.1), 5)
    return sparse.csr_array(rng.poisson(30 * rows).astype(float))


def test_singular_vectors_are_those_of_a_library() -> None:
    rows = matrix()
    found = factors.singular(rows, 6)
    left, values, right = np.linalg.svd(rows.toarray(), full_matrices=False)
    assert found.values == pytest.approx(values[:6], rel=1e-3)
    for number in range(4):
        assert abs(found.right[number] @ right[number]) == pytest.approx(1, abs=1e-4)
        assert abs(found.left[:, number] @ left[:, number]) == pytest.approx(1, abs=1e-4)
        size = np.abs(found.right[number])
        assert found.right[number][size.argmax()] > 0


def test_what_a_small_rank_leaves_is_nothing() -> None:
    rows = sparse.csr_array(np.outer(np.arange(1.0, 9), np.arange(1.0, 7)))
    found = factors.singular(rows, 4)
    assert found.values[0] == pytest.approx(norm(rows.toarray()))
    assert found.values[1:] == pytest.approx(0, abs=1e-6)
    for empty in (sparse.csr_array((5, 4)), sparse.csr_array((1, 3))):
        nothing = factors.singular(empty, 3)
        assert (nothing.values == 0).all() and np.isfinite(nothing.left).all()
        weights, parts = factors.non_negative(empty, nothing)
        assert (weights == 0).all() and (parts == 0).all()


def test_factors_are_as_good_as_a_librarys() -> None:
    """The same loss within 1%, the same words in front, and no negative number."""
    rows = matrix()
    weights, parts = factors.non_negative(rows, factors.singular(rows, 5))
    library = NMF(5, init="nndsvda", max_iter=2000, tol=1e-6)
    library.fit(rows.toarray())
    loss = norm(rows.toarray() - weights @ parts)
    assert loss < 1.01 * library.reconstruction_err_
    assert (weights >= 0).all() and (parts >= 0).all()
    its = library.components_ / norm(library.components_, axis=1, keepdims=True)
    assert (factors.unit(parts) @ its.T).max(axis=1) == pytest.approx(1, abs=0.05)


def test_a_pass_goes_downhill_to_where_no_entry_can_move() -> None:
    rng = np.random.default_rng(1)
    rows, parts = rng.random((7, 9)), rng.random((3, 9))
    weights = rng.random((7, 3))
    losses = []
    for _ in range(300):
        moved = factor_kernels.descend(weights, rows @ parts.T, parts @ parts.T)
        losses.append(norm(rows - weights @ parts))
    assert losses == sorted(losses, reverse=True) or np.diff(losses).max() < 1e-12
    assert moved < 1e-9
    slope = weights @ parts @ parts.T - rows @ parts.T
    assert np.abs(slope[weights > 0]).max() < 1e-8
    assert slope[weights == 0].min(initial=0) > -1e-8


@pytest.mark.parametrize("n_rows", [1, factor_kernels.BESIDE - 1, 2 * factor_kernels.BESIDE + 5])
def test_rows_that_move_side_by_side_move_as_they_would_alone(n_rows: int) -> None:
    """To the last bit; a part that is empty moves nothing."""
    rng = np.random.default_rng(n_rows)
    weights, parts = rng.random((n_rows, 5)), rng.random((5, 9))
    weights[rng.random(weights.shape) < 0.3] = parts[3] = 0.0
    against, inner = rng.random((n_rows, 9)) @ parts.T, parts @ parts.T
    expected, way = weights.copy(), 0.0
    for row, target in zip(expected, against, strict=True):
        for one in np.flatnonzero(inner.diagonal() > 0):
            slope = -target[one]
            for other in range(5):
                slope += row[other] * inner[other, one]
            before, row[one] = row[one], max(row[one] - slope / inner[one, one], 0.0)
            way += abs(row[one] - before)
    assert factor_kernels.descend(weights, against, inner) == way > 0
    np.testing.assert_array_equal(weights, expected)


def test_kernels_are_the_products_of_a_library() -> None:
    rng = np.random.default_rng(2)
    one, other = rng.random((6, 4)), rng.random((4, 5))
    assert factor_kernels.product(one, other) == pytest.approx(one @ other)
    assert factor_kernels.lengths(one) == pytest.approx(norm(one, axis=1))
    symmetric = one.T @ one
    diagonal = symmetric.copy()
    vectors = factor_kernels.eigenvectors(diagonal)
    assert vectors @ symmetric @ vectors.T == pytest.approx(np.diag(diagonal.diagonal()), abs=1e-9)
    assert np.sort(diagonal.diagonal()) == pytest.approx(np.linalg.eigvalsh(symmetric))


def test_lengths_are_summed_from_the_first_column_to_the_last() -> None:
    """To the last bit: the sum of numpy adds in another order."""
    rows = np.random.default_rng(5).standard_normal((4, 1000))
    expected = []
    for row in rows.tolist():
        total = 0.0
        for entry in row:
            total += entry * entry
        expected.append(np.sqrt(total))
    assert factor_kernels.lengths(rows).tolist() == expected
    assert factor_kernels.lengths(np.zeros((2, 0))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_rows", range(1, 10))
def test_inner_products_of_columns_are_summed_from_the_first_row_to_the_last(n_rows: int) -> None:
    """To the last bit, however many rows are added at a time."""
    rows = np.random.default_rng(n_rows).standard_normal((n_rows, 5))
    expected = np.zeros((5, 5))
    for row in rows:
        expected += row[:, None] * row
    np.testing.assert_array_equal(factor_kernels.gram(rows), expected)


@pytest.mark.parametrize("n_rows", range(1, 10))
def test_each_row_is_taken_out_of_later_ones_in_their_order(n_rows: int) -> None:
    """To the last bit, as Gram-Schmidt would that looks at one row after the other."""
    rows = np.random.default_rng(n_rows).standard_normal((n_rows, 12))
    expected = rows.copy()
    for _ in range(2):
        for one, row in enumerate(expected):
            for other in expected[:one]:
                row -= in_order(row, other) * other
            row *= 1.0 / np.sqrt(in_order(row, row))
    factor_kernels.orthonormalise(rows)
    np.testing.assert_array_equal(rows, expected)
    assert rows @ rows.T == pytest.approx(np.eye(n_rows))


def in_order(one: F64, other: F64) -> float:
    """Return the inner product, summed from the first entry to the last."""
    return float(np.cumsum(one * other)[-1])


def test_rows_that_others_span_become_nothing() -> None:
    rows = np.random.default_rng(3).random((3, 6))
    rows[2] = rows[0] - 2 * rows[1]
    factor_kernels.orthonormalise(rows)
    assert rows @ rows.T == pytest.approx(np.diag([1, 1, 0]), abs=1e-9)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_best_part_of_a_pair(power: int) -> None:
    """That of theta^power phi, theta by EM; of topics that suit it equally the first."""
    rng = np.random.default_rng(4)
    counts, phi = rng.poisson(1.0, (5, 6)), rng.dirichlet(np.ones(6), 3).T
    doc, word = np.nonzero(counts)
    starts = np.searchsorted(doc, np.arange(6))
    tokens = counts[doc, word].astype(float)
    found = factor_kernels.best_parts(starts, word.astype(np.int32), tokens, phi, 0.01, 20, power)
    theta = np.full((5, 3), 1 / 3)
    for _ in range(20):
        q = theta[doc] * phi[word]
        q *= (tokens / q.sum(axis=1))[:, None]
        n = np.array([q[doc == one].sum(axis=0) for one in range(5)]) + 0.01
        theta = n / n.sum(axis=1, keepdims=True)
    best = [(theta[doc] ** other * phi[word]).argmax(axis=1).tolist() for other in range(1, 4)]
    assert found.tolist() == best[power - 1]
    assert len({tuple(one) for one in best}) == 3
    even = factor_kernels.best_parts(
        starts, word.astype(np.int32), tokens, np.full((6, 3), 0.5), 0.01, 20, power
    )
    assert not even.any()


def test_tokens_of_topics_in_parts() -> None:
    """A pair's tokens go to topics by theta phi; a pair that no topic has goes to none."""
    rng = np.random.default_rng(5)
    counts, phi = rng.poisson(1.0, (5, 6)), rng.dirichlet(np.ones(6), 3).T
    phi[2] = 0.0
    theta = rng.dirichlet(np.ones(3), 5)
    doc, word = np.nonzero(counts)
    starts = np.searchsorted(doc, np.arange(6))
    tokens, part = counts[doc, word].astype(float), rng.integers(0, 2, len(doc))
    found = factor_kernels.tokens_in_parts(
        starts, word.astype(np.int32), tokens, part, theta, phi, 2
    )
    q = theta[doc] * phi[word]
    q *= (tokens / np.maximum(q.sum(axis=1), 1e-300))[:, None]
    assert found == pytest.approx(np.array([q[part == one].sum(axis=0) for one in (0, 1)]).T)
    assert found.sum() == pytest.approx(tokens[word != 2].sum())
