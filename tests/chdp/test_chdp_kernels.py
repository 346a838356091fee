"""Kernels against plain twins, known laws and densities written out (theory/chdp 4)."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import slices_twin as twin
from chdp_cases import COOPERATIONS, advance, begin, settings_of, simulated, with_parents
from naive import antoniak, sweep_by_lists
from naive_chdp import base, log_groups, log_sticks, sweep as naive_sweep
from scipy import stats

from hiertopics.contract.model import Sizes
from hiertopics.families.chdp import gibbs, gibbs_kernels, maximum_kernels as maximum
from hiertopics.families.chdp.base_kernels import DocumentBases, Weights
from hiertopics.families.chdp.gibbs_state import weights_of
from hiertopics.families.flat import sweep_kernels
from hiertopics.families.flat.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.flat.token_kernels import TokenTopics, draw_n_tables

PARENTS = [[0, 2], [], [1], [0, 1, 2], [2]]


@pytest.mark.parametrize("cooperation", COOPERATIONS)
@pytest.mark.parametrize("n_topics", [3, 40])
@pytest.mark.parametrize("by_lists", [False, True])
def test_a_sweep_draws_what_its_plain_twin_draws(
    by_lists: bool, cooperation: str, n_topics: int
) -> None:
    """40 topics need more than one block of the draw, and more than one vector of a list."""
    rng = np.random.default_rng(3)
    corpus = with_parents(rng.poisson(0.7, (5, 6)), PARENTS, 3)
    settings = settings_of(cooperation=cooperation, truncation=n_topics)
    state, data = begin(corpus, settings)
    pi, pi_0 = rng.dirichlet(np.ones(n_topics), 3), rng.dirichlet(np.ones(n_topics))
    weights = Weights(pi, pi_0, data.parents.uniform(), cooperation == "maximization")
    rows = corpus.counts.toarray()
    docs = [np.repeat(np.arange(6), row).tolist() for row in rows]
    cuts = np.cumsum(data.doc_lengths)[:-1]
    z = [part.tolist() for part in np.split(state.z, cuts)]
    bases = np.array(
        [base(p, pi, pi_0, np.full(len(p), 1 / max(len(p), 1)), weights.maximization)
         for p in PARENTS]
    )  # fmt: skip
    ours, twin = np.random.default_rng(8), np.random.default_rng(8)
    tables = TokenTopics(state.z, state.n_dk, state.n_wk, state.n_k)
    prior = DocumentBases(data.parents, weights, 1.7, np.full(6, 0.3), 0.3 * 6)
    visit = sweep_block_by_lists if by_lists else sweep_block
    for _ in range(3):
        visit(data.cells, 0, 0, tables, prior, ours)
        if by_lists:
            sweep_by_lists(docs, z, 1.7 * bases, np.full(6, 0.3), twin)
        else:
            naive_sweep(docs, z, bases, 1.7, 0.3, 6, twin)
        assert [part.tolist() for part in np.split(state.z, cuts)] == z
    assert ours.bit_generator.state == twin.bit_generator.state
    recount = np.zeros_like(state.n_wk)
    np.add.at(recount, (data.cells.word, state.z), 1)
    assert (state.n_wk == recount).all() and (state.n_k == recount.sum(axis=0)).all()


@pytest.mark.parametrize("n_topics", [1, 5, 32, 33, 100])
def test_a_draw_in_blocks_is_in_proportion_and_never_takes_a_zero(n_topics: int) -> None:
    rng = np.random.default_rng(n_topics)
    weights = rng.random(n_topics) * (rng.random(n_topics) < 0.6)
    weights[n_topics // 2] += 1.0
    ends = np.empty(-(-n_topics // sweep_kernels.BLOCK))
    uniforms = (np.arange(4000) + 0.5) / 4000
    drawn = [sweep_kernels.draw_in_blocks(weights, ends, u) for u in [*uniforms, 0.0, 1 - 1e-16]]
    share = np.bincount(drawn[:4000], minlength=n_topics) / 4000
    np.testing.assert_allclose(share, weights / weights.sum(), atol=1 / 4000)
    assert (weights[drawn] > 0).all()


def test_tables_follow_the_antoniak_law() -> None:
    rng = np.random.default_rng(5)
    for n_tokens, x in ((6, 0.7), (4, 3.0)):
        drawn = np.array([draw_n_tables(n_tokens, x, rng) for _ in range(20_000)])
        expected = antoniak(n_tokens, x) * 20_000
        found = np.bincount(drawn, minlength=len(expected))
        used = expected > 0
        assert found[~used].sum() == 0
        assert stats.chisquare(found[used], expected[used]).pvalue > 1e-3


def test_the_first_customer_opens_a_table_whatever_has_underflowed() -> None:
    rng = np.random.default_rng(0)
    assert [draw_n_tables(n, 0.0, rng) for n in (0, 1, 50)] == [0, 1, 1]


def test_tables_are_split_in_proportion_to_share_and_weight() -> None:
    corpus = with_parents(np.ones((2, 2)), [[0, 1, 2], []], 3)
    data = gibbs.one.prepare(corpus, settings_of(truncation=2))
    pi = np.array([[0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
    share = np.array([0.2, 0.5, 0.3])
    weights = Weights(pi, np.array([0.5, 0.5]), share, False)
    m_dk = np.array([[30_000, 40_000], [7, 8]], dtype=np.int32)
    by_group, by_link = np.zeros((3, 2), dtype=np.int32), np.zeros(3, dtype=np.int64)
    gibbs_kernels.split_tables(
        m_dk, data.parents, weights, by_group, by_link, np.random.default_rng(1)
    )
    assert by_group.sum(axis=0).tolist() == [30_000, 40_000]
    assert by_link.tolist() == by_group.sum(axis=1).tolist()
    for topic in range(2):
        chance = share * pi[:, topic] / (share @ pi[:, topic])
        used = chance > 0
        assert by_group[~used, topic].sum() == 0
        expected = chance[used] * m_dk[0, topic]
        assert stats.chisquare(by_group[used, topic], expected).pvalue > 1e-3


def test_log_gamma_draws_have_the_law_also_where_the_number_underflows() -> None:
    rng = np.random.default_rng(6)
    for shape in (0.3, 1.0, 4.5):
        drawn = np.exp([gibbs_kernels.draw_log_gamma(shape, rng) for _ in range(5000)])
        assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 1e-3
    # For a tiny shape c, c log g is minus an exponential number.
    drawn = np.array([-1e-6 * gibbs_kernels.draw_log_gamma(1e-6, rng) for _ in range(5000)])
    assert np.isfinite(drawn).all() and stats.kstest(drawn, "expon").pvalue > 1e-3


def test_logit_sticks_are_beta_draws() -> None:
    counts, rng = np.array([3, 0, 5, 2]), np.random.default_rng(7)
    drawn = np.empty((4000, 3))
    for row in drawn:
        gibbs_kernels.draw_sticks(counts, 0.9, row, rng)
    for place, (a, b) in enumerate([(4, 7.9), (1, 7.9), (6, 2.9)]):
        taken = 1 / (1 + np.exp(-drawn[:, place]))
        assert stats.kstest(taken, stats.beta(a, b).cdf).pvalue > 1e-3


def test_density_of_a_pair_is_that_of_all_weights_along_it() -> None:
    """4.3.2: differences along the pair's line equal those of the whole target and Jacobian."""
    rng = np.random.default_rng(9)
    data = gibbs.one.prepare(with_parents(np.ones((5, 2)), PARENTS, 3), settings_of())
    log_pi = np.log(rng.dirichlet(np.ones(4), 3))
    prior, rates = rng.random(4) + 0.1, rng.random(5) * 4
    m_dk = rng.integers(0, 4, (5, 4)).astype(np.int32)
    for group in range(3):
        docs = data.parents.doc[slice(*data.parents.group_ptr[group : group + 2])]
        rivals = np.array([[twin.rival(log_pi, group, k, d, data.parents) for k in (1, 3)]
                           for d in docs])  # fmt: skip
        log_sum = np.logaddexp(log_pi[group, 1], log_pi[group, 3])
        ours, whole = [], []
        for t in (-7.0, -0.4, 0.0, 1.3, 30.0):
            moved = log_pi.copy()
            moved[group, [1, 3]] = maximum.part_sum(t, log_sum)
            one, two = moved[group, [1, 3]]
            density = maximum.pair_density(
                one, two, 1, 3, prior[1], prior[3], m_dk, rates, docs, 0, len(docs),
                rivals, np.exp(rivals), 0, 1,
            )  # fmt: skip
            ours.append(density)
            jacobian = moved[group, 1] + moved[group, 3]
            whole.append(log_groups(moved, prior, m_dk.astype(float), rates, PARENTS) + jacobian)
        np.testing.assert_allclose(np.diff(ours), np.diff(whole), rtol=1e-10)


