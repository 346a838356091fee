"""Local steps of the structured family, in which levels depend on the path (spec 2.5 B)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.backends.ncrp.slot_kernels import (
    Cells,
    Globals,
    Schedule,
    Scratch,
    Statistics,
    level_terms,
    levels_gap,
    normalise,
    slot_scores,
)
from hiertopics.jit import kernel

NEGLIGIBLE = 1e-8


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
    table, slots = given.e_table, given.slots
    n_nodes, depth = slots.path.shape
    log_weights, chances = np.empty(n_nodes), np.empty(n_nodes)
    e_log_theta = np.empty(depth)
    e_theta = np.empty(depth, table.dtype)
    active = np.empty(n_nodes, np.int32)
    bound = 0.0
    for doc in range(first, last):
        level_terms(tau[doc], e_log_theta)
        e_theta[:] = np.exp(e_log_theta)
        slot_scores(cells, doc, e_theta, given, scratch, log_weights)
        log_weights += slots.log_mass
        bound += normalise(log_weights, chances)
        n_active, mass = 0, 0.0
        for slot in range(n_nodes):
            if chances[slot] > schedule.rare:
                active[n_active] = slot
                n_active += 1
                mass += chances[slot]
        for turn in range(schedule.rounds):
            final = turn == schedule.rounds - 1
            _local_round(
                cells, doc, tau[doc], given, active[:n_active], mass, turn > 0, final, chances, sums
            )
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
        n_active = 0
        while n_active < candidates.shape[1] and candidates[doc, n_active] >= 0:
            n_active += 1
        active = candidates[doc, :n_active]
        for turn in range(schedule.rounds):
            final = turn == schedule.rounds - 1
            _local_round(cells, doc, tau[doc], given, active, 1.0, True, final, chances, sums)
        for place in range(n_active):
            shares[doc, place] = chances[active[place]]
            sums.slot[active[place]] += chances[active[place]]


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
    e_log_theta = np.empty(tau.shape[1])
    for doc in range(len(tau)):
        level_terms(tau[doc], e_log_theta)
        e_theta = np.exp(e_log_theta)
        total = -np.inf
        for slot in candidates[doc]:
            if slot >= 0:
                score = _slot_score(cells, doc, e_theta, given, slot)
                largest = max(total, score)
                total = largest + math.log(math.exp(total - largest) + math.exp(score - largest))
        bounds[doc] = total + levels_gap(tau[doc], given.level_prior, e_log_theta)


@kernel()
def weigh_documents(
    cells: Cells,
    tau: NDArray[np.float64],
    given: Globals,
    scratch: Scratch,
    chances: NDArray[np.float64],
) -> None:
    """Write every document's chances of slots [n_docs, n_nodes] under its tau (option B)."""
    log_weights = np.empty(chances.shape[1])
    e_log_theta = np.empty(tau.shape[1])
    e_theta = np.empty(tau.shape[1], given.e_table.dtype)
    for doc in range(len(tau)):
        level_terms(tau[doc], e_log_theta)
        e_theta[:] = np.exp(e_log_theta)
        slot_scores(cells, doc, e_theta, given, scratch, log_weights)
        log_weights += given.slots.log_mass
        normalise(log_weights, chances[doc])


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
    """Fit ``chances`` [n_nodes] and level weights [n_nodes, depth] of one document (spec 6).

    The tree is held fixed. A common tau [depth] finds the slots that are not negligible; each of
    them then gets a tau of its own, the exact optimum of levels given the path. Rounds end when
    a bound moves by less than ``tolerance`` of itself.
    """
    n_nodes, depth = given.slots.path.shape
    log_weights, own = np.empty(n_nodes), np.empty(depth)
    e_log_theta, tokens = np.empty(depth), np.empty(depth)
    e_theta = np.empty(depth, given.e_table.dtype)
    nowhere = _no_sums(given)
    before = -np.inf
    for _ in range(n_rounds):
        level_terms(tau, e_log_theta)
        e_theta[:] = np.exp(e_log_theta)
        slot_scores(cells, doc, e_theta, given, scratch, log_weights)
        log_weights += given.slots.log_mass
        now = normalise(log_weights, chances) + levels_gap(tau, given.level_prior, e_log_theta)
        if abs(now - before) <= tolerance * abs(now):
            break
        before = now
        tokens[:] = 0.0
        for slot in range(n_nodes):
            if chances[slot] > NEGLIGIBLE:
                share = chances[slot]
                _add_levels(cells, doc, e_theta, given, slot, share, False, tokens, nowhere)
        tau[:] = given.level_prior + tokens
    for slot in range(n_nodes):
        log_weights[slot], weights[slot] = -np.inf, tau / tau.sum()
        if chances[slot] > NEGLIGIBLE:
            own[:] = tau
            log_weights[slot] = _fit_slot(cells, doc, given, slot, own, n_rounds, tolerance)
            weights[slot] = own / own.sum()
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
    e_log_theta, tokens = np.empty(len(tau)), np.empty(len(tau))
    nowhere = _no_sums(given)
    before = now = -np.inf
    for _ in range(n_rounds):
        level_terms(tau, e_log_theta)
        e_theta = np.exp(e_log_theta)
        now = _slot_score(cells, doc, e_theta, given, slot)
        now += levels_gap(tau, given.level_prior, e_log_theta)
        if abs(now - before) <= tolerance * abs(now):
            break
        before = now
        tokens[:] = 0.0
        _add_levels(cells, doc, e_theta, given, slot, 1.0, False, tokens, nowhere)
        tau[:] = given.level_prior + tokens
    return now


