"""tssb-mcmc: tree-structured stick breaking by Markov chain Monte Carlo.

Each datum sits at one node, any node, of a tree of unbounded width and depth; a node's parameters
are drawn around its parent's. An iteration moves every datum by a slice sampler that breaks new
sticks as it meets them, redraws parameters, sticks and the order of children, and the parameters
of the process with the sticks integrated out.

R. Adams, Z. Ghahramani, M. Jordan: Tree-structured stick breaking for hierarchical data, NIPS 2010
(theory/tssb; two of the paper's steps are corrected there).

What data are and what nodes have for parameters is up to a likelihood: ``text`` or ``binary``.

    paper                     here
    alpha_0, lambda, gamma    Process: alpha0, decay, gamma
    nu, psi, phi, pi          log_nu, log_psi; shares of children; masses
    epsilon_n                 node
    theta_epsilon             nodes.value
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.contract import (
    NONE_DRAWN,
    Arrays,
    Backend,
    Context,
    Hyperparameters,
    PerChain,
    Posterior,
    Sizes,
    Summary,
    value_of,
)
from hiertopics.contract.chains import Chains, chains
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.flat.summary import notes_on_idle_shards
from hiertopics.families.tssb import stick_kernels as kernels, summary as common
from hiertopics.families.tssb.config import Inference, Model, Settings, ends, middle, process_bounds
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.state import DataT, Likelihood, SeenT, State, StateT, as_kept
from hiertopics.families.tssb.stick_kernels import draw_process
from hiertopics.families.tssb.trees import assign, plant, reordered, resettle

NODES_PER_DATUM = 4
PROCESS = ("alpha0", "decay", "gamma")


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


@dataclass(frozen=True)
class Sampler(Generic[SeenT, DataT, StateT]):
    """The functions of the backend of one chain; see ``sampler``."""

    likelihood: Likelihood[SeenT, DataT, StateT]

    def init(self, data: DataT, settings: Settings, context: Context) -> StateT:
        """Return a state whose data were put into a tree as ``inference.start`` says."""
        state = self.likelihood.start(data, settings, context.rng)
        nodes, node = plant(
            self.likelihood.features(state, data),
            state.nodes.value[0],
            float(state.nodes.offset[0]),
            settings.inference.start,
            state.process,
            self.likelihood.law(state.law, settings.model),
            context.rng("tree"),
        )
        return replace(state, node=node, nodes=nodes)

    def step(
        self, state: StateT, data: DataT, settings: Settings, context: Context
    ) -> tuple[StateT, Info]:
        """Redraw assignments, parameters of nodes, sticks, order and process."""
        state, moved = self._moved(state, data, settings, context)
        state = self.likelihood.update(state, data, settings, context)
        state = _new_sticks(state, settings.model, context.rng("sticks"))
        nodes, n = state.nodes, int(state.nodes.size[0])
        used = nodes.n_sub[:n] > 0
        info = Info(
            int(used.sum()),
            int((nodes.n_at[:n] > 0).sum()),
            int(nodes.depth[:n][used].max(initial=0)),
            self.objective(state, data, settings, context),
            *state.process[:3],
            self.likelihood.closeness(state.law),
            moved,
        )
        return state, info

    def _moved(
        self, state: StateT, data: DataT, settings: Settings, context: Context
    ) -> tuple[StateT, int]:
        """Return the state after passes of its data, in place, and how many moves there were."""
        features = self.likelihood.features(state, data)
        law = self.likelihood.law(state.law, settings.model)
        rng = context.rng("assign")
        nodes, moved = assign(features, state.node, state.nodes, state.process, law, rng)
        every = settings.inference.settle_every
        if every and context.iteration % every == 0:
            rng = context.rng("settle")
            nodes, changed = resettle(features, state.node, nodes, state.process, law, rng)
            moved += changed
        return replace(state, nodes=nodes), moved

    def summarise(
        self, state: StateT, data: DataT, settings: Settings, context: Context
    ) -> Summary:
        """Return this draw as a tree."""
        used = common.used_nodes(state.nodes)
        rows = self.likelihood.rows(state, used, data, settings)
        notes = notes_on_idle_shards(settings.inference.shards, "data")
        return common.summarise(state, used, rows).noting(*notes)

    def infer(self, tree: Tree, corpus: SeenT, settings: Settings, context: Context) -> Posterior:
        """Return theta, the chance of each node given a datum, and the most probable node's path.

        The draw is held fixed (theory/tssb 6).
        """
        return common.infer(tree, self.likelihood.scorer(tree, corpus), corpus.n_docs, context)

    def objective(self, state: StateT, data: DataT, settings: Settings, context: Context) -> float:
        """Return the log likelihood of data, their nodes and, for text, words (theory/tssb 5)."""
        log_pi = kernels.log_masses(state.nodes)[state.node].sum()
        given_nodes = self.likelihood.log_likelihood(state, data)
        return float(log_pi + given_nodes + self.likelihood.log_extra(state, data, settings))

    def per_chain(
        self, state: StateT, data: DataT, settings: Settings, context: Context
    ) -> PerChain:
        """Return the objective, numbers of the tree and its process, and paths."""
        process = state.process
        traces = {
            "objective": [self.objective(state, data, settings, context)],
            "n_nodes": [float((state.nodes.n_sub > 0).sum())],
            "alpha0": [process.alpha0],
            "decay": [process.decay],
            "gamma": [process.gamma],
            "kappa": [self.likelihood.closeness(state.law)],
        }
        return PerChain(traces, common.paths_to(state.nodes, state.node)[None])

    def memory(self, corpus: SeenT, settings: Settings) -> int:
        """Return the bytes of data and nodes, for some nodes per datum."""
        of_data, per_node = self.likelihood.memory(corpus, settings.model)
        n_nodes = 64 + NODES_PER_DATUM * corpus.n_docs
        return int(of_data + 2 * n_nodes * (per_node + 64))

    def simulate(
        self,
        settings: Settings,
        sizes: Sizes,
        context: Context,
        drawn: Hyperparameters = NONE_DRAWN,
    ) -> tuple[SeenT, Mapping[str, NDArray[Any]]]:
        """Draw data under the config's values, the middles of ranges, sticks integrated out.

        drawn: alpha0, decay, gamma, kappa and variance [P] where they are not those.
        """
        model = settings.model
        between = middle(model)
        alpha0, decay, gamma = (value_of(name, between, drawn) for name in PROCESS)
        process = Process(alpha0, decay, gamma, model.max_depth)
        return self.likelihood.story(model, sizes, process, context.rng("simulate"), drawn)

    def draw_hyperparameters(
        self, settings: Settings, sizes: Sizes, context: Context
    ) -> Hyperparameters:
        """Draw the parameters from the uniform priors whose ranges the config gives.

        That is alpha0, decay, gamma, and kappa for text, variance [n_words] for rows of 0 and 1.
        """
        model, rng = settings.model, context.rng("hyperparameters")
        shapes = {**dict.fromkeys(PROCESS, ()), **self.likelihood.ranges(sizes)}
        drawn = {}
        for name, shape in shapes.items():
            low, high = ends(getattr(model, name))
            if low < high:
                drawn[name] = np.asarray(rng.uniform(low, high, shape))
        return drawn


def _new_sticks(state: StateT, model: Model, rng: np.random.Generator) -> StateT:
    """Redraw sticks, the order of children, the process and sticks again, in place of the old."""
    kernels.draw_sticks(state.nodes, state.process, rng, True)
    nodes = reordered(state.nodes, state.node, state.process, rng)
    process = draw_process(nodes, state.process, process_bounds(model), rng)
    kernels.draw_sticks(nodes, process, rng, True)
    return replace(state, nodes=nodes, process=process)


def score(state: State, info: Info) -> float:
    """Return the log likelihood, by which draws are compared."""
    return info.log_likelihood


def sampler(
    likelihood: Likelihood[SeenT, DataT, StateT],
    before: Callable[[Arrays, Settings], Chains[StateT]],
    keep: Callable[[StateT], StateT] = copy.deepcopy,
    revive: Callable[[StateT, DataT], StateT] = as_kept,
) -> tuple[
    Backend[SeenT, DataT, StateT, Settings], Backend[SeenT, DataT, Chains[StateT], Settings]
]:
    """Return the sampler under a likelihood, of one chain and of several (see ``chains``)."""
    of = Sampler(likelihood)
    one = Backend(
        Model=Model,
        Inference=Inference,
        State=likelihood.State,
        Info=Info,
        objective_name="complete-data log likelihood",
        prepare=likelihood.prepare,
        init=of.init,
        step=of.step,
        summarise=of.summarise,
        infer=of.infer,
        objective=of.objective,
        simulate=of.simulate,
        memory=of.memory,
        observes=likelihood.observes,
        per_chain=of.per_chain,
        predictive=likelihood.predictive,
        log_density=likelihood.log_density,
        draw_hyperparameters=of.draw_hyperparameters,
        migrate_state=likelihood.migrate_state,
        flaw=likelihood.flaw,
        extra={**common.EXTRA, **likelihood.extra},
    )
    several = chains(one, score=score, keep=keep, revive=revive, numbered=True, before=before)
    return one, several
