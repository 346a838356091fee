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
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.families.chdp import gibbs_kernels as kernels
from hiertopics.families.chdp import irp
from hiertopics.families.chdp import summary as common
from hiertopics.families.chdp.base_kernels import base_rows
from hiertopics.families.chdp.concentrations import Sampled, draw_eta
from hiertopics.families.chdp.config import Model as Model
from hiertopics.families.chdp.exact import draw_weights
from hiertopics.families.chdp.gibbs_state import State, begin, weights_of
from hiertopics.families.chdp.layout import Data, lay_out, parent_tags
from hiertopics.families.chdp.prediction import infer as infer
from hiertopics.families.chdp.simulate import draw_hyperparameters as draw_hyperparameters
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.flat.config import HyperStart, ReorderSticks
from hiertopics.families.flat.layout import rounds
from hiertopics.families.flat.summary import notes_on_shards, topic_counts
from hiertopics.model import Backend, Context, Settings, Summary
from hiertopics.numeric.evidence import log_rising
from hiertopics.settings.config import Iterations, SamplerConfig

SMALLEST = 1e-300

PLUG_IN = (
    "irp_max_plugin: the published sampler of maximization is an approximation (its urn is not "
    "exchangeable); inference.sampler=exact is not"
)


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule; raises ValueError for shards of a sampler that has none."""

    iterations: Iterations = 500
    hyper_start: HyperStart = 15
    sampler: Annotated[
        Literal["exact", "irp"],
        Meta(
            description="exact: explicit group weights; irp: the paper's international restaurant "
            "process, exact under superposition, an approximation (irp_max_plugin) under "
            "maximization."
        ),
    ] = "exact"
    reorder_sticks: ReorderSticks = True
    sample_alpha_doc: Annotated[
        bool, Meta(description="Draw alpha_doc too; model.alpha_doc is where it starts.")
    ] = True
    sample_alpha_group: Annotated[
        bool, Meta(description="Draw alpha_group too; model.alpha_group is where it starts.")
    ] = True
    sample_gamma: Annotated[
        bool, Meta(description="Draw gamma too; model.gamma is where it starts.")
    ] = True
    sample_eta: Annotated[bool, Meta(description="Draw eta too; model.eta is where it starts.")] = (
        True
    )

    def __post_init__(self) -> None:
        """Refuse to cut a restaurant into parts."""
        if self.sampler == "irp" and self.shards > 1:
            raise ValueError(f"shards must be 1 for sampler irp, got {self.shards}")

    @property
    def sampled(self) -> Sampled:
        """Which concentrations are drawn."""
        return Sampled(
            self.sample_alpha_doc, self.sample_alpha_group, self.sample_gamma, self.sample_eta
        )


class Info(NamedTuple):
    """Columns of metrics.jsonl; the topic counts are explained in ``TopicCounts``."""

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    alpha_doc: float
    alpha_group: float
    gamma: float
    eta: float
    moved: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens, its documents linked to their parents."""
    return lay_out(
        corpus, settings.model.parents, settings.inference.shards, np.float64, tokens=True
    )


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, even weights and the start values of the config."""
    state = begin(data, settings.model, context.rng("init"))
    if settings.inference.sampler == "irp":
        irp.take_seats(state, data, settings.model, context.rng("seats"))
    return state


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold redraw tables, weights and concentrations too."""
    model, inference = settings.model, settings.inference
    held = context.iteration <= inference.hyper_start
    if inference.sampler == "irp":
        moved = irp.sweep(state, data, model, context.rng("sweep"))
        if not held:
            irp.draw_concentrations(state, data, inference.sampled, context.rng("weights"))
    else:
        moved = _sweep(state, data, model, context)
        if not held:
            rng, reorder = context.rng("weights"), inference.reorder_sticks
            draw_weights(state, data, model, inference.sampled, rng, reorder=reorder)
    if inference.sample_eta and not held:
        state.eta = draw_eta(state.eta, state.n_wk, state.n_k, context.rng("words"))
    n_topics, n_topics_tables, n_topics_99, _ = topic_counts(state.n_k, state.n_tables)
    concentrations = (state.alpha_doc, state.alpha_group, state.gamma, state.eta)
    return state, Info(n_topics, n_topics_tables, n_topics_99, *concentrations, moved)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw's live topics as roots, theta of the documents, and the groups' weights.

    Under superposition the weights are their mean given the tables of this draw.
    """
    weights = weights_of(state, data, settings.model)
    if not settings.model.maximization:
        weights = weights._replace(group=_mean_of_groups(state))
    counts = (state.n_dk, state.n_wk, state.n_k)
    summary = common.summarise(common.Fitted(*counts, weights, state.alpha_doc, state.eta), data)
    return replace(summary, notes=(*summary.notes, *_notes(settings)))


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log probability of words and topics given the groups' weights."""
    base = base_rows(data.parents, weights_of(state, data, settings.model))
    prior = np.maximum(state.alpha_doc * base, SMALLEST)
    used = state.n_dk > 0
    log_joint = float(log_rising(prior[used], state.n_dk[used]).sum())
    log_joint -= float(log_rising(state.alpha_doc, data.doc_lengths).sum())
    log_joint += float(log_rising(state.eta, state.n_wk[state.n_wk > 0]).sum())
    return log_joint - float(log_rising(state.eta * data.n_words, state.n_k).sum())


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, counts, and tables and weights of groups."""
    n_topics = settings.model.truncation
    tags = parent_tags(corpus, settings.model.parents)
    n_groups = 0 if tags is None else len(tags.names)
    counts = 8 * corpus.n_docs + 4 * corpus.n_words + 20 * n_groups
    return 16 * corpus.n_tokens + n_topics * (counts + 24)


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


def _mean_of_groups(state: State) -> NDArray[np.float64]:
    """Return E[pi_a] given the tables of each group [n_groups, T]."""
    weights = state.n_group_tables + state.alpha_group * np.exp(state.log_pi_0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _notes(settings: Settings) -> tuple[str, ...]:
    """Say where the draws are not those of the model."""
    notes = notes_on_shards(settings.inference.shards)
    if settings.inference.sampler == "irp" and settings.model.maximization:
        return (*notes, PLUG_IN)
    return notes


backend: Backend[Corpus, Data, State] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log probability of words and topics given the groups' weights",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    sampler=True,
    draw_hyperparameters=draw_hyperparameters,
)
