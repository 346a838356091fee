"""The kernels of maximization's slices draw what plain twins draw, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slices_twin as twin
from chdp_cases import settings_of, with_parents

from hiertopics.families.chdp import gibbs, maximum_kernels as maximum
from hiertopics.families.chdp.layout import Parents

PARENTS = [[0, 1, 2], [1], [], [0, 2], [2], [1, 2], [0], [0, 1]]
"""Of documents: several, one, none."""

GROUPS = 3


def parents_of(groups: list[list[int]]) -> Parents:
    """Return the links of documents of these groups."""
    parents: Parents = gibbs.one.prepare(
        with_parents(np.ones((len(groups), 2)), groups, GROUPS), settings_of()
    ).parents
    return parents


def case(n_topics: int, prior: float, seed: int) -> tuple[Any, ...]:
    """Return weights of groups, their prior, tables and rates; documents use some topics."""
    rng = np.random.default_rng(seed)
    log_pi = np.log(rng.dirichlet(np.full(n_topics, 0.3), GROUPS) + 1e-30)
    log_pi -= np.logaddexp.reduce(log_pi, axis=1)[:, None] + 1e-15
    m_dk = rng.poisson(0.7, (len(PARENTS), n_topics)).astype(np.int32)
    rates = rng.gamma(m_dk.sum(axis=1) + 1e-9)
    return log_pi, rng.uniform(0.3, 1.0, n_topics) * prior, m_dk, rates


@pytest.mark.parametrize("room", [maximum.ROOM, 15], ids=["all topics", "pairs"])
@pytest.mark.parametrize("prior", [2.0, 0.02, 1e-6])
@pytest.mark.parametrize("n_topics", [1, 2, 3, 12])
def test_groups_are_sliced_as_by_a_plain_twin(n_topics: int, prior: float, room: int) -> None:
    """Rivals are kept for all topics, for those of a pair, or as the group is small or large."""
    parents = parents_of(PARENTS)
    for seed in range(4):
        log_pi, shapes, m_dk, rates = case(n_topics, prior, seed)
        ours, plain = log_pi.copy(), log_pi.copy()
        rng, twin_rng = np.random.default_rng(seed), np.random.default_rng(seed)
        for _ in range(3):
            maximum.slice_groups(ours, shapes, m_dk, rates, parents, rng, room)
            twin.slice_groups(plain, shapes, m_dk, rates, parents, twin_rng)
            np.testing.assert_array_equal(ours, plain)
        assert rng.bit_generator.state == twin_rng.bit_generator.state
        assert n_topics == 1 or (ours != log_pi).any()


def test_a_sum_that_rounding_has_moved_above_one_is_sliced_as_by_a_plain_twin() -> None:
    """Then a document's term may be above 0, and no density is known to be below a level."""
    parents = parents_of(PARENTS)
    for seed in range(20):
        log_pi, prior, m_dk, rates = case(2, 1.0, seed)
        log_pi += 1e-3
        ours, plain = log_pi.copy(), log_pi.copy()
        rngs = np.random.default_rng(seed), np.random.default_rng(seed)
        maximum.slice_groups(ours, prior, 5000 * m_dk, rates, parents, rngs[0])
        twin.slice_groups(plain, prior, 5000 * m_dk, rates, parents, rngs[1])
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("orphans", [False, True])
@pytest.mark.parametrize("gamma", [0.2, 30.0])
def test_sticks_are_sliced_as_by_a_plain_twin(gamma: float, orphans: bool) -> None:
    rng = np.random.default_rng(3)
    for n_topics in (1, 2, 9):
        sticks = rng.normal(0, 2, n_topics - 1)
        sums = np.log(rng.dirichlet(np.ones(n_topics), 5)).sum(axis=0)
        tables = rng.integers(0, 3, n_topics) * orphans
        ours, plain = sticks.copy(), sticks.copy()
        rngs = np.random.default_rng(n_topics), np.random.default_rng(n_topics)
        for _ in range(4):
            maximum.slice_sticks(ours, gamma, 1.7, sums, 5, tables, rngs[0])
            twin.slice_sticks(plain, gamma, 1.7, sums, 5, tables, rngs[1])
            np.testing.assert_array_equal(ours, plain)
        assert rngs[0].bit_generator.state == rngs[1].bit_generator.state
