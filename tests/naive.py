"""Slow, obvious versions of the HDP algorithms, and exact posteriors of tiny corpora.

Nothing here shares code with the package. ``docs[d][i]`` is the word of a token and ``q[d][i]``
the list of its q(z = k); counts are summed afresh wherever they are needed. Section numbers are
those of theory/hdp.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln, polygamma, roots_jacobi

from hiertopics.base.arrays import F64, I64

Docs = list[list[int]]
Resp = list[list[list[float]]]
Array = F64

# --- PCVB0, token by token (section 3) ---------------------------------------------------------


@dataclass
class TokenPcvb0:
    """PCVB0 over tokens, in lists of Python floats: one q per token, no pairs."""

    docs: Docs
    q: Resp
    n_words: int
    alpha: float
    gamma: float
    word_mass: float
    pi: list[float]
    tau: list[float]

    def step(self, *, learn: bool, reorder: bool, learn_tau: bool) -> None:
        self.sweep()
        if learn:
            self.learn(reorder=reorder, learn_tau=learn_tau)

    def sweep(self) -> None:
        """Refit every token in turn (3.1)."""
        doc_prior = [self.alpha * share for share in self.pi]
        word_prior = [self.word_mass * share for share in self.tau]
        for d, doc in enumerate(self.docs):
            for i in range(len(doc)):
                self.q[d][i] = token_update(self.docs, self.q, d, i, doc_prior, word_prior)

    def learn(self, *, reorder: bool, learn_tau: bool) -> None:
        """Refit sticks, alpha, gamma, word mass and tau (3.2 to 3.4)."""
        topics = range(len(self.pi))
        doc_seen = [
            [1.0 - math.prod(1.0 - row[k] for row in rows) for k in topics] for rows in self.q
        ]
        word_seen = [[self._seen_of_word(v, k) for k in topics] for v in range(self.n_words)]
        tables = [sum(row[k] for row in doc_seen) for k in topics]
        order = sorted(topics, key=lambda k: -tables[k]) if reorder else list(topics)
        sticks = fit_sticks([tables[k] for k in order], self.gamma)
        along = mean_weights(sticks)
        self.pi = [along[order.index(k)] for k in topics]

        growth = sum(digamma(len(doc) + self.alpha) - digamma(self.alpha) for doc in self.docs)
        self.alpha = sum(tables) / growth
        self.gamma = len(sticks) / sum(digamma(a + b) - digamma(b) for a, b in sticks)
        sizes = [sum(row[k] for rows in self.q for row in rows) for k in topics]
        growth = sum(digamma(n + self.word_mass) - digamma(self.word_mass) for n in sizes)
        word_tables = [sum(row) for row in word_seen]
        self.word_mass = sum(word_tables) / growth
        if learn_tau:
            total = sum(word_tables) + 0.1 * self.n_words
            self.tau = [(tables + 0.1) / total for tables in word_tables]

    def _seen_of_word(self, word: int, k: int) -> float:
        absent = 1.0
        for doc, rows in zip(self.docs, self.q, strict=True):
            for v, row in zip(doc, rows, strict=True):
                if v == word:
                    absent *= 1.0 - row[k]
        return 1.0 - absent


def token_update(
    docs: Docs,
    q: Resp,
    d: int,
    i: int,
    doc_prior: Sequence[float],
    word_prior: Sequence[float],
) -> list[float]:
    """Return q of token i of document d given all the others (equation 35)."""
    topics = range(len(doc_prior))
    n_dk, n_wk, n_k = ([0.0] * len(doc_prior) for _ in range(3))
    word = docs[d][i]
    for e, doc in enumerate(docs):
        for j, v in enumerate(doc):
            if (e, j) == (d, i):
                continue
            for k in topics:
                n_k[k] += q[e][j][k]
                n_dk[k] += q[e][j][k] if e == d else 0.0
                n_wk[k] += q[e][j][k] if v == word else 0.0
    total = sum(word_prior)
    weights = [
        (n_dk[k] + doc_prior[k]) * (n_wk[k] + word_prior[word]) / (n_k[k] + total) for k in topics
    ]
    return [weight / sum(weights) for weight in weights]


def fit_sticks(tables: Sequence[float], gamma: float) -> list[tuple[float, float]]:
    """Return Beta(a, b) of each stick but the last, tables in stick order (3.3)."""
    return [(1.0 + tables[j], gamma + sum(tables[j + 1 :])) for j in range(len(tables) - 1)]


def mean_weights(sticks: Sequence[tuple[float, float]]) -> list[float]:
    """Return E[pi] in stick order."""
    weights, rest = [], 1.0
    for a, b in sticks:
        weights.append(rest * a / (a + b))
        rest *= b / (a + b)
    return [*weights, rest]


# --- The same over pairs -----------------------------------------------------------------------


class Pairs(NamedTuple):
    """A corpus as (document, word, count) triples."""

    doc: I64
    word: I64
    count: Array  # type: ignore[assignment]  # a tuple has a method of that name


def pair_sweep(
    pairs: Pairs,
    q: Array,
    doc_prior: Array,
    word_prior: Array,
    *,
    word_total: float | None = None,
    exclude: str = "token",
) -> Array:
    """Return q [n_pairs, T] after a visit to every pair, one token of it excluded (3.1).

    word_total: where it is not the sum of ``word_prior`` (5.2). exclude: "pair" takes the whole
    pair out instead, which has other fixed points.
    """
    q = q.copy()
    total = word_prior.sum() if word_total is None else word_total
    for p, (d, v, c) in enumerate(zip(*pairs, strict=True)):
        out = q[p] * (c if exclude == "pair" else 1.0)
        counts = pairs.count[:, None] * q
        n_dk = counts[pairs.doc == d].sum(axis=0) - out
        n_wk = counts[pairs.word == v].sum(axis=0) - out
        n_k = counts.sum(axis=0) - out
        weights = (n_dk + doc_prior) * (n_wk + word_prior[v]) / (n_k + total)
        q[p] = weights / weights.sum()
    return q


def second_order_sweep(
    pairs: Pairs,
    q: Array,
    doc_prior: Array,
    word_prior: Array,
    *,
    word_total: float | None = None,
) -> Array:
    """Return q [n_pairs, T] after a visit to every pair, to second order (5.1, equation 34)."""
    q = q.copy()
    total = word_prior.sum() if word_total is None else word_total
    everywhere = np.ones(len(q), dtype=bool)
    for p, (d, v, _) in enumerate(zip(*pairs, strict=True)):
        log_weights = np.zeros(q.shape[1])
        for sign, mine, x in (
            (1, pairs.doc == d, doc_prior),
            (1, pairs.word == v, word_prior[v]),
            (-1, everywhere, total),
        ):
            mean = (pairs.count[mine, None] * q[mine]).sum(axis=0) - q[p]
            spread = pairs.count[mine, None] * q[mine] * (1.0 - q[mine])
            variance = spread.sum(axis=0) - q[p] * (1.0 - q[p])
            log_weights += sign * expected_log(x, mean, variance)
        weights = np.exp(log_weights)
        q[p] = weights / weights.sum()
    return q


def expected_log(x: Any, mean: Array, variance: Array) -> Array:
    """Return E[log(x + n)] expanded to second order around E[n] (V6)."""
    return np.asarray(np.log(x + mean) - variance / (2.0 * (x + mean) ** 2))


def seen(pairs: Pairs, q: Array, by: I64, n_rows: int) -> Array:
    """Return E[I(n >= 1)], float64 [n_rows, T], of counts grouped ``by`` pair (3.2)."""
    absent = np.ones((n_rows, q.shape[1]))
    np.multiply.at(absent, by, (1.0 - q) ** pairs.count[:, None])
    return 1.0 - absent


def grouped(pairs: Pairs, values: Array, by: I64, n_rows: int) -> Array:
    """Return the sum of count * values over the pairs of each row ``by``."""
    sums = np.zeros((n_rows, values.shape[1]))
    np.add.at(sums, by, pairs.count[:, None] * values)
    return sums


def fold_in(
    words: Sequence[int], counts: Sequence[float], phi: Array, prior: Array, n_sweeps: int
) -> Array:
    """Return expected topic counts of a document under phi [n_words, T] (7.2)."""
    q = [phi[v] * prior / (phi[v] * prior).sum() for v in words]
    for _ in range(n_sweeps):
        for p, v in enumerate(words):
            n_dk = sum(c * row for c, row in zip(counts, q, strict=True))
            weights = phi[v] * (n_dk - q[p] + prior)
            q[p] = weights / weights.sum()
    return np.asarray(sum(c * row for c, row in zip(counts, q, strict=True)))


def lda_sweep(docs: Docs, q: Resp, n_words: int, *, alpha: float, eta: float) -> None:
    """Refit q by CVB0 for LDA: counts kept up to date token by token, no sticks (11.11)."""
    n_topics = len(q[0][0])
    n_dk = np.array([np.sum(rows, axis=0) for rows in q])
    n_wk = np.zeros((n_words, n_topics))
    for doc, rows in zip(docs, q, strict=True):
        np.add.at(n_wk, doc, rows)
    for d, doc in enumerate(docs):
        for i, v in enumerate(doc):
            n_dk[d] -= q[d][i]
            n_wk[v] -= q[d][i]
            weights = (n_dk[d] + alpha) * (n_wk[v] + eta) / (n_wk.sum(axis=0) + n_words * eta)
            q[d][i] = (weights / weights.sum()).tolist()
            n_dk[d] += q[d][i]
            n_wk[v] += q[d][i]


# --- Sums of independent Bernoulli variables ---------------------------------------------------


def poisson_binomial(chances: Sequence[float]) -> Array:
    """Return P(n = 0 .. len(chances)) of the number of successes."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1.0 - chance, chance])
    return law


