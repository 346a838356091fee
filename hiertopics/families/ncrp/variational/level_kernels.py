"""Levels of one document's words given its path, for the few paths that matter to it.

The chances of the document's words on these paths are brought together once, pairs contiguous;
the rounds of a local step then are short loops over them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.variational.slot_kernels import Cells, Globals, Statistics
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import log


@kernel()
def gather_chances(
    cells: Cells,
    doc: int,
    given: Globals,
    active: NDArray[np.int32],
    chance: NDArray[np.floating],
    count: NDArray[np.floating],
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
    cells: Cells,
    doc: int,
    given: Globals,
    active: NDArray[np.int32],
    chance: NDArray[np.floating],
    count: NDArray[np.floating],
) -> None:
    """Do as ``gather_chances`` does, each word's chances over exp(``Globals.log_scale``).

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
    chance: NDArray[np.floating],
    count: NDArray[np.floating],
    e_theta: NDArray[np.floating],
    total: NDArray[np.floating],
    scale: NDArray[np.floating],
    tokens: NDArray[np.float64],
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
def log_chance(count: NDArray[np.floating], total: NDArray[np.floating]) -> float:
    """Return the sum over pairs of count * log(total)."""
    value = 0.0
    for pair in range(len(count)):
        value += count[pair] * log(float(total[pair]))
    return value


@kernel()
def add_words(
    cells: Cells,
    doc: int,
    given: Globals,
    slot: int,
    share: float,
    chance: NDArray[np.floating],
    scale: NDArray[np.floating],
    e_theta: NDArray[np.floating],
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
