"""Local steps where levels depend on the path (theory/ncrp 2.5 B); new documents (section 6).

The chances of a document's words on the few paths that matter to it are brought together once,
pairs contiguous; the rounds of a local step then are short loops over them.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I32, Floats
from hiertopics.families.ncrp.variational.slot_kernels import (
    DocumentPairs,
    Schedule,
    SlotGlobals,
    SlotScratch,
    Statistics,
    level_chances,
    levels_gap,
    normalise,
    weigh_slots,
)
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import copy_row, log


@kernel()
def gather_chances(
    cells: DocumentPairs, doc: int, given: SlotGlobals, active: I32, chance: Floats, count: Floats
) -> None:
    """Write exp E log phi of a document's words on the active paths [n_active, depth, n_pairs]
    and their ``count`` [n_pairs].
    """
    table, path = given.e_table, given.slots.path
    first = cells.ptr[doc]
    for pair in range(len(count)):
        row = table[cells.word[first + pair]]
        count[pair] = cells.tokens[first + pair]
        for place in range(len(active)):
            for level in range(path.shape[1]):
                node = path[active[place], level]
                chance[place, level, pair] = row[node] if node >= 0 else given.slots.outside


@kernel()
def gather_scaled(
    cells: DocumentPairs, doc: int, given: SlotGlobals, active: I32, chance: Floats, count: Floats
) -> None:
    """Do as ``gather_chances`` does, each word's chances over exp(``SlotGlobals.log_scale``).

    It reads the rows that have just been read to weigh all slots.
    """
    first = cells.ptr[doc]
    for pair in range(len(count)):
        word = cells.word[first + pair]
        rows, at_root = given.by_slot[word], given.at_root[word]
        count[pair] = cells.tokens[first + pair]
        for place in range(len(active)):
            chance[place, 0, pair] = at_root
            for level in range(len(rows)):
                chance[place, level + 1, pair] = rows[level, active[place]]


@kernel(fastmath=REASSOCIATE)
def levels_of_slot(
    chance: Floats, count: Floats, e_theta: Floats, total: Floats, scale: Floats, tokens: F64
) -> None:
    """Write each pair's chance on one path to ``total`` and count / total to ``scale`` [n_pairs],
    and the expected tokens of each level to ``tokens``; chance [depth, n_pairs].
    """
    n_pairs = len(count)
    for pair in range(n_pairs):
        total[pair] = e_theta[0] * chance[0, pair]
    for level in range(1, len(e_theta)):
        for pair in range(n_pairs):
            total[pair] += e_theta[level] * chance[level, pair]
    for pair in range(n_pairs):
        scale[pair] = count[pair] / total[pair]
    for level in range(len(e_theta)):
        weight = 0.0
        for pair in range(n_pairs):
            weight += scale[pair] * chance[level, pair]
        tokens[level] = e_theta[level] * weight


@kernel(fastmath=REASSOCIATE)
def log_chance(count: Floats, total: Floats) -> float:
    """Return the sum over pairs of count * log(total); rows: [n_pairs]."""
    value = 0.0
    for pair in range(len(count)):
        value += count[pair] * log(float(total[pair]))
    return value


@kernel()
def add_words(
    cells: DocumentPairs,
    doc: int,
    given: SlotGlobals,
    slot: int,
    share: float,
    chance: Floats,
    scale: Floats,
    e_theta: Floats,
    sums: Statistics,
) -> None:
    """Add ``share`` of a document's expected tokens in one slot to ``sums``.

    chance [depth, n_pairs] and scale [n_pairs]: see ``levels_of_slot``.
    """
    first, words = cells.ptr[doc], sums.words
    for level in range(len(e_theta)):
        weight, column = words.dtype.type(share * e_theta[level]), sums.columns[slot, level]
        if column >= 0:
            for pair in range(len(scale)):
                amount = weight * scale[pair] * chance[level, pair]
                words[cells.word[first + pair], column] += amount
        if given.slots.path[slot, level] < 0:
            for pair in range(len(scale)):
                sums.outside[0] += weight * scale[pair] * chance[level, pair]


SETTLED = 1e-3
"""Tokens: local rounds end when no level of a document moves by more."""


@kernel()
def structured_step(
    cells: DocumentPairs,
    first: int,
    last: int,
    tau: F64,
    given: SlotGlobals,
    schedule: Schedule,
    scratch: SlotScratch,
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
    cells: DocumentPairs,
    first: int,
    last: int,
    tau: F64,
    given: SlotGlobals,
    schedule: Schedule,
    candidates: I32,
    shares: F64,
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
def _listed(candidates: I32) -> I32:
    """Return one document's candidates without what pads them."""
    n_listed = 0
    while n_listed < len(candidates) and candidates[n_listed] >= 0:
        n_listed += 1
    return candidates[:n_listed]


