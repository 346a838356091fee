"""Expected tables of documents, and how their parents share them (theory/chdp 5.3, 5.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import digamma

RARE = 1e-4
VANISHED = 1e-300


@kernel()
def prior_rows(
    parents: Parents, weights: Weights, alpha_doc: float, rows: NDArray[np.floating]
) -> None:
    """Write alpha_doc times the base of each document to ``rows`` [n_docs, T]."""
    base = np.empty(rows.shape[1])
    for doc in range(len(rows)):
        base_row(doc, parents, weights, base)
        for topic in range(len(base)):
            rows[doc, topic] = alpha_doc * base[topic]


@kernel()
def document_tables(
    n_dk: NDArray[np.floating], prior: NDArray[np.floating], m_dk: NDArray[np.floating]
) -> None:
    """Turn ``m_dk`` [n_docs, T], chances that n_dk > 0, into expected tables, in place.

    prior [n_docs, T]: the concentration x of each cell. Tables are x (psi(x + n) - psi(x)) at the
    mean n of a positive count, times its chance; one where more than one token is rare.
    """
    for doc in range(len(n_dk)):
        for topic in range(n_dk.shape[1]):
            chance, x = float(m_dk[doc, topic]), float(prior[doc, topic])
            if chance > RARE and x > VANISHED:
                count = max(n_dk[doc, topic] / chance, 1.0)
                m_dk[doc, topic] = chance * x * (digamma(x + count) - digamma(x))


@kernel()
def split_tables(
    parents: Parents,
    weights: Weights,
    m_dk: NDArray[np.floating],
    evenly: bool,
    link_tables: NDArray[np.floating],
) -> None:
    """Write to ``link_tables`` [n_links, T] what each parent serves of a document's tables.

    Superposition: in proportion to lambda_da pi_ak. Maximization: all of them times pi_ak over the
    largest pi_ak. A parent that ties with the largest explains them all by itself; were they split,
    what parents have in common would look weak in each. ``evenly``: by the shares alone.
    """
    for doc in range(len(m_dk)):
        first, last = parents.ptr[doc], parents.ptr[doc + 1]
        if last == first + 1:
            link_tables[first] = m_dk[doc]
            continue
        for topic in range(m_dk.shape[1]):
            total, largest = VANISHED, VANISHED
            for link in range(first, last):
                own = weights.group[parents.group[link], topic]
                total += weights.share[link] * own
                largest = max(largest, own)
            for link in range(first, last):
                own = weights.group[parents.group[link], topic]
                if evenly:
                    part = weights.share[link]
                elif weights.maximization:
                    part = own / largest
                else:
                    part = weights.share[link] * own / total
                link_tables[link, topic] = part * m_dk[doc, topic]


@kernel()
def gather_tables(
    parents: Parents, link_tables: NDArray[np.floating], group_tables: NDArray[np.float64]
) -> None:
    """Overwrite ``group_tables`` [n_groups, T] by the sums over the links of each group."""
    for group in range(len(group_tables)):
        group_tables[group] = 0.0
        for place in range(parents.group_ptr[group], parents.group_ptr[group + 1]):
            group_tables[group] += link_tables[parents.link[place]]


@kernel()
def group_moments(
    parents: Parents,
    link_tables: NDArray[np.floating],
    m_dk: NDArray[np.floating],
    seen_dk: NDArray[np.floating],
    variance: NDArray[np.float64],
    seen: NDArray[np.float64],
) -> None:
    """Add up the variance of a group's tables and the chance that it has any; both begin at 0.

    A document has tables with a topic with chance seen_dk [n_docs, T], then m_dk / seen_dk of
    them, each of which goes to a parent by itself.
    """
    for group in range(len(seen)):
        for place in range(parents.group_ptr[group], parents.group_ptr[group + 1]):
            link, doc = parents.link[place], parents.doc[place]
            for topic in range(seen.shape[1]):
                chance = float(seen_dk[doc, topic])
                if chance <= 0.0 or m_dk[doc, topic] <= 0.0:
                    continue
                part = min(link_tables[link, topic] / m_dk[doc, topic], 1.0)
                n_tables = max(m_dk[doc, topic] / chance, 1.0)
                mean = n_tables * part
                square = chance * (mean * (1.0 - part) + mean * mean)
                variance[group, topic] += square - (chance * mean) ** 2
                served = chance * (1.0 - (1.0 - part) ** n_tables)
                seen[group, topic] += (1.0 - seen[group, topic]) * served