def test_a_sum_is_parted_without_overflow() -> None:
    for t in (-1e6, -30.0, 0.0, 2.0, 1e6):
        one, two = maximum.part_sum(t, -0.7)
        assert one - two == pytest.approx(t) and np.logaddexp(one, two) == pytest.approx(-0.7)


def test_density_of_sticks_is_that_of_beta_priors_and_dirichlet_groups() -> None:
    rng = np.random.default_rng(10)
    log_pi = np.log(rng.dirichlet(np.ones(4), 3))
    orphans = np.array([2, 0, 1, 3])
    ours, whole = [], []
    for _ in range(5):
        sticks = rng.normal(0, 2, 3)
        sums = log_pi.sum(axis=0)
        logs = (-np.logaddexp(0.0, -sticks), -np.logaddexp(0.0, sticks))
        given = (*logs, 0.7, 1.9, sums, 3, orphans, np.empty(4))
        ours.append(maximum.stick_density(0, 0.0, 0.0, 0.0, *given))
        whole.append(log_sticks(sticks, 0.7, 1.9, log_pi, orphans))
    np.testing.assert_allclose(np.diff(ours), np.diff(whole), rtol=1e-9)


def test_slices_without_data_leave_the_prior_of_groups() -> None:
    """8.7: no tables, no rates: pi stays Dir(alpha_group pi_0), in mean and variance."""
    rng = np.random.default_rng(11)
    data = gibbs.one.prepare(with_parents(np.ones((2, 2)), [[0, 1], [0]], 2), settings_of())
    prior = np.array([0.9, 0.35, 0.05])
    log_pi = np.log(rng.dirichlet(np.ones(3), 2))
    no_tables, no_rates = np.zeros((2, 3), dtype=np.int32), np.zeros(2)
    drawn = np.empty((60_000, 3))
    for row in drawn:
        maximum.slice_groups(log_pi, prior, no_tables, no_rates, data.parents, rng)
        row[:] = np.exp(log_pi[0])
    drawn = drawn[100:]
    law = stats.dirichlet(prior)
    for found, expected in ((drawn, law.mean()), ((drawn - law.mean()) ** 2, law.var())):
        batches = found[: len(found) // 50 * 50].reshape(50, -1, 3).mean(axis=1)
        error = batches.std(axis=0) / np.sqrt(49)
        assert (np.abs(batches.mean(axis=0) - expected) < 4 * error).all()
        assert (error < 0.15 * np.abs(expected) + 0.002).all()


def test_slices_of_the_corpus_leave_its_prior() -> None:
    """Sticks and alpha_group without a group are drawn from their priors."""
    rng, sums = np.random.default_rng(12), np.zeros(3)
    sticks, orphans, alpha = np.zeros(2), np.zeros(3, dtype=np.int64), 1.0
    drawn = np.empty((20_000, 3))
    for row in drawn:
        maximum.slice_sticks(sticks, 1.6, 1.0, sums, 0, orphans, rng)
        log_pi_0 = gibbs_kernels.log_weights(sticks)
        alpha = maximum.slice_alpha(alpha, log_pi_0, sums, 0, 1.0, 1.0, rng)
        row[:] = *(1 / (1 + np.exp(-sticks))), alpha
    thinned = drawn[::20]
    for place in range(2):
        assert stats.kstest(thinned[:, place], stats.beta(1, 1.6).cdf).pvalue > 1e-3
    assert stats.kstest(thinned[:, 2], "expon").pvalue > 1e-3


def test_counts_of_a_long_chain_stay_those_of_its_topics() -> None:
    corpus, _ = simulated(Sizes(20, 30, 25), truncation=6)
    for cooperation in COOPERATIONS:
        settings = settings_of(cooperation=cooperation, truncation=9, hyper_start=0, shards=2)
        state, data = begin(corpus, settings)
        state = advance(state, data, settings, 12)
        doc = np.repeat(np.arange(20), data.doc_lengths)
        n_dk, n_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
        np.add.at(n_dk, (doc, state.z), 1)
        np.add.at(n_wk, (data.cells.word, state.z), 1)
        assert (n_dk == state.n_dk).all() and (n_wk == state.n_wk).all()
        assert (state.n_k == n_dk.sum(axis=0)).all()
        weights = weights_of(state, data, settings.model)
        np.testing.assert_allclose(weights.group.sum(axis=1), 1, atol=1e-12)
        assert weights.corpus.sum() == pytest.approx(1, abs=1e-12)


def test_concentrations_stay_where_they_are_told_to() -> None:
    corpus, _ = simulated(Sizes(10, 20, 15), truncation=4)
    names = ("alpha_doc", "alpha_group", "gamma", "eta")
    for name in names:
        settings = settings_of(truncation=4, hyper_start=0, hold=(name,))
        state, data = begin(corpus, settings)
        start = copy.copy(state)
        state = advance(state, data, settings, 3)
        kept = [other for other in names if getattr(state, other) == getattr(start, other)]
        assert kept == [name]
