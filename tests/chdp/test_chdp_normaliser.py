"""chdp-variational, maximization: the ascent that takes the normaliser into account.

Source: theory/chdp 5.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chdp_cases import fit_variational, simulated, with_parents
from chdp_recovery import recover
from scipy.special import digamma, gammaln, polygamma
from stepping import settings_of

from hiertopics.base.errors import ConfigError
from hiertopics.contract.model import Sizes
from hiertopics.families.chdp import variational, variational_kernels as ascent
from hiertopics.families.chdp.variational import weights_of

KEYS: dict[str, Any] = {"cooperation": "maximization", "fit_normaliser": True, "hyper_start": 2}
PARENTS = [[0, 1], [0], [], [1], [0, 1, 2], [2]]


def case(seed: int) -> tuple[Any, Any, Any, Any]:
    """Return target, pull, others and kappa of a group with three documents and five topics."""
    rng = np.random.default_rng(seed)
    others = rng.dirichlet(np.full(5, 0.7), 3) * rng.uniform(0.3, 1, (3, 1))
    return (
        rng.gamma(1.0, 3.0, 5) + 0.1,
        rng.gamma(2.0, 2.0, 3),
        others,
        rng.gamma(1.0, 2.0, 5) + 0.1,
    )


def by_hand(target: Any, pull: Any, others: Any, kappa: Any) -> float:
    logs = digamma(kappa) - digamma(kappa.sum())
    largest = np.maximum(kappa / kappa.sum(), others)
    value = (target - kappa) @ logs - gammaln(kappa.sum()) + gammaln(kappa).sum()
    return float(value - pull @ largest.sum(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_the_surrogate_is_its_formula_and_the_slope_its_difference(seed: int) -> None:
    given = case(seed)
    kappa, found, step = given[3], np.empty(5), 1e-6
    assert ascent.surrogate(*given) == pytest.approx(by_hand(*given), abs=1e-10)
    ascent.slope(*given, found)
    for topic in range(5):
        moved = [kappa + sign * step * np.eye(5)[topic] for sign in (1, -1)]
        rise = by_hand(*given[:3], moved[0]) - by_hand(*given[:3], moved[1])
        assert found[topic] == pytest.approx(rise / (2 * step), abs=1e-6)


def test_trigamma_is_that_of_scipy() -> None:
    x = np.geomspace(1e-4, 1e4, 200)
    found = np.array([ascent.trigamma(value) for value in x])
    np.testing.assert_allclose(found, polygamma(1, x), rtol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_a_climb_never_goes_down_and_ends_where_the_slope_is_small(seed: int) -> None:
    target, pull, others, kappa = case(seed)
    values, slopes = [by_hand(target, pull, others, kappa)], np.empty((2, 5))
    ascent.slope(target, pull, others, kappa, slopes[0])
    before = np.abs(slopes[0] * kappa).max()
    for _ in range(60):
        ascent.climb(target, pull, others, kappa, np.empty(5), np.empty(5))
        values.append(by_hand(target, pull, others, kappa))
    assert min(np.diff(values)) >= 0 and values[-1] > values[0]
    ascent.slope(target, pull, others, kappa, slopes[1])
    # At a kink, where the group is level with a rival, the slope itself does not vanish.
    level = np.isclose(kappa / kappa.sum(), others, rtol=1e-3).any(axis=0)
    assert level.any() or np.abs(slopes[1] * kappa).max() < 0.05 * before


def test_a_group_without_rivals_stays_at_its_prior_and_tables() -> None:
    """Z is 1 whatever the group's means are."""
    target, pull, _, kappa = case(0)
    kappa[:] = target
    ascent.climb(target, pull, np.zeros((3, 5)), kappa, np.empty(5), np.empty(5))
    np.testing.assert_allclose(kappa, target, rtol=1e-6)


@pytest.mark.slow
def test_tables_go_to_the_parent_of_the_largest_expected_logarithm() -> None:
    corpus = with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)
    state, data, _ = fit_variational(corpus, 8, truncation=4, **KEYS)
    m_dk = np.arange(24.0).reshape(6, 4)
    served = np.empty((len(data.parents.group), 4))
    kappa = state.kappa * np.geomspace(0.05, 20.0, len(state.kappa))[:, None]
    ascent.serve_by_best(data.parents, kappa, False, m_dk, served)
    whole = kappa.sum(axis=1, keepdims=True)
    logs, means = digamma(kappa) - digamma(whole), kappa / whole
    assert any((logs[own].argmax(0) != means[own].argmax(0)).any() for own in PARENTS if own)
    for doc, own in enumerate(PARENTS):
        links = served[data.parents.ptr[doc] : data.parents.ptr[doc + 1]]
        for topic in range(4 if own else 0):
            expected = np.zeros(len(own))
            expected[logs[own, topic].argmax()] = m_dk[doc, topic]
            assert links[:, topic].tolist() == expected.tolist()


def test_the_ascent_raises_the_surrogate_of_all_groups_together() -> None:
    corpus = with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)
    state, data, settings = fit_variational(corpus, 8, truncation=4, **KEYS)
    prior, doc_tables = state.alpha_group * state.pi, state.n_dk.sum(axis=1)
    for seed in range(5):
        kappa = np.random.default_rng(seed).gamma(1.0, 3.0, state.kappa.shape) + 0.1
        before = whole_surrogate(kappa, state, prior, doc_tables)
        ascent.ascend(data.parents, state.n_group_tables, prior, doc_tables, kappa)
        assert whole_surrogate(kappa, state, prior, doc_tables) > before + 0.1
    means = state.kappa / state.kappa.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights_of(state, data, settings.model).group, means)


def whole_surrogate(kappa: Any, state: Any, prior: Any, doc_tables: Any) -> float:
    """Return the parts of all groups, with ln Z of each document at the means."""
    means = kappa / kappa.sum(axis=1, keepdims=True)
    total = 0.0
    for group, row in enumerate(kappa):
        target = prior + state.n_group_tables[group]
        total += by_hand(target, np.zeros(0), np.zeros((0, 4)), row)
    for doc, own in enumerate(PARENTS):
        if own:
            total -= doc_tables[doc] * np.log(means[own].max(axis=0).sum())
    return float(total)


def test_superposition_has_no_normaliser_to_fit() -> None:
    corpus, _ = simulated(Sizes(10, 8, 5), truncation=3)
    with pytest.raises(ConfigError, match="fit_normaliser needs model.cooperation maximization"):
        variational.prepare(corpus, settings_of(variational, fit_normaliser=True))


def test_planted_authors_are_found_with_the_normaliser_too() -> None:
    found = recover(variational, "maximization", "maximization", fit_normaliser=True)
    assert found.correlation > 0.95 and found.total_variation < 0.14
