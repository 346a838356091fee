"""hlda-variational: topic trees by variational inference for the nested CRP.

Each document takes one path from the root to a leaf of an infinite tree and mixes the topics on
it; the tree is truncated, and what lies outside it is accounted for exactly by path slots.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009. Here
a document's levels depend on its path; the paper's mean field is in ``paper.meanfield``.

    paper                 here
    c, q(c)               path; chances of slots
    z, theta, q(theta)    levels, their weights, tau
    beta, lambda          phi, lam
    v; a, b               sticks; stick_a, stick_b
    alpha (50, 20, 10)    level_prior

With ``inference.batch_size`` topics and sticks move after every batch of documents (theory/ncrp
8): an iteration is an epoch, every document in one batch, and the bound may fall.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.room import Room, beside
from hiertopics.contract import (
    Arrays,
    Backend,
    Context,
    Each,
    Migration,
    Posterior,
    Sharded,
    Summary,
    of_pieces,
)
from hiertopics.corpus.data import NODE, Bags, Corpus, Shelf, Tree
from hiertopics.corpus.data.stored import BLOCK_PAIRS
from hiertopics.families.flat.summary import EntriesWriter, RowEntries, stacked_rows
from hiertopics.families.ncrp import clustering, summary as common
from hiertopics.families.ncrp.config import (
    HldaVariationalInference as Inference,
    Model as Model,
    VariationalSettings as Settings,
)
from hiertopics.families.ncrp.simulate import simulate as simulate
from hiertopics.families.ncrp.summary import merge_extra
from hiertopics.families.ncrp.variational import bound, expectations, moves, starts, state as states
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.state import (
    CELLS,
    LOCAL_ROUNDS,
    Data,
    DocumentPassMessage,
    PassSums,
    SlotProbabilities,
    State,
    added,
    bounds,
    build_piece,
    by_piece,
    elbo,
    lay_out,
    local_pass,
    parts_of,
    refit,
    visit_some,
)
from hiertopics.families.ncrp.variational.structured_kernels import infer_structured
from hiertopics.families.nested.slots import (
    RARE,
    fit_sticks,
    mean_masses,
    nodes_of,
    place,
    sparse_rows,
)
from hiertopics.families.nested.tree_state import heavier_first, without_chances

KERNELS = 32 << 20
"""Bytes by which the kernels of this backend are larger than those of others."""

PAIR_BYTES = 76
"""Bytes for each pair of document and word that the start sees."""

BLOCK_BYTES = 24
"""Bytes for each probability of a document in a slot, before and after moves."""

READ_BYTES = 88
"""Bytes for each such probability that is read from files or written to them."""

ROUNDS, TOLERANCE = 100, 1e-5
"""Largest number of rounds that place a new document, and the change that ends them."""

BATCH_DELAY, BATCH_DECAY = 10.0, 0.7
"""Batch t has the step size (BATCH_DELAY + t) ** -BATCH_DECAY."""


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    structural: 1 if the tree was changed by moves in this iteration; n_moves: how many were
    tried. outside: share of the tokens that lie outside the tree.
    """

    n_nodes: int
    n_leaves: int
    structural: int
    n_moves: int
    gamma: float
    eta: float
    outside: float


def prepare(corpus: Bags, settings: Settings) -> Data:
    """Lay the corpus out."""
    return lay_out(corpus, settings.inference.shards)


