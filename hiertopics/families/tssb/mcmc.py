"""tssb-mcmc: tree-structured stick breaking by Markov chain Monte Carlo.

Each datum sits at one node, any node, of a tree of unbounded width and depth; a node's parameters
are drawn around its parent's. An iteration moves every datum by a slice sampler that breaks new
sticks as it meets them, redraws parameters, sticks and the order of children, and the parameters
of the process with the sticks integrated out.

R. Adams, Z. Ghahramani, M. Jordan: Tree-structured stick breaking for hierarchical data, NIPS 2010
(theory/tssb; two of the paper's steps are corrected there).

    paper                     here
    alpha_0, lambda, gamma    Process: alpha0, decay, gamma
    nu, psi, phi, pi          log_nu, log_psi; shares of children; masses
    epsilon_n                 node
    theta_epsilon             nodes.value
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.chains import Chains, chains
from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.tssb import stick_kernels as kernels
from hiertopics.families.tssb import summary as common
from hiertopics.families.tssb.config import Inference as Inference
from hiertopics.families.tssb.config import Model as Model
from hiertopics.families.tssb.config import process_bounds
from hiertopics.families.tssb.infer import infer as infer
from hiertopics.families.tssb.likelihoods import LIKELIHOODS
from hiertopics.families.tssb.predictive import predictive as predictive
from hiertopics.families.tssb.process_kernels import draw_process
from hiertopics.families.tssb.simulate import draw_hyperparameters as draw_hyperparameters
from hiertopics.families.tssb.simulate import middle
from hiertopics.families.tssb.simulate import simulate as simulate
from hiertopics.families.tssb.starts import plant
from hiertopics.families.tssb.state import State, before, keep
from hiertopics.families.tssb.trees import assign, reordered, resettle
from hiertopics.model import Backend, Context, PerChain, Settings, Summary

OBSERVED = {"text": "counts", "binary": "bits"}
NODES_PER_DATUM = 4


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    n_nodes: nodes with data at or below them; n_occupied: with data at them. depth: of the deepest
    one. log_likelihood: of the complete data (theory/tssb 5). kappa: how closely nodes follow
    their parents (binary: the mean of 1/Lambda). moved: data that changed their node.
    """

    n_nodes: int
    n_occupied: int
    depth: int
    log_likelihood: float
    alpha0: float
    decay: float
    gamma: float
    kappa: float
    moved: int


def observes(model: Model) -> str:
    """Return the kind of data that the likelihood is for."""
    return OBSERVED[model.likelihood]


def prepare(corpus: Corpus, settings: Settings) -> Any:
    """Lay the data out for the kernels."""
    return LIKELIHOODS[settings.model.likelihood].prepare(corpus, settings)


def init(data: Any, settings: Settings, context: Context) -> State:
    """Return a state whose data were put into a tree as ``inference.start`` says."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    start = likelihood.start(data, settings, context.rng)
    process = middle(settings.model)
    nodes, node = plant(
        likelihood.features(start.topics, data),
        start.root,
        start.offset,
        settings.inference.start,
        process,
        likelihood.law(start.law, settings.model),
        context.rng("tree"),
    )
    return State(node, start.topics, nodes, process, start.law)


def step(state: State, data: Any, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw assignments, parameters of nodes, sticks, order and process."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    state, moved = _moved(state, data, settings, context)
    state = likelihood.update(state, data, settings, context)
    state = _new_sticks(state, settings.model, context.rng("sticks"))
    nodes, n = state.nodes, int(state.nodes.size[0])
    used = nodes.n_sub[:n] > 0
    info = Info(
        int(used.sum()),
        int((nodes.n_at[:n] > 0).sum()),
        int(nodes.depth[:n][used].max(initial=0)),
        objective(state, data, settings, context),
        *state.process[:3],
        likelihood.closeness(state.law),
        moved,
    )
    return state, info


def summarise(state: State, data: Any, settings: Settings, context: Context) -> Summary:
    """Return this draw as a tree."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    summary = common.summarise(state, data, likelihood, settings)
    if settings.inference.shards == 1:
        return summary
    note = "inference.shards has no effect: data are visited one after the other"
    return replace(summary, notes=(*summary.notes, note))


def per_chain(state: State, data: Any, settings: Settings, context: Context) -> PerChain:
    """Return the objective, numbers of the tree and its process, and paths."""
    closeness = LIKELIHOODS[settings.model.likelihood].closeness
    process = state.process
    traces = {
        "objective": [objective(state, data, settings, context)],
        "n_nodes": [float((state.nodes.n_sub > 0).sum())],
        "alpha0": [process.alpha0],
        "decay": [process.decay],
        "gamma": [process.gamma],
        "kappa": [closeness(state.law)],
    }
    return PerChain(traces, common.paths_to(state.nodes, state.node)[None])


def objective(state: State, data: Any, settings: Settings, context: Context) -> float:
    """Return the log likelihood of data, their nodes and, for text, words (theory/tssb 5)."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    log_pi = kernels.log_masses(state.nodes)[state.node].sum()
    given_nodes = likelihood.log_likelihood(state, data)
    return float(log_pi + given_nodes + likelihood.log_extra(state, data, settings))


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of data and nodes, for some nodes per datum."""
    of_data, per_node = LIKELIHOODS[settings.model.likelihood].memory(corpus, settings.model)
    n_nodes = 64 + NODES_PER_DATUM * corpus.n_docs
    return int(of_data + 2 * n_nodes * (per_node + 64))


def log_density(tree: Tree, corpus: Any, settings: Settings) -> NDArray[np.float64]:
    """Return the log chance of each row of 0 and 1 before it is seen, float64 [n_docs]."""
    log_chance: NDArray[np.float64] = LIKELIHOODS[settings.model.likelihood].log_density(
        tree, corpus, settings
    )
    return log_chance


def _moved(state: State, data: Any, settings: Settings, context: Context) -> tuple[State, int]:
    """Return the state after passes of its data, in place, and how many moves there were."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    features = likelihood.features(state.topics, data)
    law = likelihood.law(state.law, settings.model)
    rng, moved, nodes = context.rng("assign"), 0, state.nodes
    for _ in range(settings.inference.assignment_sweeps):
        nodes, changed = assign(features, state.node, nodes, state.process, law, rng)
        moved += changed
    every = settings.inference.settle_every
    if every and context.iteration % every == 0:
        rng = context.rng("settle")
        nodes, changed = resettle(features, state.node, nodes, state.process, law, rng)
        moved += changed
    return replace(state, nodes=nodes), moved


def _new_sticks(state: State, model: Model, rng: np.random.Generator) -> State:
    """Redraw sticks, the order of children, the process and sticks again, in place of the old."""
    kernels.draw_sticks(state.nodes, state.process, rng, True)
    nodes = reordered(state.nodes, state.node, state.process, rng)
    process = draw_process(nodes, state.process, process_bounds(model), rng)
    kernels.draw_sticks(nodes, process, rng, True)
    return replace(state, nodes=nodes, process=process)


def _score(state: State, info: Info) -> float:
    return info.log_likelihood


one: Backend[Any, Any, State] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="complete-data log likelihood",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    observes=observes,
    per_chain=per_chain,
    predictive=predictive,
    log_density=log_density,
    draw_hyperparameters=draw_hyperparameters,
)
backend: Backend[Any, Any, Chains[State]] = chains(
    one, score=_score, keep=keep, numbered=True, before=before
)
