"""Random numbers by place: entry i of a sequence is known without the entries before it.

So work may be cut in any way among threads and machines and draws the same numbers. A sequence is
named by a key of 64 random bits (``numeric.streams`` never adds to keys: those of two purposes or
iterations are hashed apart, as ``seeds`` does it).
"""

from __future__ import annotations

import numpy as np

from hiertopics.numeric.jit import kernel

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
UNUSED_BITS = np.uint64(11)
UNIT = 2.0**-53


def new_key(rng: np.random.Generator) -> np.uint64:
    """Return a key drawn from a generator."""
    return np.uint64(rng.integers(2**64, dtype=np.uint64))


def ahead(key: int, n_numbers: int) -> np.uint64:
    """Return the key whose entries are those of ``key`` from number ``n_numbers`` on."""
    return np.uint64((key + n_numbers * int(STEP)) % 2**64)


@kernel(inline=True)
def random_bits(key: np.uint64, number: int) -> np.uint64:
    """Return 64 random bits: entry ``number`` of the SplitMix64 sequence that begins at ``key``.

    (G. Steele, D. Lea, C. Flood, OOPSLA 2014.) Entries need no order, so that loops over them
    become vector code.
    """
    bits = key + np.uint64(number + 1) * STEP
    bits = (bits ^ (bits >> SHIFTS[0])) * FIRST_FACTOR
    bits = (bits ^ (bits >> SHIFTS[1])) * SECOND_FACTOR
    return np.uint64(bits ^ (bits >> SHIFTS[2]))


@kernel(inline=True)
def uniform(key: np.uint64, number: int) -> float:
    """Return entry ``number`` as a float64 in [0, 1), from its upper 53 bits."""
    return UNIT * np.float64(np.int64(random_bits(key, number) >> UNUSED_BITS))