START = {
    "clusters": starts.from_clusters,
    "sequential": starts.one_by_one,
    "separate": starts.one_by_one,
    "overcomplete": starts.overcomplete,
    "gibbs": starts.from_gibbs,
    "root": starts.from_root,
}
"""The first tree, by what ``inference.start`` says (theory/ncrp 4)."""


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do every local step, then refit sticks, topics and hyperparameters; then moves.

    Moves come every ``moves_every`` iterations, and each round of them is followed by sweeps of
    its own.
    """
    inference = settings.inference
    if inference.batch_size:
        sums = epoch(state, data, settings, context)
    else:
        sums = local_pass(state, LOCAL_ROUNDS)
        refit(state, sums)
    if context.iteration > inference.hyper_start:
        _learn(state, sums, inference)
    if not inference.batch_size:
        state = heavier_first(state, sums.slot, state.gamma)
    made = moves.HldaRoundResult(0, 0)
    if inference.moves != "none" and context.iteration % inference.moves_every == 0:
        state, made = moves.round_of_moves(state, data, settings, context)
    n_tokens = max(float(data.doc_lengths.sum()), 1.0)
    return state, Info(
        state.n_nodes,
        len(state.nodes.leaves),
        made.kept,
        made.n_moves,
        state.gamma,
        state.eta,
        state.n_outside / n_tokens,
    )


def _learn(state: State, sums: PassSums, inference: Inference) -> None:
    """Fit the hyperparameters that are to be learned; none lowers the bound."""
    if "gamma" not in inference.hold:
        state.gamma = bound.best_gamma(state.nodes, state.sticks, sums.slot, state.gamma)
    if "level_prior" not in inference.hold:
        state.level_prior = bound.best_level_prior(state.tau, state.level_prior)
    if "eta" not in inference.hold:
        state.eta = bound.best_eta(sums.words, sums.n_outside, state.eta)
        state.lam = sums.words + sums.words.dtype.type(state.eta)


def epoch(state: State, data: Data, settings: Settings, context: Context) -> PassSums:
    """Visit all documents once, in batches drawn at random; the state moves in place.

    Returns the epoch's sums: slots and tokens outside as they were when their batch came, words
    as the topics hold them at the end.
    """
    inference = settings.inference
    n_batches = max(1, -(-data.n_docs // inference.batch_size))
    batches = np.array_split(context.rng("batches").permutation(data.n_docs), n_batches)
    slot, n_outside = np.zeros(state.n_nodes), 0.0
    for number, batch in enumerate(batches, start=1):
        updates = (context.iteration - 1) * n_batches + number
        rate = (BATCH_DELAY + updates) ** -BATCH_DECAY
        sums = _visit(state, data, np.sort(batch), LOCAL_ROUNDS)
        _blend(state, sums, rate, data.n_docs / max(len(batch), 1))
        slot += sums.slot
        n_outside += sums.n_outside
    state.n_outside = n_outside
    words = np.maximum(state.lam - state.lam.dtype.type(state.eta), 0)
    return PassSums(words, slot, n_outside, 0.0)


def _visit(state: State, data: Data, docs: I64, rounds: int) -> PassSums:
    """Do the local step of some documents."""
    given = state.given(rounds, state.nodes.path)
    batches = Each([Batch(given, own) for own in by_piece(data, docs)])
    return added(state.local.step(_some, batches))


class Batch(NamedTuple):
    """Message of a pass to some documents of a piece, int64 [n]."""

    given: DocumentPassMessage
    docs: I64


def _some(piece: DocumentPairs, local: Any, batch: Batch) -> tuple[Any, PassSums]:
    return local, visit_some(piece, local, batch.given, batch.docs)


def _blend(state: State, sums: PassSums, rate: float, scale: float) -> None:
    """Move topics and sticks by ``rate`` towards their best values for the batch, scaled up."""
    kind = state.lam.dtype.type
    state.lam = kind(1 - rate) * state.lam
    state.lam += kind(rate * scale) * sums.words
    state.lam += kind(rate * state.eta)
    asked = fit_sticks(state.nodes, scale * sums.slot, state.gamma)
    state.stick_a = (1 - rate) * state.stick_a + rate * asked.a
    state.stick_b = (1 - rate) * state.stick_b + rate * asked.b


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the tree of live nodes, and theta and best paths of the training documents."""
    n_wn = np.maximum(np.asarray(state.lam, dtype=np.float64) - state.eta, 0.0)
    room, tau = beside(data.cells.word), state.tau
    weights = room.empty(tau.shape, np.float64)
    np.divide(tau, tau.sum(axis=1, keepdims=True), out=weights)
    fitted = common.HldaSummaryInput(
        parent=state.parent,
        n_wn=n_wn,
        slot_probs=_slot_probs(state, room),
        level_weights=weights,
        log_mass=np.log(mean_masses(state.nodes, state.sticks)),
        eta=state.eta,
        level_prior=state.level_prior,
        n_tokens=float(data.doc_lengths.sum()),
        extra={"gamma": np.array([state.gamma])},
        room=room,
    )
    return common.summarise(fitted)


