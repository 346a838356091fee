"""The bound of hierarchical component analysis written out, row by row and slot by slot.

Every factor is explicit, so that the bound is defined for any values of them (theory/ncrp 7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, psi, softmax, xlogy
from stepping import at

from hiertopics.families.hca.config import Model
from hiertopics.families.hca.kernels import RowSums
from hiertopics.families.hca.state import Data, State, in_pieces, lay_out
from hiertopics.families.nested.slots import log_masses, sticks_term
from hiertopics.numeric.priors import GammaPrior
from hiertopics.papers import hca_meanfield as meanfield

PARENT = np.array([-1, 0, 0, 0, 1, 1, 2], dtype=np.int32)
"""Depth 3; node 3 is of level 2 and has no child."""

MODEL = Model(
    depth=3, gamma=1.3, vector_variance=4.0, mean_variance=9.0, noise_prior=GammaPrior(0.7, 0.4)
)


@dataclass(frozen=True)
class Local:
    """q of slots [n, s], coordinates' means [n, s, L] and covariances [n, s, L, L]."""

    chances: np.ndarray
    mean: np.ndarray
    cover: np.ndarray


def random_state(
    seed: int, *, structured: bool, n_docs: int = 9, n_columns: int = 5, n_shards: int = 1
) -> State:
    """Return a state with arbitrary factors, of the rows of ``random_data``."""
    rng = np.random.default_rng(seed)
    n_nodes = len(PARENT)
    half = rng.normal(size=(n_nodes, n_nodes))
    chances = rng.dirichlet(np.ones(n_nodes), n_docs)
    data = random_data(seed, n_docs, n_columns, n_shards)
    kind = State if structured else meanfield.State
    state = kind(
        local=in_pieces(kind, data, at(0)),
        parent=PARENT,
        mean=rng.normal(size=(n_nodes, n_columns)),
        cov=0.05 * half @ half.T + 0.02 * np.eye(n_nodes),
        stick_a=rng.gamma(2.0, size=n_nodes),
        stick_b=rng.gamma(2.0, size=n_nodes),
        mu=rng.normal(size=n_columns),
        mu_variance=0.3,
        noise_a=2.0,
        noise_b=1.5,
        depth=3,
    )
    return replace(state, local=state.in_slots(chances))


def random_data(seed: int, n_docs: int = 9, n_columns: int = 5, n_shards: int = 1) -> Data:
    """Return rows with a mean."""
    rows = 1.0 + 2.0 * np.random.default_rng(seed + 100).normal(size=(n_docs, n_columns))
    return lay_out(rows, n_shards)


def axes_of(state: State, model: Model, slot: int) -> tuple[np.ndarray, np.ndarray]:
    """Return M [P, L] of a slot, 0 outside the tree, and E W'W [L, L]."""
    n_columns = state.mean.shape[1]
    path = state.nodes.path[slot]
    axes = np.zeros((n_columns, state.depth))
    gram = np.zeros((state.depth, state.depth))
    for level, node in enumerate(path):
        if node < 0:
            gram[level, level] = n_columns * model.vector_variance
            continue
        axes[:, level] = state.mean[node]
        for other, beside in enumerate(path):
            if beside >= 0:
                gram[level, other] = state.mean[node] @ state.mean[beside]
                gram[level, other] += n_columns * state.cov[node, beside]
    return axes, gram


def moments(local: Local, doc: int, slot: int) -> np.ndarray:
    mean = local.mean[doc, slot]
    return local.cover[doc, slot] + np.outer(mean, mean)


def distance(
    state: State, model: Model, row: np.ndarray, local: Local, doc: int, slot: int
) -> float:
    """Return R of a row in a slot."""
    axes, gram = axes_of(state, model, slot)
    y = row - state.mu
    around = y @ y + len(y) * state.mu_variance - 2 * y @ axes @ local.mean[doc, slot]
    return float(around + np.trace(gram @ moments(local, doc, slot)))


def divergence(local: Local, doc: int, slot: int) -> float:
    """Return KL of the coordinates from their prior."""
    mean, cover = local.mean[doc, slot], local.cover[doc, slot]
    both = np.trace(cover) + mean @ mean - len(mean) - np.linalg.slogdet(cover)[1]
    return 0.5 * float(both)


