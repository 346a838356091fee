"""The rule that turns (seed, purpose, key) into a random generator.

Generators are derived, never carried from one iteration to the next: a checkpoint holds no
generator state, an iteration can be replayed alone, and the order in which workers finish
cannot change a result.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import DTypeLike


def derive(seed: int, purpose: str, *key: int) -> np.random.Generator:
    """Return the generator that belongs to ``purpose`` and ``key`` under ``seed``.

    ``seed`` and each entry of ``key`` (iteration, shard, document, ...) are integers >= 0.
    PCG64 is named rather than numpy's default, so that a later numpy changes no result.
    """
    # The length comes along because numpy takes (1,) and (1, 0) for the same entropy.
    entropy = [len(key), seed, zlib.crc32(purpose.encode()), *key]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def skip(rng: np.random.Generator, n_numbers: int, dtype: DTypeLike) -> None:
    """Move a fresh generator past ``n_numbers`` of its ``random(dtype=...)``, without drawing them.

    A float64 takes 64 bits of it, a float32 half of that.
    """
    steps, halves = divmod(n_numbers * np.dtype(dtype).itemsize, 8)
    generator = rng.bit_generator
    assert isinstance(generator, np.random.PCG64)
    generator.advance(steps)
    if halves:
        rng.random(dtype=np.float32)
