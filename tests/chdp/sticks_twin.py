"""The stick-breaking mean field of the cooperative HDP with lists, and its bound term by term."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betaln, digamma, entr, gammaln


def best_order(counts: Any, alpha: float) -> tuple[float, tuple[int, ...]]:
    """Try all orders of the sticks; return the largest evidence and its order."""

    def evidence(order: tuple[int, ...]) -> float:
        total = 0.0
        for place, here in enumerate(order[:-1]):
            after = sum(counts[later] for later in order[place + 1 :])
            total += np.log(alpha) + betaln(1 + counts[here], alpha + after)
        return float(total)

    return max((evidence(order), order) for order in permutations(range(len(counts))))


def betas(counts: Any, alpha: float) -> tuple[tuple[int, ...], list[tuple[float, float]]]:
    """Return the best order and the Beta parameters of the sticks along it, all but the last."""
    order = best_order(counts, alpha)[1]
    pairs = [
        (1 + counts[here], alpha + sum(counts[later] for later in order[place + 1 :]))
        for place, here in enumerate(order[:-1])
    ]
    return order, pairs


def log_weights(counts: Any, alpha: float) -> Any:
    """Return E[log weight] of each place."""
    order, pairs = betas(counts, alpha)
    logs, rest = np.zeros(len(counts)), 0.0
    for here, (a, b) in zip(order, [*pairs, (1.0, 0.0)], strict=True):
        if here == order[-1]:
            logs[here] = rest
            break
        logs[here] = rest + digamma(a) - digamma(a + b)
        rest += digamma(b) - digamma(a + b)
    return logs


def soft(scores: Any) -> Any:
    weights = np.exp(np.asarray(scores) - np.max(scores))
    return weights / weights.sum()


class SticksTwin:
    """A copy of a state's indicators and concentrations, moved as theory/chdp 5.1 has it."""

    def __init__(self, rows: Any, parents: Sequence[Sequence[int]], state: Any):
        self.rows, self.parents = np.asarray(rows), parents
        self.pairs = [(d, w) for d, row in enumerate(rows) for w, n in enumerate(row) if n]
        self.links = [(d, a) for d, own in enumerate(parents) for a in own]
        self.orphans = [d for d, own in enumerate(parents) if not own]
        names = ("resp", "option", "dish", "orphan", "share")
        self.y, self.x, self.c, self.r, share = (np.array(getattr(state, n)) for n in names)
        even = [1 / len(parents[d]) for d, _ in self.links]
        self.share = share if len(share) else np.array(even)
        self.alpha_doc, self.alpha_group = state.alpha_doc, state.alpha_group
        self.gamma, self.eta = state.gamma, state.word_mass / self.rows.shape[1]

    def topics(self, d: int) -> Any:
        """Return R of a document [tables, topics]."""
        if d in self.orphans:
            return self.r[self.orphans.index(d)]
        own = [(link, a) for link, (doc, a) in enumerate(self.links) if doc == d]
        return sum(self.x[link] @ self.c[a] for link, a in own)

    def of_words(self) -> Any:
        """Return the expected counts of words [topics, words]."""
        counts = np.zeros((self.c.shape[2], self.rows.shape[1]))
        for y, (d, w) in zip(self.y, self.pairs, strict=True):
            counts[:, w] += self.rows[d, w] * (y @ self.topics(d))
        return counts

    def of_tables(self, d: int) -> Any:
        """Return the expected tokens of a document's tables."""
        mine = [(y, w) for y, (doc, w) in zip(self.y, self.pairs, strict=True) if doc == d]
        return sum((self.rows[d, w] * y for y, w in mine), np.zeros(self.y.shape[1]))

    def of_options(self, a: int) -> Any:
        """Return the expected tables of a group's options."""
        return sum(self.x[link].sum(axis=0) for link, (_, b) in enumerate(self.links) if b == a)

    def of_topics(self) -> Any:
        """Return the expected options of the corpus's topics."""
        return self.c.sum(axis=(0, 1)) + self.r.sum(axis=(0, 1))

    def e_log_phi(self) -> Any:
        counts = self.of_words() + self.eta
        return digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))

    def step(self) -> None:
        """Refit Y and X document by document, then C, sticks and phi at their best before."""
        phi = self.e_log_phi()
        corpus = log_weights(self.of_topics(), self.gamma)
        groups = [log_weights(self.of_options(a), self.alpha_group) for a in range(len(self.c))]
        found = {}
        for d in range(len(self.rows)):
            sizes, topics = log_weights(self.of_tables(d), self.alpha_doc), self.topics(d)
            found[d] = np.zeros(topics.shape)
            for pair, (doc, w) in enumerate(self.pairs):
                if doc == d:
                    self.y[pair] = soft(sizes + topics @ phi[:, w])
                    found[d] += self.rows[d, w] * np.outer(self.y[pair], phi[:, w])
            own = [(link, a) for link, (doc, a) in enumerate(self.links) if doc == d]
            for table, judged in enumerate(found[d]):
                if own:
                    scores = [
                        np.log(self.share[link]) + groups[a] + self.c[a] @ judged for link, a in own
                    ]
                    chances = soft(np.concatenate(scores)).reshape(len(own), -1)
                    for (link, _), row in zip(own, chances, strict=True):
                        self.x[link, table] = row
                else:
                    self.r[self.orphans.index(d), table] = soft(corpus + judged)
        for a in range(len(self.c)):
            for option in range(self.c.shape[1]):
                served = (
                    self.x[link][:, option] @ found[d]
                    for link, (d, b) in enumerate(self.links)
                    if b == a
                )
                self.c[a, option] = soft(corpus + sum(served))

    def elbo(self) -> float:
        """Return the bound with sticks and phi at their best, each term as theory/chdp does."""
        units = [(self.of_tables(d), self.alpha_doc) for d in range(len(self.rows))]
        units += [(self.of_options(a), self.alpha_group) for a in range(len(self.c))]
        units += [(self.of_topics(), self.gamma)]
        total = -self.alpha_doc - self.alpha_group - self.gamma
        for counts, alpha in units:
            for a, b in betas(counts, alpha)[1]:
                e_log_rest = digamma(b) - digamma(a + b)
                total += np.log(alpha) + (alpha - 1) * e_log_rest + stats.beta(a, b).entropy()
            total += counts @ log_weights(counts, alpha)
        phi, counts = self.e_log_phi(), self.of_words()
        n_topics, n_words = phi.shape
        total += n_topics * (gammaln(n_words * self.eta) - n_words * gammaln(self.eta))
        total += (self.eta - 1) * phi.sum() + (counts * phi).sum()
        total += sum(stats.dirichlet(row + self.eta).entropy() for row in counts)
        tokens = np.array([self.rows[d, w] for d, w in self.pairs])
        total += tokens @ entr(self.y).sum(axis=1)
        total += entr(self.x).sum() + entr(self.c).sum() + entr(self.r).sum()
        return float(total + np.log(self.share) @ self.x.sum(axis=(1, 2)))
