"""Expectations of topics as the kernels want them, in the dtype that the pseudo-count allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.special import psi

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.ncrp.variational import expectation_kernels, slot_kernels as kernels
from hiertopics.families.nested.slots import SlotNodes

LEAST_ETA_IN_FLOAT32 = 0.02
FORMATS = {
    4: (np.int32, (23, 127, (1 << 23) - 1, 127 << 23)),
    8: (np.int64, (52, 1023, (1 << 52) - 1, 1023 << 52)),
}


def dtype_for(eta: float) -> DTypeLike:
    """Return float32 where exp(psi(eta)), the chance of a word never seen, is far from its end."""
    return np.float32 if eta >= LEAST_ETA_IN_FLOAT32 else np.float64


def outside_log_chance(eta: float, n_words: int) -> float:
    """Return e0, E log phi of any word under the prior (theory/ncrp 2.4)."""
    return float(psi(eta) - psi(n_words * eta))


def given_tables(
    lam: Floats,
    nodes: SlotNodes,
    log_mass: F64,
    eta: float,
    level_prior: F64,
    dtype: DTypeLike | None = None,
    *,
    by_slot: bool = False,
    logs: bool = False,
) -> kernels.SlotGlobals:
    """Return the tables that local steps need.

    by_slot: to weigh all slots at once (structured). logs: E log phi itself (mean field).
    """
    kind = np.dtype(dtype_for(eta) if dtype is None else dtype)
    log_total = psi(lam.sum(axis=0, dtype=np.float64))
    e_table = np.empty(lam.shape, kind)
    log_table = np.empty(lam.shape if logs else (0, lam.shape[1]), kind)
    if kind == np.float32 == lam.dtype and not logs:
        expectation_kernels.expect_words_fast(lam, np.exp(-log_total).astype(kind), e_table)
    else:
        expectation_kernels.expect_words(lam, log_total, e_table, log_table)
    e0 = outside_log_chance(eta, len(lam))
    slots = _slots(nodes, log_mass, float(np.exp(e0)))
    spread = _by_slot(e_table if by_slot else e_table[:0], slots)
    return kernels.SlotGlobals(e_table, *spread, log_table, slots, level_prior, e0)


def plug_in_tables(
    phi: F64, nodes: SlotNodes, log_mass: F64, level_prior: F64
) -> kernels.SlotGlobals:
    """Return the tables of local steps for known topics phi [n_nodes, n_words]."""
    n_words = phi.shape[1]
    table = np.ascontiguousarray(phi.T)
    slots = _slots(nodes, log_mass, 1.0 / n_words)
    spread, no_logs = _by_slot(table, slots), table[:0]
    return kernels.SlotGlobals(table, *spread, no_logs, slots, level_prior, -float(np.log(n_words)))


class Spread(NamedTuple):
    """The fields of ``SlotGlobals`` of these names."""

    by_slot: Floats
    at_root: Floats
    log_scale: F64


def _by_slot(table: Floats, slots: kernels.Slots) -> Spread:
    """Return a table of topics spread over slots."""
    n_words, n_nodes = table.shape
    below = slots.path[:, 1:].T
    parents = np.ascontiguousarray(np.where(below < 0, n_nodes, below).astype(np.int32))
    by_slot = np.empty((n_words, *parents.shape), table.dtype)
    found = Spread(by_slot, np.empty(n_words, table.dtype), np.empty(n_words))
    expectation_kernels.spread_by_slot(table, parents, slots.outside, *found)
    return found


def _slots(nodes: SlotNodes, log_mass: F64, outside: float) -> kernels.Slots:
    parent = nodes.parent.astype(np.uint32)
    return kernels.Slots(parent, nodes.bounds, nodes.path, log_mass, outside)


def scratch_for(n_nodes: int, dtype: DTypeLike) -> kernels.SlotScratch:
    """Return working rows for one shard."""
    kind = np.dtype(dtype)
    whole, float_format = FORMATS[kind.itemsize]
    prod = np.zeros(n_nodes, kind)
    return kernels.SlotScratch(
        np.zeros(n_nodes, kind),
        prod,
        prod.view(whole),
        np.zeros(n_nodes, whole),
        np.zeros(n_nodes),
        float_format,
    )
