"""Expected tables, how parents share them, and weights of groups (theory/chdp 5.3, 5.4).

Under maximization with its normaliser q(pi_a) = Dir(kappa_a) climbs a gradient (section 5.4).
For a group with tables s, prior p = alpha_a E[pi_0] and means mu = kappa / kappa_., given the other
groups, its part of the surrogate is

    F = sum_k (p_k + s_k - kappa_k)(psi(kappa_k) - psi(kappa_.)) - ln Gamma(kappa_.)
        + sum_k ln Gamma(kappa_k) - sum_d (w_d / zeta_d) sum_k max(mu_k, other_dk)

over its documents d, with w_d their tables, other_dk the largest mean of its co-parents and zeta_d
the normaliser where the ascent begins: -ln Z >= -ln zeta - (Z - zeta) / zeta.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, Floats
from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.special import digamma, log

RARE = 1e-4
VANISHED = 1e-300


@kernel()
def prior_rows(parents: Parents, weights: Weights, alpha_doc: float, rows: Floats) -> None:
    """Write alpha_doc times the base of each document to ``rows`` [n_docs, T]."""
    base = np.empty(rows.shape[1])
    for doc in range(len(rows)):
        base_row(doc, parents, weights, base)
        for topic in range(len(base)):
            rows[doc, topic] = alpha_doc * base[topic]


@kernel()
def document_tables(n_dk: Floats, prior: Floats, m_dk: Floats) -> None:
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
    parents: Parents, weights: Weights, m_dk: Floats, evenly: bool, link_tables: Floats
) -> None:
    """Write each parent's part of a document's tables to ``link_tables`` [n_links, T].

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
def gather_tables(parents: Parents, link_tables: Floats, group_tables: F64) -> None:
    """Overwrite ``group_tables`` [n_groups, T] by the sums over the links of each group."""
    for group in range(len(group_tables)):
        group_tables[group] = 0.0
        for place in range(parents.group_ptr[group], parents.group_ptr[group + 1]):
            group_tables[group] += link_tables[parents.link[place]]


