"""Stochastic updates: topics and sticks move after every batch of documents (theory/ncrp 8).

One iteration is one epoch: every document is in one batch. The bound may fall between epochs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.cells import Data, selected
from hiertopics.families.ncrp.state import State, Sums, local_pass
from hiertopics.families.nested.slots import fit_sticks
from hiertopics.model import Context, Settings


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
        sums = _visit(state, data, np.sort(batch), inference.local_rounds, context)
        _blend(state, sums, rate, data.n_docs / max(len(batch), 1))
        slot += sums.slot
        n_outside += sums.n_outside
    state.n_outside = n_outside
    words = np.maximum(state.lam - state.lam.dtype.type(state.eta), 0)
    return Sums(words, slot, n_outside, 0.0)


def _visit(
    state: State, data: Data, docs: NDArray[np.int64], rounds: int, context: Context
) -> Sums:
    """Do the local step of some documents."""
    part = replace(state, tau=state.tau[docs], chances=state.chances[docs])
    sums = local_pass(part, selected(data, docs), context, rounds)
    state.tau[docs] = part.tau
    state.chances[docs] = part.chances
    return sums


def _blend(state: State, sums: Sums, rate: float, scale: float) -> None:
    """Move topics and sticks by ``rate`` towards what the batch, scaled up, asks for."""
    kind = state.lam.dtype.type
    state.lam = kind(1 - rate) * state.lam
    state.lam += kind(rate * scale) * sums.words
    state.lam += kind(rate * state.eta)
    asked = fit_sticks(state.nodes, scale * sums.slot, state.gamma)
    state.stick_a = (1 - rate) * state.stick_a + rate * asked.a
    state.stick_b = (1 - rate) * state.stick_b + rate * asked.b
