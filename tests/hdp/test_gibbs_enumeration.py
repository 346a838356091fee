"""The Gibbs sampler against the enumerated posterior of five tokens (theory/hdp 6, V9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hdp_cases import begin
from naive import Exact, log_topics, posterior, share, stick_nodes
from stepping import at, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.families.hdp import gibbs
from hiertopics.families.hdp.gibbs_kernels import draw_tables

ALPHA, GAMMA, ETA = 0.8, 1.3, 0.3
CORPUS = corpus_of([[1, 1, 1, 0], [1, 0, 0, 1]])
WORD_PRIOR = np.array([0.5, 0.1, 0.4, 0.2])
N_SWEEPS = 2_000_000


class Run(NamedTuple):
    """Visits of each assignment, in lexicographic order, and the mean of pi."""

    visits: I64
    mean_pi: F64

    def distance(self, exact: Exact) -> float:
        """Return the total variation from the exact posterior."""
        return float(np.abs(self.visits / self.visits.sum() - exact.chances).sum() / 2)


@numba.njit
def draw_sticks(tables: I64, gamma: float, rng: Any, pi: F64) -> None:
    """Draw pi given the tables of each topic (step 3)."""
    rest, after = 1.0, tables.sum()
    for topic in range(len(pi) - 1):
        after -= tables[topic]
        remainder = rng.beta(gamma + after, 1.0 + tables[topic])
        pi[topic] = rest * (1.0 - remainder)
        rest *= remainder
    pi[-1] = rest


@numba.njit
def sample(
    sweep: Any, cells: Cells, tables: TokenTopics, words: F64, n_sweeps: int, rng: Any
) -> tuple[I64, F64]:
    """Alternate the package's sweep and tables with a draw of the sticks, all else fixed."""
    n_topics = tables.n_dk.shape[1]
    pi = np.full(n_topics, 1.0 / n_topics)
    visits, pi_sum = np.zeros(n_topics ** len(tables.z), np.int64), np.zeros(n_topics)
    ones = np.ones(len(tables.n_dk))
    for _ in range(n_sweeps):
        sweep(cells, 0, 0, tables, PseudoCounts(ALPHA * pi, words, words.sum()), rng)
        by_doc, by_topic = np.zeros(len(tables.n_dk), np.int64), np.zeros(n_topics, np.int64)
        draw_tables(tables.n_dk, ones, ALPHA * pi, by_doc, by_topic, rng)
        draw_sticks(by_topic, GAMMA, rng, pi)
        code = 0
        for topic in tables.z:
            code = n_topics * code + topic
        visits[code] += 1
        pi_sum += pi
    return visits, pi_sum / n_sweeps


@pytest.fixture(scope="module")
def exact() -> Exact:
    """Return the posterior over all 243 assignments, sticks integrated by quadrature."""
    return posterior(docs_of(CORPUS), ALPHA, WORD_PRIOR, stick_nodes(3, GAMMA, 6))


@pytest.fixture(scope="module", params=[sweep_block, sweep_block_by_lists])
def run(request: pytest.FixtureRequest) -> Run:
    """Return a long run at fixed concentrations."""
    state, data = begin(gibbs, CORPUS, settings_of(gibbs, truncation=3))
    tables = TokenTopics(state.z, state.n_dk, state.n_wk, state.n_k)
    rng = np.random.default_rng(9)
    return Run(*sample(request.param, data.cells, tables, WORD_PRIOR, N_SWEEPS, rng))


@pytest.mark.slow
def test_assignments_are_visited_as_often_as_the_posterior_says(run: Run, exact: Exact) -> None:
    """V9: total variation over 243 assignments below 0.01."""
    assert run.distance(exact) < 0.01


@pytest.mark.slow
def test_mean_weights_are_those_of_the_posterior(run: Run, exact: Exact) -> None:
    """V9: E[pi] to 2e-3."""
    np.testing.assert_allclose(run.mean_pi, exact.mean_pi, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: posterior(docs_of(CORPUS), 1.2, WORD_PRIOR, stick_nodes(3, GAMMA, 6)),
        lambda: posterior(docs_of(CORPUS), ALPHA, 1.3 * WORD_PRIOR, stick_nodes(3, GAMMA, 6)),
        lambda: posterior(docs_of(CORPUS), ALPHA, WORD_PRIOR, stick_nodes(3, 1.7, 6)),
    ],
    ids=["alpha", "words", "gamma"],
)
def test_posteriors_of_other_priors_are_told_apart(run: Run, wrong: Callable[[], Exact]) -> None:
    """The distance would notice concentrations that are off by a third."""
    assert run.distance(wrong()) > 0.03


@pytest.mark.slow
def test_document_side_draws_weights_given_topics() -> None:
    """6, steps 2 and 3, as ``step`` does them: with z, alpha and gamma held, E[pi | z] to 1%."""
    state, data = begin(gibbs, CORPUS, settings_of(gibbs, truncation=3, gamma=GAMMA))
    z = np.array([[0, 0, 2, 2, 1]])
    state.n_dk[:] = [[2, 0, 1], [0, 1, 1]]
    nodes = stick_nodes(3, GAMMA, 6)
    weights = [w * np.exp(log_topics(z, docs_of(CORPUS), ALPHA * pi))[0] for w, pi in nodes]
    expected = share(np.array(weights), axis=0) @ np.array([pi for _, pi in nodes])
    draws = []
    for iteration in range(20_000):
        state.alpha, state.gamma = ALPHA, GAMMA
        gibbs._draw_document_side(state, data, at(iteration))
        draws.append(state.pi)
    np.testing.assert_allclose(np.mean(draws, axis=0), expected, atol=0.01)