@kernel()
def group_moments(
    parents: Parents, link_tables: Floats, m_dk: Floats, seen_dk: Floats, variance: F64, seen: F64
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


@kernel(fastmath=REASSOCIATE)
def entropy(resp: Floats, tokens: Floats) -> float:
    """Return the sum over pairs of -tokens sum_k q log q; resp [n_pairs, T], tokens [n_pairs]."""
    total = 0.0
    for pair in range(len(resp)):
        part = 0.0
        for topic in range(resp.shape[1]):
            share = float(resp[pair, topic])
            part -= share * log(max(share, VANISHED))
        total += tokens[pair] * part
    return total


STEPS = 5
HALVINGS = 12
FIRST_STEP = 0.5
"""The largest first change of a log kappa; it is halved until F grows."""

SMALLEST = 1e-8


@kernel()
def serve_by_best(
    parents: Parents, kappa: F64, evenly: bool, m_dk: Floats, link_tables: Floats
) -> None:
    """Give a document's tables with a topic to the parent of the largest E[log pi_ak].

    link_tables [n_links, T] is overwritten. ``evenly``: the parents get equal parts.
    """
    logs = np.empty(kappa.shape)
    for group in range(len(kappa)):
        whole = digamma(kappa[group].sum())
        for topic in range(kappa.shape[1]):
            logs[group, topic] = digamma(kappa[group, topic]) - whole
    for doc in range(len(m_dk)):
        first, last = parents.ptr[doc], parents.ptr[doc + 1]
        for topic in range(m_dk.shape[1]):
            best = first
            for link in range(first, last):
                link_tables[link, topic] = m_dk[doc, topic] / (last - first) if evenly else 0.0
                if logs[parents.group[link], topic] > logs[parents.group[best], topic]:
                    best = link
            if first < last and not evenly:
                link_tables[best, topic] = m_dk[doc, topic]


@kernel()
def ascend(parents: Parents, tables: F64, prior: F64, doc_tables: F64, kappa: F64) -> None:
    """Move kappa [n_groups, T] uphill, group by group, from where it is or from prior + tables.

    tables [n_groups, T]: what each group serves; prior [T]; doc_tables [n_docs].
    """
    n_topics = kappa.shape[1]
    means = np.empty(kappa.shape)
    for group in range(len(kappa)):
        means[group] = kappa[group] / kappa[group].sum()
    gradient, trial = np.empty(n_topics), np.empty(n_topics)
    for group in range(len(kappa)):
        first, last = parents.group_ptr[group], parents.group_ptr[group + 1]
        others = np.zeros((last - first, n_topics))
        pull = np.empty(last - first)
        for place in range(first, last):
            doc = parents.doc[place]
            rivals(parents, doc, group, means, others[place - first])
            total = np.maximum(means[group], others[place - first]).sum()
            pull[place - first] = doc_tables[doc] / total
        target, own = prior + tables[group], kappa[group]
        if surrogate(target, pull, others, target) > surrogate(target, pull, others, own):
            own[:] = target
        climb(target, pull, others, own, gradient, trial)
        means[group] = own / own.sum()


@kernel()
def rivals(parents: Parents, doc: int, group: int, means: F64, largest: F64) -> None:
    """Raise ``largest`` [T] to the means of a document's other parents."""
    for link in range(parents.ptr[doc], parents.ptr[doc + 1]):
        rival = parents.group[link]
        if rival != group:
            for topic in range(len(largest)):
                largest[topic] = max(largest[topic], means[rival, topic])


@kernel()
def climb(target: F64, pull: F64, others: F64, kappa: F64, gradient: F64, trial: F64) -> None:
    """Take a few steps on log kappa [T], each halved until F grows; gradient, trial: scratch."""
    value = surrogate(target, pull, others, kappa)
    for _ in range(STEPS):
        slope(target, pull, others, kappa, gradient)
        gradient *= kappa
        steepest = np.abs(gradient).max()
        if steepest <= 0.0:
            return
        step, better = FIRST_STEP / steepest, False
        for _ in range(HALVINGS):
            for topic in range(len(kappa)):
                trial[topic] = max(kappa[topic] * math.exp(step * gradient[topic]), SMALLEST)
            found = surrogate(target, pull, others, trial)
            if found > value:
                value, better = found, True
                kappa[:] = trial
                break
            step *= 0.5
        if not better:
            return


@kernel()
def surrogate(target: F64, pull: F64, others: F64, kappa: F64) -> float:
    """Return F of one group: target [T] = p + s; pull [n] = w / zeta; others [n, T]; kappa [T]."""
    whole = kappa.sum()
    value, psi_whole = -math.lgamma(whole), digamma(whole)
    for topic in range(len(kappa)):
        log_mean = digamma(kappa[topic]) - psi_whole
        value += (target[topic] - kappa[topic]) * log_mean + math.lgamma(kappa[topic])
        mean = kappa[topic] / whole
        for place in range(len(pull)):
            value -= pull[place] * max(mean, others[place, topic])
    return value


@kernel()
def slope(target: F64, pull: F64, others: F64, kappa: F64, gradient: F64) -> None:
    """Write the derivatives of F by kappa to ``gradient`` [T]."""
    whole, left, drag = kappa.sum(), 0.0, 0.0
    for topic in range(len(kappa)):
        mean, weight = kappa[topic] / whole, 0.0
        for place in range(len(pull)):
            if mean > others[place, topic]:
                weight += pull[place]
        left += target[topic] - kappa[topic]
        drag += weight * mean
        gradient[topic] = -weight / whole
        gradient[topic] += (target[topic] - kappa[topic]) * trigamma(kappa[topic])
    common = drag / whole - left * trigamma(whole)
    for topic in range(len(kappa)):
        gradient[topic] += common


@kernel()
def trigamma(x: float) -> float:
    """Return psi'(x) for x > 0: recurrence up to 10, then the asymptotic series."""
    shift = 0.0
    while x < 10.0:
        shift += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1.0 / 6 - inverse * (1.0 / 30 - inverse * (1.0 / 42 - inverse / 30)))
    return shift + 1.0 / x + 0.5 * inverse + series / x