def expected_tables(law: Array, x: float) -> float:
    """Return E over n of x (psi(x + n) - psi(x)): tables under concentration x (5.2)."""
    sizes = np.arange(len(law))
    return float(law @ (x * (digamma(x + sizes) - digamma(x))))


def antoniak(n_tokens: int, x: float) -> Array:
    """Return P(tables = 0 .. n) of n tokens under concentration x: Stirling numbers (6, 14)."""
    stirling = np.zeros(n_tokens + 1)
    stirling[0] = 1.0
    for n in range(n_tokens):
        stirling = n * stirling + np.concatenate([[0.0], stirling[:-1]])
    log_rising = gammaln(x + n_tokens) - gammaln(x)
    return np.asarray(stirling * np.exp(np.arange(n_tokens + 1) * math.log(x) - log_rising))


# --- A sweep over tokens that looks among the topics of their words first (6.7) -----------------

LANES = 16
"""Lists are added up lane by lane: every sixteenth entry from the first on, then from the next."""


def sweep_by_lists(
    docs: Docs, z: list[list[int]], doc_prior: Array, word_prior: Array, rng: np.random.Generator
) -> None:
    """Redraw each token, counting everything anew; a number first looks among a word's topics.

    These are in the order of a list that is made for the sweep, lane by lane. doc_prior: [n_docs,
    T]. word_prior: [n_words].
    """
    tokens = [(w, k) for ws, ks in zip(docs, z, strict=True) for w, k in zip(ws, ks, strict=True)]
    lists = {word: sorted({k for w, k in tokens if w == word}) for word, _ in tokens}
    for doc, words in enumerate(docs):
        for place, word in enumerate(words):
            old, listed = z[doc][place], lists[word]
            z[doc][place] = -1
            tokens = [(w, k) for d, ws in enumerate(docs) for w, k in zip(ws, z[d], strict=True)]
            n_k = [sum(k == topic for _, k in tokens) for topic in range(doc_prior.shape[1])]
            n_dk = [z[doc].count(topic) for topic in range(doc_prior.shape[1])]
            scaled = (n_dk + doc_prior[doc]) / (np.asarray(n_k) + word_prior.sum())
            order = [p for lane in range(LANES) for p in range(lane, len(listed), LANES)]
            of_list = [tokens.count((word, listed[p])) * scaled[listed[p]] for p in order]
            weights = np.concatenate([of_list, word_prior[word] * scaled])
            at = np.searchsorted(weights.cumsum(), rng.random() * weights.sum(), side="right")
            new = ([listed[p] for p in order] + list(range(len(scaled))))[int(at)]
            z[doc][place] = new
            if new != old and (word, old) not in tokens:
                listed[listed.index(old)] = listed[-1]
                listed.pop()
            if new not in listed:
                listed.append(new)


