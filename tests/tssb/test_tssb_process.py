"""The tree process: prior, posterior and hyperparameters against enumeration (T2 to T5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nights import by_night
from process_cases import AS_IT_IS, BY_STICKS, CLAMPED, UNORDERED, drawn, run_process
from stepping import advance, begin, corpus_of, settings_of
from tree_cases import (
    FEATURES,
    LITERAL_PSI,
    NO_MISTAKE,
    NO_REMAINDER,
    NO_REORDER,
    PRIOR,
    REDRAWN_U,
    TwoStates,
    at_root,
    evidence,
    run,
    seats,
    statistics,
    urn,
    ways,
    z_scores,
)

from hiertopics.base.arrays import F64
from hiertopics.families.tssb import text
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.stick_kernels import ProcessBounds

LAW = TwoStates(0.7)
DATA = (1, 0, 1)
BOUNDS = ProcessBounds((0.5, 4.0), (0.05, 0.8), (0.5, 5.0))
ONE_LEVEL = ProcessBounds((1e6, 1e6), (0.5, 0.5), (0.5, 10.0))


@pytest.fixture(scope="module")
def flat() -> F64:
    """Return the expected statistics of three data that say nothing."""
    return np.sum([chance * np.array(statistics(state)) for chance, state in urn(3, PRIOR)], axis=0)


@pytest.fixture(scope="module")
def posterior() -> F64:
    """Return the expected statistics given the data 1, 0, 1 (T4)."""
    states = list(urn(3, PRIOR))
    weights = np.array([chance * evidence(state, DATA, LAW.stay) for chance, state in states])
    rows = np.array([statistics(state) for _, state in states], dtype=float)
    return np.asarray(weights @ rows / weights.sum())


def scores(features: Any, expected: F64, n_sweeps: int, mistake: int) -> Any:
    rng = np.random.default_rng(1)
    found = run(features, at_root(3), PRIOR, LAW, n_sweeps, *ways(mistake), rng)
    return dict(zip(FEATURES, z_scores(found, expected).tolist(), strict=True))


def worst(by_name: dict[str, float]) -> float:
    return max(map(abs, by_name.values()))


def test_the_enumeration_is_that_of_the_theory(flat: F64, posterior: F64) -> None:
    states = list(urn(3, PRIOR))
    assert len(states) == 894
    assert sum(chance for chance, _ in states) == pytest.approx(1, abs=1e-12)
    printed = [0.8724, 0.4000, 0.3378, 0.3378, 0.1948, 0.1948, 0.3733, 1.4529]
    assert flat == pytest.approx(printed, abs=6e-5)
    printed = [0.9394, 0.3629, 0.2094, 0.3417, 0.1695, 0.2329, 0.4641, 1.6327]
    assert posterior == pytest.approx(printed, abs=6e-5)


@pytest.mark.slow
def test_data_that_say_nothing_follow_the_urn(flat: F64) -> None:
    """T3: documents without words after four steps, of which two are by the urn too."""
    process = {"alpha0": PRIOR.alpha0, "decay": PRIOR.decay, "gamma": PRIOR.gamma}
    settings = settings_of(
        text.one, n_topics=1, start="prior", start_sweeps=0, max_depth=PRIOR.max_depth, **process
    )
    found = []
    for seed in range(900):
        state, data = begin(text.one, corpus_of(np.zeros((3, 2))), settings, seed=seed)
        state = advance(text.one, state, data, settings, 4, seed=seed)
        found.append(statistics(seats(state.nodes.parent, state.node)))
    rows = np.array(found, dtype=float)
    error = rows.std(axis=0) / np.sqrt(len(rows))
    off = (rows.mean(axis=0) - flat) / error
    assert np.abs(off).max() < 4, dict(zip(FEATURES, off.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [NO_MISTAKE, *by_night(NO_REORDER)], ids=["order redrawn", "order kept"]
)
def test_data_follow_the_enumerated_posterior(order: int, posterior: F64) -> None:
    """T4: states of nodes and nodes of data, with and without the order of children redrawn."""
    features = np.array([[x, 1.0 - x] for x in DATA])
    found = scores(features, posterior, 60_000, order)
    assert worst(found) < 4, found


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "n_sweeps"),
    [(LITERAL_PSI, 30_000), (REDRAWN_U, 60_000), (NO_REMAINDER, 30_000)],
    ids=["psi as printed", "u redrawn after a new stick", "remainder ignored"],
)
def test_known_mistakes_are_rejected(mistake: int, n_sweeps: int, posterior: F64) -> None:
    features = np.array([[x, 1.0 - x] for x in DATA])
    found = scores(features, posterior, n_sweeps, mistake)
    assert worst(found) > 6, found


def process_scores(mistake: int) -> Any:
    start, rng = Process(2.0, 0.4, 2.0, 64), np.random.default_rng(2)
    found = run_process(at_root(3, 1024), start, BOUNDS, LAW, 60_000, *drawn(mistake), rng)
    return z_scores(found[:, :3], np.array([2.25, 0.425, 2.75]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [AS_IT_IS, *by_night(BY_STICKS)], ids=["sticks integrated out", "by sticks"]
)
def test_the_process_keeps_its_uniform_prior(how: int) -> None:
    """T5: alpha0, decay and gamma of data that say nothing; both ways agree with the prior."""
    assert np.abs(process_scores(how)).max() < 4


@pytest.mark.nightly
@pytest.mark.slow
def test_clamped_sticks_are_rejected() -> None:
    """T5: with log(1 - nu) of clamped sticks the posterior of alpha0 and decay is biased."""
    assert np.abs(process_scores(CLAMPED)).max() > 5


def gamma_scores(mistake: int) -> Any:
    start, rng = Process(1e6, 0.5, 2.0, 1), np.random.default_rng(3)
    found = run_process(at_root(3, 256), start, ONE_LEVEL, LAW, 150_000, *drawn(mistake), rng)
    return z_scores(found[:, 2:], np.array([5.25, 35.084, 2.46, 13.62]))


@pytest.mark.slow
def test_gamma_follows_the_positions_of_children() -> None:
    """T5: gamma, its square, the children of the root and gamma times them."""
    assert np.abs(gamma_scores(AS_IT_IS)).max() < 4


@pytest.mark.nightly
@pytest.mark.slow
def test_gamma_by_the_unordered_partition_is_rejected() -> None:
    assert np.abs(gamma_scores(UNORDERED)).max() > 6
