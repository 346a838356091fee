"""Tables that are made of blocks, some rows or columns at a time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from hiertopics.families.nhdp import patches
from hiertopics.families.nhdp.patches import Patch, patched

RNG = np.random.default_rng(5)
FLOOR = 1e-3
BLOCKS = [
    Patch(np.array([0, 2, 3, 8]), np.arange(3), RNG.random((4, 3)) + FLOOR),
    Patch(np.array([1, 2, 8]), np.arange(4, 6), RNG.random((3, 2)) + FLOOR),
    Patch(np.array([4]), np.arange(3), RNG.random((1, 3)) + FLOOR),
]


def dense() -> np.ndarray:
    """Return the whole table, made at once."""
    found = np.full((10, 7), FLOOR)
    for block in BLOCKS:
        found[np.ix_(block.rows, block.columns)] = block.values
    found /= found.sum(axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("at_once", [1, 20, 1000])
def test_parts_have_the_bits_of_the_whole(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "ENTRIES_AT_ONCE", at_once)
    table, whole = patched((10, 7), FLOOR, BLOCKS), dense()
    assert len(table) == 10 and table.shape == (10, 7)
    some, few = np.array([1, 2, 8, 9]), np.array([0, 4, 6])
    assert table[:].tobytes() == whole.tobytes()
    assert table[2:9].tobytes() == whole[2:9].tobytes()
    assert table[some].tobytes() == whole[some].tobytes()
    assert table[:, few].tobytes() == np.ascontiguousarray(whole[:, few]).tobytes()
    assert table[some, 3:].tobytes() == np.ascontiguousarray(whole[some, 3:]).tobytes()
    assert table[3:3].shape == (0, 7)


def test_the_rows_of_a_piece_know_no_others() -> None:
    """As they are sent to another process."""
    table, whole = patched((10, 7), FLOOR, BLOCKS), dense()
    for first, last in ((0, 4), (3, 9), (9, 10)):
        part = pickle.loads(pickle.dumps(table.between(first, last)))
        assert part[:].tobytes() == whole[first:last].tobytes()
        assert sum(len(block.rows) for block in part.patches) < 8
    assert not table.between(5, 8).patches
