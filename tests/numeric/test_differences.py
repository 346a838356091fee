"""Differences of arrays: whoever knew the array before knows the one after, from few bytes."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.numeric.differences import caught_up, difference, summed


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 1.0])
@pytest.mark.parametrize("kind", [np.int32, np.float32, np.float64])
def test_the_array_before_and_the_difference_give_the_array_after(
    share: float, kind: type[np.generic]
) -> None:
    rng = np.random.default_rng(3)
    before = rng.integers(-5, 300, (40, 50)).astype(kind)
    after = np.where(rng.random(before.shape) < share, before + 70_000, before).astype(kind)
    found = caught_up(before.copy(), difference(before, after))
    np.testing.assert_array_equal(found, after)
    assert found.dtype == after.dtype
    np.testing.assert_array_equal(caught_up(None, difference(None, after)), after)


def test_bits_count_and_not_numbers() -> None:
    before, after = np.array([0.0, 1.0, 2.0]), np.array([-0.0, 1.0, 2.0])
    assert np.signbit(caught_up(before.copy(), difference(before, after))[0])


def test_few_cells_are_listed_in_the_smallest_type() -> None:
    before = np.full((1000, 100), 70_000, np.int32)
    before[:, 1:] = 3
    after = before.copy()
    after[7, 2], after[9, 9] = 5, 1
    found = difference(before, after)
    assert found.cells is not None
    assert found.cells.tolist() == [702, 909] and found.values.tolist() == [5, 1]
    assert found.cells.dtype == np.int32
    many = difference(None, np.ones((1000, 100), np.int32))
    assert many.cells is None and many.values.dtype == np.int8


@pytest.mark.parametrize("n_cells", [20, 5000])
def test_amounts_of_a_cell_are_added(n_cells: int) -> None:
    rng = np.random.default_rng(4)
    cells = rng.integers(0, n_cells, 60)
    amounts = rng.integers(-2, 3, 60).astype(np.int32)
    expected = np.bincount(cells, amounts, n_cells)
    found = summed(cells, amounts, n_cells)
    np.testing.assert_array_equal(caught_up(None, found), expected)
    if found.cells is not None:
        assert (found.values != 0).all() and (np.diff(found.cells) > 0).all()
    assert (found.cells is None) == (n_cells == 20)
    nothing = summed(cells[:0], amounts[:0], n_cells)
    assert not caught_up(None, nothing).any()
