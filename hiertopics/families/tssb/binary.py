"""tssb-mcmc of rows of 0 and 1: parameters of nodes diffuse down the tree.

The algorithm is ``mcmc``; this is what it asks of rows. A row has a 1 in column p with chance
sigmoid(theta_p), theta those of its node; a node's theta is normal around its parent's, the root's
around 0 (theory/tssb 2 and 4.5).

    paper               here
    theta_e             nodes.value[e], on the grid of binary_kernels
    eta                 model.persistence
    Lambda              the first P numbers of law; the last one is the HMC step size
    N_e, s_e            Family: n_at, sums
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp

from hiertopics.base.arrays import F32, F64, I64, U8
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Hyperparameters, Sizes, without
from hiertopics.corpus.data import Tree, Vectors, default_columns
from hiertopics.families.tssb import binary_kernels as kernels
from hiertopics.families.tssb.binary_kernels import Diffusion, Family
from hiertopics.families.tssb.config import Model, Settings, ends, middle
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.mcmc import sampler
from hiertopics.families.tssb.state import Likelihood, NodeRows, Rng, State, before, misplaced
from hiertopics.families.tssb.summary import used_nodes
from hiertopics.families.tssb.trees import bare, seated

FIRST_STEP = 0.3
STEPS = (0.001, 0.9)
"""The step size stays in between, in units of a parameter's own scale; beyond 1 it diverges."""
ACCEPTANCE, GAIN = 0.8, 0.3
"""Acceptance that the step size aims at in burn-in, and the rate at which its log moves."""

LEAPFROG_STEPS = 25
"""Leapfrog steps of each Hamiltonian move of the parameters."""

LARGEST = 40.0
"""Largest log odds: beyond, a chance is 0 or 1 in double precision."""


class Data(NamedTuple):
    """Rows of 0 and 1, uint8 [n_docs, n_columns]."""

    rows: U8

    @property
    def n_docs(self) -> int:
        """Number of rows."""
        return len(self.rows)


def prepare(corpus: Vectors, settings: Settings) -> Data:
    """Lay the rows out."""
    return Data(np.ascontiguousarray(corpus.rows, dtype=np.uint8))


def start(data: Data, settings: Settings, rng: Rng) -> State:
    """Return variances at the middle of their range, and a root like all rows."""
    n_docs, n_columns = data.rows.shape
    variance = np.full(n_columns, sum(ends(settings.model.variance)) / 2)
    share = (data.rows.sum(axis=0, dtype=np.float64) + 1.0) / (n_docs + 2.0)
    root = on_grid(logit(share))
    nodes, node = bare(root, kernels.offset_of(root)), np.zeros(n_docs, np.int32)
    return State(node, nodes, middle(settings.model), np.append(variance, FIRST_STEP))


def on_grid(theta: F64) -> F32:
    """Return the nearest values on the grid, float32 of the shape of ``theta``."""
    return (np.round(theta * kernels.GRID) / kernels.GRID).astype(np.float32)


def features(state: State, data: Data) -> U8:
    """Return the features in which the log likelihood of a row is linear: uint8 [n_docs, P]."""
    return data.rows


def law(values: F64, model: Model) -> Diffusion:
    """Return the law that a node's parameters follow."""
    return Diffusion(model.persistence, np.sqrt(values[:-1]))


def update(state: State, data: Data, settings: Settings, context: Context) -> State:
    """Redraw the parameters of all nodes with data below, then the variances; in place."""
    model, inference = settings.model, settings.inference
    nodes, draws = state.nodes, context.rng("diffusion")
    used = used_nodes(nodes)
    variance, step_size = state.law[:-1].copy(), float(state.law[-1])
    family = family_of(state, data, used, model, variance)
    theta = nodes.value[used].astype(np.float64)
    accepted = kernels.hamiltonian_step(theta, family, step_size, LEAPFROG_STEPS, draws)
    if inference.slice_every and context.iteration % inference.slice_every == 0:
        kernels.slice_sweep(theta, family, draws)
    draw_law(theta, family, variance, model, draws)
    if context.iteration <= inference.burn_in:
        step_size = adapted(step_size, accepted / len(variance))
    nodes.value[used] = on_grid(theta)
    nodes.offset[used] = [kernels.offset_of(value) for value in nodes.value[used]]
    return replace(state, law=np.append(variance, step_size))


