"""The same seed and shards give the same bits on any number of workers (theory/hdp 11.12)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hdp_cases import BACKENDS as STORED, begin, planted
from stepping import SERIAL, advance, settings_of

from hiertopics.contract.engine import Workers
from hiertopics.contract.states import to_arrays
from hiertopics.families.hdp.variational import few_cvb0, few_pcvb0

BACKENDS = [*STORED, few_cvb0, few_pcvb0]
CORPUS = planted(61, n_docs=60, n_words=50, n_topics=4, length=40).train


def fit(backend: Any, *, seed: int = 0, shards: int = 1, workers: Workers = SERIAL) -> list[bytes]:
    """Return the bytes of a float32 state after recounts and hyperparameter steps."""
    settings = settings_of(backend, truncation=8, hyper_start=3, shards=shards)
    state, data = begin(backend, CORPUS, settings, seed=seed, dtype=np.float32, workers=workers)
    state = advance(backend, state, data, settings, 12, seed=seed, workers=workers)
    return bits(state)


def bits(state: Any) -> list[bytes]:
    return [array.tobytes() for array in to_arrays(state).values()]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shards", [1, 4])
def test_same_seed_gives_the_same_bits(backend: Any, shards: int) -> None:
    assert fit(backend, shards=shards) == fit(backend, shards=shards)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n_workers", [2, 4])
def test_workers_change_no_bit(backend: Any, n_workers: int) -> None:
    """11.12: four shards on one, two and four threads."""
    with Workers(n_workers) as workers:
        assert fit(backend, shards=4, workers=workers) == fit(backend, shards=4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_other_seeds_and_shards_give_other_fits(backend: Any) -> None:
    plain = fit(backend)
    assert fit(backend, seed=1) != plain
    assert fit(backend, shards=4) != plain


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_iteration_can_be_replayed(backend: Any) -> None:
    """Iteration t depends on the state before it and on t, not on how the state came about."""
    settings = settings_of(backend, truncation=8, hyper_start=3)
    state, data = begin(backend, CORPUS, settings, dtype=np.float32)
    state = advance(backend, state, data, settings, 9)
    again = deepcopy(state)
    one, other = (advance(backend, copy, data, settings, 3, start=9) for copy in (state, again))
    assert bits(one) == bits(other)
