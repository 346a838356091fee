"""Seed words: tokens that count as seen in a topic that has a name, outside all documents.

To the topic they are an asymmetric prior (theory/hdp 6.8): of Dir(eta) they make
Dir(eta + weight) at its words. In a tree the topic is that of a branch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import I64, Ints
from hiertopics.base.errors import FieldError, UsageError

SeedWords = Mapping[str, Sequence[str]]
"""Words by the name of a topic."""


class SeedSettings(Protocol):
    """The settings of seed words."""

    @property
    def seeds(self) -> SeedWords | None:
        """Words of each name."""

    @property
    def seed_weight(self) -> int:
        """Tokens of each word."""


class Seeds(NamedTuple):
    """Seed words over a vocabulary.

    names: of topics. word, name: int64 [n], a word id and the place of a name in ``names`` each, no
    pair of them twice. weight: tokens of each.
    """

    names: tuple[str, ...]
    word: I64
    name: I64
    weight: int

    @property
    def branches(self) -> I64:
        """The nodes of names in a tree: the first children of its root (theory/nhdp 2.3).

        int64 [n_names].
        """
        return 1 + self.first_topics

    @property
    def first_topics(self) -> I64:
        """The default topics of names: the first ones, int64 [n_names]."""
        return np.arange(len(self.names))

    def add_to(self, n_wk: NDArray[Any], topics: I64 | None = None) -> None:
        """Add the tokens to counts [n_words, T]. topics: int64, that of each name."""
        n_wk[self.word, self._topic(topics)] += n_wk.dtype.type(self.weight)

    def homes(self, words: Ints) -> Iterator[tuple[I64, I64]]:
        """Yield the places in ``words`` [n] of one seed word, and its topics."""
        found = np.flatnonzero(np.isin(words, self.word))
        for word in np.unique(self.word):
            yield found[words[found] == word], self.name[self.word == word]

    def settle(self, rows: NDArray[Any], words: Ints) -> None:
        """Give pairs of seed words, of all with these words, to topics where they are at home.

        rows: q(z) [n_pairs, T], sums 1.
        """
        for pairs, topics in self.homes(words):
            rows[pairs] = 0
            rows[np.ix_(pairs, topics)] = 1 / len(topics)

    def mark(self, seen_wk: NDArray[Any]) -> None:
        """Write 1, seen for certain, to chances [n_words, T]; maybe they have no columns."""
        if seen_wk.shape[1]:
            seen_wk[self.word, self.name] = 1

    def totals(self, n_topics: int, topics: I64 | None = None) -> I64:
        """Return the tokens of each topic, int64 [T]."""
        return self.weight * np.bincount(self._topic(topics), minlength=n_topics)

    def by_topic(self, topics: I64 | None = None) -> dict[int, str]:
        """Return the name of each topic that has a name.

        topics: int64 [n_names], the topic of each name; None: the first ones.
        """
        named = self.first_topics if topics is None else topics
        return dict(zip(named.tolist(), self.names, strict=True))

    def _topic(self, topics: I64 | None) -> I64:
        return self.name if topics is None else topics[self.name]


NONE = Seeds((), np.empty(0, np.int64), np.empty(0, np.int64), 1)


def seeds_in(settings: SeedSettings, vocab: Sequence[str]) -> Seeds:
    """Return the seed words that a vocabulary has.

    Raises UsageError where it has none of a name's.
    """
    if not settings.seeds:
        return NONE
    place = {word: number for number, word in enumerate(vocab)}
    found: list[tuple[int, int]] = []
    for number, (name, words) in enumerate(settings.seeds.items()):
        known = [place[word] for word in words if word in place]
        if not known:
            raise UsageError(
                f"none of the seed words of {name!r} ({', '.join(words):.80}) is "
                f"among the {len(vocab)} words of the corpus; hiertopics topics or vocab.txt shows "
                "how words are written there"
            )
        found += [(word, number) for word in known]
    pairs = np.array(found, np.int64)
    return Seeds(tuple(settings.seeds), pairs[:, 0], pairs[:, 1], settings.seed_weight)


def unknown(settings: SeedSettings, vocab: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield names with those of their words that a vocabulary lacks."""
    known = set(vocab)
    for name, words in (settings.seeds or {}).items():
        missing = [word for word in words if word not in known]
        if missing:
            yield name, missing


def check(seeds: SeedWords | None, truncation: float = math.inf) -> None:
    """Raise FieldError where names or words make no sense, or are more than topics."""
    for name, words in (seeds or {}).items():
        if not name.strip():
            raise FieldError("seeds", "has a name without letters")
        if not words:
            raise FieldError("seeds", f"has no word for {name!r}")
        seen: set[str] = set()
        for word in words:
            if word in seen:
                raise FieldError("seeds", f"has {word!r} twice for {name!r}")
            seen.add(word)
    if len(seeds or {}) > truncation:
        raise FieldError(
            "seeds", f"names {len(seeds or {})} topics, but truncation is {truncation}"
        )