def family_of(state: State, data: Data, used: I64, model: Model, variance: F64) -> Family:
    """Return the used nodes, numbered by their place in ``used``, with the sums of their rows.

    used: int64 [n_used], ascending. variance: float64 [P].
    """
    nodes = state.nodes
    place = np.full(int(nodes.size[0]), -1, np.int32)
    place[used] = np.arange(len(used))
    up = np.append(np.int32(-1), place[nodes.parent[used[1:]]]).astype(np.int32)
    sums = kernels.sums_at(data.rows, place[state.node], len(used))
    precision = 1.0 / variance
    root = precision if model.root_variance is None else np.full_like(precision, 1.0)
    if model.root_variance is not None:
        root /= model.root_variance
    n_at = nodes.n_at[used].astype(np.float64)
    return Family(up, n_at, sums, model.persistence, precision, root)


def draw_law(
    theta: F64, family: Family, variance: F64, model: Model, rng: np.random.Generator
) -> None:
    """Redraw the variances in place given the steps from node to node, the root's among them.

    theta: float64 [n_nodes, P]. variance: float64 [P].
    """
    squares = kernels.squared_steps(theta, family.up, family.persistence)
    n_steps = len(theta) - 1
    if model.root_variance is None:
        squares, n_steps = squares + theta[0] ** 2, n_steps + 1
    kernels.draw_variances(variance, squares, n_steps, *ends(model.variance), rng)


def adapted(step_size: float, acceptance: float) -> float:
    """Return the step size moved towards the acceptance that is aimed at."""
    moved = step_size * np.exp(GAIN * (acceptance - ACCEPTANCE))
    return float(np.clip(moved, *STEPS))


def closeness(values: F64) -> float:
    """Return how closely nodes follow their parents: the mean precision over columns."""
    return float((1.0 / values[:-1]).mean())


def log_likelihood(state: State, data: Data) -> float:
    """Return log f of all rows at their nodes."""
    nodes, n = state.nodes, int(state.nodes.size[0])
    sums = kernels.sums_at(data.rows, state.node, n)
    return float((sums * nodes.value[:n]).sum() + nodes.n_at[:n] @ nodes.offset[:n])


def log_extra(state: State, data: Data, settings: Settings) -> float:
    """Return 0: there is nothing besides rows and nodes."""
    return 0.0


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the data; see ``Backend``."""
    n_columns = data.rows.shape[1]
    return misplaced(state, n_columns, n_columns + 1, settings.model)


def rows(state: State, used: I64, data: Data, settings: Settings) -> NodeRows:
    """Return the arrays of model.npz for the nodes ``used``; no words.

    mean: chances of a 1 [n, P]. value: theta. newborn: chances of a 1 at a new child, theta
    integrated out. telling: by how much chances exceed those of all rows. variance [P].
    """
    value = state.nodes.value[used].astype(np.float64)
    mean = expit(value)
    n_at = state.nodes.n_at[used].astype(np.float64)
    overall = (data.rows.sum(axis=0, dtype=np.float64) + 1.0) / (data.n_docs + 2.0)
    by_node = {
        "mean": mean,
        "value": value,
        "newborn": chance_of_child(value, state.law[:-1], settings.model.persistence),
        "telling": mean - overall,
    }
    return NodeRows(np.zeros((len(used), 0)), n_at, by_node, {"variance": state.law[:-1].copy()})


def chance_of_child(value: F64, variance: F64, persistence: float) -> F64:
    """Return the mean of sigmoid(theta) over children of nodes with these values [n, P]."""
    chance = np.zeros_like(value)
    for point, weight in zip(kernels.POINTS, kernels.WEIGHTS, strict=True):
        chance += weight * expit(persistence * value + np.sqrt(variance) * point)
    return chance


def memory(corpus: Vectors, model: Model) -> tuple[int, int]:
    """Return the bytes of a chain's data, and of a node."""
    return corpus.n_docs * corpus.n_columns, 4 * corpus.n_columns