# --- Lower bounds of the log evidence ----------------------------------------------------------


class Point(NamedTuple):
    """Where a bound is evaluated: the concentrations, tau and q(sticks) along ``order``."""

    alpha: float
    gamma: float
    word_mass: float
    tau: Array
    order: I64
    a: Array
    b: Array

    @property
    def e_log_pi(self) -> Array:
        """E[log pi_k] [T], in topic order."""
        whole = digamma(self.a + self.b)
        own = np.append(digamma(self.a) - whole, 0.0)
        before = np.concatenate([[0.0], np.cumsum(digamma(self.b) - whole)])
        along = np.empty(len(self.order))
        along[self.order] = own + before
        return along

    @property
    def stick_divergence(self) -> float:
        """KL(q(sticks) || Beta(1, gamma) each)."""
        sticks = zip(self.a, self.b, strict=True)
        return sum(beta_divergence(a, b, self.gamma) for a, b in sticks)


def beta_divergence(a: float, b: float, gamma: float) -> float:
    """Return KL(Beta(a, b) || Beta(1, gamma))."""
    whole = digamma(a + b)
    fraction, rest = digamma(a) - whole, digamma(b) - whole
    return float(betaln(1.0, gamma) - betaln(a, b) + (a - 1.0) * fraction + (b - gamma) * rest)


