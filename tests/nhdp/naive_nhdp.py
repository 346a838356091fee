"""The nested HDP written out slowly: chances, enumeration, a sweep pair by pair, tables.

``wrong`` names a feared mistake, so that tests can show that their figures tell it apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from hiertopics.base.arrays import F64

Row = F64


@dataclass
class Naive:
    """A tree and what its documents share; lists by node."""

    parent: Sequence[int]
    share: Sequence[float]
    concentration: Sequence[float]
    stop_a: Sequence[float]
    stop_b: Sequence[float]
    wrong: str = ""

    def children(self, node: int) -> list[int]:
        return [child for child, above in enumerate(self.parent) if above == node]

    def subtree(self, node: int) -> list[int]:
        return [node, *(below for child in self.children(node) for below in self.subtree(child))]

    def at_or_below(self, row: Row) -> Row:
        return np.array([row[self.subtree(node)].sum() for node in range(len(row))])

    def theta(self, n: Row, s: Row) -> Row:
        """Return the chance that the next token stops at each node."""
        theta = np.zeros(len(n))

        def visit(node: int, reached: float) -> None:
            below = self.children(node)
            a, b = self.stop_a[node], self.stop_b[node]
            if not below:
                chance = {"leaves stop evenly": a / (a + 1.0 / 3), "": 1.0}.get(self.wrong, 1.0)
                if self.wrong == "leaves stop by counts":
                    chance = (1 + n[node]) / (2 + n[node])
                if self.wrong == "leaves stop by a quarter":
                    chance = 0.25
                theta[node] = reached * chance
                return
            g, beta = s[node] - n[node], self.concentration[node]
            theta[node] = reached * (a + n[node]) / (a + b + s[node])
            going = reached * (b + g) / (a + b + s[node])
            customers = s[node] if self.wrong == "customers are all who pass" else g
            for child in below:
                visit(child, going * (s[child] + beta * self.share[child]) / (customers + beta))

        visit(0, 1.0)
        return theta

    def without_token(self, n: Row, s: Row, r: Row, count: float = 1.0) -> tuple[Row, Row]:
        """Return the counts without one token of responsibilities r."""
        u = self.at_or_below(r)
        if self.wrong == "the token stays above":
            inner = np.array([bool(self.children(node)) for node in range(len(r))])
            return n - r, s - np.where(inner, 0.0, r)
        times = count if self.wrong == "the whole pair is taken out" else 1.0
        return n - times * r, s - times * u

    def log_chance(self, n: Row) -> float:
        """Return log p(z) of one document's counts."""
        s, total = self.at_or_below(n), 0.0
        for node in range(len(n)):
            below = self.children(node)
            if not below:
                continue
            a, b, beta = self.stop_a[node], self.stop_b[node], self.concentration[node]
            g = s[node] - n[node]
            total += betaln(a + n[node], b + g) - betaln(a, b)
            total += gammaln(beta) - gammaln(beta + g)
            for child in below:
                mass = beta * self.share[child]
                total += gammaln(mass + s[child]) - gammaln(mass)
        return float(total)


T5 = Naive(
    parent=(-1, 0, 0, 1, 1),
    share=(1.0, 0.6, 0.4, 0.7, 0.3),
    concentration=(0.9, 0.5, 0.0, 0.0, 0.0),
    stop_a=(0.5, 0.8, 1.0, 1.0, 1.0),
    stop_b=(1.5, 1.1, 0.0, 0.0, 0.0),
)
"""The tiny tree of the tests."""

PHI = np.array(
    [[0.4, 0.3, 0.3], [0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1], [0.8, 0.1, 0.1]]
)
"""Topics of its nodes."""

DOCUMENT = np.array([2.0, 1.0, 1.0])
"""Tokens of each word of the tiny document."""


def fold_in(tree: Naive, n_sweeps: int, start: Row | None = None) -> tuple[Row, Row]:
    """Return q [3, 5] and p(next word) [3] of the tiny document after sweeps over its pairs."""
    nothing = np.zeros(5)
    r = PHI.T * tree.theta(nothing, nothing) if start is None else start.copy()
    r /= r.sum(axis=1, keepdims=True)
    for _ in range(n_sweeps):
        for word, count in enumerate(DOCUMENT):
            n = DOCUMENT @ r
            s = tree.at_or_below(n)
            left = tree.without_token(n, s, r[word], count)
            weights = tree.theta(*(np.maximum(counts, 0) for counts in left)) * PHI[:, word]
            r[word] = weights / weights.sum()
    n = DOCUMENT @ r
    return r, tree.theta(n, tree.at_or_below(n)) @ PHI