@kernel()
def _no_sums(given: Globals) -> Statistics:
    """Return statistics to which nothing is added."""
    table, path = given.e_table, given.slots.path
    no_words, no_column = np.empty((0, 0), table.dtype), np.full(path.shape, -1, np.int32)
    return Statistics(no_words, np.empty(0), np.zeros(1), no_column)


@kernel()
def _local_round(
    cells: Cells,
    doc: int,
    tau: NDArray[np.float64],
    given: Globals,
    active: NDArray[np.int32],
    mass: float,
    weigh: bool,
    final: bool,
    chances: NDArray[np.float64],
    sums: Statistics,
) -> None:
    """Share ``mass`` among the active slots anew, if to ``weigh``; then refit levels and tau."""
    depth = len(tau)
    e_log_theta, tokens = np.empty(depth), np.zeros(depth)
    level_terms(tau, e_log_theta)
    e_theta = np.exp(e_log_theta)
    if weigh:
        _weigh_again(cells, doc, e_theta, given, active, mass, chances)
    for slot in active:
        share = chances[slot] / mass
        _add_levels(cells, doc, e_theta, given, slot, share, final, tokens, sums)
    for level in range(depth):
        tau[level] = given.level_prior[level] + tokens[level]


@kernel()
def _weigh_again(
    cells: Cells,
    doc: int,
    e_theta: NDArray[np.float64],
    given: Globals,
    active: NDArray[np.int32],
    mass: float,
    chances: NDArray[np.float64],
) -> None:
    """Share ``mass`` among the active slots by their scores under new level weights."""
    largest = -np.inf
    for slot in active:
        chances[slot] = _slot_score(cells, doc, e_theta, given, slot)
        largest = max(largest, chances[slot])
    total = 0.0
    for slot in active:
        chances[slot] = math.exp(chances[slot] - largest)
        total += chances[slot]
    for slot in active:
        chances[slot] *= mass / total


@kernel()
def _slot_score(
    cells: Cells, doc: int, e_theta: NDArray[np.float64], given: Globals, slot: int
) -> float:
    """Return LM plus the log chance of a document's tokens in one slot."""
    table, path = given.e_table, given.slots.path[slot]
    score = given.slots.log_mass[slot]
    for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
        word, chance = cells.word[pair], 0.0
        for level in range(len(e_theta)):
            node = path[level]
            chance += e_theta[level] * (table[word, node] if node >= 0 else given.slots.outside)
        score += cells.tokens[pair] * math.log(chance)
    return score


@kernel()
def _add_levels(
    cells: Cells,
    doc: int,
    e_theta: NDArray[np.float64],
    given: Globals,
    slot: int,
    share: float,
    final: bool,
    tokens: NDArray[np.float64],
    sums: Statistics,
) -> None:
    """Add ``share`` of the document's expected tokens per level; if ``final``, to ``sums`` too."""
    table, slots = given.e_table, given.slots
    depth = len(e_theta)
    weights = np.empty(depth)
    for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
        word = cells.word[pair]
        row = table[word]
        total = 0.0
        for level in range(depth):
            node = slots.path[slot, level]
            weights[level] = e_theta[level] * (row[node] if node >= 0 else slots.outside)
            total += weights[level]
        scale = share * cells.tokens[pair] / total
        for level in range(depth):
            amount = scale * weights[level]
            tokens[level] += amount
            if final:
                column = sums.columns[slot, level]
                if column >= 0:
                    sums.words[word, column] += amount
                if slots.path[slot, level] < 0:
                    sums.outside[0] += amount
