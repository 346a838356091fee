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
from hiertopics.families.chdp.gibbs_kernels import SMALLEST, log_sigmoid, normalise
from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.numbers_below import below
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within

SLICE_OF_LOG_ALPHA = 4.0

ROOM = 1 << 20
"""Rivals, one for each document and topic of a group, that are kept while it is updated."""


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
    log_pi: F64,
    prior: F64,
    m_dk: I32,
    rates: F64,
    parents: Parents,
    rng: np.random.Generator,
    room: int = ROOM,
) -> None:
    """Update each group's weights [n_groups, T] by slices along pairs of topics.

    T pairs are drawn uniformly and two for each topic that the group's documents use, among
    those: which pairs depends on the tables, held fixed here, and not on the weights. log_pi: rows
    are normalised. room: rivals of a group that are kept for all topics.
    """
    n_groups, n_topics = log_pi.shape
    if n_topics < 2:
        return
    group_ptr = parents.group_ptr
    most, most_in_pairs = 0, 0
    for group in range(n_groups):
        n_docs = group_ptr[group + 1] - group_ptr[group]
        if n_docs * n_topics <= room:
            most = max(most, n_docs)
        else:
            most_in_pairs = max(most_in_pairs, n_docs)
    log_rivals, rivals = np.empty((most, n_topics)), np.empty((most, n_topics))
    log_two, rival_two = np.empty((most_in_pairs, 2)), np.empty((most_in_pairs, 2))
    used = np.empty(n_topics + 1, np.int64)
    for group in range(n_groups):
        first, last = group_ptr[group], group_ptr[group + 1]
        log_rival, rival = log_two, rival_two
        if (last - first) * n_topics <= room:
            log_rival, rival = log_rivals, rivals
            find_rivals(
                log_pi, group, parents.doc, first, last, parents.ptr, parents.group,
                log_rival, rival,
            )  # fmt: skip
        n_used = list_used(m_dk, parents.doc, first, last, used)
        slice_group(
            log_pi, group, prior, m_dk, rates, parents.doc, first, last, parents.ptr, parents.group,
            used, n_used, log_rival, rival, rng,
        )  # fmt: skip
        normalise(log_pi[group])


# The arrays of the functions below come one by one, and none is a slice of another: each slice, and
# each array taken from a tuple or passed on for a pair, costs counted references there.


@kernel()
def list_used(m_dk: I32, docs: I32, first: int, last: int, used: I64) -> int:
    """Write the topics with a table in one of ``docs[first:last]`` to ``used`` [T + 1].

    Returns how many there are.
    """
    n_used = 0
    for topic in range(m_dk.shape[1]):
        found = False
        for link in range(first, last):
            if m_dk[docs[link], topic] > 0:
                found = True
                break
        used[n_used] = topic
        n_used += found
    return n_used


@kernel()
def find_rivals(
    log_pi: F64,
    group: int,
    docs: I32,
    first: int,
    last: int,
    ptr: I64,
    parent: I32,
    log_rival: F64,
    rival: F64,
) -> None:
    """Write each topic's largest weight among the other parents of each document of a group.

    log_rival: their logs, -inf without another parent; rival: themselves, where there is one; both
    [documents, T].
    """
    n_topics = log_pi.shape[1]
    for link in range(first, last):
        place, doc = link - first, docs[link]
        for topic in range(n_topics):
            log_rival[place, topic] = -np.inf
        for other in range(ptr[doc], ptr[doc + 1]):
            if parent[other] != group:
                row = parent[other]
                for topic in range(n_topics):
                    largest = max(log_rival[place, topic], log_pi[row, topic])
                    log_rival[place, topic] = largest
        if ptr[doc + 1] - ptr[doc] > 1:
            for topic in range(n_topics):
                rival[place, topic] = math.exp(log_rival[place, topic])


