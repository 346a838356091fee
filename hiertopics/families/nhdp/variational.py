"""nhdp-variational: trees of topics in which a document mixes paths, collapsed, zero order.

At every node of a tree a token of a document stops or goes on to a child; each document has its
own chances for both, around shares of the children that all documents have in common. Topics and
the documents' chances are integrated out; each (document, word) pair keeps its responsibilities.

J. Paisley, C. Wang, D. Blei, M. Jordan: Nested hierarchical Dirichlet processes, IEEE TPAMI 37,
2015. Their inference is stochastic and not collapsed; this one is derived in theory/nhdp 3, 4.

    paper              here
    theta_node, lambda phi, eta
    U_dp; gamma1, 2    stop_a, stop_b: weights of stopping and of going on
    G_dp; beta         concentration, learned for each node
    V, alpha           share of each child, gamma
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from scipy import sparse

from hiertopics.base.arrays import F64, Floats
from hiertopics.base.room import beside
from hiertopics.contract.model import Backend, Context, Settings, Summary
from hiertopics.corpus.data import Bags, Corpus, Shelf, Tree, seedwords
from hiertopics.families.flat import bursts as plans, kernels
from hiertopics.families.flat.layout import Data, Piece, sharded
from hiertopics.families.flat.prediction import BURSTS_EXTRA, process_of
from hiertopics.families.hdp import bursts
from hiertopics.families.nhdp import (
    document_kernels,
    documents,
    flat_starts,
    learning,
    summary as common,
)
from hiertopics.families.nhdp.completing import whole_theta as whole_theta
from hiertopics.families.nhdp.config import (
    NhdpVariationalInference as Inference,
    VariationalModel as Model,
    sized,
)
from hiertopics.families.nhdp.documents import (
    counts_of,
    extend_state as extend_state,
    prepare as prepare,
)
from hiertopics.families.nhdp.first_topics import order_of
from hiertopics.families.nhdp.layout import AnyLocal, BurstyLocal, Local
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.outlines import outline as outline, outline_cost as outline_cost
from hiertopics.families.nhdp.prediction import (
    infer as infer,
    infer_bursty,
    predictive as predictive,
)
from hiertopics.families.nhdp.recutting import recut as recut
from hiertopics.families.nhdp.simulate import simulate as simulate
from hiertopics.families.nhdp.starts import ROOM, UNEVEN, init as init, part_at_once
from hiertopics.families.nhdp.state import BurstyState, State as State, by_tables, flaw
from hiertopics.numeric.pitman_yor import PitmanYor

ENTRIES_AT_ONCE = 1 << 21
"""Chances of words that are made at a time."""


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    n_nodes: nodes with a token at or below them; n_leaves: leaves among these. inner_share: share
    of the tokens that stop above the leaves. concentration: mean over inner nodes.
    """

    n_nodes: int
    n_leaves: int
    inner_share: float
    concentration: float
    drift: float


class BurstyInfo(NamedTuple):
    """Columns of metrics.jsonl where documents are bursty; the last three: see ``hdp.bursts``."""

    n_nodes: int
    n_leaves: int
    inner_share: float
    concentration: float
    drift: float
    burst_concentration: float
    tables_per_token: float
    times_as_likely: float


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair; now and then shares and concentrations too (theory/nhdp 3, 4)."""
    drift = learning.refit(state, data, settings, context)
    shape, n_i = state.mixing.shape, np.maximum(state.n_k, 0.0)
    alive = below(shape, n_i) >= common.LIVE_TOKENS
    inner = shape.inner
    return state, Info(
        int(alive.sum()),
        int(alive[shape.leaves].sum()),
        float(n_i[inner].sum() / max(n_i.sum(), 1.0)),
        float(state.concentration[inner].mean()) if len(inner) else 0.0,
        drift,
    )


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of nodes with a token, and theta of the training documents.

    Above ``MOST_ENTRIES`` theta is stored at nodes that a document has tokens of.
    """
    local = state.local

    def words() -> common.WordCounts:
        n_wi = reduce(np.add, local.ask(_words_anew, state.n_wk.shape))
        return common.WordCounts(n_wi, settings.model.eta, data.seeds)

    if data.n_docs * len(state.n_k) <= common.MOST_ENTRIES:
        n_di = sparse.vstack(local.ask(_documents_anew, len(state.n_k)), "csr")
        summary = common.summarise(common.NhdpSummaryInput(state.mixing, n_di, words))
    else:
        counted = words()
        left = common.pruning(state.mixing, counted.n_wi.sum(axis=0, dtype=np.float64))
        parts = local.ask(_theta, left)
        summary = common.summarise_rows(parts, left, counted, beside(data.cells.word))
    if data.bursts is not None:
        summary = bursts.with_notes(summary, state, data, begun=True)
    return summary.noting(*common.notes_on_shape(summary.tree, settings.model.branches))


