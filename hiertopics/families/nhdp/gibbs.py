"""nhdp-gibbs: collapsed Gibbs sampling of the nested HDP on a tree of given shape.

The tree and the first nodes of all tokens come from nhdp-variational. Each sweep redraws every
token's node, then what documents share, and eta, all exactly (theory/nhdp 5).

J. Paisley, C. Wang, D. Blei, M. Jordan: Nested hierarchical Dirichlet processes, IEEE TPAMI 37,
2015; names as in ``variational``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Floats
from hiertopics.base.axes import POSITIVE, Axes, require_parents
from hiertopics.contract import Arrays, Backend, Context, PerChain, Pieces, Summary
from hiertopics.contract.chains import Chains, chains
from hiertopics.corpus.data import Corpus, Tree, seeds_in
from hiertopics.families.flat.layout import (
    BlockInput,
    Cells,
    Data as Laid,
    Piece,
    dealt,
    lay_out,
    parts_of,
    sharded,
)
from hiertopics.families.flat.summary import notes_on_shards
from hiertopics.families.flat.token_kernels import count_tokens
from hiertopics.families.flat.tokens import (
    PieceTopics,
    Swept,
    TokenSweepInput,
    draw_eta,
    miscounted,
    sweep as sweep_tokens,
    swept_by,
)
from hiertopics.families.nhdp import (
    gibbs_kernels as kernels,
    sampler_kernels,
    starts,
    summary as common,
    variational,
)
from hiertopics.families.nhdp.config import (
    GibbsModel as Model,
    GibbsSettings as Settings,
    NhdpGibbsInference as Inference,
    NhdpVariationalInference,
    VariationalSettings,
)
from hiertopics.families.nhdp.gibbs_kernels import NodeParameters
from hiertopics.families.nhdp.layout import Local as PairNodes, Shape, shape_of
from hiertopics.families.nhdp.learning import VisitHistograms, all_visits, draw_mixing, visits_of
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.prediction import infer as infer, predictive as predictive
from hiertopics.families.nhdp.simulate import (
    draw_hyperparameters as draw_hyperparameters,
    simulate as simulate,
)
from hiertopics.families.nhdp.state import State as VariationalState, misplaced
from hiertopics.numeric.mixtures import log_rising


class Data(NamedTuple):
    """A corpus laid out in pairs, for the start, and in tokens; both with seed words."""

    pairs: Laid
    tokens: Laid


class Local(NamedTuple):
    """Per-document state of a piece: z int32 [n_tokens], n_dk int32 [n_docs, K]."""

    z: Annotated[I32, Axes("n_tokens", below="n_nodes")]
    n_dk: Annotated[I32, Axes("n_docs", "n_nodes", least=0)]


@dataclass
class State(PieceTopics):
    """One draw.

    local: the nodes of tokens and the counts of documents, in pieces. n_wk int32 [n_words, K],
    seed words among them, n_k int64 [K], without these: counts by node. parent: int32 [K]. share,
    concentration, stop_a, stop_b: float64 [K], as in ``Mixing``. eta: pseudo-count of each word.
    """

    local: Pieces[Piece, Local]
    n_wk: Annotated[I32, Axes("n_words", "n_nodes", least=0)]
    n_k: Annotated[I64, Axes("n_nodes", least=0)]
    parent: Annotated[I32, Axes("n_nodes")]
    share: Annotated[F64, Axes("n_nodes", least=0)]
    concentration: Annotated[F64, Axes("n_nodes", least=0)]
    stop_a: Annotated[F64, Axes("n_nodes", least=0)]
    stop_b: Annotated[F64, Axes("n_nodes", least=0)]
    eta: Annotated[float, Axes(least=POSITIVE)]

    def require_sound(self) -> None:
        """Raise ValueError where the nodes are not those of a tree, breadth first."""
        require_parents("parent", self.parent)

    @property
    def mixing(self) -> Mixing:
        """Parameters that all documents share."""
        return Mixing(
            shape_of(self.parent), self.share, self.concentration, self.stop_a, self.stop_b
        )


class Info(NamedTuple):
    """Columns of metrics.jsonl; as those of nhdp-variational. moved: tokens with another node."""

    n_nodes: int
    n_leaves: int
    inner_share: float
    concentration: float
    eta: float
    moved: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs and in tokens."""
    shards, seeds = settings.inference.shards, seeds_in(settings.model, corpus.vocab)
    pairs, tokens = lay_out(corpus, shards), lay_out(corpus, shards, np.float64, tokens=True)
    return Data(pairs._replace(seeds=seeds), tokens._replace(seeds=seeds))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return nodes drawn from the responsibilities of nhdp-variational (theory/nhdp 5)."""
    begun = variational_start(data, settings, context)
    z = draw_nodes(begun, data, context, lambda cells, local: (local, cells.tokens))
    return with_nodes(z, begun.mixing, settings.model.eta, data.tokens, context)


def variational_start(data: Data, settings: Settings, context: Context) -> VariationalState:
    """Return the state of nhdp-variational that a sampler begins with."""
    schedule = NhdpVariationalInference(
        hold=("stop",),  # weights of stopping that are learned here empty the inner nodes
        start=settings.inference.start,
        start_iterations=settings.inference.start_iterations,
        responsibilities=settings.inference.responsibilities,
        inner_share=settings.inference.inner_share,
        least=settings.inference.least,
        trials=settings.inference.trials,
        burst_start=settings.inference.burst_start,
        burst_aside=settings.inference.burst_aside,
    )
    begun = VariationalSettings(settings.model, schedule)
    # As in the start itself, tables would travel at each turn; large corpora have no room here.
    near = context
    if starts.is_seen_whole(data.pairs, begun):
        near = replace(context, workers=context.workers.here)
    state = starts.init(data.pairs, begun, near)
    for iteration in range(1, settings.inference.variational_sweeps + 1):
        now = replace(near, iteration=iteration)
        state, _ = variational.step(state, data.pairs, begun, now)
    return state


def draw_nodes(
    begun: VariationalState,
    data: Data,
    context: Context,
    tables: Callable[[Cells, Any], tuple[PairNodes, Floats]],
) -> I32:
    """Return nodes of tokens, int32 [n_tokens], drawn from q(z); -1 where a token has none.

    tables: from cells and state of a piece to its q(z), and how many tokens of each pair get nodes.
    """
    z = np.full(len(data.tokens.cells.word), -1, np.int32)
    rng, token = context.rng("nodes"), 0
    for number, part in enumerate(parts_of(data.pairs)):
        own = tables(part.cells, begun.local.state_of(number))
        token = kernels.draw_start(part.cells, *own, token, z, rng)
    return z


def with_nodes(
    z: I32,
    mixing: Mixing,
    eta: float,
    data: Laid,
    context: Context,
    count: Callable[..., None] = count_tokens,
    kind: Callable[..., Any] = Local,
) -> State:
    """Return the state of these nodes of tokens.

    z: int32 [n_tokens]. count: adds them to n_dk and n_wk. kind: the type of the states of pieces.
    """
    n_nodes = mixing.shape.n_nodes
    n_dk = np.zeros((data.n_docs, n_nodes), np.int32)
    n_wk = np.zeros((data.n_words, n_nodes), np.int32)
    count(data.cells, z, n_dk, n_wk)
    data.seeds.add_to(n_wk, data.seeds.branches)
    n_k = n_dk.sum(axis=0, dtype=np.int64)
    local = dealt(data, context, kind, z=z, n_dk=n_dk)
    share, concentration, stop_a, stop_b = (part.copy() for part in mixing[1:])
    parent = mixing.shape.parent
    return State(local, n_wk, n_k, parent, share, concentration, stop_a, stop_b, eta)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all nodes, then the parameters that documents share, and eta."""
    moved = sweep(state, data.tokens, context, dense=settings.inference.sweep == "dense")
    redraw_shared(state, data, settings, context)
    return state, info_of(state, moved)


