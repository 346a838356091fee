"""Topic weights of corpus and groups in logs, where none underflows (theory/chdp 4.1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.numeric.jit import kernel

SMALLEST = 1e-6
"""Floor of alpha_group pi_0k wherever it stands (theory/chdp 4)."""


@kernel()
def log_weights(sticks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log pi_0 [T] of logit sticks [T - 1]."""
    log_pi = np.empty(len(sticks) + 1)
    rest = 0.0
    for place in range(len(sticks)):
        log_pi[place] = rest + log_sigmoid(sticks[place])
        rest += log_sigmoid(-sticks[place])
    log_pi[-1] = rest
    return log_pi


@kernel()
def log_sigmoid(x: float) -> float:
    """Return -log(1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@kernel()
def draw_log_gamma(shape: float, rng: np.random.Generator) -> float:
    """Return the log of a Gamma(shape, 1) number, also where the number itself underflows."""
    if shape >= 1.0:
        return math.log(rng.standard_gamma(shape))
    boosted = math.log(rng.standard_gamma(shape + 1.0))
    return boosted + math.log(1.0 - rng.random()) / shape


@kernel()
def draw_group_weights(
    n_group_tables: NDArray[np.int32],
    prior: NDArray[np.float64],
    log_pi: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Overwrite each row of ``log_pi`` [n_groups, T] by the log of a Dir(prior + tables) draw."""
    for group in range(log_pi.shape[0]):
        row = log_pi[group]
        for topic in range(len(row)):
            row[topic] = draw_log_gamma(prior[topic] + n_group_tables[group, topic], rng)
        normalise(row)


@kernel()
def normalise(log_row: NDArray[np.float64]) -> None:
    """Subtract the log of the sum of exponentials from a row, in place."""
    largest = log_row.max()
    total = 0.0
    for value in log_row:
        total += math.exp(value - largest)
    log_row -= largest + math.log(total)


@kernel()
def draw_sticks(
    counts: NDArray[np.int64], gamma: float, sticks: NDArray[np.float64], rng: np.random.Generator
) -> None:
    """Overwrite the logit sticks [T - 1] by draws of Beta(1 + counts, gamma + tail)."""
    after = counts.sum()
    for place in range(len(sticks)):
        after -= counts[place]
        taken = draw_log_gamma(1.0 + counts[place], rng)
        sticks[place] = taken - draw_log_gamma(gamma + after, rng)
