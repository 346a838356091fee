"""The sweep over bursty documents on a tree, written plainly, with mistakes that can be planted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from bursts_twin import mean_tables
from naive_nhdp import Naive

from hiertopics.base.arrays import F64, Bools
from hiertopics.families.flat.layout import Data


class Rule(NamedTuple):
    """How a pair is visited. others: tables of the document that the discount sees."""

    others: str = "one out"
    concentration: bool = True
    discount_in_stirling: bool = True
    out: str = "one"
    elsewhere: bool = True
    tokens_of_documents: bool = False
    tokens_of_words: bool = False


MISTAKES = {
    "right": Rule(),
    "a T forgotten": Rule(others="none"),
    "b not used": Rule(concentration=False),
    "no discount in S": Rule(discount_in_stirling=False),
    "other words' tables alone": Rule(others="other words"),
    "all tables": Rule(others="all"),
    "the whole pair out": Rule(out="pair"),
    "nothing out": Rule(out="nothing"),
    "nothing elsewhere": Rule(elsewhere=False),
    "tokens in n_dk": Rule(tokens_of_documents=True),
    "tokens in n_wk": Rule(tokens_of_words=True),
}


class Twin:
    """q(z) [n_pairs, K] and tables [n_pairs] of a corpus; every count is made anew for each pair.

    own: [n_docs, K], the nodes that documents look at. phi: [K, n_words] of topics that are held.
    """

    def __init__(
        self,
        tree: Naive,
        data: Data,
        r: F64,
        process: tuple[float, float],
        rule: Rule,
        *,
        eta: float = 0.0,
        own: Bools | None = None,
        phi: F64 | None = None,
    ) -> None:
        cells = data.cells
        self.tree, self.data, self.r, self.rule = tree, data, r.copy(), rule
        self.tables = cells.tokens.astype(float)
        self.discount, self.concentration = process
        self.eta, self.own, self.phi = eta, own, phi
        self.doc_of = np.repeat(np.arange(data.n_docs), cells.cuts[:, -1] - cells.cuts[:, 0])

    def counts_of(self, doc: int) -> F64:
        """Return n_d."""
        mine = self.doc_of == doc
        times = self.data.cells.tokens if self.rule.tokens_of_documents else self.tables
        return np.asarray(times[mine] @ self.r[mine])

    def topics(self, word: int, less: F64) -> F64:
        """Return p(word | node) without ``less`` tables."""
        if self.phi is not None:
            return self.phi[:, word]
        times = self.data.cells.tokens if self.rule.tokens_of_words else self.tables
        here = self.data.cells.word == word
        n_wi, n_i = times[here] @ self.r[here], times @ self.r
        return np.asarray((n_wi - less + self.eta) / (n_i - less + self.eta * self.data.n_words))

    def theta(self, doc: int, r: F64) -> F64:
        """Return theta of a document without ``r``; 0 at nodes that are not its own."""
        n = self.counts_of(doc) - r
        theta = self.tree.theta(n, self.tree.at_or_below(n))
        return theta if self.own is None else np.where(self.own[doc], theta, 0.0)

    def sweep(self) -> None:
        """Visit every pair once, in their order."""
        rule, cells, nothing = self.rule, self.data.cells, np.zeros(self.r.shape[1])
        n_w = np.bincount(cells.word, self.tables, self.data.n_words)
        anywhere = (n_w + self.eta) / (n_w.sum() + self.eta * self.data.n_words)
        rest = 0.0
        for pair, (doc, word) in enumerate(
            zip(self.doc_of.tolist(), cells.word.tolist(), strict=True)
        ):
            if not pair or self.doc_of[pair - 1] != doc:
                rest = 1.0 - self.theta(doc, nothing).sum() if rule.elsewhere else 0.0
            one = {"one": 1.0, "pair": self.tables[pair], "nothing": 0.0}[rule.out]
            weights = self.theta(doc, one * self.r[pair]) * self.topics(word, one * self.r[pair])
            chance = weights.sum() + rest * anywhere[word]
            total = self.tables[self.doc_of == doc].sum()
            others = {
                "one out": total - 1,
                "none": 0.0,
                "other words": total - self.tables[pair],
                "all": total,
            }[rule.others]
            b = self.concentration if rule.concentration else 1.0
            count = int(cells.tokens[pair])
            self.r[pair] = weights / weights.sum()
            if count > 1:
                own = self.discount if rule.discount_in_stirling else 0.0
                x = (b + self.discount * others) * chance
                self.tables[pair] = mean_tables(count, x, own)
