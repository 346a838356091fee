"""Choosing the vocabulary of a corpus before the split: document frequencies and stop words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.data.shelf import Bags
from hiertopics.errors import DataError

COMMON = (
    *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "had", "has", "have"),
    *("he", "his", "i", "in", "is", "it", "not", "of", "on", "or", "she", "that", "the", "their"),
    *("they", "this", "to", "was", "we", "were", "which", "with", "you"),
)
MOST_FREQUENT, MANY = 10, 5


def notes(corpus: Bags) -> tuple[str, ...]:
    """Say so where the most frequent words are English stop words for the most part."""
    by_tokens = np.argsort(-corpus.word_counts, kind="stable")
    found = [corpus.vocab[word] for word in by_tokens[:MOST_FREQUENT]]
    stopped = [word for word in found if word in COMMON]
    if len(stopped) < MANY:
        return ()
    return (
        f"{len(stopped)} of the {MOST_FREQUENT} most frequent words are stop words "
        f"({', '.join(stopped[:3])}, ...) and will lead topics; "
        "-s data.stop_words=english drops them",
    )


def prune(
    corpus: Corpus,
    min_df: float = 1,
    max_df: float = 1.0,
    stop_words: Collection[str] = (),
    docs: NDArray[np.int64] | None = None,
) -> Corpus:
    """Drop words in fewer than ``min_df`` or more than ``max_df`` documents, and stop words.

    An int is a number of documents, a float a share of them (scikit-learn's convention).
    Documents stay, even where they lose every token. docs: those that are counted, int64; words
    in none of them are dropped. None counts all, and with the other defaults the corpus is
    returned as it is. Raises DataError where no word would be left.
    """
    counted = corpus.counts if docs is None else corpus.counts[docs]
    n_docs_with = np.bincount(counted.indices, minlength=corpus.n_words)
    n_docs = counted.shape[0]
    keep = kept_words(n_docs_with, n_docs, corpus.vocab, min_df, max_df, stop_words)
    if docs is not None:
        keep &= n_docs_with > 0
    if keep.all():
        return corpus
    kept = np.flatnonzero(keep)
    refuse_none(keep)
    return replace(
        corpus,
        counts=sparse.csr_array(corpus.counts[:, kept]),
        vocab=tuple(corpus.vocab[word] for word in kept),
    )


def kept_words(
    n_docs_with: NDArray[np.integer],
    n_docs: int,
    vocab: Sequence[str],
    min_df: float,
    max_df: float,
    stop_words: Collection[str],
) -> NDArray[np.bool_]:
    """Return which words stay, bool [n_words]; see ``prune``. n_docs_with: documents with each."""
    lowest = min_df if isinstance(min_df, int) else min_df * n_docs
    highest = max_df if isinstance(max_df, int) else max_df * n_docs
    keep = (n_docs_with <= highest) & ((n_docs_with >= lowest) | (lowest <= 1))
    if stop_words:
        stopped = frozenset(stop_words)
        keep &= np.fromiter((word not in stopped for word in vocab), bool, len(vocab))
    return np.asarray(keep)


def refuse_none(kept: NDArray[np.bool_]) -> None:
    """Raise DataError where no word is kept."""
    if not kept.any():
        raise DataError(
            "corpus", "no word is left after min_df, max_df and stop_words; loosen them"
        )
