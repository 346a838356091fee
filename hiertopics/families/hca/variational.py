"""hca-variational: trees of principal axes for continuous rows, by variational inference.

Each row takes one path from the root to a leaf of an infinite tree and lies, up to noise, in the
space of the vectors on it; the tree is truncated, and what lies outside it is accounted for
exactly by path slots.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009,
section 5. Here a row's coordinates depend on its path; the paper's mean field is in ``meanfield``.

    paper                 here
    c, q(c)               path; chances of slots
    w                     vectors of nodes: mean, cov
    x                     coordinates
    mu, sigma             mu; noise precision tau: noise_a, noise_b
    v; a, b               sticks; stick_a, stick_b
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import logsumexp

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract.engine import Workers, as_given
from hiertopics.contract.model import (
    Backend,
    Context,
    Migration,
    Posterior,
    Sharded,
    Summary,
    always,
)
from hiertopics.corpus.data import NODE, OUTSIDE, ROOT, Tree, Vectors
from hiertopics.families.hca import moves, starts
from hiertopics.families.hca.config import Inference as Inference, Model as Model, Settings
from hiertopics.families.hca.kernels import VectorGlobals, structured_scores
from hiertopics.families.hca.simulate import simulate as simulate
from hiertopics.families.hca.state import (
    LOG_2_PI,
    Data,
    State,
    as_they_are,
    bounds,
    elbo,
    lay_out,
    parts_of,
    slot_chances,
)
from hiertopics.families.nested.slots import (
    SlotNodes,
    log_masses,
    mean_masses,
    nodes_of,
    place,
    sparse_rows,
    subtree_sums,
)
from hiertopics.families.nested.tree_state import heavier_first, without_chances

LIVE_DOCS = 1.0

Infer = Callable[[Tree, Vectors, Settings, Context], Posterior]


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    structural: 1 if the tree was changed by moves in this iteration; n_moves: how many were
    tried. noise: standard deviation of what the axes leave, per column.
    """

    n_nodes: int
    n_leaves: int
    structural: int
    n_moves: int
    noise: float


def prepare(corpus: Vectors, settings: Settings) -> Data:
    """Lay the rows out."""
    return lay_out(corpus.rows, settings.inference.shards)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do every row's local step, then refit sticks, vectors, mean and noise; then moves.

    Moves come every ``moves_every`` iterations; each of them is followed by sweeps of its own.
    """
    inference = settings.inference
    slot = moves.sweep(state, data, settings)
    state = heavier_first(state, slot, settings.model.gamma)
    made = moves.HcaRoundResult(state, 0, 0)
    if inference.trials and context.iteration % inference.moves_every == 0:
        made = moves.round_of_moves(state, data, settings, context)
    state = made.state
    noise = float(1.0 / np.sqrt(state.precision))
    n_leaves = len(state.nodes.leaves)
    return state, Info(state.n_nodes, n_leaves, int(made.n_kept > 0), made.n_tried, noise)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch."""
    return elbo(state, settings.model)


def memory(corpus: Vectors, settings: Settings) -> int:
    """Return the bytes of the rows, their scores and chances, and of the sums of every shard."""
    n_nodes, shards = settings.model.max_nodes, settings.inference.shards
    per_row = 3 * corpus.n_columns + 4 * n_nodes
    globals_ = (1 + shards) * n_nodes * (corpus.n_columns + n_nodes)
    return 8 * (per_row * corpus.n_docs + globals_)


