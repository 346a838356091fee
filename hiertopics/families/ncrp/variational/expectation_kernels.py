"""Tables of exp E log phi for local steps, word by word (theory/ncrp 2.4, 8)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, Floats
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import copy_row, exp, log


@kernel(fastmath=REASSOCIATE)
def expect_words(lam: Floats, log_total: F64, e_table: Floats, log_table: Floats) -> None:
    """Write exp E log phi, and E log phi unless its table has no rows (theory/ncrp 2.4).

    log_total [n_nodes]: psi of each topic's total.
    """
    n_nodes = len(log_total)
    logs = np.empty(n_nodes)
    for word in range(len(lam)):
        for node in range(n_nodes):
            logs[node] = _digamma(float(lam[word, node])) - log_total[node]
        if len(log_table):
            copy_row(logs, log_table[word])
        for node in range(n_nodes):
            e_table[word, node] = math.exp(logs[node])


@kernel(fastmath=REASSOCIATE)
def expect_words_fast(lam: F32, scale: F32, e_table: F32) -> None:
    """Write exp E log phi in single precision throughout, to about 2e-6 of each entry.

    scale [n_nodes]: exp of minus psi of each topic's total.
    """
    n_nodes = len(scale)
    for word in range(len(lam)):
        row, found = lam[word], e_table[word]
        for node in range(n_nodes):
            found[node] = _exp_digamma(row[node]) * scale[node]


@kernel(inline=True)
def _exp_digamma(x: Any) -> Any:
    """Return exp(psi(x)) of a float32 from 0.02 to 1e9, without branch or call.

    psi(x) = psi(x + 4) - 1/x - ... - 1/(x + 3), the four fractions over one denominator, and the
    series of exp psi(y + 1/2) = y + 1/(24 y) - ... in y = x + 3.5.
    """
    one, two, three = np.float32(1.0), np.float32(2.0), np.float32(3.0)
    outer = x * (x + three)
    fractions = (two * x + three) * (two * outer + two) / (outer * (outer + two))
    y = x + np.float32(3.5)
    inverse = one / y
    square = inverse * inverse
    series = np.float32(10313 / 2903040) - square * np.float32(5509121 / 1393459200)
    series = np.float32(1 / 24) - square * (np.float32(37 / 5760) - square * series)
    return (y + inverse * series) * exp(-fractions)


@kernel(inline=True)
def _digamma(x: float) -> float:
    """Return psi(x), x > 0, without branch or call (error < 1e-11)."""
    first = 1.0 / x + 1.0 / (x + 1.0) + 1.0 / (x + 2.0)
    first += 1.0 / (x + 3.0) + 1.0 / (x + 4.0) + 1.0 / (x + 5.0)
    y = x + 6.0
    inverse = 1.0 / y
    square = inverse * inverse
    series = 1.0 / 240 - square * (1.0 / 132 - square * 691.0 / 32760)
    series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * series)))
    return log(y) - 0.5 * inverse - series - first


@kernel(fastmath=REASSOCIATE)
def spread_by_slot(
    e_table: Floats, parents: I32, outside: float, by_slot: Floats, at_root: Floats, log_scale: F64
) -> None:
    """Write ``SlotGlobals.by_slot``, ``at_root`` and ``log_scale`` of a table of topics.

    parents [depth - 1, n_nodes]: the node of each slot's path at each level below the root, and
    n_nodes where that is outside the tree.
    """
    n_nodes = e_table.shape[1]
    row = np.empty(n_nodes + 1, e_table.dtype)
    for word in range(len(e_table)):
        largest = e_table.dtype.type(outside)
        for node in range(n_nodes):
            largest = max(largest, e_table[word, node])
        inverse = e_table.dtype.type(1.0) / largest
        for node in range(n_nodes):
            row[node] = e_table[word, node] * inverse
        row[n_nodes] = outside * inverse
        at_root[word] = row[0]
        log_scale[word] = math.log(largest)
        for level in range(len(parents)):
            for slot in range(n_nodes):
                by_slot[word, level, slot] = row[parents[level, slot]]
