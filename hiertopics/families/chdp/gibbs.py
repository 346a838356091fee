"""chdp-gibbs: Gibbs sampling of the cooperative hierarchical Dirichlet process.

A document follows its parents (authors, labels) and these follow the corpus; where there are
several parents they are mixed (superposition) or the strongest one counts for each topic
(maximization). Topics and document weights are integrated out.

J. Xuan, J. Lu, G. Zhang, R. Y. D. Xu: Cooperative Hierarchical Dirichlet Processes: Superposition
vs. Maximization, arXiv 1707.05420 (theory/chdp).

    theory/chdp                  here
    alpha_d, alpha_a, alpha_0    alpha_doc, alpha_group, gamma
    lambda_da                    share [n_links]
    pi_0, pi_a, b_d              log_pi_0 [T], log_pi [n_groups, T], the base of a document
    m_dk, s_ak, o_ak             m_dk, n_group_tables, options

``inference.sampler: irp`` is the paper's own sampler instead, a backend of its own in
``paper.irp``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.chains import Chains, chains
from hiertopics.data.corpus import Corpus
from hiertopics.families.chdp import gibbs_kernels as kernels
from hiertopics.families.chdp.concentrations import draw_eta
from hiertopics.families.chdp.config import GibbsInference as Inference
from hiertopics.families.chdp.config import Model as Model
from hiertopics.families.chdp.exact import State, draw_weights
from hiertopics.families.chdp.gibbs_state import (
    OBJECTIVE,
    Info,
    begin,
    even_sticks,
    info_of,
    weights_of,
)
from hiertopics.families.chdp.gibbs_state import memory as memory
from hiertopics.families.chdp.gibbs_state import objective as objective
from hiertopics.families.chdp.gibbs_state import per_chain as per_chain
from hiertopics.families.chdp.gibbs_state import prepare as prepare
from hiertopics.families.chdp.gibbs_state import summarise as summarise
from hiertopics.families.chdp.layout import Data
from hiertopics.families.chdp.prediction import infer as infer
from hiertopics.families.chdp.simulate import draw_hyperparameters as draw_hyperparameters
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.flat.layout import rounds
from hiertopics.families.flat.summary import regrouped
from hiertopics.model import Backend, Context, Settings, without


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, even weights and the start values of the config."""
    begun = begin(data, settings.model, context.rng("init"))
    return State(**vars(begun), sticks=even_sticks(settings.model.truncation))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold redraw tables, weights and concentrations too."""
    model, inference = settings.model, settings.inference
    moved = _sweep(state, data, model, context)
    if context.iteration > inference.hyper_start:
        rng, reorder = context.rng("weights"), inference.reorder_sticks
        draw_weights(state, data, model, inference.sampled, rng, reorder=reorder)
        if inference.sample_eta:
            state.eta = draw_eta(state.eta, state.n_wk, state.n_k, context.rng("words"))
    return state, info_of(state, moved)


def _sweep(state: State, data: Data, model: Model, context: Context) -> int:
    weights = weights_of(state, data, model)

    def visit(block: tuple[int, int]) -> tuple[int, NDArray[np.int64]]:
        n_k = state.n_k.copy()
        tables = state.tables._replace(n_k=n_k)
        rng = context.rng("sweep", *block)
        moved = kernels.sweep_block(
            data.cells, *block, tables, data.parents, weights, state.alpha_doc, state.eta, rng
        )
        return moved, n_k - state.n_k

    total = 0
    for blocks in rounds(data.cells.n_shards):
        for moved, change in context.map(visit, blocks):
            total += moved
            state.n_k += change
    return total


one: Backend[Corpus, Data, State] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name=OBJECTIVE,
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    regrouped=regrouped,
    per_chain=per_chain,
    draw_hyperparameters=draw_hyperparameters,
    renewed=without("seat", "table_option", "option_group", "option_topic"),
)
backend: Backend[Corpus, Data, Chains[State]] = chains(one)
