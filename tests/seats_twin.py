"""Drawn tables of bursty documents, written plainly over all states of a tiny corpus.

A state has a row for each pair: the topics of its tables, in order. Moves are told as chances, so
that a sweep is a matrix over states, and as what uniform numbers draw, for comparison with kernels.
The first row of ``MISTAKES`` is the right one; each names what is wrong with the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from bursts_twin import stirling

from hiertopics.base.arrays import F64

Row = tuple[int, ...]
State = tuple[Row, ...]


class Rule(NamedTuple):
    """How tables come and go."""

    concentration: bool = True
    discount_of_tables: bool = True
    going_sees: int = -1
    table_out: bool = True
    discount_in_stirling: bool = True
    ways: bool = False
    forced: bool = False
    divided: bool = True
    any_goes: bool = False


MISTAKES = {
    "right": Rule(),
    "b for b + a T": Rule(discount_of_tables=False),
    "1 for b": Rule(concentration=False),
    "go with a T": Rule(going_sees=0),
    "go with its table left in": Rule(table_out=False),
    "no discount in S": Rule(discount_in_stirling=False),
    "times t + 1": Rule(ways=True),
    "direction forced at the ends": Rule(forced=True),
    "p not divided": Rule(divided=False),
    "any table goes": Rule(any_goes=True),
}


class Twin:
    """Documents as lists of (word, count), and a process whose numbers are held.

    alpha: [T], eta: of each of n_words.
    """

    def __init__(
        self,
        docs: Sequence[Sequence[tuple[int, int]]],
        alpha: F64,
        eta: float,
        n_words: int,
        process: tuple[float, float],
        rule: Rule = MISTAKES["right"],
    ) -> None:
        self.pairs = [(d, w, c) for d, doc in enumerate(docs) for w, c in doc]
        self.alpha, self.eta, self.n_words, self.rule = alpha, eta, n_words, rule
        self.discount, self.concentration = process

    def states(self) -> list[State]:
        """Return all states."""
        n_topics = len(self.alpha)
        rows = [
            [row for t in range(1, c + 1) for row in itertools.product(range(n_topics), repeat=t)]
            for _, _, c in self.pairs
        ]
        return list(itertools.product(*rows))

    def log_joint(self, state: State) -> float:
        """Return ln (1)."""
        a, b = self.discount, self.concentration
        total = 0.0
        for doc in {d for d, _, _ in self.pairs}:
            n = sum(c for d, _, c in self.pairs if d == doc)
            tables = self.n_tables(state, doc)
            total += sum(math.log(b + a * i) for i in range(tables))
            total -= sum(math.log(b + i) for i in range(n))
            total += self.log_mixture(self.counts(state, doc=doc))
        for (_, _, c), row in zip(self.pairs, state, strict=True):
            total += math.log(stirling(c, a)[len(row) - 1])
        for topic in range(len(self.alpha)):
            of_words = np.array(
                [self.counts(state, word=word)[topic] for word in range(self.n_words)]
            )
            total += _log_urn(of_words, np.full(self.n_words, self.eta))
        return total

    def counts(self, state: State, *, doc: int | None = None, word: int | None = None) -> F64:
        """Return the tables of each topic, of a document or a word alone where they are given."""
        found = np.zeros(len(self.alpha))
        for (d, w, _), row in zip(self.pairs, state, strict=True):
            if doc in (None, d) and word in (None, w):
                np.add.at(found, list(row), 1)
        return found

    def n_tables(self, state: State, doc: int) -> int:
        """Return T_d."""
        of_doc = (row for (d, _, _), row in zip(self.pairs, state, strict=True) if d == doc)
        return sum(len(row) for row in of_doc)

    def weights(self, state: State, pair: int) -> F64:
        """Return q_k of a further table of a pair, all tables of ``state`` in."""
        doc, word, _ = self.pairs[pair]
        words = self.counts(state, word=word) + self.eta
        topics = words / (self.counts(state) + self.n_words * self.eta)
        return np.asarray(self.shares(self.counts(state, doc=doc)) * topics)

    def log_mixture(self, counts: F64) -> float:
        """Return the log chance of the topics of a document's tables. counts: [T]."""
        return _log_urn(counts, self.alpha)

    def shares(self, counts: F64) -> F64:
        """Return the shares [T] of topics for a further table of a document, up to a factor."""
        return np.asarray(counts + self.alpha)

    def whole(self, n_tables: int) -> float:
        """Return what ``shares`` of a document of so many tables sum to."""
        return float(n_tables + self.alpha.sum())

    def odds(self, state: State, pair: int, seen: int) -> float:
        """Return by what (1) grows with a further table. seen: others that the discount sees."""
        doc, _, count = self.pairs[pair]
        t, rule = len(state[pair]), self.rule
        s = stirling(count, self.discount if rule.discount_in_stirling else 0.0)
        b = self.concentration if rule.concentration else 1.0
        a = self.discount if rule.discount_of_tables else 0.0
        p = self.weights(state, pair).sum()
        if rule.divided:
            p /= self.whole(self.n_tables(state, doc))
        return float(s[t] / s[t - 1] * (b + a * (self.n_tables(state, doc) + seen)) * p)

    def comes(self, state: State, pair: int) -> float:
        """Return R of the coming of a table."""
        ways = len(state[pair]) + 1 if self.rule.ways else 1
        return ways * self.odds(state, pair, 0)

    def goes(self, state: State, pair: int, place: int) -> float:
        """Return R of the going of the table at a place of a row."""
        without = _replaced(state, pair, state[pair][:place] + state[pair][place + 1 :])
        if self.rule.table_out:
            return 1.0 / self.odds(without, pair, self.rule.going_sees + 1)
        doc, _, count = self.pairs[pair]
        s, t = stirling(count, self.discount), len(state[pair])
        total = self.n_tables(state, doc)
        p = self.weights(state, pair).sum() / self.whole(total)
        base = self.concentration + self.discount * (total - 1)
        return float(s[t - 2] / s[t - 1] / (base * p))

    def seat(self, state: State, pair: int, uniforms: Sequence[float], order: Order) -> State:
        """Return the state after a step of a pair that three uniform numbers decide.

        order: which weights, in which order, the third one looks among.
        """
        direction, chance, where = uniforms
        row, count = state[pair], self.pairs[pair][2]
        if direction < 0.5:
            if len(row) == count or chance >= self.comes(state, pair):
                return state
            topics, weights = order(self, state, pair)
            at = np.searchsorted(np.cumsum(weights), where * np.sum(weights), side="right")
            return _replaced(state, pair, (*row, topics[int(at)]))
        if len(row) == 1 or chance >= self.goes(state, pair, len(row) - 1):
            return state
        return _replaced(state, pair, row[:-1])

    def matrix(self, states: list[State], *, pair_by_pair: bool) -> F64:
        """Return the chances of a sweep: topics of tables, then a step of each pair.

        pair_by_pair: a pair steps as soon as its topics are redrawn, else after those of its
        document.
        """
        made = np.eye(len(states))
        for step in self.steps(states, pair_by_pair=pair_by_pair):
            made = made @ step
        return made

    def steps(self, states: list[State], *, pair_by_pair: bool) -> Iterator[F64]:
        """Yield the chances of each step of a sweep; see ``matrix``."""
        for own in self._groups(pair_by_pair):
            for pair in own:
                for place in range(self.pairs[pair][2]):
                    yield self._matrix_of(states, partial(self._topic_moves, pair, place))
            for pair in own:
                if self.pairs[pair][2] > 1:
                    yield self._matrix_of(states, partial(self._seat_moves, pair))

    def _groups(self, pair_by_pair: bool) -> list[list[int]]:
        if pair_by_pair:
            return [[pair] for pair in range(len(self.pairs))]
        docs = sorted({d for d, _, _ in self.pairs})
        return [[i for i, (d, _, _) in enumerate(self.pairs) if d == doc] for doc in docs]

    def _topic_moves(self, pair: int, place: int, state: State) -> list[tuple[float, State]]:
        row = state[pair]
        if place >= len(row):
            return [(1.0, state)]
        q = self.weights(_replaced(state, pair, row[:place] + row[place + 1 :]), pair)
        return [
            (chance, _replaced(state, pair, (*row[:place], topic, *row[place + 1 :])))
            for topic, chance in enumerate(q / q.sum())
        ]

    def _seat_moves(self, pair: int, state: State) -> list[tuple[float, State]]:
        row, count = state[pair], self.pairs[pair][2]
        coming = 0.5
        if self.rule.forced:
            coming = 1.0 if len(row) == 1 else 0.0 if len(row) == count else 0.5
        moves = []
        if len(row) < count:
            q = self.weights(state, pair)
            accepted = coming * min(1.0, self.comes(state, pair))
            moves += [
                (accepted * chance, _replaced(state, pair, (*row, topic)))
                for topic, chance in enumerate(q / q.sum())
            ]
        if len(row) > 1:
            places = range(len(row)) if self.rule.any_goes else [len(row) - 1]
            for place in places:
                rate = (1 - coming) / len(places) * min(1.0, self.goes(state, pair, place))
                moves.append((rate, _replaced(state, pair, row[:place] + row[place + 1 :])))
        return [*moves, (1.0 - sum(chance for chance, _ in moves), state)]

    def _matrix_of(
        self, states: list[State], moves: Callable[[State], list[tuple[float, State]]]
    ) -> F64:
        number = {state: i for i, state in enumerate(states)}
        made = np.zeros((len(states), len(states)))
        for i, state in enumerate(states):
            for chance, after in moves(state):
                made[i, number[after]] += chance
        return made


Order = Callable[[Twin, State, int], tuple[list[int], F64]]


def as_numbered(twin: Twin, state: State, pair: int) -> tuple[list[int], F64]:
    """Look among topics as they are numbered."""
    return list(range(len(twin.alpha))), twin.weights(state, pair)


def stationary(matrix: F64) -> F64:
    """Return the law that a sweep keeps."""
    law = np.full(len(matrix), 1.0 / len(matrix))
    power = np.linalg.matrix_power(matrix, 4096)
    return np.asarray(law @ power)


def _replaced(state: State, pair: int, row: Row) -> State:
    return (*state[:pair], row, *state[pair + 1 :])


def _log_urn(counts: F64, prior: F64) -> float:
    total = math.lgamma(prior.sum()) - math.lgamma(prior.sum() + counts.sum())
    each = zip(counts, prior, strict=True)
    return total + sum(math.lgamma(n + a) - math.lgamma(a) for n, a in each)