class LinearLogLikelihood(NamedTuple):
    """Log likelihoods x . slope + offset: slope float64 [m, P], offset [m]."""

    slope: F64
    offset: F64

    def of(self, row: F64) -> F64:
        """Return the log likelihood of a row at each place, float64 [m]."""
        return np.asarray(self.slope @ row + self.offset)


def linear(log_odds: F64) -> LinearLogLikelihood:
    """Return the log likelihoods under log odds [m, P], which are put on the grid."""
    slope = np.round(np.clip(log_odds, -LARGEST, LARGEST) * kernels.GRID) / kernels.GRID
    return LinearLogLikelihood(slope, np.array([kernels.offset_of(row) for row in slope]))


def scorer(tree: Tree, corpus: Vectors) -> Callable[[int], F64]:
    """Return a function: the log likelihood of row ``doc`` at each node, then outside the tree.

    float64 [n_nodes + 1]. A row that comes to a node outside the tree comes to a new child of one
    of its nodes, whose parameters are integrated out; deeper newcomers are taken for children too.
    """
    shown = tree.shown
    at, under = linear(tree.extra["value"][shown]), linear(logit(tree.extra["newborn"][shown]))
    with np.errstate(divide="ignore"):
        log_share = np.log(tree.extra["below"][shown]) - tree.extra["log_mass"][-1]

    def score(doc: int) -> F64:
        row = corpus.rows[doc]
        return np.append(at.of(row), logsumexp(log_share + under.of(row)))

    return score


def log_density(tree: Tree, corpus: Vectors, settings: Settings) -> F64:
    """Return the log chance of each row before it is seen, float64 [n_docs].

    A mixture over the nodes of the tree and their new children, by their masses.
    """
    score, log_mass = scorer(tree, corpus), tree.extra["log_mass"]
    return np.array([logsumexp(log_mass + score(doc)) for doc in range(corpus.n_docs)])


def story(
    model: Model, sizes: Sizes, process: Process, rng: np.random.Generator, drawn: Hyperparameters
) -> tuple[Vectors, dict[str, NDArray[Any]]]:
    """Draw rows of ``n_words`` columns, sticks integrated out (theory/tssb 1 and 2).

    Truth: parent int32 [n_nodes] of the tree, parents first; node int32 [n_docs]; value
    [n_nodes, P], the parameters, and mean [n_nodes, P], the chances of a 1; variance [P];
    theta [n_docs, n_nodes]. Variances that are not drawn lie amid their range.
    """
    variance = drawn.get("variance", np.full(sizes.n_words, sum(ends(model.variance)) / 2))
    spread = np.sqrt(variance if model.root_variance is None else model.root_variance)
    root = (spread * rng.standard_normal(sizes.n_words)).astype(np.float32)
    law = Diffusion(model.persistence, np.sqrt(variance))
    nodes, node = seated(sizes.n_docs, root, kernels.offset_of(root), process, law, rng)
    n = int(nodes.size[0])
    value = nodes.value[:n].astype(np.float64)
    mean = expit(value)
    theta = np.zeros((sizes.n_docs, n))
    theta[np.arange(sizes.n_docs), node] = 1.0
    rows = (rng.random((sizes.n_docs, sizes.n_words)) < mean[node]).astype(np.float64)
    return Vectors(rows, default_columns(sizes.n_words)), {
        "parent": nodes.parent[:n],
        "node": node,
        "value": value,
        "mean": mean,
        "variance": variance,
        "theta": theta,
    }


def ranges(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return that each column has a variance."""
    return {"variance": (sizes.n_words,)}


likelihood = Likelihood(
    observes="bits",
    State=State,
    prepare=prepare,
    start=start,
    features=features,
    law=law,
    closeness=closeness,
    update=update,
    log_likelihood=log_likelihood,
    log_extra=log_extra,
    rows=rows,
    scorer=scorer,
    story=story,
    ranges=ranges,
    memory=memory,
    log_density=log_density,
    flaw=flaw,
    extra={
        **dict.fromkeys(("mean", "value", "newborn"), Annotated[F64, Axes("n_nodes", "n_columns")]),
        "variance": Annotated[F64, Axes("n_columns", least=0)],
    },
    migrate_state=without("topics.z", "topics.n_dk", "topics.n_wk", "topics.n_k"),
)
one, backend = sampler(likelihood, before)
