"""nhdp-gibbs where documents are bursty: collapsed Gibbs sampling of nodes and tables.

Each document draws its words from a Pitman-Yor process around its mixture of nodes; tables of that
process are what tokens are of the ordinary model (theory/bursts 9.2). nhdp-variational finds the
tree, the first tables and their first nodes. A sweep redraws the nodes of all tables and lets
tables come or go. Discount and concentration are those that the start has learned from documents
put aside, or they are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import structs
from scipy import sparse

from hiertopics.base.arrays import I32, Floats
from hiertopics.base.axes import Axes
from hiertopics.contract.chains import Chains, chains
from hiertopics.contract.model import Backend, Context, PerChain, Summary
from hiertopics.corpus.data import Corpus, Tree
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, repeats_of
from hiertopics.families.flat.layout import Cells, sharded
from hiertopics.families.flat.prediction import BURSTS_EXTRA, process_of
from hiertopics.families.flat.seat_kernels import count_tables
from hiertopics.families.flat.tokens import miscounted
from hiertopics.families.hdp.bursts import planned
from hiertopics.families.nhdp import gibbs, summary as common
from hiertopics.families.nhdp.config import GibbsSettings as Settings
from hiertopics.families.nhdp.gibbs import Data
from hiertopics.families.nhdp.layout import BurstyLocal, Local as PairNodes
from hiertopics.families.nhdp.prediction import infer_bursty
from hiertopics.families.nhdp.state import BurstyState as VariationalState, misplaced
from hiertopics.numeric.pitman_yor_kernels import LARGEST


class Local(NamedTuple):
    """Per-document state of a piece: z int32 [n_tokens], n_dk int32 [n_docs, K].

    z: nodes of tables, in the first slots of each pair; -1 in the others (``flat.seat_kernels``).
    """

    z: Annotated[I32, Axes("n_tokens", least=-1, below="n_nodes")]
    n_dk: Annotated[I32, Axes("n_docs", "n_nodes", least=0)]


@dataclass(kw_only=True)
class State(seats.BurstyDraw, gibbs.State):
    """A draw whose counts are of tables, with the process of documents."""


class Info(NamedTuple):
    """Columns of metrics.jsonl: those of ``gibbs.Info``, and of bursts.

    moved: tables with another node. tables_per_token: of all documents; 1: no bursts.
    times_as_likely: a word of usual chance, used once in a usual document, has so many times that
    chance to come next.
    """

    n_nodes: int
    n_leaves: int
    inner_share: float
    concentration: float
    eta: float
    moved: int
    burst_discount: float
    burst_concentration: float
    tables_per_token: float
    times_as_likely: float


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs and in tokens, with its repeated words."""
    pairs, tokens = gibbs.prepare(corpus, settings)
    words, counts = corpus.counts.indices, corpus.counts.data
    repeats = repeats_of(words, counts, corpus.doc_lengths, 0)
    pairs = planned(pairs, settings, settings.inference.start_iterations)
    return Data(pairs, tokens._replace(repeats=repeats))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return tables as nhdp-variational has them on average, with nodes drawn from its q(z)."""
    begun = gibbs.variational_start(data, settings, context)
    assert isinstance(begun, VariationalState)
    z = gibbs.draw_nodes(begun, data, context, _seated_pairs)
    eta, parts = settings.model.eta, (count_tables, Local)
    plain = gibbs.with_nodes(z, begun.mixing, eta, data.tokens, context, *parts)
    return State(
        **vars(plain),
        burst_discount=settings.model.burst_process.discount,
        burst_concentration=float(begun.burst_concentration),
    )


def _seated_pairs(cells: Cells, local: BurstyLocal) -> tuple[PairNodes, Floats]:
    """Return q(z) of a piece's pairs, and the tables of each as far as slots can hold them."""
    most = np.minimum(cells.tokens, LARGEST)
    return local.plain, np.clip(local.pair_tables, 1, most)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw nodes of all tables, and tables; then what documents share, eta, and the process."""
    repeats = repeats_in(data)
    of_process = seats.seats_of(state.process, repeats)

    def seating(*block: int) -> tuple[Any, ...]:
        return of_process, context.rng("tables", *block)

    dense = settings.inference.sweep == "dense"
    moved = gibbs.sweep(state, data.tokens, context, dense=dense, seating=seating)
    gibbs.redraw_shared(state, data, settings, context)
    if not is_held(data):
        state.redraw_process(partial(seats.seated, state.local), repeats, context)
    return state, Info(*gibbs.info_of(state, moved), *columns_of(state, data))


def repeats_in(data: Data) -> Repeats:
    """Return the repeated words in data that were laid out for bursts."""
    assert data.tokens.repeats is not None
    return data.tokens.repeats


def is_held(data: Data) -> bool:
    """Tell whether the start has learned the process from documents that it put aside."""
    assert data.pairs.bursts is not None
    return data.pairs.bursts.n_aside > 0


def columns_of(state: State, data: Data) -> tuple[float, float, float, float]:
    """Return what metrics.jsonl says of bursts, see ``BurstyDraw``."""
    return state.columns(int(state.n_k.sum()), data.tokens.doc_lengths, repeats_in(data))


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree and theta of tables, with a and b beside the topics."""
    found = gibbs.summarise(state, data, settings, context)
    times = columns_of(state, data)[-1]
    return seats.with_process(found, state.process, times, repeats_in(data), context.iteration)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of tokens, tables and nodes given the shared parameters."""
    of_nodes = gibbs.objective(state, data, settings, context)
    return of_nodes + state.log_chance(partial(seats.seated, state.local), repeats_in(data))


def per_chain(state: State, data: Data, settings: Settings, context: Context) -> PerChain:
    """Return the log joint and the number of nodes with a table at or below them."""
    log_joint = objective(state, data, settings, context)
    return PerChain({"objective": [log_joint], "n_nodes": [gibbs.n_alive(state)]})


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    cells, seeds = data.tokens, data.tokens.seeds
    wrong = misplaced(state.parent, seeds) or seats.misseated(state.local, aside=False)
    return wrong or miscounted(state, cells.n_words, seeds, seeds.branches, seats.recounted)


def refit_on_tree(
    tree: Tree, theta: sparse.csr_array, corpus: Corpus, settings: Settings, context: Context
) -> Summary:
    """Return the tree after variational sweeps, as ``gibbs`` does; its discount and b are held.

    theta: float64 CSR [n_docs, n_nodes].
    """
    model = settings.model
    process = model.burst_process._replace(discount=process_of(tree).discount)
    settings = replace(settings, model=structs.replace(model, burst_process=process))
    return gibbs.refit_on_tree(tree, theta, corpus, settings, context)


plain: Backend[Corpus, Data, Any, Settings] = gibbs.one
one: Backend[Corpus, Data, State, Settings] = replace(
    plain,
    State=State,
    Info=Info,
    objective_name="log joint probability, documents bursty",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer_bursty,
    extra=common.EXTRA | BURSTS_EXTRA,
    objective=objective,
    per_chain=per_chain,
    predictive=None,
    refit_on_tree=refit_on_tree,
    pieces=sharded(Local, lambda data: data.tokens),
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = chains(one)
