"""Local steps of the mean-field family, in which levels and path are apart (theory/ncrp 2.5 A)."""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.families.ncrp.variational.slot_kernels import (
    DocumentPairs,
    Schedule,
    SlotGlobals,
    Slots,
    Statistics,
    level_terms,
    normalise,
)
from hiertopics.numeric.jit import kernel


@kernel()
def meanfield_step(
    cells: DocumentPairs,
    first: int,
    last: int,
    tau: F64,
    chances: F64,
    given: SlotGlobals,
    schedule: Schedule,
    sums: Statistics,
) -> float:
    """Refit q(level), tau and q(path) = ``chances`` [n_docs, n_nodes] in turn (option A).

    Without rounds nothing is refitted. Returns the sum over documents of E_c + E_w + E_z at the q
    and tau that came in, q(level) at its best.
    """
    slots = given.slots
    n_nodes, depth = slots.path.shape
    passing, scores = np.empty(n_nodes), np.empty(n_nodes)
    e_log_theta, tokens, covered = np.empty(depth), np.empty(depth), np.empty(depth)
    bound = 0.0
    for doc in range(first, last):
        resp = np.empty((cells.ptr[doc + 1] - cells.ptr[doc], depth))
        for turn in range(max(schedule.rounds, 1)):
            pass_through(slots, chances[doc], passing, covered)
            level_terms(tau[doc], e_log_theta)
            value = _levels_of_words(
                cells, doc, e_log_theta, passing, covered, given, schedule.rare, resp, tokens
            )
            if turn == 0:
                bound += value + _log_mass_gap(slots.log_mass, chances[doc])
            if schedule.rounds > 0:
                for level in range(depth):
                    tau[doc, level] = given.level_prior[level] + tokens[level]
                _meanfield_scores(cells, doc, resp, tokens, given, scores)
                normalise(scores, chances[doc])
        if schedule.rounds > 0:
            pass_through(slots, chances[doc], passing, covered)
            _add_meanfield(cells, doc, resp, passing, covered, slots.bounds, schedule.rare, sums)
        for slot in range(n_nodes):
            sums.slot[slot] += chances[doc, slot]
    return bound


@kernel()
def pass_through(slots: Slots, chances: F64, passing: F64, covered: F64) -> None:
    """Write Q [n_nodes], the chance to pass each node, and its sum over each level [depth]."""
    passing[:] = chances
    for node in range(len(passing) - 1, 0, -1):
        passing[slots.parent[node]] += passing[node]
    for level in range(len(covered)):
        covered[level] = passing[slots.bounds[level] : slots.bounds[level + 1]].sum()


@kernel()
def _levels_of_words(
    cells: DocumentPairs,
    doc: int,
    e_log_theta: F64,
    passing: F64,
    covered: F64,
    given: SlotGlobals,
    rare: float,
    resp: F64,
    tokens: F64,
) -> float:
    """Write q(level) of each pair to ``resp`` and its tokens per level to ``tokens``.

    Source: theory/ncrp 3.2 A.

    Returns the sum of count * log normaliser.
    """
    table, bounds = given.log_table, given.slots.bounds
    depth = len(e_log_theta)
    log_weights = np.empty(depth)
    value = 0.0
    tokens[:] = 0.0
    for pair in range(len(resp)):
        row = table[cells.word[cells.ptr[doc] + pair]]
        count = cells.tokens[cells.ptr[doc] + pair]
        for level in range(depth):
            log_weights[level] = e_log_theta[level] + (1.0 - covered[level]) * given.e0
            for node in range(bounds[level], bounds[level + 1]):
                if passing[node] > rare:
                    log_weights[level] += passing[node] * row[node]
        value += count * normalise(log_weights, resp[pair])
        for level in range(depth):
            tokens[level] += count * resp[pair, level]
    return value


@kernel()
def _meanfield_scores(
    cells: DocumentPairs, doc: int, resp: F64, tokens: F64, given: SlotGlobals, scores: F64
) -> None:
    """Write LM plus the linear score of each slot (theory/ncrp 2.5 A)."""
    slots = given.slots
    scores[:] = 0.0
    for pair in range(len(resp)):
        row = given.log_table[cells.word[cells.ptr[doc] + pair]]
        count = cells.tokens[cells.ptr[doc] + pair]
        for level in range(len(tokens)):
            amount = count * resp[pair, level]
            for node in range(slots.bounds[level], slots.bounds[level + 1]):
                scores[node] += amount * row[node]
    for node in range(1, len(scores)):
        scores[node] += scores[slots.parent[node]]
    below = 0.0
    for level in range(len(tokens) - 1, -1, -1):
        for node in range(slots.bounds[level], slots.bounds[level + 1]):
            scores[node] += below + slots.log_mass[node]
        below += given.e0 * tokens[level]


@kernel()
def _log_mass_gap(log_mass: F64, chances: F64) -> float:
    """Return E_c of one document: the sum of q (LM - log q)."""
    value = 0.0
    for slot in range(len(chances)):
        if chances[slot] > 0.0:
            value += chances[slot] * (log_mass[slot] - math.log(chances[slot]))
    return value


@kernel()
def _add_meanfield(
    cells: DocumentPairs,
    doc: int,
    resp: F64,
    passing: F64,
    covered: F64,
    bounds: I64,
    rare: float,
    sums: Statistics,
) -> None:
    for pair in range(len(resp)):
        word = cells.word[cells.ptr[doc] + pair]
        count = cells.tokens[cells.ptr[doc] + pair]
        for level in range(len(covered)):
            amount = count * resp[pair, level]
            sums.outside[0] += amount * (1.0 - covered[level])
            for node in range(bounds[level], bounds[level + 1]):
                if passing[node] > rare:
                    sums.words[word, node] += amount * passing[node]