def _slot_probs(state: State, room: Room) -> sparse.csr_array:
    """Return q of slots of the training documents without rare ones, rows summing to 1."""
    return stacked_rows(state.local.ask(_rows, state.weighing()), state.n_nodes, room)


def _rows(piece: DocumentPairs, local: Any, weighing: SlotProbabilities) -> RowEntries:
    writer = EntriesWriter(beside(piece.word))
    for chances in weighing.blocks(piece, local):
        rows = sparse_rows(chances)
        writer.add(rows.data, rows.indices, np.diff(rows.indptr).astype(np.int64))
    return writer.done()


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the best paths of new documents, the tree held fixed (theory/ncrp 6).

    Topics enter by their means, not by exp E log as in training: new words are predicted by the
    means, and paths found by the same measure score better on unseen words. Levels depend on the
    path, whatever family the tree was fitted in, for the same reason.
    """
    shown = tree.kind == NODE
    level_prior = tree.extra["level_prior"]
    depth = len(level_prior)
    order = np.argsort(tree.depth[shown], kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    above = tree.parent[shown][order]
    nodes = nodes_of(np.where(above < 0, -1, rank[above]).astype(np.int32), depth)
    log_mass = tree.extra["log_mass"][shown][order]
    phi = tree.phi[shown][order]
    given = expectations.plug_in_tables(phi, nodes, log_mass, level_prior)
    data = lay_out(corpus, 1)

    def fit(doc: int) -> tuple[F64, F64]:
        tau = level_prior * (1.0 + data.doc_lengths[doc] / level_prior.sum())
        chances, weights = np.empty(nodes.n_nodes), np.empty((nodes.n_nodes, depth))
        scratch = expectations.scratch_for(nodes.n_nodes, np.float64)
        infer_structured(data.cells, doc, given, scratch, tau, ROUNDS, TOLERANCE, chances, weights)
        chances, weights = chances[rank], weights[rank]
        return chances, weights[chances > RARE]

    rows = context.map(fit, range(corpus.n_docs))
    chances = np.array([row[0] for row in rows]).reshape(-1, nodes.n_nodes)
    weights = np.concatenate([np.empty((0, depth)), *(row[1] for row in rows)])
    return place(tree.parent[shown], depth, sparse_rows(chances), weights)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the evidence lower bound, recomputed from scratch in float64."""
    return elbo(state)


def memory(corpus: Bags, settings: Settings) -> int:
    """Return the bytes of a fit, assuming that the tree stays as large as its first one."""
    return _at_most(corpus, settings, _first_nodes(corpus, settings))


def memory_of_worker(corpus: Bags, settings: Settings) -> int:
    """Return the bytes that each worker takes for its documents at a time."""
    n_docs = corpus.n_docs // settings.inference.shards
    return BLOCK_BYTES * min(CELLS, _first_nodes(corpus, settings) * n_docs)


def memory_from(state: State, corpus: Bags, settings: Settings) -> int:
    """Return the bytes of a fit whose tree is as large as that of a state."""
    return _at_most(corpus, settings, state.n_nodes)


def _first_nodes(corpus: Bags, settings: Settings) -> int:
    """Return about how many nodes the first tree has."""
    inference, depth = settings.inference, settings.model.depth
    n_seen = corpus.n_docs * _clustered(corpus) // max(corpus.n_pairs, 1)
    if inference.start in ("sequential", "separate", "gibbs"):
        return int(min(inference.max_nodes, depth * n_seen))
    leaves = starts.starting_leaves(n_seen, settings)
    return 1 + sum(clustering.widths(depth, leaves))


