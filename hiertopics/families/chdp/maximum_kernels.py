"""Slice updates of maximization, where group weights have no conjugate form (theory/chdp 4.3).

Given tables m_dk and auxiliary u_d ~ Gamma(m_d., Z_d), the weights of the groups have density

    prod_a Dir(pi_a; f) prod_dk max_a pi_ak^m_dk exp(-u_d max_a pi_ak),  f = alpha_group pi_0

over the parents a of each document d. Every interval is placed at random around the old value,
its width fixed beforehand, and only shrinks: the logit of a pair of unused topics ranges over
1 / f, and stepping out would never end.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.chdp.gibbs_kernels import SMALLEST, log_sigmoid, log_weights, normalise
from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within

SLICE_OF_LOG_ALPHA = 4.0


@kernel()
def draw_rates(m_dk: I32, totals: F64, rng: np.random.Generator) -> F64:
    """Return u_d ~ Gamma(tables of d, rate Z_d), float64 [n_docs]; 0 for an empty document."""
    rates = np.zeros(len(m_dk))
    for doc in range(len(m_dk)):
        n_tables = m_dk[doc].sum()
        if n_tables > 0:
            rates[doc] = rng.standard_gamma(float(n_tables)) / totals[doc]
    return rates


@kernel()
def slice_groups(
    log_pi: F64, prior: F64, m_dk: I32, rates: F64, parents: Parents, rng: np.random.Generator
) -> None:
    """Update each group's weights [n_groups, T] by slices along pairs of topics.

    T pairs are drawn uniformly and two for each topic that the group's documents use, among
    those: which pairs depends on the tables, held fixed here, and not on the weights.
    """
    n_groups, n_topics = log_pi.shape
    if n_topics < 2:
        return
    used = np.empty(n_topics, np.int64)
    most = 0
    for group in range(n_groups):
        most = max(most, parents.group_ptr[group + 1] - parents.group_ptr[group])
    others = np.empty((most, 2))
    for group in range(n_groups):
        docs = parents.doc[parents.group_ptr[group] : parents.group_ptr[group + 1]]
        n_used = list_used(m_dk, docs, used)
        for _ in range(n_topics):
            one = int(rng.integers(0, n_topics))
            two = int(rng.integers(0, n_topics - 1))
            two += two >= one
            slice_pair(log_pi, group, one, two, prior, m_dk, rates, docs, parents, others, rng)
        for turn in range(2 * n_used if n_used > 1 else 0):
            place = rng.integers(0, n_used - 1)
            place += place >= turn % n_used
            first, second = used[turn % n_used], used[place]
            slice_pair(log_pi, group, first, second, prior, m_dk, rates, docs, parents, others, rng)
        normalise(log_pi[group])


@kernel()
def list_used(m_dk: I32, docs: I32, used: I64) -> int:
    """Write the topics with a table in one of ``docs`` to ``used``; return how many there are."""
    n_used = 0
    for topic in range(m_dk.shape[1]):
        for doc in docs:
            if m_dk[doc, topic] > 0:
                used[n_used] = topic
                n_used += 1
                break
    return n_used


@kernel()
def slice_pair(
    log_pi: F64,
    group: int,
    one: int,
    two: int,
    prior: F64,
    m_dk: I32,
    rates: F64,
    docs: I32,
    parents: Parents,
    others: F64,
    rng: np.random.Generator,
) -> None:
    """Move weight between two topics of a group, their sum fixed, by one slice update.

    The coordinate is log pi_one - log pi_two. others: scratch [at least len(docs), 2].
    """
    log_one, log_two = log_pi[group, one], log_pi[group, two]
    for place in range(len(docs)):
        others[place, 0] = largest_other(log_pi, group, one, docs[place], parents)
        others[place, 1] = largest_other(log_pi, group, two, docs[place], parents)
    upper = max(log_one, log_two)
    log_sum = upper + math.log1p(math.exp(min(log_one, log_two) - upper))
    old = log_one - log_two
    level = pair_density(old, log_sum, one, two, prior, m_dk, rates, docs, others)
    level += math.log(1.0 - rng.random())
    width = 3.0 + 4.0 / min(prior[one], prior[two])
    low = old - width * rng.random()
    bracket = Bracket(low, low + width)
    while is_open(bracket):
        new = within(bracket, rng)
        if pair_density(new, log_sum, one, two, prior, m_dk, rates, docs, others) > level:
            log_pi[group, one], log_pi[group, two] = part_sum(new, log_sum)
            return
        bracket = narrowed(bracket, new, old)


@kernel()
def largest_other(log_pi: F64, group: int, topic: int, doc: int, parents: Parents) -> float:
    """Return the largest log weight of a topic among a document's other parents (-inf: none)."""
    largest = -np.inf
    for link in range(parents.ptr[doc], parents.ptr[doc + 1]):
        if parents.group[link] != group:
            largest = max(largest, log_pi[parents.group[link], topic])
    return largest


