"""Loops of the Gibbs sampler of the cooperative HDP (theory/chdp 4.1, 4.2 and 7).

Tables, their split over parents, options; topic weights in logs, where none underflows.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.token_kernels import draw_n_tables
from hiertopics.numeric.jit import kernel


@kernel()
def seat_tokens(
    n_dk: I32,
    alpha_doc: float,
    parents: Parents,
    weights: Weights,
    m_dk: I32,
    totals: F64,
    rng: np.random.Generator,
) -> None:
    """Draw the tables m_dk [n_docs, T] of all documents; write their Z to ``totals`` [n_docs]."""
    base = np.empty(n_dk.shape[1])
    for doc in range(len(n_dk)):
        totals[doc] = base_row(doc, parents, weights, base)
        for topic in range(len(base)):
            m_dk[doc, topic] = draw_n_tables(n_dk[doc, topic], alpha_doc * base[topic], rng)


@kernel()
def split_tables(
    m_dk: I32,
    parents: Parents,
    weights: Weights,
    n_group_tables: I32,
    by_link: I64,
    rng: np.random.Generator,
) -> None:
    """Give each table to a parent in proportion to lambda_da pi_ak; add up tables by parent.

    n_group_tables [n_groups, T] and by_link [n_links] are added to; tables of documents without
    parents go nowhere.
    """
    for doc in range(len(m_dk)):
        first, last = parents.ptr[doc], parents.ptr[doc + 1]
        if first == last:
            continue
        for topic in range(m_dk.shape[1]):
            if m_dk[doc, topic] == 0:
                continue
            total = 0.0
            for link in range(first, last):
                total += weights.share[link] * weights.group[parents.group[link], topic]
            for _ in range(m_dk[doc, topic]):
                target = rng.random() * total
                chosen = first
                while chosen < last - 1:
                    target -= weights.share[chosen] * weights.group[parents.group[chosen], topic]
                    if target < 0.0:
                        break
                    chosen += 1
                n_group_tables[parents.group[chosen], topic] += 1
                by_link[chosen] += 1


@kernel()
def draw_options(n_group_tables: I32, prior: F64, by_topic: I64, rng: np.random.Generator) -> None:
    """Add the options that the tables of each group make to ``by_topic`` [T].

    prior [T]: alpha_group pi_0, floored.
    """
    for group in range(n_group_tables.shape[0]):
        for topic in range(n_group_tables.shape[1]):
            by_topic[topic] += draw_n_tables(n_group_tables[group, topic], prior[topic], rng)


SMALLEST = 1e-6
"""Floor of alpha_group pi_0k wherever it stands (theory/chdp 4)."""


@kernel()
def log_weights(sticks: F64) -> F64:
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
    n_group_tables: I32, prior: F64, log_pi: F64, rng: np.random.Generator
) -> None:
    """Overwrite each row of ``log_pi`` [n_groups, T] by the log of a Dir(prior + tables) draw."""
    for group in range(log_pi.shape[0]):
        row = log_pi[group]
        for topic in range(len(row)):
            row[topic] = draw_log_gamma(prior[topic] + n_group_tables[group, topic], rng)
        normalise(row)


@kernel()
def normalise(log_row: F64) -> None:
    """Subtract the log of the sum of exponentials from a row, float64 [n], in place."""
    largest = log_row.max()
    total = 0.0
    for value in log_row:
        total += math.exp(value - largest)
    log_row -= largest + math.log(total)


@kernel()
def draw_sticks(counts: I64, gamma: float, sticks: F64, rng: np.random.Generator) -> None:
    """Overwrite the logit sticks [T - 1] by draws of Beta(1 + counts, gamma + tail)."""
    after = counts.sum()
    for place in range(len(sticks)):
        after -= counts[place]
        taken = draw_log_gamma(1.0 + counts[place], rng)
        sticks[place] = taken - draw_log_gamma(gamma + after, rng)