@kernel()
def find_rivals_of_pair(
    log_pi: F64,
    group: int,
    one: int,
    two: int,
    docs: I32,
    first: int,
    last: int,
    ptr: I64,
    parent: I32,
    log_rival: F64,
    rival: F64,
) -> None:
    """Do as ``find_rivals`` does for two topics, in columns 0 and 1."""
    for link in range(first, last):
        place, doc = link - first, docs[link]
        log_rival[place, 0] = log_rival[place, 1] = -np.inf
        for other in range(ptr[doc], ptr[doc + 1]):
            if parent[other] != group:
                row = parent[other]
                log_rival[place, 0] = max(log_rival[place, 0], log_pi[row, one])
                log_rival[place, 1] = max(log_rival[place, 1], log_pi[row, two])
        rival[place, 0] = math.exp(log_rival[place, 0])
        rival[place, 1] = math.exp(log_rival[place, 1])


@kernel()
def slice_group(
    log_pi: F64,
    group: int,
    prior: F64,
    m_dk: I32,
    rates: F64,
    docs: I32,
    first: int,
    last: int,
    ptr: I64,
    parent: I32,
    used: I64,
    n_used: int,
    log_rival: F64,
    rival: F64,
    rng: np.random.Generator,
) -> None:
    """Move weight between pairs of topics of a group, their sum fixed, by one slice update each.

    The coordinate is log pi_one - log pi_two. log_rival, rival: of ``find_rivals``, for all topics
    or room for two.
    """
    n_topics, bits = log_pi.shape[1], rng.bit_generator
    for turn in range(n_topics + (2 * n_used if n_used > 1 else 0)):
        if turn < n_topics:
            one = below(bits, n_topics)
            two = below(bits, n_topics - 1)
            two += two >= one
        else:
            turn = (turn - n_topics) % n_used
            place = below(bits, n_used - 1)
            place += place >= turn
            one, two = used[turn], used[place]
        at_one, at_two = one, two
        if log_rival.shape[1] < n_topics:
            at_one, at_two = 0, 1
            find_rivals_of_pair(
                log_pi, group, one, two, docs, first, last, ptr, parent, log_rival, rival
            )
        prior_one, prior_two = prior[one], prior[two]
        old = log_pi[group, one] - log_pi[group, two]
        excess = math.log1p(math.exp(-abs(old)))
        log_sum = max(log_pi[group, one], log_pi[group, two]) + excess
        log_one, log_two = parted(old, log_sum, excess)
        level = pair_density(
            log_one, log_two, one, two, prior_one, prior_two, m_dk, rates, docs, first, last,
            log_rival, rival, at_one, at_two,
        )  # fmt: skip
        level += math.log(1.0 - rng.random())
        reach = 3.0 + 4.0 / min(prior_one, prior_two)
        low = old - reach * rng.random()
        bracket = Bracket(low, low + reach)
        while is_open(bracket):
            new = within(bracket, rng)
            if not is_below(level, new, log_sum, prior_one, prior_two):
                log_one, log_two = part_sum(new, log_sum)
                density = pair_density(
                    log_one, log_two, one, two, prior_one, prior_two, m_dk, rates, docs, first,
                    last, log_rival, rival, at_one, at_two,
                )  # fmt: skip
                if density > level:
                    log_pi[group, one], log_pi[group, two] = log_one, log_two
                    break
            bracket = narrowed(bracket, new, old)


@kernel(inline=True)
def parted(difference: float, log_sum: float, excess: float) -> tuple[float, float]:
    """Return the logs of two numbers from the log of their sum and the difference of their logs.

    excess: log(1 + exp(-abs(difference))), by which the sum's log exceeds the larger one.
    """
    larger = log_sum - excess
    smaller = larger - abs(difference)
    return (larger, smaller) if difference > 0.0 else (smaller, larger)


@kernel(inline=True)
def part_sum(difference: float, log_sum: float) -> tuple[float, float]:
    """Do as ``parted`` does, the excess not known."""
    return parted(difference, log_sum, math.log1p(math.exp(-abs(difference))))


@kernel(inline=True)
def is_below(
    level: float, difference: float, log_sum: float, prior_one: float, prior_two: float
) -> bool:
    """Tell, without exponentials, whether a pair's density is surely at most ``level``.

    Neither log exceeds what is written here, and documents add nothing positive where no log is
    above 0. Rounding keeps this order, so that the density as computed is at most ``level``, too.
    """
    upper = log_sum - abs(difference)
    log_one, log_two = (log_sum, upper) if difference > 0.0 else (upper, log_sum)
    return log_sum <= 0.0 and prior_one * log_one + prior_two * log_two <= level


