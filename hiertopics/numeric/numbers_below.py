"""Whole numbers below a bound, drawn in kernels from numpy's generators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np.random.generator_core import next_uint32

from hiertopics.numeric.jit import kernel

LOW_BITS = np.uint64(0xFFFFFFFF)
N_BITS = np.uint64(32)


@kernel(inline=True)
def below(bits: np.random.BitGenerator, bound: int) -> Any:
    """Return what ``rng.integers(0, bound)`` draws, for a bound from 1 to 2^32 - 1.

    bits: ``rng.bit_generator``. In kernels that method makes an array for each number, which takes
    twenty times as long.
    D. Lemire: Fast random integer generation in an interval, ACM TOMACS 2019.
    """
    n, product = np.uint64(bound), np.uint64(0)
    if bound > 1:
        product = np.uint64(next_uint32(bits)) * n
        if product & LOW_BITS < n:
            least = ((LOW_BITS - n) + np.uint64(1)) % n
            while product & LOW_BITS < least:
                product = np.uint64(next_uint32(bits)) * n
    return np.int64(product >> N_BITS)
