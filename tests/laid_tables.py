"""Tables of bursty documents drawn forwards, for joint-distribution tests (theory/bursts 9)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from hiertopics.base.arrays import F64, I32
from hiertopics.numeric.pitman_yor import PitmanYor


class Table(NamedTuple):
    """A table of a document: its tokens and its topic."""

    size: int
    topic: int


Documents = list[list[Table]]


def seated(lengths: Any, process: PitmanYor, rng: Any) -> list[list[int]]:
    """Return the sizes of the tables of documents of these lengths, token by token."""
    discount, concentration = process
    found = []
    for length in lengths:
        sizes: list[int] = []
        for token in range(length):
            opens = concentration + discount * len(sizes)
            if rng.random() * (concentration + token) < opens:
                sizes.append(1)
            else:
                sizes[_drawn((size - discount for size in sizes), rng)] += 1
        found.append(sizes)
    return found


def with_topics(sizes: list[list[int]], prior: F64, rng: Any) -> Documents:
    """Return tables with topics, documents' weights integrated out. prior: [T]."""
    found = []
    for own in sizes:
        counts = prior.tolist()
        tables = []
        for size in own:
            topic = _drawn(counts, rng)
            counts[topic] += 1
            tables.append(Table(size, topic))
        found.append(tables)
    return found


def unlaid(word: I32, z: I32, starts: Any, discount: float, rng: Any) -> Documents:
    """Return the tables that slots have, with sizes drawn anew given how many there are.

    word, z: of all slots. starts: [n_docs + 1].
    """
    found = []
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        topics_of: dict[int, list[int]] = {}
        for own, topic in zip(word[first:last].tolist(), z[first:last].tolist(), strict=True):
            topics_of.setdefault(own, []).append(topic)
        tables: list[Table] = []
        for own in sorted(topics_of):
            topics = [topic for topic in topics_of[own] if topic >= 0]
            sizes = _sizes(len(topics_of[own]), len(topics), discount, rng)
            tables += map(Table, rng.permutation(sizes).tolist(), topics)
        found.append(tables)
    return found


def lay(
    docs: Documents, prior: F64, word: I32, z: I32, n_wk: I32, rng: Any, phi: F64 | None = None
) -> None:
    """Draw a word for each table, and write slots and counts; a word's tables in random order.

    prior: pseudo-counts of words [n_words], topics integrated out. phi: topics [n_words, T], where
    they are held instead.
    """
    n_wk[:] = 0
    at = 0
    for tables in docs:
        by_word: dict[int, list[Table]] = {}
        for table in tables:
            chances = n_wk[:, table.topic] + prior if phi is None else phi[:, table.topic]
            drawn = _drawn(chances.tolist(), rng)
            n_wk[drawn, table.topic] += 1
            by_word.setdefault(drawn, []).append(table)
        for own in sorted(by_word):
            count = sum(table.size for table in by_word[own])
            topics = rng.permutation([table.topic for table in by_word[own]])
            word[at : at + count], z[at : at + count] = own, -1
            z[at : at + len(topics)] = topics
            at += count


def _sizes(count: int, n_tables: int, discount: float, rng: Any) -> list[int]:
    """Return the sizes of so many tables of so many tokens, from the last token backwards."""
    if count == n_tables:
        return [1] * count
    whole = _stirling(count, discount)[n_tables - 1]
    if n_tables > 1 and rng.random() * whole < _stirling(count - 1, discount)[n_tables - 2]:
        return [*_sizes(count - 1, n_tables - 1, discount, rng), 1]
    sizes = _sizes(count - 1, n_tables, discount, rng)
    sizes[_drawn((size - discount for size in sizes), rng)] += 1
    return sizes


@lru_cache(maxsize=64)
def _stirling(count: int, discount: float) -> list[float]:
    """Return S^c_t, t = 1..c; numpy would take longer for rows of some numbers."""
    if count == 1:
        return [1.0]
    last = _stirling(count - 1, discount)
    grown = [(count - 1 - discount * t) * s for t, s in enumerate(last, start=1)]
    return [s + one_less for s, one_less in zip([*grown, 0.0], [0.0, *last], strict=True)]


def _drawn(weights: Iterable[float], rng: Any) -> int:
    ends = list(accumulate(weights))
    return min(bisect_right(ends, rng.random() * ends[-1]), len(ends) - 1)
