"""Weights by topic thinned to a few entries: compiled as written, and right on average."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from hiertopics.base.arrays import F32, I32
from hiertopics.numeric import simd
from hiertopics.numeric.simd_draws import keep_few, sum_products

Row = F32


@njit(nogil=True, error_model="numpy")
def compiled(
    weights: Row, noise: Row, start: int, threshold: float, names: I32, values: Row
) -> int:
    return keep_few(weights, noise, start, threshold, names, values)


@njit(nogil=True, error_model="numpy")
def weigh_shares(shares: Row, word: Row, prior: float, weights: Row) -> float:
    return simd.weigh_shares(shares, word, prior, weights)


@njit(nogil=True, error_model="numpy")
def compiled_sum(one: Row, other: Row) -> float:
    return sum_products(one, other)


def noise_of(length: int) -> Row:
    return (1 - np.random.default_rng(1).random(length)).astype(np.float32)


@pytest.mark.parametrize("length", [16, 64, 512])
def test_compiled_entries_are_those_of_the_source(length: int) -> None:
    rng, noise = np.random.default_rng(length), noise_of(2000)
    for start in range(40):
        weights = rng.gamma(0.1, size=length).astype(np.float32)
        weights[-3:] = 0.0
        threshold = np.float32(rng.choice([1e-9, 0.1, 0.5, 100.0]))
        found, wanted = ((np.zeros(length, np.int32), np.zeros(length, np.float32)) for _ in "12")
        n = compiled(weights, noise, start, threshold, *found)
        assert n == keep_few(weights, noise, start, threshold, *wanted)
        np.testing.assert_array_equal(found[0][:n], wanted[0][:n])
        np.testing.assert_array_equal(found[1][:n], wanted[1][:n])


def test_entries_are_the_weights_on_average() -> None:
    """Weights above the threshold always as they are, others by chance and as heavy as it."""
    weights = np.array([3.0, 1.0, 0.5, 0.1, 0.01, *[0.0] * 11], np.float32)
    n_draws, total = 20_000, np.zeros(16)
    noise = noise_of(n_draws + 16)
    for start in range(n_draws):
        names, values = np.zeros(16, np.int32), np.zeros(16, np.float32)
        n = compiled(weights, noise, start, np.float32(1.0), names, values)
        total[names[:n]] += values[:n]
        assert n >= 2 and values[:n].min() >= 1.0
    mean, spread = total / n_draws, np.sqrt(weights * np.maximum(1.0 - weights, 0.0) / n_draws)
    np.testing.assert_array_less(np.abs(mean - weights), 4 * spread + 1e-6)


@pytest.mark.parametrize("length", [1, 7, 16, 100, 300])
def test_weights_of_shares(length: int) -> None:
    rng = np.random.default_rng(length)
    shares, word = rng.random((2, length), dtype=np.float32)
    weights = np.zeros(length, np.float32)
    total = weigh_shares(shares, word, np.float32(0.05), weights)
    np.testing.assert_array_equal(weights, shares * (word + np.float32(0.05)))
    assert total == pytest.approx(weights.sum(), rel=1e-6)


@pytest.mark.parametrize("length", [16, 48, 128])
def test_a_sum_of_products_has_the_bits_of_the_source(length: int) -> None:
    rng = np.random.default_rng(length)
    for _ in range(20):
        one, other = (rng.gamma(0.1, size=length).astype(np.float32) for _ in "12")
        assert compiled_sum(one, other) == sum_products(one, other)
