"""Draws of the corpus's weights and of mixing weights given the topics, against exact laws."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, advance, begin, settings_of, with_parents
from naive import log_topics, share, stick_nodes
from scipy import stats
from stepping import at

from hiertopics.families.chdp import gibbs, gibbs_kernels, maximum_kernels as maximum
from hiertopics.families.chdp.config import ConcentrationFlags
from hiertopics.families.chdp.gibbs_state import group_weights
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.numeric.priors import GammaPrior

ALPHA, GAMMA = 0.8, 1.3
HELD = ConcentrationFlags(alpha_doc=False, alpha_group=False, gamma=False, eta=False)
DOCS = [[0, 0, 1], [1, 2]]
ROWS = [[2, 1, 0], [0, 1, 1]]


def draw_weights(
    state: Any,
    data: Any,
    settings: Any,
    sampled: ConcentrationFlags,
    rng: Any,
    *,
    reorder: bool = False,
) -> None:
    """Draw them with one generator for the only piece."""
    weights = group_weights(state, settings.model)
    gibbs.draw_weights(state, data, weights, sampled, [rng], reorder=reorder)


@pytest.mark.slow
@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_documents_without_parents_tell_the_corpus_its_weights(cooperation: str) -> None:
    """E[pi_0 | z] by quadrature over the sticks, the tables of both documents drawn each time."""
    settings = settings_of(truncation=3, cooperation=cooperation, alpha_doc=ALPHA, gamma=GAMMA)
    state, data = begin(with_parents(ROWS, [[], []], 1), settings)
    state.n_dk[:] = [[2, 0, 1], [0, 1, 1]]
    nodes = stick_nodes(3, GAMMA, 6)
    z = np.array([[0, 0, 2, 2, 1]])
    weights = [w * np.exp(log_topics(z, DOCS, ALPHA * pi))[0] for w, pi in nodes]
    expected = share(np.array(weights), axis=0) @ np.array([pi for _, pi in nodes])
    rng, drawn = np.random.default_rng(3), np.empty((20_000, 3))
    for row in drawn:
        draw_weights(state, data, settings, HELD, rng)
        row[:] = np.exp(state.log_pi_0)
    batches = drawn.reshape(40, 500, 3).mean(axis=1)
    error = batches.std(axis=0) / math.sqrt(40)
    assert (np.abs(batches.mean(axis=0) - expected) < 4 * error).all()
    assert (error < 0.008).all()
    assert np.abs(expected - [2 / 5, 1 / 5, 2 / 5]).max() > 0.05


def test_mixing_weights_of_a_document_without_words_follow_their_prior() -> None:
    """Dir(1, 1, 1) for three parents: each share is Beta(1, 2)."""
    settings = settings_of(truncation=3, weights="learned")
    state, data = begin(with_parents([[0, 0, 0], *ROWS], [[0, 1, 2], [0], [1, 2]], 3), settings)
    rng, drawn = np.random.default_rng(4), []
    for _ in range(2000):
        draw_weights(state, data, settings, HELD, rng)
        drawn.append(state.share[:3])
    for found in np.array(drawn).T:
        assert stats.kstest(found, stats.beta(1, 2).cdf).pvalue > 1e-3


def test_auxiliary_rates_are_gamma_numbers_of_tables_and_normaliser() -> None:
    """u_d ~ Gamma(tables of d, rate Z_d): scaled by Z_d a standard one; 0 without a table."""
    m_dk = np.array([[2, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=np.int32)
    totals = np.array([1.9, 1.0, 1.2])
    rng = np.random.default_rng(5)
    drawn = np.array([maximum.draw_rates(m_dk, totals, rng) for _ in range(4000)])
    assert not drawn[:, 1].any()
    for doc, n_tables in ((0, 3), (2, 1)):
        assert stats.kstest(totals[doc] * drawn[:, doc], stats.gamma(n_tables).cdf).pvalue > 1e-3


def test_the_rivals_of_a_group_are_the_other_parents() -> None:
    links = [[0, 1, 2], [1], [0, 2]]
    parents = gibbs.one.prepare(with_parents(np.ones((3, 2)), links, 3), settings_of()).parents
    log_pi = np.log(np.random.default_rng(6).dirichlet(np.ones(4), 3))
    for group in range(3):
        first, last = parents.group_ptr[group], parents.group_ptr[group + 1]
        given = (parents.doc, first, last, parents.ptr, parents.group)
        logs, weights = np.empty((last - first, 4)), np.zeros((last - first, 4))
        maximum.find_rivals(log_pi, group, *given, logs, weights)
        none = np.full(4, -math.inf)
        expected = [
            np.max([none, *(log_pi[g] for g in links[doc] if g != group)], axis=0)
            for doc in parents.doc[first:last]
        ]
        np.testing.assert_array_equal(logs, expected)
        np.testing.assert_allclose(weights, np.exp(expected), rtol=1e-14)
        maximum.find_rivals_of_pair(log_pi, group, 3, 1, *given, logs, weights)
        np.testing.assert_array_equal(logs[:, :2], np.array(expected)[:, [3, 1]])
        np.testing.assert_allclose(weights[:, :2], np.exp(logs[:, :2]), rtol=1e-14)


def test_groups_are_shown_at_their_mean_given_the_tables() -> None:
    """Superposition: (tables + alpha_group pi_0) / their sum, topics largest first."""
    rows = np.random.default_rng(7).poisson(2.0, (6, 5))
    settings = settings_of(truncation=3, alpha_group=4.0, hold=("alpha_group",), hyper_start=0)
    state, data = begin(with_parents(rows, [[0, 1], [0], [1], [0], [1], [0, 1]], 2), settings)
    state = advance(state, data, settings, 4)
    assert state.n_k.min() > 0
    tree = gibbs.one.summarise(state, data, settings, at(0)).tree
    weights = state.n_group_tables + 4.0 * np.exp(state.log_pi_0)
    weights = weights[:, np.argsort(-state.n_k, kind="stable")]
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(tree.extra["group_theta"], expected, rtol=1e-9)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_only_the_prior_of_the_sticks_sees_their_order(cooperation: str) -> None:
    """4.4: tokens, tables, weights of corpus and groups go with their topic to its new stick."""
    settings = settings_of(truncation=6, hyper_start=0, cooperation=cooperation)
    corpus = with_parents([*ROWS, [3, 1, 1], [0, 0, 2]], [[0, 1], [1], [], [0, 1]], 2)
    state, data = begin(corpus, settings)
    state = advance(state, data, settings, 5)
    moved = 0
    for turn in range(40):
        before = gibbs.one.objective(state, data, settings, at(0))
        topics, first = by_topic(state), state.log_pi_0[0]
        of_tokens = state.log_pi_0[state.z]
        gibbs._reorder(state, CONCENTRATION_PRIOR, np.random.default_rng(turn))
        moved += state.log_pi_0[0] != first
        assert gibbs.one.objective(state, data, settings, at(0)) == pytest.approx(before, rel=1e-12)
        assert by_topic(state) == topics
        np.testing.assert_array_equal(state.log_pi_0[state.z], of_tokens)
        np.testing.assert_allclose(
            gibbs_kernels.log_weights(state.sticks), state.log_pi_0, rtol=1e-9
        )
    assert moved > 5


@pytest.mark.parametrize("reorder", [False, True])
def test_gamma_and_the_order_are_drawn_together(reorder: bool) -> None:
    """Without a token gamma and -gamma log(1 - v) stay Exp(1), what they are beforehand."""
    settings = settings_of(truncation=4)
    state, data = begin(with_parents([[0, 0]], [[0]], 1), settings)
    rng, drawn = np.random.default_rng(8), np.empty((6000, 4))
    for row in drawn:
        state.gamma = rng.exponential()
        draw_weights(state, data, settings, HELD._replace(gamma=True), rng, reorder=reorder)
        row[:] = state.gamma, *(state.gamma * np.logaddexp(0.0, state.sticks))
    for column in drawn.T:
        assert stats.kstest(column, "expon").pvalue > 1e-3


def by_topic(state: Any) -> list[tuple[float, ...]]:
    """Return all that a state says of each topic, whatever its number."""
    rows = (state.log_pi_0, state.n_k, state.n_tables, *state.log_pi, *state.n_group_tables)
    return sorted(zip(*(row.tolist() for row in rows), strict=True))


def test_no_order_is_redrawn_where_the_settings_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gibbs, "_reorder", lambda *_: 1 / 0)
    for reorder in (False, True):
        settings = settings_of(truncation=4, hyper_start=0, reorder_sticks=reorder)
        state, data = begin(with_parents(ROWS, [[0], [1]], 2), settings)
        with pytest.raises(ZeroDivisionError) if reorder else nullcontext():
            advance(state, data, settings, 1)


@pytest.mark.parametrize("sampled", [False, True])
def test_the_order_is_drawn_under_gamma_where_that_is_held(
    sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4.4: integrated out only where it is drawn next."""
    hold = () if sampled else ("gamma",)
    settings = settings_of(truncation=4, hyper_start=0, hold=hold, gamma=2.5)
    state, data = begin(with_parents(ROWS, [[0], [1]], 2), settings)
    given = []

    def redraw(log_weights: Any, gamma: float | GammaPrior, rng: Any) -> Any:
        given.append(gamma)
        return np.arange(len(log_weights))

    monkeypatch.setattr(gibbs, "redraw_order", redraw)
    advance(state, data, settings, 1)
    assert given == [CONCENTRATION_PRIOR if sampled else 2.5]