def redraw_shared(state: State, data: Data, settings: Settings, context: Context) -> None:
    """Draw what documents share, and eta, given nodes."""
    redraw_mixing(state, settings, context)
    if "eta" not in settings.inference.hold:
        sizes = _sizes(state, data.tokens)
        state.eta = draw_eta(state.n_wk, sizes, state.eta, context.rng("words"))


def info_of(state: State, moved: int) -> Info:
    """Return the columns of an iteration in which so many tokens moved."""
    shape = state.mixing.shape
    alive = below(shape, state.n_k) >= common.LIVE_TOKENS
    inner = shape.inner
    return Info(
        int(alive.sum()),
        int(alive[shape.leaves].sum()),
        float(state.n_k[inner].sum() / max(int(state.n_k.sum()), 1)),
        float(state.concentration[inner].mean()) if len(inner) else 0.0,
        state.eta,
        moved,
    )


def sweep(
    state: State,
    data: Laid,
    context: Context,
    *,
    dense: bool = False,
    seating: Callable[..., tuple[Any, ...]] | None = None,
) -> int:
    """Redraw the node of every token, block by block; return how many moved.

    dense: look at all nodes for each token, not at those of its document and its word. seating: as
    in ``TokenSweepInput``, by block.
    """
    mixing = state.mixing
    shape, words = mixing.shape, (state.eta, state.eta * data.n_words)
    parameters = NodeParameters(
        shape.parent, shape.first, shape.inner, mixing.mass, *mixing[2:], *words
    )
    sizes = _sizes(state, data)

    def given(*block: int) -> TokenSweepInput:
        of_tables = () if seating is None else seating(*block)
        return TokenSweepInput(sizes, parameters, dense, context.rng("sweep", *block), of_tables)

    return sweep_tokens(state, data.word_bounds, _sweep_block, given)


