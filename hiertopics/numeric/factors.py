"""Factorisations of sparse matrices that are the same on every machine.

Singular vectors by a block of power iterations, and non-negative factors by coordinate descent
from them. Nothing is drawn but signs, which are whole numbers, and every sum has one order
(``factor_kernels``), so that no bit depends on a processor or on a linear algebra library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.numeric import factor_kernels as kernels

FURTHER, POWERS = 10, 4
"""Vectors beside those that are wanted, and power iterations: N. Halko, P. Martinsson, J. Tropp:
Finding structure with randomness, SIAM Review 53, 2011, algorithm 4.4."""

PASSES, TOLERANCE = 200, 1e-4
"""Most passes of coordinate descent, and the change, relative to the first pass, that ends it."""

NONE = 1e-6
"""Entries of the first factors below it begin at the mean of the matrix."""

GRID = 2.0**24
"""Logarithms are rounded to 1 / GRID: libraries differ in the last bit of some."""

COLUMNS_AT_ONCE = 256
"""Columns of rows whose inner products are made at a time."""


class SingularVectors(NamedTuple):
    """left: float64 [n, k], values: [k], falling, right: [k, m]; X is near (left * values) @ right.

    Of each right vector the largest entry, the first of nearly equal ones, is positive. Where X
    has a smaller rank the last values, and their left vectors, are 0.
    """

    left: F64
    values: F64
    right: F64


def logarithms(numbers: F64) -> F64:
    """Return natural logarithms of positive numbers, float64 of any shape, rounded to the grid."""
    return np.asarray(np.rint(np.log(numbers) * GRID) / GRID)


def inner_products(rows: F64) -> F64:
    """Return rows @ rows.T, [n, n], with the bits of ``factor_kernels.product``.

    Some columns of the rows [n, m] are turned at a time: a copy of them all may be large.
    """
    found = np.zeros((len(rows), len(rows)))
    for first in range(0, rows.shape[1], COLUMNS_AT_ONCE):
        some = np.ascontiguousarray(rows[:, first : first + COLUMNS_AT_ONCE])
        kernels.add_product(some, _columns(some), found)
    return found


def unit(rows: F64) -> F64:
    """Return rows [n, m] scaled to length 1, float64; a row of zeros stays."""
    return np.asarray(rows / np.maximum(kernels.lengths(rows), 1e-300)[:, None])


def singular(matrix: sparse.csr_array, n_vectors: int, powers: int = POWERS) -> SingularVectors:
    """Return the largest singular values of X [n, m] and their vectors, at most min(n, m).

    powers: power iterations.
    """
    n_vectors = min(n_vectors, *matrix.shape)
    block = min(n_vectors + FURTHER, *matrix.shape)
    turned = sparse.csr_array(matrix.T)
    signs = np.random.Generator(np.random.PCG64(0)).integers(0, 2, (block, matrix.shape[1]))
    basis: F64 = 2.0 * signs.astype(np.float64) - 1.0
    kernels.orthonormalise(basis)
    for _ in range(powers):
        basis = _columns(turned @ (matrix @ _columns(basis)))
        kernels.orthonormalise(basis)
    seen = np.ascontiguousarray(matrix @ _columns(basis))
    squares = kernels.gram(seen)
    vectors = kernels.eigenvectors(squares)
    order = np.argsort(-squares.diagonal(), kind="stable")[:n_vectors]
    values = np.sqrt(np.maximum(squares.diagonal()[order], 0.0))
    right = kernels.product(vectors[order], basis)
    left = kernels.product(seen, _columns(vectors[order]))
    left /= np.maximum(values, 1e-300)
    size = np.abs(right)
    first = (size >= (1 - 1e-6) * size.max(axis=1, keepdims=True)).argmax(axis=1)
    signs = np.where(right[np.arange(n_vectors), first] < 0, -1.0, 1.0)
    left *= signs
    right *= signs[:, None]
    return SingularVectors(left, values, right)


def non_negative(
    matrix: sparse.csr_array, found: SingularVectors, passes: int = PASSES
) -> tuple[F64, F64]:
    """Return non-negative W [n, k] and H [k, m] of a small sum of squares of X - W H.

    found: as many singular vectors of X, which the factors begin with (C. Boutsidis,
    E. Gallopoulos: SVD based initialization, Pattern Recognition 41, 2008; zeros filled by the
    mean). Coordinate descent in the order of rows and columns (A. Cichocki, A.-H. Phan: Fast
    local algorithms for large scale nonnegative matrix factorizations, IEICE Trans. 2009).
    passes: of it, at most.
    """
    weights, parts = _first_factors(matrix, found)
    turned, first = sparse.csr_array(matrix.T), 0.0
    for number in range(passes):
        moved = kernels.descend(weights, matrix @ parts, kernels.gram(parts))
        moved += kernels.descend(parts, turned @ weights, kernels.gram(weights))
        first = first or moved
        if number and moved <= TOLERANCE * first:
            break
    return weights, _columns(parts)


def _first_factors(matrix: sparse.csr_array, found: SingularVectors) -> tuple[F64, F64]:
    """Return W [n, k] and the columns [m, k] of H to begin with."""
    mean = float(matrix.sum()) / max(matrix.shape[0] * matrix.shape[1], 1)
    weights, parts = np.zeros_like(found.left), np.zeros_like(found.right)
    for number, value in enumerate(found.values):
        sides = []
        for sign in (1.0, -1.0):
            left = np.maximum(sign * found.left[:, number], 0.0)[None]
            right = np.maximum(sign * found.right[number], 0.0)[None]
            size = float(kernels.lengths(left)[0] * kernels.lengths(right)[0])
            sides.append((size, left, right))
        # Where both are as large, the first is taken.
        size, left, right = sides[1] if sides[1][0] > sides[0][0] * (1 + 1e-9) else sides[0]
        scale = np.sqrt(value * size)
        weights[:, number], parts[number] = scale * unit(left)[0], scale * unit(right)[0]
    weights[weights < NONE], parts[parts < NONE] = mean, mean
    return weights, _columns(parts)


def _columns(rows: F64) -> F64:
    return np.ascontiguousarray(rows.T)