@kernel(inline=True)
def pair_density(
    log_one: float,
    log_two: float,
    one: int,
    two: int,
    prior_one: float,
    prior_two: float,
    m_dk: I32,
    rates: F64,
    docs: I32,
    first: int,
    last: int,
    log_rival: F64,
    rival: F64,
    at_one: int,
    at_two: int,
) -> float:
    """Return the log density of a pair along its coordinate, Jacobian included.

    at_one, at_two: the columns of both topics in ``log_rival`` and ``rival``.
    """
    density = prior_one * log_one + prior_two * log_two
    weight_one, weight_two = math.exp(log_one), math.exp(log_two)
    for link in range(first, last):
        doc, place = docs[link], link - first
        # Rivals are read in any case: a branch would be guessed wrong.
        log_rival_one, log_rival_two = log_rival[place, at_one], log_rival[place, at_two]
        rival_one, rival_two = rival[place, at_one], rival[place, at_two]
        leads_one, leads_two = log_one > log_rival_one, log_two > log_rival_two
        log_max_one = log_one if leads_one else log_rival_one
        log_max_two = log_two if leads_two else log_rival_two
        max_one = weight_one if leads_one else rival_one
        max_two = weight_two if leads_two else rival_two
        density += m_dk[doc, one] * log_max_one + m_dk[doc, two] * log_max_two
        density -= rates[doc] * (max_one + max_two)
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
    place: int,
    rest: float,
    density: float,
    total: float,
    taken: F64,
    left: F64,
    gamma: float,
    alpha_group: float,
    sums: F64,
    n_groups: int,
    orphans: I64,
    log_pi_0: F64,
) -> float:
    """Return the log density of the logit sticks given the groups' weights.

    taken, left: log_sigmoid of each stick and of its negative [T - 1]. rest, density, total: the
    sums of ``log_weights`` and ``log_dirichlets`` over topics before ``place``, whose log_pi_0 [T]
    are given; the others are written. orphans [T]: tables of documents without parents, which are
    served from pi_0 itself.
    """
    for topic in range(place, len(log_pi_0)):
        log_pi_0[topic] = rest
        if topic < len(taken):
            log_pi_0[topic] += taken[topic]
            rest += left[topic]
        shape = max(alpha_group * math.exp(log_pi_0[topic]), SMALLEST)
        density += (shape - 1.0) * sums[topic] - n_groups * math.lgamma(shape)
        total += shape
    density += n_groups * math.lgamma(total)
    for stick in range(len(taken)):
        density += taken[stick] + gamma * left[stick]
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
    taken, left, log_pi_0 = np.empty(len(sticks)), np.empty(len(sticks)), np.empty(len(sums))
    for place in range(len(sticks)):
        taken[place], left[place] = log_sigmoid(sticks[place]), log_sigmoid(-sticks[place])
    given = (taken, left, gamma, alpha_group, sums, n_groups, orphans, log_pi_0)
    # A stick moves the weights of its own topic and of those behind. The sums over topics before it
    # are added up once, and the density of what stands is that of the last stick that moved.
    rest, before, total = 0.0, 0.0, 0.0
    density = stick_density(0, rest, before, total, *given)
    width = 4.0 + 4.0 / min(gamma, 1.0)
    for place in range(len(sticks)):
        old, old_taken, old_left = sticks[place], taken[place], left[place]
        level = density + math.log(1.0 - rng.random())
        low = old - width * rng.random()
        bracket = Bracket(low, low + width)
        while is_open(bracket):
            new = within(bracket, rng)
            taken[place], left[place] = log_sigmoid(new), log_sigmoid(-new)
            moved = stick_density(place, rest, before, total, *given)
            if moved > level:
                sticks[place], density = new, moved
                break
            bracket = narrowed(bracket, new, old)
            taken[place], left[place] = old_taken, old_left
        shape = max(alpha_group * math.exp(rest + taken[place]), SMALLEST)
        log_pi_0[place] = rest + taken[place]
        before += (shape - 1.0) * sums[place] - n_groups * math.lgamma(shape)
        total += shape
        rest += left[place]


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