@kernel()
def restricted_bounds(
    cells: DocumentPairs, tau: F64, given: SlotGlobals, candidates: I32, bounds: F64
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
    cells: DocumentPairs,
    first: int,
    last: int,
    tau: F64,
    given: SlotGlobals,
    scratch: SlotScratch,
    chances: F64,
) -> None:
    """Write chances of slots [last - first, n_nodes] of documents ``first .. last``.

    Under their tau, option B.
    """
    log_weights = np.empty(chances.shape[1])
    for doc in range(first, last):
        weigh_slots(cells, doc, tau[doc], given, scratch, log_weights, chances[doc - first])


@kernel()
def log_normaliser(
    cells: DocumentPairs, first: int, last: int, tau: F64, given: SlotGlobals, scratch: SlotScratch
) -> float:
    """Return the sum of log normalisers of documents ``first .. last`` under their tau.

    tau: float64 [n_docs, n_levels].
    """
    log_weights, chances = np.empty((2, len(given.slots.path)))
    total = 0.0
    for doc in range(first, last):
        total += weigh_slots(cells, doc, tau[doc], given, scratch, log_weights, chances)
    return total


@kernel()
def _local_rounds(
    cells: DocumentPairs,
    doc: int,
    tau: F64,
    given: SlotGlobals,
    schedule: Schedule,
    active: I32,
    mass: float,
    scored: bool,
    chances: F64,
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
    # Chances of words at the nodes of each active slot are gathered once; rounds change the level
    # weights alone.
    if scored:
        gather_scaled(cells, doc, given, active, chance, count)
    else:
        gather_chances(cells, doc, given, active, chance, count)
    e_log_theta, e_theta = np.empty(depth), np.empty(depth, kind)
    total, scale = np.empty(n_pairs, kind), np.empty((n_active, n_pairs), kind)
    scores, tokens = np.empty(n_active), np.empty((n_active, depth))
    for turn in range(schedule.rounds):
        level_chances(tau, e_log_theta, e_theta)
        # A single slot takes the whole mass, and freshly weighed slots keep their chances in the
        # first round.
        weigh = n_active > 1 and (turn > 0 or not scored)
        for place in range(n_active):
            levels_of_slot(chance[place], count, e_theta, total, scale[place], tokens[place])
            if weigh:
                scores[place] = given.slots.log_mass[active[place]] + log_chance(count, total)
        if weigh:
            _share(scores, active, mass, chances)
        elif n_active == 1:
            chances[active[0]] = mass
        # tau is refitted after the chances, by the tokens that each slot gives to its levels.
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
def _share(scores: F64, active: I32, mass: float, chances: F64) -> None:
    """Share ``mass`` among the active slots by their scores [n_active]."""
    largest, total = scores[0], 0.0
    for place in range(1, len(active)):
        largest = max(largest, scores[place])
    for place in range(len(active)):
        scores[place] = math.exp(scores[place] - largest)
        total += scores[place]
    for place in range(len(active)):
        chances[active[place]] = scores[place] * mass / total


NEGLIGIBLE = 1e-8


@kernel()
def infer_structured(
    cells: DocumentPairs,
    doc: int,
    given: SlotGlobals,
    scratch: SlotScratch,
    tau: F64,
    n_rounds: int,
    tolerance: float,
    chances: F64,
    weights: F64,
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
    cells: DocumentPairs,
    doc: int,
    given: SlotGlobals,
    slot: int,
    tau: F64,
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
    cells: DocumentPairs,
    doc: int,
    e_theta: Floats,
    given: SlotGlobals,
    slot: int,
    share: float,
    tokens: F64,
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
def _add(left: F64, right: F64, total: F64) -> None:
    for level in range(len(total)):
        total[level] = left[level] + right[level]


@kernel()
def _scale(amounts: F64, shares: F64) -> None:
    """Write the amounts over their sum to ``shares``."""
    total = 0.0
    for amount in amounts:
        total += amount
    for level in range(len(amounts)):
        shares[level] = amounts[level] / total
