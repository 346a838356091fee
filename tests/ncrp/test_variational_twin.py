"""The package's sweeps and bound are the naive ones."""

from __future__ import annotations

import naive_variational as naive
import numpy as np
import pytest
from naive_variational import Q
from variational_cases import (
    MODES,
    TREE,
    bound,
    data_of,
    exact_sweep,
    slot_chances,
    state_of,
    varied,
)

from hiertopics.families.ncrp.variational import state as states
from hiertopics.families.nested.tree_state import MeanField
from hiertopics.papers import ncrp_meanfield as meanfield

DEEP = (-1, 0, 0, 1, 1, 2, 3, 5, 5, 6)
PRIOR = np.array([2.0, 0.7, 1.5, 0.3, 1.0])


@pytest.fixture(autouse=True)
def all_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """No slot is too rare to count."""
    for family in (states, meanfield):
        monkeypatch.setattr(family, "RARE", 0.0)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[(TREE, 3, 0.5), (DEEP, 5, 0.05), ((-1,), 2, 0.3), ((-1, 0), 2, 1.0)])
def q(request: pytest.FixtureRequest, mode: str) -> Q:
    parent, depth, eta = request.param
    counts = varied().counts.toarray().astype(float)
    return naive.random_q(
        np.random.default_rng(1),
        parent,
        counts,
        PRIOR[:depth],
        1.3,
        eta,
        structured=mode == "structured",
    )


def test_the_bound_is_the_naive_one(q: Q) -> None:
    data = data_of(q.counts)
    assert bound(state_of(q), data) == pytest.approx(naive.elbo(naive.at_best_levels(q)), rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_sweep_is_the_naive_updates_in_their_order(q: Q, rounds: int) -> None:
    state, data = state_of(q), data_of(q.counts)
    exact_sweep(state, rounds)
    for _ in range(rounds):
        if q.structured:
            q = naive.update_theta(naive.update_path(naive.update_level(q)))
        else:
            q = naive.update_path(naive.update_theta(naive.update_level(q)))
    q = naive.update_sticks(naive.update_words(q))
    assert state.tau == pytest.approx(q.tau, rel=1e-9)
    assert pytest.approx(q.lam, rel=1e-9) == state.lam.T
    assert state.stick_a[1:] == pytest.approx(q.a[1:], rel=1e-9)
    assert state.stick_b[1:] == pytest.approx(q.b[1:], rel=1e-9)
    if not q.structured:
        assert isinstance(state, MeanField)
        assert state.chances == pytest.approx(q.chances, rel=1e-9, abs=1e-12)
    assert bound(state, data) == pytest.approx(naive.elbo(naive.at_best_levels(q)), rel=1e-12)


def test_float32_tables_change_little(q: Q) -> None:
    """Their rounding enters the bound to second order."""
    exact, rounded, data = state_of(q), state_of(q), data_of(q.counts)
    for _ in range(5):
        exact_sweep(exact)
        states.refit(rounded, states.local_pass(rounded, 1, dtype=np.float32))
    assert bound(rounded, data) == pytest.approx(bound(exact, data), rel=1e-6)


def test_shards_add_up_to_the_whole(q: Q) -> None:
    whole, parts = state_of(q), state_of(q, 4)
    assert bound(parts, data_of(q.counts)) == pytest.approx(bound(whole, data_of(q.counts)))
    exact_sweep(whole)
    exact_sweep(parts)
    assert parts.lam == pytest.approx(whole.lam, rel=1e-12)
    assert parts.tau.tobytes() == whole.tau.tobytes()
    assert parts.stick_a == pytest.approx(whole.stick_a, rel=1e-12)
    assert parts.stick_b == pytest.approx(whole.stick_b, rel=1e-12)
    assert parts.n_outside == pytest.approx(whole.n_outside, rel=1e-12)


def test_chances_of_slots_are_the_naive_ones(q: Q) -> None:
    found = slot_chances(state_of(q))
    expected = naive.at_best_levels(q).chances if q.structured else q.chances
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_bound_does_not_depend_on_the_order_of_documents_and_words(q: Q) -> None:
    """T9."""
    rng = np.random.default_rng(5)
    docs, words = rng.permutation(q.counts.shape[0]), rng.permutation(q.counts.shape[1])
    resp = q.resp[docs][..., words, :]
    moved = naive.replace(
        q,
        counts=q.counts[docs][:, words],
        chances=q.chances[docs],
        tau=q.tau[docs],
        lam=q.lam[:, words],
        resp=resp,
    )
    expected = bound(state_of(q), data_of(q.counts))
    assert bound(state_of(moved), data_of(moved.counts)) == pytest.approx(expected, rel=1e-12)
    wrong = naive.replace(moved, lam=q.lam)
    assert bound(state_of(wrong), data_of(moved.counts)) != pytest.approx(expected, rel=1e-6)


def test_long_documents_keep_their_digits(mode: str) -> None:
    """Products over thousands of tokens neither vanish nor lose what tells slots apart."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(9.0, (2, 400)).astype(float)
    q = naive.random_q(rng, TREE, counts, np.ones(3), 1.0, 0.1, structured=mode == "structured")
    q = naive.replace(q, lam=np.asarray(rng.gamma(0.3, 1.0, q.lam.shape)) + 0.1)
    data = data_of(counts)
    assert bound(state_of(q), data) == pytest.approx(naive.elbo(naive.at_best_levels(q)), rel=1e-11)
    value = states.local_pass(state_of(q), 0, dtype=np.float32).log_normaliser
    exact = states.local_pass(state_of(q), 0, dtype=np.float64).log_normaliser
    assert value == pytest.approx(exact, abs=0.02)