def _words_anew(piece: Piece, local: AnyLocal, shape: tuple[int, int]) -> Floats:
    """Return n_wi counted anew, without the drift of counts that are only moved."""
    n_wi = np.zeros(shape, local.n.dtype)
    counted, own = by_tables(piece, local)
    for span in range(piece.cells.cuts.shape[1] - 1):
        document_kernels.count_words(counted.cells, span, own, n_wi)
    return n_wi


def _documents_anew(piece: Piece, local: AnyLocal, n_nodes: int) -> sparse.csr_array:
    """Return n_di counted anew, at each document's own nodes."""
    own = _recounted(piece, local)
    return sparse.csr_array((own.n, own.node, own.first_node), shape=(piece.n_docs, n_nodes))


def _theta(piece: Piece, local: AnyLocal, left: common.Pruning) -> common.NodeTheta:
    rows = counts_of(_recounted(piece, local), len(left.into))
    return common.weigh(rows, left, beside(local.resp))


def _recounted(piece: Piece, local: AnyLocal) -> Local:
    counted, own = by_tables(piece, local)
    anew = own._replace(n=np.zeros_like(local.n))
    document_kernels.count_documents(counted.cells, anew)
    return anew


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    phi = _chances(state.n_wk, settings.model.eta)
    parts = state.local.ask(_log_likelihood, (phi, state.mixing))
    return float(sum(parts) / max(int(data.doc_lengths.sum()), 1))


