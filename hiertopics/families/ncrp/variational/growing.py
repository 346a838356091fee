"""Growth of the tree by either rule of the paper (theory/ncrp 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import psi

from hiertopics.base.arrays import F64, I64
from hiertopics.contract import Context, Each
from hiertopics.families.ncrp.variational.expectations import outside_log_chance
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.state import Data, SlotProbabilities, State, by_piece
from hiertopics.families.nested.slots import in_order, renumbered


def grow(state: State, data: Data, most_nodes: int, context: Context) -> tuple[State, int]:
    """Return the state grown by both rules, and by how many paths.

    Rule 1: slots drawn from q of up to ten random documents, each seeded by its document. Rule
    2: a slot drawn by its mass, grown neutrally.
    """
    rng = context.rng("grow")
    inner = np.flatnonzero(state.nodes.level < state.nodes.depth - 1)
    n_draws = min(data.n_docs, max(1, min(10, data.n_docs // 50)))
    wanted: list[tuple[int, int]] = []
    docs = rng.choice(data.n_docs, n_draws, replace=False)
    chances, mass = _drawn(state, data, np.sort(docs))
    for doc, row in zip(docs, chances[np.argsort(np.argsort(docs))], strict=True):
        slot = int(rng.choice(state.n_nodes, p=row / row.sum()))
        if slot in inner:
            wanted.append((slot, int(doc)))
    mass = mass[inner]
    if mass.sum() > 0:
        wanted.append((int(rng.choice(inner, p=mass / mass.sum())), -1))
    # From the last node to the first: expanding a node renumbers only what comes after it.
    n_grown = 0
    for slot, doc in sorted(wanted, reverse=True):
        if state.n_nodes + state.nodes.depth - 1 - state.nodes.level[slot] <= most_nodes:
            seeds = None if doc < 0 else _seeds(state, data, slot, doc)
            state = expand(state, slot, seeds)
            n_grown += 1
    return state, n_grown


class DocumentSelection(NamedTuple):
    """Selected documents of a piece, int64 [n], for which q of slots is returned."""

    weighing: SlotProbabilities
    docs: I64


def _drawn(state: State, data: Data, docs: I64) -> tuple[F64, F64]:
    """Return q of slots of some documents, ascending [n, n_nodes], and all documents' sum."""
    weighing = state.weighing()
    asked = Each([DocumentSelection(weighing, own) for own in by_piece(data, docs)])
    rows, mass = zip(*state.local.ask(_look_at, asked), strict=True)
    return np.concatenate(rows), np.sum(mass, axis=0)


def _look_at(piece: DocumentPairs, local: Any, selection: DocumentSelection) -> tuple[F64, F64]:
    weighing, docs = selection
    rows, mass, first = [np.empty((0, weighing.n_nodes))], np.zeros(weighing.n_nodes), 0
    for chances in weighing.blocks(piece, local):
        last = first + len(chances)
        rows.append(chances[docs[(docs >= first) & (docs < last)] - first])
        mass += chances.sum(axis=0)
        first = last
    return np.concatenate(rows), mass


def expand(state: State, slot: int, seeds: F64 | None = None) -> State:
    """Return the state with a new chain of nodes from inner node ``slot`` to the last level.

    The new sticks are the prior's. seeds: word counts [n_new, n_words] for the new topics; None
    leaves them the prior too, and the bound exactly where it was.
    """
    nodes, level = state.nodes, int(state.nodes.level[slot])
    n_new, n_nodes = nodes.depth - 1 - level, nodes.n_nodes
    above = [slot, *range(n_nodes, n_nodes + n_new - 1)]
    parent = np.append(state.parent, above)
    order = in_order(parent, np.arange(len(parent)))
    topics = np.full((len(state.lam), n_new), state.eta)
    if seeds is not None:
        topics += seeds.T
    lam = np.column_stack([state.lam, topics.astype(state.lam.dtype)])
    stay = np.exp(-1.0 / state.gamma)  # e^h, the ratio of the slot's geometric weights
    shares = (1 - stay) ** np.arange(1, n_new + 1) * np.append(np.full(n_new - 1, stay), 1.0)
    return replace(
        state,
        parent=renumbered(parent, order),
        lam=np.ascontiguousarray(lam[:, order]),
        stick_a=np.append(state.stick_a, np.ones(n_new))[order],
        stick_b=np.append(state.stick_b, np.full(n_new, state.gamma))[order],
        local=state.reseated(_expand, NewChain(slot, stay, shares, order)),
    )


class NewChain(NamedTuple):
    """A new chain below a slot: the part that stays in the slot, the new shares, the order."""

    slot: int
    stay: float
    shares: F64
    order: I64


def _expand(piece: DocumentPairs, local: Any, opened: NewChain) -> tuple[Any, None]:
    chances, slot = local.chances, opened.slot
    chances = np.column_stack([chances, chances[:, [slot]] * opened.shares])
    chances[:, slot] *= opened.stay
    return local._replace(chances=np.ascontiguousarray(chances[:, opened.order])), None


def _seeds(state: State, data: Data, slot: int, doc: int) -> F64:
    """Return the words [n_new, n_words] that a document in ``slot`` puts at the levels below."""
    cells, path = data.cells, state.nodes.path[slot]
    pairs = slice(cells.ptr[doc], cells.ptr[doc + 1])
    words = cells.word[pairs]
    log_chance = np.full((len(words), len(path)), outside_log_chance(state.eta, data.n_words))
    on = path >= 0
    totals = state.lam[:, path[on]].sum(axis=0, dtype=np.float64)
    log_chance[:, on] = psi(state.lam[np.ix_(words, path[on])].astype(np.float64)) - psi(totals)
    weights = np.exp(log_chance + psi(state.tau[doc]))
    weights /= weights.sum(axis=1, keepdims=True)
    seeds = np.zeros((int((~on).sum()), data.n_words))
    seeds[:, words] = (weights[:, ~on] * cells.tokens[pairs][:, None]).T
    return seeds
