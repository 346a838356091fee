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
from hiertopics.families.ncrp.variational.state import LOCAL_ROUNDS, local_pass

CORPUS, BRANCH, _ = planted(0, 120)


@pytest.mark.parametrize("at_once", [1 << 18, 500])
@pytest.mark.parametrize("mode", MODES)
def test_one_batch_of_all_at_full_rate_is_a_sweep(
    mode: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose cells may be copied some at a time."""
    monkeypatch.setattr(token_layout, "TOKENS_AT_ONCE", at_once)
    monkeypatch.setattr(variational, "BATCH_DELAY", 0.0)
    keys = {"mode": mode, "moves": "none"}
    whole = settings_of(**keys)
    batch = settings_of(batch_size=500, **keys)
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


@pytest.mark.parametrize("at_once", [1 << 18, 500])
@pytest.mark.parametrize("mode", MODES)
def test_batches_in_pieces_are_those_of_the_whole(
    mode: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece finds its own documents in a batch."""
    monkeypatch.setattr(token_layout, "TOKENS_AT_ONCE", at_once)
    monkeypatch.setattr(variational, "BATCH_DELAY", 0.0)
    keys = {"mode": mode, "moves": "none", "batch_size": 17, "start_sweeps": 0, "eta": 0.3}
    (whole, _), (parts, _) = (fitted(CORPUS, settings_of(shards=n, **keys), 0, 2) for n in (1, 4))
    assert parts.tau == pytest.approx(whole.tau, rel=1e-3)
    assert parts.lam == pytest.approx(whole.lam, rel=1e-3, abs=1e-4)
    assert parts.stick_a == pytest.approx(whole.stick_a, rel=1e-3)


def test_an_epoch_says_of_all_documents_what_its_batches_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Topics that hardly move: documents in slots and tokens outside are those of a sweep."""
    monkeypatch.setattr(variational, "BATCH_DELAY", 1e9)
    settings = settings_of(batch_size=17, moves="none", start="root")
    state, data = fitted(CORPUS, settings, 0, 0)
    whole = local_pass(copy.deepcopy(state), LOCAL_ROUNDS)
    found = variational.epoch(state, data, settings, at(1))
    assert whole.n_outside > 0
    assert found.slot == pytest.approx(whole.slot, rel=1e-3, abs=1e-4)
    assert found.n_outside == state.n_outside == pytest.approx(whole.n_outside, rel=1e-3)


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
