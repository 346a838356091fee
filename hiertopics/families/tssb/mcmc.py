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
from hiertopics.families.tssb.state import Chain, Draw, State, Walk, drawn, pack, unpack
from hiertopics.families.tssb.trees import assign, reordered, resettle
from hiertopics.model import Backend, Context, PerChain, Settings, Summary

OBSERVED = {"text": "counts", "binary": "bits"}
NODES_PER_DATUM = 4


class Info(NamedTuple):
    """Columns of metrics.jsonl: of the first chain, except moved.

    n_nodes: nodes with data at or below them; n_occupied: with data at them. depth: of the deepest
    one. log_likelihood: of the complete data (theory/tssb 5). kappa: how closely nodes follow
    their parents (binary: the mean of 1/Lambda). moved: data that changed their node, all chains
    together.
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
    """Return chains whose data were put into a tree as ``inference.start`` says."""
    likelihood = LIKELIHOODS[settings.model.likelihood]

    def begin(chain: int) -> Walk:
        def rng(purpose: str) -> np.random.Generator:
            return context.rng(purpose, chain)

        start = likelihood.start(data, settings, rng)
        process = middle(settings.model)
        nodes, node = plant(
            likelihood.features(start.topics, data),
            start.root,
            start.offset,
            settings.inference.start,
            process,
            likelihood.law(start.law, settings.model),
            rng("tree"),
        )
        made = Chain(node, start.topics, nodes, process, start.law)
        return Walk(made, drawn(made, -np.inf))

    return pack(context.map(begin, range(settings.inference.chains)))


def step(state: State, data: Any, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw assignments, parameters of nodes, sticks, order and process; note the best draw."""

    def advance(numbered: tuple[int, Walk]) -> tuple[Walk, int, float]:
        number, walk = numbered

        def rng(purpose: str) -> np.random.Generator:
            return context.rng(purpose, number)

        chain, moved = _moved(walk.chain, data, settings, context.iteration, rng)
        chain = likelihood.update(chain, data, settings, context.iteration, rng)
        chain = _new_sticks(chain, settings.model, rng("sticks"))
        score = _log_likelihood(chain, data, settings)
        if context.iteration > settings.inference.burn_in and score > walk.best.score:
            walk = walk._replace(best=drawn(chain, score))
        return walk._replace(chain=chain), moved, score

    likelihood = LIKELIHOODS[settings.model.likelihood]
    walks = list(enumerate(unpack(state, settings.model.max_depth)))
    results = context.map(advance, walks)
    chain = results[0][0].chain
    n = int(chain.nodes.size[0])
    used = chain.nodes.n_sub[:n] > 0
    info = Info(
        int(used.sum()),
        int((chain.nodes.n_at[:n] > 0).sum()),
        int(chain.nodes.depth[:n][used].max(initial=0)),
        results[0][2],
        *chain.process[:3],
        likelihood.closeness(chain.law),
        sum(moved for _, moved, _ in results),
    )
    return pack([walk for walk, _, _ in results]), info


def summarise(state: State, data: Any, settings: Settings, context: Context) -> Summary:
    """Return the draw that ``inference.summarise`` asks for; the last where no best is known yet.

    Of several chains it is that of the chain where this draw is the most probable.
    """
    walks = unpack(state, settings.model.max_depth)
    best = max((walk.best for walk in walks), key=lambda kept: kept.score)
    if settings.inference.summarise == "map" and np.isfinite(best.score):
        return _summary(best, data, settings)
    return draw(state, data, settings, context)


def draw(state: State, data: Any, settings: Settings, context: Context) -> Summary:
    """Return the current draw; of several chains the most probable one."""
    chains = [walk.chain for walk in unpack(state, settings.model.max_depth)]
    scores = context.map(lambda chain: _log_likelihood(chain, data, settings), chains)
    return _summary(drawn(chains[int(np.argmax(scores))], 0.0), data, settings)


