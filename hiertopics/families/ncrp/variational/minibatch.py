"""Stochastic updates: topics and sticks move after every batch of documents (theory/ncrp 8).

One iteration is one epoch: every document is in one batch. The bound may fall between epochs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import Each
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.variational.cells import Data, selected
from hiertopics.families.ncrp.variational.slot_kernels import Cells
from hiertopics.families.ncrp.variational.state import Given, State, Sums, added, visit
from hiertopics.families.nested.slots import fit_sticks
from hiertopics.model import Context


def epoch(state: State, data: Data, settings: Settings, context: Context) -> Sums:
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
        rate = (inference.batch_delay + updates) ** -inference.batch_decay
        sums = _visit(state, data, np.sort(batch), inference.local_rounds)
        _blend(state, sums, rate, data.n_docs / max(len(batch), 1))
        slot += sums.slot
        n_outside += sums.n_outside
    state.n_outside = n_outside
    words = np.maximum(state.lam - state.lam.dtype.type(state.eta), 0)
    return Sums(words, slot, n_outside, 0.0)


def _visit(state: State, data: Data, docs: NDArray[np.int64], rounds: int) -> Sums:
    """Do the local step of some documents."""
    given, first = state.given(rounds, state.nodes.path), data.shard_bounds
    by_piece = np.split(docs, np.searchsorted(docs, first[1:-1]))
    own = [part - start for part, start in zip(by_piece, first[:-1], strict=True)]
    return added(state.local.step(_some, Each([Batch(given, part) for part in own])))


class Batch(NamedTuple):
    """What a piece takes to some of its documents, int64 [n]."""

    given: Given
    docs: NDArray[np.int64]


def _some(piece: Cells, local: Any, batch: Batch) -> tuple[Any, Sums]:
    docs = batch.docs
    cells = selected(piece, len(batch.given.tables.e_table), docs)
    part = local._replace(**{name: rows[docs] for name, rows in local._asdict().items()})
    sums = visit(cells, part, batch.given)
    for rows, moved in zip(local, part, strict=True):
        rows[docs] = moved
    return local, sums


def _blend(state: State, sums: Sums, rate: float, scale: float) -> None:
    """Move topics and sticks by ``rate`` towards what the batch, scaled up, asks for."""
    kind = state.lam.dtype.type
    state.lam = kind(1 - rate) * state.lam
    state.lam += kind(rate * scale) * sums.words
    state.lam += kind(rate * state.eta)
    asked = fit_sticks(state.nodes, scale * sums.slot, state.gamma)
    state.stick_a = (1 - rate) * state.stick_a + rate * asked.a
    state.stick_b = (1 - rate) * state.stick_b + rate * asked.b