def redraw_mixing(state: State, settings: Settings, context: Context) -> None:
    """Draw what documents share, given nodes."""
    visits = all_visits(state.local.ask(_visits, shape_of(state.parent)))
    learns_stops = "stop" not in settings.inference.hold
    rng = context.rng("shares")
    draw_mixing(state.mixing, visits, settings.model.gamma, rng, learns_stops=learns_stops)


def _visits(piece: Piece, local: Local, shape: Shape) -> VisitHistograms:
    return visits_of(local.n_dk, shape)


def _sizes(state: State, data: Laid) -> I64:
    """Return the tokens of each node [K], seed words among them."""
    return state.n_k + data.seeds.totals(len(state.n_k), data.seeds.branches)


def _sweep_block(piece: Piece, local: Local, block: BlockInput) -> Swept:
    dense = block.given.dense
    visit = sampler_kernels.sweep_block if dense else sampler_kernels.sweep_block_by_lists
    return swept_by(visit, piece, local, block, block.given.prior)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of nodes with a token, and theta of the training documents."""
    seeds, n_wk = data.tokens.seeds, state.n_wk.astype(float)
    n_wk[seeds.word, seeds.branches[seeds.name]] -= seeds.weight
    words = common.WordCounts(n_wk, state.eta, seeds)
    n_dk = state.n_dk.astype(float)
    summary = common.summarise(common.NhdpSummaryInput(state.mixing, n_dk, lambda: words))
    on_shape = common.notes_on_shape(summary.tree, settings.model.branches)
    notes = (*summary.notes, *on_shape, *notes_on_shards(settings.inference.shards))
    return replace(summary, notes=notes)


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    cells, seeds = data.tokens, data.tokens.seeds
    wrong = misplaced(state.parent, seeds)
    return wrong or miscounted(state, cells.n_words, seeds, seeds.branches)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of words and nodes given the shared parameters (theory/nhdp 2.1).

    Seed words are among the words, which differs by a constant while eta is held (theory/nhdp 2.3).
    """
    eta = state.eta
    used = state.n_wk[state.n_wk > 0]
    sizes = _sizes(state, data.tokens)
    topics = log_rising(eta, used).sum() - log_rising(eta * data.tokens.n_words, sizes).sum()
    return state.mixing.log_chance(state.n_dk.astype(float)) + float(topics)


def refit_on_tree(
    tree: Tree, theta: sparse.csr_array, corpus: Corpus, settings: Settings, context: Context
) -> Summary:
    """Return the tree after the variational sweeps of a start that begins with its topics.

    theta: float64 CSR [n_docs, n_nodes]. So the model is no draw: there is nothing that draws would
    be averaged with.
    """
    return variational.refit_on_tree(tree, theta, corpus, _variational(settings), context)


def recut(
    tree: Tree,
    theta: sparse.csr_array,
    corpus: Corpus,
    branches: Sequence[int],
    settings: Settings,
    context: Context,
) -> tuple[Tree, sparse.csr_array]:
    """Return the tree with leaves merged into n clusters at each level, and its theta.

    As of nhdp-variational; weights of stopping are those of the draw. Both theta: float64 CSR
    [n_docs, n_nodes], each with the nodes of its tree.
    """
    return variational.recut(tree, theta, corpus, branches, _variational(settings), context)


def _variational(settings: Settings) -> VariationalSettings:
    """Return settings of the variational sweeps on a tree whose shape is held."""
    inference = settings.inference
    schedule = NhdpVariationalInference(
        hold=("stop",),
        iterations=max(inference.variational_sweeps, 1),
        shards=inference.shards,
        least=inference.least,
        burst_start=inference.burst_start,
        burst_aside=inference.burst_aside,
    )
    return VariationalSettings(settings.model, schedule)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, and of the responsibilities of the start."""
    return 16 * corpus.n_tokens + variational.memory(corpus, settings)


def per_chain(state: State, data: Data, settings: Settings, context: Context) -> PerChain:
    """Return the log joint and the number of nodes with a token at or below them."""
    log_joint = objective(state, data, settings, context)
    return PerChain({"objective": [log_joint], "n_nodes": [n_alive(state)]})


def n_alive(state: State) -> int:
    """Return the number of nodes with a token at or below them."""
    return int((below(state.mixing.shape, state.n_k) >= common.LIVE_TOKENS).sum())


def migrate_state(arrays: Arrays, settings: Settings) -> Arrays:
    """Return the arrays of a draw; before eta was drawn it was the config's."""
    return {"eta": np.asarray(settings.model.eta), **arrays}


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
    extra=common.EXTRA,
    breadth_first=True,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    merge_extra=common.merge_extra,
    per_chain=per_chain,
    predictive=predictive,
    refit_on_tree=refit_on_tree,
    recut=recut,
    pieces=sharded(Local, lambda data: data.tokens),
    draw_hyperparameters=draw_hyperparameters,
    migrate_state=migrate_state,
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = chains(one)
