"""Global updates from the sums of a pass, each the best in its block (theory/ncrp 3.5, 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.hca.config import Model
from hiertopics.families.hca.kernels import Sums
from hiertopics.families.hca.state import Data, State
from hiertopics.families.nested.slots import fit_sticks

ROUNDS = 2


def refit(state: State, data: Data, sums: Sums, model: Model, vectors: str) -> None:
    """Set all globals to their best for what a pass has added up.

    vectors: joint or separate. Vectors, mean and noise depend on one another and take turns.
    """
    update_sticks(state, sums, model)
    for _ in range(ROUNDS):
        update_vectors(state, sums, model, vectors)
        update_mean(state, data, sums, model)
        update_noise(state, data, sums, model)


def update_sticks(state: State, sums: Sums, model: Model) -> None:
    """Refit the sticks."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, model.gamma)


def update_vectors(state: State, sums: Sums, model: Model, vectors: str) -> None:
    """Refit the nodes' vectors: all at once, or one after the other."""
    precision = state.precision
    pull = sums.cross - np.outer(sums.first, state.mu)
    if vectors == "joint":
        needed = precision * sums.second
        needed[np.diag_indices_from(needed)] += 1.0 / model.vector_variance
        state.cov = _inverse(needed)
        state.mean = precision * (state.cov @ pull)
        return
    mean, second = state.mean.copy(), sums.second
    variance = 1.0 / (1.0 / model.vector_variance + precision * np.diag(second))
    for node in range(state.n_nodes):
        others = second[node] @ mean - second[node, node] * mean[node]
        mean[node] = variance[node] * precision * (pull[node] - others)
    state.mean, state.cov = mean, np.diag(variance)


def update_mean(state: State, data: Data, sums: Sums, model: Model) -> None:
    """Refit the mean of all rows."""
    precision = state.precision
    state.mu_variance = 1.0 / (1.0 / model.mean_variance + data.n_docs * precision)
    state.mu = state.mu_variance * precision * (data.total - sums.first @ state.mean)


def update_noise(state: State, data: Data, sums: Sums, model: Model) -> None:
    """Refit the noise precision."""
    state.noise_a = model.noise_shape + 0.5 * data.n_docs * data.n_columns
    state.noise_b = model.noise_rate + 0.5 * expected_error(state, data, sums, model)


def expected_error(state: State, data: Data, sums: Sums, model: Model) -> float:
    """Return the sum over rows of the expected squared distance from their places on the axes."""
    n_columns = data.n_columns
    around = data.total_square - 2 * data.total @ state.mu
    around += data.n_docs * (state.mu @ state.mu + n_columns * state.mu_variance)
    pull = sums.cross - np.outer(sums.first, state.mu)
    gram = state.mean @ state.mean.T + n_columns * state.cov
    fit = 2 * (state.mean * pull).sum() - (sums.second * gram).sum()
    outside = n_columns * model.vector_variance * sums.outside[0]
    return float(around - fit + outside)


def _inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert a symmetric positive definite matrix, symmetric to the last bit."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(0.5 * (inverse + inverse.T))
