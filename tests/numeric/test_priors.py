"""The Gamma prior: draws, density and conjugate posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hiertopics.numeric.priors import GammaPrior

PRIOR = GammaPrior(1.7, 0.4)


def test_draws_have_the_distribution_of_shape_and_rate() -> None:
    rng = np.random.default_rng(3)
    law = stats.gamma(PRIOR.shape, scale=1.0 / PRIOR.rate)
    assert stats.kstest(PRIOR.draw_many(2000, rng), law.cdf).pvalue > 1e-3
    assert stats.kstest([PRIOR.draw(rng) for _ in range(2000)], law.cdf).pvalue > 1e-3


def test_log_density_is_that_of_scipy_up_to_a_constant() -> None:
    law = stats.gamma(PRIOR.shape, scale=1.0 / PRIOR.rate)
    found = PRIOR.log_density(3.0) - PRIOR.log_density(0.2)
    assert found == pytest.approx(law.logpdf(3.0) - law.logpdf(0.2))


def test_log_density_of_all_is_the_sum_over_the_values() -> None:
    values = np.array([[3.0, 0.2], [1.0, 7.5]])
    each = sum(PRIOR.log_density(value) for value in values.ravel().tolist())
    assert PRIOR.log_density_of_all(values) == pytest.approx(each)


def test_mean_and_mode_are_those_of_the_distribution() -> None:
    law = stats.gamma(PRIOR.shape, scale=1.0 / PRIOR.rate)
    assert PRIOR.mean == pytest.approx(law.mean())
    assert all(
        PRIOR.log_density(PRIOR.mode) > PRIOR.log_density(PRIOR.mode + by) for by in (-1e-3, 1e-3)
    )


def test_posterior_has_the_density_of_prior_times_likelihood() -> None:
    """Counts of a Poisson process: x^count exp(-exposure x)."""
    after = PRIOR.posterior(5, 2.5)

    def log_joint(value: float) -> float:
        return PRIOR.log_density(value) + 5 * np.log(value) - 2.5 * value

    found = after.log_density(3.0) - after.log_density(0.2)
    assert found == pytest.approx(log_joint(3.0) - log_joint(0.2))


def test_draws_under_shape_one_are_those_of_an_exponential() -> None:
    """Samplers whose prior was written as an exponential draw the same numbers."""
    one, other = np.random.default_rng(7), np.random.default_rng(7)
    np.testing.assert_array_equal(
        GammaPrior(1.0, 0.3).draw_many(100, one), other.exponential(1.0 / 0.3, 100)
    )
