"""Small trees are tried in other shapes: nodes hung elsewhere, or merged (theory/nhdp 6.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.special import gammaln, xlogy

from hiertopics.base.arrays import F64, I64, Floats, Ints
from hiertopics.base.made import all_entries
from hiertopics.contract.model import Context, Settings
from hiertopics.families.flat.layout import Data, Piece, some_of
from hiertopics.families.flat.summary import LIVE_TOKENS
from hiertopics.families.hdp.bursty import tables_of_pairs
from hiertopics.families.nested.slots import in_order, renumbered
from hiertopics.families.nhdp import documents
from hiertopics.families.nhdp.document_kernels import unpack
from hiertopics.families.nhdp.hanging import LEAST, ScoredTree
from hiertopics.families.nhdp.layout import AnyLocal
from hiertopics.families.nhdp.learning import refit
from hiertopics.families.nhdp.state import BurstyState, State
from hiertopics.numeric.grid import first_largest
from hiertopics.numeric.special import log_of

FEWEST_NODES, MOST_NODES = 3, 100
MOST_ENTRIES = 10_000_000
"""Entries of q(z), pairs times nodes: larger trees stay as the linkage makes them."""

BEFORE, BETWEEN = 25, 5
"""Sweeps before the first round and after each."""

ALIKE = 0.5
"""Jensen-Shannon divergence, in nats, below which two topics may be one."""

AT_ONCE = 0.5
"""Merges of a round gain at least this part of what its best one gains."""

FOLDS = 20
"""Rounds in which the words of a new document are divided among the nodes."""

EVERY, FEWEST_DOCS = 10, 50
"""Every tenth document judges whether the trial is worth while; corpora of few have none."""

FEW = 0.01
"""Pseudo-count of every node in a document, where the document begins anew."""

GONE = -2
"""The parent of a node that is one with another."""


class CorpusCells(NamedTuple):
    """The cells of the corpus: doc, word: int64 [n_pairs]; tokens, or tables: float64."""

    doc: I64
    word: I64
    tokens: F64


class TrialCounts(NamedTuple):
    """Expected tokens: n [n_docs, K], words [K, n_words]; q: [n_pairs, K], their q(z)."""

    n: F64
    words: F64
    q: F64


def is_small(n_nodes: int, data: Data) -> bool:
    """Return whether other shapes are tried."""
    n_entries = n_nodes * len(data.cells.word)
    few = n_nodes < FEWEST_NODES or data.n_docs < FEWEST_DOCS
    return not few and n_nodes <= MOST_NODES and n_entries <= MOST_ENTRIES


def reshaped(
    begin: Callable[[Data, I64], State],
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
) -> State | None:
    """Return the state of the tree that trials of other shapes end at (theory/nhdp 6.6).

    begin: the state of some documents on the tree as it is. None where the tree does not predict
    documents that it has not seen better than before.
    """
    held = np.arange(data.n_docs) % EVERY == EVERY - 1
    docs, new = np.flatnonzero(~held), some_of(data, np.flatnonzero(held))
    some, eta = some_of(data, docs), settings.model.eta
    before = begin(some, docs)
    after = tried(before, some, settings, context, dtype)
    if completion(after, new, eta) <= completion(before, new, eta):
        return None
    return tried(begin(data, np.arange(data.n_docs)), data, settings, context, dtype)


def tried(
    state: State, data: Data, settings: Settings, context: Context, dtype: DTypeLike
) -> State:
    """Return the state after the rounds of a trial; the given state was swept."""
    model = settings.model
    swept(state, data, settings, context, BEFORE)
    pairs = pairs_of(data)
    (stop, go), n_named = model.stop_prior, len(data.seeds.names)
    for trial in range(settings.inference.trials):
        if isinstance(state, BurstyState):
            pairs = pairs._replace(tokens=tables_of_pairs(state).astype(np.float64))
        counts = counted(q_of(state), pairs, data)
        if not trial:
            # Branches that have names stay, and the root before them.
            stays = np.arange(counts.n.shape[1]) < (n_named and 1 + n_named)
            live = np.flatnonzero(stays | (counts.n.sum(axis=0) >= LIVE_TOKENS))
            if len(live) < FEWEST_NODES:
                break
            counts = rooted(counted(counts.q[:, live], pairs, data), stop, go, n_named)
        before = state.parent.astype(np.int64) if trial else one_level(counts.n.shape[1])
        tree = ScoredTree(counts.n, before, stop, go, n_named)
        tree.improve()
        merged = merge(tree, counts, pairs, data, model.eta)
        if merged is None and trial and (tree.parent == before).all():
            break
        parent, counts = merged or (tree.parent, counts)
        if len(parent) == 1:
            break
        tables = pairs.tokens.astype(dtype) if isinstance(state, BurstyState) else None
        state = begun(parent, counts, data, settings, context, dtype, tables)
        swept(state, data, settings, context, BETWEEN)
    return state


def completion(state: State, held: Data, eta: float) -> float:
    """Return the mean log chance of every second word of new documents, given their others."""
    pairs = pairs_of(held)
    phi = np.maximum(state.n_wk, 0, dtype=np.float64) + eta
    phi /= phi.sum(axis=0)
    given = np.arange(len(pairs.doc)) % 2 == 0
    seen, asked = (CorpusCells(*(row[rows] for row in pairs)) for rows in (given, ~given))
    n = np.zeros((held.n_docs, len(state.parent)))
    for _ in range(FOLDS):
        q = state.mixing.weights(n)[seen.doc] * phi[seen.word]
        n = counted(q / q.sum(axis=1, keepdims=True), seen, held).n
    chance = (state.mixing.weights(n)[asked.doc] * phi[asked.word]).sum(axis=1)
    return float((asked.tokens * log_of(chance)).sum() / max(asked.tokens.sum(), 1.0))


def one_level(n_nodes: int) -> I64:
    """Return the parents of a tree whose nodes are all below the root: int64 [n_nodes]."""
    return np.array([-1] + [0] * (n_nodes - 1), np.int64)


def swept(state: State, data: Data, settings: Settings, context: Context, n_sweeps: int) -> None:
    """Sweep a state, as its first iterations do."""
    for iteration in range(1, n_sweeps + 1):
        refit(state, data, settings, replace(context, iteration=iteration))


def pairs_of(data: Data) -> CorpusCells:
    """Return the cells of the corpus."""
    cells = data.cells
    doc = np.repeat(np.arange(data.n_docs), cells.cuts[:, -1] - cells.cuts[:, 0])
    return CorpusCells(doc, cells.word.astype(np.int64), cells.tokens.astype(np.float64))


def q_of(state: State) -> F64:
    """Return q(z) of all pairs at all nodes, float64 [n_pairs, K], rows sum to 1."""
    q = np.concatenate(state.local.ask(_dense, len(state.parent)))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def _dense(piece: Piece, local: AnyLocal, n_nodes: int) -> F64:
    q = np.zeros((len(piece.cells.word), n_nodes))
    for doc, (start, stop) in enumerate(piece.cells.cuts[:, [0, -1]].tolist()):
        nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
        kept = local.resp[local.first_resp[doc] : local.first_resp[doc + 1]]
        rows = np.empty(len(kept), local.n.dtype)
        unpack(kept, rows)
        q[start:stop, nodes] = rows.reshape(stop - start, len(nodes))
    return np.maximum(q, 0)


def counted(q: F64, pairs: CorpusCells, data: Data) -> TrialCounts:
    """Return the counts of this q(z), float64 [n_pairs, n_nodes]."""
    weighted = q * pairs.tokens[:, None]
    n = np.zeros((data.n_docs, q.shape[1]))
    words = np.zeros((data.n_words, q.shape[1]))
    np.add.at(n, pairs.doc, weighted)
    np.add.at(words, pairs.word, weighted)
    return TrialCounts(n, np.ascontiguousarray(words.T), q)


def rooted(counts: TrialCounts, stop: float, go: float, n_named: int = 0) -> TrialCounts:
    """Return the counts with the topic first that is the root's most probably, all others below.

    Those of branches that have names, 1 to ``n_named``, stay where they are.
    """
    n_nodes = counts.n.shape[1]
    parent, named = one_level(n_nodes), np.arange(1, n_named + 1)
    orders = [
        np.r_[node, named, np.delete(np.arange(n_nodes), np.r_[node, named])]
        for node in range(n_nodes)
        if not 1 <= node <= n_named
    ]
    totals = [ScoredTree(counts.n[:, order], parent, stop, go).total for order in orders]
    order = orders[first_largest(totals)]
    return TrialCounts(counts.n[:, order], counts.words[order], counts.q[:, order])


def merge(
    tree: ScoredTree, counts: TrialCounts, pairs: CorpusCells, data: Data, eta: float
) -> tuple[Ints, TrialCounts] | None:
    """Return the tree and its counts after the merges that gain most; None where none gains.

    The tree: the parent of each node, int [n_nodes].
    """
    seeded = np.zeros_like(counts.words)
    data.seeds.add_to(seeded.T, data.seeds.branches)
    gains = sorted(_gains(tree, counts, pairs, eta, seeded), reverse=True)
    if not gains:
        return None
    parent, into = tree.parent.copy(), np.arange(len(tree.parent))
    gone: set[int] = set()
    taken: set[int] = set()
    for gain, node, other in gains:
        if gain < AT_ONCE * gains[0][0] or gone & {node, other} or node in taken:
            continue
        parent = _without(parent, node, other)
        into[node] = other
        gone.add(node)
        taken.add(other)
    kept = np.flatnonzero([node not in gone for node in range(len(parent))])
    q = np.zeros_like(counts.q)
    np.add.at(q.T, into, counts.q.T)
    return renumbered(parent, kept), counted(q[:, kept], pairs, data)


def _gains(
    tree: ScoredTree, counts: TrialCounts, pairs: CorpusCells, eta: float, seeded: F64
) -> list[tuple[float, int, int]]:
    """Return what merging a node into another gains, where it does.

    seeded: [K, n_words], the tokens of seed words.
    """
    phi = counts.words + seeded + eta
    phi /= phi.sum(axis=1, keepdims=True)
    entropy = -xlogy(phi, phi).sum(axis=1)
    alone = log_words(counts.words, eta, seeded)
    found = []
    for node in range(1, len(phi)):
        means = (phi[:node] + phi[node]) / 2
        far = -xlogy(means, means).sum(axis=1) - (entropy[:node] + entropy[node]) / 2
        for other in np.flatnonzero(far < ALIKE).tolist():
            both = counts.words[[node]] + counts.words[[other]]
            one, two = counts.q[:, node], counts.q[:, other]
            mixed = xlogy(one + two, one + two) - xlogy(one, one) - xlogy(two, two)
            mixed = (pairs.tokens * mixed).sum()
            for gone, into in ((node, other), (other, node)):
                if gone > tree.n_named:
                    words = log_words(both, eta, seeded[[into]])[0] - (alone[node] + alone[other])
                    n = tree.n.copy()
                    n[:, into] += n[:, gone]
                    n[:, gone] = 0
                    parent = _without(tree.parent, gone, into)
                    changed = {*tree.above(gone), *tree.above(into)}
                    gain = tree.chance(parent, changed, n) - tree.total + words - mixed
                    if gain > LEAST:
                        found.append((float(gain), gone, into))
    return found


def _without(parent: I64, gone: int, into: int) -> I64:
    """Return the parents where a node is one with another, which has its children.

    Where the other stands below the node, it takes the node's place.
    """
    parent = parent.copy()
    above = into
    while parent[above] >= 0:
        above = parent[above]
        if above == gone:
            parent[into] = parent[gone]
            break
    parent[(parent == gone) & (np.arange(len(parent)) != into)] = into
    parent[gone] = GONE
    return parent


def log_words(words: F64, eta: float, seeded: F64) -> F64:
    """Return the log chance of each topic's words, its distribution integrated out.

    words, seeded: [n, n_words], tokens of documents and of seed words.
    """
    prior, mass = eta + seeded, eta * words.shape[1] + seeded.sum(axis=1)
    drawn = (gammaln(prior + words) - gammaln(prior)).sum(axis=1)
    return np.asarray(drawn + gammaln(mass) - gammaln(mass + words.sum(axis=1)))


def begun(
    parent: Ints,
    counts: TrialCounts,
    data: Data,
    settings: Settings,
    context: Context,
    dtype: DTypeLike,
    tables: Floats | None = None,
) -> State:
    """Return the state of these topics on this tree.

    parent: int [n_nodes]. tables: see ``documents.begin_known``.
    """
    order = in_order(parent, np.arange(len(parent)))
    phi = counts.words[order] + settings.model.eta
    data.seeds.add_to(phi.T, data.seeds.branches)
    theta = counts.n[:, order] + FEW
    return documents.begin_known(
        renumbered(parent, order),
        phi / phi.sum(axis=1, keepdims=True),
        all_entries(theta / theta.sum(axis=1, keepdims=True)),
        data,
        settings,
        context,
        dtype,
        tables=tables,
    )
