"""The special functions of kernels against SciPy."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from hiertopics.numeric import special

ARGUMENTS = np.concatenate([np.logspace(-8, 6, 400), [1.0, 2.0, 9.999999, 10.0, 10.000001]])


def test_digamma() -> None:
    """From 1e-8 to 1e6, relative; absolute around the zero at 1.46."""
    found = [special.digamma(x) for x in ARGUMENTS]
    np.testing.assert_allclose(found, digamma(ARGUMENTS), rtol=1e-12, atol=1e-12)


def test_tetragamma() -> None:
    found = [special.tetragamma(x) for x in ARGUMENTS]
    np.testing.assert_allclose(found, polygamma(2, ARGUMENTS), rtol=1e-11)


def test_both_at_once() -> None:
    """In the domain of the function without branches, from 1/2 up."""
    x = ARGUMENTS[ARGUMENTS >= 0.5]
    found = np.array([special.digamma_and_tetragamma(value) for value in x])
    np.testing.assert_allclose(found[:, 0], digamma(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[:, 1], polygamma(2, x), rtol=1e-11)


def test_log() -> None:
    """Over all normal numbers, and around 1, where only the absolute error is small."""
    x = np.concatenate([np.logspace(-307, 308, 2000), np.linspace(0.5, 2.0, 501)])
    found = [special.log(value) for value in x]
    np.testing.assert_allclose(found, np.log(x), rtol=2e-15, atol=2e-16)


def test_exponentials_and_logarithms_of_rows() -> None:
    """To two units in the last place; an exponent that no number has gives 0."""
    x = np.concatenate([np.linspace(-708, 709, 1001), np.linspace(-1, 1, 101)])
    np.testing.assert_allclose(special.exp_of(x), np.exp(x), rtol=5e-16)
    assert special.exp_of(np.array([-np.inf, -709.0, 0.0])).tolist() == [0, 0, 1]
    numbers = special.exp_of(x)
    np.testing.assert_allclose(special.log_of(numbers), x, rtol=2e-15, atol=2e-15)
