"""Tables of bursty documents drawn forwards, for joint-distribution tests (theory/bursts 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from bursts_twin import stirling

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
                shares = np.array(sizes) - discount
                sizes[_drawn(shares, rng)] += 1
        found.append(sizes)
    return found


def with_topics(sizes: list[list[int]], prior: F64, rng: Any) -> Documents:
    """Return tables with topics, documents' weights integrated out. prior: [T]."""
    found = []
    for own in sizes:
        counts = prior.copy()
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
        tables = []
        for own in np.unique(word[first:last]):
            slots = z[first:last][word[first:last] == own]
            topics = slots[slots >= 0]
            sizes = rng.permutation(_sizes(len(slots), len(topics), discount, rng))
            tables += [Table(int(s), int(k)) for s, k in zip(sizes, topics, strict=True)]
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
            drawn = _drawn(np.asarray(chances), rng)
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
    whole = stirling(count, discount)[n_tables - 1]
    if n_tables > 1 and rng.random() * whole < stirling(count - 1, discount)[n_tables - 2]:
        return [*_sizes(count - 1, n_tables - 1, discount, rng), 1]
    sizes = _sizes(count - 1, n_tables, discount, rng)
    sizes[_drawn(np.array(sizes) - discount, rng)] += 1
    return sizes


def _drawn(weights: F64, rng: Any) -> int:
    ends = np.cumsum(weights)
    return min(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")), len(ends) - 1)
