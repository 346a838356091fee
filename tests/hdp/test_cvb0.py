"""Expected tables and the global step of CVB0 against exact expectations (theory/hdp 5.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import begin, fitted, pairs_of, random_corpus, token_rows
from naive import (
    CvbPoint,
    Gamma,
    cvb_bound,
    cvb_sweep,
    cvb_tables,
    expected_tables,
    fit_sticks,
    mean_weights,
    pair_sweep,
    poisson_binomial,
)
from scipy.special import digamma, polygamma
from stepping import advance, at, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings
from hiertopics.families.flat import moments, variational
from hiertopics.families.flat.layout import Data
from hiertopics.families.hdp import posteriors
from hiertopics.families.hdp.variational import cvb0

CONCENTRATIONS = [0.001, 0.004, 0.016, 0.06, 0.2, 0.4, 0.8, 3.0]


class Count(NamedTuple):
    """A sum of independent Bernoulli variables."""

    chances: F64

    @property
    def seen(self) -> float:
        """P(n >= 1)."""
        return float(1.0 - np.prod(1.0 - self.chances))

    @property
    def mean(self) -> float:
        """E[n]."""
        return float(self.chances.sum())

    @property
    def variance(self) -> float:
        """Var[n]."""
        return float((self.chances * (1.0 - self.chances)).sum())

    def exact(self, x: float) -> float:
        """Return the expected tables under concentration x."""
        return expected_tables(poisson_binomial(self.chances.tolist()), x)

    def approximate(self, x: float) -> float:
        """Return what the kernel makes of the moments."""
        by_row, by_column = np.zeros(1), np.zeros(1)
        mean, variance, seen = (
            np.full((1, 1), value) for value in (self.mean, self.variance, self.seen)
        )
        moments.expected_tables(
            0, 1, mean, variance, seen, np.full(1, x), np.ones(1), by_row, by_column
        )
        assert by_row == by_column
        return float(by_row[0])


def random_counts(seed: int) -> list[Count]:
    """Return counts of 2 to 40 tokens with chances from diffuse to certain."""
    rng = np.random.default_rng(seed)
    shapes = [(0.05, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0, 5.0), (5.0, 1.0)]
    return [Count(rng.beta(*shape, n)) for shape in shapes for n in (2, 8, 40)]


@pytest.mark.parametrize("x", CONCENTRATIONS)
def test_expected_tables_are_near_the_exact_expectation(x: float) -> None:
    """V7b: conditioned on n > 0, to second order: at most half a percent off."""
    for count in random_counts(41):
        assert count.approximate(x) == pytest.approx(count.exact(x), rel=5e-3)


@pytest.mark.parametrize("x", CONCENTRATIONS)
def test_expected_tables_equal_their_formula(x: float) -> None:
    """5.2: written out with SciPy's digamma and polygamma."""
    for count in random_counts(42):
        given = count.mean / count.seen
        spread = (count.variance + count.mean**2) / count.seen - given**2
        growth = digamma(x + given) - digamma(x) + spread / 2 * polygamma(2, x + given)
        assert count.approximate(x) == pytest.approx(x * count.seen * growth, rel=1e-9)


def rare(chance: float, n_tokens: int) -> Count:
    return Count(np.full(n_tokens, 1.0 - (1.0 - chance) ** (1.0 / n_tokens)))


@pytest.mark.parametrize("x", [1e-3, 0.5, 20.0])
@pytest.mark.parametrize("n_tokens", [1, 2, 50])
def test_rare_cells_make_one_table(x: float, n_tokens: int) -> None:
    """A cell below ``RARE`` counts as one table if seen: to a relative error of P / 2."""
    for chance in (1e-6, 0.9 * moments.RARE):
        count = rare(chance, n_tokens)
        assert count.approximate(x) == pytest.approx(count.seen, rel=1e-12)
        error = count.approximate(x) / count.exact(x) - 1.0
        assert abs(error) <= 0.5 * chance * (1.0 + 2.0 * chance) + 1e-9


