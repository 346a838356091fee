"""From nodes with word counts and documents on path slots to the tree of a run.

The variational methods spread a document over path slots (``nested.slots``); a Gibbs state
puts it into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Ints, Numbers
from hiertopics.base.axes import Axes
from hiertopics.base.room import Room
from hiertopics.contract.model import Paths, Summary
from hiertopics.corpus.data import NODE, OUTSIDE, ROOT, Regrouping, Seeds, Tree, seedwords
from hiertopics.corpus.data.membership import passing
from hiertopics.families.nested.slots import place

LIVE_TOKENS = 1.0

DOCS_AT_ONCE = 1 << 14
"""Documents that are placed at a time."""


@dataclass(frozen=True)
class HldaSummaryInput:
    """The result of every method; nodes in any order with parents first, node 0 the root.

    parent: int [n_nodes]. n_wn: (expected) word counts [n_words, n_nodes]. slot_probs: float64
    CSR [n_docs, n_nodes], rows sum to 1: the chance that a document's path lies in a node's slot.
    level_weights: float64 [n_docs, depth], rows sum to 1. log_mass: float64 [n_nodes], log prior
    mass of each slot for a new document. eta, level_prior [depth]: the priors in force.
    n_tokens: tokens of the corpus, those outside the tree included.
    extra: more arrays for ``Tree.extra``, not per node. room: where theta and paths are made.
    seeds: words that counts have not; named: int64, the node of each of their names.
    """

    parent: Ints
    n_wn: Numbers
    slot_probs: sparse.csr_array
    level_weights: F64
    log_mass: F64
    eta: float
    level_prior: F64
    n_tokens: float
    extra: Mapping[str, NDArray[Any]]
    room: Room = field(default_factory=Room)
    seeds: Seeds = seedwords.NONE
    named: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def depth(self) -> int:
        """Number of levels."""
        return len(self.level_prior)


EXTRA = {
    "log_mass": Annotated[F64, Axes("n_nodes")],
    "level_prior": Annotated[F64, Axes("depth", least=0)],
}
"""Arrays of a tree that inference needs; see ``summarise``."""


def summarise(fitted: HldaSummaryInput) -> Summary:
    """Return the tree of live nodes in pre-order, heavier siblings first, with one row outside.

    A node lives with at least one expected token or document at or below it, or as the root.
    What is dropped goes to the slot of its nearest live ancestor, its words to the row outside.
    ``Tree.extra`` gets log_mass [n_nodes] (0 for the row outside) and level_prior [depth], which
    inference needs, and eta [1].
    """
    order, slot_of = _live_order(fitted)
    n_live, n_words = len(order), fitted.n_wn.shape[0]
    new_id = np.full(len(fitted.parent), ROOT, dtype=np.int32)
    new_id[order] = np.arange(n_live)
    parent = np.append(new_id[fitted.parent[order]], ROOT).astype(np.int32)
    parent[0] = ROOT
    counts = np.asarray(fitted.n_wn[:, order], dtype=np.float64)
    n_tokens = counts.sum(axis=0)
    total = n_tokens + n_words * fitted.eta
    seeds, named = fitted.seeds, new_id[fitted.named]
    node = named[seeds.name]
    here = node != ROOT
    total += seeds.weight * np.bincount(node[here], minlength=n_live)
    phi = np.empty((n_live + 1, n_words))
    np.add(counts.T, fitted.eta, out=phi[:-1])
    phi[node[here], seeds.word[here]] += seeds.weight
    phi[:-1] /= total[:, None]
    phi[-1] = 1.0 / n_words
    phi /= phi.sum(axis=1, keepdims=True)
    slots = new_id[slot_of]
    log_mass = np.full(n_live, -np.inf)
    np.logaddexp.at(log_mass, slots, fitted.log_mass)
    theta, paths = _placed(fitted, parent[:-1], slots)
    n_tokens = np.append(n_tokens, 0.0)
    n_tokens[-1] = max(fitted.n_tokens - n_tokens.sum(), 0.0)
    weight = n_tokens / n_tokens.sum() if n_tokens.sum() > 0 else np.eye(n_live + 1)[0]
    tree = Tree(
        phi=phi,
        parent=parent,
        kind=np.append(np.full(n_live, NODE), OUTSIDE).astype(np.int8),
        weight=weight,
        n_docs=passing(paths.node, n_live + 1),
        n_tokens=n_tokens,
        extra={
            "log_mass": np.append(log_mass, 0.0),
            "eta": np.array([fitted.eta]),
            "level_prior": fitted.level_prior,
            **fitted.extra,
        },
    )
    names = dict(zip(seeds.names, named.tolist(), strict=True))
    told = "the branch of the seed words {!r} has no token: it is left out"
    notes = tuple(told.format(name) for name, node in names.items() if node == ROOT)
    found = {node: name for name, node in names.items() if node != ROOT}
    return Summary(tree, theta, paths, notes, found)


def _placed(fitted: HldaSummaryInput, parent: I32, slots: Ints) -> tuple[sparse.csr_array, Paths]:
    """Return theta and the paths of all documents; they are placed some documents at a time.

    parent: int32 [n_live]. slots: the live node whose slot that of each node is now.
    """
    room, depth, lengths = fitted.room, fitted.depth, []
    kinds = (np.float64, np.int32, np.int32, np.float64)
    values, columns, node, log_prob = (room.growing(kind) for kind in kinds)
    kind = fitted.slot_probs.indices.dtype
    for first in range(0, fitted.slot_probs.shape[0], DOCS_AT_ONCE):
        some = slice(first, first + DOCS_AT_ONCE)
        probs = _moved(fitted.slot_probs[some], slots, len(parent))
        weights = np.repeat(fitted.level_weights[some], np.diff(probs.indptr), axis=0)
        found = place(parent, depth, probs, weights)
        assert found.paths is not None, "documents take paths"
        values.append(found.theta.data)
        columns.append(found.theta.indices)
        node.append(found.paths.node.ravel())
        log_prob.append(found.paths.log_prob)
        lengths.append(np.diff(found.theta.indptr))
        kind = found.theta.indices.dtype
    indptr = np.concatenate([[0], *lengths]).cumsum()
    shape, column = (len(indptr) - 1, len(parent) + 1), columns.done().astype(kind, copy=False)
    theta = sparse.csr_array((values.done(), column, indptr.astype(kind)), shape=shape)
    return theta, Paths(node.done().reshape(-1, depth), log_prob.done())


def merge_extra(tree: Tree, grouping: Regrouping) -> dict[str, NDArray[Any]]:
    """Return ``extra`` of a tree some of whose nodes were put together or taken out.

    The prior masses of slots that are one now add up; that of a node that was taken out goes to
    its parent's slot, as in ``summarise``.
    """
    inside = tree.kind == NODE
    log_mass = np.full(grouping.n_rows, -np.inf)
    np.logaddexp.at(log_mass, grouping.slot[inside], tree.extra["log_mass"][inside])
    log_mass[grouping.kind == OUTSIDE] = 0.0
    return {**tree.extra, "log_mass": log_mass}


def _live_order(fitted: HldaSummaryInput) -> tuple[I64, I64]:
    """Return the live nodes in their new order, and each node's nearest live self or ancestor."""
    parent, n_nodes = fitted.parent, len(fitted.parent)
    tokens = np.asarray(fitted.n_wn.sum(axis=0), dtype=np.float64)
    docs = np.asarray(fitted.slot_probs.sum(axis=0)).ravel()
    slot_of = np.arange(n_nodes)
    for node in range(n_nodes - 1, 0, -1):
        tokens[parent[node]] += tokens[node]
        docs[parent[node]] += docs[node]
    live = (tokens >= LIVE_TOKENS) | (docs >= LIVE_TOKENS)
    live[0] = True
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in range(1, n_nodes):
        if live[node]:
            children[parent[node]].append(node)
        else:
            slot_of[node] = slot_of[parent[node]]
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += sorted(children[node], key=lambda child: (docs[child], -child))
    return np.array(order), slot_of


def _moved(probs: sparse.csr_array, slots: Ints, n_slots: int) -> sparse.csr_array:
    """Return slot probabilities over other slots; several may become one."""
    cells = probs.tocoo()
    doc, slot = cells.coords
    shape = (probs.shape[0], n_slots)
    moved = sparse.csr_array((cells.data, (doc, slots[slot])), shape=shape)
    moved.sum_duplicates()
    return moved
