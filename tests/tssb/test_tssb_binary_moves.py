"""Moves of the binary model's parameters (T9): against quadrature, priors and plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from binary_cases import log_joint, some_family
from scipy import stats

from hiertopics.base.arrays import F64
from hiertopics.families.tssb import binary_kernels
from hiertopics.families.tssb.binary_kernels import Family

GRID = np.linspace(-9.0, 9.0, 3601)


def z_of(draws: F64, expected: float) -> float:
    """Return by how many standard errors (batch means) a mean is off."""
    batches = draws.reshape(50, -1).mean(axis=1)
    return float((batches.mean() - expected) / (batches.std(ddof=1) / np.sqrt(50)))


def test_the_log_density_is_that_of_the_theory() -> None:
    family, theta = some_family(), np.random.default_rng(0).normal(size=(5, 3))
    assert binary_kernels.log_density(theta, family) == pytest.approx(
        log_joint(theta, family), rel=1e-12
    )


def test_the_slope_is_that_of_central_differences() -> None:
    family, theta = some_family(), np.random.default_rng(0).normal(size=(5, 3))
    slope, step = np.empty((5, 3)), 1e-5
    binary_kernels.slope(theta, family, slope)
    for node in range(5):
        shift = np.zeros((5, 3))
        shift[node] = step
        rise = binary_kernels.log_density(theta + shift, family) - binary_kernels.log_density(
            theta - shift, family
        )
        assert slope[node] == pytest.approx(rise / (2 * step), abs=1e-6)


def test_masses_are_a_quarter_of_the_rows_and_what_neighbours_pull() -> None:
    family = some_family()
    children = np.bincount(family.up[1:], minlength=5)
    expected = family.n_at[:, None] / 4 + np.outer(1 + 0.81 * children, family.precision)
    assert binary_kernels.masses(family) == pytest.approx(expected, rel=1e-12)


def leapt(step_size: float, n_steps: int) -> tuple[F64, ...]:
    """Return parameters, momenta and energy before and after leaps of one length."""
    family, rng = some_family(), np.random.default_rng(1)
    mass = binary_kernels.masses(family)
    theta, momentum = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)) * np.sqrt(mass)
    before = theta.copy(), binary_kernels.energy(theta, momentum, mass, family)
    binary_kernels.leap(theta, momentum, mass, step_size, n_steps, family)
    after = binary_kernels.energy(theta, momentum, mass, family)
    back = theta.copy()
    binary_kernels.leap(back, -momentum, mass, step_size, n_steps, family)
    return before[0], back, after - before[1]


def test_leaps_are_reversible() -> None:
    start, back, _ = leapt(0.3, 25)
    assert back == pytest.approx(start, abs=1e-10)


def test_the_error_of_the_energy_falls_with_the_square_of_the_step() -> None:
    errors = [np.abs(leapt(2.0 / n, n)[2]).max() for n in (10, 20, 40)]
    assert errors[0] < 0.2
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.35)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.2)


def hmc_draws(family: Family, n_draws: int, n_steps: int = 25) -> F64:
    """Return parameters after each move, [n_draws, n, P]."""
    rng = np.random.default_rng(2)
    theta = np.zeros(family.sums.shape)
    found = np.empty((n_draws, *theta.shape))
    for place in range(n_draws):
        binary_kernels.hamiltonian_step(theta, family, 0.3, n_steps, rng)
        found[place] = theta
    return found


def test_without_rows_moves_return_the_prior_of_the_chain() -> None:
    """Var(theta at depth j) = (j + 1) Lambda on a path; covariances likewise (T9)."""
    up = np.array([-1, 0, 1], np.int32)
    precision = np.full(50, 1 / 0.4)
    family = Family(up, np.zeros(3), np.zeros((3, 50)), 1.0, precision, precision)
    found = hmc_draws(family, 4000, 12)
    for first in range(3):
        assert abs(z_of(found[:, first].mean(axis=1), 0.0)) < 4
        for second in range(first, 3):
            product = (found[:, first] * found[:, second]).mean(axis=1)
            assert abs(z_of(product, 0.4 * (first + 1))) < 4, (first, second)


def two_nodes(n_columns: int) -> tuple[Family, F64]:
    """Return a root with 5 rows and a child with 3, and their density on GRID x GRID."""
    up, n_at = np.array([-1, 0], np.int32), np.array([5.0, 3.0])
    sums = np.repeat([[4.0], [0.0]], n_columns, axis=1)
    precision = np.full(n_columns, 1 / 0.7)
    family = Family(up, n_at, sums, 0.9, precision, precision)
    root, child = GRID[::10, None], GRID[None, ::10]
    log = 4 * root - 5 * np.log1p(np.exp(root)) - 3 * np.log1p(np.exp(child))
    log = log - (root**2 + (child - 0.9 * root) ** 2) / 1.4
    density = np.exp(log - log.max())
    return family, density / density.sum()


@pytest.mark.parametrize("how", ["hmc", "slices"])
def test_two_nodes_have_the_moments_of_quadrature(how: str) -> None:
    family, density = two_nodes(40)
    if how == "hmc":
        found = hmc_draws(family, 4000, 10)
    else:
        theta, rng = np.zeros((2, 40)), np.random.default_rng(3)
        found = np.empty((6000, 2, 40))
        for place in range(6000):
            binary_kernels.slice_sweep(theta, family, rng)
            found[place] = theta
    axis = GRID[::10]
    for node in (0, 1):
        marginal = density.sum(axis=1 - node)
        for power in (1, 2):
            moment = (found[:, node] ** power).mean(axis=1)
            assert abs(z_of(moment, float(marginal @ axis**power))) < 4, (node, power)
    product = (found[:, 0] * found[:, 1]).mean(axis=1)
    assert abs(z_of(product, float(axis @ density @ axis))) < 4


def test_slices_weigh_every_child() -> None:
    """Without rows a root with two children keeps its variance, and theirs about it."""
    up, precision = np.array([-1, 0, 0], np.int32), np.full(50, 1 / 0.4)
    family = Family(up, np.zeros(3), np.zeros((3, 50)), 0.9, precision, precision)
    theta, rng, found = np.zeros((3, 50)), np.random.default_rng(6), np.empty((4000, 2))
    for row in found:
        binary_kernels.slice_sweep(theta, family, rng)
        row[:] = (theta[0] ** 2).mean(), (theta[1] * theta[2]).mean()
    assert abs(z_of(found[:, 0], 0.4)) < 4
    assert abs(z_of(found[:, 1], 0.81 * 0.4)) < 4


def test_steps_are_those_from_what_persists_of_the_parent() -> None:
    theta = np.array([[1.0, -2.0], [0.5, 1.0], [3.0, 0.0]])
    found = binary_kernels.squared_steps(theta, np.array([-1, 0, 1], np.int32), 0.5)
    assert found == pytest.approx([0.0 + 2.75**2, 2.0**2 + 0.5**2])


def test_columns_are_accepted_one_by_one_and_blocks_of_them_agree() -> None:
    """More columns than a block holds, the last one impossible to move."""
    family = some_family(binary_kernels.COLUMNS + 3)
    theta = np.zeros(family.sums.shape)
    theta[:, -1] = np.nan
    accepted = binary_kernels.hamiltonian_step(theta, family, 0.3, 10, np.random.default_rng(0))
    assert binary_kernels.COLUMNS // 2 < accepted < binary_kernels.COLUMNS + 3
    assert np.isfinite(theta[:, :-1]).all() and np.isnan(theta[:, -1]).all()
    assert accepted == (theta[0, :-1] != 0).sum()


@pytest.mark.parametrize(("linear", "precision", "n_at"), [(0.0, 2.0, 0.0), (9.0, 1.5, 12.0)])
def test_slices_of_one_parameter_pass_kolmogorov_and_smirnov(
    linear: float, precision: float, n_at: float
) -> None:
    log = linear * GRID - precision * GRID**2 / 2 - n_at * np.log1p(np.exp(GRID))
    density = np.exp(log - log.max())
    cdf = np.cumsum(density) / density.sum()
    rng, value = np.random.default_rng(5), 0.0
    draws = []
    for _ in range(8000):
        value = binary_kernels.slice_logistic(value, linear, precision, n_at, rng)
        draws.append(value)
    thinned = draws[::4]
    assert stats.kstest(thinned, lambda x: np.interp(x, GRID, cdf)).pvalue > 0.01


@pytest.mark.parametrize(("squares", "n_steps"), [(0.0, 1), (3.0, 9), (40.0, 3)])
def test_variances_have_the_law_of_quadrature(squares: float, n_steps: int) -> None:
    axis = np.linspace(0.01, 1.0, 20001)
    log = -0.5 * (n_steps * np.log(axis) + squares / axis)
    density = np.exp(log - log.max())
    cdf = np.cumsum(density) / density.sum()
    variance, rng = np.full(500, 0.5), np.random.default_rng(6)
    draws = []
    for place in range(40):
        binary_kernels.draw_variances(variance, np.full(500, squares), n_steps, 0.01, 1.0, rng)
        if place % 10 == 9:
            draws.append(variance.copy())
    assert stats.kstest(np.concatenate(draws), lambda x: np.interp(x, axis, cdf)).pvalue > 0.01


def test_a_fixed_variance_stays() -> None:
    variance = np.array([0.7, 0.7])
    rng = np.random.default_rng(0)
    binary_kernels.draw_variances(variance, np.ones(2), 4, 0.7, 0.7, rng)
    assert variance.tolist() == [0.7, 0.7]
