"""The state of a fit, one pass of local steps over the rows, and the bound (theory/ncrp 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from hiertopics.errors import NumericalError
from hiertopics.families.hca.config import Model
from hiertopics.families.hca.kernels import (
    Globals,
    Sums,
    softmax,
    structured_scores,
    structured_step,
)
from hiertopics.families.hca.meanfield_kernels import meanfield_scores, meanfield_step
from hiertopics.families.nested.slots import Nodes, log_masses, nodes_of, sticks_term
from hiertopics.families.nested.tree_state import TreeState
from hiertopics.model import Context

LOG_2_PI = float(np.log(2 * np.pi))


class Data(NamedTuple):
    """Rows float64 [n_docs, n_columns], bounds of their shards, their sum and squared lengths."""

    rows: NDArray[np.float64]
    shard_bounds: NDArray[np.int64]
    total: NDArray[np.float64]
    total_square: float

    @property
    def n_docs(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters.

    mean: float64 [n_nodes, n_columns], of the nodes' vectors; cov: float64 [n_nodes, n_nodes],
    their covariance, the same in every column. mu: float64 [n_columns], the mean of all rows,
    mu_variance its variance. noise_a, noise_b: shape and rate of the noise precision. depth:
    levels.
    """

    mean: NDArray[np.float64]
    cov: NDArray[np.float64]
    mu: NDArray[np.float64]
    mu_variance: float
    noise_a: float
    noise_b: float
    depth: int

    @property
    def nodes(self) -> Nodes:
        """The tree's shape."""
        return nodes_of(self.parent, self.depth)

    @property
    def precision(self) -> float:
        """E tau, the expected noise precision."""
        return self.noise_a / self.noise_b


def lay_out(rows: NDArray[np.float64], n_shards: int) -> Data:
    """Lay rows out in contiguous shards of about equal size."""
    bounds = np.linspace(0, len(rows), n_shards + 1).astype(np.int64)
    return Data(rows, bounds, rows.sum(axis=0), float((rows**2).sum()))


def globals_of(state: State, model: Model, log_mass: NDArray[np.float64] | None = None) -> Globals:
    """Return what local steps need; log_mass: of slots, where the sticks do not tell."""
    nodes, n_columns = state.nodes, state.mean.shape[1]
    path, depth = nodes.path, nodes.depth
    inside = path >= 0
    both = inside[:, :, None] & inside[:, None, :]
    gram = state.mean @ state.mean.T + n_columns * state.cov
    of_path = np.where(both, gram[path[:, :, None], path[:, None, :]], 0.0)
    level = np.arange(depth)
    of_path[:, level, level] += np.where(inside, 0.0, n_columns * model.vector_variance)
    precision = state.precision
    cover = np.asarray(np.linalg.inv(np.eye(depth) + precision * of_path), dtype=np.float64)
    if log_mass is None:
        log_mass = log_masses(nodes, state.sticks, model.gamma)
    e_log_precision = psi(state.noise_a) - np.log(state.noise_b)
    noise = e_log_precision - LOG_2_PI - precision * state.mu_variance
    base = log_mass + 0.5 * n_columns * noise
    if state.structured:
        base = base + 0.5 * np.linalg.slogdet(cover)[1]
    axes = np.ascontiguousarray(state.mean.T)
    return Globals(path, axes, state.mu, precision, of_path, cover, base)


def local_pass(
    state: State, data: Data, model: Model, context: Context, rounds: int = 1
) -> tuple[Sums, float]:
    """Do every row's local step; under mean field ``chances`` move in place.

    rounds: local rounds under mean field; 0 moves nothing. Returns the sums and the rows' share
    of the bound before the pass. Raises NumericalError.
    """
    given = globals_of(state, model)

    def of_shard(shard: int) -> tuple[Sums, float]:
        n_nodes = state.n_nodes
        sums = Sums(
            np.zeros(n_nodes),
            np.zeros((n_nodes, n_nodes)),
            np.zeros(n_nodes),
            np.zeros((n_nodes, data.n_columns)),
            np.zeros(1),
        )
        docs = int(data.shard_bounds[shard]), int(data.shard_bounds[shard + 1])
        if state.structured:
            return sums, structured_step(data.rows, *docs, given, sums)
        return sums, meanfield_step(data.rows, *docs, state.chances, given, rounds, sums)

    parts = context.map(of_shard, range(len(data.shard_bounds) - 1))
    sums = parts[0][0]
    for part, _ in parts[1:]:
        for total, own in zip(sums, part, strict=True):
            total += own
    value = float(sum(part[1] for part in parts))
    if not np.isfinite(value):
        raise NumericalError("the bound of the rows is not finite")
    return sums, value


def slot_scores(state: State, data: Data, model: Model, context: Context) -> NDArray[np.float64]:
    """Return log S of the slots for each row, float64 [n_docs, n_nodes], not normalised."""
    given = globals_of(state, model)
    scores = np.empty((data.n_docs, state.n_nodes))

    def of_shard(shard: int) -> None:
        docs = slice(int(data.shard_bounds[shard]), int(data.shard_bounds[shard + 1]))
        if state.structured:
            structured_scores(data.rows[docs], given, scores[docs])
        else:
            meanfield_scores(data.rows[docs], state.chances[docs], given, 1, scores[docs])

    context.map(of_shard, range(len(data.shard_bounds) - 1))
    return scores


def slot_chances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return q of slots, each row by itself."""
    chances = scores.copy()
    for row in chances:
        softmax(row)
    return chances


def elbo(state: State, data: Data, model: Model, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch."""
    return globals_term(state, model) + local_pass(state, data, model, context, 0)[1]


def globals_term(state: State, model: Model) -> float:
    """Return E log p - E log q of sticks, vectors, mean and noise."""
    n_nodes, n_columns = state.mean.shape
    vectors = n_columns * (np.linalg.slogdet(state.cov)[1] + n_nodes)
    vectors -= n_columns * n_nodes * np.log(model.vector_variance)
    vectors -= (n_columns * np.trace(state.cov) + (state.mean**2).sum()) / model.vector_variance
    variance = model.mean_variance
    centre = n_columns * (np.log(state.mu_variance / variance) + 1)
    centre -= (n_columns * state.mu_variance + (state.mu**2).sum()) / variance
    e_log = psi(state.noise_a) - np.log(state.noise_b)
    return (
        sticks_term(state.sticks, model.gamma)
        + 0.5 * float(vectors + centre)
        + _gamma_term(model.noise_shape, model.noise_rate, e_log, state.precision)
        - _gamma_term(state.noise_a, state.noise_b, e_log, state.precision)
    )


def _gamma_term(shape: float, rate: float, e_log: float, e_value: float) -> float:
    """Return E log of a Gamma density."""
    value = shape * np.log(rate) - gammaln(shape) + (shape - 1) * e_log - rate * e_value
    return float(value)
