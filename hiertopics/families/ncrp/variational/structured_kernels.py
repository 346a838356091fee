"""Local steps of the structured family, in which levels depend on the path (theory/ncrp 2.5 B)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.variational.level_kernels import (
    add_words,
    gather_chances,
    gather_scaled,
    levels_of_slot,
    log_chance,
)
from hiertopics.families.ncrp.variational.slot_kernels import (
    Cells,
    Globals,
    Schedule,
    Scratch,
    Statistics,
    level_chances,
    levels_gap,
    weigh_slots,
)
from hiertopics.numeric.jit import kernel

SETTLED = 1e-3
"""Tokens: local rounds end when no level of a document moves by more."""


@kernel()
def structured_step(
    cells: Cells,
    first: int,
    last: int,
    tau: NDArray[np.float64],
    given: Globals,
    schedule: Schedule,
    scratch: Scratch,
    sums: Statistics,
) -> float:
    """Refit q(path, level) and tau [n_docs, depth] of documents ``first .. last`` (option B).

    All slots are weighed once; then those that are not rare share ``rounds`` rounds of levels,
    level weights and chances. Returns the sum of log normalisers under the tau that came in.
    """
    n_nodes = len(given.slots.path)
    log_weights, chances = np.empty(n_nodes), np.empty(n_nodes)
    active = np.empty(n_nodes, np.int32)
    bound = 0.0
    for doc in range(first, last):
        bound += weigh_slots(cells, doc, tau[doc], given, scratch, log_weights, chances)
        n_active, mass = 0, 0.0
        for slot in range(n_nodes):
            if chances[slot] > schedule.rare:
                active[n_active] = slot
                n_active += 1
                mass += chances[slot]
        if schedule.rounds > 0:
            some = active[:n_active]
            _local_rounds(cells, doc, tau[doc], given, schedule, some, mass, True, chances, sums)
        for slot in range(n_nodes):
            sums.slot[slot] += chances[slot]
    return bound


@kernel()
def restricted_step(
    cells: Cells,
    first: int,
    last: int,
    tau: NDArray[np.float64],
    given: Globals,
    schedule: Schedule,
    candidates: NDArray[np.int32],
    shares: NDArray[np.float64],
    sums: Statistics,
) -> None:
    """Do as ``structured_step`` does where each document may only be in its ``candidates``.

    candidates: slots [n_docs, n_candidates], padded with -1; shares: their chances, written.
    """
    n_nodes = len(given.slots.path)
    chances = np.zeros(n_nodes)
    for doc in range(first, last):
        active = _listed(candidates[doc])
        _local_rounds(cells, doc, tau[doc], given, schedule, active, 1.0, False, chances, sums)
        for place in range(len(active)):
            shares[doc, place] = chances[active[place]]
            sums.slot[active[place]] += chances[active[place]]


@kernel()
def _listed(candidates: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one document's candidates without what pads them."""
    n_listed = 0
    while n_listed < len(candidates) and candidates[n_listed] >= 0:
        n_listed += 1
    return candidates[:n_listed]


@kernel()
def restricted_bounds(
    cells: Cells,
    tau: NDArray[np.float64],
    given: Globals,
    candidates: NDArray[np.int32],
    bounds: NDArray[np.float64],
) -> None:
    """Write each document's log normaliser over its ``candidates`` plus its E_theta, [n_docs].

    E_theta is without what does not depend on tau.
    """
    depth = tau.shape[1]
    kind = given.e_table.dtype
    e_log_theta, e_theta, tokens = np.empty(depth), np.empty(depth, kind), np.empty(depth)
    for doc in range(len(tau)):
        level_chances(tau[doc], e_log_theta, e_theta)
        n_pairs, active = cells.ptr[doc + 1] - cells.ptr[doc], _listed(candidates[doc])
        chance = np.empty((len(active), depth, n_pairs), kind)
        count, each, scale = (
            np.empty(n_pairs, kind),
            np.empty(n_pairs, kind),
            np.empty(n_pairs, kind),
        )
        gather_chances(cells, doc, given, active, chance, count)
        total = -np.inf
        for place in range(len(active)):
            levels_of_slot(chance[place], count, e_theta, each, scale, tokens)
            score = given.slots.log_mass[active[place]] + log_chance(count, each)
            largest = max(total, score)
            total = largest + math.log(math.exp(total - largest) + math.exp(score - largest))
        bounds[doc] = total + levels_gap(tau[doc], given.level_prior, e_log_theta)