def surrogate(pairs: Pairs, q: Array, point: Point, n_docs: int, n_words: int) -> float:
    """Return the surrogate of the PCVB0 bound, moments for exact expectations (11.5)."""
    lengths = np.bincount(pairs.doc, pairs.count, n_docs)
    lengths = lengths[lengths > 0]
    sizes = (pairs.count[:, None] * q).sum(axis=0)
    bound = float((gammaln(point.alpha) - gammaln(point.alpha + lengths)).sum())
    bound += float((gammaln(point.word_mass) - gammaln(point.word_mass + sizes)).sum())
    doc_price = np.broadcast_to(math.log(point.alpha) + point.e_log_pi, (n_docs, q.shape[1]))
    word_price = np.log(point.word_mass * point.tau)[:, None] + np.zeros(q.shape[1])
    for by, n_rows, price in (
        (pairs.doc, n_docs, doc_price),
        (pairs.word, n_words, word_price),
    ):
        chance = seen(pairs, q, by, n_rows)
        mean = grouped(pairs, q, by, n_rows)[chance > 0]
        variance = grouped(pairs, q * (1.0 - q), by, n_rows)[chance > 0]
        price, chance = price[chance > 0], chance[chance > 0]
        given = np.maximum(mean / chance, 1.0)
        spread = np.maximum((variance + mean**2) / chance - given**2, 0.0)
        seating = gammaln(given) + spread / 2 * polygamma(1, given)
        bound += float((chance * (seating + price)).sum())
    return bound + entropy(pairs, q) - point.stick_divergence


def true_bound(docs: Docs, q: Resp, point: Point) -> float:
    """Return the PCVB0 bound with exact expectations over q(z): tiny corpora only (11.6)."""
    n_topics = len(point.order)
    price = math.log(point.alpha) + point.e_log_pi
    bound = 0.0
    for doc, rows in zip(docs, q, strict=True):
        bound += float(gammaln(point.alpha) - gammaln(point.alpha + len(doc)))
        for k in range(n_topics):
            bound += _expected_seating([row[k] for row in rows], price[k])
    for k in range(n_topics):
        law = poisson_binomial([row[k] for rows in q for row in rows])
        bound -= float(
            law @ (gammaln(point.word_mass + np.arange(len(law))) - gammaln(point.word_mass))
        )
        for v, share in enumerate(point.tau):
            chances = [row[k] for row in _rows_of_word(docs, q, v)]
            bound += _expected_seating(chances, math.log(point.word_mass * share))
    table = np.array([row for rows in q for row in rows])
    return bound - float((table * np.log(np.maximum(table, 1e-300))).sum()) - point.stick_divergence


