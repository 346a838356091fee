"""The PCVB0 bound: its surrogate along a fit, its place below the evidence.

Source: theory/hdp 11.5, 11.6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import begin, best_point, fitted, pairs_of, planted, token_rows
from naive import Point, posterior, stick_nodes, surrogate, true_bound
from scipy.special import gammaln
from stepping import advance, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.families.flat import sticks
from hiertopics.families.flat.concentrations import step_concentration
from hiertopics.families.hdp.variational import pcvb0

TINY = corpus_of([[1, 1, 1, 0], [1, 0, 0, 1]])
CONCENTRATIONS: dict[str, Any] = {"alpha": 0.8, "gamma": 1.3, "eta": 0.3}


def log_evidence(alpha: float, gamma: float, word_prior: F64) -> float:
    """Return log p(w) of the tiny corpus under three topics."""
    return posterior(docs_of(TINY), alpha, word_prior, stick_nodes(3, gamma, 6)).log_evidence


@pytest.mark.slow
@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_surrogate_rises_along_a_fit(prior: str, reorder: bool) -> None:
    """11.5: on 300 documents, with no fall beyond 0.1% of the whole rise."""
    corpus = planted(21, n_docs=300, n_words=120, n_topics=6, length=40).train
    settings = settings_of(pcvb0, truncation=15, hyper_start=0, prior=prior, reorder_sticks=reorder)
    state, data = begin(pcvb0, corpus, settings)
    pairs, curve = pairs_of(corpus), []
    for iteration in range(60):
        state = advance(pcvb0, state, data, settings, 1, start=iteration)
        point = best_point(state, reorder=reorder)
        curve.append(surrogate(pairs, state.resp, point, corpus.n_docs, corpus.n_words))
    rise = curve[-1] - curve[0]
    assert rise > 1000
    assert min(np.diff(curve)) > -1e-3 * rise


def test_surrogate_is_the_true_bound_where_topics_are_certain() -> None:
    """11.5: without variance there is nothing to approximate."""
    q = np.eye(3)[[0, 0, 1, 2, 0]]
    point = Point(0.8, 1.3, 1.2, np.full(4, 0.25), np.arange(3), np.ones(2), np.full(2, 2.0))
    exact = true_bound(docs_of(TINY), token_rows(TINY, q), point)
    rough = surrogate(pairs_of(TINY), q, point, TINY.n_docs, TINY.n_words)
    assert rough == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("iterations", [1, 200])
def test_true_bound_lies_below_the_evidence(seed: int, iterations: int) -> None:
    """11.6: at fixed concentrations and at learned ones, from many starts, and not far below."""
    for hyper_start in (0, 10**6):
        state, _, _ = fitted(
            pcvb0,
            TINY,
            iterations,
            seed=seed,
            truncation=3,
            hyper_start=hyper_start,
            **CONCENTRATIONS,
        )
        evidence = log_evidence(state.alpha, state.gamma, state.word_mass * state.tau)
        bound = true_bound(docs_of(TINY), token_rows(TINY, state.resp), best_point(state))
        assert evidence - 3.0 < bound < evidence


def test_true_bound_is_exact_but_for_the_paper_s_inequality() -> None:
    """11.6: with one topic only Gamma(a + n)/Gamma(a) >= a Gamma(n) is lost, so that a term
    counted twice, or not at all, would show.
    """
    point = Point(0.8, 1.0, 1.2, np.array([0.4, 0.3, 0.2, 0.1]), np.array([0]), *np.zeros((2, 0)))
    q = token_rows(TINY, np.ones((TINY.n_pairs, 1)))
    word_prior = point.word_mass * point.tau
    lost = sum(
        gammaln(a + n) - gammaln(a) - np.log(a) - gammaln(n)
        for a, n in [(0.8, 3), (0.8, 2), (word_prior[0], 2), *[(a, 1) for a in word_prior[1:]]]
    )
    evidence = posterior(docs_of(TINY), 0.8, word_prior, [(1.0, np.ones(1))]).log_evidence
    assert true_bound(docs_of(TINY), q, point) == pytest.approx(evidence - lost, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_closed_forms_never_lower_the_true_bound(seed: int) -> None:
    """3.3, 3.4: sticks, alpha, gamma and tau, one after the other, at exact expectations."""
    rng = np.random.default_rng(seed)
    docs = docs_of(TINY)
    rows = rng.dirichlet(np.full(3, 0.5), 5)
    q = [rows[:3].tolist(), rows[3:].tolist()]
    tables = np.array([sum(1 - np.prod(1 - np.array(doc)[:, k]) for doc in q) for k in range(3)])
    point = Point(2.0, 3.0, 1.5, rng.dirichlet(np.ones(4)), np.arange(3), np.ones(2), np.ones(2))
    curve = [true_bound(docs, q, point)]

    def move(changed: Point) -> Point:
        curve.append(true_bound(docs, q, changed))
        return changed

    for _ in range(3):
        found = sticks.fit_sticks(tables, point.gamma, reorder=False)
        point = move(point._replace(a=found.a, b=found.b))
        lengths = np.array([3, 2])
        alpha = step_concentration(point.alpha, tables.sum(), lengths)
        point = move(point._replace(alpha=alpha))
        point = move(point._replace(gamma=sticks.best_gamma(found)))
    assert min(np.diff(curve)) > -1e-12
    assert curve[-1] > curve[0] + 0.1