@kernel()
def weigh_documents(
    cells: Cells,
    first: int,
    last: int,
    tau: NDArray[np.float64],
    given: Globals,
    scratch: Scratch,
    chances: NDArray[np.float64],
) -> None:
    """Write chances of slots [n_docs, n_nodes] of documents ``first .. last`` under their tau.

    Option B.
    """
    log_weights = np.empty(chances.shape[1])
    for doc in range(first, last):
        weigh_slots(cells, doc, tau[doc], given, scratch, log_weights, chances[doc])


@kernel()
def log_normaliser(
    cells: Cells,
    first: int,
    last: int,
    tau: NDArray[np.float64],
    given: Globals,
    scratch: Scratch,
) -> float:
    """Return the sum of log normalisers of documents ``first .. last`` under their tau."""
    log_weights, chances = np.empty((2, len(given.slots.path)))
    total = 0.0
    for doc in range(first, last):
        total += weigh_slots(cells, doc, tau[doc], given, scratch, log_weights, chances)
    return total


@kernel()
def _local_rounds(
    cells: Cells,
    doc: int,
    tau: NDArray[np.float64],
    given: Globals,
    schedule: Schedule,
    active: NDArray[np.int32],
    mass: float,
    scored: bool,
    chances: NDArray[np.float64],
    sums: Statistics,
) -> None:
    """Refit levels, tau and the chances of the active slots in turn, which share ``mass``.

    scored: whether all slots have just been weighed, so that the first round need not. The last
    round's words are added to ``sums``.
    """
    depth, n_active = len(tau), len(active)
    n_pairs = cells.ptr[doc + 1] - cells.ptr[doc]
    kind = given.e_table.dtype
    chance, count = np.empty((n_active, depth, n_pairs), kind), np.empty(n_pairs, kind)
    if scored:
        gather_scaled(cells, doc, given, active, chance, count)
    else:
        gather_chances(cells, doc, given, active, chance, count)
    e_log_theta, e_theta = np.empty(depth), np.empty(depth, kind)
    total, scale = np.empty(n_pairs, kind), np.empty((n_active, n_pairs), kind)
    scores, tokens = np.empty(n_active), np.empty((n_active, depth))
    for turn in range(schedule.rounds):
        level_chances(tau, e_log_theta, e_theta)
        weigh = n_active > 1 and (turn > 0 or not scored)
        for place in range(n_active):
            levels_of_slot(chance[place], count, e_theta, total, scale[place], tokens[place])
            if weigh:
                scores[place] = given.slots.log_mass[active[place]] + log_chance(count, total)
        if weigh:
            _share(scores, active, mass, chances)
        elif n_active == 1:
            chances[active[0]] = mass
        moved = 0.0
        for level in range(depth):
            refitted = given.level_prior[level]
            for place in range(n_active):
                refitted += chances[active[place]] / mass * tokens[place, level]
            moved = max(moved, abs(refitted - tau[level]))
            tau[level] = refitted
        if moved < SETTLED:
            break
    if schedule.rounds > 0:
        for place in range(n_active):
            share = chances[active[place]] / mass
            add_words(
                cells, doc, given, active[place], share, chance[place], scale[place], e_theta, sums
            )


@kernel()
def _share(
    scores: NDArray[np.float64],
    active: NDArray[np.int32],
    mass: float,
    chances: NDArray[np.float64],
) -> None:
    """Share ``mass`` among the active slots by their scores [n_active]."""
    largest, total = scores[0], 0.0
    for place in range(1, len(active)):
        largest = max(largest, scores[place])
    for place in range(len(active)):
        scores[place] = math.exp(scores[place] - largest)
        total += scores[place]
    for place in range(len(active)):
        chances[active[place]] = scores[place] * mass / total