def assignments(n_tokens: int, n_nodes: int) -> Iterator[tuple[int, ...]]:
    """Yield every assignment of tokens to nodes."""
    return itertools.product(range(n_nodes), repeat=n_tokens)


def counts(z: Sequence[int], n_nodes: int) -> Row:
    """Return the tokens at each node."""
    return np.bincount(z, minlength=n_nodes).astype(float)


LANES = 16
"""Lists are added up lane by lane: every sixteenth entry from the first on, then from the next."""


def families(tree: Naive) -> list[list[int]]:
    """Return the children of each inner node, the root among its own; those below it come next."""

    def behind(node: int) -> Iterator[list[int]]:
        children = tree.children(node)
        if children or node == 0:
            yield [0, *children] if node == 0 else children
        for child in children:
            yield from behind(child)

    return list(behind(0))


def sweep_by_lists(
    tree: Naive,
    docs: Sequence[Sequence[int]],
    z: list[list[int]],
    eta: float,
    n_words: int,
    rng: np.random.Generator,
) -> None:
    """Redraw each token, counting everything anew; a number first looks among a word's nodes.

    These are in the order of a list that is made for the sweep, lane by lane; then all nodes follow
    family by family (theory/nhdp 5.1).
    """
    n_nodes = len(tree.parent)
    everywhere = [node for family in families(tree) for node in family]
    tokens = [(w, k) for ws, ks in zip(docs, z, strict=True) for w, k in zip(ws, ks, strict=True)]
    lists = {word: sorted({k for w, k in tokens if w == word}) for word, _ in tokens}
    for doc, words in enumerate(docs):
        for place, word in enumerate(words):
            old, listed = z[doc][place], lists[word]
            z[doc][place] = -1
            tokens = [(w, k) for d, ws in enumerate(docs) for w, k in zip(ws, z[d], strict=True)]
            n_k = np.array([sum(k == node for _, k in tokens) for node in range(n_nodes)])
            n = np.array([float(z[doc].count(node)) for node in range(n_nodes)])
            scaled = tree.theta(n, tree.at_or_below(n)) / (n_k + eta * n_words)
            order = [p for lane in range(LANES) for p in range(lane, len(listed), LANES)]
            of_list = [tokens.count((word, listed[p])) * scaled[listed[p]] for p in order]
            weights = np.concatenate([of_list, eta * scaled[everywhere]])
            at = np.searchsorted(weights.cumsum(), rng.random() * weights.sum(), side="right")
            new = ([listed[p] for p in order] + everywhere)[int(at)]
            z[doc][place] = new
            if new != old and (word, old) not in tokens:
                listed[listed.index(old)] = listed[-1]
                listed.pop()
            if new not in listed:
                listed.append(new)


def expected_tables(tree: Naive, r: Row, tokens: Row) -> tuple[Row, Row]:
    """Return expected tables by node, and the growth of each inner concentration (theory/nhdp 4).

    r [n_pairs, K], tokens [n_pairs], of one document.
    """
    n_nodes = len(tree.parent)
    u = np.array([tree.at_or_below(row) for row in r])
    tables, growth = np.zeros(n_nodes), np.zeros(n_nodes)
    for node in range(n_nodes):
        below = tree.children(node)
        if not below:
            continue
        beta = tree.concentration[node]
        for child in below:
            tables[child] = _grown(beta * tree.share[child], u[:, child], tokens, times_x=True)
        growth[node] = _grown(beta, u[:, node] - r[:, node], tokens)
    return tables, growth


def expected_stops(tree: Naive, r: Row, tokens: Row) -> Row:
    """Return stops, goes and the growth of their sum, float64 [3, K], of one document.

    Of an inner node: tables of the stop weights a and b among those who stop and who go on, and
    the growth of a + b among all who pass (theory/nhdp 4); 0 at leaves.
    """
    u = np.array([tree.at_or_below(row) for row in r])
    found = np.zeros((3, len(tree.parent)))
    for node in range(len(tree.parent)):
        if tree.children(node):
            a, b = tree.stop_a[node], tree.stop_b[node]
            found[:, node] = (
                _grown(a, r[:, node], tokens, times_x=True),
                _grown(b, u[:, node] - r[:, node], tokens, times_x=True),
                _grown(a + b, u[:, node], tokens),
            )
    return found


def _grown(x: float, chance: Row, tokens: Row, *, times_x: bool = False) -> float:
    seen = 1.0 - np.prod(np.maximum(1.0 - chance, 0.0) ** tokens)
    if seen == 0:
        return 0.0
    size = max((tokens * chance).sum() / seen, 1.0)
    return float(seen * (digamma(x + size) - digamma(x)) * (x if times_x else 1.0))