def entropy(pairs: Pairs, q: Array) -> float:
    """Return the entropy of q(z) over all tokens."""
    return -float((pairs.count[:, None] * q * np.log(np.maximum(q, 1e-300))).sum())


def _expected_seating(chances: Sequence[float], price: float) -> float:
    """Return E[(log Gamma(n) + price) I(n >= 1)]."""
    law = poisson_binomial(chances)
    sizes = np.arange(1, len(law))
    return float(law[1:] @ (gammaln(sizes) + price))


def _rows_of_word(docs: Docs, q: Resp, word: int) -> Iterator[list[float]]:
    for doc, rows in zip(docs, q, strict=True):
        for v, row in zip(doc, rows, strict=True):
            if v == word:
                yield row


# --- The bound of CVB, with exact expectations over q(z) (5.2) ---------------------------------


class Gamma(NamedTuple):
    """A Gamma distribution."""

    shape: float
    rate: float

    @property
    def mean(self) -> float:
        """E[x]."""
        return self.shape / self.rate

    @property
    def e_log(self) -> float:
        """E[log x]."""
        return float(digamma(self.shape) - math.log(self.rate))

    @property
    def divergence(self) -> float:
        """KL from the prior Gamma(1, 1)."""
        a, b = self.shape, self.rate
        return float((a - 1) * digamma(a) - gammaln(a) + math.log(b) + a * (1 - b) / b)


class CvbPoint(NamedTuple):
    """The posteriors of CVB but q(z); sticks in topic order, word_shape None where tau is fixed."""

    alpha: Gamma
    gamma: Gamma
    word_mass: Gamma
    sticks: list[tuple[float, float]]
    tau_geo: Array
    word_shape: Array | None

    @property
    def doc_mass(self) -> Array:
        """G[alpha] G[pi_k], [T]."""
        fraction, rest = self._e_log_sticks
        log_pi = np.append(fraction, 0.0) + np.concatenate([[0.0], np.cumsum(rest)])
        return np.asarray(np.exp(self.alpha.e_log + log_pi))

    @property
    def words(self) -> Array:
        """G[word mass] G[tau_v], [n_words]."""
        return np.asarray(math.exp(self.word_mass.e_log) * self.tau_geo)

    @property
    def divergence(self) -> float:
        """KL of all but q(z) from the prior."""
        total = self.alpha.divergence + self.gamma.divergence + self.word_mass.divergence
        for (a, b), fraction, rest in zip(self.sticks, *self._e_log_sticks, strict=True):
            total += (a - 1) * fraction + (b - 1) * rest - betaln(a, b)
            total -= self.gamma.e_log + (self.gamma.mean - 1) * rest
        if self.word_shape is not None:
            c = self.word_shape
            total += gammaln(c.sum()) - gammaln(c).sum() - gammaln(len(c))
            total += ((c - 1) * (digamma(c) - digamma(c.sum()))).sum()
        return float(total)

    @property
    def _e_log_sticks(self) -> tuple[Array, Array]:
        a, b = np.array(self.sticks).T
        return digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)


def cvb_bound(docs: Docs, q: Resp, point: CvbPoint) -> float:
    """Return the bound after the auxiliary variables have been summed out."""

    def expected(log_factor: Callable[[NDArray[Any]], Array], chances: Sequence[float]) -> float:
        law = poisson_binomial(chances)
        return float(np.dot(law, log_factor(np.arange(len(law)))))

    topics = range(len(point.doc_mass))
    bound = 0.0
    for doc, rows in zip(docs, q, strict=True):
        bound -= float(gammaln(point.alpha.mean + len(doc)) - gammaln(point.alpha.mean))
        for k in topics:
            x = point.doc_mass[k]
            bound += expected(partial(_log_growth, x), [row[k] for row in rows])
    for k in topics:
        chances = [row[k] for rows in q for row in rows]
        bound -= expected(partial(_log_growth, point.word_mass.mean), chances)
        for v, y in enumerate(point.words):
            chances = [row[k] for row in _rows_of_word(docs, q, v)]
            bound += expected(partial(_log_growth, y), chances)
    table = np.array([row for rows in q for row in rows])
    return bound - float((table * np.log(np.maximum(table, 1e-300))).sum()) - point.divergence