@kernel()
def part_sum(difference: float, log_sum: float) -> tuple[float, float]:
    """Return the logs of two numbers from the log of their sum and the difference of their logs."""
    if difference > 0.0:
        log_one = log_sum - math.log1p(math.exp(-difference))
        return log_one, log_one - difference
    log_two = log_sum - math.log1p(math.exp(difference))
    return log_two + difference, log_two


@kernel()
def pair_density(
    difference: float,
    log_sum: float,
    one: int,
    two: int,
    prior: F64,
    m_dk: I32,
    rates: F64,
    docs: I32,
    others: F64,
) -> float:
    """Return the log density of a pair along its coordinate, Jacobian included."""
    log_one, log_two = part_sum(difference, log_sum)
    density = prior[one] * log_one + prior[two] * log_two
    for place in range(len(docs)):
        doc = docs[place]
        log_max_one = max(log_one, others[place, 0])
        log_max_two = max(log_two, others[place, 1])
        density += m_dk[doc, one] * log_max_one + m_dk[doc, two] * log_max_two
        density -= rates[doc] * (math.exp(log_max_one) + math.exp(log_max_two))
    return density


@kernel()
def log_dirichlets(alpha_group: float, log_pi_0: F64, sums: F64, n_groups: int) -> float:
    """Return sum_a log Dir(pi_a; alpha_group pi_0), floored; sums [T]: sum_a log pi_ak."""
    density, total = 0.0, 0.0
    for topic in range(len(log_pi_0)):
        shape = max(alpha_group * math.exp(log_pi_0[topic]), SMALLEST)
        density += (shape - 1.0) * sums[topic] - n_groups * math.lgamma(shape)
        total += shape
    return density + n_groups * math.lgamma(total)


@kernel()
def stick_density(
    sticks: F64, gamma: float, alpha_group: float, sums: F64, n_groups: int, orphans: I64
) -> float:
    """Return the log density of the logit sticks given the groups' weights.

    orphans [T]: tables of documents without parents, which are served from pi_0 itself.
    """
    log_pi_0 = log_weights(sticks)
    density = log_dirichlets(alpha_group, log_pi_0, sums, n_groups)
    for stick in sticks:
        density += log_sigmoid(stick) + gamma * log_sigmoid(-stick)
    for topic in range(len(orphans)):
        if orphans[topic] > 0:
            density += orphans[topic] * log_pi_0[topic]
    return density


@kernel()
def slice_sticks(
    sticks: F64,
    gamma: float,
    alpha_group: float,
    sums: F64,
    n_groups: int,
    orphans: I64,
    rng: np.random.Generator,
) -> None:
    """Update each logit stick [T - 1] by one slice, in place."""
    width = 4.0 + 4.0 / min(gamma, 1.0)
    for place in range(len(sticks)):
        old = sticks[place]
        level = stick_density(sticks, gamma, alpha_group, sums, n_groups, orphans)
        level += math.log(1.0 - rng.random())
        low = old - width * rng.random()
        bracket = Bracket(low, low + width)
        while is_open(bracket):
            sticks[place] = within(bracket, rng)
            if stick_density(sticks, gamma, alpha_group, sums, n_groups, orphans) > level:
                break
            bracket = narrowed(bracket, sticks[place], old)
            sticks[place] = old


@kernel()
def slice_alpha(
    alpha_group: float,
    log_pi_0: F64,
    sums: F64,
    n_groups: int,
    shape: float,
    rate: float,
    rng: np.random.Generator,
) -> float:
    """Return alpha_group after one slice on its log, under a Gamma(shape, rate) prior."""
    old = math.log(alpha_group)
    level = log_dirichlets(alpha_group, log_pi_0, sums, n_groups)
    level += shape * old - rate * alpha_group + math.log(1.0 - rng.random())
    low = old - SLICE_OF_LOG_ALPHA * rng.random()
    bracket = Bracket(low, low + SLICE_OF_LOG_ALPHA)
    while is_open(bracket):
        new = within(bracket, rng)
        value = math.exp(new)
        density = log_dirichlets(value, log_pi_0, sums, n_groups) + shape * new - rate * value
        if density > level:
            return value
        bracket = narrowed(bracket, new, old)
    return alpha_group
