"""Choosing the vocabulary of a corpus before the split: document frequencies and stop words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shlex import quote
from typing import NamedTuple, TypeVar

import numpy as np

from hiertopics.base.arrays import I64, Bools, Ints
from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.languages import (
    INSTALL_WORDS,
    has_stop_list,
    language_of,
    stop_lists,
    with_lists,
)
from hiertopics.corpus.data.shelf import Bags, Shelf

MOST_FREQUENT, MANY = 10, 5

AnyBags = TypeVar("AnyBags", Corpus, Shelf)


def notes(corpus: Bags, given: str | None = None) -> tuple[str, ...]:
    """Warn if most of the most frequent words are stop words of a language.

    given: ``data.stop_words``, whose lists the advised value keeps.
    """
    by_tokens = np.argsort(-corpus.word_counts, kind="stable")
    language, stopped = language_of([corpus.vocab[word] for word in by_tokens[:MOST_FREQUENT]])
    if len(stopped) < MANY or language in stop_lists(given):
        return ()
    needed = "" if has_stop_list(language) else f" ({INSTALL_WORDS})"
    setting = quote(f"data.stop_words={with_lists(given, [language])}")
    return (
        f"{len(stopped)} of the {MOST_FREQUENT} most frequent words are stop words "
        f"({', '.join(stopped[:3])}, ...) and will lead topics; "
        f"-s {setting} drops them{needed}",
    )


class Limits(NamedTuple):
    """Which words stay: those in at least ``min_df`` and at most ``max_df`` documents that are no
    stop words, and of these at most ``max_words``, those in most documents (None: all).

    An int is a number of documents, a float a share of them (scikit-learn's convention).
    """

    min_df: int | float = 1
    max_df: int | float = 1.0
    stop_words: Collection[str] = ()
    max_words: int | None = None

    @property
    def keep_all(self) -> bool:
        """Whether every word stays, whatever the corpus."""
        all_of_them = isinstance(self.max_df, float) and self.max_df >= 1
        limited = self.stop_words or self.max_words is not None
        return all_of_them and isinstance(self.min_df, int) and self.min_df <= 1 and not limited


def prune(corpus: AnyBags, limits: Limits, docs: I64 | None = None) -> AnyBags:
    """Drop words.

    Documents stay, even where they lose every token. docs: those that are counted, int64 [n]; words
    in none of them are dropped. None counts all, and where every word stays the corpus is
    returned as it is. Raises DataError where no word would be left.
    """
    if docs is None and limits.keep_all:
        return corpus
    n_docs_with = np.zeros(corpus.n_words, np.int64)
    for block in corpus.blocks() if docs is None else corpus.select(docs).blocks():
        n_docs_with += np.bincount(block.indices, minlength=corpus.n_words)
    n_docs = corpus.n_docs if docs is None else len(docs)
    keep = kept_words(n_docs_with, n_docs, corpus.vocab, limits)
    if docs is not None:
        keep &= n_docs_with > 0
    if keep.all():
        return corpus
    refuse_none(keep)
    return corpus.with_words(np.flatnonzero(keep))


def kept_words(n_docs_with: Ints, n_docs: int, vocab: Sequence[str], limits: Limits) -> Bools:
    """Return which words stay, bool [n_words]. n_docs_with: in how many documents each is."""
    min_df, max_df, stop_words, max_words = limits
    lowest = min_df if isinstance(min_df, int) else min_df * n_docs
    highest = max_df if isinstance(max_df, int) else max_df * n_docs
    keep = (n_docs_with <= highest) & ((n_docs_with >= lowest) | (lowest <= 1))
    if stop_words:
        stopped = frozenset(stop_words)
        keep &= np.fromiter((word not in stopped for word in vocab), bool, len(vocab))
    if max_words is not None:
        order = np.argsort(np.where(keep, -n_docs_with, 1), kind="stable")
        keep[order[max_words:]] = False
    return np.asarray(keep)


def refuse_none(kept: Bools) -> None:
    """Raise DataError where no word is kept. kept: bool [n_words]."""
    if not kept.any():
        raise DataError(
            "corpus", "no word is left after min_df, max_df and stop_words; loosen them"
        )