EXTRA = {
    "mean": Annotated[F64, Axes("n_nodes", "n_columns")],
    "covariance": Annotated[F64, Axes("n_shown", "n_shown")],
    "mu": Annotated[F64, Axes("n_columns")],
    "mu_variance": Annotated[F64, Axes("1", least=0)],
    "tau": Annotated[F64, Axes("1", least=POSITIVE)],
    "noise": Annotated[F64, Axes("2", least=POSITIVE)],
    "log_mass": Annotated[F64, Axes("n_nodes")],
    "mass": Annotated[F64, Axes("n_nodes", least=0)],
    "share": Annotated[F64, Axes("n_nodes", least=0)],
}
"""Arrays of a tree that inference and scores need; see ``summarise``."""


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of live nodes with one row outside, and the places of rows in it.

    A node lives with at least one expected row at or below it, or as the root; what is dropped
    goes to the slot of its nearest live ancestor. ``Tree.extra`` holds the vectors: mean
    [n_nodes, n_columns] and scale [n_nodes], the standard deviation of each of its entries;
    covariance [n_nodes, n_nodes]; mu [n_columns], mu_variance [1]; tau [1], the expected noise
    precision, and noise [2], shape and rate of its Gamma; log_mass and mass [n_nodes], of slots;
    share [n_nodes], of the rows in each slot.
    """
    model, nodes = settings.model, state.nodes
    chances = state.slot_chances(model)
    live, slot_of = _live(nodes, chances.sum(axis=0))
    n_live = len(live)
    new_id = np.full(nodes.n_nodes, ROOT)
    new_id[live] = np.arange(n_live)
    slots = new_id[slot_of]
    merged = np.zeros((data.n_docs, n_live))
    np.add.at(merged.T, slots, chances.T)
    mass, log_mass = np.zeros(n_live), np.full(n_live, -np.inf)
    np.add.at(mass, slots, mean_masses(nodes, state.sticks))
    np.logaddexp.at(log_mass, slots, log_masses(nodes, state.sticks, model.gamma))
    parent = np.append(new_id[nodes.parent[live]], ROOT).astype(np.int32)
    parent[0] = ROOT
    posterior = _placed(parent[:-1], state.depth, merged)
    assert posterior.paths is not None
    path = posterior.paths.node
    n_tokens = np.asarray(posterior.theta.sum(axis=0)).ravel()
    weight = n_tokens / max(n_tokens.sum(), 1.0)
    outside = np.sqrt(model.vector_variance)
    tree = Tree(
        phi=np.zeros((n_live + 1, 0)),
        parent=parent,
        kind=np.append(np.full(n_live, NODE), OUTSIDE).astype(np.int8),
        weight=weight,
        n_docs=np.bincount(path[path >= 0], minlength=n_live + 1).astype(np.int64),
        n_tokens=n_tokens,
        extra={
            "mean": np.vstack([state.mean[live], np.zeros(data.n_columns)]),
            "scale": np.append(np.sqrt(np.diag(state.cov)[live]), outside),
            "covariance": state.cov[np.ix_(live, live)],
            "mu": state.mu,
            "mu_variance": np.array([state.mu_variance]),
            "tau": np.array([state.precision]),
            "noise": np.array([state.noise_a, state.noise_b]),
            "log_mass": np.append(log_mass, 0.0),
            "mass": np.append(mass, 0.0),
            "share": np.append(merged.sum(axis=0) / max(data.n_docs, 1), 0.0),
        },
    )
    return Summary(tree, posterior.theta, posterior.paths)


def infer(tree: Tree, corpus: Vectors, settings: Settings, context: Context) -> Posterior:
    """Return theta and the best paths of new rows by local steps, the tree held fixed.

    Source: theory/ncrp 7.
    """
    scores = np.empty((corpus.n_docs, int((tree.kind == NODE).sum())))
    structured_scores(corpus.rows, given_by(State, tree, settings), scores)
    return where(tree, settings, scores)


def log_density(tree: Tree, corpus: Vectors, settings: Settings) -> F64:
    """Return the log density of each row before it is seen, float64 [n_docs].

    A mixture over slots, weighted by their expected mass, of normal densities with the expected
    vectors; an axis outside the tree adds its prior variance in every direction.
    """
    shown = tree.kind == NODE
    nodes = nodes_of(tree.parent[shown], settings.model.depth)
    axes, rows = tree.extra["mean"][shown], corpus.rows - tree.extra["mu"]
    length, onto = (rows**2).sum(axis=1), rows @ axes.T
    n_columns, noise = corpus.n_columns, 1.0 / float(tree.extra["tau"][0])
    logs = np.full((corpus.n_docs, nodes.n_nodes), -np.inf)
    for slot in range(nodes.n_nodes):
        path = nodes.path[slot][nodes.path[slot] >= 0]
        variance = noise + (nodes.depth - len(path)) * settings.model.vector_variance
        inner = variance * np.eye(len(path)) + axes[path] @ axes[path].T
        along = onto[:, path]
        fit = (along * np.linalg.solve(inner, along.T).T).sum(axis=1)
        spread = (n_columns - len(path)) * np.log(variance) + np.linalg.slogdet(inner)[1]
        logs[:, slot] = -0.5 * (n_columns * LOG_2_PI + spread + (length - fit) / variance)
    found: F64 = logsumexp(logs, axis=1, b=tree.extra["mass"][shown])
    return found


def where(tree: Tree, settings: Settings, scores: F64) -> Posterior:
    """Return theta and the best paths of rows whose log S of slots are ``scores``.

    scores: float64 [n_docs, n_slots].
    """
    return _placed(tree.parent[tree.kind == NODE], settings.model.depth, slot_chances(scores))


def _placed(parent: I32, depth: int, chances: F64) -> Posterior:
    rows = sparse_rows(chances)
    return place(parent, depth, rows, np.full((rows.nnz, depth), 1.0 / depth))


def _live(nodes: SlotNodes, mass: F64) -> tuple[I64, I64]:
    """Return the live nodes, and each node's nearest live self or ancestor."""
    alive = subtree_sums(nodes, mass) >= LIVE_DOCS
    alive[0] = True
    slot_of = np.arange(nodes.n_nodes)
    for node in np.flatnonzero(~alive):
        slot_of[node] = slot_of[nodes.parent[node]]
    return np.flatnonzero(alive), slot_of


def given_by(kind: type[State], tree: Tree, settings: Settings) -> VectorGlobals:
    """Return the globals that local steps need, from a tree with masses in place of sticks."""
    shown = tree.kind == NODE
    n_nodes, extra = int(shown.sum()), tree.extra
    state = kind(
        local=Workers().place(as_they_are, [], as_given, None),
        parent=tree.parent[shown],
        mean=extra["mean"][shown],
        cov=extra["covariance"],
        stick_a=np.ones(n_nodes),
        stick_b=np.ones(n_nodes),
        mu=extra["mu"],
        mu_variance=float(extra["mu_variance"][0]),
        noise_a=float(extra["noise"][0]),
        noise_b=float(extra["noise"][1]),
        depth=settings.model.depth,
    )
    return state.globals(settings.model, extra["log_mass"][shown])


def variational(
    kind: type[State], infer: Infer, migrate_state: Migration
) -> Backend[Vectors, Data, State, Settings]:
    """Return the backend of a family of states."""

    def init(data: Data, settings: Settings, context: Context) -> State:
        """Return the first state by the start of the config."""
        return starts.first_state(kind, data, settings, context)

    return Backend(
        Model=Model,
        Inference=Inference,
        State=kind,
        Info=Info,
        objective_name="evidence lower bound",
        prepare=prepare,
        init=init,
        step=step,
        summarise=summarise,
        infer=infer,
        extra=EXTRA,
        objective=objective,
        simulate=simulate,
        memory=memory,
        observes="vectors",
        pieces=Sharded(Local=kind.Local, parts=parts_of, build=as_they_are, bounds=bounds),
        migrate_state=migrate_state,
        monotone=always,
        log_density=log_density,
    )


backend = variational(State, infer, without_chances)
