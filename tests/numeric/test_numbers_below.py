"""Whole numbers below a bound are those of numpy's generators."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.base.arrays import I64
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.numbers_below import below


@kernel()
def draw(rng: np.random.Generator, bound: int, numbers: I64) -> None:
    """Draw numbers below a bound, and a uniform one after each."""
    bits = rng.bit_generator
    for place in range(len(numbers)):
        numbers[place] = below(bits, bound)
        rng.random()


# Above 2^31 about half of the first draws are refused.
@pytest.mark.parametrize("bound", [1, 2, 3, 100, 2**31 + 1, 2**32 - 1])
def test_numbers_below_are_those_of_numpy(bound: int) -> None:
    ours, numpys = np.random.default_rng(5), np.random.default_rng(5)
    numbers = np.empty(200, np.int64)
    draw(ours, bound, numbers)
    for number in numbers:
        assert number == numpys.integers(0, bound)
        numpys.random()
    assert ours.bit_generator.state == numpys.bit_generator.state
