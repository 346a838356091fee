"""The bound and its updates: twins of the kernels, monotone, stationary (theory/ncrp 7, T3-T5)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import naive_hca as naive
import numpy as np
import pytest
from naive_hca import MODEL, Local

from hiertopics.families.hca import state as updates
from hiertopics.families.hca.kernels import RowSums
from hiertopics.families.hca.state import (
    Data,
    State,
    elbo,
    globals_term,
    local_pass,
    slot_chances,
    slot_scores,
)
from hiertopics.families.nested.slots import in_order, renumbered
from hiertopics.families.nested.tree_state import MeanField, heavier_first

FAMILIES = [pytest.param(True, id="structured"), pytest.param(False, id="meanfield")]
Update = Callable[[State, Data, RowSums], None]
GLOBAL: dict[str, Update] = {
    "sticks": lambda state, data, sums: updates.update_sticks(state, sums, MODEL),
    "joint": lambda state, data, sums: updates.update_vectors(state, sums, MODEL, "joint"),
    "separate": lambda state, data, sums: updates.update_vectors(state, sums, MODEL, "separate"),
    "mean": lambda state, data, sums: updates.update_mean(state, data, sums, MODEL),
    "noise": lambda state, data, sums: updates.update_noise(state, data, sums, MODEL),
}


def settled(state: State, data: Data, seed: int, *, structured: bool) -> Local:
    """Return explicit factors of the rows, coordinates at their best for some q of slots."""
    chances = np.random.default_rng(seed).dirichlet(np.ones(state.n_nodes), data.n_docs)
    return naive.place(state, data, MODEL, chances, structured=structured)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_structured_pass_is_the_best_local_step_written_out(shards: int) -> None:
    state = naive.random_state(0, structured=True, n_shards=shards)
    data = naive.random_data(0)
    sums, value = local_pass(state, MODEL)
    best = settled(state, data, 1, structured=True)
    best = naive.choose(state, data, MODEL, best, structured=True)
    assert value == pytest.approx(naive.local_bound(state, data, MODEL, best, structured=True))
    for found, wanted in zip(sums, naive.sums_of(state, data, best), strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-11)
    chances = slot_chances(slot_scores(state, MODEL))
    assert chances == pytest.approx(best.chances, abs=1e-12)


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_meanfield_pass_is_so_many_local_rounds_written_out(rounds: int) -> None:
    state, data = naive.random_state(0, structured=False), naive.random_data(0)
    assert isinstance(state, MeanField)
    local = naive.place(state, data, MODEL, state.chances.copy(), structured=False)
    before = naive.local_bound(state, data, MODEL, local, structured=False)
    for turn in range(rounds):
        if turn:
            local = naive.place(state, data, MODEL, local.chances, structured=False)
        local = naive.choose(state, data, MODEL, local, structured=False)
    sums, value = local_pass(state, MODEL, rounds)
    assert value == pytest.approx(before)
    assert state.chances == pytest.approx(local.chances, abs=1e-12)
    for found, wanted in zip(sums, naive.sums_of(state, data, local), strict=True):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("structured", FAMILIES)
def test_the_bound_is_the_one_written_out(structured: bool) -> None:
    state, data = naive.random_state(2, structured=structured), naive.random_data(2)
    local = naive.place(
        state,
        data,
        MODEL,
        np.full((data.n_docs, state.n_nodes), 0.1) if structured else state.slot_chances(MODEL),
        structured=structured,
    )
    if structured:
        local = naive.choose(state, data, MODEL, local, structured=True)
    wanted = naive.elbo(state, data, MODEL, local, structured=structured)
    assert elbo(state, MODEL) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("structured", FAMILIES)
def test_no_update_lowers_the_bound(structured: bool) -> None:
    """T4: from a random start, 80 updates in random order, all factors explicit."""
    state, data = naive.random_state(3, structured=structured), naive.random_data(3)
    rng = np.random.default_rng(4)
    local = settled(state, data, 5, structured=structured)
    first = before = naive.elbo(state, data, MODEL, local, structured=structured)
    for _ in range(80):
        name = rng.choice([*GLOBAL, "place", "choose"])
        if name == "place":
            local = naive.place(state, data, MODEL, local.chances, structured=structured)
        elif name == "choose":
            local = naive.choose(state, data, MODEL, local, structured=structured)
        elif name == "separate" and np.count_nonzero(state.cov - np.diag(np.diag(state.cov))):
            continue  # it is the best of a narrower family, in which q is not yet
        else:
            GLOBAL[name](state, data, naive.sums_of(state, data, local))
            if name == "joint" and rng.random() < 0.5:
                state.cov = np.diag(np.diag(state.cov))
                before = naive.elbo(state, data, MODEL, local, structured=structured)
        now = naive.elbo(state, data, MODEL, local, structured=structured)
        assert now >= before - 1e-9 * abs(now), name
        before = now
    assert before > first + 10


MUTATIONS: dict[str, Callable[[RowSums, State], RowSums]] = {
    "what lies outside": lambda sums, state: sums._replace(outside=np.zeros(1)),
    "the covariance of coordinates": lambda sums, state: sums._replace(
        second=np.diag(np.diag(sums.second))
    ),
    "the mean of all rows": lambda sums, state: sums._replace(
        cross=sums.cross + np.outer(sums.first, state.mu)
    ),
}


@pytest.mark.parametrize("forgotten", MUTATIONS)
def test_an_update_that_forgets_something_lowers_the_bound(forgotten: str) -> None:
    """The mutation control: right after a correct update, each mistake shows."""
    state, data = naive.random_state(6, structured=True), naive.random_data(6)
    local = settled(state, data, 7, structured=True)
    sums = naive.sums_of(state, data, local)
    for _ in range(20):
        for name in ("sticks", "joint", "mean", "noise"):
            GLOBAL[name](state, data, sums)
    best = naive.elbo(state, data, MODEL, local, structured=True)
    wrong = MUTATIONS[forgotten](sums, state)
    for name in ("noise",) if "outside" in forgotten else ("joint",):
        GLOBAL[name](state, data, wrong)
    assert naive.elbo(state, data, MODEL, local, structured=True) < best - 1e-3


def moved(state: State, block: str, rng: np.random.Generator, size: float) -> State:
    """Move a block of globals along a random direction."""

    def step(like: np.ndarray | float) -> np.ndarray:
        return size * rng.standard_normal(np.shape(like))

    if block == "sticks":
        a = state.stick_a * np.exp(step(state.stick_a))
        return replace(state, stick_a=a, stick_b=state.stick_b * np.exp(step(state.stick_b)))
    if block == "noise":
        a, b = (value * float(np.exp(step(value))) for value in (state.noise_a, state.noise_b))
        return replace(state, noise_a=a, noise_b=b)
    if block == "mean":
        variance = state.mu_variance * float(np.exp(step(state.mu_variance)))
        return replace(state, mu=state.mu + step(state.mu), mu_variance=variance)
    mix = np.eye(state.n_nodes) + step(state.cov)
    return replace(state, mean=state.mean + step(state.mean), cov=mix @ state.cov @ mix.T)


@pytest.mark.parametrize("block", ["sticks", "joint", "mean", "noise"])
def test_the_bound_is_flat_in_a_block_right_after_its_update(block: str) -> None:
    """T5: central differences vanish, and did not before."""
    state, data = naive.random_state(8, structured=True), naive.random_data(8)
    local = settled(state, data, 9, structured=True)

    def slope() -> float:
        size = 1e-5
        up, down = (
            naive.elbo(
                moved(state, block, np.random.default_rng(1), sign * size),
                data,
                MODEL,
                local,
                structured=True,
            )
            for sign in (1, -1)
        )
        return abs(up - down) / (2 * size)

    assert slope() > 0.1
    GLOBAL[block](state, data, naive.sums_of(state, data, local))
    assert slope() < 1e-6


def test_one_q_per_node_is_the_best_without_covariances() -> None:
    state, data = naive.random_state(10, structured=True), naive.random_data(10)
    local = settled(state, data, 11, structured=True)
    sums = naive.sums_of(state, data, local)
    for _ in range(200):
        GLOBAL["separate"](state, data, sums)
    best = naive.elbo(state, data, MODEL, local, structured=True)
    rng = np.random.default_rng(12)
    for _ in range(20):
        variance = np.diag(state.cov) * np.exp(0.1 * rng.standard_normal(state.n_nodes))
        mean = state.mean + 0.01 * rng.standard_normal(state.mean.shape)
        other = replace(state, mean=mean, cov=np.diag(variance))
        assert naive.elbo(other, data, MODEL, local, structured=True) < best
    GLOBAL["joint"](state, data, sums)
    assert naive.elbo(state, data, MODEL, local, structured=True) > best


@pytest.mark.parametrize("above", [0, 1, 2, 3])
def test_a_path_that_is_its_prior_leaves_the_bound_where_it_was(above: int) -> None:
    """T3: growing the truncated tree neutrally; what is outside is accounted for exactly."""
    state, data = naive.random_state(13, structured=True), naive.random_data(13)
    n_new = 2 if above == 0 else 1
    parents = [above] if n_new == 1 else [0, state.n_nodes]
    parent = np.append(state.parent, parents)
    order = in_order(parent, np.arange(len(parent)))
    wider = np.zeros((len(parent), len(parent)))
    wider[: state.n_nodes, : state.n_nodes] = state.cov
    wider[range(state.n_nodes, len(parent)), range(state.n_nodes, len(parent))] = (
        MODEL.vector_variance
    )
    grown = replace(
        state,
        parent=renumbered(parent, order),
        mean=np.vstack([state.mean, np.zeros((n_new, data.n_columns))])[order],
        cov=wider[np.ix_(order, order)],
        stick_a=np.append(state.stick_a, np.ones(n_new))[order],
        stick_b=np.append(state.stick_b, np.full(n_new, MODEL.gamma))[order],
    )
    wanted = elbo(state, MODEL)
    assert elbo(grown, MODEL) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("structured", FAMILIES)
def test_reordered_siblings_raise_the_bound_and_change_nothing_else(structured: bool) -> None:
    state = naive.random_state(14, structured=structured)
    sums, _ = local_pass(state, MODEL)
    mass = np.array([0.1, 0.2, 0.3, 3.0, 0.1, 4.0, 1.3])
    after = heavier_first(copy.deepcopy(state), mass, MODEL.gamma)
    assert sorted(map(tuple, after.mean)) == sorted(map(tuple, state.mean))
    order = [state.mean.tolist().index(row) for row in after.mean.tolist()]
    np.testing.assert_array_equal(after.cov, state.cov[np.ix_(order, order)])
    heavier = after.nodes.parent.tolist()
    assert heavier == sorted(heavier) and not np.array_equal(after.mean, state.mean)
    assert globals_term(replace(after, stick_a=state.stick_a, stick_b=state.stick_b), MODEL) == (
        pytest.approx(globals_term(state, MODEL))
    )
    if not structured:
        assert isinstance(state, MeanField) and isinstance(after, MeanField)
        np.testing.assert_array_equal(after.chances, state.chances[:, order])


def test_more_mass_on_a_later_sibling_moves_it_to_the_front() -> None:
    state = naive.random_state(15, structured=True)
    mass = np.array([0.0, 1.0, 1.0, 9.0, 1.0, 5.0, 1.0])
    after = heavier_first(state, mass, MODEL.gamma)
    assert after.mean[1] == pytest.approx(state.mean[3])
