"""What the tests of the partially collapsed sweep share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class OneGenerator(NamedTuple):
    """A single shard, all of whose random numbers come from one generator."""

    generator: np.random.Generator
    n_shards: int = 1

    @property
    def context(self) -> OneGenerator:
        """What knows the generator and answers messages: this."""
        return self

    def rng(self, purpose: str, *key: int) -> np.random.Generator:
        """Return the generator."""
        return self.generator

    def parts(self, length: int, purpose: str) -> list[tuple[slice, np.random.Generator]]:
        """Return everything at once."""
        return [(slice(0, length), self.generator)]

    def deal(self, task: Callable[[Any], Any], messages: list[Any]) -> list[Any]:
        """Return what ``task`` answers."""
        return [task(message) for message in messages]


def one_generator(seed: int) -> Any:
    """Return what a sweep takes for its shards."""
    return OneGenerator(np.random.default_rng(seed))