def scores(state: State, data: Data, model: Model, local: Local, *, structured: bool) -> np.ndarray:
    """Return score_n(slot) without LM, float64 [n_docs, n_slots]."""
    e_log = psi(state.noise_a) - np.log(state.noise_b)
    found = np.zeros((data.n_docs, state.n_nodes))
    for doc in range(data.n_docs):
        for slot in range(state.n_nodes):
            apart = distance(state, model, data.rows[doc], local, doc, slot)
            found[doc, slot] = 0.5 * data.n_columns * (e_log - np.log(2 * np.pi))
            found[doc, slot] -= 0.5 * state.precision * apart
            if structured:
                found[doc, slot] -= divergence(local, doc, slot)
    return found


def local_bound(state: State, data: Data, model: Model, local: Local, *, structured: bool) -> float:
    """Return the rows' share of the bound."""
    log_mass = log_masses(state.nodes, state.sticks, model.gamma)
    own = scores(state, data, model, local, structured=structured)
    value = (local.chances * (log_mass + own)).sum() - xlogy(local.chances, local.chances).sum()
    if not structured:
        value -= sum(divergence(local, doc, 0) for doc in range(data.n_docs))
    return float(value)


def elbo(state: State, data: Data, model: Model, local: Local, *, structured: bool) -> float:
    """Return the whole bound, term by term."""
    n_nodes, n_columns = state.mean.shape
    vectors = 0.0
    prior, variance = model.vector_variance, model.mean_variance
    for column in range(n_columns):
        square = np.trace(state.cov) + (state.mean[:, column] ** 2).sum()
        vectors += np.linalg.slogdet(state.cov)[1] - n_nodes * np.log(prior) + n_nodes
        vectors -= square / prior
    centre = n_columns * (np.log(state.mu_variance / variance) + 1)
    centre -= (n_columns * state.mu_variance + state.mu @ state.mu) / variance
    a, b, e_tau = state.noise_a, state.noise_b, state.precision
    e_log = psi(a) - np.log(b)
    a0, b0 = model.noise_prior
    noise = a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * e_log - b0 * e_tau
    noise -= a * np.log(b) - gammaln(a) + (a - 1) * e_log - b * e_tau
    total = sticks_term(state.sticks, model.gamma) + 0.5 * (vectors + centre) + noise
    return float(total + local_bound(state, data, model, local, structured=structured))


def place(
    state: State, data: Data, model: Model, chances: np.ndarray, *, structured: bool
) -> Local:
    """Return the best coordinates given q of slots, which stay as they are."""
    n_docs, n_slots, depth = data.n_docs, state.n_nodes, state.depth
    mean, cover = np.zeros((n_docs, n_slots, depth)), np.zeros((n_docs, n_slots, depth, depth))
    of_slots = [axes_of(state, model, slot) for slot in range(n_slots)]
    for doc in range(n_docs):
        y = data.rows[doc] - state.mu
        for slot in range(n_slots):
            weights = np.eye(n_slots)[slot] if structured else chances[doc]
            gram = sum(w * gram for w, (_, gram) in zip(weights, of_slots, strict=True))
            pull = sum(w * axes.T @ y for w, (axes, _) in zip(weights, of_slots, strict=True))
            cover[doc, slot] = np.linalg.inv(np.eye(depth) + state.precision * gram)
            mean[doc, slot] = state.precision * cover[doc, slot] @ pull
    return Local(chances, mean, cover)


def choose(state: State, data: Data, model: Model, local: Local, *, structured: bool) -> Local:
    """Return the best q of slots given the coordinates."""
    log_mass = log_masses(state.nodes, state.sticks, model.gamma)
    own = scores(state, data, model, local, structured=structured)
    return replace(local, chances=softmax(log_mass + own, axis=1))


def sums_of(state: State, data: Data, local: Local) -> RowSums:
    """Return what the rows add up under explicit factors."""
    n_nodes, n_columns = state.mean.shape
    slot, first = local.chances.sum(axis=0), np.zeros(n_nodes)
    second, cross = np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_columns))
    outside = np.zeros(1)
    for doc in range(data.n_docs):
        for s in range(n_nodes):
            chance, both = local.chances[doc, s], moments(local, doc, s)
            for level, node in enumerate(state.nodes.path[s]):
                if node < 0:
                    outside += chance * both[level, level]
                    continue
                first[node] += chance * local.mean[doc, s, level]
                cross[node] += chance * local.mean[doc, s, level] * data.rows[doc]
                for other, beside in enumerate(state.nodes.path[s]):
                    if beside >= 0:
                        second[node, beside] += chance * both[level, other]
    return RowSums(slot, second, first, cross, outside)