def per_chain(state: State, data: Any, settings: Settings, context: Context) -> PerChain:
    """Return the numbers and paths that the chains are compared by."""
    chains = [walk.chain for walk in unpack(state, settings.model.max_depth)]
    closeness = LIKELIHOODS[settings.model.likelihood].closeness
    traces = {
        "objective": context.map(lambda chain: _log_likelihood(chain, data, settings), chains),
        "n_nodes": [float((chain.nodes.n_sub > 0).sum()) for chain in chains],
        **{
            name: [float(getattr(chain.process, name)) for chain in chains]
            for name in ("alpha0", "decay", "gamma")
        },
        "kappa": [closeness(chain.law) for chain in chains],
    }
    return PerChain(traces, common.lineages([(chain.nodes, chain.node) for chain in chains]))


def objective(state: State, data: Any, settings: Settings, context: Context) -> float:
    """Return the complete-data log likelihood (theory/tssb 5); of several chains the mean."""
    walks = unpack(state, settings.model.max_depth)
    scores = context.map(lambda walk: _log_likelihood(walk.chain, data, settings), walks)
    return float(np.mean(scores))


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of data and nodes, for some nodes per datum."""
    per_chain, per_node = LIKELIHOODS[settings.model.likelihood].memory(corpus, settings.model)
    n_nodes = 64 + NODES_PER_DATUM * corpus.n_docs
    return int(settings.inference.chains * (per_chain + 2 * n_nodes * (per_node + 64)))


def log_density(tree: Tree, corpus: Any, settings: Settings) -> NDArray[np.float64]:
    """Return the log chance of each row of 0 and 1 before it is seen, float64 [n_docs]."""
    log_chance: NDArray[np.float64] = LIKELIHOODS[settings.model.likelihood].log_density(
        tree, corpus, settings
    )
    return log_chance


def _moved(
    chain: Chain, data: Any, settings: Settings, iteration: int, rng: Any
) -> tuple[Chain, int]:
    """Return the chain after passes of its data, in place, and how many moves there were."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    features = likelihood.features(chain.topics, data)
    law = likelihood.law(chain.law, settings.model)
    generator, moved, nodes = rng("assign"), 0, chain.nodes
    for _ in range(settings.inference.assignment_sweeps):
        nodes, changed = assign(features, chain.node, nodes, chain.process, law, generator)
        moved += changed
    every = settings.inference.settle_every
    if every and iteration % every == 0:
        generator = rng("settle")
        nodes, changed = resettle(features, chain.node, nodes, chain.process, law, generator)
        moved += changed
    return chain._replace(nodes=nodes), moved


def _new_sticks(chain: Chain, model: Model, rng: np.random.Generator) -> Chain:
    """Redraw sticks, the order of children, the process and sticks again, in place of the old."""
    kernels.draw_sticks(chain.nodes, chain.process, rng, True)
    nodes = reordered(chain.nodes, chain.node, chain.process, rng)
    process = draw_process(nodes, chain.process, process_bounds(model), rng)
    kernels.draw_sticks(nodes, process, rng, True)
    return chain._replace(nodes=nodes, process=process)


def _log_likelihood(chain: Chain, data: Any, settings: Settings) -> float:
    """Return the log likelihood of data, their nodes and, for text, words (theory/tssb 5)."""
    likelihood = LIKELIHOODS[settings.model.likelihood]
    log_pi = kernels.log_masses(chain.nodes)[chain.node].sum()
    given_nodes = likelihood.log_likelihood(chain, data)
    return float(log_pi + given_nodes + likelihood.log_extra(chain, data, settings))


def _summary(kept: Draw, data: Any, settings: Settings) -> Summary:
    likelihood = LIKELIHOODS[settings.model.likelihood]
    summary = common.summarise(kept, data, likelihood, settings)
    if settings.inference.shards == 1:
        return summary
    note = "inference.shards has no effect: data are visited one after the other"
    return replace(summary, notes=(*summary.notes, note))


backend: Backend[Any, Any, State] = Backend(
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
    sampler=True,
    draw=draw,
    per_chain=per_chain,
    predictive=predictive,
    log_density=log_density,
    draw_hyperparameters=draw_hyperparameters,
)
