"""The cooperative HDP written as plainly as possible: what the kernels are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from hiertopics.base.arrays import F64

Array = F64


def base(parents: Sequence[int], pi: Array, pi_0: Array, share: Array, maximization: bool) -> Array:
    """Return b_d (theory/chdp 1)."""
    if not len(parents):
        return pi_0
    mine = pi[list(parents)]
    if maximization:
        return np.asarray(mine.max(axis=0) / mine.max(axis=0).sum())
    return np.asarray(np.asarray(share) @ mine)


def sweep(
    docs: Sequence[Sequence[int]], z: list[list[int]], bases: Array, alpha: float, eta: float,
    n_words: int, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Redraw each token given all others, counting everything anew for each (theory/chdp 4.1)."""
    for doc, words in enumerate(docs):
        for place, word in enumerate(words):
            z[doc][place] = -1
            weights = np.zeros(bases.shape[1])
            for topic in range(len(weights)):
                n_dk = z[doc].count(topic)
                pairs = [(w, k) for d, ws in enumerate(docs) for w, k in zip(ws, z[d], strict=True)]
                n_kv = pairs.count((word, topic))
                n_k = sum(k == topic for _, k in pairs)
                weights[topic] = (n_dk + alpha * bases[doc, topic]) * (n_kv + eta)
                weights[topic] /= n_k + n_words * eta
            target = rng.random() * weights.sum()
            z[doc][place] = int(np.searchsorted(np.cumsum(weights), target, side="right"))


def log_groups(
    log_pi: Array, prior: Array, m_dk: Array, rates: Array, parents: Sequence[Sequence[int]]
) -> float:
    """Return the log density of the groups' weights under maximization (theory/chdp 4.3)."""
    density = float(((prior - 1) * log_pi).sum())
    for doc, groups in enumerate(parents):
        if len(groups):
            largest = log_pi[list(groups)].max(axis=0)
            density += float((m_dk[doc] * largest - rates[doc] * np.exp(largest)).sum())
    return density


def log_sticks(
    sticks: Array, gamma: float, alpha_group: float, log_pi: Array, orphans: Array
) -> float:
    """Return the log density of logit sticks given groups and tables without parents (4.3.3)."""
    taken = 1 / (1 + np.exp(-sticks))
    pi_0 = np.append(taken, 1.0) * np.concatenate([[1.0], np.cumprod(1 - taken)])
    shape = np.maximum(alpha_group * pi_0, 1e-6)
    density = float((np.log(taken) + np.log(1 - taken) + (gamma - 1) * np.log(1 - taken)).sum())
    for row in log_pi:
        density += float(gammaln(shape.sum()) - gammaln(shape).sum() + ((shape - 1) * row).sum())
    return density + float((orphans * np.log(pi_0)).sum())


class Urn:
    """The international restaurant process over tables alone (theory/chdp 3.2), in dictionaries.

    A table is (author, option, topic); options are numbered within their author.
    """

    def __init__(self, alpha: float, gamma: float) -> None:
        self.alpha, self.gamma = alpha, gamma
        self.tables: Counter[tuple[int, int]] = Counter()
        self.topic_of: dict[tuple[int, int], int] = {}

    def served(self, topic: int | None) -> float:
        """Return the chance that a new option has ``topic`` (None: a new one)."""
        options = list(self.topic_of.values())
        n_with = self.gamma if topic is None else options.count(topic)
        return n_with / (len(options) + self.gamma)

    def size(self, author: int) -> int:
        """Return the tables of an author."""
        return sum(n for (owner, _), n in self.tables.items() if owner == author)

    def of_author(self, author: int, topic: int | None) -> float:
        """Return p_ak."""
        n_with = sum(
            n for key, n in self.tables.items()
            if key[0] == author and self.topic_of[key] == topic
        )  # fmt: skip
        return (n_with + self.alpha * self.served(topic)) / (self.size(author) + self.alpha)

    def row(self, authors: Sequence[int], maximization: bool) -> dict[int | None, float]:
        """Return the chance of each topic of a new table; None stands for a new topic."""
        topics = [*dict.fromkeys(self.topic_of.values()), None]
        chances: dict[int | None, float] = {}
        for topic in topics:
            mine = [self.of_author(author, topic) for author in authors]
            chances[topic] = max(mine) if maximization else sum(mine) / len(mine)
        total = sum(chances.values()) if maximization else 1.0
        return {topic: chance / total for topic, chance in chances.items()}

    def seat(self, authors: Sequence[int], author: int, option: int, topic: int) -> float:
        """Seat a table; return the chance of that under superposition."""
        key, share = (author, option), 1 / len(authors)
        if key in self.tables:
            chance = share * self.tables[key] / (self.size(author) + self.alpha)
        else:
            known = topic in self.topic_of.values()
            chance = share * self.alpha / (self.size(author) + self.alpha)
            chance *= self.served(topic if known else None)
            self.topic_of[key] = topic
        self.tables[key] += 1
        return chance