def _clustered(corpus: Bags) -> int:
    """Return the pairs of the documents that the first tree is made of."""
    return min(corpus.n_pairs, clustering.MOST_PAIRS)


def _at_most(corpus: Bags, settings: Settings, n_nodes: int) -> int:
    """Return the bytes of a fit by one worker.

    At its largest it clusters documents, or tries moves: these hold topics and their expectations
    twice, the words of each slot by level, and a block of chances. Of a corpus in files the pairs
    lie in files, too.
    """
    inference, depth = settings.inference, settings.model.depth
    start = PAIR_BYTES * _clustered(corpus) if inference.start in ("clusters", "gibbs") else 0
    reading = READ_BYTES * min(corpus.n_pairs, BLOCK_PAIRS)
    topics = max(36 + 12 * depth, 20 + 4 * depth * inference.shards) * n_nodes * corpus.n_words
    block = BLOCK_BYTES * min(CELLS, n_nodes * corpus.n_docs)
    documents = (40 * depth + 120) * corpus.n_docs
    if inference.mode == "meanfield":
        documents += 16 * n_nodes * corpus.n_docs
    cells = 0 if isinstance(corpus, Shelf) else 8 * corpus.n_pairs
    return KERNELS + cells + documents + max(start, reading, topics + block)


def _bound_never_falls(settings: Settings) -> bool:
    """Tell whether these settings keep the promise of the bound: whole sweeps, guarded moves."""
    inference = settings.inference
    return bool(not inference.batch_size and (inference.guard_moves or inference.moves == "none"))


def extend_state(before: Arrays, data: Data, settings: Settings, context: Context) -> State:
    """Return the state of all documents under the tree of an earlier one.

    Further documents share their tokens out among the levels as the level prior's mean does; new
    words have the pseudo-count alone. The first sweep places all under topics as they were.
    """
    prior, gamma, eta = before["level_prior"], float(before["gamma"]), float(before["eta"])
    lam, known = before["lam"], np.concatenate(of_pieces(before, "tau"))
    unseen = np.full((data.n_words - len(lam), lam.shape[1]), eta, lam.dtype)
    further = prior + np.outer(data.doc_lengths[len(known) :], prior / prior.sum())
    tau, parent = np.concatenate([known, further]), before["parent"]
    return State(
        local=states.place(State, data, context, tau, np.ones(len(parent))),
        parent=parent,
        stick_a=before["stick_a"],
        stick_b=before["stick_b"],
        lam=np.concatenate([lam, unseen]),
        level_prior=prior,
        gamma=gamma,
        eta=eta,
        n_outside=float(before["n_outside"]),
    )


def variational(
    kind: type[State], migrate_state: Migration, **others: Any
) -> Backend[Any, Data, State, Settings]:
    """Return the backend of a family of states; others: its optional functions."""

    def init(data: Data, settings: Settings, context: Context) -> State:
        """Return the first state by the start of the config."""
        seen = starts.sampled(data, context)
        tree = starts.of_all(START[settings.inference.start](seen, settings, context), seen, data)
        return starts.state_of(kind, tree, data, settings, context)

    return Backend(
        Model=Model,
        Inference=Inference,
        State=kind,
        Info=Info,
        objective_name="evidence lower bound",
        prepare=prepare,
        init=init,
        step=step,
        summarise=summarise,
        infer=infer,
        extra=common.EXTRA,
        objective=objective,
        simulate=simulate,
        memory=memory,
        from_counts=True,
        memory_of_worker=memory_of_worker,
        memory_from=memory_from,
        merge_extra=merge_extra,
        pieces=Sharded(Local=kind.Local, parts=parts_of, build=build_piece, bounds=bounds),
        migrate_state=migrate_state,
        monotone=_bound_never_falls,
        **others,
    )


backend = variational(
    State, migrate_state=without_chances, out_of_core=True, extend_state=extend_state
)
