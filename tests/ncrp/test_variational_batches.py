"""Stochastic updates by batches of documents (theory/ncrp 8)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from stepping import at
from variational_cases import (
    MODES,
    adjusted_rand,
    best_leaves,
    bound,
    family,
    fitted,
    planted,
    settings_of,
)

from hiertopics.families.flat import token_layout
from hiertopics.families.ncrp.variational import backend as variational

CORPUS, BRANCH, _ = planted(0, 120)


@pytest.mark.parametrize("at_once", [1 << 18, 500])
@pytest.mark.parametrize("mode", MODES)
def test_one_batch_of_all_at_full_rate_is_a_sweep(
    mode: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose cells may be copied some at a time."""
    monkeypatch.setattr(token_layout, "TOKENS_AT_ONCE", at_once)
    keys = {"mode": mode, "moves": "none"}
    whole = settings_of(**keys)
    batch = settings_of(batch_size=500, batch_delay=0.0, **keys)
    data = variational.prepare(CORPUS, whole)
    state: Any = family(whole).init(data, whole, at(0))
    same = copy.deepcopy(state)
    state, _ = variational.step(state, data, whole, at(1))
    same, _ = variational.step(same, data, batch, at(1))
    assert same.tau == pytest.approx(state.tau)
    assert np.sort(same.lam.sum(axis=0)) == pytest.approx(np.sort(state.lam.sum(axis=0)), rel=1e-5)
    assert np.sort(same.stick_a) == pytest.approx(np.sort(state.stick_a), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_batches_lead_near_to_where_sweeps_lead(mode: str) -> None:
    keys = {"mode": mode, "start_sweeps": 0}
    start, data = fitted(CORPUS, settings_of(**keys), 0, 0)
    sweeps, _ = fitted(CORPUS, settings_of(**keys), 0, 30)
    batches, _ = fitted(CORPUS, settings_of(batch_size=20, **keys), 0, 30)
    assert bound(batches, data) > 1.015 * bound(sweeps, data)
    assert bound(batches, data) > bound(start, data) + 1000
    assert adjusted_rand(best_leaves(batches, data), BRANCH[:, 1]) > 0.7


def test_a_batch_stands_for_the_whole_corpus() -> None:
    """Documents are equally long here, so that topics keep as many tokens as the corpus has."""
    settings = settings_of(batch_size=30, moves="none")
    state, _ = fitted(CORPUS, settings, 0, 3)
    tokens = (state.lam - state.lam.dtype.type(state.eta)).sum()
    assert tokens == pytest.approx(CORPUS.n_tokens, rel=1e-3)


def test_later_batches_move_topics_less() -> None:
    settings = settings_of(batch_size=30, moves="none")
    state, data = fitted(CORPUS, settings, 0, 4)
    moved = []
    for iteration in (5, 500):
        after, _ = variational.step(copy.deepcopy(state), data, settings, at(iteration))
        moved.append(np.abs(after.lam - state.lam).sum())
    assert moved[1] < 0.2 * moved[0]
