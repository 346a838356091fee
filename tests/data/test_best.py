"""The largest of many numbers, by blocks, are those of a whole partition."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.best import BLOCK, largest


def by_partition(values: F64, n: int) -> I64:
    """Return the same as ``largest`` by one partition of all values."""
    n = min(n, len(values))
    lowest = np.partition(values, len(values) - n)[len(values) - n] if n else np.inf
    leading = np.flatnonzero(values >= lowest)
    return np.asarray(leading[np.argsort(-values[leading], kind="stable")[:n]])


@pytest.mark.parametrize("size", [0, 1, 5, BLOCK, 3 * BLOCK - 1, 40 * BLOCK + 7])
@pytest.mark.parametrize("n", [0, 1, 3, 12, 100])
def test_they_are_those_of_a_whole_partition(size: int, n: int) -> None:
    """With ties, with none, with values without bounds, and where the best stand at the end."""
    rng = np.random.default_rng(size + n)
    for values in (
        rng.normal(size=size),
        rng.integers(4, size=size).astype(float),
        np.arange(size, dtype=float),
        np.zeros(size),
        np.where(rng.random(size) < 0.9, -np.inf, rng.normal(size=size)),
    ):
        assert largest(values, n).tolist() == by_partition(values, n).tolist()


def test_numbers_that_are_none_are_as_in_a_whole_partition() -> None:
    values = np.arange(4.0 * BLOCK)
    values[7] = np.nan
    for n in (1, 2, 3):
        assert largest(values, n).tolist() == by_partition(values, n).tolist()


def test_a_few_of_many_are_not_sought_by_a_partition_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    partition = np.partition

    def counted(values: F64, place: int) -> F64:
        sizes.append(len(values))
        return partition(values, place)

    monkeypatch.setattr(np, "partition", counted)
    values = np.random.default_rng(0).normal(size=200 * BLOCK)
    assert largest(values, 10).tolist() == np.argsort(-values)[:10].tolist()
    assert max(sizes) <= 10 * BLOCK