def cvb_sweep(docs: Docs, q: Resp, point: CvbPoint) -> None:
    """Refit every token in turn with exact expectations of the logarithms: never lowers the bound.

    The factor E[word mass] in the denominators is the mean, which eta and xi make it (5.2).
    """
    for d, doc in enumerate(docs):
        for i, word in enumerate(doc):
            others = [
                (e, v, q[e][j])
                for e, tokens in enumerate(docs)
                for j, v in enumerate(tokens)
                if (e, j) != (d, i)
            ]
            log_weights = []
            for k, x in enumerate(point.doc_mass):
                in_doc = [row[k] for e, _, row in others if e == d]
                in_word = [row[k] for _, v, row in others if v == word]
                log_weights.append(
                    _e_log(x, in_doc)
                    + _e_log(point.words[word], in_word)
                    - _e_log(point.word_mass.mean, [row[k] for *_, row in others])
                )
            weights = np.exp(np.array(log_weights) - max(log_weights))
            q[d][i] = (weights / weights.sum()).tolist()


class ExpectedTables(NamedTuple):
    """Exact expectations: tables by topic [T] and by word [n_words], sum of E[log xi_k]."""

    by_topic: Array
    by_word: Array
    log_xi: float


def cvb_tables(
    docs: Docs, q: Resp, doc_mass: Array, words: Array, word_mass: float
) -> ExpectedTables:
    """Return what the other posteriors of CVB need of q(z), by exact Poisson-binomial laws."""
    by_topic, by_word, log_xi = np.zeros(len(doc_mass)), np.zeros(len(words)), 0.0
    for k, x in enumerate(doc_mass):
        for rows in q:
            by_topic[k] += expected_tables(poisson_binomial([row[k] for row in rows]), x)
        for v, y in enumerate(words):
            law = poisson_binomial([row[k] for row in _rows_of_word(docs, q, v)])
            by_word[v] += expected_tables(law, y)
        law = poisson_binomial([row[k] for rows in q for row in rows])
        log_xi -= expected_tables(law, word_mass) / word_mass
    return ExpectedTables(by_topic, by_word, log_xi)


def _log_growth(x: float, n: Array) -> Array:
    return np.asarray(gammaln(x + n) - gammaln(x))


def _e_log(x: float, chances: Sequence[float]) -> float:
    law = poisson_binomial(chances)
    return float(law @ np.log(x + np.arange(len(law))))


# --- Exact posteriors by enumeration (11.6, 11.7, section 6) -----------------------------------


class Exact(NamedTuple):
    """The posterior of a tiny corpus: states int64 [T^W, W] in lexicographic order, their
    probabilities, E[pi] and the log evidence.
    """

    states: I64
    chances: Array
    mean_pi: Array
    log_evidence: float


def posterior(
    docs: Docs, alpha: float, word_prior: Array, weighted_pi: list[tuple[float, Array]]
) -> Exact:
    """Enumerate the assignments; pi is integrated over ``weighted_pi`` (weight, pi) nodes."""
    n_topics = len(weighted_pi[0][1])
    n_tokens = sum(len(doc) for doc in docs)
    states = np.array(list(itertools.product(range(n_topics), repeat=n_tokens)))
    words = log_words(states, docs, word_prior, n_topics)
    parts = np.array(
        [math.log(weight) + log_topics(states, docs, alpha * pi) for weight, pi in weighted_pi]
    )
    joint = np.exp(parts + words)
    evidence = joint.sum()
    mean_pi = joint.sum(axis=1) @ np.array([pi for _, pi in weighted_pi]) / evidence
    return Exact(states, joint.sum(axis=0) / evidence, mean_pi, math.log(evidence))


