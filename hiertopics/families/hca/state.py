"""The state of a fit, a pass of local steps over the rows, global updates, and the bound.

Each update is the best in its block, of the sums of a pass (theory/ncrp 3.5, 7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from hiertopics.base.arrays import F64, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.base.errors import NumericalError
from hiertopics.contract import Context, Each, Pieces, as_given, cut, stacked
from hiertopics.families.hca.config import Model
from hiertopics.families.hca.kernels import (
    RowSums,
    VectorGlobals,
    softmax,
    structured_scores,
    structured_step,
)
from hiertopics.families.nested.slots import (
    SlotNodes,
    fit_sticks,
    log_masses,
    nodes_of,
    sticks_term,
)
from hiertopics.families.nested.tree_state import TreeState
from hiertopics.numeric.priors import GammaPrior

DataRows = F64

LOG_2_PI = float(np.log(2 * np.pi))
ROUNDS = 2


class Data(NamedTuple):
    """Rows float64 [n_docs, n_columns], bounds of their shards, their sum and squared lengths."""

    rows: F64
    shard_bounds: I64
    total: F64
    total_square: float

    @property
    def n_docs(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])


class Local(NamedTuple):
    """Per-row state of a piece: nothing."""


@dataclass(kw_only=True)
class State(TreeState):
    """The variational parameters, coordinates depending on the path.

    mean: float64 [n_nodes, n_columns], of the nodes' vectors; cov: float64 [n_nodes, n_nodes],
    their covariance, the same in every column. mu: float64 [n_columns], the mean of all rows,
    mu_variance its variance. noise_a, noise_b: shape and rate of the noise precision. depth:
    levels. Local: what pieces have.
    """

    Local: ClassVar[Callable[..., Any]] = Local

    mean: Annotated[F64, Axes("n_nodes", "n_columns")]
    cov: Annotated[F64, Axes("n_nodes", "n_nodes")]
    mu: Annotated[F64, Axes("n_columns")]
    mu_variance: Annotated[float, Axes(least=0)]
    noise_a: Annotated[float, Axes(least=POSITIVE)]
    noise_b: Annotated[float, Axes(least=POSITIVE)]
    depth: Annotated[int, Axes(equals="depth")]

    @property
    def n_levels(self) -> int:
        """Number of levels of the tree."""
        return self.depth

    @property
    def nodes(self) -> SlotNodes:
        """The tree's shape."""
        return nodes_of(self.parent, self.depth)

    @property
    def precision(self) -> float:
        """E tau, the expected noise precision."""
        return self.noise_a / self.noise_b

    def by_node(self, order: I64) -> dict[str, NDArray[Any]]:
        """Return the vectors of nodes in another order, int64 [n_nodes]."""
        mean, cov = self.mean[order], self.cov[np.ix_(order, order)]
        return {"mean": np.ascontiguousarray(mean), "cov": np.ascontiguousarray(cov)}

    @staticmethod
    def begun(n_docs: int) -> dict[str, F64]:
        """Return the first state of pieces, by name, for a tree of one node."""
        return {}

    def globals(self, model: Model, log_mass: F64 | None = None) -> VectorGlobals:
        """Return the globals that local steps need; see ``globals_of``."""
        given = globals_of(self, model, log_mass)
        return given._replace(base=given.base + 0.5 * np.linalg.slogdet(given.cover)[1])

    def given(self, model: Model, rounds: int) -> RowPassMessage:
        """Return the message of a pass to the rows."""
        return RowPassMessage(self.globals(model), rounds, _visit, _scores)

    def slot_chances(self, model: Model) -> F64:
        """Return q of slots for the training rows, float64 [n_docs, n_nodes]."""
        return slot_chances(slot_scores(self, model))


def lay_out(rows: F64, n_shards: int) -> Data:
    """Lay rows, float64 [n_docs, n_columns], out in contiguous shards of about equal size."""
    bounds = np.linspace(0, len(rows), n_shards + 1).astype(np.int64)
    return Data(rows, bounds, rows.sum(axis=0), float((rows**2).sum()))


def parts_of(data: Data) -> list[DataRows]:
    """Return the rows of each shard."""
    return np.split(data.rows, data.shard_bounds[1:-1])


def as_they_are(rows: DataRows) -> DataRows:
    """Build a piece, which is its rows."""
    return rows


def bounds(data: Data) -> dict[str, I64]:
    """Return the bounds of pieces in arrays by row, int64 [n_pieces + 1]."""
    return {"chances": data.shard_bounds}


def in_pieces(kind: type[State], data: Data, context: Context) -> Pieces[DataRows, Any]:
    """Place the rows in pieces, for a tree of one node."""
    states = cut(kind.Local, kind.begun(data.n_docs), bounds(data))
    return context.place(as_they_are, parts_of(data), as_given, Each(states))


def globals_of(state: State, model: Model, log_mass: F64 | None = None) -> VectorGlobals:
    """Return the globals that local steps need under mean field.

    log_mass: float64 [n_slots], of slots, where the sticks do not tell.
    """
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
    axes = np.ascontiguousarray(state.mean.T)
    return VectorGlobals(path, axes, state.mu, precision, of_path, cover, base)


class RowPassMessage(NamedTuple):
    """Message of a pass to the rows. rounds: local rounds under mean field; 0 moves nothing.

    visit: does the local step of some rows in place. scores: writes log S of the slots.
    """

    globals: VectorGlobals
    rounds: int
    visit: Callable[[DataRows, Any, RowPassMessage, RowSums], float]
    scores: Callable[[DataRows, Any, RowPassMessage, F64], None]