def _chances(n_wk: Floats, eta: float) -> Floats:
    """Return the chances of words [n_words, K] in the type of their counts, columns sum to 1.

    Some words at a time: in float64 all of them would be larger than what a fit keeps.
    """
    step = max(1, ENTRIES_AT_ONCE // n_wk.shape[1])
    parts = [slice(first, first + step) for first in range(0, len(n_wk), step)]
    total = np.zeros((0, n_wk.shape[1]))
    for part in parts:
        rows = np.maximum(n_wk[part], 0, dtype=np.float64) + eta
        # The sum so far is the first row: the order is that of all words at once.
        total = np.concatenate([total, rows]).sum(axis=0, keepdims=True)
    phi = np.empty_like(n_wk)
    for part in parts:
        phi[part] = (np.maximum(n_wk[part], 0, dtype=np.float64) + eta) / total
    return phi


def _log_likelihood(piece: Piece, local: Local, given: tuple[Floats, Mixing]) -> float:
    (phi, mixing), cuts = given, piece.cells.cuts
    total, first = 0.0, 0
    for n_di in counts_of(local, phi.shape[1]):
        theta = mixing.weights(n_di).astype(phi.dtype)
        last = first + len(theta)
        cells = piece.cells._replace(cuts=cuts[first:last], doc_bounds=np.array([0, len(theta)]))
        total += float(kernels.block_log_likelihood(cells, 0, theta, phi))
        first = last
    return total


def step_bursty(
    state: Any, data: Data, settings: Settings, context: Context
) -> tuple[Any, BurstyInfo]:
    """Do as ``step`` does; each visit of a pair refits its tables, too (theory/bursts 8)."""
    _, info = step(state, data, settings, context)
    return state, BurstyInfo(*info, *bursts.shown(state, data))


def objective_bursty(state: Any, data: Data, settings: Settings, context: Context) -> float:
    """Return the mean log chance of a training token, tables summed over (theory/bursts 4)."""
    phi = np.maximum(state.n_wk, 0, dtype=np.float64) + settings.model.eta
    process = PitmanYor(settings.model.burst_process.discount, state.burst_concentration)
    given = (np.ascontiguousarray(phi / phi.sum(axis=0)), state.mixing, process)
    return bursts.mean_of(state.local.ask(_log_likelihood_bursty, given))


def _log_likelihood_bursty(
    piece: Piece, local: BurstyLocal, given: tuple[F64, Mixing, PitmanYor]
) -> tuple[float, float]:
    phi, mixing, process = given

    def theta_of(doc: int) -> F64:
        counts = np.zeros((1, phi.shape[1]))
        own = slice(local.first_node[doc], local.first_node[doc + 1])
        counts[0, local.node[own]] = local.n[own]
        return mixing.weights(counts)[0]

    docs = np.arange(piece.n_docs)
    return bursts.log_likelihood(piece, docs, theta_of, phi, process)


def refit_on_tree(
    tree: Tree, theta: sparse.csr_array, corpus: Corpus, settings: Settings, context: Context
) -> Summary:
    """Return the tree after the iterations of a fit that begins with its topics and this theta.

    Stopping weighs at its nodes what ``extra["stop"]`` of the tree says, where there is one. Its
    branches are no longer those that have names: seed words are left out, which a note says.
    """
    data = prepare(corpus, settings)._replace(seeds=seedwords.NONE)
    if plans.are_wanted(settings) and "bursts" in tree.extra:
        data = documents.at_concentration(data, process_of(tree).concentration)
    stop = tree.extra.get("stop")
    state = documents.begin_known(tree.parent, tree.phi, theta, data, settings, context, stop=stop)
    for iteration in range(1, settings.inference.iterations + 1):
        state, _ = step(state, data, settings, replace(context, iteration=iteration))
    told = ("seed words are left out: no branch is that of a name",) if settings.model.seeds else ()
    return summarise(state, data, settings, context).noting(*told)


SHORT = {"start_iterations": 0.15, "iterations": 0.2}
"""The part of each number of iterations that is enough for a resample (docs/evaluation.md)."""

FEW_WORDS = 40
"""Words for each topic that are clustered in a fit to a resample, at most."""


def short(settings: Settings) -> Settings:
    """Return the settings of a fit of few iterations, and of few words in clusters."""
    inference = settings.inference
    fewer = {name: int(np.ceil(part * getattr(inference, name))) for name, part in SHORT.items()}
    fewer["start_words"] = min(FEW_WORDS, inference.start_words)
    return replace(settings, inference=structs.replace(inference, **fewer))


def memory(corpus: Bags, settings: Settings) -> int:
    """Return the bytes of responsibilities and counts in float32, at their largest.

    That is where flat topics begin, or where the tree does. Of a corpus in files what grows with
    its documents lies in files, too.
    """
    at_once, settings = part_at_once(corpus, settings), sized(settings, corpus.n_docs)
    n_topics, branches = settings.model.truncation, settings.model.branches
    n_nodes = n_topics + (n_topics // 3 if branches == "auto" else sum(branches)) + 1
    share = min(1.0, ROOM / n_topics / max(corpus.n_pairs, 1))
    n_pairs, n_words = int(share * corpus.n_pairs), corpus.n_words
    bursty = plans.are_wanted(settings)
    order = order_of(n_topics, n_pairs, settings.inference, bursty=bursty)
    flat = order.pair_bytes(n_topics) * int(n_pairs * at_once)
    theta = 12 * int(share * corpus.n_docs)
    if at_once < 1:  # a pair's document has theta of the topics of the pair's branch
        theta = min(theta, int(8 * n_pairs * at_once / UNEVEN))
    flat += n_topics * (theta + 20 * n_words)
    cells, lists = 8 * corpus.n_pairs, 2 * documents.USUAL * corpus.n_pairs
    if isinstance(corpus, Shelf):
        cells, lists = 8 * n_pairs, 0
    lists += 4 * n_pairs * bursty
    tree = lists + 20 * n_nodes * n_words
    return cells + max(flat, tree, flat_starts.memory(n_words))


backend: Backend[Corpus, Data, State] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="training log likelihood per token",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    extra=common.EXTRA,
    breadth_first=True,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    out_of_core=True,
    whole_theta=whole_theta,
    merge_extra=common.merge_extra,
    predictive=predictive,
    refit_on_tree=refit_on_tree,
    recut=recut,
    outline=outline,
    outline_cost=outline_cost,
    short=short,
    extend_state=extend_state,
    pieces=sharded(Local),
    flaw=flaw,
)

bursty: Backend[Corpus, Data, Any] = replace(
    backend,
    State=BurstyState,
    Info=BurstyInfo,
    objective_name="training log likelihood per token, documents bursty",
    step=step_bursty,
    infer=infer_bursty,
    extra=common.EXTRA | BURSTS_EXTRA,
    objective=objective_bursty,
    predictive=None,
    whole_theta=None,
    pieces=sharded(BurstyLocal),
)
