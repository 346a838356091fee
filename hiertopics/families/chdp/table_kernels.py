"""Tables, their split over parents, and options (theory/chdp 4.1, 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.token_kernels import draw_n_tables
from hiertopics.numeric.jit import kernel


@kernel()
def seat_tokens(
    n_dk: NDArray[np.int32],
    alpha_doc: float,
    parents: Parents,
    weights: Weights,
    m_dk: NDArray[np.int32],
    totals: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Draw the tables m_dk [n_docs, T] of all documents; write their Z to ``totals`` [n_docs]."""
    base = np.empty(n_dk.shape[1])
    for doc in range(len(n_dk)):
        totals[doc] = base_row(doc, parents, weights, base)
        for topic in range(len(base)):
            m_dk[doc, topic] = draw_n_tables(n_dk[doc, topic], alpha_doc * base[topic], rng)


@kernel()
def count_tables(counts: NDArray[np.int32], x: float, rng: np.random.Generator) -> int:
    """Return the tables that all cells of ``counts`` make under one concentration x."""
    n_tables = 0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            n_tables += draw_n_tables(counts[row, column], x, rng)
    return n_tables


@kernel()
def split_tables(
    m_dk: NDArray[np.int32],
    parents: Parents,
    weights: Weights,
    n_group_tables: NDArray[np.int32],
    by_link: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Give each table to a parent in proportion to lambda_da pi_ak; add up what each has.

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
def draw_options(
    n_group_tables: NDArray[np.int32],
    prior: NDArray[np.float64],
    by_topic: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Add the options that the tables of each group make to ``by_topic`` [T].

    prior [T]: alpha_group pi_0, floored.
    """
    for group in range(n_group_tables.shape[0]):
        for topic in range(n_group_tables.shape[1]):
            by_topic[topic] += draw_n_tables(n_group_tables[group, topic], prior[topic], rng)
