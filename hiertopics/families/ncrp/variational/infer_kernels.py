"""Levels and path of one new document, the tree held fixed (theory/ncrp 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.variational.level_kernels import (
    gather_chances,
    levels_of_slot,
    log_chance,
)
from hiertopics.families.ncrp.variational.slot_kernels import (
    Cells,
    Globals,
    Scratch,
    level_chances,
    levels_gap,
    normalise,
    weigh_slots,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import copy_row

NEGLIGIBLE = 1e-8


@kernel()
def infer_structured(
    cells: Cells,
    doc: int,
    given: Globals,
    scratch: Scratch,
    tau: NDArray[np.float64],
    n_rounds: int,
    tolerance: float,
    chances: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fit ``chances`` [n_nodes] and level weights [n_nodes, depth] of one document (theory/ncrp 6).

    The tree is held fixed. A common tau [depth] finds the slots that are not negligible; each of
    them then gets a tau of its own, the exact optimum of levels given the path. Rounds end when
    a bound moves by less than ``tolerance`` of itself.
    """
    n_nodes, depth = given.slots.path.shape
    log_weights, own = np.empty(n_nodes), np.empty(depth)
    e_log_theta, tokens = np.empty(depth), np.empty(depth)
    e_theta = np.empty(depth, given.e_table.dtype)
    before = -np.inf
    for _ in range(n_rounds):
        level_chances(tau, e_log_theta, e_theta)
        now = weigh_slots(cells, doc, tau, given, scratch, log_weights, chances)
        now += levels_gap(tau, given.level_prior, e_log_theta)
        if abs(now - before) <= tolerance * abs(now):
            break
        before = now
        tokens[:] = 0.0
        for slot in range(n_nodes):
            if chances[slot] > NEGLIGIBLE:
                _add_tokens(cells, doc, e_theta, given, slot, chances[slot], tokens)
        _add(given.level_prior, tokens, tau)
    for slot in range(n_nodes):
        log_weights[slot] = -np.inf
        copy_row(tau, own)
        if chances[slot] > NEGLIGIBLE:
            log_weights[slot] = _fit_slot(cells, doc, given, slot, own, n_rounds, tolerance)
        _scale(own, weights[slot])
    normalise(log_weights, chances)


@kernel()
def _fit_slot(
    cells: Cells,
    doc: int,
    given: Globals,
    slot: int,
    tau: NDArray[np.float64],
    n_rounds: int,
    tolerance: float,
) -> float:
    """Fit tau of one document in one slot; return its log weight, E_theta included."""
    depth, kind = len(tau), given.e_table.dtype
    n_pairs = cells.ptr[doc + 1] - cells.ptr[doc]
    e_log_theta, e_theta, tokens = np.empty(depth), np.empty(depth), np.empty(depth)
    chance, count = np.empty((1, depth, n_pairs), kind), np.empty(n_pairs, kind)
    total, scale = np.empty(n_pairs, kind), np.empty(n_pairs, kind)
    gather_chances(cells, doc, given, np.array([slot], np.int32), chance, count)
    before = now = -np.inf
    for _ in range(n_rounds):
        level_chances(tau, e_log_theta, e_theta)
        levels_of_slot(chance[0], count, e_theta, total, scale, tokens)
        now = given.slots.log_mass[slot] + log_chance(count, total)
        now += levels_gap(tau, given.level_prior, e_log_theta)
        if abs(now - before) <= tolerance * abs(now):
            break
        before = now
        _add(given.level_prior, tokens, tau)
    return now


@kernel()
def _add_tokens(
    cells: Cells,
    doc: int,
    e_theta: NDArray[np.floating],
    given: Globals,
    slot: int,
    share: float,
    tokens: NDArray[np.float64],
) -> None:
    """Add ``share`` of a document's expected tokens of each level in one slot to ``tokens``."""
    depth, kind = len(e_theta), given.e_table.dtype
    n_pairs = cells.ptr[doc + 1] - cells.ptr[doc]
    chance, count = np.empty((1, depth, n_pairs), kind), np.empty(n_pairs, kind)
    total, scale, own = np.empty(n_pairs, kind), np.empty(n_pairs, kind), np.empty(depth)
    gather_chances(cells, doc, given, np.array([slot], np.int32), chance, count)
    levels_of_slot(chance[0], count, e_theta, total, scale, own)
    for level in range(depth):
        tokens[level] += share * own[level]


@kernel()
def _add(left: NDArray[np.float64], right: NDArray[np.float64], total: NDArray[np.float64]) -> None:
    for level in range(len(total)):
        total[level] = left[level] + right[level]


@kernel()
def _scale(amounts: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
    """Write the amounts over their sum to ``shares``."""
    total = 0.0
    for amount in amounts:
        total += amount
    for level in range(len(amounts)):
        shares[level] = amounts[level] / total
