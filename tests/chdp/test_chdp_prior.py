"""Numbers of tables and topics under the prior: by weights, urn and formula.

Source: theory/chdp 1, 8.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, settings_of
from scipy.special import digamma
from stepping import at

from hiertopics.contract.model import Sizes
from hiertopics.families.chdp import gibbs
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.gibbs_kernels import seat_tokens
from hiertopics.families.chdp.layout import link_parents

N_DOCS, LENGTH, ALPHA_DOC, GAMMA = 30, 8, 1.5, 2.0


def expected(customers: float, concentration: float) -> float:
    """Return N(x, c), the expected tables of x customers."""
    return float(concentration * (digamma(concentration + customers) - digamma(concentration)))


def drawn(alpha_group: float, cooperation: str, seed: int) -> tuple[Any, Mapping[str, Any]]:
    """Return the groups of documents and the weights of one draw of the model."""
    keys = {"alpha_doc": ALPHA_DOC, "alpha_group": alpha_group, "gamma": GAMMA, "truncation": 60}
    settings = settings_of(cooperation=cooperation, **keys)
    corpus, truth = gibbs.one.simulate(settings, Sizes(N_DOCS, 2, LENGTH), at(0, seed=seed))
    return corpus.groups, truth


def seat(counts: list[int], concentration: float, rng: np.random.Generator) -> int:
    """Seat one more customer; return the table, which is a new one at the end of ``counts``."""
    target, table = rng.random() * (sum(counts) + concentration), 0
    while table < len(counts) and target >= counts[table]:
        target -= counts[table]
        table += 1
    if table == len(counts):
        counts.append(0)
    counts[table] += 1
    return table


def topics_of_urn(parents: list[list[int]], alpha_group: float, rng: np.random.Generator) -> int:
    """Run the international restaurant process (superposition); return the topics in use."""
    options: dict[int, list[int]] = {}
    by_topic: list[int] = []
    for own in parents:
        tables: list[int] = []
        for _ in range(LENGTH):
            before = len(tables)
            seat(tables, ALPHA_DOC, rng)
            if len(tables) == before:
                continue
            of_group = options.setdefault(own[rng.integers(len(own))], [])
            known = len(of_group)
            if seat(of_group, alpha_group, rng) == known:
                seat(by_topic, GAMMA, rng)
    return len(by_topic)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_tables_of_a_document_are_as_many_as_its_length_and_alpha_doc_say(cooperation: str) -> None:
    """Whatever its groups are: the base of a restaurant does not count its tables."""
    rng, n_tables = np.random.default_rng(0), []
    for seed in range(60):
        tags, truth = drawn(2.0, cooperation, seed)
        parents, columns = link_parents(tags, N_DOCS)
        weights = Weights(
            truth["pi"][columns], truth["pi_0"], parents.uniform(), cooperation == "maximization"
        )
        n_dk = np.array([rng.multinomial(LENGTH, row) for row in truth["theta"]], dtype=np.int32)
        m_dk = np.zeros_like(n_dk)
        seat_tokens(n_dk, ALPHA_DOC, parents, weights, m_dk, np.empty(N_DOCS), rng)
        n_tables.append(m_dk.sum() / N_DOCS)
    error = np.std(n_tables) / np.sqrt(len(n_tables))
    assert abs(np.mean(n_tables) - expected(LENGTH, ALPHA_DOC)) < 4 * error < 0.15


@pytest.mark.parametrize("alpha_group", [1.0, 3.0, 10.0])
def test_topics_in_use_are_as_many_by_weights_as_by_the_urn_and_below_the_formula(
    alpha_group: float,
) -> None:
    """The formula puts means into concave functions: it is too high, if anything."""
    rng = np.random.default_rng(1)
    by_weights, by_urn, formula = [], [], []
    for seed in range(150):
        tags, truth = drawn(alpha_group, "superposition", seed)
        missed = np.exp(LENGTH * np.log1p(-np.minimum(truth["theta"], 1 - 1e-12)).sum(axis=0))
        by_weights.append((1 - missed).sum())
        members = tags.members.toarray()
        parents = [np.flatnonzero(row).tolist() for row in members]
        by_urn.append(topics_of_urn(parents, alpha_group, rng))
        tables = expected(LENGTH, ALPHA_DOC) / members.sum(axis=1)
        options = sum(expected(tables[own > 0].sum(), alpha_group) for own in members.T)
        formula.append(expected(options, GAMMA))
    error = np.sqrt((np.var(by_weights) + np.var(by_urn)) / len(by_urn))
    assert abs(np.mean(by_weights) - np.mean(by_urn)) < 4 * error < 1.3
    assert -4 * error < np.mean(formula) - np.mean(by_weights) < 2
