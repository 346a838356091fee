"""nhdp-gibbs: collapsed Gibbs sampling of the nested HDP on a tree of given shape.

The tree and the first nodes of all tokens come from nhdp-variational. Each sweep redraws every
token's node, then tables, shares and concentrations, all exactly (theory/nhdp 5).

J. Paisley, C. Wang, D. Blei, M. Jordan: Nested hierarchical Dirichlet processes, IEEE TPAMI 37,
2015; names as in ``variational``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.chains import Chains, chains
from hiertopics.data.corpus import Corpus
from hiertopics.data.seedwords import seeds_in
from hiertopics.data.tree import Tree
from hiertopics.engine import Pieces, joined
from hiertopics.families.flat.concentrations import HIGHEST, LOWEST, draw_concentration
from hiertopics.families.flat.layout import Block, Piece, dealt, lay_out, parts_of, sharded
from hiertopics.families.flat.layout import Data as Cells
from hiertopics.families.flat.summary import notes_on_shards
from hiertopics.families.flat.token_kernels import Tables, count_tokens
from hiertopics.families.flat.tokens import sweep as sweep_tokens
from hiertopics.families.nhdp import gibbs_kernels as kernels
from hiertopics.families.nhdp import starts, variational
from hiertopics.families.nhdp import summary as common
from hiertopics.families.nhdp.config import GibbsInference as Inference
from hiertopics.families.nhdp.config import GibbsSettings as Settings
from hiertopics.families.nhdp.config import Model as Model
from hiertopics.families.nhdp.config import VariationalInference, VariationalSettings
from hiertopics.families.nhdp.gibbs_kernels import Prior
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.learning import SMALLEST
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.prediction import infer as infer
from hiertopics.families.nhdp.prediction import predictive as predictive
from hiertopics.families.nhdp.simulate import draw_hyperparameters as draw_hyperparameters
from hiertopics.families.nhdp.simulate import simulate as simulate
from hiertopics.model import Backend, Context, PerChain, Summary
from hiertopics.numeric.mixtures import log_rising


class Data(NamedTuple):
    """A corpus laid out in pairs, for the start, and in tokens; both with seed words."""

    pairs: Cells
    tokens: Cells


class Local(NamedTuple):
    """What belongs to the documents of a piece: z int32 [n_tokens], n_dk int32 [n_docs, K]."""

    z: NDArray[np.int32]
    n_dk: NDArray[np.int32]


class Given(NamedTuple):
    """What a block is swept with: totals with seed words [K], what documents share, numbers."""

    n_k: NDArray[np.int64]
    prior: Prior
    rng: np.random.Generator


@dataclass
class State:
    """One draw.

    local: the nodes of tokens and the counts of documents, in pieces. n_wk int32 [n_words, K],
    seed words among them, n_k int64 [K], without these: counts by node. parent: int32 [K]. share,
    concentration, stop_a, stop_b: float64 [K], as in ``Mixing``.
    """

    local: Pieces[Piece, Local]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]
    parent: NDArray[np.int32]
    share: NDArray[np.float64]
    concentration: NDArray[np.float64]
    stop_a: NDArray[np.float64]
    stop_b: NDArray[np.float64]

    @property
    def z(self) -> NDArray[np.int32]:
        """The nodes of all tokens [n_tokens]; of a single piece not a copy."""
        return joined(self.local, "z")

    @property
    def n_dk(self) -> NDArray[np.int32]:
        """The counts of all documents [n_docs, K]; of a single piece not a copy."""
        return joined(self.local, "n_dk")

    @property
    def mixing(self) -> Mixing:
        """What documents share."""
        return Mixing(
            shape_of(self.parent), self.share, self.concentration, self.stop_a, self.stop_b
        )


class Info(NamedTuple):
    """Columns of metrics.jsonl; as those of nhdp-variational. moved: tokens with another node."""

    n_nodes: int
    n_leaves: int
    inner_share: float
    concentration: float
    moved: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs and in tokens."""
    shards, seeds = settings.inference.shards, seeds_in(settings.model, corpus.vocab)
    pairs, tokens = lay_out(corpus, shards), lay_out(corpus, shards, np.float64, tokens=True)
    return Data(pairs._replace(seeds=seeds), tokens._replace(seeds=seeds))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return nodes drawn from the responsibilities of nhdp-variational (theory/nhdp 5)."""
    schedule = VariationalInference(
        start=settings.inference.start,
        start_iterations=settings.inference.start_iterations,
        responsibilities=settings.inference.responsibilities,
        inner_share=settings.inference.inner_share,
        least=settings.inference.least,
        trials=settings.inference.trials,
    )
    begun = VariationalSettings(settings.model, schedule)
    state = starts.init(data.pairs, begun, context)
    for iteration in range(1, settings.inference.variational_sweeps + 1):
        now = replace(context, iteration=iteration)
        state, _ = variational.step(state, data.pairs, begun, now)
    z = np.zeros(len(data.tokens.cells.word), np.int32)
    rng, token = context.rng("nodes"), 0
    for number, part in enumerate(parts_of(data.pairs)):
        token = kernels.draw_start(part.cells, state.local.state_of(number), token, z, rng)
    return with_nodes(z, state.mixing, data.tokens, context)


def with_nodes(z: NDArray[np.int32], mixing: Mixing, data: Cells, context: Context) -> State:
    """Return the state of these nodes of tokens."""
    n_nodes = mixing.shape.n_nodes
    n_dk = np.zeros((data.n_docs, n_nodes), np.int32)
    n_wk = np.zeros((data.n_words, n_nodes), np.int32)
    count_tokens(data.cells, z, n_dk, n_wk)
    data.seeds.add_to(n_wk, data.seeds.branches)
    n_k = n_dk.sum(axis=0, dtype=np.int64)
    local = dealt(data, context, Local, z=z, n_dk=n_dk)
    return State(local, n_wk, n_k, mixing.shape.parent, *(part.copy() for part in mixing[1:]))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all nodes, then tables, shares and concentrations."""
    moved = sweep(state, data.tokens, settings.model.eta, context)
    draw_shares(state, settings.model.gamma, context.rng("shares"))
    shape = state.mixing.shape
    alive = below(shape, state.n_k) >= common.LIVE_TOKENS
    inner = shape.inner
    return state, Info(
        int(alive.sum()),
        int(alive[shape.leaves].sum()),
        float(state.n_k[inner].sum() / max(int(state.n_k.sum()), 1)),
        float(state.concentration[inner].mean()) if len(inner) else 0.0,
        moved,
    )


