"""The collapsed variational cooperative HDP, written token of a pair by token with lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from naive_chdp import base
from scipy.special import digamma


class Twin:
    """Expected counts as dictionaries of nothing: everything is recounted for each pair."""

    def __init__(self, rows: Any, parents: Sequence[Sequence[int]], state: Any, cooperation: str):
        self.rows, self.parents = np.asarray(rows, dtype=float), parents
        self.pairs = [(d, w) for d, row in enumerate(rows) for w, n in enumerate(row) if n]
        self.q = np.array(state.resp, dtype=float)
        self.maximization = cooperation == "maximization"
        self.tables = np.array(state.n_group_tables)
        self.pi = np.array(state.pi)
        self.alpha_doc, self.alpha_group = state.alpha_doc, state.alpha_group
        self.gamma, self.word_mass = state.gamma, state.word_mass

    def groups(self) -> Any:
        """Return the mean weights of groups."""
        weights = self.tables + self.alpha_group * self.pi
        return weights / weights.sum(axis=1, keepdims=True)

    def priors(self) -> Any:
        """Return alpha_doc b of each document."""
        pi = self.groups()
        return self.alpha_doc * np.array(
            [
                base(own, pi, self.pi, np.full(len(own), 1 / max(len(own), 1)), self.maximization)
                for own in self.parents
            ]
        )

    def counts(self, *, doc: int | None = None, word: int | None = None) -> Any:
        """Return expected topic counts of a document, of a word or of all."""
        return sum(
            self.rows[d, w] * self.q[pair]
            for pair, (d, w) in enumerate(self.pairs)
            if doc in (None, d) and word in (None, w)
        )

    def sweep(self) -> None:
        """Refit each pair once, one token of it excluded (theory/hdp 3.1)."""
        priors, n_words = self.priors(), self.rows.shape[1]
        for pair, (d, w) in enumerate(self.pairs):
            own = self.q[pair]
            weights = np.maximum(self.counts(doc=d) - own, 0) + priors[d]
            weights = weights * (
                np.maximum(self.counts(word=w) - own, 0) + self.word_mass / n_words
            )
            weights = weights / (self.counts() - own + self.word_mass)
            self.q[pair] = weights / weights.sum()

    def document_tables(self) -> tuple[Any, Any]:
        """Return expected tables and the chance of any [n_docs, T]."""
        priors, n_topics = self.priors(), self.q.shape[1]
        tables, seen = (np.zeros((len(self.rows), n_topics)) for _ in range(2))
        for d in range(len(self.rows)):
            for k in range(n_topics):
                unseen = 1.0
                for pair, (other, w) in enumerate(self.pairs):
                    if other == d:
                        unseen *= (1 - self.q[pair, k]) ** self.rows[d, w]
                seen[d, k] = 1 - unseen
                x, count = (
                    priors[d, k],
                    sum(
                        self.rows[d, w] * self.q[pair, k]
                        for pair, (other, w) in enumerate(self.pairs)
                        if other == d
                    ),
                )
                tables[d, k] = seen[d, k]
                if seen[d, k] > 1e-4:
                    count = max(count / seen[d, k], 1.0)
                    tables[d, k] *= x * (digamma(x + count) - digamma(x))
        return tables, seen

    def serve(self, tables: Any) -> list[tuple[int, int, Any]]:
        """Return (document, parent, tables [T]) of each link."""
        pi, served = self.groups(), []
        for d, own in enumerate(self.parents):
            for a in own:
                if self.maximization:
                    part = pi[a] / pi[list(own)].max(axis=0)
                else:
                    part = pi[a] / pi[list(own)].sum(axis=0)
                served.append((d, a, part * tables[d]))
        return served

    def options(self, served: Any, tables: Any, seen: Any) -> Any:
        """Return the expected options [n_groups, T]: as tables, of tables."""
        found = np.zeros_like(self.tables)
        for a in range(len(found)):
            for k in range(found.shape[1]):
                mean, variance, none = 0.0, 0.0, 1.0
                for d, group, given in served:
                    if group == a and tables[d, k] > 0:
                        chance, part = seen[d, k], given[k] / tables[d, k]
                        n = max(tables[d, k] / chance, 1.0)
                        square = chance * (n * part * (1 - part) + (n * part) ** 2)
                        mean += given[k]
                        variance += square - (chance * n * part) ** 2
                        none *= 1 - chance * (1 - (1 - part) ** n)
                found[a, k] = _tables(mean, variance, 1 - none, self.alpha_group * self.pi[k])
        return found


def _tables(mean: float, variance: float, chance: float, x: float) -> float:
    """Return x P (psi(x + E) - psi(x) + V psi''(x + E) / 2), E and V given that there are any."""
    if chance <= 1e-4:
        return chance
    count, square = mean / chance, (variance + mean**2) / chance
    spread, at, step = max(square - count**2, 0.0), x + max(count, 1.0), 1e-4
    bend = (digamma(at + step) - 2 * digamma(at) + digamma(at - step)) / step**2
    return float(x * chance * (digamma(at) - digamma(x) + spread * bend / 2))


def sticks(tables: Any, gamma: float) -> Any:
    """Return E[pi] given tables by topic, largest first (theory/hdp 3.3)."""
    order = sorted(range(len(tables)), key=lambda k: -tables[k])
    weights, rest = np.zeros(len(tables)), 1.0
    for place, topic in enumerate(order[:-1]):
        a, b = 1 + tables[topic], gamma + sum(tables[k] for k in order[place + 1 :])
        weights[topic] = rest * a / (a + b)
        rest *= b / (a + b)
    weights[order[-1]] = rest
    assert math.isclose(weights.sum(), 1.0)
    return weights