@pytest.mark.parametrize("x", [1e-3, 0.5, 20.0])
def test_rare_cells_join_the_others_without_a_step(x: float) -> None:
    """On both sides of ``RARE`` the tables per chance differ by no more than P / 2."""
    below, above = (rare(factor * moments.RARE, 50) for factor in (0.999, 1.001))
    ratio = (above.approximate(x) / above.seen) / (below.approximate(x) / below.seen)
    assert ratio == pytest.approx(1.0, abs=moments.RARE)


def test_cells_whose_concentration_has_vanished_make_one_table() -> None:
    """5.2: E[s] tends to P as x tends to 0, where G[pi] of a late stick has underflowed."""
    count = Count(np.array([0.3, 0.2, 0.9]))
    for x in (1e-30, 1e-300, 0.0):
        assert count.approximate(x) == pytest.approx(count.seen, rel=1e-12)


def test_small_gamma_and_many_topics_stay_finite() -> None:
    """5.2: sticks that fall below the smallest float leave the posteriors finite."""
    keys: dict[str, Any] = {"truncation": 300, "gamma": 1e-3, "hyper_start": 0, "hyper_every": 1}
    state, _, _ = fitted(cvb0, corpus_of([[3, 0, 2]]), 4, **keys)
    assert np.all(np.isfinite([state.alpha, state.gamma, state.word_mass]))


@pytest.mark.parametrize("total", [0.05, 1.0, 30.0])
def test_expected_log_xi(total: float) -> None:
    """5.2: E[log xi] of Beta(total, n) summed over topics, a topic without tokens included."""
    counts = [*random_counts(43), Count(np.zeros(3))]
    mean, variance, seen = (
        np.array([getattr(count, name) for count in counts])
        for name in ("mean", "variance", "seen")
    )
    exact = -sum(count.exact(total) for count in counts) / total
    found = moments.expected_log_xi(mean, variance, seen, total)
    assert found == pytest.approx(exact, rel=1e-3)


def learned(prior: str, **keys: Any) -> tuple[Any, Data, Settings]:
    """Return a fit after a global step, so that means and geometric means differ."""
    corpus = random_corpus(44, n_docs=8, n_words=10, largest=6)
    return fitted(cvb0, corpus, 3, truncation=4, hyper_start=2, prior=prior, **keys)


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("shards", [1, 3])
def test_local_step_gathers_nearly_exact_tables(prior: str, shards: int) -> None:
    """5.2: sums over a whole corpus, against Poisson-binomial laws of its tokens."""
    corpus = random_corpus(44, n_docs=8, n_words=10, largest=6)
    state, data, settings = learned(prior, shards=shards)
    seen_wk = variational.sweep(state, data, posteriors.prior_of(state, settings), indicators=True)
    var_wk = variational.spread(state, data)
    found = posteriors.gather(state, seen_wk, var_wk, data, at(4))
    exact = cvb_tables(
        docs_of(corpus),
        token_rows(corpus, state.resp),
        state.alpha_geo * state.pi_geo,
        state.word_mass_geo * state.tau_geo,
        state.word_mass,
    )
    np.testing.assert_allclose(found.doc_tables, exact.by_topic, rtol=5e-3)
    np.testing.assert_allclose(found.word_tables, exact.by_word, rtol=5e-3)
    assert found.log_xi == pytest.approx(exact.log_xi, rel=1e-3)