def sweep(state: State, data: Cells, eta: float, context: Context) -> int:
    """Redraw the node of every token, block by block; return how many moved."""
    mixing = state.mixing
    shape = mixing.shape
    prior = Prior(shape.parent, shape.first, mixing.mass, *mixing[2:], eta, eta * data.n_words)
    seeded = data.seeds.totals(len(state.n_k), data.seeds.branches)

    def given(*block: int) -> Given:
        return Given(state.n_k + seeded, prior, context.rng("sweep", *block))

    return sweep_tokens(state, data.word_bounds, _sweep_block, given)


def _sweep_block(
    piece: Piece, local: Local, block: Block
) -> tuple[Local, tuple[tuple[NDArray[np.int32], ...], tuple[int, NDArray[np.int64]]]]:
    """Sweep a block; answer with the tokens that moved and the change of the totals."""
    before, prior, rng = block.given
    (n_wk,) = block.rows
    n_k = before.copy()
    tables = Tables(local.z, local.n_dk, n_wk, n_k)
    moved = kernels.sweep_block(piece.blocks, 0, block.number, tables, prior, rng)
    return local, (block.rows, (moved, n_k - before))


def draw_shares(state: State, gamma: float, rng: np.random.Generator) -> None:
    """Draw tables, then shares and concentrations given these (theory/nhdp 5)."""
    mixing = state.mixing
    shape = mixing.shape
    n_dk = state.n_dk
    passing = below(shape, n_dk).astype(np.int64)
    tables = np.zeros(shape.n_nodes, np.int64)
    kernels.draw_tables(passing, mixing.mass, tables, rng)
    for node in shape.inner:
        children = shape.children(int(node))
        of_children = tables[children]
        share = rng.dirichlet(of_children + gamma / len(of_children))
        state.share[children] = np.maximum(share, SMALLEST)
        gone = passing[:, node] - n_dk[:, node]
        drawn = draw_concentration(state.concentration[node], int(of_children.sum()), gone, rng)
        state.concentration[node] = np.clip(drawn, LOWEST, HIGHEST)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of nodes with a token, and theta of the training documents."""
    seeds, n_wk = data.tokens.seeds, state.n_wk.astype(float)
    n_wk[seeds.word, seeds.branches[seeds.name]] -= seeds.weight
    words = common.Words(n_wk, settings.model.eta, seeds)
    summary = common.summarise(common.Fitted(state.mixing, state.n_dk.astype(float), words))
    on_shape = common.notes_on_shape(summary.tree, settings.model.branches)
    notes = (*summary.notes, *on_shape, *notes_on_shards(settings.inference.shards))
    return replace(summary, notes=notes)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of words and nodes given what documents share (theory/nhdp 2.1).

    Seed words are among the words, which differs by a constant (theory/nhdp 2.3).
    """
    eta, seeds = settings.model.eta, data.tokens.seeds
    used = state.n_wk[state.n_wk > 0]
    n_k = state.n_k + seeds.totals(len(state.n_k), seeds.branches)
    topics = log_rising(eta, used).sum() - log_rising(eta * data.tokens.n_words, n_k).sum()
    return state.mixing.log_chance(state.n_dk.astype(float)) + float(topics)


def regrown(
    tree: Tree, theta: NDArray[np.float64], corpus: Corpus, settings: Settings, context: Context
) -> Summary:
    """Return the tree after the variational sweeps of a start that begins with its topics.

    So the model is no draw: there is nothing that draws would be averaged with.
    """
    inference = settings.inference
    schedule = VariationalInference(
        iterations=max(inference.variational_sweeps, 1),
        shards=inference.shards,
        least=inference.least,
    )
    begun = VariationalSettings(settings.model, schedule)
    return variational.regrown(tree, theta, corpus, begun, context)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, and of the responsibilities of the start."""
    return 16 * corpus.n_tokens + variational.memory(corpus, settings)


def per_chain(state: State, data: Data, settings: Settings, context: Context) -> PerChain:
    """Return the log joint and the number of nodes with a token at or below them."""
    n_nodes = int((below(state.mixing.shape, state.n_k) >= common.LIVE_TOKENS).sum())
    log_joint = objective(state, data, settings, context)
    return PerChain({"objective": [log_joint], "n_nodes": [n_nodes]})


one: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log joint probability",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    regrouped=common.regrouped,
    per_chain=per_chain,
    predictive=predictive,
    regrown=regrown,
    pieces=sharded(Local, lambda data: data.tokens),
    draw_hyperparameters=draw_hyperparameters,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = chains(one)
