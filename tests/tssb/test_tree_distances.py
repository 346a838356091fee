"""Tools around the binary model: edges between rows in a tree, and images as bits."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks import images
from benchmarks.tree_distance import correlation, edges_between, lineage


def test_edges_are_counted_over_the_nearest_common_ancestor() -> None:
    """Nodes 0 - 1 - 2, 1 - 3 and 0 - 4; a second root 5."""
    paths = lineage(np.array([-1, 0, 1, 1, 0, -1], np.int32))
    assert paths.tolist()[2:4] == [[0, 1, 2], [0, 1, 3]]
    edges = edges_between(paths[[0, 2, 3, 4, 2]])
    assert edges.tolist() == [2, 2, 1, 2, 2, 3, 0, 3, 2, 3]


def test_where_nothing_differs_there_is_no_correlation() -> None:
    assert correlation(np.zeros(4), np.arange(4.0)) == 0.0
    assert correlation(np.arange(4.0) ** 3, np.arange(4.0)) == pytest.approx(1)


def test_pooling_keeps_the_mean_and_shares_pixels_out() -> None:
    assert images.pooling(4, 2).tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    assert images.pooling(3, 2) == pytest.approx(np.array([[2, 1, 0], [0, 1, 2]]) / 3)
    assert images.pooling(28, 16).sum(axis=1) == pytest.approx(1)


def test_bits_are_pixels_brighter_than_the_threshold() -> None:
    image = np.array([[[255, 255, 0, 0], [255, 0, 0, 0], [0, 0, 64, 64], [0, 0, 64, 64]]])
    assert images.to_bits(image.astype(np.uint8), 2, 0.25).tolist() == [[1, 0, 0, 1]]
    assert images.to_bits(image.astype(np.uint8), 2, 0.3).tolist() == [[1, 0, 0, 0]]


def test_idx_files_are_read_packed_or_not_and_others_refused(tmp_path: Path) -> None:
    numbers = bytes(range(12))
    idx = bytes((0, 0, 8, 2)) + np.array([3, 4], ">u4").tobytes() + numbers
    for name, data in (("a", idx), ("a.gz", gzip.compress(idx))):
        (tmp_path / name).write_bytes(data)
        assert images.read_idx(tmp_path / name).tobytes() == numbers
    for data in (idx[:-1], b"P5 no idx", b""):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match="bad"):
            images.read_idx(tmp_path / "bad")
