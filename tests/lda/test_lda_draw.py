"""The vector draw of a topic against its Python source and against its distribution."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError
from scipy import stats

from hiertopics.base.arrays import F32, I32, I64
from hiertopics.numeric.lanes import LANES, padded
from hiertopics.numeric.simd_draws import draw_topic


@numba.njit
def draw_many(
    share: F32,
    word: I32,
    prior: float,
    old: int,
    share_old: float,
    uniforms: F32,
) -> I64:
    """Draw once for each uniform number."""
    sums = np.empty_like(share)
    drawn = np.empty(len(uniforms), np.int64)
    for place in range(len(uniforms)):
        drawn[place] = draw_topic(share, word, prior, old, share_old, uniforms[place], sums)
    return drawn


def rows(n_topics: int, seed: int = 0) -> tuple[F32, I32]:
    """Return shares and word counts, empty beyond ``n_topics``."""
    rng = np.random.default_rng(seed)
    share, word = np.zeros(padded(n_topics), np.float32), np.zeros(padded(n_topics), np.int32)
    share[:n_topics] = rng.gamma(0.5, size=n_topics) + 1e-3
    word[:n_topics] = rng.poisson(2.0, n_topics) + 1
    return share, word


@pytest.mark.parametrize("n_topics", [1, 5, 16, 17, 40, 100])
@pytest.mark.parametrize("old", [-1, 0, -2])
def test_topics_come_up_as_often_as_their_weights_say(n_topics: int, old: int) -> None:
    """``old`` -1: no token is taken out; else that of the first or of the last topic."""
    old = n_topics - 1 if old == -2 else old
    share, word = rows(n_topics)
    uniforms = np.random.default_rng(1).random(60_000, np.float32)
    drawn = draw_many(share, word, 0.2, old, 0.7, uniforms)
    weights = share.astype(np.float64) * (word + 0.2)
    if old >= 0:
        weights[old] = 0.7 * (word[old] - 1 + 0.2)
    assert drawn.max() < n_topics
    expected = 60_000 * weights[:n_topics] / weights[:n_topics].sum()
    found = np.bincount(drawn, minlength=n_topics)
    common = expected > 5
    if common.sum() > 1:
        rest = [60_000 - found[common].sum(), 60_000 - expected[common].sum()]
        seen, wanted = found[common], expected[common]
        if rest[1] > 5:
            seen, wanted = np.append(seen, rest[0]), np.append(wanted, rest[1])
        assert stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("n_topics", [3, 16, 33, 100])
def test_draw_equals_its_python_source(n_topics: int) -> None:
    share, word = rows(n_topics, 3)
    uniforms = np.random.default_rng(2).random(500, np.float32)
    found = draw_many(share, word, 0.1, 2, 0.3, uniforms)
    sums = np.empty_like(share)
    expected = [draw_topic(share, word, 0.1, 2, 0.3, u, sums) for u in uniforms]
    assert found.tolist() == expected


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-24])
def test_the_ends_of_the_unit_interval_draw_topics_that_have_a_weight(uniform: float) -> None:
    for n_topics in (1, 2, 15, 16, 20, 47):
        for seed in range(20):
            share, word = rows(n_topics, seed)
            drawn = draw_many(share, word, 0.1, -1, 0.0, np.array([uniform], np.float32))
            # Beyond the last topic only by rounding, and then within the padding.
            assert 0 <= drawn[0] < padded(n_topics)
            if uniform == 0.0:
                assert drawn[0] == 0


def test_rows_are_padded_to_whole_vectors() -> None:
    assert [padded(n) for n in (1, LANES, LANES + 1, 100)] == [LANES, LANES, 2 * LANES, 112]


def test_rows_of_another_type_are_refused() -> None:
    share, word = rows(5)
    wrong: Any = share.astype(np.float64)
    with pytest.raises(TypingError, match="a contiguous row of float32 is wanted"):
        draw_many(wrong, word, 0.1, 0, 0.1, np.zeros(1, np.float32))
