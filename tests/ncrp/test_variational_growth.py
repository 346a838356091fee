"""Growing the tree: neutral expansion changes nothing, seeded expansion seeds.

Source: theory/ncrp 4, T3.
"""

from __future__ import annotations

import naive_variational as naive
import numpy as np
import pytest
from stepping import at
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

from hiertopics.families.ncrp.variational import growing, state as states
from hiertopics.families.ncrp.variational.state import Data, State
from hiertopics.papers import ncrp_meanfield as meanfield

COUNTS = varied().counts.toarray().astype(float)


@pytest.fixture(autouse=True)
def all_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """No slot is too rare to count."""
    for family in (states, meanfield):
        monkeypatch.setattr(family, "RARE", 0.0)


@pytest.fixture(params=MODES)
def grown(request: pytest.FixtureRequest) -> tuple[State, Data]:
    """Return a state after two sweeps, some mass still outside the tree."""
    structured = request.param == "structured"
    rng = np.random.default_rng(6)
    q = naive.random_q(rng, TREE, COUNTS, np.array([2.0, 1.0, 1.0]), 2.0, structured=structured)
    state, data = state_of(q), data_of(COUNTS)
    for _ in range(2):
        exact_sweep(state)
    return state, data


def test_neutral_expansion_leaves_the_bound_where_it_was(grown: tuple[State, Data]) -> None:
    """T3: again and again, from the root, from inner nodes and from ones just added."""
    state, data = grown
    expected = bound(state, data)
    rng = np.random.default_rng(7)
    for _ in range(12):
        inner = np.flatnonzero(state.nodes.level < 2)
        state = growing.expand(state, int(rng.choice(inner)))
        assert bound(state, data) == pytest.approx(expected, abs=1e-9, rel=1e-12)
    assert state.n_nodes > 20


def test_without_the_mass_left_over_the_bound_approaches_the_whole_from_below() -> None:
    """T3: documents kept to full paths, more and more of them explicit."""
    rng = np.random.default_rng(6)
    q = naive.random_q(rng, TREE, COUNTS, np.array([2.0, 1.0, 1.0]), 2.0, structured=True)
    state, data = state_of(q), data_of(COUNTS)
    whole = bound(state, data)
    gaps = []
    for _ in range(5):
        for node in np.flatnonzero(state.nodes.level < 2)[::-1]:
            state = growing.expand(state, int(node))
        chances = slot_chances(state)
        leaves = state.nodes.level == 2
        gaps.append(-np.log(chances[:, leaves].sum(axis=1)).sum())
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 0.25 * gaps[0]
    assert bound(state, data) == pytest.approx(whole, abs=1e-9)


def test_updates_after_expansion_raise_the_bound(grown: tuple[State, Data]) -> None:
    state, data = grown
    wider = growing.expand(state, 2)
    before = bound(wider, data)
    for _ in range(3):
        exact_sweep(wider)
    assert bound(wider, data) > before


def test_mass_of_an_expanded_slot_is_split_by_its_series(grown: tuple[State, Data]) -> None:
    state, data = grown
    before = slot_chances(state)
    wider = growing.expand(state, 0)
    after = slot_chances(wider)
    stay = np.exp(-1.0 / state.gamma)
    new = int(np.flatnonzero(wider.parent == 0)[-1])
    leaf = int(np.flatnonzero(wider.parent == new)[0])
    mass = before[:, 0]
    assert after[:, 0] == pytest.approx(mass * stay, rel=1e-4)
    assert after[:, new] == pytest.approx(mass * (1 - stay) * stay, rel=1e-4)
    assert after[:, leaf] == pytest.approx(mass * (1 - stay) ** 2, rel=1e-4)
    assert after.sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_seeds_enter_the_new_topics_and_no_other(grown: tuple[State, Data]) -> None:
    state, _ = grown
    seeds = np.arange(10.0).reshape(2, 5)
    wider = growing.expand(state, 0, seeds)
    new = int(np.flatnonzero(wider.parent == 0)[-1])
    leaf = int(np.flatnonzero(wider.parent == new)[0])
    assert wider.lam[:, [new, leaf]] == pytest.approx(state.eta + seeds.T)
    kept = [node for node in range(wider.n_nodes) if node not in (new, leaf)]
    assert np.array_equal(wider.lam[:, kept], state.lam)


def test_growing_from_the_root_opens_paths_seeded_by_documents() -> None:
    q = naive.random_q(
        np.random.default_rng(0), (-1,), COUNTS, np.ones(3), 1.0, 0.5, structured=True
    )
    state, data = state_of(q), data_of(COUNTS)
    wider, n_grown = growing.grow(state, data, 100, at(3))
    assert n_grown == 2 and wider.n_nodes == 5
    leaves = list(wider.nodes.leaves)
    seeded = wider.lam[:, leaves] - state.eta
    assert (seeded.sum(axis=0) > 0).tolist() in ([True, False], [False, True])
    assert growing.grow(state, data, 2, at(3))[1] == 0