def local_pass(state: State, model: Model, rounds: int = 1) -> tuple[RowSums, float]:
    """Do every row's local step; the per-row state changes in place.

    rounds: local rounds under mean field; 0 moves nothing. Returns the sums and the rows' share
    of the bound before the pass. Raises NumericalError.
    """
    given, local = state.given(model, rounds), state.local
    parts = local.step(_local_step, given) if rounds else local.ask(_summed, given)
    sums = parts[0][0]
    for part, _ in parts[1:]:
        for total, own in zip(sums, part, strict=True):
            total += own
    value = float(sum(part[1] for part in parts))
    if not np.isfinite(value):
        raise NumericalError("the bound of the rows is not finite")
    return sums, value


def _local_step(
    rows: DataRows, local: Any, message: RowPassMessage
) -> tuple[Any, tuple[RowSums, float]]:
    return local, _summed(rows, local, message)


def _summed(rows: DataRows, local: Any, message: RowPassMessage) -> tuple[RowSums, float]:
    """Do the local step of a piece's rows in place, if there are rounds."""
    n_columns, n_nodes = message.globals.axes.shape
    sums = RowSums(
        np.zeros(n_nodes),
        np.zeros((n_nodes, n_nodes)),
        np.zeros(n_nodes),
        np.zeros((n_nodes, n_columns)),
        np.zeros(1),
    )
    return sums, message.visit(rows, local, message, sums)


def _visit(rows: DataRows, local: Local, message: RowPassMessage, sums: RowSums) -> float:
    return float(structured_step(rows, 0, len(rows), message.globals, sums))


def _scores(rows: DataRows, local: Local, message: RowPassMessage, scores: F64) -> None:
    structured_scores(rows, message.globals, scores)


def slot_scores(state: State, model: Model) -> F64:
    """Return log S of the slots for each row, float64 [n_docs, n_nodes], not normalised."""
    return stacked(state.local.ask(_slot_scores, state.given(model, 1)))


def _slot_scores(rows: DataRows, local: Any, message: RowPassMessage) -> F64:
    scores = np.empty((len(rows), len(message.globals.path)))
    message.scores(rows, local, message, scores)
    return scores


def slot_chances(scores: F64) -> F64:
    """Return q of slots, each row by itself; both float64 [n_docs, n_slots]."""
    chances = scores.copy()
    for row in chances:
        softmax(row)
    return chances


def elbo(state: State, model: Model) -> float:
    """Return the evidence lower bound, recomputed from scratch."""
    return globals_term(state, model) + local_pass(state, model, 0)[1]


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
        + _gamma_term(model.noise_prior, e_log, state.precision)
        - _gamma_term(GammaPrior(state.noise_a, state.noise_b), e_log, state.precision)
    )


def _gamma_term(prior: GammaPrior, e_log: float, e_value: float) -> float:
    """Return E log of a Gamma density."""
    shape, rate = prior
    value = shape * np.log(rate) - gammaln(shape) + (shape - 1) * e_log - rate * e_value
    return float(value)


def refit(state: State, data: Data, sums: RowSums, model: Model, vectors: str) -> None:
    """Set all globals to their best values for the sums of a pass.

    vectors: joint or separate. Vectors, mean and noise depend on one another and take turns.
    """
    update_sticks(state, sums, model)
    for _ in range(ROUNDS):
        update_vectors(state, sums, model, vectors)
        update_mean(state, data, sums, model)
        update_noise(state, data, sums, model)


def update_sticks(state: State, sums: RowSums, model: Model) -> None:
    """Refit the sticks."""
    state.stick_a, state.stick_b = fit_sticks(state.nodes, sums.slot, model.gamma)


def update_vectors(state: State, sums: RowSums, model: Model, vectors: str) -> None:
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


def update_mean(state: State, data: Data, sums: RowSums, model: Model) -> None:
    """Refit the mean of all rows."""
    precision = state.precision
    state.mu_variance = 1.0 / (1.0 / model.mean_variance + data.n_docs * precision)
    state.mu = state.mu_variance * precision * (data.total - sums.first @ state.mean)


def update_noise(state: State, data: Data, sums: RowSums, model: Model) -> None:
    """Refit the noise precision."""
    state.noise_a, state.noise_b = model.noise_prior.posterior(
        0.5 * data.n_docs * data.n_columns, 0.5 * expected_error(state, data, sums, model)
    )


def expected_error(state: State, data: Data, sums: RowSums, model: Model) -> float:
    """Return the sum over rows of the expected squared distance from their places on the axes."""
    n_columns = data.n_columns
    around = data.total_square - 2 * data.total @ state.mu
    around += data.n_docs * (state.mu @ state.mu + n_columns * state.mu_variance)
    pull = sums.cross - np.outer(sums.first, state.mu)
    gram = state.mean @ state.mean.T + n_columns * state.cov
    fit = 2 * (state.mean * pull).sum() - (sums.second * gram).sum()
    outside = n_columns * model.vector_variance * sums.outside[0]
    return float(around - fit + outside)


def _inverse(matrix: F64) -> F64:
    """Invert a symmetric positive definite matrix, symmetric to the last bit."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(0.5 * (inverse + inverse.T))
