"""Rows of entries: their ends, the row of each entry, and cuts into parts of about equal work."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.base.arrays import I64
from hiertopics.base.stretches import ends_of, entries_of, even_bounds, rows_of, stretches

SIZES = np.array([2, 0, 3, 1], np.int32)


def test_ends_and_rows_agree_with_lists() -> None:
    ends = ends_of(SIZES)
    assert ends.dtype == np.int64 and ends.tolist() == [0, 2, 2, 5, 6]
    assert rows_of(ends).tolist() == [0, 0, 2, 2, 2, 3]
    assert rows_of(ends[2:]).tolist() == [0, 0, 0, 1], "ends of some rows need not begin with 0"


def test_ends_of_small_integers_and_of_nothing_are_int64() -> None:
    assert ends_of(np.full(3, 200, np.uint8)).tolist() == [0, 200, 400, 600]
    assert ends_of(np.array([True, False, True])).tolist() == [0, 1, 1, 2]
    nothing = ends_of([])
    assert nothing.dtype == np.int64 and nothing.tolist() == [0]


@pytest.mark.parametrize("rows", [[0, 2], [1], [2, 0, 3], []])
def test_entries_of_some_rows_stand_one_row_after_the_other(rows: list[int]) -> None:
    ends = ends_of(SIZES)
    wanted = [entry for row in rows for entry in range(ends[row], ends[row + 1])]
    entries, own = entries_of(ends, np.array(rows, np.int64))
    assert entries.tolist() == wanted
    assert own.tolist() == ends_of(SIZES[rows]).tolist()


@pytest.mark.parametrize(
    ("work", "n_parts", "bounds"),
    [
        (np.ones(6, np.int64), 3, [0, 1, 3, 6]),
        (np.array([9, 1, 1, 1], np.int64), 2, [0, 0, 4]),
        (np.zeros(0, np.int64), 2, [0, 0, 0]),
        (np.ones(3, np.int64), 1, [0, 3]),
    ],
)
def test_even_bounds_cut_where_the_work_before_reaches_its_share(
    work: I64, n_parts: int, bounds: list[int]
) -> None:
    assert even_bounds(work, n_parts).tolist() == bounds


def test_stretches_of_rows_from_any_entry_on() -> None:
    ends = ends_of(np.array([4, 1, 1, 7, 2, 2]))
    blocks = [(0, 2), (2, 3), (3, 4), (4, 6)]
    assert list(stretches(ends, 5)) == blocks
    assert list(stretches(ends[1:], 5)) == [(0, 2), (2, 3), (3, 5)]
    assert list(stretches(ends[:0], 5)) == []
