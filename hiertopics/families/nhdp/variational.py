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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.flat import kernels, variational
from hiertopics.families.flat.kernels import Tables
from hiertopics.families.flat.layout import Data, Piece, sharded
from hiertopics.families.flat.variational import Local
from hiertopics.families.flat.variational import prepare as prepare
from hiertopics.families.nhdp import regrowing
from hiertopics.families.nhdp import summary as common
from hiertopics.families.nhdp.config import Model as Model
from hiertopics.families.nhdp.config import VariationalInference as Inference
from hiertopics.families.nhdp.layout import LANES, Columns, padded
from hiertopics.families.nhdp.learning import learn, tokens_by_node
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.prediction import infer as infer
from hiertopics.families.nhdp.prediction import predictive as predictive
from hiertopics.families.nhdp.simulate import simulate as simulate
from hiertopics.families.nhdp.starts import init as init
from hiertopics.families.nhdp.state import State as State
from hiertopics.families.nhdp.state import columns_for, sweep
from hiertopics.model import Backend, Context, Settings, Summary


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


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair; now and then shares and concentrations too (theory/nhdp 3, 4)."""
    columns = columns_for(state)
    sweep(state, data, state.mixing, columns, settings.model.eta)
    drift = variational.recount_now_and_then(state, data, context)
    if context.iteration % settings.inference.hyper_every == 0:
        state.mix(learn(state, data, columns, settings))
    shape = state.mixing.shape
    n_i = tokens_by_node(state.n_k, columns)
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
    """Return the tree of nodes with a token, and theta of the training documents."""
    n_dk, n_wk = counts_of(state, data)
    columns = columns_for(state)
    eta = settings.model.eta
    summary = common.summarise(
        common.Fitted(state.mixing, columns.gather(n_dk), columns.gather(n_wk), eta)
    )
    notes = common.notes_on_shape(summary.tree, settings.model.branches)
    return replace(summary, notes=(*summary.notes, *notes))


def counts_of(state: State, data: Data) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return n_dk and n_wk counted anew, without the drift of counts that are only moved."""
    n_dk, n_wk = zip(*state.local.ask(_counts, data.n_words), strict=True)
    return np.concatenate(n_dk), np.sum(n_wk, axis=0)


def _counts(
    piece: Piece, local: Local, n_words: int
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    n_dk = np.zeros_like(local.n_dk)
    n_wk = np.zeros((n_words, n_dk.shape[1]), n_dk.dtype)
    nothing = np.zeros((0, 0), n_dk.dtype)
    tables = Tables(local.resp, n_dk, n_wk, nothing, nothing)
    for span in range(piece.cells.cuts.shape[1] - 1):
        kernels.recount_block(piece.cells, 0, span, tables)
    return n_dk, n_wk


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    phi = np.maximum(state.n_wk, 0, dtype=np.float64) + settings.model.eta
    phi = np.ascontiguousarray(phi / phi.sum(axis=0)).astype(state.n_wk.dtype)
    parts = state.local.ask(_log_likelihood, (phi, state.mixing, columns_for(state)))
    return float(sum(parts) / max(int(data.doc_lengths.sum()), 1))


def _log_likelihood(
    piece: Piece, local: Local, given: tuple[NDArray[np.floating], Mixing, Columns]
) -> float:
    phi, mixing, columns = given
    theta = columns.spread(mixing.weights(columns.gather(local.n_dk))).astype(phi.dtype)
    return float(kernels.block_log_likelihood(piece.cells, 0, theta, phi))


def regrown(
    tree: Tree, theta: NDArray[np.float64], corpus: Corpus, settings: Settings, context: Context
) -> Summary:
    """Return the tree after the iterations of a fit that begins with its topics and this theta."""
    data = prepare(corpus, settings)
    state = regrowing.begin(tree, theta, data, settings, context)
    for iteration in range(1, settings.inference.iterations + 1):
        state, _ = step(state, data, settings, replace(context, iteration=iteration))
    return summarise(state, data, settings, context)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of responsibilities and counts in float32, columns left over included."""
    n_leaves = settings.model.truncation
    branches = settings.model.branches
    n_above = padded((n_leaves // 3 if branches == "auto" else sum(branches)) + 1)
    n_columns = n_above + padded(int(1.25 * n_leaves)) + LANES * 3
    return 4 * n_columns * (corpus.n_pairs + corpus.n_docs + corpus.n_words)


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
    objective=objective,
    simulate=simulate,
    memory=memory,
    regrouped=common.regrouped,
    predictive=predictive,
    regrown=regrown,
    pieces=sharded(Local),
)