@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_sweep_uses_geometric_means_and_the_mean_word_mass(prior: str) -> None:
    """5.2: G[.] in the numerators, E[word mass] in the denominators."""
    corpus = random_corpus(44, n_docs=8, n_words=10, largest=6)
    state, data, settings = learned(prior, hyper_every=1000)
    words = state.word_mass_geo * state.tau_geo
    expected = pair_sweep(
        pairs_of(corpus),
        state.resp,
        state.alpha_geo * state.pi_geo,
        words,
        word_total=state.word_mass,
    )
    assert words.sum() < 0.99 * state.word_mass
    state = advance(cvb0, state, data, settings, 1, start=3)
    np.testing.assert_allclose(state.resp, expected, rtol=1e-10)


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("reorder", [True, False])
def test_global_step_equals_its_formulas(prior: str, reorder: bool) -> None:
    """5.2: the posteriors of alpha, word mass, sticks, gamma and tau, written out."""
    state, data, settings = learned(prior, reorder_sticks=reorder)
    stats = posteriors.PosteriorStats(np.array([3.0, 9.0, 0.5, 4.0]), np.linspace(1, 4, 10), -2.5)
    alpha, gamma = state.alpha, state.gamma
    posteriors.global_step(state, stats, data, settings)

    growth = sum(digamma(n + alpha) - digamma(alpha) for n in data.doc_lengths)
    assert_gamma(state.alpha, state.alpha_geo, Gamma(1.0 + 16.5, 1.0 + growth))
    assert_gamma(state.word_mass, state.word_mass_geo, Gamma(1.0 + 25.0, 1.0 + 2.5))
    order = [1, 3, 0, 2] if reorder else [0, 1, 2, 3]
    sticks = fit_sticks([stats.doc_tables[k] for k in order], gamma)
    np.testing.assert_allclose(state.pi[order], mean_weights(sticks), rtol=1e-12)
    e_log_rest = sum(digamma(b) - digamma(a + b) for a, b in sticks)
    assert state.gamma == pytest.approx((1.0 + 3) / (1.0 - e_log_rest), rel=1e-12)
    shape = 1.0 + stats.word_tables
    tau_geo = np.exp(digamma(shape) - digamma(shape.sum()))
    learns = prior == "AA"
    np.testing.assert_allclose(state.tau, shape / shape.sum() if learns else 0.1, rtol=1e-12)
    np.testing.assert_allclose(state.tau_geo, tau_geo if learns else 0.1, rtol=1e-12)


def assert_gamma(mean: float, geometric: float, law: Gamma) -> None:
    assert mean == pytest.approx(law.mean, rel=1e-12)
    assert geometric == pytest.approx(np.exp(law.e_log), rel=1e-12)


def test_hyperparameters_are_refitted_every_so_often() -> None:
    """After the hold at once, and then at every ``hyper_every``-th iteration."""
    corpus = random_corpus(44, n_docs=8, n_words=10, largest=6)
    settings = settings_of(cvb0, truncation=4, hyper_start=2, hyper_every=3)
    state, data = begin(cvb0, corpus, settings)
    changed = []
    for iteration in range(1, 10):
        before = state.alpha
        state = advance(cvb0, state, data, settings, 1, start=iteration - 1)
        changed.append(state.alpha != before)
    assert [iteration for iteration, moved in enumerate(changed, 1) if moved] == [3, 6, 9]


@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_bound_never_falls_with_exact_expectations(prior: str) -> None:
    """V7c: sweeps and global steps on five tokens, every expectation by its exact law."""
    corpus = corpus_of([[1, 1, 1, 0], [1, 0, 0, 1]])
    docs = docs_of(corpus)
    settings = settings_of(cvb0, truncation=3, prior=prior, reorder_sticks=False, gamma=3.0)
    state, data = begin(cvb0, corpus, settings)
    q, curve = token_rows(corpus, state.resp), []
    for _ in range(30):
        point = exact_global_step(state, data, settings, q)
        curve.append(cvb_bound(docs, q, point))
        cvb_sweep(docs, q, point)
        curve.append(cvb_bound(docs, q, point))
    assert min(np.diff(curve)) > -1e-10
    assert curve[-1] > curve[0] + 0.1


def exact_global_step(state: Any, data: Data, settings: Settings, q: Any) -> CvbPoint:
    """Do the global step at exact expectations; return the posteriors that it stands for."""
    docs = [[0, 1, 2], [0, 3]]
    tables = cvb_tables(
        docs,
        q,
        state.alpha_geo * state.pi_geo,
        state.word_mass_geo * state.tau_geo,
        state.word_mass,
    )
    gamma = state.gamma
    posteriors.global_step(state, posteriors.PosteriorStats(*tables), data, settings)
    learns = settings.model.prior == "AA"
    return CvbPoint(
        alpha=with_mean(1.0 + tables.by_topic.sum(), state.alpha),
        gamma=with_mean(3.0, state.gamma),
        word_mass=with_mean(1.0 + tables.by_word.sum(), state.word_mass),
        sticks=fit_sticks(tables.by_topic.tolist(), gamma),
        tau_geo=state.tau_geo,
        word_shape=1.0 + tables.by_word if learns else None,
    )


def with_mean(shape: float, mean: float) -> Gamma:
    return Gamma(shape, shape / mean)
