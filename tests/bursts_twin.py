"""Zero-order inference of tables, written plainly, with mistakes that can be planted.

The first row of ``MISTAKES`` is the right one; each names what is wrong with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64


class Rule(NamedTuple):
    """How a pair is visited. others: tables of the document that the discount sees."""

    tokens_of_documents: bool = False
    tokens_of_words: bool = False
    others: str = "one out"
    concentration: bool = True
    discount_in_stirling: bool = True
    out: str = "one"
    divided: bool = True
    refit: bool = True


MISTAKES = {
    "right": Rule(),
    "tokens in n_dk": Rule(tokens_of_documents=True),
    "tokens in n_wk": Rule(tokens_of_words=True),
    "a T forgotten": Rule(others="none"),
    "b not used": Rule(concentration=False),
    "no discount in S": Rule(discount_in_stirling=False),
    "other words' tables alone": Rule(others="other words"),
    "the whole pair out": Rule(out="pair"),
    "nothing out": Rule(out="nothing"),
    "not divided": Rule(divided=False),
    "t stays c": Rule(refit=False),
}


def stirling(count: int, discount: float) -> F64:
    """Return S^c_t, t = 1..c."""
    row = np.ones(1)
    for c in range(1, count):
        grown = (c - discount * np.arange(1, c + 1)) * row
        row = np.append(grown, 0.0) + np.append(0.0, row)
    return row


def mean_tables(count: int, x: float, discount: float) -> float:
    """Return E[t | c, x] by its sum."""
    t = np.arange(1, count + 1)
    weights = stirling(count, discount) * x**t
    return float((t * weights).sum() / weights.sum())


class Twin:
    """Documents as lists of (word, count), q(z) of the pairs, and their tables.

    topics: phi [n_words, T] that is held; None: counts of words with pseudo-count eta each.
    """

    def __init__(
        self,
        docs: Sequence[Sequence[tuple[int, int]]],
        resp: F64,
        alpha: F64,
        process: tuple[float, float],
        rule: Rule,
        *,
        phi: F64 | None = None,
        eta: float = 0.0,
        n_words: int = 0,
    ) -> None:
        self.pairs = [(d, w, c) for d, doc in enumerate(docs) for w, c in doc]
        self.resp, self.alpha, self.rule = resp.copy(), alpha, rule
        self.tables = np.array([float(c) for _, _, c in self.pairs])
        self.discount, self.concentration = process
        self.phi, self.eta, self.n_words = phi, eta, n_words

    def _times(self, tokens: bool) -> F64:
        return np.array([c for _, _, c in self.pairs], float) if tokens else self.tables

    def counts_of(self, doc: int) -> F64:
        """Return n_dk."""
        times = self._times(self.rule.tokens_of_documents)
        mine = [i for i, pair in enumerate(self.pairs) if pair[0] == doc]
        return np.asarray(times[mine] @ self.resp[mine])

    def topics(self, word: int, less: F64) -> F64:
        """Return p(word | topic) without ``less`` tokens of it."""
        if self.phi is not None:
            return np.asarray(self.phi[word])
        times = self._times(self.rule.tokens_of_words)
        own = [i for i, pair in enumerate(self.pairs) if pair[1] == word]
        n_wk, n_k = times[own] @ self.resp[own] - less, times @ self.resp - less
        return np.asarray((n_wk + self.eta) / (n_k + self.n_words * self.eta))

    def n_tables(self, doc: int) -> float:
        """Return T_d."""
        return float(
            sum(t for t, pair in zip(self.tables, self.pairs, strict=True) if pair[0] == doc)
        )

    def sweep(self) -> None:
        """Visit every pair once."""
        rule = self.rule
        for i, (doc, word, count) in enumerate(self.pairs):
            less = self.resp[i] * (self.tables[i] if rule.out == "pair" else 1.0)
            weights = (self.counts_of(doc) - less + self.alpha) * self.topics(word, less)
            total = self.n_tables(doc)
            in_all = self.counts_of(doc).sum() + self.alpha.sum()
            chance = weights.sum() / (in_all - 1 if rule.divided else 1.0)
            if rule.out == "nothing":
                nothing = np.zeros(len(self.alpha))
                chance = (self.counts_of(doc) + self.alpha) @ self.topics(word, nothing) / in_all
            others = {"one out": total - 1, "none": 0.0, "other words": total - self.tables[i]}
            b = self.concentration if rule.concentration else 1.0
            x = (b + self.discount * others[rule.others]) * chance
            self.resp[i] = weights / weights.sum()
            if rule.refit and count > 1:
                own = self.discount if rule.discount_in_stirling else 0.0
                self.tables[i] = mean_tables(count, x, own)

    def predictive(self, doc: int, n_words: int) -> F64:
        """Return p(next word | document) by equation (5)."""
        theta = self.counts_of(doc) + self.alpha
        nothing = np.zeros(len(self.alpha))
        p = np.array([theta @ self.topics(w, nothing) for w in range(n_words)]) / theta.sum()
        c, t = np.zeros(n_words), np.zeros(n_words)
        for tables, (own, word, count) in zip(self.tables, self.pairs, strict=True):
            if own == doc:
                c[word], t[word] = count, tables
        a, b = self.discount, self.concentration
        return np.asarray((c - a * t + (b + a * t.sum()) * p) / (b + c.sum()))
