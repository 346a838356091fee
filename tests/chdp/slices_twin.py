"""The slices of maximization as plain Python, each density added up anew from all its terms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hiertopics.families.chdp.gibbs_kernels import SMALLEST, log_sigmoid, log_weights, normalise
from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.slices import NARROWEST

Array = np.ndarray[Any, Any]


def slice_groups(
    log_pi: Array, prior: Array, m_dk: Array, rates: Array, parents: Parents, rng: Any
) -> None:
    """Update each group's weights along pairs of topics."""
    n_topics = log_pi.shape[1]
    for group in range(len(log_pi) if n_topics > 1 else 0):
        docs = parents.doc[parents.group_ptr[group] : parents.group_ptr[group + 1]]
        used = [topic for topic in range(n_topics) if m_dk[docs, topic].any()]
        for _ in range(n_topics):
            one, two = int(rng.integers(0, n_topics)), int(rng.integers(0, n_topics - 1))
            two += two >= one
            slice_pair(log_pi, group, one, two, prior, m_dk, rates, docs, parents, rng)
        for turn in range(2 * len(used) if len(used) > 1 else 0):
            place = int(rng.integers(0, len(used) - 1))
            place += place >= turn % len(used)
            one, two = used[turn % len(used)], used[place]
            slice_pair(log_pi, group, one, two, prior, m_dk, rates, docs, parents, rng)
        normalise(log_pi[group])


def slice_pair(
    log_pi: Array, group: int, one: int, two: int, prior: Array, m_dk: Array, rates: Array,
    docs: Array, parents: Parents, rng: Any,
) -> None:  # fmt: skip
    """Move weight between two topics of a group, their sum fixed."""
    log_one, log_two = float(log_pi[group, one]), float(log_pi[group, two])
    rivals = [[rival(log_pi, group, k, doc, parents) for k in (one, two)] for doc in docs]
    upper = max(log_one, log_two)
    log_sum = upper + math.log1p(math.exp(min(log_one, log_two) - upper))

    def density(difference: float) -> float:
        log_one, log_two = part_sum(difference, log_sum)
        total = float(prior[one]) * log_one + float(prior[two]) * log_two
        for doc, (other_one, other_two) in zip(docs, rivals, strict=True):
            log_max_one, log_max_two = max(log_one, other_one), max(log_two, other_two)
            total += int(m_dk[doc, one]) * log_max_one + int(m_dk[doc, two]) * log_max_two
            total -= float(rates[doc]) * (math.exp(log_max_one) + math.exp(log_max_two))
        return total

    width = 3.0 + 4.0 / min(float(prior[one]), float(prior[two]))
    new = sliced(log_one - log_two, width, density, rng)
    if new is not None:
        log_pi[group, one], log_pi[group, two] = part_sum(new, log_sum)


def rival(log_pi: Array, group: int, topic: int, doc: int, parents: Parents) -> float:
    """Return the largest log weight of a topic among a document's other parents (-inf: none)."""
    groups = parents.group[parents.ptr[doc] : parents.ptr[doc + 1]]
    return max((float(log_pi[g, topic]) for g in groups if g != group), default=-math.inf)


def part_sum(difference: float, log_sum: float) -> tuple[float, float]:
    """Return the logs of two numbers from the log of their sum and the difference of their logs."""
    if difference > 0.0:
        log_one = log_sum - math.log1p(math.exp(-difference))
        return log_one, log_one - difference
    log_two = log_sum - math.log1p(math.exp(difference))
    return log_two + difference, log_two


def sliced(old: float, width: float, density: Callable[[float], float], rng: Any) -> float | None:
    """Return the place that a slice finds; None: the old one."""
    level = density(old) + math.log(1.0 - rng.random())
    low = old - width * rng.random()
    high = low + width
    while high - low > NARROWEST:
        new = low + (high - low) * rng.random()
        if density(new) > level:
            return float(new)
        low, high = (new, high) if new < old else (low, new)
    return None


def stick_density(
    sticks: Array, gamma: float, alpha_group: float, sums: Array, n_groups: int, orphans: Array
) -> float:
    """Return the log density of the logit sticks given the groups' weights."""
    log_pi_0 = log_weights(sticks).tolist()
    density, total = 0.0, 0.0
    for log_weight, log_sum in zip(log_pi_0, sums.tolist(), strict=True):
        shape = max(alpha_group * math.exp(log_weight), SMALLEST)
        density += (shape - 1.0) * log_sum - n_groups * math.lgamma(shape)
        total += shape
    density = density + n_groups * math.lgamma(total)
    for stick in sticks:
        density += log_sigmoid(stick) + gamma * log_sigmoid(-stick)
    for log_weight, n_tables in zip(log_pi_0, orphans.tolist(), strict=True):
        if n_tables > 0:
            density += n_tables * log_weight
    return density


def slice_sticks(
    sticks: Array, gamma: float, alpha_group: float, sums: Array, n_groups: int, orphans: Array,
    rng: Any,
) -> None:  # fmt: skip
    """Update each logit stick by one slice."""
    for place in range(len(sticks)):

        def density(new: float, place: int = place) -> float:
            moved = sticks.copy()
            moved[place] = new
            return stick_density(moved, gamma, alpha_group, sums, n_groups, orphans)

        new = sliced(float(sticks[place]), 4.0 + 4.0 / min(gamma, 1.0), density, rng)
        if new is not None:
            sticks[place] = new