def stick_nodes(n_topics: int, gamma: float, n_nodes: int) -> list[tuple[float, Array]]:
    """Return nodes and weights of the stick-breaking prior by Gauss-Jacobi quadrature.

    The likelihood is a polynomial in each stick, so that few nodes integrate it exactly.
    """
    points, weights = roots_jacobi(n_nodes, gamma - 1.0, 0.0)
    fractions, weights = (1.0 + points) / 2, weights / weights.sum()
    nodes = []
    for chosen in itertools.product(range(n_nodes), repeat=n_topics - 1):
        sticks = fractions[list(chosen)]
        pi = np.append(sticks, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - sticks)])
        nodes.append((float(weights[list(chosen)].prod()), pi))
    return nodes


def log_topics(states: I64, docs: Docs, doc_prior: Array) -> Array:
    """Return log p(z | pi) of each state [n_states, W], document weights integrated out (17)."""
    total, start = np.zeros(len(states)), 0
    for doc in docs:
        inside = states[:, start : start + len(doc)]
        for k, prior in enumerate(doc_prior):
            total += log_rising(prior, (inside == k).sum(axis=1))
        total -= log_rising(doc_prior.sum(), np.full(len(states), len(doc)))
        start += len(doc)
    return total


def log_words(states: I64, docs: Docs, word_prior: Array, n_topics: int) -> Array:
    """Return log p(w | z) of each state, topics integrated out (17)."""
    words = np.array([v for doc in docs for v in doc])
    total = np.zeros(len(states))
    for k in range(n_topics):
        inside = states == k
        for v, prior in enumerate(word_prior):
            total += log_rising(prior, inside[:, words == v].sum(axis=1))
        total -= log_rising(word_prior.sum(), inside.sum(axis=1))
    return total


def log_rising(a: float, n: I64) -> Array:
    """Return log(a (a + 1) ... (a + n - 1))."""
    steps = [sum(math.log(a + j) for j in range(size)) for size in range(int(n.max()) + 1)]
    return np.array(steps)[n]


def predictive(exact: Exact, docs: Docs, doc_prior: Array, word_prior: Array) -> Array:
    """Return the posterior mean of p(v | d) [n_docs, n_words], pi being fixed (11.7)."""
    words = [v for doc in docs for v in doc]
    owner = [d for d, doc in enumerate(docs) for _ in doc]
    mean = np.zeros((len(docs), len(word_prior)))
    for state, chance in zip(exact.states, exact.chances, strict=True):
        n_dk = np.zeros((len(docs), len(doc_prior)))
        n_wk = np.zeros((len(word_prior), len(doc_prior)))
        np.add.at(n_dk, (owner, state), 1.0)
        np.add.at(n_wk, (words, state), 1.0)
        mean += chance * (share(n_dk + doc_prior, axis=1) @ share(n_wk.T + word_prior, axis=1))
    return mean


def share(weights: Array, axis: int) -> Array:
    """Return ``weights`` divided by their sums along ``axis``."""
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def log_joint(
    docs: Docs,
    z: Sequence[Sequence[int]],
    doc_prior: Sequence[float],
    word_prior: Sequence[float],
) -> float:
    """Return log p(z, w): one token after the other, each given those before it (17)."""
    n_topics = len(doc_prior)
    n_wk = [[0] * n_topics for _ in word_prior]
    log_chance = 0.0
    for doc, topics in zip(docs, z, strict=True):
        n_dk = [0] * n_topics
        for v, k in zip(doc, topics, strict=True):
            log_chance += math.log((n_dk[k] + doc_prior[k]) / (sum(n_dk) + sum(doc_prior)))
            n_k = sum(row[k] for row in n_wk)
            log_chance += math.log((n_wk[v][k] + word_prior[v]) / (n_k + sum(word_prior)))
            n_dk[k] += 1
            n_wk[v][k] += 1
    return log_chance
